//! Locations of nothing but samples: analyses that do not ask for samples see calls made of them.

use crate::Log;
use crate::log::{LogOfCalls, Seen};
use ouzel_engine::{AnalysisSet, Pass};
use ouzel_model::{
    Content, EventKind, Filter, Lca, Level, LocationId, NoticeCode, RegionId, RegionRole, SampledFrame,
    Ticks, TraceSource,
};
use ouzel_testkit::{ToyPayload, ToyTrace, laws, run_report, sampled_trace};
use std::num::NonZeroUsize;

/// Checks the calls that are made of the samples of a trace, in chunks of any size.
#[track_caller]
fn check(text: &str, filter: &Filter, expected: &[&str]) {
    for n in [1, 2, 3, 100] {
        let (seen, report) = run_report(&ToyTrace::new(text).with_chunk_events(n), filter, LogOfCalls);
        assert_eq!(seen.lines(), expected, "chunks of {n}");
        let notices: Vec<_> = report.notices.iter().map(|n| (n.level, n.code)).collect();
        assert_eq!(notices, [(Level::Low, NoticeCode::UncertainInstances)]);
    }
}

fn all(text: &str, expected: &[&str]) {
    check(text, &Filter::default(), expected);
}

#[test]
fn frames_last_from_the_first_sample_with_them_to_the_first_without() {
    all(
        "0: sample a/b @10, sample a/b @20, sample a/c @30, sample a @40, sample d @50, sample d @60",
        &[
            "enter a @10",
            "enter a/b @10",
            "leave a/b @30 incl 20 excl 20",
            "enter a/c @30",
            "leave a/c @40 incl 10 excl 10",
            "leave a @50 incl 40 excl 10",
            "enter d @50",
            "leave d @60 incl 10 excl 10",
        ],
    );
}

#[test]
fn what_is_open_ends_at_the_last_time_stamp() {
    all(
        "0: sample a @10, sample a/b @20, flush @35",
        &[
            "enter a @10",
            "enter a/b @20",
            "BufferFlush [] in a/b @35",
            "leave a/b @35 incl 15 excl 15",
            "leave a @35 incl 25 excl 10",
        ],
    );
}

#[test]
fn nothing_ends_all() {
    all(
        "0: sample - @5, sample a/b @10, sample - @20, sample a/b @50, sample - @60",
        &[
            "enter a @10",
            "enter a/b @10",
            "leave a/b @20 incl 10 excl 10",
            "leave a @20 incl 10 excl 0",
            "enter a @50",
            "enter a/b @50",
            "leave a/b @60 incl 10 excl 10",
            "leave a @60 incl 10 excl 0",
        ],
    );
}

#[test]
fn tracers_may_know_that_an_instance_ended() {
    for lca in ["lca 1", "lca <=1"] {
        all(
            &format!("0: sample a/b @10, sample a/b {lca} @20, sample a/b lca 2 @30"),
            &[
                "enter a @10",
                "enter a/b @10",
                "leave a/b @20 incl 10 excl 10",
                "enter a/b @20",
                "leave a/b @30 incl 10 excl 10",
                "leave a @30 incl 20 excl 0",
            ],
        );
    }
    // A claim that the paths do not bear out says nothing.
    all(
        "0: sample a/b @10, sample a/c lca 2 @20",
        &[
            "enter a @10",
            "enter a/b @10",
            "leave a/b @20 incl 10 excl 10",
            "enter a/c @20",
            "leave a/c @20 incl 0 excl 0",
            "leave a @20 incl 10 excl 0",
        ],
    );
}

#[test]
fn calls_from_another_line_are_other_calls() {
    all(
        "0: sample a/b@3 @10, sample a/b@4 @20, sample a/b@4 @30",
        &[
            "enter a @10",
            "enter a/b @10",
            "leave a/b @20 incl 10 excl 10",
            "enter a/b @20",
            "leave a/b @30 incl 10 excl 10",
            "leave a @30 incl 20 excl 0",
        ],
    );
}

