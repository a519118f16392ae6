//! Profiles made of traces: real archives of every format, against the analyses that count the same otherwise.
//!
//! Traces that are not part of the repository are skipped, with a word.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its data fails")]

use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::comm_matrix::{CommMatrix, Expansion};
use ouzel::analyses::communication_totals::Communication;
use ouzel::analyses::metric_profile::MetricProfile;
use ouzel::engine::AnalysisSet;
use ouzel::model::{CallPathId, CallPathTree, LocationId, Scope, ScopedRows, SeverityRow};
use ouzel::waits::{ClassRole, Wait, WaitClass};
use ouzel::{CubeStorage, Options, Profile, Trace};
use ouzel_testkit::{shared_data, workspace_root};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Native id of the location, and regions from the root.
type Place = (u64, Vec<u32>);

/// The values of a metric that are not zero; times in seconds.
fn values(profile: &Profile, metric: &str, scope: Scope) -> BTreeMap<Place, f64> {
    let definitions = profile.definitions();
    let Some(id) = definitions.metric_by_name(metric) else { return BTreeMap::new() };
    let mut rows = ScopedRows::open(profile.source(), id, scope, definitions.call_tree.all()).unwrap();
    let mut row = SeverityRow::new(definitions.metric(id).value_type);
    let mut values = BTreeMap::new();
    let region = |path: CallPathId| definitions.call_tree.node(path).region;
    let is_program = |path: &CallPathId| &*definitions.regions[region(*path).index()].name == "[program]";
    while rows.read(&mut row).unwrap() {
        let path = definitions.call_tree.from_root(row.path);
        let path: Vec<u32> = path.into_iter().filter(|p| !is_program(p)).map(|p| region(p).0).collect();
        for (location, value) in row.iter().filter(|(_, value)| *value != 0.0) {
            values.insert((definitions.locations[location.index()].native_id, path.clone()), value);
        }
    }
    values
}

/// Every trace there is, small enough for a test.
fn traces() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut add = |folder: PathBuf| {
        let Ok(entries) = folder.read_dir() else { return };
        let paths = entries.map(|entry| entry.unwrap().path());
        found.extend(paths.filter(|path| ouzel::open(path).is_ok()));
    };
    if let Some(data) = shared_data() {
        for format in [
            "otf2",
            "hpctoolkit",
            "projections",
            "nsight/pipit-cloverleaf",
            "chrome-pytorch/param-dlrm-8rank",
        ] {
            add(data.join("data").join(format));
        }
    }
    add(workspace_root().join("testdata"));
    add(workspace_root().join("testdata/zoo"));
    found.sort();
    found
}

struct Expected {
    sums: BTreeMap<(String, Scope), BTreeMap<Place, f64>>,
    bytes_in_matrix: u64,
    unresolved: u64,
}

