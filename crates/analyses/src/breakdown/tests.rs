use super::intervals::measure_by_membership;
use super::state::BreakdownLocal;
use super::*;
use crate::reference::{calls, code_locations, random_traces, span};
use crate::semantics::{Category, Class, Family, Semantics};
use ouzel_engine::Selected;
use ouzel_model::{Definitions, Filter, LocationId, RequestEvent, Ticks, TraceSource};
use ouzel_testkit::{Rng, ToyPayload, ToyTrace, golden, laws, run, run_report};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

fn breakdown(definitions: &Definitions, host_code: HostCode, requests: Requests) -> Breakdown {
    let classes = Semantics::default().classes(definitions);
    Breakdown::new(&classes, host_code, requests)
}

/// The parts of each rank: computation, overlap, communication, other, transfer, unclassified, span.
fn parts(text: &str, host_code: HostCode, requests: Requests) -> Vec<[u64; 7]> {
    let trace = ToyTrace::new(text);
    let output = run(&trace, breakdown(trace.definitions(), host_code, requests));
    output.rows.iter().map(numbers).collect()
}

fn numbers(row: &ProcessBreakdown) -> [u64; 7] {
    let ActivityTimes { computation, overlap, communication, transfer, unclassified } = row.times;
    [computation, overlap, communication, row.other(), transfer, unclassified, row.span].map(|ticks| ticks.0)
}

#[test]
fn the_expected_values_are_met() {
    let golden = golden("pipit_ops");
    // The intervals are not in the file; these have the totals that it expects.
    let text = "
        0: other @0, other @30
        0.gpu0: enter gemm @0, leave @10, enter gemm @15, leave @25
        0.gpu1: enter ncclDevKernel_AllReduce_Sum @8, leave @15, enter ncclDevKernel_SendRecv @20, leave @25";
    let found = parts(text, HostCode::default(), Requests::default());
    let expected = &golden["expected"]["breakdown"];
    let value = |key: &str| expected[key].as_u64().unwrap();
    let wanted = [value("comp_only"), value("overlap"), value("comm_only"), value("other")];
    assert_eq!(found, [[wanted[0], wanted[1], wanted[2], wanted[3], 0, 0, value("total")]]);
}

#[test]
fn a_thread_communicates_inside_calls_and_while_requests_are_open() {
    let text = "
        0: enter main @0, enter MPI_Isend @10, send>0 request 1 @11, leave @12, enter work @12, leave @40, enter MPI_Wait @40, request 1 send-complete @44, leave @45, enter pthread_mutex_lock @45, leave @50, leave @60, other @70";
    assert_eq!(parts(text, HostCode::default(), Requests::LeftOut), [[48, 0, 7, 15, 0, 0, 70]]);
    assert_eq!(parts(text, HostCode::default(), Requests::Included), [[20, 28, 7, 15, 0, 0, 70]]);
    assert_eq!(parts(text, HostCode::DoesNotCompute, Requests::Included), [[0, 0, 35, 35, 0, 0, 70]]);
}

#[test]
fn what_is_called_inside_a_communication_call_is_part_of_it() {
    let text = "0: enter main @0, enter MPI_Allreduce @10, enter my_operation @12, enter omp_helper @13, leave @14, leave @15, leave @20, leave @30";
    assert_eq!(parts(text, HostCode::default(), Requests::LeftOut), [[20, 0, 10, 0, 0, 0, 30]]);
}

