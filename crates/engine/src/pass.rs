//! The whole pass: every selected location, on several threads.
//!
//! Workers take locations from one list, largest first, so that no thread is left
//! with the biggest one at the end. Each folds into its own partial; results do not
//! depend on who took what, because partials merge in any grouping.

use crate::analysis::{LocationEnd, LocationSummary, run_range};
use crate::erased::{AnalysisSet, Outputs};
use crate::fold::Folder;
use crate::partial::{Partial, PartialError};
use crate::progress::Progress;
use ouzel_model::{Filter, LocationId, Notice, Notices, TimeRange, TraceSource};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One sweep over a trace.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'a> {
    /// The user's selection.
    pub filter: &'a Filter,
    /// Number of threads.
    pub jobs: NonZeroUsize,
    /// Where to tell how far it is.
    pub progress: Option<&'a Progress>,
}

/// What a pass gives besides the outputs.
#[derive(Debug)]
pub struct Report {
    /// The result of each analysis.
    pub outputs: Outputs,
    /// How much of the trace it is from.
    pub coverage: Coverage,
    /// What is known of each location.
    pub locations: BTreeMap<LocationId, LocationSummary>,
    /// From the first event to the last over all locations that run code.
    pub run_range: Option<TimeRange>,
    /// What went wrong, worst first.
    pub notices: Vec<Notice>,
}

/// How much of the trace an answer is from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Locations the trace defines.
    pub locations: u64,
    /// Locations the filter selects.
    pub locations_selected: u64,
    /// Selected locations that were read to their end.
    pub locations_complete: u64,
    /// Selected locations whose end is missing.
    pub locations_damaged: u64,
    /// Event records read.
    pub events_read: u64,
}

/// Why a pass gives nothing.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// It was asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// An analysis broke a promise: a fault of ours, not of the data.
    #[error("internal error: {0}")]
    Panicked(String),
    /// Partials do not fit together: likewise.
    #[error("internal error: {0}")]
    Partial(#[from] PartialError),
}

impl AnalysisSet {
    /// Folds every selected location and finishes the outputs.
    ///
    /// # Errors
    /// If it was cancelled, or an analysis panicked.
    pub fn run(&self, source: &dyn TraceSource, pass: Pass<'_>) -> Result<Report, PassError> {
        let definitions = source.definitions();
        let partial = self.fold_all(source, pass)?;
        if pass.progress.is_some_and(Progress::is_cancelled) {
            return Err(PassError::Cancelled);
        }
        let notices = Notices::default();
        notices.extend(source.notices().iter().cloned());
        let locations = partial.locations.clone();
        let coverage = coverage(definitions.locations.len(), &locations);
        let run_range = run_range(definitions, &locations);
        let outputs = caught(|| self.finish(partial, definitions, &notices))?;
        Ok(Report { outputs, coverage, locations, run_range, notices: notices.to_vec() })
    }

    fn fold_all(&self, source: &dyn TraceSource, pass: Pass<'_>) -> Result<Partial, PassError> {
        let mut todo = pass.filter.locations(source.definitions());
        todo.sort_by_cached_key(|&l| (std::cmp::Reverse(source.location_bytes(l)), l));
        let next = AtomicUsize::new(0);
        let work = || {
            let mut folder = Folder::new(source, self, pass.filter);
            while let Some(&location) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                if pass.progress.is_some_and(Progress::is_cancelled) {
                    break;
                }
                folder.fold(location, pass.progress);
            }
            folder.into_partial()
        };
        let work = || {
            let partial = caught(work);
            if partial.is_err() {
                // Nothing will come of it: the others need not begin another location.
                next.store(todo.len(), Ordering::Relaxed);
            }
            partial
        };
        let n_workers = pass.jobs.get().min(todo.len()).max(1);
        let partials: Vec<_> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..n_workers).map(|_| scope.spawn(work)).collect();
            let own = work();
            let others = others.into_iter().map(|other| other.join().expect("a worker catches its panics"));
            std::iter::once(own).chain(others).collect()
        });
        let mut total = self.empty();
        for partial in partials {
            let partial = partial?;
            caught(|| self.merge(&mut total, partial))??;
        }
        Ok(total)
    }
}

/// Runs code of analyses; a panic is their fault and becomes an error.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, PassError> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    result.map_err(|panic| PassError::Panicked(panic_text(&*panic)))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("an analysis panicked")
        .to_owned()
}

fn coverage(n_locations: usize, locations: &BTreeMap<LocationId, LocationSummary>) -> Coverage {
    let damaged = locations.values().filter(|l| l.end == LocationEnd::Damaged).count() as u64;
    Coverage {
        locations: n_locations as u64,
        locations_selected: locations.len() as u64,
        locations_complete: locations.len() as u64 - damaged,
        locations_damaged: damaged,
        events_read: locations.values().map(|l| l.n_events).sum(),
    }
}
