//! The diagnosis of sampled runs is that of the same runs recorded exactly, within its bands.

use ouzel_analyses::phases::{AlignedBy, AnchorPlan, AnchorSightings, Phases, PhasesOutput, SamplePeriods};
use ouzel_analyses::semantics::{Category, Semantics};
use ouzel_context_tree::ContextTrees;
use ouzel_diagnose::findings::{Confidence, Finding, FindingKind};
use ouzel_diagnose::segments::{Detail, SegmentsCard, Which};
use ouzel_diagnose::{LossKind, ReportAnalyses, RunReport, Steps};
use ouzel_engine::{AnalysisSet, Pass};
use ouzel_model::{Filter, MetricMode, NOT_RUNNING, PROCESSOR_TIME, Region, TraceSource};
use ouzel_testkit::{OutputApplication, SampledLca, Sampler, ToyTrace, run};
use std::fmt::Write;
use std::num::NonZeroUsize;

/// Phases as a report has them.
fn phases(trace: &ToyTrace, is_sampled: bool) -> PhasesOutput {
    if !is_sampled {
        let first = run(trace, Phases::default());
        let semantics = Semantics::default();
        let waits =
            |region| semantics.class(trace.definitions().region(region)).category != Category::Computation;
        return first.beside_samples(&run(trace, SamplePeriods), waits).unwrap_or(first);
    }
    let plan = AnchorPlan::new(&run(trace, AnchorSightings::default()), run(trace, SamplePeriods), |_| false);
    run(trace, Phases { plan, ..Phases::default() })
}

fn report(trace: &ToyTrace, is_sampled: bool) -> RunReport {
    let mut set = AnalysisSet::default();
    let analyses = ReportAnalyses::add_to(&mut set, trace.definitions(), &Semantics::default());
    let filter = Filter::default();
    let pass = Pass { filter: &filter, jobs: NonZeroUsize::MIN, progress: None };
    let mut pass = set.run(trace, pass).expect("the pass succeeds");
    let mut material = analyses.gather(&mut pass, trace.definitions()).expect("the outputs are there");
    let notices = material.notices().to_vec();
    material.set_phases(phases(trace, is_sampled), notices);
    material.report(trace.definitions())
}

fn segments(trace: &ToyTrace, is_sampled: bool) -> SegmentsCard {
    let classes = Semantics::default().classes(trace.definitions());
    let phases = phases(trace, is_sampled);
    let what = (Which::Reported, Detail::Sums);
    SegmentsCard::new(&phases, &Steps::default(), (trace.definitions(), &classes), what)
}

/// Losses of the segments that lose 1 % of the run and end in a synchronisation of this path.
fn losses(card: &SegmentsCard, path: &[&str]) -> Vec<(u64, u64, u64, u64)> {
    let ends = |sync: &Vec<std::sync::Arc<str>>| sync.iter().map(|it| &**it).eq(path.iter().copied());
    let found = card.segments.iter().filter(|segment| segment.sync.as_ref().is_some_and(ends));
    found
        .filter(|it| card.run_time_ns < 100 * it.lost_ns)
        .map(|it| (it.imb_sync_ns, it.sum_wait_ns, it.band.imb_sync_ns, it.band.sum_wait_ns))
        .collect()
}

/// Kind, call path, ranks.
fn what(finding: &Finding) -> (FindingKind, Vec<std::sync::Arc<str>>, Vec<u32>) {
    (finding.kind, finding.call_path.clone(), finding.ranks.list.clone())
}