#[test]
fn with_streams_the_host_drives_the_device_unless_told_otherwise() {
    let text = "
        0: enter main @0, enter cudaLaunchKernel @1, leave @2, enter ncclAllReduce @2, leave @4, enter MPI_Barrier @50, leave @60, enter cudaDeviceSynchronize @60, leave @90, leave @100
        0.gpu0: enter gemm @5, leave @55, enter [CUDA memcpy DtoH] @55, leave @65
        1: enter main @0, leave @8";
    let kernels = [45, 5, 5, 45, 5, 0, 100];
    assert_eq!(parts(text, HostCode::default(), Requests::LeftOut), [kernels, [8, 0, 0, 0, 0, 0, 8]]);
    // Computing in main or the kernel: [0, 1), [4, 55), [90, 100). Communicating: [50, 60).
    let computes = [57, 5, 5, 33, 5, 0, 100];
    assert_eq!(parts(text, HostCode::Computes, Requests::LeftOut)[0], computes);
    assert_eq!(parts(text, HostCode::DoesNotCompute, Requests::LeftOut), [kernels, [0, 0, 0, 8, 0, 0, 8]]);
}

#[test]
fn what_is_not_known_is_shown_as_such() {
    let trace = ToyTrace::new(
        "0: enter main @0, enter MPI_Barrier @10, leave @20, enter g @20, leave @50, leave @60",
    );
    let filter = Filter { regions: vec!["main".into(), "MPI_*".into()], ..Filter::default() };
    let classes = Semantics::default().classes(trace.definitions());
    let analysis = Breakdown::new(&classes, HostCode::default(), Requests::default());
    let (output, _) = run_report(&trace, &filter, analysis);
    assert_eq!(output.rows.iter().map(numbers).collect::<Vec<_>>(), [[20, 0, 10, 30, 0, 30, 60]]);
}

#[test]
fn user_rules_decide_what_communicates() {
    let trace = ToyTrace::new("0: enter main @0, enter gaspi_wait @10, leave @30, leave @40");
    let rule = crate::semantics::Rule {
        pattern: "gaspi_.*".into(),
        class: Class { category: Category::Wait, family: Family::Mpi },
    };
    let classes = Semantics::with_user_rules(&[rule]).unwrap().classes(trace.definitions());
    let _filter = Filter::default();
    let analysis = Breakdown::new(&classes, HostCode::default(), Requests::default());
    assert_eq!(numbers(&run(&trace, analysis).rows[0]), [20, 0, 20, 0, 0, 0, 40]);
}

#[test]
fn requests_without_an_end_are_left_out_and_said() {
    let trace = ToyTrace::new(
        "0: enter main @0, send>0 request 1 @10, send>0 request 1 @20, request 1 send-complete @30, send>0 request 7 @35, request 8 send-complete @40, request 9 recv-posted @50, request 9 tested @55, recv<0 request 9 @60, request 4 recv-posted @61, request 4 cancelled @63, request 5 collective-posted @64, collective barrier request 5 @66, leave @100",
    );
    let (output, report) = run_report(
        &trace,
        &Filter::default(),
        breakdown(trace.definitions(), HostCode::default(), Requests::Included),
    );
    assert_eq!(numbers(&output.rows[0]), [76, 24, 0, 0, 0, 0, 100]);
    assert_eq!(output.n_lost, 3);
    assert_eq!(report.notices.iter().map(|notice| notice.count).collect::<Vec<_>>(), [3]);
}

/// Tick by tick: what each rank did.
fn reference(trace: &ToyTrace, requests: Requests) -> Vec<[u64; 7]> {
    let definitions = trace.definitions();
    let semantics = Semantics::default();
    let calls = calls(trace);
    let mut ranks: BTreeMap<u32, Vec<LocationId>> = BTreeMap::new();
    for location in code_locations(trace) {
        ranks.entry(definitions.location(location).rank.unwrap().0).or_default().push(location);
    }
    let mut rows = Vec::new();
    for locations in ranks.values() {
        let spans = locations.iter().filter_map(|&location| span(trace, location));
        let Some((start, end)) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { continue };
        let (mut computing, mut communicating) = (BTreeSet::new(), BTreeSet::new());
        for &location in locations {
            for at in start..end {
                let open: Vec<_> = calls
                    .iter()
                    .filter(|call| call.location == location && call.enter <= at && at < call.leave)
                    .map(|call| semantics.class(definitions.region(*call.path.last().unwrap())))
                    .collect();
                let waits =
                    |class: &Class| class.family == Family::Mpi && class.category != Category::Computation;
                if open.iter().any(waits) {
                    communicating.insert(at);
                } else if open.last().is_some_and(|class| class.family == Family::User) {
                    computing.insert(at);
                }
            }
            if requests == Requests::Included {
                for (from, to) in lives(trace, location) {
                    communicating.extend(from..to);
                }
            }
        }
        let both = computing.intersection(&communicating).count() as u64;
        let (p, c) = (computing.len() as u64 - both, communicating.len() as u64 - both);
        rows.push([p, both, c, end - start - p - c - both, 0, 0, end - start]);
    }
    rows
}

