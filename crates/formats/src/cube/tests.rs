//! Real profiles against their references, what is written and read again, and damage.

use super::*;
use ouzel_model::{Aggregation, Scope, ScopedRows, SeverityRow};
use ouzel_testkit::{Rng, shared_data};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// The files of the references whose name begins so, with the profile that each is about.
fn goldens(prefix: &str, base: &str) -> Vec<(Value, PathBuf)> {
    let Some(shared) = shared_data() else { return Vec::new() };
    let entries = fs::read_dir(shared.join("golden/formats")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let files =
        files.into_iter().filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix));
    let found: Vec<(Value, PathBuf)> = files
        .map(|path| {
            let golden: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            let file = shared.join("data").join(base).join(golden["file"].as_str().unwrap());
            (golden, file)
        })
        .collect();
    assert!(!found.is_empty(), "no reference begins with {prefix}");
    found
}

/// The stored rows of a metric: by id of the cnode, the dense row; absent places as the rule of the metric has them.
fn stored_rows(source: &CubeSource, metric: MetricId) -> BTreeMap<u64, Vec<Option<f64>>> {
    let definitions = source.definitions();
    let mut rows = ProfileSource::open(source, metric, definitions.call_tree.all()).unwrap();
    let mut row = SeverityRow::new(definitions.metric(metric).value_type);
    let mut found = BTreeMap::new();
    let mut last = u32::MAX;
    while rows.read(&mut row).unwrap() {
        assert!(row.path.0 < last, "rows come from the last to the first");
        last = row.path.0;
        let mut values = vec![None; definitions.locations.len()];
        for (location, value) in row.iter() {
            values[location.index()] = Some(value);
        }
        found.insert(definitions.call_tree.node(row.path).native_id, values);
    }
    assert_eq!(rows.notices(), [], "{:?}", definitions.metric(metric).name);
    found
}

#[track_caller]
fn assert_close(found: f64, expected: f64, what: &str) {
    let scale = expected.abs().max(1e-300);
    assert!((found - expected).abs() <= 1e-12 * scale, "{what}: found {found}, expected {expected}");
}

fn put_together(values: impl Iterator<Item = f64>, aggregation: Aggregation) -> f64 {
    match aggregation {
        Aggregation::Min => values.fold(f64::INFINITY, f64::min),
        Aggregation::Max => values.fold(f64::NEG_INFINITY, f64::max),
        Aggregation::Sum | Aggregation::Formula => values.sum(),
    }
}

