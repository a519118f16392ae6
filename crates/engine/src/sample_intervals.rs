//! How often a location was sampled: the median of the intervals between its samples. Single samples that are lost, or
//! come early, do not change it.
//!
//! Law: memory does not grow with the number of samples; the result is exact below 1024 ticks, above less than one in 512
//! too small.

use ouzel_model::Ticks;
use rustc_hash::FxHashMap;

/// Significant bits of an interval that are kept.
const BITS: u32 = 10;

/// The intervals between the samples of a location.
#[derive(Debug, Clone, Default)]
pub struct SampleIntervals {
    /// Number of intervals by length, rounded down to [`BITS`] significant bits, without the latest.
    counts: FxHashMap<u64, u64>,
    /// The length that came last, and how often in a row.
    latest: (u64, u64),
    /// The last interval, which most are equal to, as it was.
    last: Ticks,
}

impl SampleIntervals {
    /// Adds one.
    #[inline]
    pub fn add(&mut self, interval: Ticks) {
        if interval == self.last && 0 < self.latest.1 {
            self.latest.1 += 1;
        } else {
            self.add_other(interval);
        }
    }

    fn add_other(&mut self, interval: Ticks) {
        self.last = interval;
        let drop = (u64::BITS - interval.0.leading_zeros()).saturating_sub(BITS);
        let length = interval.0 >> drop << drop;
        if length == self.latest.0 {
            self.latest.1 += 1;
            return;
        }
        let (before, n) = std::mem::replace(&mut self.latest, (length, 1));
        if 0 < n {
            *self.counts.entry(before).or_default() += n;
        }
    }

    /// Number of intervals.
    pub fn n(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.latest.1
    }

    /// The median interval: the least that is not exceeded by half of all; `None` without intervals.
    pub fn median(&self) -> Option<Ticks> {
        let (n, mut seen) = (self.n(), 0);
        let counts = self.counts.iter().map(|(&length, &count)| (length, count));
        let mut counts: Vec<(u64, u64)> = counts.chain([self.latest]).collect();
        counts.sort_unstable();
        let median = counts.into_iter().find(|(_, count)| {
            seen += count;
            n <= 2 * seen
        });
        median.filter(|_| 0 < n).map(|(interval, _)| Ticks(interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let median = |intervals: &[u64]| {
            let mut counted = SampleIntervals::default();
            intervals.iter().for_each(|&interval| counted.add(Ticks(interval)));
            assert_eq!(counted.n(), intervals.len() as u64);
            counted.median().map(|median| median.0)
        };
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[0, 0]), Some(0));
        assert_eq!(median(&[10, 10, 900, 3, 10]), Some(10));
        assert_eq!(median(&[5, 7, 5, 7, 7]), Some(7));
        assert_eq!(median(&[1, 2]), Some(1));
        assert_eq!(median(&[u64::MAX]), Some(u64::MAX << 54));
        let found = median(&[1_000_003, 1_000_003, 7]).unwrap_or_default();
        assert!(found <= 1_000_003 && 1_000_003 - found < 1_000_003 / 512, "{found}");
    }
}
