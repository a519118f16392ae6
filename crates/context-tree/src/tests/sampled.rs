//! Locations with samples alone, through the whole analysis.

use super::*;
use crate::sample_tree::{LocationSamples, SampleTiming, SampledPaths};
use ouzel_model::{
    CallSite, ChunkBuffer, CodeFlow, CodePart, EventKind, Filter, Lca, LocationId, RegionId, RegionRole,
    Ticks, TraceSource,
};
use ouzel_testkit::{ToyTrace, run, run_report};
use std::sync::Arc;

/// A rank whose loop has `n` iterations of two calls that take so many sampling intervals, 10 ticks each.
fn rank(rank: u32, n: u32, periods: (u64, u64)) -> String {
    let (mut line, mut time) = (format!("{rank}: sample main/start@2 @0"), 10);
    for _ in 0..n {
        for (call, periods) in [("work@7", periods.0), ("exchange@8", periods.1)] {
            for i in 0..periods {
                let lca = if i == 0 { 1 } else { 3 };
                line.push_str(&format!(", sample main/loop@6/{call} lca {lca} @{time}"));
                time += 10;
            }
        }
    }
    line
}

fn trace(ranks: &[(u64, u64)]) -> ToyTrace {
    let lines: Vec<String> = (0..).zip(ranks).map(|(n, &periods)| rank(n, 12, periods)).collect();
    let mut trace = ToyTrace::new(&lines.join("\n"));
    let marked = trace.region("loop");
    trace.definitions_mut().regions[marked.index()].role = RegionRole::Loop;
    trace
}

fn trees(trace: &ToyTrace) -> ContextTreesOutput {
    run(trace, ContextTrees::default())
}

fn only(mut output: ContextTreesOutput) -> TreeGroup {
    assert_eq!(output.groups.len(), 1);
    output.groups.remove(0)
}

#[test]
fn sampled_ranks_have_clusters_and_iterations() {
    let group = only(trees(&trace(&[(20, 5), (21, 5), (6, 19), (20, 5)])));
    assert_eq!(group.lca, LcaQuality::Exact);
    let members: Vec<&[LocationId]> = group.clusters.iter().map(|c| c.members.as_slice()).collect();
    assert_eq!(members, [&[0, 1, 3].map(LocationId)[..], &[LocationId(2)]]);
    let found = &group.loops[0];
    assert_eq!((found.source, found.accepted, found.rejected), (LoopSource::Marked, 12, 0));
    assert!(!found.is_estimate, "calls of 20 periods that are known to be new ones");
    assert_eq!(found.cfg_source, LoopSource::LearnedSampled);
    let instance = &found.instances[0];
    assert_eq!((instance.n_iterations, instance.n_clusters), (12, 1));
    assert_eq!((instance.iterations[0].start.0, instance.iterations[1].start.0), (10, 260));
    assert!((group.clusters[1].tree.duration() - f64::from(10 + 12 * 250)).abs() < 1e-9);
}

#[test]
fn twice_the_interval_is_no_difference() {
    // Iterations of 25 and 26 intervals differ by less than two.
    let one = only(trees(&trace(&[(20, 5), (21, 5)])));
    assert_eq!(one.clusters.len(), 1);
}

#[test]
fn short_iterations_are_told_as_rejected() {
    let group = only(trees(&trace(&[(2, 1)])));
    assert!(group.loops.is_empty(), "more than half of the loop is rejected: a profile");
    assert!((group.clusters[0].tree.duration() - f64::from(10 + 12 * 30)).abs() < 1e-9);
}