#[test]
fn loops_of_a_frame_that_stayed_stay() {
    let mut trace = ToyTrace::new("0: sample a/l/b @10, sample a/l/b lca 1 @20, sample a/l/b lca 0 @30");
    let l = trace.region("l");
    trace.definitions_mut().regions[l.index()].role = RegionRole::Loop;
    let (seen, _) = run_report(&trace, &Filter::default(), LogOfCalls);
    let expected = [
        "enter a @10",
        "enter a/l @10",
        "enter a/l/b @10",
        "leave a/l/b @20 incl 10 excl 10",
        "enter a/l/b @20",
        "leave a/l/b @30 incl 10 excl 10",
        "leave a/l @30 incl 20 excl 0",
        "leave a @30 incl 20 excl 0",
        "enter a @30",
        "enter a/l @30",
        "enter a/l/b @30",
        "leave a/l/b @30 incl 0 excl 0",
        "leave a/l @30 incl 0 excl 0",
        "leave a @30 incl 0 excl 0",
    ];
    assert_eq!(seen.lines(), expected);
}

#[test]
fn a_time_range_clips_calls_of_samples() {
    let range = |start, end| Filter { time_ns: Some((start, end)), ..Filter::default() };
    let text = "0: sample a/b @10, sample a/c @30, sample a/c @50";
    let expected = [
        "enter a @20",
        "enter a/b @20",
        "leave a/b @30 incl 10 excl 10",
        "enter a/c @30",
        "leave a/c @40 incl 10 excl 10",
        "leave a @40 incl 20 excl 0",
    ];
    check(text, &range(20, 40), &expected);
    // Between two samples the earlier one rules.
    check(
        text,
        &range(12, 13),
        &["enter a @12", "enter a/b @12", "leave a/b @13 incl 1 excl 1", "leave a @13 incl 1 excl 0"],
    );
    check(text, &range(60, 90), &[]);
    check(text, &range(0, 10), &[]);
}

#[test]
fn a_region_filter_hides_calls_of_samples() {
    let filter = Filter { regions: vec!["c".to_owned()], ..Filter::default() };
    check(
        "0: sample a/b @10, sample a/c @30, sample a/c @50",
        &filter,
        &[
            "enter [filtered] @10",
            "enter [filtered]/c @30",
            "leave [filtered]/c @50 incl 20 excl 20",
            "leave [filtered] @50 incl 40 excl 20",
        ],
    );
}

#[test]
fn whoever_asks_for_samples_sees_them_alone() {
    let trace = ToyTrace::new(
        "0: sample a/b @10, sample a @20
         1: enter a @10, sample a @15, leave @20",
    );
    let mut set = AnalysisSet::default();
    let (raw, calls) = (set.add(Log), set.add(LogOfCalls));
    let pass = Pass { filter: &Filter::default(), jobs: NonZeroUsize::MIN, progress: None };
    let mut report = set.run(&trace, pass).expect("the pass succeeds");
    let raw = report.outputs.take(&raw).expect("it answers").lines();
    assert_eq!(
        raw,
        [
            "Sample [] in - @10",
            "Sample [] in - @20",
            "enter a @10",
            "Sample [] in a @15",
            "leave a @20 incl 10 excl 10"
        ]
    );
    let calls = report.outputs.take(&calls).expect("it answers").lines();
    assert_eq!(calls.len(), 4 + 2);
    assert!(report.seen.iter().eq([Content::Calls, Content::Samples]));
}

#[test]
fn each_kind_of_location_is_doubted_once() {
    let trace = ToyTrace::new(
        "0: sample a @1, sample b @2
         0.gpu0: sample k @1, sample - @2
         0.gpu1: sample k @1, sample - @2
         1: enter a @1, leave @2",
    );
    let (_, report) = run_report(&trace, &Filter::default(), LogOfCalls);
    let notices: Vec<_> = report.notices.iter().map(|n| (&*n.message, n.count)).collect();
    let threads = "calls of CPU threads are made of samples: times are exact only to the sampling period, and visits are \
                   lower bounds";
    let streams = "operations of accelerator streams are told apart by their call paths: those that follow each other \
                   without a gap count as one";
    assert_eq!(notices, [(threads, 1), (streams, 2)]);
    let (_, report) = run_report(&trace, &Filter::default(), Log);
    assert_eq!(report.notices, [], "no calls are made for those who want samples");
}

