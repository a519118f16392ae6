//! Non-blocking operations of one location between their post and their completion.
//!
//! Requests are known by handles, which libraries use again once they are free. A call that completes requests names
//! each; what it completes is what was posted last under the handle. A test is taken for a completion, since the
//! export has no column for its outcome.
//!
//! Memory: one row for each open request. Rows that were posted under a handle that is posted again are forgotten.

use super::rows::{ReportRow, RowKind};
use rustc_hash::FxHashMap;

/// The open requests of a location.
#[derive(Debug, Default)]
pub(super) struct Requests {
    posted: FxHashMap<u64, ReportRow>,
    /// Persistent requests that were made, and may be started.
    made: FxHashMap<u64, ReportRow>,
    /// Handles that the call which is open now completes.
    waited: Vec<u64>,
}

impl Requests {
    /// A non-blocking operation begins.
    pub fn post(&mut self, row: ReportRow) {
        self.posted.insert(row.id, row);
    }

    /// A persistent request is made.
    pub fn make(&mut self, row: ReportRow) {
        self.made.insert(row.id, row);
    }

    /// A persistent request is started: the operation that begins, as a row of its own kind.
    pub fn start(&mut self, handle: u64) -> Option<ReportRow> {
        let mut row = *self.made.get(&handle)?;
        row.kind = if row.kind == RowKind::SendInit { RowKind::Isend } else { RowKind::Irecv };
        self.posted.insert(handle, row);
        Some(row)
    }

    /// The open call completes a request.
    pub(crate) fn wait_for(&mut self, handle: u64) {
        self.waited.push(handle);
    }

    /// The operations that the call completed, in the order of its rows.
    pub fn complete(&mut self) -> Vec<ReportRow> {
        let posted = &mut self.posted;
        self.waited.drain(..).filter_map(|handle| posted.remove(&handle)).collect()
    }
}