#[test]
fn exact_events_are_preferred_where_both_are() {
    let both = "0: enter main @0, sample main/work@3 @5, enter work @10, sample main/work@3 lca 2 @15, leave @20, leave @40";
    let exact = "0: enter main @0, enter work @10, leave @20, leave @40";
    for chunk in [1, 2, 100] {
        let trace = ToyTrace::new(both).with_chunk_events(chunk);
        assert_eq!(trees(&trace), trees(&ToyTrace::new(exact)));
    }
    let late = "0: sample main/work@3 @5, enter main @10, leave @40";
    let tree = &only(trees(&ToyTrace::new(late).with_chunk_events(1))).clusters[0].tree;
    assert!((tree.duration() - 30.0).abs() < 1e-9, "{tree:?}");
}

#[test]
fn what_samples_leave_in_doubt_is_told() {
    let quality = |text: &str| only(trees(&ToyTrace::new(text))).lca;
    assert_eq!(quality("0: sample main @0, sample main lca 1 @10"), LcaQuality::Exact);
    assert_eq!(quality("0: sample main @0, sample main lca <=1 @10"), LcaQuality::UpperBound);
    assert_eq!(
        quality("0: sample main @0, sample main lca <=1 @10\n1: sample main @0, sample main @10"),
        LcaQuality::Inferred
    );
    let trace = ToyTrace::new("0: sample main/a @0, sample main/b lca 2 @10");
    let analysis = ContextTrees::default();
    let (_, report) = run_report(&trace, &Filter::default(), analysis);
    let codes: Vec<_> = report.notices.iter().map(|notice| (notice.code, notice.count)).collect();
    assert_eq!(codes, [(ouzel_model::NoticeCode::UncertainInstances, 1)]);
}

#[test]
fn samples_of_accelerators_are_exact() {
    let stream = |rank: u32, long: u64| {
        let mut line = format!("{rank}.gpu0: sample kernel @0");
        for i in 1..20 {
            let time = 100 * i;
            line.push_str(&format!(", sample - @{}, sample kernel @{time}", time - long));
        }
        line + ", sample - @2000"
    };
    // Busy for 60 or 80 of 100 ticks: less than the time between two samples, which is no period.
    let output = trees(&ToyTrace::new(&[stream(0, 40), stream(1, 20)].join("\n")));
    let group = only(output);
    assert_eq!((group.period.0, group.clusters.len()), (0, 2));
}

/// What the code says of the loop: the call at line 8 comes first, as if the source had been rotated.
fn rotated(trace: &mut ToyTrace) -> RegionId {
    let part = |line: u32, function: &str| CodePart {
        line,
        is_loop: false,
        is_always: false,
        function: Arc::from(function),
    };
    let flow = CodeFlow { parts: vec![part(7, "work"), part(8, "exchange")], after: vec![vec![], vec![0]] };
    let marked = trace.region("loop");
    trace.definitions_mut().code_flows.insert(marked, flow);
    marked
}

#[test]
fn the_code_says_where_iterations_begin() {
    let mut trace = trace(&[(20, 6)]);
    assert_eq!(only(trees(&trace)).loops[0].accepted, 12, "samples cannot know better");
    rotated(&mut trace);
    let found = only(trees(&trace)).loops.remove(0);
    assert_eq!((found.source, found.cfg_source), (LoopSource::Binary, LoopSource::Binary));
    // The first work and the last exchange are iterations of their own.
    assert_eq!((found.accepted, found.rejected), (13, 0));
}

/// Whether the loop's number is a lower bound, with parts of the loop that are always there.
#[test]
fn samples_of_two_parts_that_are_always_there_show_all_iterations() {
    let is_estimate = |periods: (u64, u64), always: &[u32]| {
        let text = rank(0, 12, periods).replace("lca ", "lca <=");
        let mut trace = ToyTrace::new(&text);
        let marked = trace.region("loop");
        trace.definitions_mut().regions[marked.index()].role = RegionRole::Loop;
        let part = |line: u32, function: &str| CodePart {
            line,
            is_loop: false,
            is_always: always.contains(&line),
            function: Arc::from(function),
        };
        let parts = vec![part(7, "work"), part(8, "exchange")];
        trace.definitions_mut().code_flows.insert(marked, CodeFlow { parts, after: vec![vec![1], vec![]] });
        let found = only(trees(&trace)).loops.remove(0);
        assert_eq!((found.accepted, found.cfg_source), (12, LoopSource::Binary));
        found.is_estimate
    };
    assert!(!is_estimate((20, 3), &[7, 8]));
    assert!(is_estimate((20, 2), &[7, 8]), "too short to be met each time");
    for always in [&[][..], &[7], &[8]] {
        assert!(is_estimate((20, 3), always), "an iteration may have one part alone");
    }
}