/// What the analyses that the cube shares no output with say.
fn expected(trace: &Trace) -> Expected {
    let mut set = AnalysisSet::default();
    let times = set.add_silent(CallPathProfile);
    let counters = set.add_silent(MetricProfile);
    let communication = set.add_silent(Communication);
    let matrix = set.add_silent(CommMatrix { expansion: Expansion::PointToPoint });
    let mut report = trace.run(&set, &Options::default()).unwrap();
    let definitions = trace.definitions();
    let times = report.outputs.take(&times).unwrap();
    let counters = report.outputs.take(&counters).unwrap();
    let communication = report.outputs.take(&communication).unwrap();
    let matrix = report.outputs.take(&matrix).unwrap();
    let paths: &CallPathTree = &times.call_paths;
    let mut sums: BTreeMap<(String, Scope), BTreeMap<Place, f64>> = BTreeMap::new();
    let mut add = |metric: &str, scope: Scope, location: LocationId, path, value: f64| {
        if value == 0.0 {
            return;
        }
        let path = paths.regions(path).into_iter().map(|region| region.0).collect();
        let place = (definitions.location(location).native_id, path);
        *sums.entry((metric.to_owned(), scope)).or_default().entry(place).or_default() += value;
    };
    let secs = |ticks| definitions.clock.secs_from_ticks(ticks);
    for (at, row) in times.locations.iter().flat_map(|l| l.rows.iter().map(|row| (l.location, row))) {
        add("time", Scope::Exclusive, at, row.call_path, secs(row.times.exclusive));
        add("time", Scope::Inclusive, at, row.call_path, secs(row.times.inclusive));
        add("visits", Scope::Exclusive, at, row.call_path, row.times.visits as f64);
        add("min_time", Scope::Exclusive, at, row.call_path, secs(row.times.min));
        add("max_time", Scope::Exclusive, at, row.call_path, secs(row.times.max));
    }
    for (at, row) in counters.locations.iter().flat_map(|l| l.rows.iter().map(|row| (l.location, row))) {
        let name = &definitions.metrics[row.metric.index()].name;
        add(name, Scope::Exclusive, at, row.call_path, row.exclusive as f64);
        add(name, Scope::Inclusive, at, row.call_path, row.inclusive as f64);
    }
    let mut bytes_sent = 0;
    for location in &communication.locations {
        let at = location.location;
        for row in &location.messages {
            bytes_sent += row.totals.bytes_sent;
            add("messages_sent", Scope::Exclusive, at, row.call_path, row.totals.sends as f64);
            add("messages_received", Scope::Exclusive, at, row.call_path, row.totals.receives as f64);
            add("bytes_sent", Scope::Exclusive, at, row.call_path, row.totals.bytes_sent as f64);
            add("bytes_received", Scope::Exclusive, at, row.call_path, row.totals.bytes_received as f64);
        }
        for row in &location.collectives {
            add("collectives", Scope::Exclusive, at, row.call_path, row.totals.operations as f64);
            add("bytes_sent", Scope::Exclusive, at, row.call_path, row.totals.bytes_sent as f64);
            add("bytes_received", Scope::Exclusive, at, row.call_path, row.totals.bytes_received as f64);
        }
    }
    for (class, waits) in waits_by_class(trace) {
        let metric = match class.role() {
            ClassRole::Primary => "waiting",
            ClassRole::PartOf(_) => continue,
            ClassRole::Beside => metric_of(class),
        };
        for (place, wait) in waits {
            *sums.entry((metric.to_owned(), Scope::Exclusive)).or_default().entry(place).or_default() += wait;
        }
    }
    let in_matrix: u64 = matrix.cells.iter().map(|cell| cell.traffic.bytes).sum();
    let unresolved =
        matrix.to_unknown.iter().map(|(_, traffic)| traffic.bytes).sum::<u64>() + matrix.without_rank.bytes;
    assert!(in_matrix + unresolved <= bytes_sent, "sends to nobody are in no matrix");
    Expected { sums, bytes_in_matrix: in_matrix, unresolved }
}

/// The names that Scalasca gives these metrics, or ours.
fn metric_of(class: WaitClass) -> &'static str {
    match class.as_str() {
        "late_sender" => "mpi_latesender",
        "late_sender_wrong_order_same_source" => "mpi_lswo_same",
        "late_sender_wrong_order_different_source" => "mpi_lswo_different",
        "late_receiver" => "mpi_latereceiver",
        "wait_at_barrier" => "mpi_barrier_wait",
        "wait_at_nxn" => "mpi_wait_nxn",
        "late_broadcast" => "mpi_latebroadcast",
        "early_reduce" => "mpi_earlyreduce",
        "early_scan" => "mpi_earlyscan",
        "wait_at_finalize" => "mpi_finalize_wait",
        "barrier_completion" => "mpi_barrier_completion",
        "nxn_completion" => "mpi_nxn_completion",
        "init_completion" => "mpi_init_completion",
        "openmp_wait_at_barrier" => "omp_barrier_wait",
        "idle_threads" => "omp_idle_threads",
        "management" => "omp_management",
        "limited_parallelism" => "omp_limited_parallelism",
        own => own,
    }
}

