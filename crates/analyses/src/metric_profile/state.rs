//! Counters and summaries while a location is folded, and of the locations folded so far.

use ouzel_model::{CallPathId, LocationId, MetricId, MetricValueType};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the values of a metric are to be taken at one location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Differences belong to calls.
    Counter { signed: bool },
    /// Values are summarised individually.
    Summary(MetricValueType),
}

/// While a location is folded.
#[derive(Debug, Default)]
pub struct MetricProfileLocal {
    /// By metric.
    pub(super) treatments: Vec<Treatment>,
    /// Place in `counters` of each metric that was seen, by metric.
    pub(super) counter_of: Vec<Option<usize>>,
    pub(super) counters: Vec<Counter>,
    pub(super) summaries: BTreeMap<MetricId, GaugeSummary>,
    /// The open calls, outermost first.
    pub(super) stack: Vec<CallPathId>,
    pub(super) n_enters: u64,
    /// Whether a counter was read since the last enter or leave.
    pub(super) is_new: bool,
}

/// One counter at one location.
#[derive(Debug)]
pub(super) struct Counter {
    pub metric: MetricId,
    pub signed: bool,
    /// The last value read.
    pub current: u64,
    /// The value at the last enter or leave; `None` before the first one with a value.
    pub at_cut: Option<u64>,
    /// What it gained, by call path.
    pub gains: Vec<u64>,
    /// How often it was lower than before.
    pub n_backward: u64,
    /// Calls that were entered before the first value.
    pub n_entered_before: u64,
}

/// Values of a metric that is no counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GaugeSummary {
    pub count: u64,
    /// Bits of the least value, as the metric's type reads them.
    pub min_bits: u64,
    /// Bits of the greatest value.
    pub max_bits: u64,
    pub sum: MetricSum,
}

/// The sum of the values of one location, in the order of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MetricSum {
    Integer(i128),
    /// Bits of a floating-point number; never added to another location's.
    Float(u64),
}

impl GaugeSummary {
    /// The summary of one value.
    pub fn of(bits: u64, value_type: MetricValueType) -> Self {
        let sum = match value_type {
            MetricValueType::U64 => MetricSum::Integer(i128::from(bits)),
            MetricValueType::I64 => MetricSum::Integer(i128::from(bits.cast_signed())),
            MetricValueType::F64 => MetricSum::Float(bits),
        };
        GaugeSummary { count: 1, min_bits: bits, max_bits: bits, sum }
    }

    /// Adds the next value.
    pub fn add(&mut self, bits: u64, value_type: MetricValueType) {
        let (below, above) = match value_type {
            MetricValueType::U64 => (bits < self.min_bits, self.max_bits < bits),
            MetricValueType::I64 => {
                let value = bits.cast_signed();
                (value < self.min_bits.cast_signed(), self.max_bits.cast_signed() < value)
            }
            MetricValueType::F64 => {
                let order = |a: u64, b: u64| f64::from_bits(a).total_cmp(&f64::from_bits(b)).is_lt();
                (order(bits, self.min_bits), order(self.max_bits, bits))
            }
        };
        if below {
            self.min_bits = bits;
        }
        if above {
            self.max_bits = bits;
        }
        self.count += 1;
        self.sum = match (self.sum, GaugeSummary::of(bits, value_type).sum) {
            (MetricSum::Float(a), MetricSum::Float(b)) => {
                MetricSum::Float((f64::from_bits(a) + f64::from_bits(b)).to_bits())
            }
            (MetricSum::Integer(a), MetricSum::Integer(b)) => MetricSum::Integer(a.saturating_add(b)),
            (sum, _) => sum,
        };
    }
}

/// What a call path gained of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gain {
    pub metric: MetricId,
    pub call_path: CallPathId,
    pub exclusive: u64,
}

/// What was doubtful about a counter at a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Doubt {
    pub metric: MetricId,
    pub n_backward: u64,
    pub n_entered_before: u64,
}

/// Everything about one location, each list sorted by metric.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LocationPartial {
    /// Sorted by metric, then by call path; none is zero.
    pub gains: Vec<Gain>,
    pub doubts: Vec<Doubt>,
    pub summaries: Vec<(MetricId, GaugeSummary)>,
}

impl MetricProfileLocal {
    /// The counters that were read.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = MetricId> + '_ {
        self.counters.iter().map(|counter| counter.metric)
    }
}

/// Gains and summaries by location.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricPartial {
    pub(super) locations: BTreeMap<LocationId, LocationPartial>,
}

impl MetricPartial {
    /// What is kept of one location.
    pub(crate) fn into_location(mut self, location: LocationId) -> LocationPartial {
        self.locations.remove(&location).unwrap_or_default()
    }
}
