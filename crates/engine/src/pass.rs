//! The whole pass: every selected location, on several threads.
//!
//! Workers take locations from one list, largest first, so that no thread is left
//! with the biggest one at the end. Each folds into its own partial; results do not
//! depend on which worker took what, because partials merge in any grouping.

use crate::analysis::{LocationEnd, LocationSummary, run_range};
use crate::erased::{AnalysisSet, Outputs, Prepared};
use crate::fold::Folder;
use crate::partial::{Partial, PartialError};
use crate::progress::Progress;
use ouzel_files::memory::{self, LimitReached};
use ouzel_model::{
    Contents, Definitions, Filter, Level, Location, LocationId, Notice, NoticeCode, Notices, TimeRange,
    TraceSource,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// One sweep over a trace.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'a> {
    /// The user's selection.
    pub filter: &'a Filter,
    /// Number of threads.
    pub jobs: NonZeroUsize,
    /// Where to report progress.
    pub progress: Option<&'a Progress>,
}

/// What a pass gives besides the outputs.
#[derive(Debug)]
pub struct Report {
    /// What was selected.
    pub filter: Filter,
    /// The result of each analysis.
    pub outputs: Outputs,
    /// How much of the trace it is from.
    pub coverage: Coverage,
    /// What is known of each location.
    pub locations: BTreeMap<LocationId, LocationSummary>,
    /// From the first event to the last over all locations that run code.
    pub run_range: Option<TimeRange>,
    /// Which of the data that any of the analyses needs were present, and calls.
    pub seen: Contents,
    /// Problems found, worst first.
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
    /// Event records read, those of locations that were only needed to pair messages, too.
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
    /// The memory limit of this process is reached.
    #[error("the data that {holders} keep of the trace are too large: {reached}")]
    Memory {
        /// The analyses.
        holders: String,
        /// The limit.
        reached: LimitReached,
    },
    /// What should have folded elsewhere did not.
    #[error(transparent)]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
}

impl AnalysisSet {
    /// Prepares the analyses for what the pass selects, folds every location they need and finishes the outputs.
    ///
    /// # Errors
    /// If it was cancelled, or an analysis panicked.
    pub fn run(&self, source: &dyn TraceSource, pass: Pass<'_>) -> Result<Report, PassError> {
        self.prepare(source.definitions(), pass.filter).run(source, pass.jobs, pass.progress)
    }
}

impl Prepared {
    /// Folds every selected location and finishes the outputs.
    ///
    /// # Errors
    /// If it was cancelled, or an analysis panicked.
    pub fn run(
        &self,
        source: &dyn TraceSource,
        jobs: NonZeroUsize,
        progress: Option<&Progress>,
    ) -> Result<Report, PassError> {
        let locations = self.locations(source.definitions());
        let (partial, _) = self.fold_until(source, jobs, progress, locations, &|| false)?;
        if progress.is_some_and(Progress::is_cancelled) {
            return Err(PassError::Cancelled);
        }
        self.conclude(source, partial)
    }

    /// Folds some locations in this thread: the unit of work for an engine outside, which merges what it gets of all
    /// of them and concludes.
    ///
    /// # Errors
    /// If an analysis panicked.
    pub fn fold(
        &self,
        source: &dyn TraceSource,
        locations: impl IntoIterator<Item = LocationId>,
    ) -> Result<Partial, PassError> {
        let (partial, reached) = caught(|| {
            let mut folder = Folder::new(source, self).watching_memory();
            for location in locations {
                folder.fold(location, None);
                folder.compact();
                if folder.reached().is_some() {
                    break;
                }
            }
            let reached = folder.reached();
            (folder.into_partial(), reached)
        })?;
        reached.map_or(Ok(partial), |reached| Err(self.too_large(reached)))
    }

