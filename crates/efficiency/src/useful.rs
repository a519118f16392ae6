//! POP efficiencies: how much of the machine's time is useful computation, and what takes the rest.
//!
//! ```text
//! parallel efficiency  =  load balance   ×  communication efficiency
//!   mean(u) / T        =  mean(u)/max(u) ×  max(u) / T
//! ```
//!
//! `u` is the useful time of a thread and `T` the run time. Law: sums are exact; each
//! ratio is one division. For which call paths lose the time, see `imbalance` and `mpi_time`.

use crate::call_path_profile::{LocationProfile, ProfileOutput};
use crate::semantics::{Category, Class, Family};
use crate::spread::{Processes, ratio, runs_on_cpu};
use ouzel_model::{CallPathTree, Definitions, LocationId, Paradigm, RegionId, Ticks};
use rustc_hash::FxHashSet;

/// The efficiencies of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PopOutput {
    /// From the first event to the last over all locations that run code.
    pub run: Ticks,
    /// Over all CPU threads.
    pub threads: Efficiency,
    /// Over the first thread of each process; `None` if no process has more than one.
    pub processes: Option<Efficiency>,
    /// Useful time of each CPU thread, by location.
    pub useful: Vec<(LocationId, Ticks)>,
}

/// One level of efficiencies. `parallel = load_balance × communication` up to rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Efficiency {
    /// Number of threads or processes compared.
    pub n: u64,
    /// Useful ticks of all together.
    pub useful_sum: u128,
    /// Useful ticks of the one that has most.
    pub useful_max: Ticks,
    /// `mean(u) / T`: the part of the time that is useful.
    pub parallel: f64,
    /// `mean(u) / max(u)`: what is left if the busiest sets the pace; 1 if none does anything.
    pub load_balance: f64,
    /// `max(u) / T`: the part of the time in which the busiest does something useful.
    pub communication: f64,
}

/// Why there are no efficiencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PopUnavailable {
    /// No location is a CPU thread.
    NoCpuThread,
    /// The run takes no time.
    NoTime,
    /// A region filter hides what part of the time was spent on.
    HiddenRegions,
    /// The events of every thread are incomplete.
    NothingComplete,
}

impl std::fmt::Display for PopUnavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PopUnavailable::NoCpuThread => "no location is a CPU thread",
            PopUnavailable::NoTime => "the run takes no time",
            PopUnavailable::HiddenRegions => "a region filter hides what the time was spent on",
            PopUnavailable::NothingComplete => "the events of all ranks are incomplete",
        })
    }
}

impl std::error::Error for PopUnavailable {}

/// Parallel efficiency, load balance and communication efficiency of the run.
///
/// The useful time `u` of a CPU thread is its exclusive time in call paths that compute: neither the region nor any
/// of its callers belongs to MPI, SHMEM, NCCL or the measurement system, waits, or synchronises. Time of the first
/// thread of a process outside of every recorded region is in the program's own code and useful, too: some tracers
/// record communication only. With run time `T`:
///
/// - parallel efficiency = `mean(u) / T`,
/// - load balance = `mean(u) / max(u)`,
/// - communication efficiency = `max(u) / T`.
///
/// Incomplete locations (`is_incomplete`) would seem to idle: they are left out.
///
/// These are the definitions of the POP methodology (Performance Optimisation and Productivity, a centre of
/// excellence in HPC: *POP standard metrics for parallel performance analysis*), whose model is multiplicative.
///
/// # Errors
/// If there is no CPU thread, no time, or a filter hides regions.
pub fn pop(
    profile: &ProfileOutput,
    definitions: &Definitions,
    classes: &[Class],
    is_incomplete: &dyn Fn(LocationId) -> bool,
) -> Result<PopOutput, PopUnavailable> {
    let computes = computing_paths(&profile.call_paths, definitions, classes)?;
    let processes = Processes::new(profile, definitions);
    let masters: FxHashSet<LocationId> = processes.masters(definitions).into_iter().collect();
    let useful: Vec<(LocationId, Ticks)> = profile
        .locations
        .iter()
        .filter(|location| runs_on_cpu(definitions, location.location) && !is_incomplete(location.location))
        .map(|location| {
            let is_master = masters.contains(&location.location);
            (location.location, useful_time(location, &computes, is_master))
        })
        .collect();
    if useful.is_empty() {
        let has_threads = profile.locations.iter().any(|l| runs_on_cpu(definitions, l.location));
        return Err(if has_threads { PopUnavailable::NothingComplete } else { PopUnavailable::NoCpuThread });
    }
    let run = profile.run_range.map_or(Ticks(0), |range| range.end.since(range.start));
    if run == Ticks(0) {
        return Err(PopUnavailable::NoTime);
    }
    let of_masters = || {
        let of_masters: Vec<Ticks> =
            useful.iter().filter(|(location, _)| masters.contains(location)).map(|&(_, u)| u).collect();
        efficiency(&of_masters, run)
    };
    let all: Vec<Ticks> = useful.iter().map(|&(_, u)| u).collect();
    let n_masters = useful.iter().filter(|(location, _)| masters.contains(location)).count();
    let processes = (n_masters < useful.len()).then(of_masters);
    Ok(PopOutput { run, threads: efficiency(&all, run), processes, useful })
}