#[test]
fn archives_hold_what_an_independent_reader_found() {
    let mut n_values = 0;
    for (golden, path) in goldens("cube4-", "") {
        let source = CubeSource::open(&path).unwrap();
        let definitions = source.definitions();
        let what = path.display().to_string();
        assert_eq!(source.notices().iter().filter(|n| n.level == Level::High).count(), 0, "{what}");
        assert_eq!(Some(definitions.call_tree.len() as u64), golden["n_cnodes"].as_u64(), "{what}");
        assert_eq!(Some(definitions.call_tree.roots().count() as u64), golden["n_cnode_roots"].as_u64());
        assert_eq!(Some(definitions.locations.len() as u64), golden["n_locations"].as_u64(), "{what}");
        assert_eq!(Some(definitions.location_groups.len() as u64), golden["n_location_groups"].as_u64());
        assert_eq!(Some(definitions.system_tree.nodes.len() as u64), golden["n_stn"].as_u64(), "{what}");
        assert_eq!(Some(definitions.provenance.format_version.as_str()), golden["version"].as_str());
        let topologies = golden["topologies"].as_array().unwrap();
        assert_eq!(definitions.topologies.len(), topologies.len(), "{what}");
        for (topology, expected) in definitions.topologies.iter().zip(topologies) {
            assert_eq!(Some(&*topology.name), expected["name"].as_str());
            assert_eq!(Some(topology.members.len() as u64), expected["ncoords"].as_u64());
            let dims = topology.dimensions.iter();
            let dims: Vec<Value> =
                dims.map(|d| serde_json::json!([&*d.name, d.size, d.periodic.to_string()])).collect();
            assert_eq!(Value::from(dims), expected["dims"]);
        }
        for expected in golden["metrics"].as_array().unwrap() {
            let name = expected["uniq"].as_str().unwrap();
            let Some(metric) = definitions.metric_by_name(name) else {
                assert!(expected["per_cnode_sum"].is_null(), "{what}: {name} is not there");
                continue;
            };
            let entry = definitions.metric(metric);
            let kind = entry.kind.as_str().to_uppercase();
            assert_eq!(
                (Some(kind.as_str()), Some(&*entry.unit)),
                (expected["type"].as_str(), expected["uom"].as_str())
            );
            let rows = stored_rows(&source, metric);
            let n_rows = expected["rows"].as_u64().unwrap_or(0);
            assert!(rows.len() as u64 <= n_rows, "{what}: {name} has {} rows", rows.len());
            for (cnode, sum) in expected["per_cnode_sum"].as_object().into_iter().flatten() {
                let values = rows.get(&cnode.parse().unwrap()).map_or(&[][..], Vec::as_slice);
                let found = put_together(values.iter().flatten().copied(), entry.aggregation);
                assert_close(found, sum.as_f64().unwrap(), &format!("{what}: {name} at cnode {cnode}"));
                n_values += 1;
            }
            let Some(per_location) = expected["per_location_total"].as_array() else { continue };
            // The whole of the program: what its roots have with all that they call.
            let mut found = vec![0.0; definitions.locations.len()];
            let all = definitions.call_tree.all();
            let mut scoped = ScopedRows::open(&source, metric, Scope::Inclusive, all.clone()).unwrap();
            let mut row = SeverityRow::new(entry.value_type);
            while scoped.read(&mut row).unwrap() {
                if definitions.call_tree.depth(row.path) == 0 {
                    row.iter().for_each(|(location, value)| found[location.index()] += value);
                }
            }
            // Exclusive values add up to the same.
            let mut again = vec![0.0; definitions.locations.len()];
            let mut scoped = ScopedRows::open(&source, metric, Scope::Exclusive, all).unwrap();
            while scoped.read(&mut row).unwrap() {
                row.iter().for_each(|(location, value)| again[location.index()] += value);
            }
            // One file has unsigned numbers that are no sums of anything.
            let adds_up = scoped.notices().is_empty();
            for ((found, again), expected) in found.iter().zip(&again).zip(per_location) {
                let expected = expected.as_f64().unwrap();
                assert_close(*found, expected, &format!("{what}: {name} of a location"));
                if adds_up {
                    assert!((again - expected).abs() <= 1e-9 * expected.abs(), "{what}: {name}: {again}");
                }
                n_values += 2;
            }
        }
    }
    if shared_data().is_some() {
        assert!(n_values > 5000, "only {n_values} values were compared");
    }
}

#[test]
fn archives_hold_what_pycubexr_found() {
    for (golden, path) in goldens("pycubexr-", "cube") {
        let source = CubeSource::open(&path).unwrap();
        let definitions = source.definitions();
        for (name, expected) in golden["metrics"].as_object().unwrap() {
            let (Some(metric), Some(first)) =
                (definitions.metric_by_name(name), expected["first_rows"].as_object())
            else {
                continue;
            };
            let rows = stored_rows(&source, metric);
            for (cnode, values) in first {
                for (location, value) in values.as_array().unwrap().iter().enumerate() {
                    // Extremes are written as `MinValues(1.1)`.
                    let text =
                        value.as_str().map(|text| text.trim_end_matches(')').rsplit('(').next().unwrap());
                    let expected = value.as_f64().or_else(|| text?.parse().ok()).unwrap();
                    let found =
                        rows.get(&cnode.parse().unwrap()).and_then(|row| row[location]).unwrap_or(0.0);
                    assert_close(found, expected, &format!("{}: {name} {cnode} {location}", path.display()));
                }
            }
            if let Some(sum) = expected["sum_over_rows"].as_f64() {
                let found = rows.values().flatten().flatten().sum();
                assert_close(found, sum, &format!("{}: {name}", path.display()));
            }
        }
    }
}

