//! Reports on profiles against numbers by hand.

use super::*;
use ouzel_model::{
    Aggregation, LocationGroupId, MetricKind, MetricValueType, Paradigm, RegionRole, WorldRank,
};
use ouzel_testkit::ToyProfile;

fn report(profile: &ToyProfile) -> ProfileReport {
    let semantics = Semantics::default();
    let causes = Err("not asked for".to_owned());
    let inputs = ProfileInputs { semantics: &semantics, notices: &[], causes };
    ProfileReport::new(profile, &inputs).unwrap().0
}

fn summed(profile: &mut ToyProfile, name: &str) -> u32 {
    profile.metric(name, MetricKind::Exclusive, MetricValueType::F64, Aggregation::Sum)
}

const SECOND: u64 = 1_000_000_000;

fn seconds(ns: &[u64]) -> Vec<u64> {
    ns.iter().map(|ns| ns / SECOND).collect()
}

/// main → step → (solve, MPI_Allreduce), 4 ranks, 100 s each.
///
/// ```text
/// rank          0    1    2    3
/// main         10   10   10   10
/// step          2    2    2    2
/// solve        80   40   40   40     10 visits each
/// Allreduce     8   48   48   48
/// ```
fn uneven() -> ToyProfile {
    let mut toy = ToyProfile::new(4);
    let main = toy.call(None, "main");
    let step = toy.call(Some(main), "step");
    let solve = toy.call(Some(step), "solve");
    let reduce = toy.call(Some(step), "MPI_Allreduce");
    let time = summed(&mut toy, "time");
    toy.set(time, main, &[10.0; 4]);
    toy.set(time, step, &[2.0; 4]);
    toy.set(time, solve, &[80.0, 40.0, 40.0, 40.0]);
    toy.set(time, reduce, &[8.0, 48.0, 48.0, 48.0]);
    let visits = summed(&mut toy, "visits");
    toy.set(visits, main, &[1.0; 4]);
    for path in [step, solve, reduce] {
        toy.set(visits, path, &[10.0; 4]);
    }
    toy
}

#[test]
fn uneven_work_is_named_where_it_is_with_a_bound() {
    let report = report(&uneven());
    let [found] = &report.imbalances[..] else { panic!("{:?}", report.imbalances) };
    assert_eq!(found.call_path.join("/"), "main/step/solve");
    assert_eq!(found.kind, ProfileImbalanceKind::BetweenRanks);
    // Mean 50 s, most 80 s.
    assert_eq!(
        seconds(&[found.gain_at_most_ns, found.mean_ns, found.most.time_ns, found.least.time_ns]),
        [30, 50, 80, 40]
    );
    assert_eq!((found.most.rank, found.least.rank), (Some(0), Some(1)));
    assert!((found.gain_at_most_fraction - 0.3).abs() < 1e-12);
    let per_visit = found.per_visit.unwrap();
    assert_eq!((per_visit.n_visits, per_visit.most_ns, per_visit.least_ns), (10, 8 * SECOND, 4 * SECOND));
    assert!(
        found.sentence.starts_with("Rank 0 computes 80.00 s here, rank 1 40.00 s, the mean is 50.00 s."),
        "{}",
        found.sentence
    );
    assert_eq!(found.gain_in_words(), "≤ 30.00 s (30.0 %)");
}

#[test]
fn efficiencies_are_those_of_the_longest_thread() {
    let report = report(&uneven());
    let card = report.efficiency.unwrap();
    // u = 92, 52, 52, 52: mean 62 of 100 s.
    let expected = [0.62, 62.0 / 92.0, 0.92];
    for (value, expected) in [card.parallel, card.load_balance, card.communication].into_iter().zip(expected)
    {
        assert!((value - expected).abs() < 1e-12, "{value} {expected}");
    }
    assert_eq!((card.serialisation, card.transfer, card.n_compared), (None, None, 4));
    let shares: Vec<_> = report.shares.iter().map(|share| (share.kind, share.time_ns / SECOND)).collect();
    assert_eq!(shares, [(ShareKind::Computation, 248), (ShareKind::Mpi, 152)]);
    let expected = "62.0 % of the time of 4 threads (longest 100.000 s) is computation, 38.0 % MPI; up to 30.00 s may be lost to uneven work";
    assert_eq!(report.headline.replace("100.0 s", "100.000 s"), expected);
}

