use super::*;
use crate::call_path_profile::CallPathProfile;
use crate::communication_totals::Communication;
use crate::metric_profile::MetricProfile;
use ouzel_engine::{AnalysisSet, Pass};
use ouzel_model::{
    CallPathId, CartDimension, CartMembers, CartTopology, CommRank, Filter, LocationGroupId, LocationId,
    MetricId, ProfileSource, Scope, ScopedRows, SeverityRow, TraceSource,
};
use ouzel_testkit::{Faults, RandomTrace, ToyTrace, laws, run, run_report};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A trace whose second rank has two threads, with a message outside of all calls and a counter in each call.
const TRACE: &str = "
    0: enter main @0, metric c=10 @0, enter MPI_Send @10, send>1 bytes 64 @12, metric c=15 @20, leave @20, enter MPI_Send @21, send>1 bytes 1 @22, metric c=16 @25, leave @25, metric c=20 @40, leave @40
    1: enter main @0, enter MPI_Recv @1, recv<0 bytes 64 @20, leave @20, enter MPI_Allreduce @22, collective allreduce bytes 8/16 @30, leave @30, leave @40, recv<0 bytes 1 @41
    1.1: enter work @5, leave @9
    1.metrics: metric power=7 @3";

fn profile(trace: &ToyTrace, filter: &Filter) -> TraceProfile {
    let (output, report) = run_report(trace, filter, SeverityCube::default());
    TraceProfile::new(output, trace.definitions(), report.notices)
}

/// The rows of a metric in a scope, as `path: location=value …`, from the first call path to the last.
fn rows(source: &dyn ProfileSource, metric: &str, scope: Scope) -> Vec<String> {
    let definitions = source.definitions();
    let id = definitions.metric_by_name(metric).expect("the metric is there");
    let mut rows = ScopedRows::open(source, id, scope, definitions.call_tree.all()).unwrap();
    let mut row = SeverityRow::new(definitions.metric(id).value_type);
    let mut lines = Vec::new();
    while rows.read(&mut row).unwrap() {
        let name =
            |path: CallPathId| &*definitions.regions[definitions.call_tree.node(path).region.index()].name;
        let path: Vec<&str> = definitions.call_tree.from_root(row.path).into_iter().map(name).collect();
        // Ticks of toy traces are nanoseconds.
        let scale = if &*definitions.metric(id).unit == "sec" { 1e9 } else { 1.0 };
        let values: Vec<String> =
            row.iter().map(|(at, value)| format!("{}={}", at.0, (value * scale).round())).collect();
        lines.push(format!("{}: {}", path.join("/"), values.join(" ")));
    }
    assert_eq!(rows.notices(), []);
    lines.reverse();
    lines
}

