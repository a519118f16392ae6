//! Rows of one location and of many, on grids that only get coarser.

use ouzel_model::{CallPathId, LocationId, Remap, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Half of the most instants of a row. A screen has about 2,000 columns of pixels; with twice as many instants every
/// picture up to that width has one of its own at each pixel.
pub(super) const W: u64 = 1024;

/// What a location does, as far as one event shows it. The caller is looked up once the call-path tree is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TimelineState {
    /// The last event was the enter of this path.
    In(CallPathId),
    /// The last event was the leave of this path: in its caller, or outside of all.
    CallerOf(CallPathId),
    /// Before the first enter.
    Outside,
}

impl TimelineState {
    fn remap(&mut self, remap: &Remap) {
        if let TimelineState::In(path) | TimelineState::CallerOf(path) = self {
            *path = remap.path(*path);
        }
    }
}

/// Instants of `1 << log2` ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spacing {
    pub log2: u32,
}

impl Spacing {
    /// The initial spacing for a run declared to take `length`: 64 times finer than the final one, so that a length
    /// that is somewhat too long does no harm. Each doubling that is avoided saves a thousand steps per location.
    pub(crate) fn before_run_of(length: Ticks) -> Spacing {
        Spacing::default().widened_to(Ticks(0), Ticks(length.0 / 64))
    }

    /// The smallest, not below this one, that gives the half-open range at most `2 * W` instants.
    #[must_use]
    pub(crate) fn widened_to(mut self, start: Ticks, end: Ticks) -> Spacing {
        self.widen_to(start, end);
        self
    }

    /// Doubles until the range has at most `2 * W` instants. Terminates: from 53 on, no range of `u64` has more.
    pub(crate) fn widen_to(&mut self, start: Ticks, end: Ticks) {
        while 2 * W < self.first_from(end).saturating_sub(self.first_from(start)) {
            self.log2 += 1;
        }
    }

    /// Index of the first instant that is not before `at`.
    pub(crate) fn first_from(self, at: Ticks) -> u64 {
        at.0.div_ceil(1 << self.log2)
    }
}

/// Run-length encoded states at consecutive instants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunLengthRow {
    /// Index of the first instant.
    pub first: u64,
    /// States and for how many instants each; neighbours differ.
    pub runs: Vec<(TimelineState, u32)>,
}

impl RunLengthRow {
    /// Appends a state at `n` instants.
    pub fn push(&mut self, state: TimelineState, n: u64) {
        let n = u32::try_from(n).expect("a row has at most 2 W instants");
        match self.runs.last_mut() {
            _ if n == 0 => {}
            Some((last, count)) if *last == state => *count += n,
            _ => self.runs.push((state, n)),
        }
    }

    /// Keeps only the instants of a coarser grid.
    pub(crate) fn coarsen(&mut self, from: Spacing, to: Spacing) {
        let factor = 1_u64 << (to.log2 - from.log2);
        if factor == 1 {
            return;
        }
        let mut at = self.first;
        let mut coarse =
            RunLengthRow { first: at.div_ceil(factor), runs: Vec::with_capacity(self.runs.len()) };
        for &(state, n) in &self.runs {
            let next = at + u64::from(n);
            coarse.push(state, next.div_ceil(factor) - at.div_ceil(factor));
            at = next;
        }
        *self = coarse;
    }
}

/// While a location is folded.
#[derive(Debug)]
pub struct TimelineLocal {
    /// Whether it has a row.
    pub(super) has_row: bool,
    /// `None` before the first enter.
    pub(super) open: Option<OpenRow>,
}

/// A row that grows, from the first enter on.
#[derive(Debug)]
pub(super) struct OpenRow {
    start: Ticks,
    /// The state at `next` and after, as far as events are known.
    pub state: TimelineState,
    spacing: Spacing,
    /// Index of the next instant.
    next: u64,
    row: RunLengthRow,
}

impl OpenRow {
    /// The row of a location that first enters `path` at `start`, on a grid not finer than `spacing`.
    pub fn new(start: Ticks, path: CallPathId, spacing: Spacing) -> Self {
        let first = spacing.first_from(start);
        OpenRow {
            start,
            state: TimelineState::In(path),
            spacing,
            next: first,
            row: RunLengthRow { first, runs: Vec::new() },
        }
    }

    /// The next instant. There is nothing to do until an event is later than it.
    #[inline]
    pub fn next(&self) -> Ticks {
        Ticks(self.next.saturating_mul(1 << self.spacing.log2))
    }

    /// Takes the state at the instants before `at`, the time of the first event after the next instant.
    pub fn advance(&mut self, at: Ticks) {
        let before = self.spacing;
        self.spacing.widen_to(self.start, at);
        self.row.coarsen(before, self.spacing);
        let next = self.next.div_ceil(1 << (self.spacing.log2 - before.log2));
        self.next = next.max(self.spacing.first_from(at));
        self.row.push(self.state, self.next - next);
    }

    /// The whole row over the span of the location.
    pub fn finish(mut self, start: Ticks, end: Ticks) -> (RunLengthRow, Spacing) {
        self.advance(end);
        let OpenRow { mut row, spacing: before, .. } = self;
        let mut spacing = before;
        spacing.widen_to(start, end);
        row.coarsen(before, spacing);
        let (mut whole, _) = outside(start, self.start.max(start), spacing);
        for (state, n) in row.runs {
            whole.push(state, u64::from(n));
        }
        (whole, spacing)
    }
}

/// The row of a location that is outside of every region from `start` to `end`.
pub(super) fn outside(start: Ticks, end: Ticks, spacing: Spacing) -> (RunLengthRow, Spacing) {
    let mut row = RunLengthRow { first: spacing.first_from(start), runs: Vec::new() };
    row.push(TimelineState::Outside, spacing.first_from(end).saturating_sub(row.first));
    (row, spacing)
}

/// Rows of the locations folded so far, on the coarsest of their grids.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelinePartial {
    pub(super) spacing: Spacing,
    /// From the earliest start to the latest end of a row.
    pub(super) range: Option<(Ticks, Ticks)>,
    pub(super) rows: BTreeMap<LocationId, RunLengthRow>,
}

impl TimelinePartial {
    /// The rows of one location.
    pub(super) fn of(
        location: LocationId,
        row: RunLengthRow,
        spacing: Spacing,
        range: (Ticks, Ticks),
    ) -> Self {
        TimelinePartial { spacing, range: Some(range), rows: BTreeMap::from([(location, row)]) }
    }

    /// Adds the rows of other locations. The grid is the finest one that is at least as coarse as each initial grid and
    /// gives all of them together at most `2 * W` instants, whatever was merged first.
    pub(super) fn add(&mut self, mut from: TimelinePartial) {
        let range = match (self.range, from.range) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        let coarser = Spacing { log2: self.spacing.log2.max(from.spacing.log2) };
        let spacing = range.map_or(coarser, |(start, end)| coarser.widened_to(start, end));
        for part in [&mut *self, &mut from] {
            for row in part.rows.values_mut() {
                row.coarsen(part.spacing, spacing);
            }
        }
        self.rows.append(&mut from.rows);
        self.spacing = spacing;
        self.range = range;
    }

    pub(super) fn remap(&mut self, remap: &Remap) {
        let states = self.rows.values_mut().flat_map(|row| &mut row.runs);
        states.for_each(|(state, _)| state.remap(remap));
    }
}