#[test]
fn call_paths_have_their_times_and_visits() {
    let report = report(&uneven());
    let row =
        |name: &str| report.call_paths.iter().find(|row| &**row.call_path.last().unwrap() == name).unwrap();
    let solve = row("solve");
    assert_eq!(seconds(&[solve.exclusive_ns, solve.inclusive_ns, solve.mean_ns]), [200, 200, 50]);
    assert_eq!((solve.n_visits, solve.per_visit_ns), (Some(40), Some(5 * SECOND)));
    assert_eq!((row("step").inclusive_ns / SECOND, row("main").inclusive_ns / SECOND), (360, 400));
    assert_eq!(row("MPI_Allreduce").kind, ShareKind::Mpi);
    // 80 s is exactly twice the best: not more.
    assert!(solve.costly_ranks.is_empty());
}

#[test]
fn work_that_others_outweigh_gains_no_more_than_the_waiting() {
    let mut toy = ToyProfile::new(2);
    let main = toy.call(None, "main");
    let (a, b) = (toy.call(Some(main), "a"), toy.call(Some(main), "b"));
    let barrier = toy.call(Some(main), "MPI_Barrier");
    let time = summed(&mut toy, "time");
    toy.set(time, a, &[60.0, 20.0]);
    toy.set(time, b, &[30.0, 70.0]);
    toy.set(time, barrier, &[10.0, 10.0]);
    let report = report(&toy);
    let found: Vec<_> =
        report.imbalances.iter().map(|of| (of.call_path.join("/"), of.gain_at_most_ns / SECOND)).collect();
    // max − mean is 20 s in both, but only 10 s are not computation.
    assert_eq!(found, [("main/a".to_owned(), 10), ("main/b".to_owned(), 10)]);
}

#[test]
fn a_rank_that_is_slow_everywhere_is_not_called_uneven() {
    let mut toy = ToyProfile::new(4);
    let main = toy.call(None, "main");
    let (a, b) = (toy.call(Some(main), "a"), toy.call(Some(main), "b"));
    let barrier = toy.call(Some(main), "MPI_Barrier");
    let (time, visits) = (summed(&mut toy, "time"), summed(&mut toy, "visits"));
    toy.set(time, a, &[30.0, 30.0, 60.0, 30.0]);
    toy.set(time, b, &[10.0, 10.0, 20.0, 10.0]);
    toy.set(time, barrier, &[40.0, 40.0, 0.0, 40.0]);
    for path in [a, b, barrier] {
        toy.set(visits, path, &[5.0; 4]);
    }
    toy.set(visits, main, &[1.0; 4]);
    let found = report(&toy);
    let [slow] = &found.slow_ranks[..] else { panic!("{:?}", found.slow_ranks) };
    assert_eq!((slow.rank, slow.excess_ns / SECOND, slow.n_call_paths), (2, 40, 2));
    assert!((slow.factor - 2.0).abs() < 1e-12);
    assert_eq!(
        found.imbalances.iter().filter(|of| of.most.rank == Some(2) && of.per_visit.is_some()).count(),
        0
    );
    // With other numbers of visits it has more to do.
    toy.set(visits, a, &[5.0, 5.0, 10.0, 5.0]);
    toy.set(visits, b, &[5.0, 5.0, 10.0, 5.0]);
    assert!(report(&toy).slow_ranks.is_empty());
}

/// Rank 0 with two threads: solve 10 s and 30 s, setup on the first alone, 20 s.
fn threads() -> ToyProfile {
    let mut toy = ToyProfile::new(2);
    toy.definitions_mut().locations[1].group = LocationGroupId(0);
    toy.definitions_mut().locations[1].rank = Some(WorldRank(0));
    let main = toy.call(None, "main");
    let (setup, solve) = (toy.call(Some(main), "setup"), toy.call(Some(main), "solve"));
    let time = summed(&mut toy, "time");
    toy.set(time, setup, &[20.0, 0.0]);
    toy.set(time, solve, &[10.0, 30.0]);
    let barrier = toy.call(Some(main), "!$omp barrier @solve.f:9");
    toy.set(time, barrier, &[20.0, 0.0]);
    toy
}

#[test]
fn threads_of_a_rank_are_compared() {
    let report = report(&threads());
    let found: Vec<_> = report
        .imbalances
        .iter()
        .map(|of| (of.kind, of.call_path.join("/"), of.gain_at_most_ns / SECOND))
        .collect();
    let expected = [
        (ProfileImbalanceKind::OneThread, "main/setup".to_owned(), 10),
        (ProfileImbalanceKind::BetweenThreads, "main/solve".to_owned(), 10),
    ];
    assert_eq!(found, expected);
    assert!(report.efficiency.unwrap().of_threads);
    assert!(report.shares.iter().any(|share| share.kind == ShareKind::Openmp));
    assert!(report.unknown.iter().any(|text| text.contains("one process")), "{:?}", report.unknown);
}