#[test]
fn xml_holds_what_an_independent_reader_found() {
    for (golden, path) in goldens("cube3-", "") {
        let source = CubeSource::open(&path).unwrap();
        let definitions = source.definitions();
        let what = path.display().to_string();
        // The values of one file contain those of the parts of their metrics.
        let is_contained = what.ends_with("experiment1.cube");
        let contain: Vec<bool> =
            source.notices().iter().map(|notice| notice.message.starts_with("values contain")).collect();
        assert_eq!(contain, vec![true; usize::from(is_contained)], "{what}");
        assert_eq!(Some(definitions.locations.len() as u64), golden["n_threads"].as_u64(), "{what}");
        assert_eq!(Some(definitions.call_tree.len() as u64), golden["n_cnodes"].as_u64(), "{what}");
        for (entry, expected) in definitions.metrics.iter().zip(golden["metric_tree"].as_array().unwrap()) {
            assert_eq!(
                (Some(&*entry.name), Some(&*entry.unit)),
                (expected[1].as_str(), expected[2].as_str())
            );
        }
        let totals = golden["exclusive_total_by_metric (own severity, all cnodes, all threads)"].as_object();
        for (name, total) in totals.unwrap() {
            let rows = stored_rows(&source, definitions.metric_by_name(name).unwrap());
            let found = rows.values().flatten().flatten().sum();
            assert_close(found, total.as_f64().unwrap(), &format!("{what}: {name}"));
        }
        for (name, totals) in golden["per_thread_total"].as_object().unwrap() {
            let rows = stored_rows(&source, definitions.metric_by_name(name).unwrap());
            for (location, total) in totals.as_array().unwrap().iter().enumerate() {
                let found = rows.values().filter_map(|row| row[location]).sum();
                assert_close(found, total.as_f64().unwrap(), &format!("{what}: {name} of {location}"));
            }
        }
        for (topology, expected) in
            definitions.topologies.iter().zip(golden["topologies"].as_array().unwrap())
        {
            assert_eq!(&*topology.name, expected["name"].as_str().unwrap_or(""));
            assert_eq!(Some(topology.members.len() as u64), expected["ncoords"].as_u64());
            assert_eq!(topology.dimensions.len(), expected["dims"].as_array().unwrap().len());
            let first = expected["coords_first"].as_array().unwrap();
            for (member, coordinate) in first.iter().enumerate() {
                let place: Vec<String> = topology.coordinate(member).iter().map(u32::to_string).collect();
                assert_eq!(Some(place.join(" ").as_str()), coordinate[1].as_str());
            }
        }
    }
}

/// All rows of all metrics in both scopes, as bits.
fn all_rows(source: &dyn ProfileSource) -> Vec<(MetricId, Scope, CallPathId, Vec<u64>)> {
    let definitions = source.definitions();
    let mut found = Vec::new();
    for metric in definitions.metric_ids() {
        for scope in [Scope::Inclusive, Scope::Exclusive] {
            let Ok(mut rows) = ScopedRows::open(source, metric, scope, definitions.call_tree.all()) else {
                continue;
            };
            let mut row = SeverityRow::new(definitions.metric(metric).value_type);
            while rows.read(&mut row).unwrap() {
                let mut values = Vec::new();
                row.write_dense(definitions.locations.len(), f64::NAN, &mut values);
                found.push((metric, scope, row.path, values.into_iter().map(f64::to_bits).collect()));
            }
        }
    }
    found
}

fn temporary(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ouzel-cube-{}-{name}", std::process::id()));
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn what_is_written_is_read_again() {
    for (_, path) in goldens("cube4-", "").into_iter().chain(goldens("cube3-", "")) {
        let source = CubeSource::open(&path).unwrap();
        let mut bytes = std::io::Cursor::new(Vec::new());
        let notices = write::write(&source, &mut bytes).unwrap();
        assert_eq!(notices, [], "{}", path.display());
        let copy = temporary("copy.cubex", bytes.get_ref());
        let again = CubeSource::open(&copy).unwrap();
        fs::remove_file(&copy).unwrap();
        assert_eq!(again.notices(), []);
        let (before, after) = (source.definitions(), again.definitions());
        assert_eq!(before.metrics.len(), after.metrics.len());
        assert_eq!(before.topologies, after.topologies, "{}", path.display());
        let calls = |definitions: &ProfileDefinitions| -> Vec<_> {
            definitions
                .call_tree
                .nodes()
                .iter()
                .map(|node| (node.parent, node.region, node.site_line))
                .collect()
        };
        assert_eq!(calls(before), calls(after));
    }
}

const DERIVED: &str = "<cube version=\"4.4\"><metrics>\
    <metric id=\"0\" type=\"EXCLUSIVE\"><uniq_name>time</uniq_name><dtype>DOUBLE</dtype></metric>\
    <metric id=\"1\" type=\"POSTDERIVED\"><uniq_name>rate</uniq_name><dtype>DOUBLE</dtype>\
    <cubepl>metric::time(i) / metric::count()</cubepl></metric>\
    <metric id=\"2\" type=\"PREDERIVED_EXCLUSIVE\"><uniq_name>count</uniq_name><dtype>DOUBLE</dtype>\
    <cubepl>metric::time() * 2 + 1</cubepl></metric>\
    <metric id=\"3\" type=\"POSTDERIVED\"><uniq_name>self</uniq_name><cubepl>metric::self()</cubepl></metric>\
    <metric id=\"4\" type=\"POSTDERIVED\"><uniq_name>code</uniq_name><cubepl>${a}</cubepl></metric>\
    <metric id=\"5\" type=\"EXCLUSIVE\"><uniq_name>odd</uniq_name><dtype>SCALE_FUNC</dtype></metric>\
    <metric id=\"6\" type=\"EXCLUSIVE\"><uniq_name>z</uniq_name><dtype>COMPLEX</dtype></metric></metrics>\
    <program><region id=\"0\"><name>main</name></region><cnode id=\"0\" calleeId=\"0\"/></program><system>\
    <systemtreenode Id=\"0\"><name>m</name><class>machine</class><locationgroup Id=\"0\"><name>p</name><rank>0</rank>\
    <type>process</type><location Id=\"0\"><name>t</name></location></locationgroup></systemtreenode></system>\
    <severity><matrix metricId=\"0\"><row cnodeId=\"0\">3</row></matrix></severity></cube>";

#[test]
fn derived_metrics_are_computed_or_told() {
    let path = temporary("derived.cube", DERIVED.as_bytes());
    let source = CubeSource::open(&path).unwrap();
    let names: Vec<&str> = source.definitions().metrics.iter().map(|metric| &*metric.name).collect();
    assert_eq!(names, ["time", "rate", "count", "z.real", "z.imaginary"]);
    let told: Vec<&str> = source.notices().iter().map(|notice| notice.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "metric \"code\" is left out: its expression \"${a}\" cannot be used: \"${a}\" is not simple arithmetic",
            "metric \"odd\" is left out: value type \"SCALE_FUNC\" is unknown",
            "metric \"self\" is left out: its expression names missing metrics, or itself",
        ]
    );
    let all = all_rows(&source);
    let value = |metric: u32| {
        let row = all.iter().find(|(id, scope, ..)| (id.0, *scope) == (metric, Scope::Inclusive));
        f64::from_bits(row.unwrap().3[0])
    };
    assert_close(value(2), 7.0, "count");
    assert_close(value(1), 3.0 / 7.0, "rate");
    fs::remove_file(&path).unwrap();
}