#[test]
fn everything_is_counted_where_it_happens() {
    let profile = profile(&ToyTrace::new(TRACE), &Filter::default());
    let names: Vec<(&str, &str)> =
        profile.definitions().metrics.iter().map(|metric| (&*metric.name, &*metric.unit)).collect();
    assert_eq!(
        names,
        [
            ("time", "sec"),
            ("visits", "occ"),
            ("min_time", "sec"),
            ("max_time", "sec"),
            ("messages_sent", "occ"),
            ("messages_received", "occ"),
            ("collectives", "occ"),
            ("bytes_sent", "bytes"),
            ("bytes_sent_p2p", "bytes"),
            ("bytes_sent_coll", "bytes"),
            ("bytes_received", "bytes"),
            ("bytes_received_p2p", "bytes"),
            ("bytes_received_coll", "bytes"),
            ("c", "#"),
        ]
    );
    let check =
        |metric, scope, expected: &[&str]| assert_eq!(rows(&profile, metric, scope), expected, "{metric}");
    let (exclusive, inclusive) = (Scope::Exclusive, Scope::Inclusive);
    check(
        "time",
        exclusive,
        &[
            "[program]/main: 0=26 1=13",
            "[program]/main/MPI_Send: 0=14",
            "[program]/main/MPI_Recv: 1=19",
            "[program]/main/MPI_Allreduce: 1=8",
            "[program]/work: 2=4",
        ],
    );
    assert_eq!(
        rows(&profile, "time", inclusive)[..2],
        ["[program]: 0=40 1=40 2=4", "[program]/main: 0=40 1=40"]
    );
    check(
        "visits",
        inclusive,
        &[
            "[program]: 0=3 1=3 2=1",
            "[program]/main: 0=3 1=3",
            "[program]/main/MPI_Send: 0=2",
            "[program]/main/MPI_Recv: 1=1",
            "[program]/main/MPI_Allreduce: 1=1",
            "[program]/work: 2=1",
        ],
    );
    assert_eq!(rows(&profile, "min_time", exclusive)[1], "[program]/main/MPI_Send: 0=4");
    assert_eq!(rows(&profile, "max_time", exclusive)[1], "[program]/main/MPI_Send: 0=10");
    check("messages_sent", exclusive, &["[program]/main/MPI_Send: 0=2"]);
    check("messages_received", exclusive, &["[program]: 1=1", "[program]/main/MPI_Recv: 1=1"]);
    check(
        "bytes_received",
        exclusive,
        &["[program]: 1=1", "[program]/main/MPI_Recv: 1=64", "[program]/main/MPI_Allreduce: 1=16"],
    );
    check("bytes_sent_coll", exclusive, &["[program]/main/MPI_Allreduce: 1=8"]);
    check("collectives", exclusive, &["[program]/main/MPI_Allreduce: 1=1"]);
    check("c", exclusive, &["[program]/main: 0=4", "[program]/main/MPI_Send: 0=6"]);
    let told: Vec<&str> = profile.notices().iter().map(|notice| &*notice.message).collect();
    assert!(told.iter().any(|text| text.contains("\"power\" are in no call path")), "{told:?}");
}

#[test]
fn a_profile_has_what_was_selected() {
    let ranks = Filter { ranks: Some("1".parse().unwrap()), ..Filter::default() };
    let profile = profile(&ToyTrace::new(TRACE), &ranks);
    let definitions = profile.definitions();
    let ids: Vec<_> = definitions.locations.iter().map(|l| (l.rank.unwrap().0, l.group)).collect();
    assert_eq!(ids, [(1, LocationGroupId(0)), (1, LocationGroupId(0))], "two threads of one process");
    assert_eq!(definitions.location_groups.len(), 1);
    assert_eq!(definitions.metric_by_name("messages_sent").map(|id| id.0), Some(4), "rank 1 receives");
    assert_eq!(definitions.metric_by_name("c"), None, "rank 1 read no such counter");
    assert_eq!(rows(&profile, "messages_sent", Scope::Exclusive), Vec::<String>::new());
    let whole = rows(&profile, "time", Scope::Exclusive);
    assert_eq!(whole[0], "[program]/main: 0=13");
}

#[test]
fn a_program_with_one_root_is_its_own_root() {
    let trace = ToyTrace::new("0: enter main @0, enter f @1, leave @2, leave @3");
    let profile = profile(&trace, &Filter::default());
    assert_eq!(rows(&profile, "time", Scope::Exclusive), ["main: 0=2", "main/f: 0=1"]);
    let names: Vec<&str> = profile.definitions().metrics.iter().map(|metric| &*metric.name).collect();
    assert_eq!(names, ["time", "visits", "min_time", "max_time"], "no messages, no metrics of them");
}

#[test]
fn counters_have_names_of_their_own() {
    let text = "0: metric time=1 visits=1 @0, enter f @0, metric time=3 visits=2 @5, leave @5";
    let profile = profile(&ToyTrace::new(text), &Filter::default());
    assert_eq!(rows(&profile, "time#2", Scope::Exclusive), ["f: 0=2"]);
    assert_eq!(rows(&profile, "visits", Scope::Exclusive), ["f: 0=1"]);
}