/// From the last post of each request to its next completion.
fn lives(trace: &ToyTrace, location: LocationId) -> Vec<(u64, u64)> {
    let mut open: BTreeMap<u64, u64> = BTreeMap::new();
    let mut lives = Vec::new();
    for event in trace.events(location) {
        let at = event.time.0;
        let (request, is_post) = match &event.what {
            ToyPayload::Send(end) => (end.request, true),
            ToyPayload::Recv(end) => (end.request, false),
            ToyPayload::CollectiveEnd(end) => (end.request, false),
            ToyPayload::Request(r) if r.event == RequestEvent::SendComplete => (Some(r.request), false),
            _ => continue,
        };
        let Some(request) = request else { continue };
        if is_post {
            open.insert(request, at);
        } else if let Some(posted) = open.remove(&request) {
            lives.push((posted, at));
        }
    }
    lives
}

#[test]
fn parts_are_those_of_every_tick() {
    for trace in random_traces() {
        for requests in [Requests::Included, Requests::LeftOut] {
            let analysis = || breakdown(trace.definitions(), HostCode::default(), requests);
            let output = run(&trace, analysis());
            let found: Vec<_> = output.rows.iter().map(numbers).collect();
            assert_eq!(found, reference(&trace, requests));
            let chunked = run(&trace.clone().with_chunk_events(5), analysis());
            assert_eq!(chunked, output);
        }
    }
}

#[test]
fn a_process_of_one_location_forgets_its_past_and_nothing_is_lost() {
    // 20,000 rounds of work, a send that stays open until the next round, and a barrier.
    let mut text = String::from("0: enter main @0");
    for round in 0..20_000_u64 {
        let at = 100 * round;
        let _ = write!(
            text,
            ", enter MPI_Isend @{}, send>0 request {round} @{}, leave @{}",
            at + 10,
            at + 12,
            at + 15
        );
        if 0 < round {
            let _ = write!(text, ", request {} send-complete @{}", round - 1, at + 30);
        }
        let _ = write!(text, ", enter MPI_Barrier @{}, leave @{}", at + 90, at + 95);
    }
    let _ = write!(text, ", leave @2000000");
    let trace = ToyTrace::new(&text).with_chunk_events(512);
    let analysis = breakdown(trace.definitions(), HostCode::default(), Requests::Included);
    let output = run(&trace, analysis);
    // Open from the first send to the completion in the last round; then the barrier there.
    let open = 1_999_930 - 12;
    let communicating = 2 + open + 5;
    // While requests are open the program works but in the calls: 5 ticks to send, 5 in the barrier of each round.
    let in_calls = 5 * 20_000 - 2 + 5 * 19_999;
    let computation = 2_000_000 - communicating;
    assert_eq!(numbers(&output.rows[0]), [computation, open - in_calls, in_calls + 7, 0, 0, 0, 2_000_000]);
    assert_eq!(output.n_lost, 1);

    let mut local = BreakdownLocal::new(activity::HostOrDevice::Host, true, Selected::ALL);
    for i in 0..100_000 {
        local.change(Activity::Computation, Ticks(2 * i));
        local.change(Activity::Other, Ticks(2 * i + 1));
        local.forget();
        assert!(local.calls.len() <= 4096, "at {i}");
    }
    assert!(0 < local.forgotten.computation.0);
}

