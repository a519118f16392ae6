//! Passes that other processes make, on other machines too.
//!
//! ```text
//!            round 1                                        round 2
//! Job ──► fold(group) ──► rest ──────────────────────────► merge … ──────────┐
//!                     └─► piece 0 … piece n of a bucket ─► settle(bucket i) ─┴─► whole ──► outputs
//! ```
//!
//! A [`Workers`] starts the processes and carries the bytes; nothing else changes, so every question of [`Trace`] can
//! be put to workers as to threads. Laws: folding, merging and settling are pure, so each may be done twice; partials
//! merge in any grouping; the answer is that of one machine, byte for byte. Every job and every partial carries the
//! [`BUILD`] that made it, and one of another build is refused; every partial records its locations, so that a missing
//! or repeated one is found.

mod catalogue;
mod fingerprint;
mod job;
mod part;

pub use fingerprint::Fingerprint;
pub use job::{Job, JobError};

use crate::Trace;
use ouzel_engine::{PassError, Prepared, Progress, Report};
use ouzel_model::{LocationId, TraceSource};

/// Version and hash of the sources. Only processes of one build work together.
pub const BUILD: &str = env!("OUZEL_BUILD");

/// Processes that fold, merge and settle.
pub trait Workers: std::fmt::Debug + Sync {
    /// Bytes of event files that make a group: one task. A location is never cut. What pairs locations is settled in
    /// buckets of about as many bytes.
    fn group_bytes(&self) -> u64;

    /// Folds every group with [`Job::fold`]; merges the first part of each with [`Job::merge`], in any grouping, into
    /// one; and combines the `1 + i`-th parts of all with [`Job::settle`], for each of the
    /// [`n_buckets`](Job::n_buckets). Returns the merged one and the settled ones in any order. Reports to `progress`
    /// the bytes of the groups that are folded, and stops soon after it is cancelled.
    ///
    /// # Errors
    /// If there is no result, for whatever reason.
    fn run(
        &self,
        job: &Job,
        groups: &[Group],
        progress: Option<&Progress>,
    ) -> Result<Vec<Vec<u8>>, Box<dyn std::error::Error + Send + Sync>>;
}

/// Locations that one task folds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The locations, ascending.
    pub locations: Vec<LocationId>,
    /// Bytes that their events take.
    pub event_bytes: u64,
}

impl Trace {
    /// One pass made by `workers`.
    pub(crate) fn run_on(
        &self,
        workers: &dyn Workers,
        set: &Prepared,
        progress: Option<&Progress>,
    ) -> Result<Report, PassError> {
        let elsewhere = |error: JobError| PassError::Elsewhere(Box::new(error));
        let locations = set.locations(self.definitions());
        let groups = groups(&locations, &*self.source, workers.group_bytes());
        if groups.is_empty() {
            return set.conclude(&*self.source, set.empty());
        }
        let job = Job::new(self, set, groups.len()).map_err(elsewhere)?;
        let result = workers.run(&job, &groups, progress);
        if progress.is_some_and(Progress::is_cancelled) {
            return Err(PassError::Cancelled);
        }
        let parts = result.map_err(PassError::Elsewhere)?;
        let partial = job.whole(set, parts, &locations).map_err(elsewhere)?;
        set.conclude(&*self.source, partial)
    }
}

/// Neighbours, as many as make `group_bytes`. Depends on nothing else, so that a run can be resumed with other workers.
fn groups(locations: &[LocationId], source: &dyn TraceSource, group_bytes: u64) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for &location in locations {
        // Even an empty location is some work.
        let bytes = source.location_bytes(location);
        match groups.last_mut() {
            Some(last) if last.event_bytes.saturating_add(bytes) <= group_bytes => {
                last.locations.push(location);
                last.event_bytes += bytes;
            }
            _ => groups.push(Group { locations: vec![location], event_bytes: bytes }),
        }
    }
    groups
}