#[test]
fn threads_that_help_a_library_are_left_out() {
    assert_eq!(report(&threads()).profile.n_threads_helping, 0);
    // A third thread of rank 0 polls all the time; that of rank 1 is its only one, and stays.
    let mut with = ToyProfile::new(4);
    for (at, rank) in [(1, 0), (2, 0), (3, 1)] {
        with.definitions_mut().locations[at].group = LocationGroupId(rank);
        with.definitions_mut().locations[at].rank = Some(WorldRank(rank));
    }
    let main = with.call(None, "main");
    let (solve, poll) = (with.call(Some(main), "solve"), with.call(Some(main), "__GI___poll"));
    let time = summed(&mut with, "time");
    with.set(time, solve, &[30.0, 50.0, 0.3, 0.0]);
    with.set(time, poll, &[20.0, 0.0, 49.7, 50.0]);
    let found = report(&with);
    assert_eq!((found.profile.n_threads_helping, found.profile.n_threads_compared), (1, 3));
    assert!(
        found.profile.further_facts().iter().any(|fact| fact.starts_with("1 helper thread that only waits"))
    );
    let card = found.efficiency.unwrap();
    assert_eq!((card.n_compared, (card.load_balance * 1000.0).round()), (3, 533.0));
}

#[test]
fn where_nothing_computes_no_efficiency_is_zero() {
    let mut toy = ToyProfile::new(2);
    let wait = toy.call(None, "MPI_Wait");
    let time = summed(&mut toy, "time");
    toy.set(time, wait, &[3.0, 4.0]);
    let report = report(&toy);
    assert_eq!((report.efficiency, report.profile.n_threads_waiting), (None, 2));
    assert_eq!(
        report.efficiency_missing.as_deref(),
        Some("no host thread computes: all time is in libraries or waiting")
    );
    assert!(report.imbalances.is_empty());
}

#[test]
fn without_time_the_reason_is_told() {
    let mut toy = ToyProfile::new(2);
    let main = toy.call(None, "main");
    let visits = toy.metric("visits", MetricKind::Exclusive, MetricValueType::U64, Aggregation::Sum);
    toy.set(visits, main, &[3.0, 4.0]);
    toy.definitions_mut().metrics[0].unit = "occ".into();
    let found = report(&toy);
    assert_eq!(found.headline, "The profile has no metric of time");
    assert!(found.profile.time_metric.is_none() && found.efficiency.is_none() && found.call_paths.is_empty());
    let time = summed(&mut toy, "time");
    assert_eq!(report(&toy).headline, "The profile has no time: metric \"time\" is zero everywhere");
    // Negative times count as zero, and this is told.
    toy.set(time, main, &[-1.0, 2.0]);
    let found = report(&toy);
    assert_eq!(found.profile.time_sum_ns, 2 * SECOND);
    assert!(found.unknown[0].starts_with("1 negative value of time"), "{:?}", found.unknown);
    assert_eq!(report(&ToyProfile::new(0)).headline, "The profile has no metric of time");
}

#[test]
fn waiting_metrics_are_told_by_class_with_parts() {
    let mut toy = uneven();
    let reduce = 3;
    let wait = summed(&mut toy, "mpi_wait_nxn");
    toy.set(wait, reduce, &[0.0, 39.0, 40.0, 41.0]);
    let sender = summed(&mut toy, "mpi_latesender");
    let order = summed(&mut toy, "mpi_latesender_wo");
    toy.definitions_mut().metrics[order as usize].parent = Some(ouzel_model::MetricId(sender));
    toy.set(sender, reduce, &[0.0, 3.0, 0.0, 0.0]);
    toy.set(order, reduce, &[0.0, 1.0, 0.0, 0.0]);
    let delay = summed(&mut toy, "delay_n2n");
    toy.set(delay, 2, &[120.0, 0.0, 0.0, 0.0]);
    let found = report(&toy);
    let classes: Vec<_> = found
        .waiting
        .iter()
        .map(|class| (&*class.metric, class.part_of.as_deref(), class.time_ns / SECOND))
        .collect();
    let expected = [
        ("mpi_wait_nxn", None, 120),
        ("mpi_latesender", None, 3),
        ("mpi_latesender_wo", Some("mpi_latesender"), 1),
    ];
    assert_eq!(classes, expected);
    let at = &found.waiting[0].call_paths[0];
    assert_eq!(
        (at.call_path.join("/"), at.most_rank, at.most_ns / SECOND),
        ("main/step/MPI_Allreduce".to_owned(), Some(3), 41)
    );
    let [delay] = &found.delays[..] else { panic!("{:?}", found.delays) };
    assert_eq!(
        (delay.call_paths[0].call_path.join("/"), delay.call_paths[0].most_rank),
        ("main/step/solve".to_owned(), Some(0))
    );
}

