//! Programs whose efficiencies are known: from the tests of TALP (P1 to P4), and by simulation (G1, G3).

use super::{threads_of, value};
use crate::hybrid::{hybrid, split};
use crate::{HybridModel, Metric, MetricValue, Reason, RunEfficiency, Threads};
use ouzel_analyses::call_path_profile::CallPathProfile;
use ouzel_analyses::semantics::Semantics;
use ouzel_model::TraceSource;
use ouzel_testkit::simulator::{Machine, Program, golden, simulate};
use ouzel_testkit::{ToyTrace, run};

/// Values to two digits behind the point.
fn digits(values: &[MetricValue], metrics: &[Metric]) -> Vec<String> {
    metrics.iter().map(|&metric| format!("{:.2}", value(values, metric).expect("a value"))).collect()
}

fn of_model(trace: &ToyTrace, model: HybridModel) -> Vec<MetricValue> {
    hybrid(model, &threads_of(trace), &Err(Reason::new("no replay")), trace.definitions())
}

/// The efficiencies of a simulated program; the ideal time is that of the ideal machine.
fn simulated(program: &Program) -> RunEfficiency {
    let run = simulate(program, &Machine::default());
    let ideal = simulate(program, &Machine::default().ideal()).run_time;
    let (trace, definitions) = (&run.trace, run.trace.definitions());
    let profile = self::run(trace, CallPathProfile);
    let classes = Semantics::default().classes(definitions);
    let threads = Threads::new(&profile, definitions, &classes, &|_| false).expect("threads");
    RunEfficiency::new(&threads, Ok(ouzel_model::Ticks(ideal)))
}

#[test]
fn p1_two_ranks_that_work_in_turn() {
    let run = simulated(&golden::in_turn());
    assert_eq!((run.run_time.0, run.useful_sum), (2000, 2500));
    let metrics = [
        Metric::Parallel,
        Metric::Communication,
        Metric::LoadBalance,
        Metric::Serialisation,
        Metric::Transfer,
    ];
    let seen: Vec<f64> = metrics.iter().map(|&metric| run.get(metric).expect("a value")).collect();
    assert_eq!(seen, [0.625, 0.75, 2.5 / 3.0, 0.75, 1.0]);
}

#[test]
fn g1_a_chain_of_delays() {
    let run = simulated(&golden::chain());
    let metrics = [Metric::LoadBalance, Metric::Communication, Metric::Parallel];
    let seen = metrics.map(|metric| format!("{:.4}", run.get(metric).expect("a value")));
    assert_eq!(seen, ["0.4333", "0.9091", "0.3939"]);
    assert_eq!(run.ideal_run_time, Ok(ouzel_model::Ticks(110)));
}

#[test]
fn g3_a_delay_through_a_barrier() {
    let run = simulated(&golden::through_a_collective());
    let metrics = [Metric::LoadBalance, Metric::Communication, Metric::Parallel];
    assert_eq!(metrics.map(|metric| run.get(metric)), [Some(2.0 / 3.0), Some(0.75), Some(0.5)]);
}

/// Four threads: 1 s alone, a region of 1 s with work for 1, 3/4, 1/2 and 1/4 s, then a loop of 1/8 s of which each thread
/// takes 1 ms for scheduling.
const P2: &str = "
    0: enter main @0, enter !$omp parallel @1000, enter w @1000, leave @2000, enter !$omp barrier @2000, leave @2000, \
       enter !$omp for @2000, leave @2125, enter !$omp implicit barrier @2125, leave @2126, leave @2126, leave @2126
    0.1: enter !$omp parallel @1000, enter w @1000, leave @1750, enter !$omp barrier @1750, leave @2000, \
       enter !$omp for @2000, leave @2125, enter !$omp implicit barrier @2125, leave @2126, leave @2126
    0.2: enter !$omp parallel @1000, enter w @1000, leave @1500, enter !$omp barrier @1500, leave @2000, \
       enter !$omp for @2000, leave @2125, enter !$omp implicit barrier @2125, leave @2126, leave @2126
    0.3: enter !$omp parallel @1000, enter w @1000, leave @1250, enter !$omp barrier @1250, leave @2000, \
       enter !$omp for @2000, leave @2125, enter !$omp implicit barrier @2125, leave @2126, leave @2126";

