//! Which time is useful, checked by eye.

use super::{threads_of, try_threads};
use crate::{Metric, Reason, RunEfficiency, Threads, Unavailable};
use ouzel_model::{Filter, Paradigm, RegionRole, Ticks, TraceSource};
use ouzel_testkit::ToyTrace;

fn useful(trace: &ToyTrace) -> Vec<u64> {
    threads_of(trace).threads.iter().map(|thread| thread.useful.0).collect()
}

fn run_of(trace: &ToyTrace) -> RunEfficiency {
    RunEfficiency::new(&threads_of(trace), Err(Reason::new("no replay")))
}

fn assert_identity(run: &RunEfficiency) {
    let get = |metric| run.get(metric).expect("it has a value");
    let product = get(Metric::LoadBalance) * get(Metric::Communication);
    assert!((get(Metric::Parallel) - product).abs() < 1e-12, "{run:?}");
}

#[test]
fn efficiencies_multiply() {
    let trace = ToyTrace::new(
        "
        0: enter main @0, enter MPI_Send @80, leave @90, leave @100
        1: enter main @0, enter MPI_Recv @30, leave @90, leave @100",
    );
    let run = run_of(&trace);
    assert_eq!(
        (run.run_time, run.n_threads, run.useful_sum, run.useful_max),
        (Ticks(100), 2, 130, Ticks(90))
    );
    assert_eq!(run.get(Metric::Parallel), Some(130.0 / 200.0));
    assert_eq!(run.get(Metric::LoadBalance), Some(130.0 / 180.0));
    assert_eq!(run.get(Metric::Communication), Some(90.0 / 100.0));
    assert_eq!(run.get(Metric::Transfer), None);
    assert_identity(&run);
}

#[test]
fn code_between_recorded_calls_is_useful_for_the_first_thread() {
    let trace = ToyTrace::new(
        "
        0: enter MPI_Init @0, leave @10, enter MPI_Barrier @60, leave @70
        0.1: enter work @20, leave @25, enter work @45, leave @50
        1: enter MPI_Init @0, leave @10, enter MPI_Barrier @40, leave @70",
    );
    assert_eq!(useful(&trace), [50, 10, 30]);
    let run = run_of(&trace);
    assert_eq!((run.n_processes, run.n_threads, run.useful_sum), (2, 3, 90));
    assert_identity(&run);
}

/// `hpcrun` puts two of these around a program; further in, what belongs to the measurement system is no work.
#[test]
fn entries_of_the_program_are_no_part_of_the_measurement() {
    let mut trace = ToyTrace::new(
        "0: enter primary @0, enter start @0, enter main @0, enter flush @60, leave @100, leave @100, leave @100, leave @100",
    );
    for name in ["primary", "start", "flush"] {
        let region = trace.definitions().regions.iter().position(|region| &*region.name == name);
        let region = &mut trace.definitions_mut().regions[region.expect("it is defined")];
        (region.role, region.paradigm) = (RegionRole::Artificial, Paradigm::MeasurementSystem);
    }
    assert_eq!(useful(&trace), [60]);
}

#[test]
fn what_is_called_below_communication_is_communication() {
    let trace = ToyTrace::new(
        "0: enter main @0, enter MPI_Allreduce @10, enter op @20, leave @50, leave @60, enter op @60, leave @65, leave @70",
    );
    // main 10 + 5, and op outside of MPI 5.
    assert_eq!(useful(&trace), [20]);
    assert_eq!(threads_of(&trace).threads[0].communication, Ticks(50));
}

#[test]
fn waiting_threads_do_nothing_useful_and_parallel_loops_do() {
    let trace = ToyTrace::new("
        0: enter !$omp parallel @0, enter !$omp for @0, leave @40, enter !$omp implicit barrier @40, leave @50, leave @50
        0.1: enter !$omp parallel @0, enter !$omp for @0, leave @20, enter !$omp implicit barrier @20, leave @50, leave @50
        0.gpu0: enter kernel @0, leave @50");
    assert_eq!(useful(&trace), [40, 20]);
    let parallel: Vec<u64> = threads_of(&trace).threads.iter().map(|thread| thread.parallel.0).collect();
    assert_eq!(parallel, [50, 50]);
}

#[test]
fn tasks_in_barriers_compute_and_calls_in_waits_do_not() {
    let trace = ToyTrace::new(
        "0: enter main @0, enter !$omp implicit barrier @10, enter task @20, leave @50, leave @60, \
         enter sem_wait @60, enter spin @60, leave @80, leave @90, leave @100",
    );
    // main 10 + 10, task 30.
    assert_eq!(useful(&trace), [50]);
}

#[test]
fn corrupt_times_do_not_overflow() {
    let trace = ToyTrace::new(
        "
        0: enter main @0, leave @18446744073709551615
        1: enter main @0, leave @18446744073709551615",
    );
    let run = run_of(&trace);
    assert_eq!(run.useful_sum, 2 * u128::from(u64::MAX));
    assert_eq!(run.get(Metric::Parallel), Some(1.0));
}

#[test]
fn reasons_are_given_where_there_is_no_answer() {
    let all = Filter::default();
    let none = ToyTrace::new("0.gpu0: enter kernel @0, leave @5");
    assert_eq!(try_threads(&none, &all), Err(Unavailable::NoCpuThread));
    let short = ToyTrace::new("0: enter main @5, leave @5");
    assert_eq!(try_threads(&short, &all), Err(Unavailable::NoTime));
    let filter = Filter { regions: vec!["MPI_*".to_owned()], ..Filter::default() };
    let hidden = ToyTrace::new("0: enter main @0, leave @5");
    assert_eq!(try_threads(&hidden, &filter), Err(Unavailable::HiddenRegions));
    assert!(Unavailable::NoTime.to_string().contains("no time"));
    let nothing = RunEfficiency::unavailable(Unavailable::NoCpuThread, Ticks(5));
    assert!(nothing.metrics.iter().all(|value| value.value.is_err()));
}

#[test]
fn a_run_without_useful_time_is_balanced_and_inefficient() {
    let run = run_of(&ToyTrace::new("0: enter MPI_Init @0, leave @5"));
    let values = [Metric::Parallel, Metric::LoadBalance, Metric::Communication].map(|metric| run.get(metric));
    assert_eq!(values, [Some(0.0), Some(1.0), Some(0.0)]);
}

#[test]
fn an_impossible_ideal_time_has_no_value() {
    let trace = ToyTrace::new("0: enter main @0, enter MPI_Send @80, leave @100, leave @100");
    let threads: Threads = threads_of(&trace);
    for (ideal, expected) in [(79, None), (80, Some(1.0)), (100, Some(0.8)), (101, None)] {
        let run = RunEfficiency::new(&threads, Ok(Ticks(ideal)));
        assert_eq!(run.get(Metric::Serialisation), expected, "{ideal}");
        assert_eq!(run.get(Metric::Transfer).is_some(), expected.is_some(), "{ideal}");
    }
}
