//! The median of intervals, in bounded memory.
//!
//! Law: exact below 1024 ticks; above, too small by less than one in 512.

use ouzel_model::Ticks;
use std::collections::BTreeMap;

/// Significant bits of an interval that are kept.
const BITS: u32 = 10;

/// Intervals between samples, counted.
#[derive(Debug, Clone, Default)]
pub(super) struct Intervals {
    counts: BTreeMap<u64, u64>,
    n: u64,
}

impl Intervals {
    /// Counts one interval.
    pub fn add(&mut self, interval: Ticks) {
        let drop = (u64::BITS - interval.0.leading_zeros()).saturating_sub(BITS);
        *self.counts.entry(interval.0 >> drop << drop).or_default() += 1;
        self.n += 1;
    }

    /// The least interval that is not exceeded by half of all; 0 of none.
    pub fn median(&self) -> Ticks {
        let mut seen = 0;
        for (&interval, count) in &self.counts {
            seen += count;
            if self.n <= 2 * seen {
                return Ticks(interval);
            }
        }
        Ticks(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let median = |intervals: &[u64]| {
            let mut counted = Intervals::default();
            intervals.iter().for_each(|&interval| counted.add(Ticks(interval)));
            counted.median().0
        };
        assert_eq!(median(&[]), 0);
        assert_eq!(median(&[10, 10, 900, 3, 10]), 10);
        assert_eq!(median(&[1, 2]), 1);
        assert_eq!(median(&[u64::MAX]), u64::MAX << 54);
        let found = median(&[1_000_003, 1_000_003, 7]);
        assert!(found <= 1_000_003 && 1_000_003 - found < 1_000_003 / 512, "{found}");
    }
}
