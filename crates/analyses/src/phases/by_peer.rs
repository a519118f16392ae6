//! Busy and useful time of each peer, entry by entry, as fine as a budget allows.
//!
//! Cells have the sum and the extremes of a phase, which do not say whether the same peers are slow in the next one. Here,
//! each location has a row of *buckets* of 2^s entries, with s so large that all rows of the peer group fit into the
//! budget.
//!
//! Law: a bucket has exactly the times of its entries. Entries that not all peers have in common are left out, so that
//! merging is associative and commutative.

use super::buckets::{Buckets, Times};
use ouzel_model::{LocationId, Ticks};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Buckets of all peers together; each takes about 8 bytes.
const MAX_BUCKETS: usize = 1 << 22;
/// Least and most buckets of one peer: epochs of 10⁵ peers are looked for among 25 of them, see [`epochs`](super::epochs).
const OF_ONE: (usize, usize) = (32, 1024);

/// When a location is in the parallel program, and what it does outside of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProgramTimes {
    /// When it left the call that starts the program, and its useful time until then.
    pub start: Option<(Ticks, Ticks)>,
    /// When it entered the call that ends the program, and its useful time until then.
    pub end: Option<(Ticks, Ticks)>,
    /// Its useful time in the whole run.
    pub useful: Ticks,
}

impl ProgramTimes {
    /// Useful time inside of the program.
    pub fn useful_inside(&self) -> Ticks {
        self.end
            .map_or(self.useful, |(_, until)| until)
            .since(self.start.map_or(Ticks(0), |(_, until)| until))
    }
}

/// The row of one location.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct PeerRow {
    pub location: LocationId,
    /// s: buckets are 2^s entries long.
    log_entries: u8,
    buckets: Buckets,
    pub program: ProgramTimes,
}

impl PeerRow {
    /// The row of a location with `n_entries` entries in a group of `n_peers`; `times` are the busy and the useful time of
    /// entries.
    pub fn new(
        location: LocationId,
        n_entries: usize,
        n_peers: usize,
        times: impl Iterator<Item = (u32, Ticks, Ticks)>,
    ) -> Self {
        let most = (MAX_BUCKETS / n_peers.max(1)).clamp(OF_ONE.0, OF_ONE.1);
        let log_entries = n_entries.div_ceil(most).next_power_of_two().ilog2() as u8;
        let mut buckets = vec![(0, 0); n_entries.div_ceil(1 << log_entries)];
        for (entry, busy, useful) in times {
            let bucket = &mut buckets[entry as usize >> log_entries];
            bucket.0 += busy.0;
            bucket.1 += useful.0;
        }
        let buckets = Buckets::new(buckets);
        PeerRow { location, log_entries, buckets, program: ProgramTimes::default() }
    }

    /// The same with the times of the parallel program.
    pub fn with(self, program: ProgramTimes) -> Self {
        PeerRow { program, ..self }
    }

    /// Whether each entry has a bucket of its own.
    pub fn is_by_entry(&self) -> bool {
        self.log_entries == 0
    }

    /// The same with one bucket for each of these ranges of buckets.
    pub fn joined(&self, ranges: &[(usize, usize)]) -> PeerRow {
        let times: Vec<Times> = self.buckets.iter().collect();
        let part = |&(from, to): &(usize, usize)| sum(&times[from.min(times.len())..to.min(times.len())]);
        PeerRow { log_entries: 0, buckets: Buckets::new(ranges.iter().map(part)), ..*self }
    }

    /// Keeps the buckets that end before entry `border`.
    pub fn cut(&mut self, border: usize) {
        let n = border >> self.log_entries;
        if n < self.buckets.len() {
            self.buckets = Buckets::new(self.buckets.iter().take(n));
        }
    }

    /// The same for entries of twice the length.
    pub fn for_longer_entries(&self) -> PeerRow {
        match self.log_entries {
            0 => PeerRow { log_entries: 0, ..self.with_buckets_of(1) },
            log => PeerRow { log_entries: log - 1, ..self.clone() },
        }
    }

    /// Number of buckets of 2^`log_entries` entries, no shorter than they are.
    fn n_buckets_of(&self, log_entries: u8) -> usize {
        self.buckets.len().div_ceil(1 << (log_entries - self.log_entries))
    }

    /// The same with such buckets.
    fn with_buckets_of(&self, log_entries: u8) -> PeerRow {
        let times: Vec<Times> = self.buckets.iter().collect();
        let buckets = Buckets::new(times.chunks(1 << (log_entries - self.log_entries)).map(sum));
        PeerRow { log_entries, buckets, ..*self }
    }
}

fn sum(times: &[Times]) -> Times {
    times.iter().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
}

/// Busy and useful time of each peer in each bucket of phases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ByPeer {
    /// The first phase of each bucket, then the phase after the last; empty if there are no buckets. Phases that not all
    /// members have in common are in none.
    pub borders: Vec<u32>,
    /// By member in the order of the group.
    times: Vec<Buckets>,
}

impl ByPeer {
    /// From the rows of `locations`, in any order. The first phase of the group is entry `first`, the last entry `last`.
    pub(super) fn new(
        mut rows: Vec<PeerRow>,
        locations: &[LocationId],
        (first, last): (usize, usize),
    ) -> Self {
        let Some(log) = rows.iter().map(|row| row.log_entries).max() else { return ByPeer::default() };
        let n_buckets = rows.iter().map(|row| row.n_buckets_of(log)).min().unwrap_or_default();
        let kept = (first >> log).min(n_buckets)..((last >> log) + 1).min(n_buckets);
        if kept.is_empty() {
            return ByPeer::default();
        }
        let places: FxHashMap<LocationId, usize> = locations.iter().copied().zip(0..).collect();
        rows.sort_unstable_by_key(|row| places.get(&row.location).copied());
        // Of 10⁵ peers the rows are most of the memory: they are not copied.
        let times_of = |row: PeerRow| {
            let buckets = if row.log_entries == log { row.buckets } else { row.with_buckets_of(log).buckets };
            let is_whole = kept == (0..buckets.len());
            if is_whole { buckets } else { Buckets::new(buckets.iter().take(kept.end).skip(kept.start)) }
        };
        let border = |bucket: usize| (bucket << log).clamp(first, last + 1) - first;
        ByPeer {
            borders: (kept.start..=kept.end).map(|bucket| border(bucket) as u32).collect(),
            times: rows.into_iter().map(times_of).collect(),
        }
    }

    /// Number of buckets.
    pub fn n_buckets(&self) -> usize {
        self.borders.len().saturating_sub(1)
    }

    /// Of each member, its busy times in consecutive buckets, in ticks.
    pub(super) fn busy(
        &self,
        buckets: Range<usize>,
    ) -> impl Iterator<Item = impl Iterator<Item = u64> + '_> + '_ {
        let Range { start, end } = buckets;
        self.times.iter().map(move |times| times.iter().take(end).skip(start).map(|(busy, _)| busy))
    }

    /// Busy times of the members in consecutive buckets, in ticks.
    pub fn busy_of(&self, buckets: Range<usize>) -> Vec<u64> {
        self.sums(buckets, |(busy, _)| busy)
    }

    /// Useful times of the members in consecutive buckets, in ticks.
    pub fn useful_of(&self, buckets: Range<usize>) -> Vec<u64> {
        self.sums(buckets, |(_, useful)| useful)
    }

    fn sums(&self, Range { start, end }: Range<usize>, of: impl Fn(Times) -> u64) -> Vec<u64> {
        self.times.iter().map(|times| times.iter().take(end).skip(start).map(&of).sum()).collect()
    }
}