#[test]
fn p2_threads() {
    let trace = ToyTrace::new(P2);
    let threads = threads_of(&trace);
    assert_eq!(threads.threads.iter().map(|thread| thread.useful.0).sum::<u64>(), 4000);
    let losses = crate::hybrid::ThreadLosses::new(&threads);
    let parts = (losses.busy, losses.serialisation, losses.imbalance, losses.scheduling);
    assert_eq!(parts, (4000, 3000, 1500, 4));
    // The test of TALP expects 0.48, 0.58, 0.83 and 0.99 of a real run, and accepts what is 0.02 away.
    let values = of_model(&trace, HybridModel::Talp);
    let expected = [
        (Metric::OpenMpParallel, 0.48),
        (Metric::OpenMpSerialisation, 0.58),
        (Metric::OpenMpLoadBalance, 0.83),
        (Metric::OpenMpScheduling, 0.99),
    ];
    for (metric, expected) in expected {
        let seen = value(&values, metric).expect("a value");
        assert!((seen - expected).abs() < 0.011, "{metric:?} {seen}");
    }
    let product = value(&values, Metric::OpenMpSerialisation).unwrap()
        * value(&values, Metric::OpenMpLoadBalance).unwrap()
        * value(&values, Metric::OpenMpScheduling).unwrap();
    assert!((product - value(&values, Metric::OpenMpParallel).unwrap()).abs() < 1e-12);
}

/// Two processes of two threads; rank 1 is done half a second earlier and waits in MPI.
const P3: &str = "
    0: enter main @0, enter !$omp parallel @500, leave @1500, leave @1500
    0.1: enter !$omp parallel @500, enter w @500, leave @1000, enter !$omp implicit barrier @1000, leave @1500, leave @1500
    1: enter main @0, enter !$omp parallel @500, leave @1000, enter MPI_Recv @1000, leave @1500, leave @1500
    1.1: enter !$omp parallel @500, enter w @500, leave @750, enter !$omp implicit barrier @750, leave @1000, leave @1000";

#[test]
fn p3_processes_and_threads() {
    let trace = ToyTrace::new(P3);
    let threads = threads_of(&trace);
    let run = RunEfficiency::new(&threads, Err(Reason::new("no replay")));
    assert_eq!((run.run_time.0, run.useful_sum), (1500, 3250));
    assert_eq!(digits(&run.metrics, &[Metric::Parallel]), ["0.54"]);
    let losses = crate::hybrid::ThreadLosses::new(&threads);
    assert_eq!((losses.serialisation, losses.imbalance, losses.scheduling), (1500, 750, 0));
    let talp = of_model(&trace, HybridModel::Talp);
    let mpi = [Metric::MpiParallel, Metric::MpiCommunication, Metric::MpiLoadBalance];
    assert_eq!(digits(&talp, &mpi), ["0.83", "1.00", "0.83"]);
    assert_eq!(value(&talp, Metric::OpenMpParallel), Some(0.625));
    assert_eq!(value(&talp, Metric::OpenMpLoadBalance), Some(0.875));
    assert_eq!(digits(&talp, &[Metric::OpenMpSerialisation]), ["0.71"]);
    // The time of threads is that of the four parts: the first threads are never idle outside of regions.
    assert_eq!(losses.busy + losses.serialisation + losses.imbalance + losses.scheduling, 6000);
    // Both ranks are on one node.
    let nodes = [Metric::MpiLoadBalanceInside, Metric::MpiLoadBalanceBetween];
    assert_eq!(digits(&talp, &nodes), ["0.83", "1.00"]);
}

