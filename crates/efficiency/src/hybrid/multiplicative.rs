//! Factors for MPI and OpenMP.
//!
//! With the time `m` of the first thread of a process outside of MPI, useful or in parallel regions, and the useful
//! time `u` of each thread:
//!
//! ```text
//! MPI parallel      = mean(m)/T       MPI load balance      = mean(m)/max(m)    MPI communication     = max(m)/T
//! OpenMP parallel   = parallel / MPI parallel                                   likewise for its two factors
//! ```
//!
//! Law: each product of an MPI and an OpenMP factor is the factor of the whole run. Quotients of OpenMP may exceed 1.

use super::{outside_mpi, quotient, transfer};
use crate::metric::{Metric, MetricValue, Reason};
use crate::run::possible;
use crate::useful::Threads;
use ouzel_model::Ticks;

/// In the order of tables.
pub(super) const METRICS: [Metric; 8] = [
    Metric::MpiParallel,
    Metric::MpiLoadBalance,
    Metric::MpiCommunication,
    Metric::MpiSerialisation,
    Metric::MpiTransfer,
    Metric::OpenMpParallel,
    Metric::OpenMpLoadBalance,
    Metric::OpenMpCommunication,
];

/// The values.
pub(super) fn values(threads: &Threads, ideal: &Result<Ticks, Reason>) -> Vec<MetricValue> {
    let processes = threads.by_process();
    let outside: Vec<u128> = processes.iter().map(|process| outside_mpi(&process[0])).collect();
    let (m_sum, m_max) = (outside.iter().sum::<u128>(), outside.iter().copied().max().unwrap_or(0));
    let useful = || threads.threads.iter().map(|thread| u128::from(thread.useful.0));
    let (u_sum, u_max) = (useful().sum::<u128>(), useful().max().unwrap_or(0));
    let (run, p, n) =
        (u128::from(threads.run_time.0), processes.len() as u128, threads.threads.len() as u128);
    let longest = Ticks(u64::try_from(m_max).unwrap_or(u64::MAX));
    let ideal = possible(ideal.clone(), longest, threads.run_time);
    let value = |metric| match metric {
        Metric::MpiParallel => quotient(m_sum, p * run),
        Metric::MpiLoadBalance => quotient(m_sum, p * m_max),
        Metric::MpiCommunication => quotient(m_max, run),
        Metric::MpiSerialisation => ideal.clone().and_then(|ideal| quotient(m_max, u128::from(ideal.0))),
        Metric::MpiTransfer => transfer(&ideal, run),
        Metric::OpenMpParallel => quotient_of(u_sum, n, m_sum, p),
        Metric::OpenMpLoadBalance => {
            let of_processes = quotient(m_sum, p * m_max)?;
            quotient(u_sum, n * u_max).map(|of_threads| of_threads / of_processes)
        }
        _ => quotient(u_max, m_max),
    };
    METRICS.map(|metric| MetricValue::new(metric, value(metric))).to_vec()
}

/// `(sum / n) / (of / p)`.
fn quotient_of(sum: u128, n: u128, of: u128, p: u128) -> Result<f64, Reason> {
    quotient(sum.saturating_mul(p), of.saturating_mul(n))
}
