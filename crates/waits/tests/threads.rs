//! Waiting of threads beside the truth of simulated processes.

use ouzel_model::{Definitions, Filter, TraceSource};
use ouzel_testkit::simulator::threads::{ThreadWait, ThreadedRun, random_threads, simulate_threads};
use ouzel_testkit::{run, run_report};
use ouzel_waits::{ClassRole, Waits, WaitsOutput};
use std::collections::BTreeMap;

const SEEDS: u64 = 1000;

fn waits(truth: &ThreadedRun, filter: &Filter) -> WaitsOutput {
    let (output, report) = run_report(&truth.trace, filter, Waits::new(truth.trace.definitions()));
    assert!(report.notices.is_empty(), "{:?}", report.notices);
    output
}

#[test]
fn causes_of_waits_of_threads_add_up_to_them() {
    for seed in 0..300 {
        let truth = simulate_threads(&random_threads(seed));
        let question = Waits::with_dependencies(truth.trace.definitions());
        let mut output = run(&truth.trace, question);
        let dependencies = output.dependencies.take().expect("they were asked for");
        let (delays, _) = dependencies.delays(&run(&truth.trace, dependencies.second_pass()));
        assert_eq!(delays.unexplained_rows(), [], "seed {seed}");
        let mut costs: BTreeMap<&str, u64> = BTreeMap::new();
        for row in delays.rows(truth.trace.definitions()) {
            *costs.entry(row.class.as_str()).or_default() += row.short_term.0 + row.long_term.0;
        }
        let primary = output.classes().into_iter().filter(|it| it.class.role() == ClassRole::Primary);
        let waits: BTreeMap<&str, u64> = primary.map(|it| (it.class.as_str(), it.wait.0)).collect();
        assert_eq!(costs, waits, "seed {seed}");
    }
}

/// Process and thread of each location, by its name.
fn places(definitions: &Definitions) -> Vec<(usize, usize)> {
    let place = |name: &str| {
        let (process, thread) = name.split_once('.').expect("names are PROCESS.THREAD");
        (process.parse().expect("a number"), thread.parse().expect("a number"))
    };
    definitions.locations.iter().map(|location| place(&location.name)).collect()
}

fn found(output: &WaitsOutput, definitions: &Definitions) -> Vec<ThreadWait> {
    let places = places(definitions);
    let wait = |wait: &ouzel_waits::Wait| {
        let (process, thread) = places[wait.location.index()];
        let culprit = places[wait.culprit.expect("one thread came late").location.index()];
        assert_eq!(culprit.0, process, "threads wait for those of their process");
        ThreadWait {
            class: wait.class.as_str(),
            process,
            thread,
            start: wait.start.0,
            ticks: wait.ticks().0,
            culprit: culprit.1,
        }
    };
    let mut all: Vec<ThreadWait> = output.waits.iter().map(wait).collect();
    all.sort_unstable();
    all
}

type Sums = BTreeMap<(&'static str, usize, String), u64>;

fn sums(output: &WaitsOutput, definitions: &Definitions) -> Sums {
    let places = places(definitions);
    let mut sums = Sums::new();
    for sum in &output.sums {
        let path = output.names(sum.path, definitions).join("/");
        *sums.entry((sum.class.as_str(), places[sum.location.index()].0, path)).or_default() += sum.wait.0;
    }
    sums
}

/// Waits lie in their visits, and no two of a thread overlap.
fn check_invariants(output: &WaitsOutput, seed: u64) {
    for wait in &output.waits {
        let lies_inside = wait.enter <= wait.start && wait.start < wait.end && wait.end <= wait.leave;
        assert!(lies_inside, "seed {seed}: {wait:?}");
    }
    for pair in output.waits.windows(2).filter(|pair| pair[0].location == pair[1].location) {
        assert!(pair[0].end <= pair[1].start, "seed {seed}: {pair:?}");
    }
    assert!(output.total().0 <= output.run_time.0 * output.n_threads, "seed {seed}");
}

#[test]
fn waits_of_threads_are_those_of_the_truth() {
    let (mut n_locks, mut n_barriers, mut n_sums) = (0, 0, 0);
    for seed in 0..SEEDS {
        let truth = simulate_threads(&random_threads(seed));
        let output = waits(&truth, &Filter::default());
        assert_eq!(found(&output, truth.trace.definitions()), truth.waits, "seed {seed}");
        assert_eq!(sums(&output, truth.trace.definitions()), truth.sums, "seed {seed}");
        let n = |class: &str| truth.waits.iter().filter(|it| it.class == class).count();
        check_invariants(&output, seed);
        n_locks += n("lock_contention");
        n_barriers += n("openmp_wait_at_barrier");
        n_sums += truth.sums.len();
    }
    assert!(2000 < n_locks && 5000 < n_barriers && 2000 < n_sums, "{n_locks} {n_barriers} {n_sums}");
}

#[test]
fn waits_of_threads_add_up_over_adjacent_ranges_of_time() {
    let sums_of = |truth: &ThreadedRun, time_ns| {
        let output = waits(truth, &Filter { time_ns, ..Filter::default() });
        let mut sums = sums(&output, truth.trace.definitions());
        for wait in found(&output, truth.trace.definitions()) {
            *sums.entry((wait.class, wait.process, wait.culprit.to_string())).or_default() += wait.ticks;
        }
        sums
    };
    for seed in 0..100 {
        let truth = simulate_threads(&random_threads(seed));
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
