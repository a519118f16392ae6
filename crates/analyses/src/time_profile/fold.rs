//! The fold: one addition for each visit within a bin.

use super::output::{TimeProfileOutput, TimeProfileRow};
use super::state::{TimeProfileLocal, TimeProfilePartial, add_row, ticks};
use crate::time_grid::TimeGrid;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{CallPathId, CallPathTree, EventChunk, Level, Needs, Notice, NoticeCode, Remap, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Exclusive time of each call path in each bin.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct TimeProfile {
    grid: TimeGrid,
}

impl TimeProfile {
    /// The analysis with these bins. Time outside of them is left out, with a notice.
    pub fn new(grid: TimeGrid) -> Self {
        TimeProfile { grid }
    }
}

impl Analysis for TimeProfile {
    type Local = TimeProfileLocal;
    type Partial = TimeProfilePartial;
    type Output = TimeProfileOutput;
    const NAME: &'static str = "time-profile";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::VISITS
    }

    fn empty(&self) -> TimeProfilePartial {
        TimeProfilePartial::default()
    }

    fn begin(&self, _cx: &LocationCx<'_>) -> TimeProfileLocal {
        TimeProfileLocal::new(self.grid)
    }

    fn fold(&self, local: &mut TimeProfileLocal, chunk: &EventChunk<'_>) {
        local.add_visits(chunk.visits);
    }

    fn end(
        &self,
        local: TimeProfileLocal,
        _: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut TimeProfilePartial,
    ) {
        into.add(&local.finish(), self.grid.n_bins());
    }

    fn remap(&self, partial: &mut TimeProfilePartial, remap: &Remap) {
        let rows = std::mem::take(&mut partial.inclusive);
        for (path, row) in rows {
            add_row(partial.inclusive.entry(remap.path(path)).or_default(), row);
        }
    }

    fn merge(&self, into: &mut TimeProfilePartial, from: TimeProfilePartial) {
        for (path, row) in from.inclusive {
            add_row(into.inclusive.entry(path).or_default(), row);
        }
    }

    fn finish(
        &self,
        partial: TimeProfilePartial,
        cx: &FinishCx<'_>,
    ) -> Result<TimeProfileOutput, AnalysisError> {
        let run_range = cx.run_range();
        if run_range.is_some_and(|run| !self.grid.covers(run)) {
            let message = "the time profile covers a part of the run; time outside its bins is left out";
            cx.notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, message));
        }
        let runs_code = cx
            .locations
            .iter()
            .filter(|(id, summary)| cx.definitions.location(**id).kind.runs_code() && summary.span.is_some());
        let n_locations = runs_code.count() as u64;
        let (exclusive, busy) = exclusive(partial.inclusive, cx.call_paths, self.grid.n_bins());
        let idle = busy.iter().enumerate().map(|(bin, &busy)| {
            let width = self.grid.edge(bin + 1).since(self.grid.edge(bin)).0;
            Ticks(width.saturating_mul(n_locations).saturating_sub(busy))
        });
        Ok(TimeProfileOutput {
            call_paths: cx.call_paths.clone(),
            grid: self.grid,
            run_range,
            n_locations,
            idle: idle.collect(),
            rows: exclusive
                .into_iter()
                .map(|(call_path, row)| TimeProfileRow { call_path, exclusive: ticks(&row) })
                .collect(),
        })
    }
}

/// Exclusive from inclusive ticks, and the ticks of each bin in outermost calls.
fn exclusive(
    inclusive: BTreeMap<CallPathId, Vec<u64>>,
    paths: &CallPathTree,
    n_bins: usize,
) -> (BTreeMap<CallPathId, Vec<u64>>, Vec<u64>) {
    let mut exclusive = inclusive.clone();
    let mut busy = vec![0_u64; n_bins];
    for (path, row) in inclusive {
        let parent = paths.parent(path);
        if parent == CallPathTree::ROOT {
            busy.iter_mut().zip(&row).for_each(|(sum, ticks)| *sum = sum.saturating_add(*ticks));
        } else if let Some(caller) = exclusive.get_mut(&parent) {
            caller.iter_mut().zip(&row).for_each(|(sum, ticks)| *sum = sum.saturating_sub(*ticks));
        }
    }
    (exclusive, busy)
}