    /// Settles a bucket that holds what all locations have in it, see [`Pairing::settle`](crate::Pairing::settle).
    ///
    /// # Errors
    /// If an analysis panicked.
    pub fn settle(&self, bucket: Partial, definitions: &Definitions) -> Result<Partial, PassError> {
        caught(|| self.settled(bucket, definitions))
    }

    /// Finishes the outputs, given all selected locations.
    ///
    /// # Errors
    /// If an analysis panicked.
    pub fn conclude(&self, source: &dyn TraceSource, partial: Partial) -> Result<Report, PassError> {
        let notices = Notices::default();
        notices.extend(source.notices().iter().cloned());
        let locations = partial.locations.clone();
        let events_read = events_of(&partial);
        let outputs = caught(|| self.finish(partial, source.definitions(), &notices))?;
        memory::check().map_err(|reached| self.too_large(reached))?;
        Ok(report(source, &self.filter, locations, events_read, outputs, &notices))
    }

    fn too_large(&self, reached: LimitReached) -> PassError {
        let names: Vec<&str> = self.members.iter().map(|member| member.stamp().0).collect();
        PassError::Memory { holders: names.join(", "), reached }
    }

    /// Folds every selected location in parts, for outputs that may be too large for memory: once `is_full`, no further
    /// location is begun, and the outputs of what is folded so far are handed to `take`, with whether they are the
    /// last. Then the next part begins, with at least one location. The report is on all parts and has no outputs.
    ///
    /// Which locations make a part depends on threads and time: what is made of the outputs must not depend on it.
    ///
    /// # Errors
    /// If it was cancelled, by `take` too, or an analysis panicked.
    pub fn run_in_parts(
        &self,
        source: &dyn TraceSource,
        jobs: NonZeroUsize,
        progress: Option<&Progress>,
        is_full: &(dyn Fn() -> bool + Sync),
        take: &mut dyn FnMut(Outputs, IsLast) -> ControlFlow<()>,
    ) -> Result<Report, PassError> {
        let notices = Notices::default();
        notices.extend(source.notices().iter().cloned());
        let mut locations = BTreeMap::new();
        let mut events_read = 0;
        let mut rest = self.locations(source.definitions());
        loop {
            let (partial, left) = self.fold_until(source, jobs, progress, rest, is_full)?;
            if progress.is_some_and(Progress::is_cancelled) {
                return Err(PassError::Cancelled);
            }
            rest = left;
            locations.extend(partial.locations.iter().map(|(&location, &summary)| (location, summary)));
            events_read += events_of(&partial);
            let outputs = caught(|| self.finish(partial, source.definitions(), &notices))?;
            let is_last = if rest.is_empty() { IsLast::Yes } else { IsLast::No };
            if take(outputs, is_last).is_break() {
                return Err(PassError::Cancelled);
            }
            if is_last == IsLast::Yes {
                return Ok(report(
                    source,
                    &self.filter,
                    locations,
                    events_read,
                    Outputs(Vec::new()),
                    &notices,
                ));
            }
        }
    }

