use super::*;
use crate::golden::OPERATIONS;
use crate::paired_operations::{Operations, OperationsOutput};
use crate::reference::{Call, agreeing_trace, calls, innermost, random_traces};
use crate::semantics::{Category, Semantics};
use ouzel_model::{
    CallPathTree, CollectiveOp, LocationId, NoticeCode, Notices, RegionId, Ticks, TimeRange, TraceSource,
};
use ouzel_testkit::{ToyTrace, golden, laws, run};
use std::collections::BTreeMap;

fn operations(trace: &ToyTrace) -> OperationsOutput {
    run(trace, Operations::new(trace.definitions()))
}

fn path(trace: &ToyTrace) -> CriticalPathOutput {
    critical_path(&operations(trace), &WaitsOfDevices::default(), trace.definitions(), &Notices::default())
}

fn profiled(trace: &ToyTrace, path: &CriticalPathOutput) -> PathProfile {
    let classes = Semantics::default().classes(trace.definitions());
    profile(path, &run(trace, PathCalls::new(path)), &classes, trace.definitions())
}

fn described(segments: &[Segment]) -> Vec<(&'static str, u32, u64, u64)> {
    segments.iter().map(|s| (s.kind.as_str(), s.location.0, s.range.start.0, s.range.end.0)).collect()
}

fn check(text: &str, expected: &[(&str, u32, u64, u64)]) {
    assert_eq!(described(&path(&ToyTrace::new(text)).segments), expected);
}

#[test]
fn the_expected_values_are_met() {
    let golden = golden("pipit_ops");
    let found = path(&ToyTrace::new(OPERATIONS));
    let expected = golden["expected"]["critical_path"].as_array().unwrap();
    assert_eq!(found.segments.len(), expected.len());
    for (segment, expected) in found.segments.iter().zip(expected) {
        let number = |key: &str| expected[key].as_u64();
        assert_eq!(Some(segment.kind.as_str()), expected["kind"].as_str());
        assert_eq!(segment.rank.map(|rank| u64::from(rank.0)), number("proc"));
        assert_eq!(segment.from.map(|from| u64::from(from.0)), number("from"));
        assert_eq!(Some(segment.range.start.0), number("start"));
        assert_eq!(Some(segment.range.end.0), number("end"));
    }
}

#[test]
fn a_message_that_was_there_is_not_waited_for() {
    check(
        "0: enter MPI_Send @5, send>1 @6, leave @9
         1: enter work @0, leave @8, enter MPI_Recv @8, recv<0 @20, leave @20",
        &[("local", 1, 0, 20)],
    );
}

#[test]
fn the_matched_send_counts_and_not_the_latest() {
    // The first message came late; the second was sent long before it was received.
    check(
        "0: enter MPI_Send @30, send>1 tag 1 @30, leave @31, enter MPI_Send @33, send>1 tag 2 @33, leave @34
         1: enter MPI_Recv @5, recv<0 tag 1 @35, leave @35, enter work @35, leave @50, enter MPI_Recv @50, recv<0 tag 2 @51, leave @51",
        &[("local", 0, 30, 30), ("message", 1, 30, 35), ("local", 1, 35, 51)][1..],
    );
}

#[test]
fn a_wait_for_many_is_for_the_one_sent_last() {
    check(
        "0: enter MPI_Irecv @1, request 7 recv-posted @1, leave @2, enter MPI_Irecv @2, request 8 recv-posted @2, leave @3, enter MPI_Waitall @10, recv<2 request 8 @50, recv<1 request 7 @50, leave @50
         1: enter work @1, leave @20, enter MPI_Send @20, send>0 @20, leave @21
         2: enter work @2, leave @45, enter MPI_Isend @45, send>0 request 1 @45, leave @46",
        &[("local", 2, 2, 45), ("message", 0, 45, 50)],
    );
}

