//! Batches on demand.

use super::columns::{EventBatch, EventNames, Lister, Meaning};
use crate::Trace;
use ouzel_engine::{PassError, list};
use ouzel_model::{Filter, LocationId, Notice, Notices};
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of event files that are read ahead of the caller, unless one location alone has more.
pub(super) const GROUP_BYTES: u64 = 16 << 20;

/// What to read, and how.
#[derive(Debug, Clone)]
pub struct EventOptions {
    /// The selection.
    pub filter: Filter,
    /// Only these of the selected locations; `None` means all.
    pub locations: Option<Vec<LocationId>>,
    /// Whether the columns of messages and metrics are filled.
    pub with_payload: bool,
    /// Number of threads.
    pub jobs: NonZeroUsize,
}

/// Yields the batches of a trace, location by location.
#[derive(Debug)]
pub struct EventReader {
    trace: Arc<Trace>,
    options: EventOptions,
    meaning: Arc<Meaning>,
    locations: VecDeque<LocationId>,
    ready: VecDeque<EventBatch>,
    notices: Arc<Notices>,
}

impl Trace {
    /// The events that `options` select, as an iterator that reads on demand.
    pub fn events(self: &Arc<Self>, options: EventOptions) -> EventReader {
        let mut locations = options.filter.resolve(self.definitions()).locations;
        if let Some(only) = &options.locations {
            locations.retain(|location| only.contains(location));
        }
        let notices = Arc::new(Notices::default());
        notices.extend(self.notices().iter().cloned());
        EventReader {
            meaning: Arc::new(Meaning::new(self.definitions())),
            trace: Arc::clone(self),
            options,
            locations: locations.into(),
            ready: VecDeque::new(),
            notices,
        }
    }
}

impl EventReader {
    /// What the codes of names mean.
    pub fn names(&self) -> &EventNames {
        &self.meaning.names
    }

    /// Problems found so far, worst first.
    pub fn notices(&self) -> Vec<Notice> {
        self.notices.to_vec()
    }

    /// Where notices go; outlives the reader.
    pub fn shared_notices(&self) -> Arc<Notices> {
        Arc::clone(&self.notices)
    }

    /// The next locations: at least one, as many as fit.
    fn next_group(&mut self) -> Vec<LocationId> {
        let mut group = Vec::new();
        let mut bytes = 0_u64;
        while let Some(&location) = self.locations.front() {
            bytes = bytes.saturating_add(self.trace.source().location_bytes(location));
            if !group.is_empty() && GROUP_BYTES < bytes {
                break;
            }
            group.push(location);
            self.locations.pop_front();
        }
        group
    }

    /// Reads a group on all threads; the order of its batches is that of its locations.
    fn read(&mut self, group: &[LocationId]) -> Result<(), PassError> {
        let next = AtomicUsize::new(0);
        let found: Arc<Mutex<Vec<EventBatch>>> = Arc::default();
        let (trace, options, meaning, notices) = (&self.trace, &self.options, &self.meaning, &self.notices);
        let work = || -> Result<(), PassError> {
            let lister = Lister::new(Arc::clone(meaning), options.with_payload, Arc::clone(&found));
            let locations = std::iter::from_fn(|| group.get(next.fetch_add(1, Ordering::Relaxed)).copied());
            let listed = list(trace.source(), &options.filter, locations, lister, None)?;
            notices.extend(listed.notices);
            Ok(())
        };
        let n_workers = options.jobs.get().min(group.len()).max(1);
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..n_workers).map(|_| scope.spawn(work)).collect();
            let own = work();
            let panicked = |_| Err(PassError::Panicked("a thread that lists events".to_owned()));
            others.into_iter().map(|other| other.join().unwrap_or_else(panicked)).fold(own, Result::and)
        })?;
        let mut found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        // Stable: the batches of a location stay in order.
        found.sort_by_key(|batch| batch.location);
        self.ready.extend(found);
        Ok(())
    }
}

impl Iterator for EventReader {
    type Item = Result<EventBatch, PassError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(batch));
            }
            let group = self.next_group();
            if group.is_empty() {
                return None;
            }
            if let Err(error) = self.read(&group) {
                self.locations.clear();
                return Some(Err(error));
            }
        }
    }
}
