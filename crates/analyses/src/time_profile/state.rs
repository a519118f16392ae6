//! Inclusive time by call path and bin: of a location while it is folded, and of the locations folded so far.

use crate::time_grid::{BinCursor, TimeGrid};
use ouzel_model::{CallPathId, Ticks, Visit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// While a location is folded.
#[derive(Debug)]
pub struct TimeProfileLocal {
    /// The bin in which the last visit ended.
    cursor: BinCursor,
    grid: TimeGrid,
    /// Ticks in that bin by call path.
    current: Vec<u64>,
    /// Ticks in other bins. At each edge no more than the open calls, and for each bin no more than the call paths.
    entries: Vec<(CallPathId, usize, u64)>,
}

impl TimeProfileLocal {
    pub(super) fn new(grid: TimeGrid) -> Self {
        TimeProfileLocal { cursor: grid.cursor(), grid, current: Vec::new(), entries: Vec::new() }
    }

    /// Adds visits in the order of their leaves: the hot loop.
    #[inline(never)]
    pub(super) fn add_visits(&mut self, visits: &[Visit]) {
        let (mut start, mut end) = (self.cursor.start, self.cursor.end);
        for visit in visits {
            let i = visit.call_path.index();
            if self.current.len() <= i {
                self.grow(i);
            }
            if start <= visit.enter && visit.leave <= end {
                self.current[i] += visit.leave.since(visit.enter).0;
            } else {
                self.add_over_edges(visit);
                (start, end) = (self.cursor.start, self.cursor.end);
            }
        }
    }

    /// A visit that begins before the bin or ends after it.
    #[inline(never)]
    fn add_over_edges(&mut self, visit: &Visit) {
        let before = self.cursor.bin;
        let mut next = self.cursor;
        next.advance_to_end(visit.leave);
        if next.bin != before {
            self.flush();
            self.cursor = next;
        }
        let range = self.grid.range();
        let (enter, leave) = (visit.enter.max(range.start), visit.leave.min(range.end));
        if leave <= enter {
            return;
        }
        let BinCursor { bin: last, start, .. } = self.cursor;
        self.current[visit.call_path.index()] += leave.since(enter.max(start)).0;
        let first = self.grid.bin(enter).unwrap_or(last);
        for bin in first..last {
            let ticks = self.grid.edge(bin + 1).since(enter.max(self.grid.edge(bin))).0;
            if 0 < ticks {
                self.entries.push((visit.call_path, bin, ticks));
            }
        }
    }

    /// Makes entries of the ticks in the current bin.
    fn flush(&mut self) {
        let bin = self.cursor.bin;
        let used = self.current.iter_mut().enumerate().filter(|(_, ticks)| **ticks != 0);
        let entries = used.map(|(i, ticks)| (CallPathId::from_index(i), bin, std::mem::take(ticks)));
        self.entries.extend(entries);
    }

    /// Makes room for call path `i`.
    #[cold]
    fn grow(&mut self, i: usize) {
        self.current.resize((i + 1).next_power_of_two(), 0);
    }

    /// Everything, sorted by call path.
    pub(super) fn finish(mut self) -> Vec<(CallPathId, usize, u64)> {
        self.flush();
        self.entries.sort_unstable();
        self.entries
    }
}

/// For each call path its inclusive ticks in each bin; call paths without time have no row.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeProfilePartial {
    pub(super) inclusive: BTreeMap<CallPathId, Vec<u64>>,
}

impl TimeProfilePartial {
    /// Adds entries that are sorted by call path. Sums stop at the greatest number, which only corrupt time stamps
    /// reach.
    pub(super) fn add(&mut self, entries: &[(CallPathId, usize, u64)], n_bins: usize) {
        for of_path in entries.chunk_by(|a, b| a.0 == b.0) {
            let row = self.inclusive.entry(of_path[0].0).or_insert_with(|| vec![0; n_bins]);
            for &(_, bin, ticks) in of_path {
                row[bin] = row[bin].saturating_add(ticks);
            }
        }
    }
}

/// Adds bin by bin.
pub(super) fn add_row(into: &mut Vec<u64>, from: Vec<u64>) {
    if into.is_empty() {
        *into = from;
        return;
    }
    for (sum, ticks) in into.iter_mut().zip(from) {
        *sum = sum.saturating_add(ticks);
    }
}

/// Ticks of each bin.
pub(super) fn ticks(row: &[u64]) -> Vec<Ticks> {
    row.iter().map(|&ticks| Ticks(ticks)).collect()
}
