//! Readings of metrics, and the bins they give.

use crate::time_grid::TimeGrid;
use ouzel_engine::counter_gain;
use ouzel_model::{MetricId, MetricValueType, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the readings of a metric become bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// The metric was not asked for.
    LeftOut,
    /// Differences are spread over the time between readings.
    Counter { signed: bool },
    /// Each value holds until the next one.
    Value(MetricValueType),
}

/// While a location is folded.
#[derive(Debug)]
pub struct CountersLocal {
    pub(super) grid: TimeGrid,
    /// By metric.
    pub(super) treatments: Vec<Treatment>,
    /// By metric; `None` before the first reading.
    pub(super) series: Vec<Option<Series>>,
}

/// The readings of one metric at one location.
#[derive(Debug)]
pub(super) struct Series {
    pub at: Ticks,
    pub bits: u64,
    pub bins: Bins,
    pub n_backward: u64,
}

/// What is known of one metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Bins {
    /// What the counter gained in each bin.
    Gains(Vec<u64>),
    /// The least and the greatest value in each bin, as numbers that are ordered like the values.
    Values(Vec<Option<(u64, u64)>>),
}

/// A metric over the locations folded so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MetricBins {
    pub n_locations: u64,
    pub n_backward: u64,
    pub bins: Bins,
}

/// The metrics over the locations folded so far.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountersPartial {
    pub(super) metrics: BTreeMap<MetricId, MetricBins>,
}

impl CountersLocal {
    /// Takes a reading; those of a location come in the order of time.
    pub(super) fn read(&mut self, metric: MetricId, at: Ticks, bits: u64) {
        let Some(&treatment) = self.treatments.get(metric.index()) else { return };
        let series = &mut self.series[metric.index()];
        if let Some(series) = series {
            series.reach(self.grid, treatment, at, Some(bits));
            (series.at, series.bits) = (at, bits);
            return;
        }
        let n = self.grid.n_bins();
        let bins = match treatment {
            Treatment::LeftOut => return,
            Treatment::Counter { .. } => Bins::Gains(vec![0; n]),
            Treatment::Value(_) => Bins::Values(vec![None; n]),
        };
        *series = Some(Series { at, bits, bins, n_backward: 0 });
    }
}

impl Series {
    /// Fills the bins from the reading before to `until`, where the next reading is `next`.
    pub(super) fn reach(&mut self, grid: TimeGrid, treatment: Treatment, until: Ticks, next: Option<u64>) {
        let from = self.at;
        match (&mut self.bins, treatment) {
            (Bins::Gains(bins), Treatment::Counter { signed }) => {
                let Some(next) = next else { return };
                match counter_gain(self.bits, next, signed) {
                    Some(gain) => spread(bins, grid, (from, until), gain),
                    None => self.n_backward += 1,
                }
            }
            (Bins::Values(bins), Treatment::Value(value_type)) => {
                let key = ordered(self.bits, value_type);
                // The instant of the next reading has the next value, unless both are at one.
                let last = if next.is_some() && from < until { Ticks(until.0 - 1) } else { until };
                hold(bins, grid, (from, last), key);
            }
            _ => {}
        }
    }
}

/// Spreads `gain` evenly over the time between two readings. What lies outside of the grid is left out.
fn spread(bins: &mut [u64], grid: TimeGrid, (from, until): (Ticks, Ticks), gain: u64) {
    let add = |sum: &mut u64, part: u64| *sum = sum.saturating_add(part);
    if gain == 0 {
        return;
    }
    if until <= from {
        if let Some(bin) = grid.bin(until) {
            add(&mut bins[bin], gain);
        }
        return;
    }
    let Some((first, last)) = overlap(grid, (from, until)) else { return };
    let length = u128::from(until.since(from).0);
    // What was gained up to an instant, rounded down: differences add up to the whole.
    let gained = |at: Ticks| {
        let passed = u128::from(at.clamp(from, until).since(from).0);
        u64::try_from(u128::from(gain) * passed / length).unwrap_or(gain)
    };
    for (bin, sum) in bins.iter_mut().enumerate().take(last + 1).skip(first) {
        add(sum, gained(grid.edge(bin + 1)) - gained(grid.edge(bin)));
    }
}

/// Extends the bins between two instants, both included, by a value.
fn hold(bins: &mut [Option<(u64, u64)>], grid: TimeGrid, range: (Ticks, Ticks), key: u64) {
    let Some((first, last)) = overlap(grid, range) else { return };
    for bin in bins.iter_mut().take(last + 1).skip(first) {
        extend(bin, (key, key));
    }
}

fn extend(bin: &mut Option<(u64, u64)>, (least, greatest): (u64, u64)) {
    let (low, high) = bin.get_or_insert((least, greatest));
    *low = least.min(*low);
    *high = greatest.max(*high);
}

/// The bins that a range touches, both included.
fn overlap(grid: TimeGrid, (from, until): (Ticks, Ticks)) -> Option<(usize, usize)> {
    let range = grid.range();
    if until < range.start || range.end < from {
        return None;
    }
    Some((grid.bin(from.max(range.start))?, grid.bin(until.min(range.end))?))
}

/// A number that is ordered like the value of these bits.
pub(super) fn ordered(bits: u64, value_type: MetricValueType) -> u64 {
    const SIGN: u64 = 1 << 63;
    match value_type {
        MetricValueType::U64 => bits,
        MetricValueType::I64 => bits ^ SIGN,
        MetricValueType::F64 if bits & SIGN == 0 => bits | SIGN,
        MetricValueType::F64 => !bits,
    }
}

/// The value of an ordered number.
#[expect(clippy::cast_precision_loss, reason = "values are for pictures and people")]
pub(super) fn value(key: u64, value_type: MetricValueType) -> f64 {
    const SIGN: u64 = 1 << 63;
    match value_type {
        MetricValueType::U64 => key as f64,
        MetricValueType::I64 => (key ^ SIGN).cast_signed() as f64,
        MetricValueType::F64 if key & SIGN == 0 => f64::from_bits(!key),
        MetricValueType::F64 => f64::from_bits(key & !SIGN),
    }
}

impl MetricBins {
    /// Adds another location's, or other locations'.
    fn add(&mut self, other: MetricBins) {
        self.n_locations += other.n_locations;
        self.n_backward += other.n_backward;
        match (&mut self.bins, other.bins) {
            (Bins::Gains(sums), Bins::Gains(others)) => {
                sums.iter_mut().zip(others).for_each(|(sum, gain)| *sum = sum.saturating_add(gain));
            }
            (Bins::Values(bins), Bins::Values(others)) => {
                for (bin, other) in bins.iter_mut().zip(others) {
                    if let Some(other) = other {
                        extend(bin, other);
                    }
                }
            }
            // The definitions say which of both a metric has.
            _ => {}
        }
    }
}

impl CountersPartial {
    pub(super) fn add(&mut self, metric: MetricId, bins: MetricBins) {
        match self.metrics.get_mut(&metric) {
            Some(sum) => sum.add(bins),
            None => {
                self.metrics.insert(metric, bins);
            }
        }
    }
}
