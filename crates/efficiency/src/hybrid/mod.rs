//! Hybrid programs: how much of the loss is between processes, and how much between the threads of a process.
//!
//! There are three ways to split it, one per file. All are computed from the same times of threads, and give the same
//! parallel efficiency. A program without threads is a hybrid program whose processes have one thread each.

mod additive;
mod multiplicative;
mod talp;

pub(crate) use talp::ThreadLosses;

use crate::metric::{Metric, MetricValue, Reason};
use crate::useful::{ThreadTimes, Threads};
use ouzel_analyses::ratio;
use ouzel_model::{Definitions, Ticks};

/// How to split the parallel efficiency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HybridModel {
    /// Into factors for MPI and OpenMP. Those of OpenMP are quotients, and may exceed 1.
    Multiplicative,
    /// Into terms for processes and threads: each loss is a part of the run, and they add up.
    Additive,
    /// Into factors for MPI and OpenMP as TALP computes them: OpenMP loses time outside of parallel regions, to
    /// imbalance and to scheduling. Its factors of MPI and OpenMP do not multiply to the parallel efficiency, since
    /// threads that idle while their process communicates count for both.
    Talp,
}

impl HybridModel {
    /// All models.
    pub const ALL: [HybridModel; 3] = [HybridModel::Multiplicative, HybridModel::Additive, HybridModel::Talp];

    /// Its name in JSON, in Python and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            HybridModel::Multiplicative => "multiplicative",
            HybridModel::Additive => "additive",
            HybridModel::Talp => "talp",
        }
    }

    /// The metrics of the model, in the order of tables.
    pub fn metrics(self) -> &'static [Metric] {
        match self {
            HybridModel::Multiplicative => &multiplicative::METRICS,
            HybridModel::Additive => &additive::METRICS,
            HybridModel::Talp => &talp::METRICS,
        }
    }
}

/// Splits the parallel efficiency of `threads`; `ideal` is the run time on a network without transfer times.
pub fn hybrid(
    model: HybridModel,
    threads: &Threads,
    ideal: &Result<Ticks, Reason>,
    definitions: &Definitions,
) -> Vec<MetricValue> {
    match not_hybrid(threads) {
        Some(reason) => missing(model, &reason),
        None => split(model, threads, ideal, definitions),
    }
}

/// [`hybrid`] of a program whose threads are known to be those of OpenMP.
pub(crate) fn split(
    model: HybridModel,
    threads: &Threads,
    ideal: &Result<Ticks, Reason>,
    definitions: &Definitions,
) -> Vec<MetricValue> {
    match model {
        HybridModel::Multiplicative => multiplicative::values(threads, ideal),
        HybridModel::Additive => additive::values(threads, ideal),
        HybridModel::Talp => talp::values(threads, definitions),
    }
}

/// The metrics of a model without values.
pub fn missing(model: HybridModel, reason: &Reason) -> Vec<MetricValue> {
    model.metrics().iter().map(|&metric| MetricValue::new(metric, Err(reason.clone()))).collect()
}

/// Why the models say nothing about the threads of a program.
fn not_hybrid(threads: &Threads) -> Option<Reason> {
    if threads.by_process().iter().any(|process| !process[0].is_master) {
        return Some(Reason::new("the events of the first thread of a process are incomplete"));
    }
    let has_regions = threads.threads.iter().any(|thread| 0 < thread.parallel.0);
    (threads.is_multithreaded() && !has_regions)
        .then(|| Reason::new("processes have several threads, but no OpenMP parallel region is recorded"))
}

/// Time of the first thread of a process outside of MPI, useful or in parallel regions.
fn outside_mpi(master: &ThreadTimes) -> u128 {
    let parallel = master.parallel.since(master.communication_parallel);
    u128::from(master.useful.since(master.useful_parallel).0) + u128::from(parallel.0)
}

/// `part / whole`, or why it has no value.
fn quotient(part: u128, whole: u128) -> Result<f64, Reason> {
    ratio(part, whole).ok_or_else(|| Reason::new("nothing useful is done, so there is nothing to divide by"))
}

/// `T_id / T`.
fn transfer(ideal: &Result<Ticks, Reason>, run: u128) -> Result<f64, Reason> {
    ideal.clone().and_then(|ideal| quotient(u128::from(ideal.0), run))
}