/// The calls of a location, the obvious way: for each sample the list of frames, compared with the list before.
/// `(region, depth, enter, leave)` in the order of leaves.
fn reference(trace: &ToyTrace, location: LocationId) -> Vec<(RegionId, usize, u64, u64)> {
    let definitions = trace.definitions();
    let is_loop = |frame: &SampledFrame| definitions.region(frame.region).role == RegionRole::Loop;
    let (mut open, mut calls): (Vec<(SampledFrame, u64)>, Vec<_>) = (Vec::new(), Vec::new());
    let events = trace.events(location);
    let mut is_first = true;
    let mut close = |open: &mut Vec<(SampledFrame, u64)>, keep: usize, at: Ticks| {
        while keep < open.len() {
            let (frame, enter) = open.pop().expect("it is open");
            calls.push((frame.region, open.len(), enter, at.0));
        }
    };
    for event in events {
        let ToyPayload::Sample(sample) = event.what else { continue };
        let mut frames = Vec::new();
        if let Some(context) = sample.context {
            definitions.sampled_contexts.frames(context, &mut frames);
        }
        let common = frames.iter().zip(&open).take_while(|(a, (b, _))| *a == b).count();
        let mut keep = match sample.lca {
            Lca::Exact(most) | Lca::AtMost(most) if !is_first => common.min(most as usize),
            _ => common,
        };
        while keep < common && is_loop(&frames[keep]) {
            keep += 1;
        }
        is_first = false;
        close(&mut open, keep, event.time);
        open.extend(frames[keep..].iter().map(|&frame| (frame, event.time.0)));
    }
    close(&mut open, 0, events.last().map_or(Ticks(0), |event| event.time));
    calls
}

fn found(trace: &ToyTrace, seen: &Seen, location: LocationId) -> Vec<(RegionId, usize, u64, u64)> {
    let definitions = trace.definitions();
    let visits = seen.visits().filter(|visit| visit.0 == location);
    let call = |(_, path, enter, leave, _): (_, &str, Ticks, Ticks, _)| {
        let names: Vec<&str> = path.split('/').collect();
        let name = names.last().expect("a path has a name");
        let region = definitions.regions.iter().position(|region| region.name.as_ref() == *name);
        let region = RegionId::from_index(region.expect("it is defined"));
        (region, names.len() - 1, enter.0, leave.0)
    };
    visits.map(call).collect()
}

#[test]
fn calls_equal_those_of_a_slow_reference() {
    let mut n_calls = 0;
    for seed in 0..60 {
        let trace = sampled_trace(seed, 3, 80);
        for n in [1, 7, 1000] {
            let trace = trace.clone().with_chunk_events(n);
            let (seen, _) = run_report(&trace, &Filter::default(), LogOfCalls);
            for location in trace.definitions().location_ids() {
                assert!(trace.is_sampled(location));
                let expected = reference(&trace, location);
                n_calls += expected.len();
                assert_eq!(found(&trace, &seen, location), expected, "seed {seed}, chunks of {n}");
            }
        }
    }
    assert!(10_000 < n_calls, "{n_calls} calls");
}

#[test]
fn times_of_ranges_that_touch_add_up() {
    for seed in 0..40 {
        let trace = sampled_trace(seed, 2, 60);
        let part = |start, end| {
            let filter = Filter { time_ns: Some((start, end)), ..Filter::default() };
            run_report(&trace, &filter, LogOfCalls).0.exclusive()
        };
        let whole = run_report(&trace, &Filter::default(), LogOfCalls).0.exclusive();
        for cut in [0, 100, 700, 1500, 100_000] {
            assert_eq!(part(0, cut) + part(cut, u64::MAX), whole, "seed {seed}, cut at {cut}");
        }
    }
}

#[test]
fn the_log_of_calls_is_lawful() {
    laws::check(|| LogOfCalls, |seen| format!("{:?}", seen.lines()));
}

#[test]
fn rows_of_other_kinds_keep_their_payload() {
    let trace =
        ToyTrace::new("0: metric x=7 @1, sample a/b @2, metric x=8 y=9 @3, sample a @4, metric x=5 @4");
    let (seen, _) = run_report(&trace, &Filter::default(), LogOfCalls);
    let metrics: Vec<_> = seen.rows[&LocationId(0)]
        .iter()
        .filter(|row| row.kind == EventKind::Metric)
        .map(|row| (row.time.0, row.values.clone(), seen.names[row.path.index()].clone()))
        .collect();
    let row = |time, values: &[u64], path: &str| (time, values.to_vec(), path.to_owned());
    assert_eq!(metrics, [row(1, &[7], "-"), row(3, &[8, 9], "a/b"), row(4, &[5], "a")]);
}