/// For each call path whether time in it is useful.
fn computing_paths(
    call_paths: &CallPathTree,
    definitions: &Definitions,
    classes: &[Class],
) -> Result<Vec<bool>, PopUnavailable> {
    let mut computes = vec![true; call_paths.len()];
    for path in call_paths.paths() {
        let Some(region) = call_paths.region(path) else { continue };
        if region == definitions.filtered_region {
            return Err(PopUnavailable::HiddenRegions);
        }
        let above = computes[call_paths.parent(path).index()];
        computes[path.index()] = above && region_computes(region, definitions, classes);
    }
    Ok(computes)
}

fn region_computes(region: RegionId, definitions: &Definitions, classes: &[Class]) -> bool {
    let Class { category, family } = classes[region.index()];
    let communicates = matches!(family, Family::Mpi | Family::Shmem | Family::Nccl);
    let measures = definitions.region(region).paradigm == Paradigm::MeasurementSystem;
    category == Category::Computation && !communicates && !measures
}

fn useful_time(location: &LocationProfile, computes: &[bool], is_master: bool) -> Ticks {
    let useful = location.rows.iter().filter(|row| computes[row.call_path.index()]);
    let inside: Ticks = useful.map(|row| row.times.exclusive).sum();
    if is_master { inside + location.outside } else { inside }
}