    /// Folds locations until it is full; gives those that are left, at least one fewer than there were.
    fn fold_until(
        &self,
        source: &dyn TraceSource,
        jobs: NonZeroUsize,
        progress: Option<&Progress>,
        locations: Vec<LocationId>,
        is_full: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Partial, Vec<LocationId>), PassError> {
        let n_workers = jobs.get().min(locations.len()).max(1);
        let owners = owners(source.definitions());
        let owner_of = |location: LocationId| owners[location.index()];
        let todo = runs(locations, |location| source.location_bytes(location), owner_of, n_workers);
        let next = AtomicUsize::new(0);
        let is_begun = AtomicBool::new(false);
        let is_over = || is_begun.load(Ordering::Relaxed) && is_full();
        let is_cancelled = || progress.is_some_and(Progress::is_cancelled);
        let work = || {
            let mut folder = Folder::new(source, self).watching_memory();
            let mut left: &[LocationId] = &[];
            while !is_over()
                && let Some(run) = todo.get(next.fetch_add(1, Ordering::Relaxed))
            {
                left = run;
                while let [location, rest @ ..] = left
                    && !is_cancelled()
                    && !is_over()
                    && folder.reached().is_none()
                {
                    is_begun.store(true, Ordering::Relaxed);
                    folder.fold(*location, progress);
                    folder.compact();
                    left = rest;
                }
            }
            let reached = folder.reached();
            (folder.into_partial(), left, reached)
        };
        let work = || {
            let done = caught(work);
            if !matches!(done, Ok((.., None))) {
                // Nothing will come of it: the others need not begin another location.
                next.store(todo.len(), Ordering::Relaxed);
            }
            done
        };
        let done: Vec<_> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..n_workers).map(|_| scope.spawn(work)).collect();
            let own = work();
            let others = others.into_iter().map(|other| other.join().expect("a worker catches its panics"));
            std::iter::once(own).chain(others).collect()
        });
        let mut total = self.empty();
        let n_begun = next.load(Ordering::Relaxed).min(todo.len());
        let mut rest: Vec<LocationId> = todo[n_begun..].concat();
        for done in done {
            let (partial, left, reached) = done?;
            if let Some(reached) = reached.or_else(|| memory::check().err()) {
                return Err(self.too_large(reached));
            }
            rest.extend_from_slice(left);
            caught(|| self.merge(&mut total, partial))??;
        }
        Ok((total, rest))
    }
}

/// Whether more will come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsLast {
    /// Nothing will.
    Yes,
    /// More will.
    No,
}

fn report(
    source: &dyn TraceSource,
    filter: &Filter,
    locations: BTreeMap<LocationId, LocationSummary>,
    events_read: u64,
    outputs: Outputs,
    notices: &Notices,
) -> Report {
    let definitions = source.definitions();
    if locations.is_empty() && !definitions.locations.is_empty() {
        let message = "no location of the trace was selected; there is nothing to analyse";
        notices.push(Notice::new(Level::Medium, NoticeCode::EmptySelection, message));
    }
    let coverage = coverage(definitions.locations.len(), &locations, events_read);
    let run_range = run_range(definitions, &locations);
    let mut seen = Contents::NONE;
    locations.values().for_each(|location| seen |= location.seen);
    let (filter, notices) = (filter.clone(), notices.to_vec());
    Report { filter, outputs, coverage, locations, run_range, seen, notices }
}

/// For each location, the first location of its process: of the same rank, or of the same group where it has none.
fn owners(definitions: &Definitions) -> Vec<u32> {
    let mut firsts = BTreeMap::new();
    let of = |(nth, location): (u32, &Location)| {
        let owner = location.rank.ok_or(location.group);
        *firsts.entry(owner).or_insert(nth)
    };
    (0..).zip(&definitions.locations).map(of).collect()
}

/// Cuts the locations into runs, each for one worker at a time, in the order in which they are handed out.
///
/// Neighbours are folded together, so that an analysis that reduces neighbours (clusters of ranks) can do so in the
/// worker; so are the threads and streams of a process without much of the work, so that an analysis can reduce a process
/// once all of it is read. A location with much of the work goes first, in a run of its own; runs get shorter towards the
/// end, so that no worker waits long for the last one.
fn runs(
    mut locations: Vec<LocationId>,
    bytes_of: impl Fn(LocationId) -> u64,
    owner_of: impl Fn(LocationId) -> u32,
    n_workers: usize,
) -> Vec<Vec<LocationId>> {
    locations.sort_unstable_by_key(|&location| (owner_of(location), location));
    // One for each location: even an empty one is some work. Each is asked once, as a source may ask its file system.
    let costly = locations.into_iter().map(|location| (location, bytes_of(location).saturating_add(1)));
    let costly: Vec<(LocationId, u64)> = costly.collect();
    let costs = |of: &[(LocationId, u64)]| of.iter().fold(0, |sum: u64, it| sum.saturating_add(it.1));
    let total = costs(&costly);
    let share = 4 * n_workers as u64;
    let (mut large, small): (Vec<_>, Vec<_>) = costly.into_iter().partition(|it| total / share < it.1);
    large.sort_by_key(|&(location, cost)| (std::cmp::Reverse(cost), location));
    let mut runs: Vec<Vec<LocationId>> = large.into_iter().map(|it| vec![it.0]).collect();
    let mut remaining = costs(&small);
    let of_owners = small.chunk_by(|a, b| owner_of(a.0) == owner_of(b.0));
    let units = of_owners.flat_map(|unit| match costs(unit) <= total / share {
        true => unit.chunks(unit.len()),
        false => unit.chunks(1),
    });
    let mut run = Vec::new();
    let mut cost = 0;
    for unit in units {
        run.extend(unit.iter().map(|it| it.0));
        cost += costs(unit);
        if remaining / share <= cost {
            remaining -= cost;
            cost = 0;
            runs.push(std::mem::take(&mut run));
        }
    }
    runs.extend((!run.is_empty()).then_some(run));
    runs
}

