//! The fold: a binary search for the next instant, and nothing for the events before it.

use super::output::{TimelineOutput, resolve};
use super::state::{OpenRow, Spacing, TimelineLocal, TimelinePartial, TimelineState, outside};
use crate::peers::PeerGroups;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Question, SelectionCx};
use ouzel_model::{EventChunk, EventKind, Level, LocationId, Needs, Notice, NoticeCode, Remap};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Most rows. A screen has about a thousand rows of pixels, and 1024 rows of `2 * W` instants take 50 MB at most.
const MAX_ROWS: usize = 1024;

/// What each location does at regular instants: rows for the selected locations that run code, all of them up to 1,024,
/// else every n-th of each peer group, in the order of the group. Those left out are counted in the output and noticed.
#[derive(Debug, Clone)]
pub struct Timeline {
    pub(super) most_rows: usize,
    /// The finest grid, unless the trace declares its length.
    pub(super) finest: Spacing,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { most_rows: MAX_ROWS, finest: Spacing::default() }
    }
}

impl Timeline {
    /// For each location whether it has a row, and of how many peers one has.
    pub fn rows(&self, cx: &SelectionCx<'_>) -> (Vec<bool>, usize) {
        let most = self.most_rows;
        let peers = PeerGroups::new(cx);
        let sizes = || peers.groups().iter().map(|group| group.members.len());
        // Every group has a row at least, so the last group may need a coarser choice than the mean.
        let mut one_of = sizes().sum::<usize>().div_ceil(most.max(1)).max(1);
        while sizes().len() < most && most < sizes().map(|size| size.div_ceil(one_of)).sum() {
            one_of += 1;
        }
        let mut chosen = vec![false; cx.definitions.locations.len()];
        for member in peers.groups().iter().flat_map(|group| group.members.iter().step_by(one_of)) {
            chosen[member.index()] = true;
        }
        (chosen, one_of)
    }
}

impl Question for Timeline {
    type Analysis = TimelineFold;
    type Output = TimelineOutput;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<TimelineFold> {
        let (chosen, one_of) = self.rows(cx);
        let declared = cx.definitions.clock.declared_length.filter(|_| cx.selection.window.is_none());
        let finest = declared.map_or(self.finest, Spacing::before_run_of);
        Arc::new(TimelineFold { chosen, one_of: one_of as u64, finest })
    }
}

/// A [`Timeline`] of the selected locations.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TimelineFold {
    /// For each location whether it has a row.
    chosen: Vec<bool>,
    /// Of how many peers one has a row, where it is not all.
    one_of: u64,
    /// The finest grid.
    finest: Spacing,
}

impl Analysis for TimelineFold {
    type Local = TimelineLocal;
    type Partial = TimelinePartial;
    type Output = TimelineOutput;
    const NAME: &'static str = "timeline";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::CALL_PATHS
    }

    fn empty(&self) -> TimelinePartial {
        TimelinePartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> TimelineLocal {
        TimelineLocal { has_row: self.chosen[cx.location.index()], open: None }
    }

    fn fold(&self, local: &mut TimelineLocal, chunk: &EventChunk<'_>) {
        if local.has_row {
            add_chunk(&mut local.open, chunk, self.finest);
        }
    }

    fn end(
        &self,
        local: TimelineLocal,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut TimelinePartial,
    ) {
        if let Some((start, end)) = summary.span.filter(|(start, end)| local.has_row && start < end) {
            let (row, spacing) = match local.open {
                Some(row) => row.finish(start, end),
                None => outside(start, end, self.finest.widened_to(start, end)),
            };
            into.add(TimelinePartial::of(cx.location, row, spacing, (start, end)));
        }
    }

    fn remap(&self, partial: &mut TimelinePartial, remap: &Remap) {
        partial.remap(remap);
    }

    fn merge(&self, into: &mut TimelinePartial, from: TimelinePartial) {
        into.add(from);
    }

    fn finish(&self, partial: TimelinePartial, cx: &FinishCx<'_>) -> Result<TimelineOutput, AnalysisError> {
        let runs_code = |id: &&LocationId| cx.definitions.location(**id).kind.runs_code();
        let n_left_out = cx.locations.keys().filter(runs_code).filter(|id| !self.chosen[id.index()]).count();
        // What a profiler records beside ranks has no row, and is not missed.
        if 0 < n_left_out && 1 < self.one_of {
            let message = format!(
                "timelines show one in {} locations; every number in the report covers all locations",
                self.one_of
            );
            cx.notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, message));
        }
        Ok(resolve(partial, cx, n_left_out as u64))
    }
}

/// Takes the state at each instant that the chunk passes, and the state after it. Only enters and leaves count, as
/// whether there is a row for another event depends on what others need.
#[inline(never)]
fn add_chunk(open: &mut Option<OpenRow>, chunk: &EventChunk<'_>, finest: Spacing) {
    let EventChunk { time, kind, call_path, .. } = *chunk;
    let mut from = 0;
    let open = match open {
        Some(open) => open,
        None => {
            let Some(row) = kind.iter().position(|&kind| kind == EventKind::Enter) else { return };
            from = row + 1;
            open.insert(OpenRow::new(time[row], call_path[row], finest))
        }
    };
    loop {
        let next = open.next();
        let row = from + time[from..].partition_point(|&at| at <= next);
        let mut before = (from..row).rev();
        open.state = before
            .find_map(|row| match kind[row] {
                EventKind::Enter => Some(TimelineState::In(call_path[row])),
                EventKind::Leave => Some(TimelineState::CallerOf(call_path[row])),
                _ => None,
            })
            .unwrap_or(open.state);
        let Some(&at) = time.get(row) else { return };
        open.advance(at);
        from = row;
    }
}