#[test]
fn segments_and_findings_of_samples_are_those_of_exact_events() {
    for (n_ranks, seed, part, jitter, lost) in
        [(24, 1, 50, 0, 0), (48, 2, 20, 5, 0), (48, 3, 20, 5, 50), (64, 4, 10, 10, 20), (40, 5, 5, 10, 50)]
    {
        let app = OutputApplication::of_ranks(n_ranks, seed);
        let simulated = app.run();
        let period = app.iteration / part;
        let sampler = Sampler {
            jitter: period * jitter / 100,
            lost_per_mille: lost,
            lca: SampledLca::Exact,
            ..Sampler::every(period, seed)
        };
        let sampled = simulated.samples(&sampler);
        let case = format!("{n_ranks} ranks, seed {seed}, period 1/{part}, jitter {jitter} %, {lost} ‰ lost");
        let (exact, found) = (segments(&simulated.trace, false), segments(&sampled, true));
        assert_eq!(found.alignment.by, AlignedBy::ContextTrees);
        assert_eq!((exact.alignment.by, exact.projected_band_ns), (AlignedBy::Synchronisations, 0));
        let run_time = simulated.run_time;
        for path in [&["main", "MPI_Barrier"][..], &["main", "output", "MPI_Barrier"]] {
            let (exact, found) = (losses(&exact, path), losses(&found, path));
            assert!(!exact.is_empty() && exact.len() == found.len(), "{case}: {path:?} {exact:?} {found:?}");
            for (exact, found) in exact.iter().zip(&found) {
                let (imb, wait) = (exact.0.abs_diff(found.0), exact.1.abs_diff(found.1));
                assert!(
                    imb * 100 < run_time && wait * 100 < run_time,
                    "{case}: {path:?} {exact:?} {found:?}"
                );
                assert!(imb <= found.2 + period, "{case}: {exact:?} {found:?}");
            }
        }
        let projected = found.projected_run_time_ns.abs_diff(simulated.run_time_fixed);
        assert!(projected * 50 < run_time, "{case}: {projected} of {run_time}");
        assert!(projected <= found.projected_band_ns + 2 * period, "{case}: {projected}");
        let (exact, found) = (report(&simulated.trace, false), report(&sampled, true));
        let gains = |report: &RunReport| {
            let all = report.findings.iter();
            all.map(|it| format!("{} −{} ± {}", it.title, it.gain_ns, it.band_ns))
                .collect::<Vec<_>>()
                .join("\n")
        };
        let (of_exact, of_found) = (gains(&exact), gains(&found));
        assert_eq!(
            what(&exact.findings[0]),
            what(&found.findings[0]),
            "{case}\n{of_exact}\n{of_found} of {run_time}"
        );
        assert!(exact.findings.iter().all(|finding| finding.band_ns == 0));
        let first = &found.findings[0];
        assert!(0 < first.band_ns && first.band_ns < first.gain_ns, "{case}: {first:?}");
        assert!(first.confidence < Confidence::Sure, "{case}");
        assert!(first.confidence_reason.contains("off by"), "{case}: {}", first.confidence_reason);
        assert!(found.losses.iter().all(|loss| loss.band_ns < loss.lost_ns), "{case}");
        assert_eq!(found.alignment.by, AlignedBy::ContextTrees);
    }
}

/// Ranks that work so long before each barrier of a loop.
fn run_of(n_ranks: usize, n: usize, work: impl Fn(usize, usize) -> usize) -> ToyTrace {
    let mut text = String::new();
    for rank in 0..n_ranks {
        write!(text, "{rank}: enter main @0").expect("text has room");
        for i in 0..n {
            let start = 10_000 * i;
            let (come, end) = (start + work(rank, i), start + 10_000);
            write!(
                text,
                ", enter work @{start}, leave @{come}, enter MPI_Barrier @{come}, collective barrier @{end}, leave @{end}"
            )
            .expect("text has room");
        }
        writeln!(text, ", leave @{}", 10_000 * n).expect("text has room");
    }
    ToyTrace::new(&text)
}

#[test]
fn a_balanced_run_has_no_finding_however_it_is_sampled() {
    for (n_ranks, period) in [(2, 333), (8, 1000), (32, 777), (64, 2900)] {
        let exact = run_of(n_ranks, 60, |_, _| 9_990);
        for seed in 0..3 {
            let sampled = Sampler { jitter: period / 20, ..Sampler::every(period, seed) };
            let report = report(&sampled.samples(&exact, &|_, _, _| None), true);
            let kinds: Vec<FindingKind> = report.findings.iter().map(|finding| finding.kind).collect();
            assert_eq!(kinds, [FindingKind::NothingSignificant], "{n_ranks} ranks, {period}, {seed}");
            assert!(report.segments.segments.iter().all(|segment| !segment.reported));
        }
    }
}