#[test]
fn the_mean_is_over_processes_and_in_the_same_unit() {
    let text = "
        0: enter main @0, leave @10
        1: enter main @0, enter MPI_Recv @5, leave @10, leave @20
        2: other @0";
    let trace = ToyTrace::new(text);
    let output = run(&trace, breakdown(trace.definitions(), HostCode::default(), Requests::default()));
    let mean = output.mean().unwrap();
    let found: Vec<_> =
        mean.iter().map(|(name, mean)| (*name, mean.ns(&trace.definitions().clock))).collect();
    assert_eq!(found[0], ("computation_ns", 8));
    assert_eq!(found[2], ("communication_ns", 2));
    let table = output.table(trace.definitions());
    let names: Vec<&str> = table.columns.iter().skip(1).map(|column| &*column.name).collect();
    assert_eq!(names, found.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    assert_eq!(table.n_rows(), 3);
    let empty = BreakdownOutput { rows: Vec::new(), n_lost: 0 };
    assert_eq!(empty.mean(), None);
}

/// The set of ticks of random intervals in the order of their ends.
fn random_intervals(rng: &mut Rng) -> (Intervals, BTreeSet<u64>) {
    let mut all: Vec<(u64, u64)> = (0..rng.below(20))
        .map(|_| {
            let start = rng.below(200);
            (start, start + rng.below(30))
        })
        .collect();
    all.sort_unstable_by_key(|&(start, end)| (end, start));
    let mut intervals = Intervals::default();
    let mut ticks = BTreeSet::new();
    for (start, end) in all {
        intervals.push(start, end);
        ticks.extend(start..end);
    }
    (intervals, ticks)
}

fn check_canonical(intervals: &Intervals, ticks: &BTreeSet<u64>) {
    let found: Vec<u64> = intervals.as_slice().iter().flat_map(|&(start, end)| start..end).collect();
    assert_eq!(found, ticks.iter().copied().collect::<Vec<_>>());
    assert!(intervals.as_slice().windows(2).all(|pair| pair[0].1 < pair[1].0), "{intervals:?}");
}

#[test]
fn intervals_are_sets_of_ticks() {
    let mut rng = Rng::new(3);
    for _ in 0..300 {
        let (a, a_ticks) = random_intervals(&mut rng);
        let (b, b_ticks) = random_intervals(&mut rng);
        let (c, c_ticks) = random_intervals(&mut rng);
        check_canonical(&a, &a_ticks);
        check_canonical(&a.union(&b), &a_ticks.union(&b_ticks).copied().collect());
        assert_eq!(a.union(&b), b.union(&a));
        let found: [u64; 8] = measure_by_membership([&a, &b, &c]);
        let mut expected = [0; 8];
        for at in 0..400 {
            let mask = usize::from(a_ticks.contains(&at))
                | usize::from(b_ticks.contains(&at)) << 1
                | usize::from(c_ticks.contains(&at)) << 2;
            expected[mask] += 1;
        }
        expected[0] = 0;
        assert_eq!(found, expected);
        let at = rng.below(250);
        let mut after = a.clone();
        let before = after.take_before(at);
        check_canonical(&before, &a_ticks.range(..at).copied().collect());
        check_canonical(&after, &a_ticks.range(at..).copied().collect());
    }
}

#[test]
fn laws_hold() {
    // The definitions of random traces differ in their locations: the analysis takes the numbers of locations of the
    // first, so some processes settle early, some late and some at the end.
    for (n_locations, requests) in [(1, Requests::LeftOut), (6, Requests::Included)] {
        let recipe = ouzel_testkit::RandomTrace {
            seed: 1,
            n_locations,
            n_events: 10,
            faults: ouzel_testkit::Faults::None,
        };
        let trace = recipe.build();
        laws::check(
            || breakdown(trace.definitions(), HostCode::default(), requests),
            |output| format!("{output:?}"),
        );
    }
}