/// What the waits of a trace come to at each place, in seconds, without what is only possible.
fn waits_by_class(trace: &Trace) -> BTreeMap<WaitClass, BTreeMap<Place, f64>> {
    let waits = trace.waits(&Options::default()).unwrap().output;
    let definitions = trace.definitions();
    let mut sums: BTreeMap<WaitClass, BTreeMap<Place, u64>> = BTreeMap::new();
    let each = waits.waits.iter().filter(|wait| !wait.is_only_possible());
    let each = each.map(|wait| (wait.class, wait.path, wait.location, Wait::ticks(wait)));
    let of_threads = waits.sums.iter().map(|sum| (sum.class, sum.path, sum.location, sum.wait));
    // What waits for accelerators is no metric.
    let of_cpu = each.chain(of_threads).filter(|(class, ..)| !class.is_of_devices());
    for (class, path, location, ticks) in of_cpu {
        let path = waits.call_paths.regions(path).into_iter().map(|region| region.0).collect();
        let place = (definitions.location(location).native_id, path);
        *sums.entry(class).or_default().entry(place).or_default() += ticks.0;
    }
    let secs = |ticks| definitions.clock.secs_from_ticks(ouzel::model::Ticks(ticks));
    sums.into_iter()
        .map(|(class, of)| (class, of.into_iter().map(|(place, ticks)| (place, secs(ticks))).collect()))
        .collect()
}

#[test]
fn waiting_is_a_metric_for_each_class() {
    let mut n_classes = 0;
    for path in traces() {
        let trace = ouzel::open(&path).unwrap();
        let profile = trace.severity_cube(&Options::default()).unwrap().output;
        let mut all = 0.0;
        for (class, expected) in waits_by_class(&trace) {
            let found = values(&profile, metric_of(class), Scope::Exclusive);
            assert_near(&found, &expected, &format!("{} of {}", class.as_str(), path.display()));
            n_classes += 1;
            if class.role() == ClassRole::Primary {
                all += expected.values().sum::<f64>();
            }
        }
        let found: f64 = values(&profile, "waiting", Scope::Exclusive).values().sum();
        assert!((found - all).abs() <= 1e-9 * all, "{found} instead of {all} in {}", path.display());
    }
    assert!(20 <= n_classes, "{n_classes}");
}

fn assert_near(found: &BTreeMap<Place, f64>, expected: &BTreeMap<Place, f64>, what: &str) {
    assert!(found.keys().eq(expected.keys()), "{what}: other places: {found:?} instead of {expected:?}");
    for ((place, &found), &expected) in found.iter().zip(expected.values()) {
        let near = (found - expected).abs() <= 1e-9 * expected.abs();
        assert!(near, "{what} at {place:?}: {found} instead of {expected}");
    }
}

#[test]
fn a_profile_of_a_trace_says_what_the_analyses_say() {
    let mut n_with_messages = 0;
    for path in traces() {
        let trace = ouzel::open(&path).unwrap();
        let profile = trace.severity_cube(&Options::default()).unwrap().output;
        let Expected { sums, bytes_in_matrix, unresolved } = expected(&trace);
        for ((metric, scope), expected) in &sums {
            let what = format!("{metric} {} of {}", scope.as_str(), path.display());
            let mut found = values(&profile, metric, *scope);
            // The whole program has inclusive values, too.
            found.retain(|(_, path), _| !path.is_empty() || *scope == Scope::Exclusive);
            assert_near(&found, expected, &what);
        }
        for metric in &profile.definitions().metrics {
            let of_parts = metric.parent.is_some();
            let key = (metric.name.to_string(), Scope::Exclusive);
            let is_there = !values(&profile, &metric.name, Scope::Exclusive).is_empty();
            assert_eq!(
                sums.contains_key(&key),
                is_there && !of_parts,
                "{} of {}",
                metric.name,
                path.display()
            );
        }
        let part = if values(&profile, "bytes_sent_p2p", Scope::Exclusive).is_empty() {
            "bytes_sent"
        } else {
            "bytes_sent_p2p"
        };
        let sent: f64 = values(&profile, part, Scope::Exclusive).values().sum();
        if 0 < bytes_in_matrix {
            n_with_messages += 1;
            assert!(sent >= (bytes_in_matrix + unresolved) as f64, "{}", path.display());
        }
    }
    assert!(shared_data().is_none() || n_with_messages >= 5, "archives with messages were there");
}