#[test]
fn ranks_that_are_late_are_found_in_samples() {
    // The same rank in all iterations, then another in each.
    let same = run_of(8, 60, |rank, _| if rank == 5 { 9_950 } else { 6_000 });
    let turns = run_of(8, 64, |rank, i| if rank == i % 8 { 9_950 } else { 6_000 });
    for exact in [same, turns] {
        let expected = what(&report(&exact, false).findings[0]);
        for (period, seed) in [(190, 1), (490, 2), (970, 3)] {
            let sampler = Sampler { jitter: period / 20, lost_per_mille: 50, ..Sampler::every(period, seed) };
            let found = report(&sampler.samples(&exact, &|_, _, _| None), true);
            assert_eq!(what(&found.findings[0]), expected, "period {period}: {:?}", found.findings[0]);
        }
    }
}

#[test]
fn segments_of_samples_beside_mpi_are_those_of_exact_events() {
    for (n_ranks, seed, part, jitter) in [(24, 1, 50, 0), (48, 2, 20, 5)] {
        let app = OutputApplication::of_ranks(n_ranks, seed);
        let simulated = app.run();
        let period = app.iteration / part;
        let sampler = Sampler { jitter: period * jitter / 100, ..Sampler::every(period, seed) };
        let mixed = simulated.samples_beside_mpi(&sampler);
        let (exact, found) = (segments(&simulated.trace, false), segments(&mixed, false));
        assert_eq!(found.alignment.by, AlignedBy::Synchronisations);
        assert!(found.alignment.period_ns.is_some_and(|it| it.abs_diff(period) * 20 < period));
        // Waiting is recorded, so what it costs is exact.
        for path in [&["main", "MPI_Barrier"][..], &["main", "output", "MPI_Barrier"]] {
            let (exact, found) = (losses(&exact, path), losses(&found, path));
            assert!(!exact.is_empty(), "{n_ranks} ranks");
            assert_eq!(exact, found, "{n_ranks} ranks: {path:?}");
        }
    }
}

#[test]
fn the_first_finding_of_samples_beside_mpi_is_that_of_exact_events() {
    let app = OutputApplication::of_ranks(24, 1);
    let (simulated, period) = (app.run(), app.iteration / 50);
    let mixed = simulated.samples_beside_mpi(&Sampler::every(period, 1));
    let (exact, found) = (report(&simulated.trace, false), report(&mixed, false));
    assert_eq!(exact.segments.projected_run_time_ns, found.segments.projected_run_time_ns);
    let (exact, found) = (&exact.findings[0], &found.findings[0]);
    assert_eq!(what(exact), what(found));
    assert!(exact.gain_ns.abs_diff(found.gain_ns) <= found.band_ns + period, "{exact:?} {found:?}");
}

/// Ranks that compute for so many milliseconds of processor time before each barrier of a loop, sampled every fifth, with
/// their processor time, and that do not run between two samples for so long.
fn run_on_a_busy_machine(
    n: usize,
    work: impl Fn(usize) -> usize,
    stands: impl Fn(usize, usize) -> usize,
) -> ToyTrace {
    const MS: usize = 1_000_000;
    let n_ranks = 4;
    let mut text = vec![String::new(); n_ranks];
    let (mut time, mut processor) = (0, vec![0; n_ranks]);
    for i in 0..n {
        let end = time + (0..n_ranks).map(|rank| MS * (work(rank) + stands(rank, i) + 1)).max().unwrap_or(0);
        for (rank, text) in text.iter_mut().enumerate() {
            let mut at = time;
            let add = |text: &mut String, what: &str, at: usize, processor: usize| {
                write!(text, ", metric {PROCESSOR_TIME}={processor} @{at}, {what} @{at}")
                    .expect("text has room");
            };
            for nth in 0..work(rank) / 5 {
                at += 5 * MS + if nth == 2 { MS * stands(rank, i) } else { 0 };
                processor[rank] += 5 * MS;
                add(text, "sample main/work", at, processor[rank]);
            }
            add(text, "enter MPI_Barrier", at, processor[rank]);
            write!(text, ", collective barrier @{end}").expect("text has room");
            add(text, "leave MPI_Barrier", end, processor[rank]);
        }
        time = end;
    }
    let line = |(rank, text): (usize, &String)| format!("{rank}: sample main/work @0{text}");
    let mut trace = ToyTrace::new(&text.iter().enumerate().map(line).collect::<Vec<_>>().join("\n"));
    let definitions = trace.definitions_mut();
    let metric = definitions.metrics.iter_mut().find(|metric| &*metric.name == PROCESSOR_TIME);
    let metric = metric.expect("processor time is recorded");
    (metric.unit, metric.mode) = ("ns".into(), MetricMode::Accumulated);
    definitions.regions.push(Region { name: NOT_RUNNING.into(), ..definitions.regions[0].clone() });
    trace.completing_calls()
}

