//! Predicates on calls, against a filter of a list of all calls.

use crate::log::{ListLog, Log, Seen};
use crate::{check, see};
use ouzel_engine::list;
use ouzel_model::{
    Borders, Filter, LocationId, MetricId, NoticeCode, NumberSet, Predicate, TextTest, Ticks, TraceSource,
};
use ouzel_testkit::{Faults, RandomTrace, Rng, ToyEvent, ToyPayload, ToyTrace, run_report};
use std::collections::BTreeMap;

fn passing(text: &str) -> Filter {
    Filter::default().and(text.parse().unwrap_or_else(|error| panic!("{text}: {error}")))
}

#[test]
fn names_depths_and_paths_choose_calls() {
    let trace = "0: enter main @0, enter f @10, enter g @20, leave @30, leave @40, enter g @50, leave @60, leave @100";
    for filter in
        ["path like '*/f/*'", "name = g and depth = 2", "within = f and name != f", "path = main/f/g"]
    {
        check(
            trace,
            &passing(filter),
            &[
                "enter [filtered] @0",
                "enter [filtered]/g @20",
                "leave [filtered]/g @30 incl 10 excl 10",
                "leave [filtered] @100 incl 100 excl 90",
            ],
            &[],
        );
    }
    check(
        trace,
        &passing("not (name = f or name = main) or depth < 1"),
        &[
            "enter main @0",
            "enter main/[filtered] @10",
            "enter main/[filtered]/g @20",
            "leave main/[filtered]/g @30 incl 10 excl 10",
            "leave main/[filtered] @40 incl 30 excl 20",
            "enter main/g @50",
            "leave main/g @60 incl 10 excl 10",
            "leave main @100 incl 100 excl 60",
        ],
        &[],
    );
}

#[test]
fn whole_calls_are_judged_before_they_begin() {
    let trace = "0: enter main @0, enter f @10, leave @12, enter f @20, leave @30, enter f @40, enter g @41, leave @49, leave @50, leave @60";
    check(
        trace,
        &passing("name = f and exclusive > 5ns or inclusive >= 60ns"),
        &[
            "enter main @0",
            "enter main/[filtered] @10",
            "leave main/[filtered] @12 incl 2 excl 2",
            "enter main/f @20",
            "leave main/f @30 incl 10 excl 10",
            "enter main/[filtered] @40",
            "leave main/[filtered] @50 incl 10 excl 10",
            "leave main @60 incl 60 excl 38",
        ],
        &[],
    );
    // Of the call that is cut the whole length counts.
    let cut = Filter { time_ns: Some((25, 45)), ..passing("inclusive = 10ns") };
    check(
        trace,
        &cut,
        &[
            "enter [filtered] @25",
            "enter [filtered]/f @25",
            "leave [filtered]/f @30 incl 5 excl 5",
            "enter [filtered]/f @40",
            "enter [filtered]/f/[filtered] @41",
            "leave [filtered]/f/[filtered] @45 incl 4 excl 4",
            "leave [filtered]/f @45 incl 5 excl 1",
            "leave [filtered] @45 incl 20 excl 10",
        ],
        &[],
    );
}

#[test]
fn counters_choose_calls_by_what_they_gained() {
    check(
        "0: metric PAPI_TOT_INS=5 @0, enter f @0, metric PAPI_TOT_INS=9 @1, leave @1, enter f @2, metric PAPI_TOT_INS=30 @3, leave @3",
        &passing("metric(PAPI_TOT_INS) > 10"),
        &[
            "Metric [5] in - @0",
            "enter [filtered] @0",
            "Metric [9] in [filtered] @1",
            "leave [filtered] @1 incl 1 excl 1",
            "enter f @2",
            "Metric [30] in f @3",
            "leave f @3 incl 1 excl 1",
        ],
        &[],
    );
}

#[test]
fn a_counter_that_is_not_there_is_told() {
    let (seen, notices) = see("0: enter f @0, leave @1", &passing("metric(nothing) > 10"));
    assert_eq!(seen.lines(), ["enter [filtered] @0", "leave [filtered] @1 incl 1 excl 1"]);
    assert_eq!(notices, [(NoticeCode::NotAvailable, 1)]);
}

