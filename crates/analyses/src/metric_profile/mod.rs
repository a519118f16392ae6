//! Which code moved the counters: accumulated metrics of each call path at each location.
//!
//! Enters and leaves cut the events of a location into stretches. What a counter
//! gained in a stretch belongs exclusively to the call that was innermost then; the
//! value at a cut is the last one recorded at or before it. Inclusive values are sums
//! over the calls below. Laws, for each location and metric:
//! `inclusive(path) = exclusive(path) + Σ inclusive(children)`, and the inclusive value
//! of one visit is the counter at its leave less the counter at its enter.
//! Metrics that are no counters are summarised, not attributed.

mod fold;
mod in_place_of_time;
mod output;
mod state;
#[cfg(test)]
mod tests;

pub use fold::MetricProfile;
pub(crate) use fold::{fold_rows, report};
pub use output::{LocationMetrics, MetricProfileOutput, MetricRow, MetricSummary, PathMetric};
pub(crate) use state::{Doubt, LocationPartial};
pub(crate) use state::{MetricPartial, MetricProfileLocal};
