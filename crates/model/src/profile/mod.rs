//! What a profile offers: severities v(metric, call path, location), summed over the run.
//!
//! A profile is known once ([`ProfileDefinitions`]) and read in rows ([`SeverityRow`]):
//! one metric, one call path, all locations. A source gives the rows as they are stored
//! ([`ProfileSource::open`]); [`ScopedRows`] gives them inclusive or exclusive, whatever
//! is stored, and computes derived metrics. Law: rows come in *descending* order of call
//! paths, each at most once, so that callees come before callers and sums along the tree
//! need one row for each level. Memory never holds more than that.
//!
//! Formats, files, threads, and sums over regions or locations are handled elsewhere.

mod call_tree;
mod definitions;
mod formula;
mod row;
mod scoped;
#[cfg(test)]
mod tests;
mod total;

pub use call_tree::{BuiltCallTree, CallNode, CallTree};
pub use definitions::{Aggregation, MetricKind, PROGRAM_REGION, ProfileDefinitions, ProfileMetric, Scope};
pub use formula::{Formula, FormulaStep};
pub use row::{Severities, SeverityRow};
pub use scoped::{ScopedRows, SeverityError, has_values};
pub use total::SeverityTotal;

use crate::{CallPathId, LocationId, MetricId, Notice, ReadError};
use std::ops::Range;

/// An opened profile of some format.
pub trait ProfileSource: Send + Sync {
    /// What is known once. Stays the same while the source lives.
    fn definitions(&self) -> &ProfileDefinitions;

    /// Problems found while opening.
    fn notices(&self) -> &[Notice];

    /// Bytes the severities of `metric` take on disk: a measure of the work, for order and progress. 0 for a derived
    /// metric.
    fn severity_bytes(&self, metric: MetricId) -> u64;

    /// Begins to read the rows of `metric` for the call paths of a range, as they are stored: see
    /// [`MetricKind`]. A derived metric has no rows.
    ///
    /// # Errors
    /// If they cannot be found or their beginning cannot be read.
    fn open(
        &self,
        metric: MetricId,
        paths: Range<CallPathId>,
    ) -> Result<Box<dyn SeverityRows + '_>, ReadError>;
}

/// Reads the rows of one metric, from the last call path to the first.
pub trait SeverityRows {
    /// Replaces the contents of `row` by the next row; `false` if there is none. Call paths without a row have no
    /// values. Values have the type of the metric; a value that is not finite is left out and counted in a notice.
    ///
    /// # Errors
    /// If the rest cannot be read.
    fn read(&mut self, row: &mut SeverityRow) -> Result<bool, ReadError>;

    /// The locations whose value the last row leaves out because it is not finite, ascending: their value is not zero
    /// but unknown.
    fn not_finite(&self) -> &[LocationId] {
        &[]
    }

    /// What was repaired or left out so far; called once, at the end.
    fn notices(&mut self) -> Vec<Notice>;
}
