//! Time: integer ticks inside, nanoseconds at the border.
//!
//! Law: sums and differences are taken in ticks and converted once, rounding
//! half up; hence results do not depend on the order of summation.

use serde::{Deserialize, Serialize};

/// Timer ticks since the trace start. Sums of ticks are exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Ticks(pub u64);

impl Ticks {
    /// The time from `earlier` to `self`, zero if it lies after.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Ticks) -> Ticks {
        Ticks(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add for Ticks {
    type Output = Ticks;
    #[inline]
    fn add(self, other: Ticks) -> Ticks {
        Ticks(self.0 + other.0)
    }
}

impl std::ops::AddAssign for Ticks {
    #[inline]
    fn add_assign(&mut self, other: Ticks) {
        self.0 += other.0;
    }
}

impl std::iter::Sum for Ticks {
    fn sum<I: Iterator<Item = Ticks>>(iter: I) -> Ticks {
        Ticks(iter.map(|t| t.0).sum())
    }
}

/// The half-open range `[start, end)` of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeRange {
    /// The first tick inside.
    pub start: Ticks,
    /// The first tick after.
    pub end: Ticks,
}

impl TimeRange {
    /// The shortest range that has both.
    #[must_use]
    pub fn and(self, other: TimeRange) -> TimeRange {
        TimeRange { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether `at` is inside.
    pub fn contains(self, at: Ticks) -> bool {
        self.start <= at && at < self.end
    }

    /// The part that lies in `window`; empty at its nearer border if there is none.
    #[must_use]
    pub fn clipped_to(self, window: TimeRange) -> TimeRange {
        let start = self.start.max(window.start).min(window.end);
        TimeRange { start, end: self.end.min(window.end).max(start) }
    }
}

/// What a tick is, and where time zero lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Resolution of the timer. Never zero.
    pub ticks_per_second: u64,
    /// The timer's own value at the trace start, in ticks. Event times have it subtracted.
    pub offset_ticks: u64,
    /// Nanoseconds from 1970-01-01 UTC to the trace start, if recorded.
    pub realtime_ns: Option<u64>,
    /// Length of the trace in ticks, as its definitions declare it.
    pub declared_length: Option<Ticks>,
}

impl Clock {
    /// `ticks` in nanoseconds, rounded half up.
    #[inline]
    pub fn ns_from_ticks(&self, ticks: Ticks) -> u64 {
        if self.ticks_per_second == 1_000_000_000 {
            return ticks.0;
        }
        let per_second = u128::from(self.ticks_per_second);
        let ns = (u128::from(ticks.0) * 1_000_000_000 + per_second / 2) / per_second;
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// Parts of a time in nanoseconds, which add up to the nanoseconds of their sum. Each differs from its own
    /// nanoseconds by 1 at most.
    pub fn ns_of_parts<const N: usize>(&self, parts: [Ticks; N]) -> [u64; N] {
        let (mut sum, mut before) = (Ticks(0), 0);
        parts.map(|part| {
            sum += part;
            let ns = self.ns_from_ticks(sum);
            ns - std::mem::replace(&mut before, ns)
        })
    }

    /// The first tick that is not before `ns` nanoseconds.
    pub fn ticks_from_ns(&self, ns: u64) -> Ticks {
        let ticks = (u128::from(ns) * u128::from(self.ticks_per_second)).div_ceil(1_000_000_000);
        Ticks(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    /// `ticks` in seconds, for people. Never summed.
    pub fn secs_from_ticks(&self, ticks: Ticks) -> f64 {
        ticks.0 as f64 / self.ticks_per_second as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_of_parts_add_up() {
        let parts = clock(3_000_000_000).ns_of_parts([Ticks(1), Ticks(1), Ticks(1), Ticks(5)]);
        assert_eq!(parts, [0, 1, 0, 2]);
        assert_eq!(parts.iter().sum::<u64>(), clock(3_000_000_000).ns_from_ticks(Ticks(8)));
    }

    fn clock(ticks_per_second: u64) -> Clock {
        Clock { ticks_per_second, offset_ticks: 0, realtime_ns: None, declared_length: None }
    }

    #[test]
    fn nanoseconds_round_half_up_and_do_not_overflow() {
        assert_eq!(clock(1_000_000_000).ns_from_ticks(Ticks(u64::MAX)), u64::MAX);
        assert_eq!(clock(2_000_000_000).ns_from_ticks(Ticks(3)), 2);
        assert_eq!(clock(3_699_958_577).ns_from_ticks(Ticks(3_699_958_577)), 1_000_000_000);
        assert_eq!(clock(1).ns_from_ticks(Ticks(u64::MAX)), u64::MAX);
    }

    #[test]
    fn ticks_of_nanoseconds_are_not_before_them() {
        let clock = clock(3);
        assert_eq!(clock.ticks_from_ns(1), Ticks(1));
        assert_eq!(clock.ticks_from_ns(1_000_000_000), Ticks(3));
        assert_eq!(clock.ticks_from_ns(0), Ticks(0));
    }

    #[test]
    fn the_border_rounds_and_comes_back() {
        for ticks_per_second in [1, 3, 1_000, 999_999_937, 1_000_000_000, 3_699_958_577] {
            let clock = clock(ticks_per_second);
            for ns in [0, 1, 7, 999_999_999, 1_000_000_000, 86_400_000_000_000] {
                let ticks = clock.ticks_from_ns(ns);
                let exact = |ticks: u64| u128::from(ticks) * 1_000_000_000;
                let wanted = u128::from(ns) * u128::from(ticks_per_second);
                assert!(wanted <= exact(ticks.0), "{ns} ns at {ticks_per_second}/s: not before");
                assert!(
                    ticks.0 == 0 || exact(ticks.0 - 1) < wanted,
                    "{ns} ns at {ticks_per_second}/s: the first"
                );
            }
            // Within a tick and the rounding of half a nanosecond.
            let back = clock.ns_from_ticks(clock.ticks_from_ns(123_456_789_012));
            assert!(back.abs_diff(123_456_789_012) <= 1_000_000_000 / ticks_per_second + 1);
        }
        assert_eq!(clock(u64::MAX).ticks_from_ns(u64::MAX), Ticks(u64::MAX), "saturates");
    }

    #[test]
    fn time_since_does_not_go_below_zero() {
        assert_eq!(Ticks(5).since(Ticks(3)), Ticks(2));
        assert_eq!(Ticks(3).since(Ticks(5)), Ticks(0));
        assert_eq!([Ticks(1), Ticks(2)].into_iter().sum::<Ticks>() + Ticks(4), Ticks(7));
    }
}