/// Opens and reads everything that can be; whatever the file, this ends without a panic.
/// Returns how much was reported as lost, and how many values there are; `None` if it cannot be opened.
fn read_all(path: &Path) -> Option<(usize, usize)> {
    recognise(&Candidate::at(path));
    let source = CubeSource::open(path).ok()?;
    let definitions = source.definitions();
    let mut n_values = 0;
    let mut n_notices = source.notices().iter().filter(|notice| notice.level == Level::High).count();
    for metric in definitions.metric_ids() {
        let Ok(mut rows) = ProfileSource::open(&source, metric, definitions.call_tree.all()) else {
            continue;
        };
        let mut row = SeverityRow::new(definitions.metric(metric).value_type);
        while let Ok(true) = rows.read(&mut row) {
            assert!(row.iter().all(|(_, value)| value.is_finite()));
            n_values += row.values.len();
        }
        n_notices += rows.notices().iter().filter(|notice| notice.level == Level::High).count();
    }
    Some((n_notices, n_values))
}

/// A small archive with plain rows, one with compressed ones, and one in XML.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let Some(shared) = shared_data() else { return Vec::new() };
    let read = |file: &str| fs::read(shared.join("data").join(file)).unwrap();
    vec![
        ("plain", read("cube/pycubexr-test_only_files/cube-values_example.cubex")),
        ("packed", read("cube/extrap-single_parameter/mm.x2000y1z1.r1/profile.cubex")),
        ("gzip", read("cube/extrap-single_parameter/mm.x1y1z1.r1/profile.cubex")),
        ("xml", read("cube3-xml/cubelib-test32/example.cube")),
    ]
}

#[test]
fn every_truncation_is_an_error_or_told() {
    for (name, bytes) in samples() {
        let path = temporary(&format!("whole-{name}"), &bytes);
        let (_, n_whole) = read_all(&path).unwrap();
        fs::remove_file(&path).unwrap();
        for percent in 0..100 {
            let n = bytes.len() * percent / 100;
            let path = temporary(&format!("cut-{name}-{percent}"), &bytes[..n]);
            let told = read_all(&path);
            fs::remove_file(&path).unwrap();
            assert!(told.is_none_or(|(n_notices, n)| n_notices > 0 || n == n_whole), "{name} at {percent} %");
        }
    }
}

#[test]
fn flipped_bytes_never_panic() {
    for (name, bytes) in samples() {
        let mut rng = Rng::new(7);
        for round in 0..150 {
            let mut broken = bytes.clone();
            for _ in 0..=rng.below(8) {
                let at = rng.below(broken.len() as u64) as usize;
                broken[at] ^= 1 << rng.below(8);
            }
            let path = temporary(&format!("flip-{name}-{round}"), &broken);
            read_all(&path);
            fs::remove_file(&path).unwrap();
        }
    }
}
