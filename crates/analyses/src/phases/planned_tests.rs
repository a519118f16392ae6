//! Locations cut by a plan: from samples, and from exact calls that differ.

use super::*;
use crate::peers::PeerKind;
use ouzel_model::{LocationId, Ticks, TraceSource};
use ouzel_testkit::{Sampler, ToyTrace, laws, run, sampled_trace};
use std::fmt::Write;

fn plan(trace: &ToyTrace, is_wanted: bool) -> AnchorPlan {
    let sightings = run(trace, AnchorSightings::default());
    AnchorPlan::new(&sightings, run(trace, SamplePeriods), |_| is_wanted)
}

fn planned(trace: &ToyTrace) -> PhasesOutput {
    run(trace, Phases { plan: plan(trace, true), ..Phases::default() })
}

/// Times of a path's last region by phase: sum over peers and the greatest.
fn times(output: &PhasesOutput, trace: &ToyTrace, name: &str) -> Vec<(u32, bool, u64, u64)> {
    let definitions = trace.definitions();
    let is_named = |cell: &&Cell| {
        let region = output.call_paths.region(cell.call_path);
        region.is_some_and(|region| &*definitions.region(region).name == name)
    };
    let cells = output.groups[0].cells.iter().filter(is_named);
    cells.map(|cell| (cell.phase, cell.subset, cell.inclusive.sum.0, cell.inclusive.max.0)).collect()
}

/// Ranks that work so long before each barrier; rank `late[i]` comes to the i-th one 990 later than the others.
fn run_of(n_ranks: usize, late: &[usize]) -> ToyTrace {
    let mut text = String::new();
    for rank in 0..n_ranks {
        write!(text, "{rank}: enter main @0").unwrap();
        for (i, &slow) in late.iter().enumerate() {
            let start = 2000 * i;
            let come = start + if rank == slow { 1990 } else { 1000 };
            let end = start + 2000;
            write!(
                text,
                ", enter work @{start}, leave @{come}, enter MPI_Barrier @{come}, collective barrier @{end}, leave @{end}"
            )
            .unwrap();
        }
        writeln!(text, ", leave @{}", 2000 * late.len() + 10).unwrap();
    }
    ToyTrace::new(&text)
}

#[test]
fn a_plan_without_synchronisations_needs_no_second_pass() {
    let (mut n_without, mut n_with) = (0, 0);
    for seed in 0..60 {
        let sampled = sampled_trace(seed, 1 + (seed % 5) as u32, 80);
        let mut plan = plan(&sampled, false);
        plan.retain_better(|_| 0);
        let first = run(&sampled, Phases::default());
        let Some((found, _)) = first.as_planned(&plan, &sampled.definitions().clock) else {
            n_with += 1;
            continue;
        };
        n_without += 1;
        let expected = run(&sampled, Phases { plan, ..Phases::default() });
        assert_eq!(found.groups, expected.groups, "seed {seed}");
    }
    // Ranks that never synchronise.
    let mut text = String::new();
    for rank in 0..4 {
        writeln!(
            text,
            "{rank}: enter main @0, enter work @{}, leave @{}, leave @900",
            90 * rank,
            300 + 70 * rank
        )
        .unwrap();
    }
    let sampled = Sampler::every(30, 5).samples(&ToyTrace::new(&text), &|_, _, _| None);
    let plan = plan(&sampled, false);
    let first = run(&sampled, Phases::default());
    let (found, notices) =
        first.as_planned(&plan, &sampled.definitions().clock).expect("nobody synchronises");
    assert_eq!(found.groups, run(&sampled, Phases { plan, ..Phases::default() }).groups);
    assert!(found.groups[0].noise.is_some() && notices.len() == 1);
    assert!(5 < n_without && 5 < n_with, "{n_without} without, {n_with} with synchronisations");
}

#[test]
fn samples_of_ranks_that_take_turns_are_aligned() {
    let late: Vec<usize> = (0..12).map(|i| i % 4).collect();
    let exact = run_of(4, &late);
    let sampled = Sampler::every(30, 5).samples(&exact, &|_, _, _| None);
    // What each location shows differs, so nothing is cut before there is a plan.
    let alone = run(&sampled, Phases::default());
    assert_eq!(alone.groups[0].phases.len(), 1);
    let output = planned(&sampled);
    let group = &output.groups[0];
    assert_eq!((group.aligned_by, group.alignment), (AlignedBy::ContextTrees, Alignment::Complete));
    assert_eq!(group.noise.map(|noise| (noise.period, noise.n_peers)), Some((Ticks(30), 4)));
    assert_eq!(group.phases.len(), 13);
    for (i, phase) in group.phases[..12].iter().enumerate() {
        let stat = phase.in_anchor.unwrap();
        assert_eq!(stat.min_at, LocationId((i % 4) as u32), "who comes last waits least");
        let lost = stat.sum.0 as f64 / 4.0 - stat.min.0 as f64;
        assert!((lost - 0.75 * 990.0).abs() < 60.0, "{lost}");
        assert_eq!(phase.busy.max_at, LocationId((i % 4) as u32));
    }
    let sum: u64 = times(&output, &sampled, "work").iter().map(|it| it.2).sum();
    assert!((sum as f64 - 12.0 * 4990.0).abs() < 600.0, "{sum}");
}

