//! Terms for processes and threads: each loss is a part of the run.
//!
//! For each process, `o` is the time of its first thread in parallel regions and `s` its useful time outside of them;
//! `n` is its number of threads, and means over processes are weighted with it, so that they are means over threads.
//! `u` is the useful time of each thread, `u_o` that in parallel regions; all useful time of further threads counts as
//! that.
//!
//! ```text
//! process = mean(o + s)/T                                thread = 1 − (mean(o + s) − mean(u))/T
//!   load balance = 1 − (max(o + s) − mean(o + s))/T        OpenMP region = 1 − (mean(o) − mean(u_o))/T
//!   communication = max(o + s)/T                           serial region = 1 − mean(s · (1 − 1/n))/T
//! ```
//!
//! Laws: `parallel = process + thread − 1`, and each of the two is the sum of its parts less 1.

use super::{outside_mpi, quotient, transfer};
use crate::metric::{Metric, MetricValue, Reason};
use crate::run::possible;
use crate::useful::Threads;
use ouzel_analyses::ratio;
use ouzel_model::Ticks;

/// In the order of tables.
pub(super) const METRICS: [Metric; 8] = [
    Metric::Process,
    Metric::ProcessLoadBalance,
    Metric::ProcessCommunication,
    Metric::ProcessSerialisation,
    Metric::ProcessTransfer,
    Metric::Thread,
    Metric::OpenMpRegion,
    Metric::SerialRegion,
];

/// Sums over processes, those with a star weighted with the number of threads.
#[derive(Debug, Default)]
struct Sums {
    /// `o`*.
    parallel: u128,
    /// `s`*.
    serial: u128,
    /// `s`.
    serial_once: u128,
    /// Useful time of all threads in parallel regions.
    useful_parallel: u128,
    /// The longest `o + s`.
    longest: u128,
    /// The longest time outside of MPI.
    longest_outside_mpi: u128,
}

/// The values.
pub(super) fn values(threads: &Threads, ideal: &Result<Ticks, Reason>) -> Vec<MetricValue> {
    let sums = Sums::new(threads);
    let (run, n) = (u128::from(threads.run_time.0), threads.threads.len() as u128);
    let whole = n * run;
    let outside = sums.parallel + sums.serial;
    let loss = |lost: u128, useful: u128| less(whole, lost, useful);
    let longest_outside = Ticks(u64::try_from(sums.longest_outside_mpi).unwrap_or(u64::MAX));
    let ideal = possible(ideal.clone(), longest_outside, threads.run_time);
    let value = |metric| match metric {
        Metric::Process => quotient(outside, whole),
        Metric::ProcessLoadBalance => loss(n * sums.longest, outside),
        Metric::ProcessCommunication => quotient(sums.longest, run),
        Metric::ProcessSerialisation => {
            ideal.clone().and_then(|ideal| less(run, u128::from(ideal.0), sums.longest_outside_mpi))
        }
        Metric::ProcessTransfer => transfer(&ideal, run),
        Metric::Thread => loss(outside, sums.useful_parallel + sums.serial_once),
        Metric::OpenMpRegion => loss(sums.parallel, sums.useful_parallel),
        _ => loss(sums.serial, sums.serial_once),
    };
    METRICS.map(|metric| MetricValue::new(metric, value(metric))).to_vec()
}

impl Sums {
    fn new(threads: &Threads) -> Self {
        let mut sums = Sums::default();
        for process in threads.by_process() {
            let (n, master) = (process.len() as u128, &process[0]);
            let parallel = u128::from(master.parallel.0);
            let serial = u128::from(master.useful.since(master.useful_parallel).0);
            sums.parallel += n * parallel;
            sums.serial += n * serial;
            sums.serial_once += serial;
            sums.useful_parallel += u128::from(master.useful_parallel.0);
            sums.useful_parallel +=
                process[1..].iter().map(|thread| u128::from(thread.useful.0)).sum::<u128>();
            sums.longest = sums.longest.max(parallel + serial);
            sums.longest_outside_mpi = sums.longest_outside_mpi.max(outside_mpi(master));
        }
        sums
    }
}

/// `1 − (a − b) / whole`; more than 1 if `a < b`.
fn less(whole: u128, a: u128, b: u128) -> Result<f64, Reason> {
    match a.checked_sub(b) {
        Some(lost) if lost <= whole => quotient(whole - lost, whole),
        Some(lost) => quotient(lost - whole, whole).map(|beyond| -beyond),
        None => Ok(1.0 + ratio(b - a, whole).unwrap_or(0.0)),
    }
}
