//! Every call of a selection, in batches: a table as long as the trace, never whole in memory.

use crate::{Answer, AskError, Options, Trace};
use ouzel_analyses::calls::CallList;
use ouzel_engine::{PassError, Progress, Report, list};
use ouzel_model::{Borders, Filter, MetricId, Table};
use std::ops::ControlFlow;
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
        let selection = filter.resolve(definitions);
        let keeps = filter.borders == Borders::Keep;
        // A counter's gain in a whole call depends on its values outside the range.
        let time_ns = filter.time_ns.filter(|_| !keeps || metrics.is_empty());
        let to_read = Filter { time_ns, ..filter.clone() };
        let (sender, receiver) = sync_channel(1);
        let calls = CallList::new(definitions, metrics, selection.window.filter(|_| keeps), sender);
        let read = || {
            let listed = list(self.source(), &to_read, selection.locations, calls, *progress)?;
            Ok::<Report, PassError>(Report { filter: filter.clone(), ..listed.report })
        };
        let mut n_rows = 0;
        let report = std::thread::scope(|scope| {
            let reader = scope.spawn(read);
            for batch in receiver {
                n_rows += batch.len() as u64;
                if take(batch.into_table(definitions, metrics)).is_break() {
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