#[test]
fn what_rank_and_name_say_together_is_asked_rank_by_rank() {
    check(
        "0: enter a @0, leave @1\n1: enter a @0, enter x @0, leave @1, leave @1\n2: enter a @0, leave @1",
        &passing("rank = 0 or name = x and rank = 1"),
        &[
            "enter a @0",
            "leave a @1 incl 1 excl 1",
            "enter [filtered] @0",
            "enter [filtered]/x @0",
            "leave [filtered]/x @1 incl 1 excl 1",
            "leave [filtered] @1 incl 1 excl 0",
        ],
        &[],
    );
}

/// What a listing sees.
fn listed(trace: &ToyTrace, filter: &Filter) -> Seen {
    let locations = filter.resolve(trace.definitions()).locations;
    let listed = list(trace, filter, locations, ListLog::default(), None).expect("the list completes");
    assert_eq!(listed.outcome, Ok(()));
    listed.sink.into_seen()
}

#[test]
fn listings_keep_calls_whole_that_overlap_the_range() {
    let trace = ToyTrace::new(
        "0: enter main @0, enter f @1, leave @7, enter g @8, send>0 bytes 1 @9, send>0 bytes 2 @15, leave @25, enter g @26, leave @27, leave @40, enter h @50, leave @60",
    );
    let range = Filter { time_ns: Some((10, 20)), ..Filter::default() };
    let expected = [
        "enter main @0",
        "enter main/g @8",
        "MessageSend [2] in main/g @15",
        "leave main/g @25 incl 17 excl 17",
        "leave main @40 incl 40 excl 16",
    ];
    for n in [1, 2, 64] {
        assert_eq!(listed(&trace.clone().with_chunk_events(n), &range).lines(), expected, "chunks of {n}");
    }
    let trimmed = Filter { borders: Borders::Trim, ..range };
    assert_eq!(listed(&trace, &trimmed).lines(), run_report(&trace, &trimmed, Log).0.lines());
}

/// A call as recorded.
#[derive(Debug)]
struct Call {
    caller: Option<usize>,
    names: Vec<String>,
    enter: u64,
    leave: u64,
    exclusive: u64,
    gains: BTreeMap<String, u64>,
}

/// Every call of a location, in the order of the enters, from what an analysis without a filter sees.
fn calls(seen: &Seen, location: LocationId, trace: &ToyTrace) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut open: Vec<(usize, BTreeMap<String, u64>)> = Vec::new();
    // Rows of metrics come in the order of the recorded ones.
    let mut recorded = trace.events(location).iter().filter_map(|ToyEvent { what, .. }| match what {
        ToyPayload::Metric(values) => Some(values),
        _ => None,
    });
    let mut values: BTreeMap<String, u64> = BTreeMap::new();
    let name_of = |id: MetricId| trace.definitions().metrics[id.index()].name.to_string();
    for row in &seen.rows[&location] {
        let names = || seen.names[row.path.index()].split('/').map(str::to_owned).collect();
        match (row.kind, row.visit) {
            (ouzel_model::EventKind::Enter, _) => {
                let caller = open.last().map(|o| o.0);
                open.push((calls.len(), values.clone()));
                let (enter, leave, exclusive) = (row.time.0, 0, 0);
                calls.push(Call { caller, names: names(), enter, leave, exclusive, gains: BTreeMap::new() });
            }
            (_, Some((enter, in_callees))) => {
                let (call, before) = open.pop().expect("leaves have enters");
                let gained = |(name, &before): (&String, &u64)| {
                    Some((name.clone(), values[name].checked_sub(before)?))
                };
                calls[call].gains = before.iter().filter_map(gained).collect();
                calls[call].leave = row.time.0;
                calls[call].exclusive = row.time.0 - enter.0 - in_callees.0;
            }
            (ouzel_model::EventKind::Metric, None) => {
                for &(id, value) in recorded.next().expect("rows are of records") {
                    values.insert(name_of(id), value);
                }
            }
            _ => {}
        }
    }
    calls
}

