//! Random hybrid programs whose times are known: the models against sums made while the program is written.

use super::{threads_of, value};
use crate::hybrid::{ThreadLosses, split};
use crate::{HybridModel, Metric, Reason, RunEfficiency};
use ouzel_model::{Ticks, TraceSource};
use ouzel_testkit::{Rng, ToyTrace};
use std::fmt::Write;

/// A program, and the truth about it.
#[derive(Debug, Default)]
struct HybridProgram {
    text: String,
    useful: u64,
    communication: u64,
    in_regions: u64,
    /// Time of all other threads than the first outside of regions, until the last process ends.
    serialisation: u64,
    run_time: u64,
}

/// Some processes with one to four threads, which compute, run a region with a team of all, and communicate, in turn.
/// Each region is entered once, so that what its threads lose is exact.
fn random(rng: &mut Rng) -> HybridProgram {
    let mut program = HybridProgram::default();
    let mut ends = Vec::new();
    for process in 0..1 + rng.below(4) {
        let n = 1 + rng.below(4);
        let mut lines: Vec<String> = (0..n).map(|_| String::new()).collect();
        let (mut at, mut in_regions) = (0, 0);
        lines[0] += "enter main @0";
        for step in 0..1 + rng.below(4) {
            let serial = rng.below(50);
            program.useful += serial;
            at += serial;
            let work: Vec<u64> = (0..n).map(|_| rng.below(40)).collect();
            let end = at + work.iter().max().copied().unwrap_or(0) + rng.below(5);
            for (thread, work) in work.iter().enumerate() {
                let (name, done) = (format!("!$omp parallel @{step}"), at + work);
                let _ = write!(
                    lines[thread],
                    ", enter {name} @{at}, enter !$omp implicit barrier @{done}, leave @{end}, leave @{end}"
                );
                program.useful += work;
                program.in_regions += end - at - work;
            }
            in_regions += end - at;
            at = end;
            let mpi = rng.below(30);
            let _ = write!(lines[0], ", enter MPI_Barrier @{at}, leave @{}", at + mpi);
            program.communication += mpi;
            at += mpi;
        }
        let _ = write!(lines[0], ", leave @{at}");
        for (thread, line) in lines.iter().enumerate() {
            let _ = writeln!(program.text, "{process}.{thread}: {}", line.trim_start_matches(", "));
        }
        ends.push((n, in_regions));
        program.run_time = program.run_time.max(at);
    }
    program.serialisation = ends.iter().map(|(n, inside)| (n - 1) * (program.run_time - inside)).sum();
    program
}

fn check(seed: u64) {
    let program = random(&mut Rng::new(seed));
    if program.run_time == 0 || program.useful == 0 {
        return;
    }
    let trace = ToyTrace::new(&program.text);
    let threads = threads_of(&trace);
    let none = || Err(Reason::new("no replay"));
    let run = RunEfficiency::new(&threads, none());
    assert_eq!(
        (run.run_time, run.useful_sum),
        (Ticks(program.run_time), u128::from(program.useful)),
        "{seed}"
    );
    let losses = ThreadLosses::new(&threads);
    assert_eq!(losses.busy, u128::from(program.useful + program.communication), "{seed}");
    assert_eq!(losses.imbalance + losses.scheduling, u128::from(program.in_regions), "{seed}");
    assert_eq!(losses.serialisation, u128::from(program.serialisation), "{seed}");
    let of = |model| split(model, &threads, &none(), trace.definitions());
    let parallel = run.get(Metric::Parallel).expect("a value");
    let near =
        |seen: f64, expected: f64| assert!((seen - expected).abs() < 1e-9, "{seed}: {seen} {expected}");
    let values = of(HybridModel::Additive);
    let term = |metric| value(&values, metric).expect("a value");
    near(term(Metric::Process) + term(Metric::Thread) - 1.0, parallel);
    near(term(Metric::ProcessLoadBalance) + term(Metric::ProcessCommunication) - 1.0, term(Metric::Process));
    near(term(Metric::OpenMpRegion) + term(Metric::SerialRegion) - 1.0, term(Metric::Thread));
    let values = of(HybridModel::Multiplicative);
    let factor = |metric| value(&values, metric).expect("a value");
    near(factor(Metric::MpiParallel) * factor(Metric::OpenMpParallel), parallel);
    near(factor(Metric::MpiLoadBalance) * factor(Metric::MpiCommunication), factor(Metric::MpiParallel));
    let values = of(HybridModel::Talp);
    let factor = |metric| value(&values, metric).expect("a value");
    let openmp = [Metric::OpenMpSerialisation, Metric::OpenMpLoadBalance, Metric::OpenMpScheduling];
    near(openmp.iter().map(|&metric| factor(metric)).product(), factor(Metric::OpenMpParallel));
    near(factor(Metric::MpiLoadBalance) * factor(Metric::MpiCommunication), factor(Metric::MpiParallel));
}

#[test]
fn models_have_the_times_of_random_programs() {
    (0..500).for_each(check);
}
