//! The events of a selection in order, for those who keep nothing of them.
//!
//! ```text
//! source ──location after location──► nesting ──chunk──► EventSink
//! ```
//! One thread. A sink is no [`Analysis`]: it has no partial, so it cannot join a set or go to another process. Inside of
//! the engine it takes the seat of one, so that both see the same events; that form is not visible outside.

use crate::analysis::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Scope};
use crate::erased::AnalysisSet;
use crate::fold::Folder;
use crate::pass::{PassError, Report, caught};
use crate::progress::Progress;
use ouzel_model::{
    Contents, EventChunk, EventSink, Filter, LocationId, Needs, Notice, Remap, TimeRange, TraceSource,
};
use std::sync::{Arc, Mutex, PoisonError};

/// What a list gives back.
#[derive(Debug)]
pub struct Listed<S: EventSink> {
    /// The sink.
    pub sink: S,
    /// The error with which it stopped, if it did.
    pub outcome: Result<(), S::Error>,
    /// What was read. It has no outputs.
    pub report: Report,
    /// What went wrong while reading: the notices of the report without those of the source.
    pub notices: Vec<Notice>,
}

/// Hands the events that `filter` selects to `sink`, in the order of `locations`, until it takes no more or `progress`
/// is cancelled. Calls that overlap the time range are whole if the filter keeps them so: their enters may lie before
/// the range and their leaves after it; other events never do.
///
/// # Errors
/// If the sink panicked.
pub fn list<S: EventSink>(
    source: &dyn TraceSource,
    filter: &Filter,
    locations: impl IntoIterator<Item = LocationId>,
    sink: S,
    progress: Option<&Progress>,
) -> Result<Listed<S>, PassError> {
    let shared = Arc::new(Mutex::new(State { sink, outcome: Ok(()) }));
    let set = seated(&shared).prepare(source.definitions(), filter);
    let report = caught(|| {
        let mut folder = Folder::listing(source, &set);
        for location in locations {
            if lock(&shared).outcome.is_err() || progress.is_some_and(Progress::is_cancelled) {
                break;
            }
            folder.fold(location, progress);
        }
        folder.into_partial()
    })
    .and_then(|partial| {
        let notices = partial.notices.to_vec();
        Ok((set.conclude(source, partial)?, notices))
    });
    let (report, notices) = report?;
    drop(set);
    let shared = Arc::into_inner(shared).expect("the sets, which are the other owners, are gone");
    let State { sink, outcome } = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Listed { sink, outcome, report, notices })
}

/// The sink as the only member of a set, behind what it sees of events that are not selected.
fn seated<S: EventSink>(shared: &Shared<S>) -> AnalysisSet {
    let mut set = AnalysisSet::default();
    let surveys = lock(shared).sink.survey_needs();
    if let Some(needs) = surveys {
        set.add_silent(Survey(Arc::clone(shared), needs));
    }
    set.add_silent(Seat(Arc::clone(shared)));
    set
}

struct State<S: EventSink> {
    sink: S,
    outcome: Result<(), S::Error>,
}

type Shared<S> = Arc<Mutex<State<S>>>;

fn lock<S: EventSink>(shared: &Shared<S>) -> std::sync::MutexGuard<'_, State<S>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: EventSink> State<S> {
    /// Does `work`, which may fail, unless something failed before.
    fn with(&mut self, work: impl FnOnce(&mut S) -> Result<(), S::Error>) {
        if self.outcome.is_ok() {
            self.outcome = work(&mut self.sink);
        }
    }
}

/// A sink among analyses.
struct Seat<S: EventSink>(Shared<S>);

impl<S: EventSink> Analysis for Seat<S> {
    type Local = ();
    type Partial = ();
    type Output = ();
    const NAME: &'static str = "sink";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        lock(&self.0).sink.needs()
    }
    fn speaks_of(&self) -> Contents {
        Contents::NONE
    }
    fn empty(&self) {}
    fn begin(&self, cx: &LocationCx<'_>) {
        lock(&self.0).with(|sink| sink.begin(cx.location, cx.definitions));
    }
    fn fold(&self, (): &mut (), chunk: &EventChunk<'_>) {
        lock(&self.0).with(|sink| sink.take(chunk));
    }
    fn end(&self, (): (), _: &LocationCx<'_>, _: &LocationSummary, (): &mut ()) {
        lock(&self.0).with(S::end);
    }
    fn remap(&self, (): &mut (), _: &Remap) {}
    fn merge(&self, (): &mut (), (): ()) {}
    fn finish(&self, (): (), _: &FinishCx<'_>) -> Result<(), AnalysisError> {
        Ok(())
    }
}

/// What a sink sees of the events around those selected. Wider views of a chunk come first.
struct Survey<S: EventSink>(Shared<S>, Needs);

impl<S: EventSink> Analysis for Survey<S> {
    type Local = (LocationId, Option<TimeRange>);
    type Partial = ();
    type Output = ();
    const NAME: &'static str = "survey";
    const PARTIAL_VERSION: u32 = 1;
    const SCOPE: Scope = Scope::Locations;

    fn needs(&self) -> Needs {
        self.1
    }
    fn speaks_of(&self) -> Contents {
        Contents::NONE
    }
    fn empty(&self) {}
    fn begin(&self, cx: &LocationCx<'_>) -> Self::Local {
        (cx.location, cx.selected.window)
    }
    fn fold(&self, &mut (location, window): &mut Self::Local, chunk: &EventChunk<'_>) {
        lock(&self.0).sink.survey(location, chunk, window);
    }
    fn end(&self, _: Self::Local, _: &LocationCx<'_>, _: &LocationSummary, (): &mut ()) {}
    fn remap(&self, (): &mut (), _: &Remap) {}
    fn merge(&self, (): &mut (), (): ()) {}
    fn finish(&self, (): (), _: &FinishCx<'_>) -> Result<(), AnalysisError> {
        Ok(())
    }
}