#[test]
fn a_loop_that_is_too_fast_for_the_period_is_one_phase_if_the_same_rank_is_late() {
    let exact = run_of(4, &[2; 40]);
    let sampled = Sampler::every(233, 9).samples(&exact, &|_, _, _| None);
    let output = planned(&sampled);
    let group = &output.groups[0];
    assert_eq!(group.phases.len(), 2, "{:?}", group.phases);
    assert_eq!(group.phases[0].n_phases, 40);
    let stat = group.phases[0].in_anchor.unwrap();
    let lost = stat.sum.0 as f64 / 4.0 - stat.min.0 as f64;
    // Of 40 · 742.5.
    assert!((lost - 29_700.0).abs() < 1500.0, "{lost}");
    // By turns it stays divided.
    let late: Vec<usize> = (0..40).map(|i| i % 4).collect();
    let sampled = Sampler::every(233, 9).samples(&run_of(4, &late), &|_, _, _| None);
    let output = planned(&sampled);
    assert_eq!(output.groups[0].phases.len(), 41);
    let of_busy = |phase: &Phase| phase.busy.max.0 as f64 - phase.busy.sum.0 as f64 / 4.0;
    let lost: f64 = output.groups[0].phases[..40].iter().map(of_busy).sum();
    assert!(20_000.0 < lost, "{lost}");
    assert_eq!(output.groups[0].by_peer.n_buckets(), 41);
}

#[test]
fn calls_that_most_do_not_leave_together_are_waiting() {
    // Ranks 0 and 1 of six reduce among themselves.
    let mut text = String::new();
    for rank in 0..6 {
        let (name, end) = if rank < 2 { ("MPI_Allreduce", 400) } else { ("work", 800) };
        writeln!(
            text,
            "{rank}: enter main @0, enter work @0, leave @100, enter {name} @100, leave @{end}, enter work @{end}, \
             leave @850, enter MPI_Barrier @850, leave @1000, enter work @1000, leave @1200, leave @1200"
        )
        .unwrap();
    }
    let exact = ToyTrace::new(&text);
    let sampled = Sampler::every(20, 1).samples(&exact, &|_, _, _| None);
    let output = planned(&sampled);
    assert_eq!(output.groups[0].phases.len(), 2);
    let [(0, true, sum, _)] = times(&output, &sampled, "MPI_Allreduce")[..] else {
        panic!("{:?}", times(&output, &sampled, "MPI_Allreduce"))
    };
    assert!(sum.abs_diff(600) <= 40, "{sum}");
    assert!(times(&output, &sampled, "MPI_Barrier").iter().all(|it| !it.1));
}

#[test]
fn a_rank_that_was_killed_has_empty_phases_behind_its_end() {
    let late = [0, 1, 2, 3, 0, 1, 2, 3];
    let mut exact = run_of(5, &late);
    // Rank 4 ends in its fifth phase.
    exact.events_mut(LocationId(4)).retain(|event| event.time < Ticks(8500));
    let alone = run(&exact, Phases::default());
    assert!(matches!(alone.groups[0].alignment, Alignment::UpTo { n_anchors: 4, .. }));
    let output = planned(&exact);
    let group = &output.groups[0];
    assert_eq!((group.aligned_by, group.noise), (AlignedBy::ContextTrees, None));
    assert_eq!(group.phases.len(), 9);
    for (i, phase) in group.phases[..8].iter().enumerate() {
        let stat = phase.in_anchor.unwrap();
        let n_waiting = if i < 4 { 4 } else { 3 };
        assert_eq!(stat.sum, Ticks(n_waiting * 1000 + 10));
        assert_eq!(phase.end, Ticks(2000 * (i as u64 + 1)));
    }
    // The calls that are open end with the location.
    let sum: u64 = times(&output, &exact, "work").iter().map(|it| it.2).sum();
    assert_eq!(sum, 8 * 4990 + 4 * 1000);
}

#[test]
fn exact_calls_that_agree_give_the_same_phases_by_a_plan() {
    let exact = run_of(5, &[0, 3, 1, 2, 4, 0, 0]);
    let (by_calls, by_plan) = (run(&exact, Phases::default()), planned(&exact));
    let plain = |output: &PhasesOutput| {
        let group = &output.groups[0];
        (group.phases.clone(), group.cells.clone(), group.totals.clone(), group.by_peer.clone())
    };
    assert_eq!(plain(&by_calls), plain(&by_plan));
}

#[test]
fn laws_hold_with_a_plan() {
    let anchors = |period: u64| {
        let anchor = |i: u64| plan::PlannedAnchor {
            region: ouzel_model::RegionId((i % 10) as u32),
            time: Ticks(40 * i),
            ends_stretch: !i.is_multiple_of(3),
        };
        let group =
            |kind| plan::GroupPlan { kind, anchors: (1..40).map(anchor).collect(), period: Ticks(period) };
        let kinds = [PeerKind::MainThread, PeerKind::HelperThread];
        let of_location =
            |id| (LocationId(id), SamplePeriod { period: Ticks(period), n_samples: 9, beside_calls: false });
        let locations = (0..4).filter(|_| 0 < period).map(of_location).collect();
        let periods = SamplePeriodsOutput { locations, ..SamplePeriodsOutput::default() };
        AnchorPlan { groups: kinds.map(group).into(), periods }
    };
    for period in [0, 25] {
        laws::check(|| Phases { plan: anchors(period), ..Phases::default() }, |output| format!("{output:?}"));
    }
}