/// Runs code of analyses; a panic is their fault and becomes an error.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, PassError> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    result.map_err(|panic| PassError::Panicked(panic_text(&*panic)))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("an analysis panicked")
        .to_owned()
}

fn events_of(partial: &Partial) -> u64 {
    partial.folded().values().map(|location| location.n_events).sum()
}

fn coverage(
    n_locations: usize,
    locations: &BTreeMap<LocationId, LocationSummary>,
    events_read: u64,
) -> Coverage {
    let damaged = locations.values().filter(|l| l.end == LocationEnd::Damaged).count() as u64;
    Coverage {
        locations: n_locations as u64,
        locations_selected: locations.len() as u64,
        locations_complete: locations.len() as u64 - damaged,
        locations_damaged: damaged,
        events_read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(bytes: &[u64], n_workers: usize) -> Vec<Vec<usize>> {
        let locations = (0..bytes.len()).map(LocationId::from_index).collect();
        let runs = runs(locations, |location| bytes[location.index()], |location| location.0, n_workers);
        runs.into_iter().map(|run| run.into_iter().map(LocationId::index).collect()).collect()
    }

    #[test]
    fn runs_are_of_neighbours_and_get_shorter() {
        let runs = cut(&[10; 100], 2);
        assert!(runs.iter().flatten().copied().eq(0..100), "in order, each once");
        assert!(runs.len() < 50, "{runs:?}");
        assert!(runs.windows(2).all(|w| w[1].len() <= w[0].len()), "{runs:?}");
        assert_eq!(runs.last().map(Vec::len), Some(1));
    }

    #[test]
    fn much_work_goes_alone_and_first() {
        let mut bytes = [10; 100];
        bytes[70] = 10_000;
        bytes[99] = 20_000;
        let runs = cut(&bytes, 2);
        assert_eq!(runs[..2], [vec![99], vec![70]]);
        let mut all: Vec<usize> = runs.into_iter().flatten().collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..100));
    }

    #[test]
    fn a_process_is_one_run_if_it_has_little_of_the_work() {
        let processes = |n_processes: u32, location: LocationId| location.0 % n_processes;
        let cut = |n_processes| {
            let locations = (0..120).map(LocationId).collect();
            runs(locations, |_| 10, |location| processes(n_processes, location), 2)
        };
        for run in cut(30) {
            let mut of: Vec<u32> = run.iter().map(|&location| processes(30, location)).collect();
            assert!(of.is_sorted(), "{run:?}");
            of.dedup();
            assert_eq!(4 * of.len(), run.len(), "{run:?}");
        }
        // Two processes with half of the work each are divided.
        assert!(4 < cut(2).len());
    }

    #[test]
    fn nothing_is_nothing() {
        assert!(cut(&[], 4).is_empty());
        assert_eq!(cut(&[0, 0], 1).concat(), [0, 1]);
    }
}
