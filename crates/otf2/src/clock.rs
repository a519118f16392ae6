//! From the clock of one location to the clock of the trace.
//!
//! Offsets measured at two times make an interval, in which the offset grows
//! linearly; past the last interval, and before the first, its line goes on.
//! Law: the same arithmetic, in the same order, as the reference library, and
//! [`ClockOffsets::correct`] equals [`ClockOffsets::global`] bit for bit.

use crate::records::local::ClockOffset;

/// The clock corrections of one location.
///
/// ```
/// use ouzel_otf2::ClockOffsets;
/// let offsets = ClockOffsets::new([(100, 10), (200, 30)]);
/// assert_eq!(offsets.global(150), 150 + 20);
/// assert_eq!(offsets.global(300), 300 + 50);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClockOffsets {
    intervals: Vec<Interval>,
    n_unusable: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Interval {
    start: u64,
    end: u64,
    offset: i64,
    slope: f64,
}

impl Interval {
    #[inline]
    fn global(&self, time: u64) -> u64 {
        let ahead = time.wrapping_sub(self.start).cast_signed();
        let ahead = if (time < self.start) == (ahead < 0) { ahead as f64 } else { self.far_ahead(time) };
        let drift = (self.slope * ahead).round_ties_even();
        #[expect(clippy::cast_possible_truncation, reason = "whole, and what is too large saturates")]
        let drift = drift as i64;
        time.wrapping_add_signed(self.offset).wrapping_add_signed(drift)
    }

    /// Corrects times that all lie in this interval.
    ///
    /// The loop holds no conversion and no rounding call, so that it is vectorised with the instructions every
    /// x86-64 has: near 1.5 * 2^52 the numbers are the integers, so adding that number to a small one rounds it to
    /// the nearest integer, ties to even, and the integer is in the low bits.
    fn correct(&self, times: &mut [u64], sorted: bool) {
        /// The bits of 1.5 * 2^52.
        const BIAS: u64 = 0x4338_0000_0000_0000;
        /// Numbers below it keep the sum with 1.5 * 2^52 within the binade.
        const SMALL: u64 = 1 << 51;
        let ends =
            if sorted { (times.first(), times.last()) } else { (times.iter().min(), times.iter().max()) };
        let (Some(&earliest), Some(&latest)) = ends else { return };
        let before = self.start.saturating_sub(earliest);
        let after = latest.saturating_sub(self.start);
        let reach = before.max(after);
        if reach >= SMALL || (reach as f64 * self.slope).abs() >= SMALL as f64 {
            for time in times {
                *time = self.global(*time);
            }
            return;
        }
        let bias = f64::from_bits(BIAS);
        let (to_ahead, to_global) =
            (BIAS.wrapping_sub(self.start), self.offset.cast_unsigned().wrapping_sub(BIAS));
        for time in times {
            let ahead = f64::from_bits(time.wrapping_add(to_ahead)) - bias;
            let drift = (self.slope * ahead + bias).to_bits();
            *time = time.wrapping_add(to_global).wrapping_add(drift);
        }
    }

    /// A difference that no signed number holds.
    #[cold]
    fn far_ahead(&self, time: u64) -> f64 {
        if time >= self.start { (time - self.start) as f64 } else { -((self.start - time) as f64) }
    }
}

impl ClockOffsets {
    /// From pairs of a local time and the ticks to add at it, in the order of the file.
    ///
    /// A pair not later than the one before makes no interval; see [`ClockOffsets::n_unusable`].
    pub fn new(pairs: impl IntoIterator<Item = (u64, i64)>) -> Self {
        let mut offsets = ClockOffsets::default();
        let mut last: Option<(u64, i64)> = None;
        for (time, offset) in pairs {
            match last {
                Some((start, _)) if time <= start => {
                    offsets.n_unusable += 1;
                    continue;
                }
                Some((start, before)) => {
                    let slope = offset.wrapping_sub(before) as f64 / (time - start) as f64;
                    offsets.intervals.push(Interval { start, end: time, offset: before, slope });
                }
                None => {}
            }
            last = Some((time, offset));
        }
        offsets
    }