#[test]
fn how_long_ranks_do_not_run_is_exact() {
    let trace = run_on_a_busy_machine(
        20,
        |rank| if rank == 3 { 45 } else { 30 },
        |rank, i| 1 + (7 * rank + 3 * i) % 5,
    );
    let report = report(&trace, false);
    let loss = report.losses.iter().find(|loss| loss.kind == LossKind::NotRunning).expect("nobody stands");
    // 1 to 5 ms in turn, three on average.
    assert_eq!((loss.lost_ns, loss.band_ns), (60_000_000, 0));
    // All that waits is exact, so the work is, too: 15 ms less the mean over four ranks.
    let [slow, standing, ..] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!(what(slow), (FindingKind::LoadImbalance, vec!["main".into(), "work".into()], vec![3]));
    assert_eq!((slow.gain_ns, slow.band_ns), (225_000_000, 0));
    assert_eq!((standing.kind, standing.gain_ns, standing.band_ns), (FindingKind::NotRunning, 60_000_000, 0));
}

/// Half an iteration is twelve times what one rank's part of the output takes: losses near the band vanish, and no more
/// than the band is wrong.
#[test]
fn samples_that_are_far_apart_are_wrong_by_no_more_than_their_bands() {
    let app = OutputApplication::of_ranks(48, 6);
    let (simulated, period) = (app.run(), app.iteration / 2);
    let sampler = Sampler { jitter: period / 20, lost_per_mille: 50, ..Sampler::every(period, 6) };
    let (exact, found) = (segments(&simulated.trace, false), segments(&simulated.samples(&sampler), true));
    for path in [&["main", "MPI_Barrier"][..], &["main", "output", "MPI_Barrier"]] {
        let (exact, found) = (losses(&exact, path), losses(&found, path));
        assert!(!exact.is_empty() && exact.len() == found.len(), "{path:?} {exact:?} {found:?}");
        for (exact, found) in exact.iter().zip(&found) {
            let (imb, wait) = (exact.0.abs_diff(found.0), exact.1.abs_diff(found.1));
            assert!(imb <= found.2 + period, "{exact:?} {found:?}");
            assert!(wait * 100 < simulated.run_time, "{exact:?} {found:?}");
        }
    }
}

/// Clusters of ranks.
fn clusters(trace: &ToyTrace) -> Vec<Vec<usize>> {
    let output = run(trace, ContextTrees::default());
    let clusters = output.groups[0].clusters.iter();
    let mut clusters: Vec<Vec<usize>> =
        clusters.map(|cluster| cluster.members.iter().map(|member| member.index()).collect()).collect();
    clusters.sort();
    clusters
}

