//! Profiles that are written from traces, as other tools read them.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use crate::run::{Scratch, json, ran_on, testdata};
use ouzel::model::{Scope, ScopedRows, SeverityRow};
use ouzel_testkit::{shared_data, workspace_root};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Call path, location.
type Place = (String, u64);
/// By metric, its unit and its values.
type Metrics = BTreeMap<String, (String, BTreeMap<Place, f64>)>;

/// What pycubexr reads: for each metric its unit and values. `None` where it is not installed.
fn as_pycubexr_reads(profile: &Path) -> Option<Metrics> {
    let root = workspace_root();
    let python = root.join(".cache/venv/bin/python");
    let has_it = Command::new(&python).args(["-c", "import pycubexr"]).output();
    if !has_it.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no pycubexr in {} (cargo xtask test installs it)", python.display());
        return None;
    }
    let script = root.join("peers/python/cubex_values.py");
    let output = Command::new(&python).arg(script).arg(profile).output().unwrap();
    assert!(
        output.status.success(),
        "pycubexr does not take {}: {}",
        profile.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let metrics = answer.as_object().unwrap().iter().map(|(name, metric)| {
        let mut values = BTreeMap::new();
        for row in metric["values"].as_array().unwrap() {
            let place = (row[0].as_str().unwrap().to_owned(), row[1].as_u64().unwrap());
            *values.entry(place).or_insert(0.0) += row[2].as_str().unwrap().parse::<f64>().unwrap();
        }
        (name.clone(), (metric["unit"].as_str().unwrap().to_owned(), values))
    });
    Some(metrics.collect())
}

/// The same from the profile that is made from the trace.
fn as_counted(trace: &Path) -> Metrics {
    let trace = ouzel::open(trace).unwrap();
    let profile = trace.severity_cube(&ouzel::Options::default()).unwrap().output;
    let definitions = profile.definitions();
    let mut metrics = BTreeMap::new();
    for id in definitions.metric_ids() {
        let metric = definitions.metric(id);
        let all = definitions.call_tree.all();
        let mut rows = ScopedRows::open(profile.source(), id, Scope::Exclusive, all).unwrap();
        let mut row = SeverityRow::new(metric.value_type);
        let mut values = BTreeMap::new();
        while rows.read(&mut row).unwrap() {
            let path = definitions.call_tree.from_root(row.path);
            let name = |path| &*definitions.regions[definitions.call_tree.node(path).region.index()].name;
            let path: Vec<&str> = path.into_iter().map(name).collect();
            for (location, value) in row.iter().filter(|(_, value)| *value != 0.0) {
                *values.entry((path.join(";"), u64::from(location.0))).or_insert(0.0) += value;
            }
        }
        metrics.insert(metric.name.to_string(), (metric.unit.to_string(), values));
    }
    metrics
}

fn traces() -> Vec<PathBuf> {
    let mut traces = vec![testdata("pmpi-jacobi"), testdata("eztrace-fortran-ring")];
    if let Some(data) = shared_data() {
        let names = ["scorep-pingpong", "scorep-pingpong-papi", "scorep-hip-mi300"];
        traces.extend(names.map(|name| data.join("data/otf2").join(name)));
        traces.push(data.join("data/hpctoolkit/pingpong-pipit"));
    }
    traces.retain(|path| path.exists());
    traces
}

#[test]
fn pycubexr_reads_what_was_counted() {
    let scratch = Scratch::new("cubex-of-traces");
    for trace in traces() {
        let out = scratch.0.join("out.cubex");
        // A folder may hold a profile, too: selecting all ranks means the trace.
        let ran =
            ran_on(&trace, &["convert", out.to_str().unwrap(), "--to", "cube", "--force", "--time", "0s.."]);
        assert!(matches!(ran.code, Some(0 | 2)), "{}: {}", trace.display(), ran.err);
        let Some(read) = as_pycubexr_reads(&out) else { return };
        let counted = as_counted(&trace);
        assert!(read.keys().eq(counted.keys()), "{}: {read:?}", trace.display());
        for (name, (unit, values)) in &counted {
            let what = format!("{name} of {}", trace.display());
            assert_eq!(&read[name].0, unit, "{what}");
            assert_eq!(&read[name].1, values, "{what}");
        }
    }
}

#[test]
fn a_cartesian_communicator_keeps_its_places() {
    let scratch = Scratch::new("cubex-topology");
    let out = scratch.0.join("out.cubex");
    let trace = testdata("pmpi-jacobi");
    let ran = ran_on(&trace, &["convert", out.to_str().unwrap(), "--to", "cube"]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    let answer = json(&out, &["info"]);
    let topology = &answer["data"]["topologies"][0];
    assert_eq!((topology["n_places"].as_u64(), topology["n_taken"].as_u64()), (Some(9), Some(9)));
    assert_eq!(
        (&topology["members"], topology["n_missing"].as_u64()),
        (&Value::from("location groups"), Some(0))
    );
    let of_trace = json(&trace, &["info"]);
    assert_eq!(of_trace["data"]["topologies"][0]["dimensions"], topology["dimensions"]);
    let part = scratch.0.join("part.cubex");
    let ran = ran_on(&trace, &["convert", part.to_str().unwrap(), "--to", "cube", "--ranks", "0-3"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let topology = &json(&part, &["info"])["data"]["topologies"][0];
    assert_eq!((topology["n_places"].as_u64(), topology["n_missing"].as_u64()), (Some(9), Some(5)));
}

#[test]
fn metrics_that_are_counted_are_asked_of_a_trace() {
    let trace = testdata("pmpi-jacobi");
    let answer = json(&trace, &["profile", "--metric", "messages_sent", "--call-paths"]);
    let counted = &as_counted(&trace)["messages_sent"].1;
    assert_eq!(answer["data"]["total"].as_f64(), Some(counted.values().sum()));
    let ran = ran_on(&trace, &["profile", "--metric", "io_nothing"]);
    assert!(ran.err.contains("no counter matches \"io_nothing\""), "{}", ran.err);
}
