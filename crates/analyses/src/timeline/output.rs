//! The result: a grid and a row of runs for each location.

use super::state::{TimelinePartial, TimelineState};
use ouzel_engine::FinishCx;
use ouzel_model::{CallPathId, CallPathTree, Definitions, LocationId, Ticks};

/// What each location did at regular instants.
#[derive(Debug, Clone, Default)]
pub struct TimelineOutput {
    /// The call paths that the rows refer to.
    pub call_paths: CallPathTree,
    /// Time of the first column. Column `i` is at `origin + i * spacing`.
    pub origin: Ticks,
    /// Time from one column to the next: a power of two.
    pub spacing: Ticks,
    /// Number of columns, more than `W` and at most `2 * W` unless the run has fewer ticks.
    pub n_columns: u32,
    /// The rows by location.
    pub rows: Vec<TimelineRow>,
    /// Locations that run code, were folded and have no row, as there are too many.
    pub n_left_out: u64,
}

/// What one location did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineRow {
    /// The location.
    pub location: LocationId,
    /// From the first column to the last; neighbours differ.
    pub runs: Vec<TimelineRun>,
}

/// Columns in which a location does the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineRun {
    /// How many.
    pub n_columns: u32,
    /// The innermost call, the root outside of every region; `None` before the location's first event and from its
    /// last event on.
    pub call_path: Option<CallPathId>,
}

impl TimelineOutput {
    /// The time of a column.
    pub fn at(&self, column: u32) -> Ticks {
        Ticks(self.origin.0 + u64::from(column) * self.spacing.0)
    }

    /// The row of a location; `None` if it has none.
    pub fn row(&self, location: LocationId) -> Option<&TimelineRow> {
        let i = self.rows.binary_search_by_key(&location, |row| row.location).ok()?;
        Some(&self.rows[i])
    }

    /// The rows by rank, those without one last.
    pub fn rows_by_rank(&self, definitions: &Definitions) -> Vec<&TimelineRow> {
        let mut rows: Vec<&TimelineRow> = self.rows.iter().collect();
        rows.sort_by_key(|row| {
            let rank = definitions.location(row.location).rank;
            (rank.is_none(), rank, row.location)
        });
        rows
    }
}

/// The partial with its callers looked up and its rows made equally long.
pub(super) fn resolve(partial: TimelinePartial, cx: &FinishCx<'_>, n_left_out: u64) -> TimelineOutput {
    let TimelinePartial { spacing, range, rows } = partial;
    let (start, end) = range.unwrap_or_default();
    let first = spacing.first_from(start);
    let n_columns = u32::try_from(spacing.first_from(end) - first).expect("at most 2 W columns");
    let rows = rows.into_iter().map(|(location, row)| {
        let mut runs = Runs(Vec::with_capacity(row.runs.len() + 2));
        runs.push(None, u32::try_from(row.first - first).expect("at most 2 W columns"));
        for (state, n) in row.runs {
            let call_path = match state {
                TimelineState::In(path) => path,
                TimelineState::CallerOf(path) => cx.call_paths.parent(path),
                TimelineState::Outside => CallPathTree::ROOT,
            };
            runs.push(Some(call_path), n);
        }
        let n_seen: u32 = runs.0.iter().map(|run| run.n_columns).sum();
        runs.push(None, n_columns - n_seen);
        TimelineRow { location, runs: runs.0 }
    });
    TimelineOutput {
        call_paths: cx.call_paths.clone(),
        origin: Ticks(first << spacing.log2),
        spacing: Ticks(1 << spacing.log2),
        n_columns,
        rows: rows.collect(),
        n_left_out,
    }
}

struct Runs(Vec<TimelineRun>);

impl Runs {
    fn push(&mut self, call_path: Option<CallPathId>, n_columns: u32) {
        match self.0.last_mut() {
            _ if n_columns == 0 => {}
            Some(last) if last.call_path == call_path => last.n_columns += n_columns,
            _ => self.0.push(TimelineRun { n_columns, call_path }),
        }
    }
}
