//! The profile of all locations together, in the memory of its call paths.
//!
//! Law: a row is the sum of the rows that [`CallPathProfile`](super::CallPathProfile) has of its call path.

use super::fold::add_visits;
use super::output::{ProfileRow, sorted_rows, table_of};
use super::state::{PathTimes, ProfileLocal, VisitTimes};
use crate::view::{By, Per, RowView};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{CallPathId, CallPathTree, Definitions, EventChunk, Needs, Remap, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Times of every call path over all locations.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct TotalProfile;

/// Times of every call path over the locations folded so far.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalPartial(BTreeMap<CallPathId, VisitTimes>);

impl TotalPartial {
    fn add(&mut self, rows: impl Iterator<Item = (CallPathId, VisitTimes)>) {
        rows.for_each(|(call_path, times)| self.0.entry(call_path).or_default().add(&times));
    }
}

impl Analysis for TotalProfile {
    type Local = ProfileLocal;
    type Partial = TotalPartial;
    type Output = TotalProfileOutput;
    const NAME: &'static str = "total-profile";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::VISITS
    }

    fn empty(&self) -> TotalPartial {
        TotalPartial::default()
    }

    fn begin(&self, _cx: &LocationCx<'_>) -> ProfileLocal {
        ProfileLocal::default()
    }

    fn fold(&self, local: &mut ProfileLocal, chunk: &EventChunk<'_>) {
        add_visits(chunk.visits, &mut local.paths);
    }

    fn end(&self, local: ProfileLocal, _: &LocationCx<'_>, _: &LocationSummary, into: &mut TotalPartial) {
        into.add(local.rows().map(|row| (row.call_path, row.times)));
    }

    fn remap(&self, partial: &mut TotalPartial, remap: &Remap) {
        let rows = std::mem::take(&mut partial.0);
        partial.add(rows.into_iter().map(|(call_path, times)| (remap.path(call_path), times)));
    }

    fn merge(&self, into: &mut TotalPartial, from: TotalPartial) {
        into.add(from.0.into_iter());
    }

    fn finish(&self, partial: TotalPartial, cx: &FinishCx<'_>) -> Result<TotalProfileOutput, AnalysisError> {
        let rows = partial.0.into_iter().map(|(call_path, times)| PathTimes { call_path, times }).collect();
        Ok(TotalProfileOutput { call_paths: cx.call_paths.clone(), rows })
    }
}

/// Times of every call path over all locations.
#[derive(Debug, Clone)]
pub struct TotalProfileOutput {
    /// The call paths that the rows refer to.
    pub call_paths: CallPathTree,
    /// The call paths visited, ascending.
    pub rows: Vec<PathTimes>,
}

impl TotalProfileOutput {
    /// The profile seen by region or by call path: most exclusive time first, then by name.
    pub fn rows(&self, definitions: &Definitions, by: By) -> Vec<ProfileRow> {
        self.rows_of(&RowView::new(definitions, &self.call_paths, by, Per::Total))
    }

    fn rows_of(&self, view: &RowView<'_>) -> Vec<ProfileRow> {
        let rows = self.rows.iter().filter_map(|row| Some((view.key_of_total(row.call_path)?, row)));
        sorted_rows(rows, view)
    }

    /// The rows as a table, times in nanoseconds.
    pub fn table(&self, definitions: &Definitions, by: By) -> Table {
        let view = RowView::new(definitions, &self.call_paths, by, Per::Total);
        table_of(&self.rows_of(&view), &view, definitions)
    }
}
