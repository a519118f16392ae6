//! Sets of instants as sorted intervals that neither overlap nor touch.

use serde::{Deserialize, Serialize};

/// A set of ticks: half-open intervals, ascending, with a gap between any two.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervals(Vec<(u64, u64)>);

impl Intervals {
    /// The intervals.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Number of intervals.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of instants.
    pub fn n_ticks(&self) -> u64 {
        self.0.iter().map(|&(start, end)| end - start).sum()
    }

    /// Adds `[start, end)`, which must not end before any interval so far; those it reaches are absorbed. Each interval
    /// is absorbed once, so the cost of all additions grows with their number only.
    #[inline]
    pub fn push(&mut self, mut start: u64, end: u64) {
        if end <= start {
            return;
        }
        while let Some(&(last_start, last_end)) = self.0.last() {
            debug_assert!(last_end <= end, "intervals come in the order of their ends");
            if last_end < start {
                break;
            }
            start = start.min(last_start);
            self.0.pop();
        }
        self.0.push((start, end));
    }

    /// The ticks of both sets.
    #[must_use]
    pub fn union(&self, other: &Intervals) -> Intervals {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut union = Intervals(Vec::with_capacity(self.len().max(other.len())));
        loop {
            let next = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x.1 <= y.1 => a.next(),
                (_, Some(_)) => b.next(),
                (Some(_), None) => a.next(),
                (None, None) => return union,
            };
            if let Some(&(start, end)) = next {
                union.push(start, end);
            }
        }
    }

    /// Adds the ticks of another set, without a copy if either has none.
    pub fn unite(&mut self, other: Intervals) {
        if self.is_empty() {
            *self = other;
        } else if !other.is_empty() {
            *self = self.union(&other);
        }
    }

    /// Takes out the ticks before `at`.
    #[must_use]
    pub(crate) fn take_before(&mut self, at: u64) -> Intervals {
        let n = self.0.partition_point(|&(_, end)| end <= at);
        let mut before: Vec<(u64, u64)> = self.0.drain(..n).collect();
        if let Some((start, _)) = self.0.first_mut()
            && *start < at
        {
            before.push((*start, at));
            *start = at;
        }
        Intervals(before)
    }
}

/// For each set of sets (bit `i`: in `sets[i]`) the number of ticks that are in these and no others of them.
/// The first element, ticks in none, stays zero.
pub(super) fn measure_by_membership<const N: usize, const MASKS: usize>(
    sets: [&Intervals; N],
) -> [u64; MASKS] {
    assert_eq!(MASKS, 1 << N, "one element for each set of sets");
    let mut ticks = [0; MASKS];
    let mut next = [0; N];
    let mut mask = 0;
    let mut at = 0;
    loop {
        // The next border of each set: the start of its next interval, or the end of the one it is in.
        let border = |i: usize| {
            let &(start, end) = sets[i].0.get(next[i])?;
            Some(if mask & (1 << i) == 0 { start } else { end })
        };
        let Some(then) = (0..N).filter_map(border).min() else { return ticks };
        if mask != 0 {
            ticks[mask] += then - at;
        }
        at = then;
        for i in 0..N {
            if border_is(sets[i], next[i], mask & (1 << i) != 0, at) {
                next[i] += usize::from(mask & (1 << i) != 0);
                mask ^= 1 << i;
            }
        }
    }
}

fn border_is(set: &Intervals, next: usize, inside: bool, at: u64) -> bool {
    set.0.get(next).is_some_and(|&(start, end)| if inside { end == at } else { start == at })
}