#[test]
fn only_synchronous_sends_wait_for_their_receive() {
    let text = |name: &str| {
        format!(
            "0: enter {name} @1, send>1 @1, leave @30, enter work @30, leave @60
             1: enter work @0, leave @25, enter MPI_Recv @25, recv<0 @30, leave @30"
        )
    };
    check(&text("MPI_Ssend"), &[("local", 1, 0, 25), ("message", 0, 25, 30), ("local", 0, 30, 60)]);
    check(&text("MPI_Send"), &[("local", 0, 1, 60)]);
}

#[test]
fn members_of_a_collective_wait_for_those_they_need() {
    let text = |op: &str| {
        format!(
            "0: enter work @0, leave @10, enter MPI_Call @10, collective {op} root 1 @40, leave @40, enter work @40, leave @90
             1: enter work @0, leave @20, enter MPI_Call @20, collective {op} root 1 @41, leave @41
             2: enter work @0, leave @35, enter MPI_Call @35, collective {op} root 1 @42, leave @42"
        )
        .replace("MPI_Call", &format!("MPI_{}{}", op[..1].to_uppercase(), &op[1..]))
    };
    let waits_for =
        |from: u32, at: u64| [("local", from, 0, at), ("collective", 0, at, 40), ("local", 0, 40, 90)];
    check(&text("allreduce"), &waits_for(2, 35));
    check(&text("bcast"), &waits_for(1, 20));
    check(&text("reduce"), &[("local", 0, 0, 90)]);
    check(&text("scan"), &[("local", 0, 0, 90)]);
}

#[test]
fn a_helper_thread_goes_on_where_it_was_started() {
    check(
        "0: enter work @0, leave @30, enter MPI_Recv @30, recv<1 @60, leave @60
         1: enter main @2, leave @20
         1.1: enter work @10, leave @50, enter MPI_Send @50, send>0 @50, leave @51",
        &[("local", 1, 2, 10), ("local", 2, 10, 50), ("message", 0, 50, 60)],
    );
}

#[test]
fn what_a_profiler_adds_to_a_process_is_not_its_main_thread() {
    let mut trace = ToyTrace::new(
        "0: enter wait @0, leave @60
         0.1: enter work @1, leave @60",
    );
    trace.definitions_mut().locations[0].kind = ouzel_model::LocationKind::Unknown;
    let output = critical_path(
        &operations(&trace),
        &WaitsOfDevices::default(),
        trace.definitions(),
        &Notices::default(),
    );
    assert_eq!(described(&output.segments), [("local", 1, 1, 60)]);
}

#[test]
fn wrong_clocks_are_not_followed() {
    let trace = ToyTrace::new(
        "0: enter MPI_Recv @1, recv<1 @2, leave @2, enter MPI_Recv @3, recv<1 @9, leave @9
         1: enter MPI_Send @3, send>0 @3, leave @4, enter MPI_Send @4, send>0 @4, leave @4",
    );
    let notices = Notices::default();
    let output =
        critical_path(&operations(&trace), &WaitsOfDevices::default(), trace.definitions(), &notices);
    assert_eq!(described(&output.segments), [("local", 1, 3, 4), ("message", 0, 4, 9)]);
    assert_eq!((output.n_out_of_order, notices.to_vec()[0].code), (1, NoticeCode::MessageOrder));
}

/// Segments follow each other without gap, none goes back, and each goes on where the one before it was.
fn check_tiles(output: &CriticalPathOutput, end: u64, case: &str) {
    let segments = &output.segments;
    assert_eq!(output.range().map(|range| range.end), Some(Ticks(end)), "{case}");
    for segment in segments {
        assert!(segment.range.start <= segment.range.end, "{case}: {segment:?}");
    }
    for pair in segments.windows(2) {
        assert_eq!(pair[0].range.end, pair[1].range.start, "{case}: {pair:?}");
        let goes_on = pair[1].from.is_none_or(|from| pair[0].location == from);
        assert!(goes_on, "{case}: {pair:?}");
    }
    assert_eq!(segments[0].kind, SegmentKind::Local, "{case}");
}