#[test]
fn input_and_output_count_where_they_complete() {
    let text =
        "0: enter main @0, enter read @1, read 100 @2, read 28 @4, io @4, leave @5, write 7 @6, leave @9";
    let profile = profile(&ToyTrace::new(text), &Filter::default());
    assert_eq!(rows(&profile, "io_operations", Scope::Exclusive), ["main: 0=1", "main/read: 0=3"]);
    assert_eq!(rows(&profile, "io_bytes_read", Scope::Inclusive), ["main: 0=128", "main/read: 0=128"]);
    assert_eq!(rows(&profile, "io_bytes_written", Scope::Exclusive), ["main: 0=7"]);
    let late = Filter { time_ns: Some((3, 9)), ..Filter::default() };
    let profile = self::profile(&ToyTrace::new(text), &late);
    assert_eq!(rows(&profile, "io_bytes_read", Scope::Exclusive), ["main/read: 0=28"]);
}

#[test]
fn nothing_is_a_profile() {
    let nobody = Filter { ranks: Some("7".parse().unwrap()), ..Filter::default() };
    for (text, filter) in [("0:", Filter::default()), (TRACE, nobody)] {
        let profile = profile(&ToyTrace::new(text), &filter);
        assert!(profile.definitions().call_tree.is_empty());
        assert_eq!(rows(&profile, "time", Scope::Inclusive), Vec::<String>::new());
    }
}

#[test]
fn notices_are_about_locations_of_the_profile() {
    let trace = ToyTrace::new(TRACE).with_damage(LocationId(1), 3);
    let ranks = Filter { ranks: Some("1".parse().unwrap()), ..Filter::default() };
    let profile = profile(&trace, &ranks);
    let damaged = profile.notices().iter().find(|notice| notice.code.as_str() == "damaged-events").unwrap();
    assert_eq!(damaged.location, Some(LocationId(0)));
    assert_eq!(rows(&profile, "visits", Scope::Exclusive)[0], "[program]/main: 0=1");
}

#[test]
fn ranks_of_a_topology_become_processes() {
    let mut trace = ToyTrace::new(TRACE);
    let axis = |name: &str| CartDimension { name: Arc::from(name), size: 2, periodic: false };
    trace.definitions_mut().topologies = vec![CartTopology {
        name: Arc::from("grid"),
        comm: None,
        dimensions: vec![axis("x"), axis("y")],
        members: CartMembers::Ranks(vec![CommRank(0), CommRank(1), CommRank(2)]),
        coordinates: vec![1, 1, 0, 1, 0, 0],
    }];
    let profile = profile(&trace, &Filter::default());
    let topology = &profile.definitions().topologies[0];
    // There is no third process.
    assert_eq!(topology.members, CartMembers::Groups(vec![LocationGroupId(0), LocationGroupId(1)]));
    assert_eq!(topology.coordinates, [1, 1, 0, 1]);
}

/// Exclusive and inclusive sum over locations of each metric, by names of regions.
fn sums(profile: &TraceProfile, metric: MetricId, scope: Scope) -> BTreeMap<Vec<u32>, f64> {
    let definitions = profile.definitions();
    let mut rows = ScopedRows::open(profile, metric, scope, definitions.call_tree.all()).unwrap();
    let mut row = SeverityRow::new(definitions.metric(metric).value_type);
    let mut sums = BTreeMap::new();
    while rows.read(&mut row).unwrap() {
        let path: Vec<u32> = definitions
            .call_tree
            .from_root(row.path)
            .into_iter()
            .map(|path| definitions.call_tree.node(path).region)
            .filter(|region| &*definitions.regions[region.index()].name != "[program]")
            .map(|region| region.0)
            .collect();
        *sums.entry(path).or_default() += row.iter().map(|(_, value)| value).sum::<f64>();
    }
    sums
}