/// Periods from a sixth to half of an iteration; `docs/validation-samples.md` has the figures. What is planted, the output
/// of rank 0 between two synchronisations, takes ten periods or more in some of these runs: there everything is found. In
/// the others both segments still are, and the projected time is right within its band.
#[test]
fn what_takes_ten_periods_is_found_and_less_within_its_band() {
    let mut n_long = 0;
    for n_ranks in [24, 48, 64] {
        for (part, seed) in [6, 5, 4, 3, 2].into_iter().flat_map(|part| [(part, 1), (part, 12)]) {
            let app = OutputApplication::of_ranks(n_ranks, seed);
            let (simulated, period) = (app.run(), app.iteration / part);
            let lost_per_mille = if seed == 12 { 50 } else { 0 };
            let sampler = Sampler { jitter: period / 20, lost_per_mille, ..Sampler::every(period, seed) };
            let sampled = simulated.samples(&sampler);
            let is_long = 10 * period <= n_ranks as u64 * app.service;
            n_long += u32::from(is_long);
            let case = format!("{n_ranks} ranks, seed {seed}, period 1/{part}");
            let (exact, found) = (segments(&simulated.trace, false), segments(&sampled, true));
            let run_time = simulated.run_time;
            for path in [&["main", "MPI_Barrier"][..], &["main", "output", "MPI_Barrier"]] {
                let (exact, found) = (losses(&exact, path), losses(&found, path));
                let [(exact_imb, exact_wait, ..)] = exact[..] else { panic!("{case}: {exact:?}") };
                let [(imb, wait, ..)] = found[..] else { panic!("{case}: {path:?} {found:?}") };
                let off = imb.abs_diff(exact_imb).max(wait.abs_diff(exact_wait));
                assert!(!is_long || off * 100 < run_time, "{case}: {path:?} {exact:?} {found:?}");
            }
            let projected = found.projected_run_time_ns.abs_diff(simulated.run_time_fixed);
            assert!(projected <= found.projected_band_ns, "{case}: {projected}");
            if is_long {
                assert!(projected * 50 < run_time, "{case}: {projected} of {run_time}");
                let mut planted = simulated.clusters.to_vec();
                planted.sort();
                assert_eq!(clusters(&sampled), planted, "{case}");
            }
        }
    }
    assert_eq!(n_long, 10);
}

/// Losses of segments of 1 % of the run and their half widths, summed; and those of the smaller segments, which samples
/// may join with the next, as its waiting, because they miss the barrier between them.
fn sums(card: &SegmentsCard, path: &[&str]) -> ([u64; 4], u64) {
    let large = losses(card, path)
        .iter()
        .fold([0; 4], |sum, it| [sum[0] + it.0, sum[1] + it.1, sum[2] + it.2, sum[3] + it.3]);
    let small = card.segments.iter().filter(|it| 100 * it.lost_ns <= card.run_time_ns);
    (large, small.map(|it| it.lost_ns).sum())
}

/// Losses that are too small for the period are 0, and their bands are so wide that they contain them.
#[test]
fn losses_of_segments_are_right_within_their_bands() {
    let (mut n, mut n_imb, mut n_wait) = (0, 0, 0);
    for (n_ranks, part, seed) in [24, 64]
        .into_iter()
        .flat_map(|n_ranks| [10, 4, 2].map(|part| (n_ranks, part)))
        .flat_map(|(n_ranks, part)| [1, 2, 3].map(|seed| (n_ranks, part, seed)))
    {
        let app = OutputApplication::of_ranks(n_ranks, seed);
        let (simulated, period) = (app.run(), app.iteration / part);
        let lost_per_mille = if seed == 2 { 50 } else { 0 };
        let sampler = Sampler { jitter: period / 20, lost_per_mille, ..Sampler::every(period, seed) };
        let (exact, found) =
            (segments(&simulated.trace, false), segments(&simulated.samples(&sampler), true));
        for path in [&["main", "MPI_Barrier"][..], &["main", "output", "MPI_Barrier"]] {
            let (([imb, wait, ..], small), (of_samples, _)) = (sums(&exact, path), sums(&found, path));
            n += 1;
            n_imb += u32::from(imb.abs_diff(of_samples[0]) <= of_samples[2]);
            n_wait += u32::from(wait.abs_diff(of_samples[1]) <= of_samples[3] + small);
        }
    }
    assert!(n * 19 <= n_imb * 20, "imbalance: {n_imb} of {n}");
    assert!(n * 19 <= n_wait * 20, "waiting: {n_wait} of {n}");
}