#[test]
fn code_that_does_not_explain_the_calls_is_not_believed() {
    let mut trace = trace(&[(20, 6)]);
    let marked = rotated(&mut trace);
    let flows = &mut trace.definitions_mut().code_flows;
    flows.get_mut(&marked).expect("the flow").parts.iter_mut().for_each(|part| part.line += 100);
    let found = only(trees(&trace)).loops.remove(0);
    assert_eq!((found.source, found.cfg_source), (LoopSource::Binary, LoopSource::LearnedSampled));
    assert_eq!(found.accepted, 12);
}

/// Recorded calls and what samples show around them, as the engine makes one nesting of them.
#[test]
fn recorded_calls_count_however_short_they_are() {
    let mut trace = ToyTrace::new("0: sample main/loop@6/exchange@8 @0, sample main/loop@6/send@9 @1");
    let marked = rotated(&mut trace);
    trace.definitions_mut().regions[marked.index()].role = RegionRole::Loop;
    let (main, exchange, send) = (trace.region("main"), trace.region("exchange"), trace.region("send"));
    let flow = trace.definitions_mut().code_flows.get_mut(&marked).expect("the flow");
    flow.parts.push(CodePart { line: 9, is_loop: false, is_always: false, function: Arc::from("") });
    flow.after[1] = vec![0, 2];
    flow.after[0] = vec![2];
    for (of_code, is_always) in [(true, true), (true, false), (false, true)] {
        let flow = trace.definitions_mut().code_flows.get_mut(&marked).expect("the flow");
        flow.parts[2].is_always = is_always;
        let paths = Arc::new(SampledPaths::new(trace.definitions(), Some(Ticks(100))));
        let mut buffer = ChunkBuffer::default();
        let enter = |buffer: &mut ChunkBuffer, time, region, line, is_recorded| {
            let row = buffer.push(Ticks(time), EventKind::Enter, region);
            buffer.call_sites.push(CallSite { row, line, is_recorded, lca: Lca::AtMost(1) });
        };
        enter(&mut buffer, 0, main, None, false);
        if of_code {
            enter(&mut buffer, 0, marked, Some(6), false);
        }
        for i in 0..50 {
            // Samples show the exchange of every third iteration; each sends.
            if i % 3 == 0 {
                enter(&mut buffer, 10 * i, exchange, Some(8), false);
                buffer.push(Ticks(10 * i + 4), EventKind::Leave, exchange);
            }
            enter(&mut buffer, 10 * i + 5, send, Some(9), true);
            buffer.push(Ticks(10 * i + 6), EventKind::Leave, send);
        }
        let mut samples = LocationSamples::new(paths.clone(), SampleTiming::Periodic);
        samples.fold_calls(&buffer.view());
        let found = samples.finish();
        if !of_code {
            assert_eq!(found, None, "calls alone are the other builder's");
            continue;
        }
        let found = found.expect("a tree");
        let own = &found.loops[0];
        assert_eq!((own.accepted, own.rejected, own.cfg_source), (50, 0, LoopSource::Binary));
        assert_eq!(own.is_estimate, !is_always, "there may be iterations that do not send");
        assert_eq!((found.quality, found.period), (LcaQuality::UpperBound, Ticks(100)));
        assert!((found.tree.duration() - 496.0).abs() < 1e-9);
    }
}