fn efficiency(useful: &[Ticks], run: Ticks) -> Efficiency {
    let n = useful.len() as u64;
    let sum: u128 = useful.iter().map(|u| u128::from(u.0)).sum();
    let max = useful.iter().copied().max().unwrap_or_default();
    let (wide_n, wide_max, wide_run) = (u128::from(n), u128::from(max.0), u128::from(run.0));
    Efficiency {
        n,
        useful_sum: sum,
        useful_max: max,
        parallel: ratio(sum, wide_n * wide_run).unwrap_or(0.0),
        load_balance: ratio(sum, wide_n * wide_max).unwrap_or(1.0),
        communication: ratio(wide_max, wide_run).unwrap_or(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_path_profile::CallPathProfile;
    use crate::semantics::Semantics;
    use ouzel_model::{Filter, TraceSource};
    use ouzel_testkit::{ToyTrace, run_report};

    fn pop_of(trace: &ToyTrace, filter: &Filter) -> Result<PopOutput, PopUnavailable> {
        let (profile, _) = run_report(trace, filter, CallPathProfile);
        pop(&profile, trace.definitions(), &Semantics::default().classes(trace.definitions()), &|_| false)
    }

    fn useful(trace: &ToyTrace) -> Vec<u64> {
        pop_of(trace, &Filter::default()).unwrap().useful.iter().map(|(_, u)| u.0).collect()
    }

    fn assert_identity(efficiency: &Efficiency) {
        let product = efficiency.load_balance * efficiency.communication;
        assert!((efficiency.parallel - product).abs() < 1e-12, "{efficiency:?}");
    }

    #[test]
    fn efficiencies_multiply() {
        let trace = ToyTrace::new(
            "
            0: enter main @0, enter MPI_Send @80, leave @90, leave @100
            1: enter main @0, enter MPI_Recv @30, leave @90, leave @100",
        );
        let output = pop_of(&trace, &Filter::default()).unwrap();
        let Efficiency { n, useful_sum, useful_max, parallel, load_balance, communication } = output.threads;
        assert_eq!((output.run, n, useful_sum, useful_max), (Ticks(100), 2, 130, Ticks(90)));
        let expected = [130.0 / 200.0, 130.0 / 180.0, 90.0 / 100.0];
        for (seen, expected) in [parallel, load_balance, communication].iter().zip(expected) {
            assert!((seen - expected).abs() < 1e-12, "{output:?}");
        }
        assert_identity(&output.threads);
        assert_eq!(output.processes, None);
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
        let output = pop_of(&trace, &Filter::default()).unwrap();
        let processes = output.processes.unwrap();
        assert_eq!((processes.n, processes.useful_sum, processes.useful_max), (2, 80, Ticks(50)));
        assert_eq!((output.threads.n, output.threads.useful_sum), (3, 90));
        assert_identity(&processes);
        assert_identity(&output.threads);
    }

    #[test]
    fn what_is_called_below_communication_is_communication() {
        let trace = ToyTrace::new(
            "0: enter main @0, enter MPI_Allreduce @10, enter op @20, leave @50, leave @60, enter op @60, leave @65, leave @70",
        );
        // main 10 + 5, and op outside of MPI 5.
        assert_eq!(useful(&trace), [20]);
    }

    #[test]
    fn waiting_threads_do_nothing_useful_and_parallel_loops_do() {
        let trace = ToyTrace::new("
            0: enter !$omp parallel @0, enter !$omp for @0, leave @40, enter !$omp implicit barrier @40, leave @50, leave @50
            0.1: enter !$omp parallel @0, enter !$omp for @0, leave @20, enter !$omp implicit barrier @20, leave @50, leave @50
            0.gpu0: enter kernel @0, leave @50");
        assert_eq!(useful(&trace), [40, 20]);
    }

    #[test]
    fn corrupt_times_do_not_overflow() {
        let trace = ToyTrace::new(
            "
            0: enter main @0, leave @18446744073709551615
            1: enter main @0, leave @18446744073709551615",
        );
        let threads = pop_of(&trace, &Filter::default()).unwrap().threads;
        assert_eq!(threads.useful_sum, 2 * u128::from(u64::MAX));
        assert_eq!(threads.parallel.to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn reasons_are_given_where_there_is_no_answer() {
        let none = ToyTrace::new("0.gpu0: enter kernel @0, leave @5");
        assert_eq!(pop_of(&none, &Filter::default()), Err(PopUnavailable::NoCpuThread));
        let short = ToyTrace::new("0: enter main @5, leave @5");
        assert_eq!(pop_of(&short, &Filter::default()), Err(PopUnavailable::NoTime));
        let filter = Filter { regions: vec!["MPI_*".to_owned()], ..Filter::default() };
        let hidden = ToyTrace::new("0: enter main @0, leave @5");
        assert_eq!(pop_of(&hidden, &filter), Err(PopUnavailable::HiddenRegions));
        assert!(PopUnavailable::NoTime.to_string().contains("no time"));
    }

    #[test]
    fn a_run_without_useful_time_is_balanced_and_inefficient() {
        let trace = ToyTrace::new("0: enter MPI_Init @0, leave @5");
        let threads = pop_of(&trace, &Filter::default()).unwrap().threads;
        assert_eq!(
            [threads.parallel, threads.load_balance, threads.communication].map(f64::to_bits),
            [0.0, 1.0, 0.0].map(f64::to_bits)
        );
    }
}
