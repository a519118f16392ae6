//! Bins of equal width over a range of time, and how to know the range before the events are read.
//!
//! Bin `k` of `N` over `[start, end]` of `L` ticks is `[edge(k), edge(k + 1))` with
//! `edge(k) = start + ⌈k · L / N⌉`; the last bin has its end, too. Edges are whole ticks, so sums of
//! ticks over bins are exact integers, and an instant falls into the bin it would have
//! with the edges `start + k · L / N` taken as fractions.
//!
//! Source of the range: the run range is only known after the pass, and no state of fixed size
//! can be cut into N bins of any later range. Coarser grids that double, as pictures use them
//! (see [`timeline`](crate::timeline)), would put the edges a little off: the numbers would not be those of the bins
//! that are shown. So the grid is fixed before the pass:
//! 1. [`TimeGrid::guess`] takes the length that the definitions declare. The pass itself yields the run range
//!    (`Report::run_range`); if [`TimeGrid::is_exact_for`] it, the answer is final after one pass.
//! 2. Otherwise the answer of a second pass with `TimeGrid::new(run_range, n_bins)` is final. The run range of an
//!    earlier pass over the same selection (a profile, say) saves the first.
//!
//! This module does not count anything in the bins.

use ouzel_model::{ColumnData, Definitions, Table, Ticks, TimeRange, Unit};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU16;

/// Bins of equal width over a range of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeGrid {
    range: TimeRange,
    n_bins: NonZeroU16,
}

impl TimeGrid {
    /// `n_bins` bins over `range`, its end included. A range that ends before it begins is empty at its start.
    pub fn new(range: TimeRange, n_bins: NonZeroU16) -> Self {
        let TimeRange { start, end } = range;
        TimeGrid { range: TimeRange { start, end: end.max(start) }, n_bins }
    }

    /// Bins over the range that the trace declares, cut to the selected `window`. `None` if it declares none:
    /// then a pass is needed. A guess, as tracers get it wrong; see [`is_exact_for`](TimeGrid::is_exact_for).
    pub fn guess(definitions: &Definitions, window: Option<TimeRange>, n_bins: NonZeroU16) -> Option<Self> {
        let declared = definitions.clock.declared_length?;
        let mut range = TimeRange { start: Ticks(0), end: declared };
        if let Some(window) = window {
            range.start = window.start.min(declared);
            range.end = window.end.clamp(range.start, declared);
        }
        Some(TimeGrid::new(range, n_bins))
    }

    /// Whether these are the bins over the run, so that no second pass is needed.
    pub fn is_exact_for(&self, run_range: Option<TimeRange>) -> bool {
        run_range.is_none_or(|run| run == self.range)
    }

    /// Whether no part of `run` lies outside.
    pub fn covers(&self, run: TimeRange) -> bool {
        self.range.start <= run.start && run.end <= self.range.end
    }

    /// From the first edge to the last.
    pub fn range(&self) -> TimeRange {
        self.range
    }

    /// Number of bins.
    pub fn n_bins(&self) -> usize {
        usize::from(self.n_bins.get())
    }

    /// `start + ⌈k · L / N⌉`; the end of the range from `k = N` on.
    pub fn edge(&self, k: usize) -> Ticks {
        let TimeRange { start, end } = self.range;
        if self.n_bins() <= k {
            return end;
        }
        let length = u128::from(end.since(start).0);
        let offset = (length * k as u128).div_ceil(self.n_bins() as u128);
        Ticks(start.0 + u64::try_from(offset).expect("k is less than N"))
    }

    /// All edges, one more than bins.
    pub fn edges(&self) -> Vec<Ticks> {
        (0..=self.n_bins()).map(|k| self.edge(k)).collect()
    }

    /// The bin of an instant: `⌊(at − start) · N / L⌋`, the last one for the end; `None` outside of the range.
    pub fn bin(&self, at: Ticks) -> Option<usize> {
        let TimeRange { start, end } = self.range;
        if at < start || end < at {
            return None;
        }
        let length = u128::from(end.since(start).0);
        let scaled = u128::from(at.since(start).0) * self.n_bins() as u128;
        let last = self.n_bins() - 1;
        Some(scaled.checked_div(length).map_or(last, |bin| last.min(bin as usize)))
    }

    /// A cursor at the first bin.
    pub(crate) fn cursor(self) -> BinCursor {
        BinCursor { grid: self, bin: 0, start: self.edge(0), end: self.edge(1) }
    }

    /// The columns `bin`, `bin_start_ns` and `bin_end_ns` of a table about these bins, one row for each element.
    pub(crate) fn bin_columns(&self, name: &'static str, definitions: &Definitions, bins: &[usize]) -> Table {
        let ns = |k: usize| definitions.clock.ns_from_ticks(self.edge(k));
        let column = |value: &dyn Fn(usize) -> u64| ColumnData::U64(bins.iter().map(|&b| value(b)).collect());
        Table::new(name)
            .with("bin", Unit::None, "Number of the bin, from 0", column(&|bin| bin as u64))
            .with(
                "bin_start_ns",
                Unit::Nanoseconds,
                "First instant of the bin, since the trace start",
                column(&|bin| ns(bin)),
            )
            .with(
                "bin_end_ns",
                Unit::Nanoseconds,
                "First instant after the bin, since the trace start; the last bin includes it",
                column(&|bin| ns(bin + 1)),
            )
    }