/// The obvious meaning of a predicate.
fn holds(predicate: &Predicate, call: &Call, rank: Option<u64>, thread: Option<u64>) -> bool {
    let text = |test: &TextTest, text: &str| match test {
        TextTest::OneOf(texts) => texts.iter().any(|t| t == text),
        TextTest::Like(patterns) => patterns.iter().any(|p| match p.strip_suffix('*') {
            Some(start) => text.starts_with(start),
            None => text == p,
        }),
    };
    let number = |set: &NumberSet, n: u64| set.ranges().iter().any(|&(a, b)| (a..=b).contains(&n));
    match predicate {
        Predicate::All(parts) => parts.iter().all(|p| holds(p, call, rank, thread)),
        Predicate::Any(parts) => parts.iter().any(|p| holds(p, call, rank, thread)),
        Predicate::Not(part) => !holds(part, call, rank, thread),
        Predicate::Name(test) => text(test, call.names.last().expect("a call has a region")),
        Predicate::Path(test) => text(test, &call.names.join("/")),
        Predicate::Within(test) => call.names.iter().any(|name| text(test, name)),
        Predicate::Depth(set) => number(set, call.names.len() as u64 - 1),
        Predicate::Rank(set) => rank.is_some_and(|n| number(set, n)),
        Predicate::Thread(set) => thread.is_some_and(|n| number(set, n)),
        Predicate::Time { start_ns, end_ns } => overlaps(call.enter, call.leave, *start_ns, *end_ns),
        Predicate::Enter(set) => number(set, call.enter),
        Predicate::Leave(set) => number(set, call.leave),
        Predicate::Inclusive(set) => number(set, call.leave - call.enter),
        Predicate::Exclusive(set) => number(set, call.exclusive),
        Predicate::Metric { metric, gain } => call.gains.get(metric).is_some_and(|&n| number(gain, n)),
    }
}

fn overlaps(enter: u64, leave: u64, start: u64, end: u64) -> bool {
    start < end && enter < end && (start < leave || start <= enter)
}

fn random_predicate(rng: &mut Rng, depth: u32) -> Predicate {
    let names = ["main", "solve", "step", "exchange", "MPI_Send", "MPI_*", "s*", "main*", "main/s*", "none"];
    let texts = |rng: &mut Rng| {
        let n = 1 + rng.below(2);
        let picked = (0..n).map(|_| names[rng.below(names.len() as u64) as usize].to_owned()).collect();
        if rng.below(2) == 0 { TextTest::OneOf(picked) } else { TextTest::Like(picked) }
    };
    let numbers = |rng: &mut Rng, below: u64| match rng.below(4) {
        0 => NumberSet::below(rng.below(below)),
        1 => NumberSet::at_least(rng.below(below)),
        2 => NumberSet::of(rng.below(below)),
        _ => {
            let first = rng.below(below);
            NumberSet::from_ranges([(first, first + rng.below(below)), (0, rng.below(3))])
        }
    };
    let parts = |rng: &mut Rng| (0..rng.below(4)).map(|_| random_predicate(rng, depth - 1)).collect();
    match rng.below(if depth == 0 { 11 } else { 16 }) {
        0 | 1 => Predicate::Name(texts(rng)),
        2 => Predicate::Path(texts(rng)),
        3 => Predicate::Within(texts(rng)),
        4 => Predicate::Depth(numbers(rng, 6)),
        5 => Predicate::Rank(numbers(rng, 4)),
        6 => Predicate::Thread(numbers(rng, 2)),
        7 => {
            let start_ns = rng.below(3000);
            Predicate::Time { start_ns, end_ns: start_ns + rng.below(2000) }
        }
        8 => Predicate::Inclusive(numbers(rng, 800)),
        9 => Predicate::Exclusive(numbers(rng, 200)),
        10 => match rng.below(3) {
            0 => Predicate::Enter(numbers(rng, 4000)),
            1 => Predicate::Leave(numbers(rng, 4000)),
            _ => Predicate::Metric { metric: "PAPI_TOT_CYC".to_owned(), gain: numbers(rng, 3000) },
        },
        11 | 12 => Predicate::All(parts(rng)),
        13 | 14 => Predicate::Any(parts(rng)),
        _ => !random_predicate(rng, depth - 1),
    }
}

/// A visit: location, names, enter, leave, exclusive time.
type Visit = (u32, String, u64, u64, u64);

