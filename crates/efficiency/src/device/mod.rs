//! How well accelerators are used.
//!
//! ```text
//! calls of each stream ──fold──► intervals by activity ──union over the streams of a device──► DeviceTimes
//! ```
//!
//! With the time `k` in which a device runs at least one kernel, and the time `a` in which it runs a kernel, copies, or
//! communicates:
//!
//! ```text
//! device parallel = load balance  × communication × orchestration
//!   mean(k)/T     = mean(k)/max(k) × max(k)/max(a) × max(a)/T
//! offload (host)  = (useful + idle threads) / (useful + idle threads + accelerator runtime)
//! ```
//!
//! A device is an accelerator context of the trace. Kernels of communication libraries are communication, as they wait
//! for other devices. Law: the three factors multiply to the device parallel efficiency; each is at most 1.

mod fold;
#[cfg(test)]
mod tests;

pub use fold::{DeviceActivity, DeviceFold, DeviceTimes};

use crate::hybrid::ThreadLosses;
use crate::metric::{Metric, MetricValue, Reason};
use crate::useful::Threads;
use ouzel_analyses::ratio;
use ouzel_model::Ticks;

/// In the order of tables.
pub const METRICS: [Metric; 5] = [
    Metric::Offload,
    Metric::DeviceParallel,
    Metric::DeviceLoadBalance,
    Metric::DeviceCommunication,
    Metric::DeviceOrchestration,
];

/// The metrics of `devices`, and of the host `threads` that drive them, in a run of `run_time`.
pub fn device_metrics(
    devices: &[DeviceTimes],
    threads: &Result<&Threads, Reason>,
    run_time: Ticks,
) -> Vec<MetricValue> {
    let kernels = || devices.iter().map(|device| u128::from(device.kernels.0));
    let (sum, longest) = (kernels().sum::<u128>(), kernels().max().unwrap_or(0));
    let active = devices.iter().map(|device| u128::from(device.active.0)).max().unwrap_or(0);
    let (n, run) = (devices.len() as u128, u128::from(run_time.0));
    let quotient = |part, whole| {
        ratio(part, whole)
            .ok_or_else(|| Reason::new("no device runs a kernel, so there is nothing to divide by"))
    };
    let value = |metric| match metric {
        Metric::Offload => threads.clone().and_then(offload),
        Metric::DeviceParallel => quotient(sum, n * run),
        Metric::DeviceLoadBalance => quotient(sum, n * longest),
        Metric::DeviceCommunication => quotient(longest, active),
        _ => quotient(active, run),
    };
    METRICS.map(|metric| MetricValue::new(metric, value(metric))).to_vec()
}

/// How much of the host's time is not spent on driving devices or waiting for them. Without parallel regions it is not
/// known which threads of the host should have work, so none counts as idle.
fn offload(threads: &Threads) -> Result<f64, Reason> {
    let sum = |ticks: &dyn Fn(&crate::ThreadTimes) -> Ticks| -> u128 {
        threads.threads.iter().map(|thread| u128::from(ticks(thread).0)).sum()
    };
    let launches = sum(&|thread| thread.launches);
    let runtime = launches + sum(&|thread| thread.device_waits);
    let useful = sum(&|thread| thread.useful).saturating_sub(launches);
    let has_regions = threads.threads.iter().any(|thread| 0 < thread.parallel.0);
    let losses = if has_regions { ThreadLosses::new(threads) } else { ThreadLosses::default() };
    let kept = useful + losses.serialisation + losses.imbalance + losses.scheduling;
    ratio(kept, kept + runtime).ok_or_else(|| Reason::new("the host does nothing"))
}