    /// The edges in nanoseconds since the trace start.
    pub fn edges_ns(&self, definitions: &Definitions) -> Vec<u64> {
        self.edges().into_iter().map(|edge| definitions.clock.ns_from_ticks(edge)).collect()
    }
}

/// A bin that only moves forward: one comparison for each event instead of a division.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BinCursor {
    grid: TimeGrid,
    pub bin: usize,
    /// First edge of the bin.
    pub start: Ticks,
    /// Last edge of the bin.
    pub end: Ticks,
}

impl BinCursor {
    /// Moves to the bin in which an interval that ends at `leave` ends, as far as there are bins:
    /// the first with `leave <= end`.
    pub(crate) fn advance_to_end(&mut self, leave: Ticks) {
        let last = self.grid.n_bins() - 1;
        if leave <= self.end || self.bin == last {
            return;
        }
        // The first bin with `leave <= end` is the bin of the tick before.
        let before = Ticks(leave.0 - 1);
        self.set(self.grid.bin(before).unwrap_or(last));
    }

    /// Moves to the bin of an instant, as far as there are bins; `at` must not be before the bin.
    pub(crate) fn advance_to(&mut self, at: Ticks) {
        if self.end <= at {
            self.set(self.grid.bin(at).unwrap_or(self.grid.n_bins() - 1));
        }
    }

    fn set(&mut self, bin: usize) {
        self.bin = bin;
        self.start = self.grid.edge(bin);
        self.end = self.grid.edge(bin + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_model::Clock;

    fn grid(start: u64, end: u64, n_bins: u16) -> TimeGrid {
        TimeGrid::new(TimeRange { start: Ticks(start), end: Ticks(end) }, NonZeroU16::new(n_bins).unwrap())
    }

    #[test]
    fn an_instant_is_in_the_bin_between_its_edges() {
        for (start, end, n) in [(0, 10, 3), (5, 105, 7), (3, 3, 4), (0, 3, 8), (7, 1007, 1)] {
            let grid = grid(start, end, n);
            let edges = grid.edges();
            assert_eq!((edges[0].0, edges[usize::from(n)].0), (start, end));
            for at in start..=end {
                let slow = (0..usize::from(n)).rev().find(|&k| edges[k].0 <= at).unwrap();
                assert_eq!(grid.bin(Ticks(at)), Some(slow), "{at} in {grid:?}");
            }
            assert_eq!(grid.bin(Ticks(end + 1)), None);
            assert_eq!(start.checked_sub(1).and_then(|at| grid.bin(Ticks(at))), None);
        }
    }

    #[test]
    fn a_cursor_finds_the_bin_of_each_end() {
        for (start, end, n) in [(0, 10, 3), (5, 105, 7), (3, 3, 4), (0, 3, 8)] {
            let grid = grid(start, end, n);
            let (mut ends, mut instants) = (grid.cursor(), grid.cursor());
            for at in start..end + 3 {
                ends.advance_to_end(Ticks(at));
                let slow = (0..usize::from(n)).find(|&k| at <= grid.edge(k + 1).0);
                assert_eq!(ends.bin, slow.unwrap_or(usize::from(n) - 1).max(ends.bin), "{at} in {grid:?}");
                assert!(at <= ends.end.0 || end < at);
                instants.advance_to(Ticks(at));
                assert_eq!(
                    instants.bin,
                    grid.bin(Ticks(at)).unwrap_or(usize::from(n) - 1),
                    "{at} in {grid:?}"
                );
            }
        }
    }

    #[test]
    fn very_long_ranges_do_not_overflow() {
        let grid = grid(0, u64::MAX, u16::MAX);
        assert_eq!(grid.bin(Ticks(u64::MAX)), Some(usize::from(u16::MAX) - 1));
        assert!(grid.edges().is_sorted());
    }

    #[test]
    fn the_guess_is_what_the_trace_declares_within_the_window() {
        let clock = Clock {
            ticks_per_second: 2_000_000_000,
            offset_ticks: 0,
            realtime_ns: None,
            declared_length: Some(Ticks(100)),
        };
        let definitions = Definitions::empty(clock);
        let n = NonZeroU16::new(4).unwrap();
        let of = |window: Option<(u64, u64)>| {
            let window = window.map(|(start, end)| TimeRange { start: Ticks(start), end: Ticks(end) });
            let range = TimeGrid::guess(&definitions, window, n).unwrap().range();
            (range.start.0, range.end.0)
        };
        assert_eq!(of(None), (0, 100));
        assert_eq!(of(Some((20, 40))), (20, 40));
        assert_eq!(of(Some((20, 4000))), (20, 100));
        assert_eq!(of(Some((2000, 4000))), (100, 100));
        let guess = TimeGrid::guess(&definitions, None, n).unwrap();
        let run = |start, end| TimeRange { start: Ticks(start), end: Ticks(end) };
        assert!(guess.is_exact_for(Some(run(0, 100))) && guess.is_exact_for(None));
        assert!(
            !guess.is_exact_for(Some(run(0, 99))) && guess.covers(run(0, 99)) && !guess.covers(run(0, 101))
        );
    }
}