#[test]
fn segments_tile_the_run_where_clocks_agree() {
    let mut n_hops = 0;
    for seed in 0..60 {
        let trace = agreeing_trace(seed);
        let operations = operations(&trace);
        let output =
            critical_path(&operations, &WaitsOfDevices::default(), trace.definitions(), &Notices::default());
        assert_eq!(output.n_out_of_order, 0);
        let end = operations.lines.iter().map(|line| line.end.0).max().unwrap();
        check_tiles(&output, end, &format!("seed {seed}"));
        n_hops += output.segments.iter().filter(|s| s.from.is_some()).count();
        // It starts where a process starts.
        let first = output.segments[0];
        let line = operations.lines.iter().find(|line| line.location == first.location).unwrap();
        assert_eq!(line.start, first.range.start);
    }
    assert!(200 < n_hops, "{n_hops}");
}

#[test]
fn whatever_the_clocks_the_path_does_not_go_back() {
    for trace in random_traces() {
        let output = path(&trace);
        for pair in output.segments.windows(2) {
            assert_eq!(pair[0].range.end, pair[1].range.start);
        }
        assert!(output.segments.iter().all(|s| s.range.start <= s.range.end));
    }
}

/// The path by the words of the definition: look through everything at every step.
fn slow_path(output: &OperationsOutput) -> Vec<(&'static str, u32, u64, u64)> {
    let ops = &output.operations;
    let mut at = output.lines.iter().max_by_key(|l| (l.end, std::cmp::Reverse(l.rank))).unwrap().location;
    let mut until = output.lines.iter().map(|line| line.end).max().unwrap();
    let mut segments = Vec::new();
    loop {
        // (leave, cause's time, cause, kind) of everything that waited here.
        let mut waited: Vec<(Ticks, Ticks, LocationId, &'static str)> = Vec::new();
        for message in &output.messages {
            let (send, receive) = (ops[message.send as usize], ops[message.receive as usize]);
            if receive.location == at && receive.enter < send.enter {
                waited.push((receive.leave, send.enter, send.location, "message"));
            }
        }
        for instance in &output.collectives {
            assert_eq!(instance.op, CollectiveOp::Barrier);
            let Some(&(mine, arrived)) =
                instance.members.iter().find(|member| ops[member.0 as usize].location == at)
            else {
                continue;
            };
            let last = instance.members.iter().map(|member| member.1).max().unwrap();
            let cause = instance.members.iter().find(|member| member.1 == last).unwrap().0;
            if arrived < last {
                waited.push((ops[mine as usize].leave, last, ops[cause as usize].location, "collective"));
            }
        }
        let latest = waited.into_iter().filter(|w| w.0 <= until).max_by_key(|w| (w.0, w.1));
        let line = output.lines.iter().find(|line| line.location == at).unwrap();
        let start = latest.map_or(line.start, |wait| wait.0);
        if start < until {
            segments.push(("local", at.0, start.0, until.0));
        }
        let Some((leave, cause_at, cause, kind)) = latest else { break };
        segments.push((kind, at.0, cause_at.0, leave.0));
        (at, until) = (cause, cause_at);
    }
    segments.reverse();
    segments
}

#[test]
fn the_path_is_that_of_the_slow_way() {
    for seed in 100..160 {
        let trace = agreeing_trace(seed);
        let operations = operations(&trace);
        let found =
            critical_path(&operations, &WaitsOfDevices::default(), trace.definitions(), &Notices::default());
        assert_eq!(described(&found.segments), slow_path(&operations), "seed {seed}");
    }
}

#[test]
fn every_tick_of_the_path_is_in_one_call() {
    for seed in 0..20 {
        let trace = agreeing_trace(seed);
        let path = path(&trace);
        let profile = profiled(&trace, &path);
        let all: Vec<Call> = calls(&trace);
        let mut expected: BTreeMap<(Vec<RegionId>, u32), u64> = BTreeMap::new();
        for segment in &profile.segments {
            for tick in segment.range.start.0..segment.range.end.0 {
                let regions = if segment.kind == SegmentKind::Local {
                    innermost(&all, segment.location, tick).map(|call| call.path.clone()).unwrap_or_default()
                } else {
                    profile.call_paths.regions(segment.call_path)
                };
                *expected.entry((regions, segment.location.0)).or_default() += 1;
            }
        }
        let mut found = BTreeMap::new();
        for row in &profile.rows {
            for (rank, time) in &row.by_rank {
                let key = (profile.call_paths.regions(row.call_path), rank.unwrap().0);
                found.insert(key, time.total().0);
            }
        }
        found.retain(|_, ticks| 0 < *ticks);
        assert_eq!(found, expected, "seed {seed}");
        let sum = |times: &mut dyn Iterator<Item = PathTime>| times.map(|t| t.total().0).sum::<u64>();
        let length = profile.length().0;
        assert_eq!(sum(&mut profile.by_region().iter().map(|row| row.time)), length);
        assert_eq!(sum(&mut profile.by_rank.iter().map(|row| row.1)), length);
        assert_eq!(profile.table(trace.definitions()).columns[1].data.len(), profile.rows.len());
        assert_eq!(profile.segments_table(trace.definitions()).columns[0].data.len(), profile.segments.len());
        assert_eq!(
            profile.by_region_table(trace.definitions()).columns[0].data.len(),
            profile.by_region().len()
        );
    }
}

#[test]
fn a_local_segment_names_the_call_with_most_of_its_time() {
    let trace = ToyTrace::new("0: enter main @0, enter a @10, leave @20, enter b @20, leave @90, leave @100");
    let path = path(&trace);
    let profile = profiled(&trace, &path);
    let [segment] = profile.segments[..] else { panic!("{:?}", profile.segments) };
    let names: Vec<_> = profile
        .call_paths
        .regions(segment.call_path)
        .iter()
        .map(|&region| &*trace.definitions().region(region).name)
        .collect();
    assert_eq!(names, ["main", "b"]);
    let table = serde_json::to_value(profile.by_region_table(trace.definitions())).unwrap();
    assert_eq!(table["columns"][0]["data"], serde_json::json!({ "OptionText": ["b", "main", "a"] }));
    assert_eq!(table["columns"][1]["data"], serde_json::json!({ "U64": [70, 20, 10] }));
}

#[test]
fn time_in_mpi_is_not_work() {
    let trace = ToyTrace::new(
        "0: enter main @0, enter MPI_Send @10, enter copy @20, leave @50, leave @60, \
         enter omp_set_lock @60, leave @67, leave @100",
    );
    let definitions = trace.definitions();
    let mut classes = Semantics::default().classes(definitions);
    classes[trace.definitions().regions.iter().position(|r| &*r.name == "omp_set_lock").unwrap()].category =
        Category::Wait;
    let path = path(&trace);
    let profile = profile(&path, &run(&trace, PathCalls::new(&path)), &classes, definitions);
    let times: Vec<(String, u64, u64, u64)> = profile
        .rows
        .iter()
        .map(|row| {
            let region = profile.call_paths.region(row.call_path).unwrap();
            let PathTime { working, in_mpi, waiting, .. } = row.time;
            (definitions.region(region).name.to_string(), working.0, in_mpi.0, waiting.0)
        })
        .collect();
    let row = |name: &str, working, in_mpi, waiting| (name.to_owned(), working, in_mpi, waiting);
    assert_eq!(
        times,
        [
            row("main", 43, 0, 0),
            row("copy", 0, 30, 0),
            row("MPI_Send", 0, 20, 0),
            row("omp_set_lock", 0, 0, 7),
        ]
    );
    assert_eq!(
        profile.with_activity().next().map(|it| it.1),
        Some(Activity::Working),
        "what takes most of it"
    );
    let table = serde_json::to_value(profile.segments_table(definitions)).unwrap();
    assert_eq!(table["columns"][3]["data"], serde_json::json!({ "Text": ["working"] }));
}

#[test]
fn laws_hold_for_the_second_pass() {
    let segment = |location: u32, start: u64, end: u64| Segment {
        kind: SegmentKind::Local,
        location: LocationId(location),
        rank: None,
        from: None,
        range: TimeRange { start: Ticks(start), end: Ticks(end) },
        call_path: CallPathTree::ROOT,
    };
    let path = CriticalPathOutput {
        call_paths: CallPathTree::default(),
        segments: vec![
            segment(0, 3, 500),
            segment(1, 500, 900),
            segment(0, 900, 1300),
            segment(3, 1300, 1300),
            segment(0, 1300, 9000),
        ],
        n_out_of_order: 0,
    };
    laws::check(
        || PathCalls::new(&path),
        |output| {
            let paths: Vec<_> = output.call_paths.paths().map(|p| output.call_paths.regions(p)).collect();
            format!("{paths:?} {:?}", output.shares)
        },
    );
}

#[test]
fn more_times_than_may_be_kept_are_none() {
    let trace = ToyTrace::new(
        "0: enter a @0, leave @10, enter b @10, leave @20\n1: enter a @0, leave @20, enter b @20, leave @30",
    );
    let all = |number| vec![(number, TimeRange { start: Ticks(0), end: Ticks(20) })];
    let calls = || PathCalls::in_ranges([(LocationId(0), all(0)), (LocationId(1), all(1))].into());
    let kept = |limit| {
        let output = run(&trace, calls().at_most(limit));
        (output.shares.len(), output.is_over)
    };
    assert_eq!([u64::MAX, 3, 2, 0].map(kept), [(3, false), (3, false), (0, true), (0, true)]);
}

#[test]
fn calls_of_mpi_are_the_time_of_its_call_paths() {
    let nested = ToyTrace::new(
        "0: enter main @0, enter MPI_Send @5, enter copy @6, enter MPI_Test @7, leave @8, leave @9, leave @10, leave @20
         1: enter MPI_Recv @1, leave @3, enter omp_barrier @4, enter MPI_Recv @5, leave @6, leave @9, enter MPI_Recv @9",
    );
    let found = run(&nested, CallsOfMpi::new(nested.definitions()));
    let ticks = |ranges: &[TimeRange]| -> Vec<(u64, u64)> {
        ranges.iter().map(|range| (range.start.0, range.end.0)).collect()
    };
    assert_eq!(ticks(&found[&LocationId(0)]), [(5, 10)]);
    assert_eq!(ticks(&found[&LocationId(1)])[..1], [(1, 3)]);
    let mut n_in_mpi = 0;
    for trace in random_traces().chain((0..50).map(agreeing_trace)).chain([nested]) {
        let definitions = trace.definitions();
        let whole = |location: LocationId| {
            (location, vec![(location.0, TimeRange { start: Ticks(0), end: Ticks(u64::MAX) })])
        };
        let whole = definitions.location_ids().map(whole).collect();
        let output = run(&trace, PathCalls::in_ranges(whole));
        let classes = Semantics::default().classes(definitions);
        let activities = activities(&output.call_paths, &classes);
        let mut expected: BTreeMap<LocationId, u64> = BTreeMap::new();
        for share in output.shares.iter().filter(|it| activities[it.call_path.index()] == Activity::InMpi) {
            *expected.entry(LocationId(share.segment)).or_default() += share.time.0;
        }
        let sum = |ranges: Vec<TimeRange>| ranges.iter().map(|it| it.end.since(it.start).0).sum::<u64>();
        let found = run(&trace, CallsOfMpi::new(definitions)).into_iter();
        let found: BTreeMap<LocationId, u64> = found.map(|(id, ranges)| (id, sum(ranges))).collect();
        assert_eq!(found.into_iter().filter(|it| 0 < it.1).collect::<BTreeMap<_, _>>(), expected);
        n_in_mpi += expected.len();
    }
    assert!(50 < n_in_mpi, "{n_in_mpi}");
}

#[test]
fn laws_hold_for_calls_of_mpi() {
    laws::check_made_for(CallsOfMpi::new, |output| format!("{output:?}"));
}