#[test]
fn time_of_libraries_is_shared_out_by_what_they_are() {
    let mut toy = ToyProfile::new(1);
    let main = toy.call(None, "main");
    let names = [
        "MPI_File_write",
        "MPI_Send",
        "inside of MPI_Send",
        "fread",
        "cudaLaunchKernel",
        "cudaDeviceSynchronize",
    ];
    let send = toy.call(Some(main), names[1]);
    let time = summed(&mut toy, "time");
    let inside = toy.call(Some(send), names[2]);
    for (call, seconds) in [(main, 1.0), (send, 2.0), (inside, 4.0)] {
        toy.set(time, call, &[seconds]);
    }
    for (name, seconds) in [(names[0], 8.0), (names[3], 16.0), (names[4], 32.0), (names[5], 64.0)] {
        let call = toy.call(Some(main), name);
        toy.set(time, call, &[seconds]);
    }
    let call = toy.call(Some(main), "TRACING");
    let region = toy.definitions_mut().regions.last_mut().unwrap();
    (region.paradigm, region.role) = (Paradigm::MeasurementSystem, RegionRole::Artificial);
    toy.set(time, call, &[128.0]);
    let found = report(&toy);
    let mut shares: Vec<_> = found.shares.iter().map(|share| (share.time_ns / SECOND, share.kind)).collect();
    shares.sort_unstable();
    use ShareKind::{AcceleratorCalls, AcceleratorWaits, Computation, InputOutput, Measurement, Mpi};
    let expected = [
        (1, Computation),
        (6, Mpi),
        (24, InputOutput),
        (32, AcceleratorCalls),
        (64, AcceleratorWaits),
        (128, Measurement),
    ];
    assert_eq!(shares, expected);
}

#[test]
fn threads_with_roots_of_their_own_are_not_compared_by_call_path() {
    let mut toy = threads();
    let root = toy.call(None, "thread");
    let work = toy.call(Some(root), "work");
    // Both threads are below main: its call paths are compared still; of "thread" only one is.
    toy.set(0, work, &[0.0, 9.0]);
    let named = |toy: &ToyProfile| -> Vec<String> {
        report(toy).imbalances.iter().map(|of| of.call_path.join("/")).collect()
    };
    assert_eq!(named(&toy), ["main/setup", "main/solve"]);
    toy.set(0, 2, &[10.0, 0.0]);
    assert_eq!(named(&toy), [""; 0]);
}

#[test]
fn a_difference_of_few_samples_is_chance() {
    let mut toy = ToyProfile::new(2);
    let main = toy.call(None, "main");
    let barrier = toy.call(Some(main), "MPI_Barrier");
    let time = summed(&mut toy, "time");
    toy.set(time, main, &[40.0, 20.0]);
    toy.set(time, barrier, &[10.0, 30.0]);
    assert_eq!(report(&toy).imbalances.len(), 1);
    // A period of 10 s: 4 samples and 2, a difference to the mean of 10 s, less than 3 · √(40 s · 10 s) = 60 s.
    toy.definitions_mut().provenance.format = "HPCToolkit".to_owned();
    let found = report(&toy);
    assert!(found.profile.sampled && found.imbalances.is_empty(), "{:?}", found.imbalances);
    // A period of 10 ms: 3 · √(40 s · 10 ms) = 1.9 s.
    let short = toy.call(Some(main), "short");
    toy.set(time, short, &[0.01, 0.01]);
    assert_eq!(report(&toy).imbalances.len(), 1);
    // 4 samples of computation say nothing of how evenly it is spread, 4,000 do.
    assert!(
        found.efficiency.is_none() && found.efficiency_missing.is_some_and(|why| why.contains("ten samples"))
    );
    assert!(report(&toy).efficiency.is_some());
}

#[test]
fn waiting_in_the_c_library_is_not_computation() {
    let mut toy = ToyProfile::new(1);
    let main = toy.call(None, "main");
    let time = summed(&mut toy, "time");
    toy.set(time, main, &[1.0]);
    for (name, seconds) in
        [("epoll_wait", 2.0), ("__GI___poll", 4.0), ("__GI___sched_yield", 8.0), ("__libc_read", 16.0)]
    {
        let call = toy.call(Some(main), name);
        toy.set(time, call, &[seconds]);
    }
    let mut shares: Vec<_> =
        report(&toy).shares.iter().map(|share| (share.time_ns / SECOND, share.kind)).collect();
    shares.sort_unstable();
    let expected = [
        (1, ShareKind::Computation),
        (6, ShareKind::OtherWaiting),
        (8, ShareKind::Threads),
        (16, ShareKind::InputOutput),
    ];
    assert_eq!(shares, expected);
}
