//! Waiting in one-sided communication beside the truth of simulated processes.

use ouzel_model::{Definitions, Filter, TraceSource};
use ouzel_testkit::simulator::windows::{
    BlockAt, RandomWindows, WindowRun, WindowWait, random_windows, simulate_windows,
};
use ouzel_testkit::{run, run_report};
use ouzel_waits::{ClassRole, Waits, WaitsOutput};
use std::collections::BTreeMap;

const SEEDS: u64 = 1000;

fn simulated(seed: u64) -> (RandomWindows, WindowRun) {
    let program = random_windows(seed);
    let run = simulate_windows(&program.ranks, program.n_windows, program.block_at);
    (program, run)
}

fn waits(truth: &WindowRun, filter: &Filter) -> WaitsOutput {
    let (output, report) = run_report(&truth.trace, filter, Waits::new(truth.trace.definitions()));
    assert!(report.notices.is_empty(), "{:?}", report.notices);
    output
}

/// The waits, with culprits where the truth has them.
fn found(output: &WaitsOutput, definitions: &Definitions, block_at: BlockAt) -> Vec<WindowWait> {
    let rank = |location| definitions.location(location).rank.expect("a rank").index();
    let wait = |wait: &ouzel_waits::Wait| {
        let (class, region) = (wait.class.as_str(), output.call_paths.region(wait.path));
        let culprit = rank(wait.culprit.expect("one rank came late").location);
        let region = &definitions.region(region.expect("a call")).name;
        let calls = [
            "MPI_Win_create",
            "MPI_Win_free",
            "MPI_Win_fence",
            "MPI_Put",
            "MPI_Win_start",
            "MPI_Win_complete",
            "MPI_Win_wait",
            "MPI_Win_lock",
            "MPI_Win_unlock",
        ];
        WindowWait {
            class,
            rank: rank(wait.location),
            call: calls.into_iter().find(|call| *call == &**region).expect("a call of windows"),
            start: wait.start.0,
            ticks: wait.ticks().0,
            culprit: (class != "rma_lock" || block_at == BlockAt::First).then_some(culprit),
        }
    };
    let mut all: Vec<WindowWait> = output.waits.iter().map(wait).collect();
    all.sort_unstable();
    all
}

#[test]
fn waits_of_windows_are_those_of_the_truth() {
    let mut n: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..SEEDS {
        let (program, truth) = simulated(seed);
        let output = waits(&truth, &Filter::default());
        let found = found(&output, truth.trace.definitions(), program.block_at);
        let without = |of: &[WindowWait], others: &[WindowWait]| -> Vec<WindowWait> {
            of.iter().filter(|it| !others.contains(it)).cloned().collect()
        };
        let differences = (without(&found, &truth.waits), without(&truth.waits, &found));
        assert_eq!(differences, (Vec::new(), Vec::new()), "seed {seed}, {:?}", program.block_at);
        assert_eq!(found, truth.waits, "seed {seed}");
        for wait in &truth.waits {
            *n.entry(wait.class).or_default() += 1;
        }
        for wait in &output.waits {
            let lies_inside = wait.enter <= wait.start && wait.start < wait.end && wait.end <= wait.leave;
            assert!(lies_inside, "seed {seed}: {wait:?}");
        }
        assert!(output.total().0 <= output.run_time.0 * output.n_ranks, "seed {seed}");
    }
    let classes: Vec<&str> = n.keys().copied().collect();
    let expected = [
        "early_fence",
        "early_wait",
        "late_complete",
        "late_post",
        "rma_lock",
        "wait_at_create",
        "wait_at_fence",
    ];
    assert_eq!(classes, expected);
    assert!(n.values().all(|n| 500 < *n), "{n:?}");
}

#[test]
fn causes_of_waits_of_windows_add_up_to_them() {
    for seed in 0..300 {
        let (_, truth) = simulated(seed);
        let question = Waits::with_dependencies(truth.trace.definitions());
        let mut output = run(&truth.trace, question);
        let dependencies = output.dependencies.take().expect("they were asked for");
        let (delays, _) = dependencies.delays(&run(&truth.trace, dependencies.second_pass()));
        let mut costs: BTreeMap<&str, u64> = BTreeMap::new();
        for row in delays.rows(truth.trace.definitions()) {
            *costs.entry(row.class.as_str()).or_default() += row.short_term.0 + row.long_term.0;
        }
        for row in delays.unexplained_rows() {
            *costs.entry(row.class.as_str()).or_default() += row.wait.0;
        }
        let primary = output.classes().into_iter().filter(|it| it.class.role() == ClassRole::Primary);
        let waits: BTreeMap<&str, u64> = primary.map(|it| (it.class.as_str(), it.wait.0)).collect();
        assert_eq!(costs, waits, "seed {seed}");
    }
}

#[test]
fn waits_of_windows_add_up_over_adjacent_ranges_of_time() {
    let sums_of = |truth: &WindowRun, time_ns| {
        let output = waits(truth, &Filter { time_ns, ..Filter::default() });
        let mut sums: BTreeMap<(&str, usize, &str), u64> = BTreeMap::new();
        for wait in found(&output, truth.trace.definitions(), BlockAt::First) {
            *sums.entry((wait.class, wait.rank, wait.call)).or_default() += wait.ticks;
        }
        sums
    };
    for seed in 0..100 {
        let (_, truth) = simulated(seed);
        let whole = sums_of(&truth, None);
        for cut in [15, 60, 145, 300] {
            let mut parts = sums_of(&truth, Some((0, cut)));
            for (key, ticks) in sums_of(&truth, Some((cut, 100_000))) {
                *parts.entry(key).or_default() += ticks;
            }
            assert_eq!(parts, whole, "seed {seed}, cut at {cut}");
        }
    }
}