/// Every row as it is read, of all metrics.
fn all_rows(profile: &Profile) -> Vec<String> {
    let definitions = profile.definitions();
    let mut lines = Vec::new();
    for id in definitions.metric_ids() {
        let mut rows = profile.source().open(id, definitions.call_tree.all()).unwrap();
        let mut row = SeverityRow::new(definitions.metric(id).value_type);
        while rows.read(&mut row).unwrap() {
            lines.push(format!("{id:?} {row:?}"));
        }
    }
    lines
}

#[test]
fn parts_on_disk_are_the_whole_in_memory() {
    for path in traces() {
        let trace = ouzel::open(&path).unwrap();
        let whole = trace.severity_cube(&Options::default()).unwrap();
        for jobs in [1, 3] {
            let storage = CubeStorage { memory_bytes: 0, ..CubeStorage::default() };
            let options = Options { jobs: NonZeroUsize::new(jobs).unwrap(), ..Options::default() };
            let parts = trace.severity_cube_in(&storage, &options).unwrap();
            let what = format!("{} by {jobs}", path.display());
            assert_eq!(parts.output.definitions(), whole.output.definitions(), "{what}");
            assert_eq!(parts.notices, whole.notices, "{what}");
            assert_eq!((parts.coverage, parts.run_range), (whole.coverage, whole.run_range), "{what}");
            assert_eq!(all_rows(&parts.output), all_rows(&whole.output), "{what}");
            let of_subtree = |profile: &Profile| {
                let tree = &profile.definitions().call_tree;
                let Some(path) = tree.paths().nth(tree.len() / 2) else { return Vec::new() };
                let id = profile.definitions().metric_by_name("visits").unwrap();
                let mut rows = profile.source().open(id, tree.subtree(path)).unwrap();
                let mut row = SeverityRow::new(profile.definitions().metric(id).value_type);
                let mut lines = Vec::new();
                while rows.read(&mut row).unwrap() {
                    lines.push(format!("{row:?}"));
                }
                lines
            };
            assert_eq!(of_subtree(&parts.output), of_subtree(&whole.output), "{what}");
        }
    }
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let Some(path) = traces().into_iter().next() else { return };
    let trace = ouzel::open(&path).unwrap();
    let storage = CubeStorage {
        memory_bytes: 0,
        folder: Some(Path::new("/nowhere/at/all").to_owned()),
        ..CubeStorage::default()
    };
    let result = trace.severity_cube_in(&storage, &Options { jobs: NonZeroUsize::MIN, ..Options::default() });
    if trace.definitions().locations.len() > 1 {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("temporary file"), "{error}");
    }
}

#[test]
fn a_temporary_file_that_grows_too_large_is_an_error() {
    let trace = ouzel::open(&workspace_root().join("testdata/pmpi-jacobi")).unwrap();
    let storage = CubeStorage { memory_bytes: 0, scratch_bytes: 100, ..CubeStorage::default() };
    let result = trace.severity_cube_in(&storage, &Options { jobs: NonZeroUsize::MIN, ..Options::default() });
    let error = result.unwrap_err().to_string();
    assert!(error.contains("more than the 100 bytes"), "{error}");
}