    /// From the records of a local definition file.
    pub fn from_records<'a>(records: impl IntoIterator<Item = &'a ClockOffset>) -> Self {
        ClockOffsets::new(records.into_iter().map(|record| (record.time, record.offset)))
    }

    /// Whether no time changes: there were fewer than two offsets, or all were zero.
    pub fn is_identity(&self) -> bool {
        self.intervals.iter().all(|interval| interval.offset == 0 && interval.slope == 0.0)
    }

    /// Offsets that could not be used because their time was not later than that of the one before.
    pub fn n_unusable(&self) -> u64 {
        self.n_unusable
    }

    /// The trace's time of a local time, both in ticks.
    pub fn global(&self, time: u64) -> u64 {
        match self.intervals.get(self.interval_of(time)) {
            Some(interval) => interval.global(time),
            None => time,
        }
    }

    /// Index of the interval that corrects `time`: the first that ends at or after it, else the last.
    fn interval_of(&self, time: u64) -> usize {
        let behind = self.intervals.partition_point(|interval| interval.end < time);
        behind.min(self.intervals.len().saturating_sub(1))
    }

    /// Corrects many times in place; fast where neighbours lie in one interval, as sorted times do.
    pub fn correct(&self, times: &mut [u64]) {
        let Some(last) = self.intervals.len().checked_sub(1) else { return };
        let sorted = times.is_sorted();
        let mut rest = times;
        while let Some(&first) = rest.first() {
            let at = self.interval_of(first);
            let interval = self.intervals[at];
            // The first interval also takes what is before it, the last what is after it.
            let low = if at == 0 { 0 } else { self.intervals[at - 1].end + 1 };
            let high = if at == last { u64::MAX } else { interval.end };
            let inside = |time: u64| low <= time && time <= high;
            let run = match rest.last() {
                // Sorted times, as nearly all are, need no search when both ends lie inside.
                Some(&last) if sorted && inside(last) => rest.len(),
                _ => rest.iter().position(|&time| !inside(time)).unwrap_or(rest.len()),
            };
            let (now, later) = rest.split_at_mut(run);
            interval.correct(now, sorted);
            rest = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_offset_is_no_correction() {
        let offsets = ClockOffsets::new([(100, 10)]);
        assert!(offsets.is_identity());
        assert_eq!(offsets.global(500), 500);
    }

    #[test]
    fn lines_go_on_at_both_ends() {
        let offsets = ClockOffsets::new([(100, 10), (200, -10), (300, 90)]);
        let globals = [0, 50, 100, 150, 200, 201, 300, 400].map(|time| offsets.global(time));
        assert_eq!(globals, [30, 70, 110, 150, 190, 192, 390, 590]);
    }

    #[test]
    fn halves_round_to_even() {
        let offsets = ClockOffsets::new([(0, 0), (2, 1)]);
        assert_eq!([1, 3, 5].map(|time| offsets.global(time)), [1, 5, 7]);
    }

    #[test]
    fn equal_times_make_no_interval() {
        let offsets = ClockOffsets::new([(5, 1), (5, 2), (9, 1)]);
        assert_eq!((offsets.n_unusable(), offsets.global(7)), (1, 8));
    }

    #[test]
    fn many_equal_one() {
        let offsets =
            ClockOffsets::new([(1 << 40, 12_345), (1 << 41, -98_765), (1 << 42, 7), (1 << 43, 1 << 30)]);
        let sorted: Vec<u64> = (0..4000_u64).map(|step| step * ((1 << 44) / 4000) + step % 7).collect();
        let mut unsorted = sorted.clone();
        unsorted.swap(3, 3000);
        unsorted.reverse();
        for times in [sorted, unsorted] {
            let expected: Vec<u64> = times.iter().map(|&time| offsets.global(time)).collect();
            let mut corrected = times;
            offsets.correct(&mut corrected);
            assert_eq!(corrected, expected);
        }
    }

    #[test]
    fn many_equal_one_for_steep_and_far_lines() {
        let far = 1 << 62;
        for (slope, start) in [(1, 0), (-3, 1 << 20), (1 << 40, 5), (-(1 << 50), far), (i64::MAX, far)] {
            let offsets = ClockOffsets::new([(start, -17), (start + 1000, slope)]);
            let times: Vec<u64> =
                (0..64).flat_map(|bit| [1 << bit, start + (1 << bit), u64::MAX >> bit]).collect();
            let expected: Vec<u64> = times.iter().map(|&time| offsets.global(time)).collect();
            let mut corrected = times.clone();
            offsets.correct(&mut corrected);
            assert_eq!(corrected, expected, "unsorted, slope {slope} from {start}");
            let mut times = times;
            times.sort_unstable();
            let expected: Vec<u64> = times.iter().map(|&time| offsets.global(time)).collect();
            offsets.correct(&mut times);
            assert_eq!(times, expected, "sorted, slope {slope} from {start}");
        }
    }

    #[test]
    fn halves_round_to_even_in_a_run() {
        let offsets = ClockOffsets::new([(100, 0), (102, 1), (104, 0)]);
        let mut times: Vec<u64> = (100..=104).collect();
        offsets.correct(&mut times);
        assert_eq!(times, (100..=104).map(|time| offsets.global(time)).collect::<Vec<_>>());
        assert_eq!(times, [100, 101, 103, 104, 104]);
    }
}
