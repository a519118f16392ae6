//! Every call of a selection, in batches: a table as long as the trace, never whole in memory.

use crate::{Answer, AskError, Options, Trace};
use ouzel_analyses::calls::CallList;
use ouzel_engine::{AnalysisSet, Folder, PassError, Progress, Report};
use ouzel_model::{Borders, Filter, MetricId, Table, TimeRange};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

impl Trace {
    /// Hands the calls of the selection to `take`, in batches of some 65,536 rows, until it breaks off; see
    /// [`calls`](ouzel_analyses::calls) for what a row is. The answer is the number of rows handed over.
    ///
    /// Locations come in the order of the trace, the calls of a location as they end. One thread reads while `take`
    /// works; three batches are in memory at most. Calls that overlap the time range of the filter are whole unless it
    /// trims them. `metrics` are accumulated integer counters.
    ///
    /// # Errors
    /// If it was cancelled, or an analysis broke its contract.
    pub fn calls(
        &self,
        metrics: &[MetricId],
        options: &Options<'_>,
        mut take: impl FnMut(Table) -> ControlFlow<()>,
    ) -> Result<Answer<u64>, AskError> {
        let Options { filter, progress, .. } = options;
        let definitions = self.definitions();
        let keeps = filter.borders == Borders::Keep;
        let window = filter.time_ns.filter(|_| keeps).map(|(start, end)| {
            let ticks = |ns| definitions.clock.ticks_from_ns(ns);
            TimeRange { start: ticks(start), end: ticks(end) }
        });
        // A counter's gain in a whole call depends on its values outside the range.
        let time_ns = filter.time_ns.filter(|_| !keeps || metrics.is_empty());
        let to_read = Filter { time_ns, ..filter.clone() };
        let (sender, receiver) = sync_channel(1);
        let mut set = AnalysisSet::default();
        set.add(CallList::new(definitions, metrics, window, sender));
        let is_over = AtomicBool::new(false);
        let read = || -> Result<Report, PassError> {
            // Owned here, so that the channel closes at the end.
            let set = set;
            let mut folder = Folder::listing(self.source(), &set, &to_read);
            for location in filter.locations(definitions) {
                if is_over.load(Ordering::Relaxed) || progress.is_some_and(Progress::is_cancelled) {
                    break;
                }
                folder.fold(location, *progress);
            }
            set.conclude(self.source(), folder.into_partial())
        };
        let mut n_rows = 0;
        let report = std::thread::scope(|scope| {
            let reader = scope.spawn(read);
            for batch in receiver {
                n_rows += batch.len() as u64;
                if take(batch.into_table(definitions, metrics)).is_break() {
                    is_over.store(true, Ordering::Relaxed);
                    break;
                }
            }
            let panicked = |_| Err(PassError::Panicked("the list of calls panicked".to_owned()));
            reader.join().unwrap_or_else(panicked)
        })?;
        if progress.is_some_and(Progress::is_cancelled) {
            return Err(PassError::Cancelled.into());
        }
        Ok(Answer::new(n_rows, report))
    }
}