#[test]
fn sums_are_those_of_the_other_analyses() {
    for seed in 0..12 {
        let trace = RandomTrace { seed, n_locations: 5, n_events: 200, faults: Faults::None }.build();
        let mut set = AnalysisSet::default();
        let keys = (set.add(CallPathProfile), set.add(MetricProfile), set.add(Communication));
        let filter = Filter::default();
        let jobs = NonZeroUsize::MIN;
        let mut report = set.run(&trace, Pass { filter: &filter, jobs, progress: None }).unwrap();
        let times = report.outputs.take(&keys.0).unwrap();
        let counters = report.outputs.take(&keys.1).unwrap();
        let communication = report.outputs.take(&keys.2).unwrap();
        let cube = profile(&trace, &filter);
        let path_of = |path| times.call_paths.regions(path).into_iter().map(|r| r.0).collect::<Vec<u32>>();
        let mut expected: BTreeMap<(&str, Scope), BTreeMap<Vec<u32>, f64>> = BTreeMap::new();
        let mut add = |metric, scope, path, value: u64| {
            if value != 0 {
                *expected.entry((metric, scope)).or_default().entry(path_of(path)).or_default() +=
                    value as f64;
            }
        };
        for row in times.locations.iter().flat_map(|location| &location.rows) {
            add("time", Scope::Exclusive, row.call_path, row.times.exclusive.0);
            add("time", Scope::Inclusive, row.call_path, row.times.inclusive.0);
            add("visits", Scope::Exclusive, row.call_path, row.times.visits);
        }
        for row in counters.locations.iter().flat_map(|location| &location.rows) {
            let name = &*trace.definitions().metrics[row.metric.index()].name;
            add(name, Scope::Exclusive, row.call_path, row.exclusive);
            add(name, Scope::Inclusive, row.call_path, row.inclusive);
        }
        for location in &communication.locations {
            for row in &location.messages {
                add("messages_sent", Scope::Exclusive, row.call_path, row.totals.sends);
                add("messages_received", Scope::Exclusive, row.call_path, row.totals.receives);
                add("bytes_sent", Scope::Exclusive, row.call_path, row.totals.bytes_sent);
                add("bytes_received", Scope::Exclusive, row.call_path, row.totals.bytes_received);
            }
            for row in &location.collectives {
                add("collectives", Scope::Exclusive, row.call_path, row.totals.operations);
                add("bytes_sent", Scope::Exclusive, row.call_path, row.totals.bytes_sent);
                add("bytes_received", Scope::Exclusive, row.call_path, row.totals.bytes_received);
            }
        }
        assert!(expected.len() > 3, "the trace has something of everything");
        for ((metric, scope), expected) in expected {
            let id = cube.definitions().metric_by_name(metric).expect(metric);
            let scale = if metric == "time" { 1e9 } else { 1.0 };
            let mut found = sums(&cube, id, scope);
            found.retain(|path, value| {
                *value = (*value * scale).round();
                *value != 0.0 && !(path.is_empty() && scope == Scope::Inclusive)
            });
            assert_eq!(found, expected, "{metric} {scope:?} of trace {seed}");
        }
    }
}

#[test]
fn laws_hold() {
    laws::check(SeverityCube::default, |output| {
        let paths: Vec<_> = output.call_paths.paths().map(|p| output.call_paths.regions(p)).collect();
        format!("{paths:?} {:?} {:?} {:?}", output.locations, output.metrics, output.counters)
    });
}

#[test]
fn one_location_after_the_other_is_all_together() {
    let trace = ToyTrace::new(TRACE);
    let together = run(&trace, SeverityCube::default());
    let mut set = AnalysisSet::default();
    let key = set.add(SeverityCube::default());
    let set = set.prepare(trace.definitions(), &Filter::default());
    let jobs = NonZeroUsize::new(2).unwrap();
    let mut parts = Vec::new();
    let report = set
        .run_in_parts(&trace, jobs, None, &|| true, &mut |mut outputs, is_last| {
            parts.push((outputs.take(&key).unwrap(), is_last));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert!(parts.len() > 1, "a part is full at once");
    let n_values: u64 = parts.iter().map(|(output, _)| output.n_values()).sum();
    assert_eq!(n_values, together.n_values());
    assert_eq!(report.coverage.locations_complete, 4);
    let lasts: Vec<bool> = parts.iter().map(|(_, is_last)| *is_last == ouzel_engine::IsLast::Yes).collect();
    assert_eq!(lasts.iter().position(|last| *last), Some(parts.len() - 1));
}
