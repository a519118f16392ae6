//! How often a location was sampled: the median of the intervals between its samples. Single samples that are lost, or
//! come early, do not change it.
//!
//! Law: memory does not grow with the number of samples; the result is less than one in 512 too small.

use ouzel_model::Ticks;
use std::collections::BTreeMap;

/// Significant bits of an interval that are kept.
const BITS: u32 = 10;

/// The intervals between the samples of a location.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SampleIntervals {
    /// Number of intervals by length, rounded down to [`BITS`] significant bits.
    counts: BTreeMap<u64, u64>,
}

impl SampleIntervals {
    /// Adds one.
    pub fn add(&mut self, interval: Ticks) {
        let drop = (u64::BITS - interval.0.leading_zeros()).saturating_sub(BITS);
        *self.counts.entry(interval.0 >> drop << drop).or_default() += 1;
    }

    /// Number of intervals.
    pub fn n(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The median interval; `None` without intervals.
    pub fn median(&self) -> Option<Ticks> {
        let (n, mut seen) = (self.n(), 0);
        let median = self.counts.iter().find(|(_, count)| {
            seen += *count;
            n <= 2 * seen
        });
        median.map(|(&interval, _)| Ticks(interval))
    }
}