/// The visits that a filter of the list of all calls leaves, `[filtered]` ones included.
fn expected_visits(trace: &ToyTrace, predicate: &Predicate) -> Vec<Visit> {
    let all = run_report(trace, &Filter::default(), Log).0;
    let threads = trace.definitions().threads();
    let mut visits: Vec<Visit> = Vec::new();
    let selection = Filter::default().and(predicate.clone()).resolve(trace.definitions());
    for location in trace.definitions().location_ids() {
        let calls = calls(&all, location, trace);
        let rank = trace.definitions().location(location).rank.map(|rank| u64::from(rank.0));
        let thread = threads[location.index()].map(u64::from);
        // A location of which nothing passes by rank and thread alone is not read.
        if !selection.locations.contains(&location) {
            assert!(calls.iter().all(|call| !holds(predicate, call, rank, thread)), "it is left out rightly");
            continue;
        }
        let shown: Vec<bool> = calls.iter().map(|call| holds(predicate, call, rank, thread)).collect();
        let mut paths: Vec<String> = Vec::new();
        // The visit that each call is part of.
        let mut visit_of: Vec<usize> = Vec::new();
        for (i, call) in calls.iter().enumerate() {
            let joins = call.caller.filter(|&caller| !shown[i] && !shown[caller]);
            if let Some(caller) = joins {
                paths.push(paths[caller].clone());
                visit_of.push(visit_of[caller]);
                visits[visit_of[caller]].4 += call.exclusive;
                continue;
            }
            let name =
                if shown[i] { call.names.last().expect("a region").clone() } else { "[filtered]".to_owned() };
            let path = call.caller.map_or_else(|| name.clone(), |caller| format!("{}/{name}", paths[caller]));
            paths.push(path.clone());
            visit_of.push(visits.len());
            visits.push((location.0, path, call.enter, call.leave, call.exclusive));
        }
    }
    visits.sort();
    visits
}

fn visits(seen: &Seen) -> Vec<Visit> {
    let visit = |(location, path, enter, leave, in_callees): (LocationId, &str, Ticks, Ticks, Ticks)| {
        (location.0, path.to_owned(), enter.0, leave.0, leave.0 - enter.0 - in_callees.0)
    };
    let mut visits: Vec<Visit> = seen.visits().map(visit).collect();
    visits.sort();
    visits
}

#[test]
fn a_filter_is_that_of_the_list_of_all_calls() {
    let mut n_two_reads = 0;
    let mut n_partly = 0;
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let faults = if seed % 2 == 0 { Faults::None } else { Faults::Leaves };
        let trace = RandomTrace { seed, n_locations: 1 + (seed % 5) as u32, n_events: 120, faults }.build();
        let predicate = random_predicate(&mut rng, 3);
        let text = predicate.to_string();
        let again: Predicate = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let expected = expected_visits(&trace, &predicate);
        // Ranges of time that must hold alone are a window: here they are to be tests of calls.
        let filter = Filter { predicate: Some(predicate.clone()), ..Filter::default() };
        let found = run_report(&trace.clone().with_chunk_events(1 + rng.below(40) as usize), &filter, Log).0;
        let written = Filter { predicate: Some(again), ..Filter::default() };
        assert_eq!(visits(&found), expected, "seed {seed}: {text}");
        assert_eq!(visits(&run_report(&trace, &written, Log).0), expected, "seed {seed}, as written: {text}");
        let tests = filter.resolve(trace.definitions()).tests.expect("there is a predicate");
        n_two_reads += u32::from(tests.needs_end());
        n_partly += u32::from(
            expected.iter().any(|v| v.1.contains("[filtered]"))
                && expected.iter().any(|v| !v.1.ends_with("[filtered]")),
        );

        // The window of it, cut and whole.
        let start = rng.below(2500);
        let end = start + rng.below(2500);
        let window = Filter { time_ns: Some((start, end)), ..filter.clone() };
        let cut = run_report(&trace.clone().with_chunk_events(7), &window, Log).0;
        assert_eq!(
            crate::random::clipped(&cut, 0, u64::MAX),
            crate::random::clipped(&found, start, end),
            "seed {seed}: {text}"
        );
        let whole = visits(&listed(&trace.clone().with_chunk_events(1 + rng.below(9) as usize), &window));
        let overlapping: Vec<Visit> =
            expected.into_iter().filter(|v| overlaps(v.2, v.3, start, end)).collect();
        // An event at the first tick shows the calls that end there, too.
        let inside: Vec<Visit> = whole.iter().filter(|v| overlaps(v.2, v.3, start, end)).cloned().collect();
        assert!(whole.iter().all(|v| overlaps(v.2, v.3, start, end) || v.3 == start), "seed {seed}: {text}");
        assert_eq!(inside, overlapping, "seed {seed}, whole calls in {start}..{end}: {text}");
    }
    assert!(60 < n_two_reads && n_two_reads < 240 && 100 < n_partly, "{n_two_reads} {n_partly}");
}