#[test]
fn p3_as_factors_and_as_terms() {
    let trace = ToyTrace::new(P3);
    let parallel = 3250.0 / 6000.0;
    let factors = of_model(&trace, HybridModel::Multiplicative);
    let factor = |metric| value(&factors, metric).expect("a value");
    // Outside of MPI are 1500 and 1000.
    assert!((factor(Metric::MpiParallel) - 2500.0 / 3000.0).abs() < 1e-12);
    assert!((factor(Metric::MpiCommunication) - 1.0).abs() < 1e-12);
    assert!((factor(Metric::OpenMpParallel) - 0.65).abs() < 1e-12);
    assert!((factor(Metric::OpenMpLoadBalance) - parallel / (2500.0 / 3000.0)).abs() < 1e-12);
    assert!((factor(Metric::MpiParallel) * factor(Metric::OpenMpParallel) - parallel).abs() < 1e-12);
    let terms = of_model(&trace, HybridModel::Additive);
    let term = |metric| value(&terms, metric).expect("a value");
    // Processes lose 500 of 3000; in parallel regions threads lose 750, outside of them 1000 of 6000.
    assert!((term(Metric::Process) - 2500.0 / 3000.0).abs() < 1e-12);
    assert!((term(Metric::OpenMpRegion) - (1.0 - 750.0 / 6000.0)).abs() < 1e-12);
    assert!((term(Metric::SerialRegion) - (1.0 - 1000.0 / 6000.0)).abs() < 1e-12);
    assert_additive(&term, parallel);
}

fn assert_additive(term: &dyn Fn(Metric) -> f64, parallel: f64) {
    let sums = [
        (parallel, Metric::Process, Metric::Thread),
        (term(Metric::Process), Metric::ProcessLoadBalance, Metric::ProcessCommunication),
        (term(Metric::Thread), Metric::OpenMpRegion, Metric::SerialRegion),
    ];
    for (whole, a, b) in sums {
        assert!((term(a) + term(b) - 1.0 - whole).abs() < 1e-12, "{a:?} {b:?}");
    }
}

#[test]
fn p4_a_region_after_openmp() {
    let trace = ToyTrace::new(
        "
        0: enter usleep @0, leave @500
        0.1: enter !$omp parallel @0, leave @0
        1: enter MPI_Recv @0, leave @500
        1.1: enter !$omp parallel @0, leave @0",
    );
    // No thread has time in a parallel region: this is a part of a program that has some.
    let threads = threads_of(&trace);
    let run = RunEfficiency::new(&threads, Err(Reason::new("no replay")));
    assert_eq!(run.get(Metric::Parallel), Some(0.0));
    let values = split(HybridModel::Talp, &threads, &Err(Reason::new("no replay")), trace.definitions());
    let mpi = [Metric::MpiParallel, Metric::MpiCommunication, Metric::MpiLoadBalance];
    assert_eq!(digits(&values, &mpi), ["0.50", "1.00", "0.50"]);
}

#[test]
fn programs_without_threads_are_hybrid_programs_of_one_thread() {
    let trace = ToyTrace::new(
        "
        0: enter main @0, enter MPI_Send @80, leave @90, leave @100
        1: enter main @20, enter MPI_Recv @30, leave @110, leave @120",
    );
    let run = RunEfficiency::new(&threads_of(&trace), Err(Reason::new("no replay")));
    let parallel = run.get(Metric::Parallel);
    let factors = of_model(&trace, HybridModel::Multiplicative);
    assert_eq!(value(&factors, Metric::MpiParallel), parallel);
    assert_eq!(value(&factors, Metric::OpenMpParallel), Some(1.0));
    let terms = of_model(&trace, HybridModel::Additive);
    assert_eq!((value(&terms, Metric::Process), value(&terms, Metric::Thread)), (parallel, Some(1.0)));
    let talp = of_model(&trace, HybridModel::Talp);
    // TALP counts the time before a rank starts and after it ends as no MPI.
    let expected = [Some(1.0 - 90.0 / 240.0), Some(1.0)];
    assert_eq!([Metric::MpiParallel, Metric::OpenMpParallel].map(|metric| value(&talp, metric)), expected);
}

#[test]
fn threads_without_parallel_regions_are_not_split() {
    let trace = ToyTrace::new("0: enter main @0, leave @10\n0.1: enter worker @0, leave @10");
    for model in HybridModel::ALL {
        let values = of_model(&trace, model);
        assert!(values.iter().all(|value| value.value.is_err()), "{values:?}");
        assert_eq!(values.len(), model.metrics().len());
    }
}
