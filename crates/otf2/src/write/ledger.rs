//! What the writers of an archive have done, for the check at its end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What one location's event file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSummary {
    /// The location.
    pub location: u64,
    /// Events written.
    pub n_events: u64,
    /// Local ticks of the first and of the last event, `None` without events.
    pub span: Option<(u64, u64)>,
}

/// Shared by the archive and its writers.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Pages>>);

/// What was opened, by location; `None` until it is finished.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) events: BTreeMap<u64, Option<EventSummary>>,
    /// Number of clock offsets of the location.
    pub(super) local_definitions: BTreeMap<u64, Option<u64>>,
}

impl Ledger {
    pub(super) fn pages(&self) -> MutexGuard<'_, Pages> {
        // A panic elsewhere cannot leave a map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
