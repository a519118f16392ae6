//! Clocks that run wrong, and the offsets that put them right to the tick.
//!
//! At knots, ten milliseconds apart, the local clock and the true time are
//! related exactly; between two knots readers add an offset that falls linearly
//! and is rounded. It only falls: a local clock that runs fast has, for every
//! true tick, a local tick that is corrected to it. (One that runs slow skips
//! true ticks.) Law: [`SkewedClock::local`] corrected with the knots is the true time.

use super::Skew;
use crate::Rng;

/// Relates true time to the time that a location records.
#[derive(Debug)]
pub(super) struct SkewedClock {
    skew: Skew,
    rng: Rng,
    /// True ticks between two knots.
    knot_ticks: u64,
    knots: Vec<Knot>,
    /// The interval in use begins at this knot and ends at the next.
    at: usize,
    slope: f64,
    /// Ticks taken off at the last local time of the interval; times do not decrease, nor does it.
    drift: u64,
    /// True time at the end of the interval in use.
    end_true: u64,
}

/// A pair of equal times, as a `ClockOffset` record tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Knot {
    pub(super) local: u64,
    /// Ticks to add to the local time.
    pub(super) offset: i64,
}

impl Knot {
    fn true_time(self) -> u64 {
        self.local.wrapping_add_signed(self.offset)
    }
}

/// Ticks that a reader takes off so many ticks behind a knot; `slope` is not positive.
///
/// Numbers of this size have no binary places left, so adding one rounds to even as `rint`
/// does. The function itself is a call without newer instructions, for each event.
#[inline]
fn drift(slope: f64, since_knot: u64) -> u64 {
    const NO_PLACES: f64 = 6_755_399_441_055_744.0;
    ((-slope * since_knot as f64 + NO_PLACES) - NO_PLACES) as u64
}

/// The largest drift, in parts of a million.
const DRIFT_MAX_PPM: u64 = 40;

impl SkewedClock {
    pub(super) fn new(skew: Skew, seed: u64, ticks_per_second: u64, start: u64) -> Self {
        let mut rng = Rng::new(seed);
        // Up to ten milliseconds early or late.
        let most = (ticks_per_second / 100).max(1);
        let offset = match skew {
            Skew::None => 0,
            Skew::Constant | Skew::Drifting => rng.below(2 * most).cast_signed() - most.cast_signed(),
        };
        let first = Knot { local: start.wrapping_add_signed(-offset), offset };
        let knot_ticks = (ticks_per_second / 100).max(1);
        let mut clock = SkewedClock {
            skew,
            rng,
            knot_ticks,
            knots: vec![first],
            at: 0,
            slope: 0.0,
            drift: 0,
            end_true: start,
        };
        clock.add_knot();
        clock.use_interval(0);
        clock
    }

    fn add_knot(&mut self) {
        let last = self.knots[self.knots.len() - 1];
        let gain = match self.skew {
            Skew::None | Skew::Constant => 0,
            Skew::Drifting => self.rng.below(self.knot_ticks * DRIFT_MAX_PPM / 1_000_000 + 2),
        };
        self.knots.push(Knot {
            local: last.local + self.knot_ticks + gain,
            offset: last.offset - gain.cast_signed(),
        });
    }

    fn use_interval(&mut self, at: usize) {
        let (start, end) = (self.knots[at], self.knots[at + 1]);
        self.at = at;
        self.drift = 0;
        self.slope = (end.offset - start.offset) as f64 / (end.local - start.local) as f64;
        self.end_true = end.true_time();
    }

    /// The first local time that is corrected to `true_time`; times must not decrease.
    pub(super) fn local(&mut self, true_time: u64) -> u64 {
        if self.skew == Skew::None {
            return true_time;
        }
        while self.end_true < true_time {
            if self.knots.len() < self.at + 3 {
                self.add_knot();
            }
            self.use_interval(self.at + 1);
        }
        let knot = self.knots[self.at];
        let since = true_time - knot.true_time();
        // Local times lie ahead by the drift, which grows by one tick now and then.
        while drift(self.slope, since + self.drift) > self.drift {
            self.drift += 1;
        }
        debug_assert_eq!(drift(self.slope, since + self.drift), self.drift);
        knot.local + since + self.drift
    }

    /// The knots used so far; none for a clock that is right.
    pub(super) fn knots(&self) -> &[Knot] {
        if self.skew == Skew::None { &[] } else { &self.knots }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the format tells readers to do it, from the records alone.
    fn by_the_book(knots: &[Knot], local: u64) -> u64 {
        let last = knots.len() - 2;
        let at = (0..last).find(|&at| local <= knots[at + 1].local).unwrap_or(last);
        let (a, b) = (knots[at], knots[at + 1]);
        let slope = (b.offset - a.offset) as f64 / (b.local - a.local) as f64;
        let drift = (slope * (local as f64 - a.local as f64)).round_ties_even() as i64;
        local.wrapping_add_signed(a.offset).wrapping_add_signed(drift)
    }

    #[test]
    fn offsets_undo_the_skew_to_the_tick() {
        for (skew, hz) in
            [(Skew::Drifting, 1_000_000_000), (Skew::Drifting, 3_699_958_577), (Skew::Constant, 1_000)]
        {
            for seed in 0..20 {
                let start = 86_400 * hz;
                let mut clock = SkewedClock::new(skew, seed, hz, start);
                let mut rng = Rng::new(seed + 100);
                let mut true_time = start;
                let mut pairs = Vec::new();
                for _ in 0..5_000 {
                    pairs.push((true_time, clock.local(true_time)));
                    true_time += rng.below(hz / 1_000 + 2);
                }
                for pair in pairs.windows(2) {
                    assert!(pair[0].1 <= pair[1].1, "local times do not decrease");
                    assert_eq!(pair[0].0 == pair[1].0, pair[0].1 == pair[1].1);
                }
                for (true_time, local) in pairs {
                    assert_eq!(by_the_book(clock.knots(), local), true_time);
                }
            }
        }
    }

    #[test]
    fn every_tick_around_a_knot_is_reached() {
        let mut clock = SkewedClock::new(Skew::Drifting, 3, 1_000_000, 1_000_000_000);
        for true_time in 1_000_009_900..1_000_010_100 {
            let local = clock.local(true_time);
            assert_eq!(by_the_book(clock.knots(), local), true_time);
        }
    }
}
