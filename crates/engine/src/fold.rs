//! Folding locations into a partial: what one worker does.

use crate::analysis::{LocationCx, LocationEnd, LocationSummary};
use crate::erased::{AnalysisSet, Erased};
use crate::nesting::{Nesting, Repairs, Selection};
use crate::partial::Partial;
use crate::progress::Progress;
use ouzel_model::{
    ChunkBuffer, Filter, Level, LocationId, Notice, NoticeCode, ReadError, ReadPlan, Ticks, TimeRange,
    TraceSource,
};

/// Folds one location after the other into a partial, reusing its buffers.
///
/// This is also the unit of work for an engine outside: fold some locations, send the partial, merge.
pub struct Folder<'a> {
    source: &'a dyn TraceSource,
    set: &'a AnalysisSet,
    plan: ReadPlan,
    selection: Selection,
    buffer: ChunkBuffer,
    partial: Partial,
}

impl std::fmt::Debug for Folder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Folder")
            .field("set", self.set)
            .field("partial", &self.partial)
            .finish_non_exhaustive()
    }
}

impl<'a> Folder<'a> {
    /// A folder that has seen nothing. Every folder of a pass is made with the same set and filter.
    pub fn new(source: &'a dyn TraceSource, set: &'a AnalysisSet, filter: &Filter) -> Self {
        let plan = source.plan(set.needs(), filter);
        let selection = selection(source, filter);
        Folder { source, set, plan, selection, buffer: ChunkBuffer::default(), partial: set.empty() }
    }

    /// Folds one location. Damage ends the location, not the run.
    ///
    /// # Panics
    /// If the location was folded before.
    pub fn fold(&mut self, location: LocationId, progress: Option<&Progress>) {
        let Folder { source, set, plan, selection, buffer, partial } = self;
        assert!(!partial.locations.contains_key(&location), "a location is folded once");
        let cx = LocationCx { location, definitions: source.definitions() };
        let mut nesting = Nesting::new(selection, plan.needs);
        let mut locals: Vec<Erased> = set.members.iter().map(|member| member.begin(&cx)).collect();
        let mut seen = Seen::default();
        let mut fold_chunk = |buffer: &ChunkBuffer| {
            if !buffer.is_empty() {
                for (member, local) in set.members.iter().zip(&mut locals) {
                    member.fold(local, &buffer.view());
                }
            }
        };
        let mut meter = Meter::new(progress, source.location_bytes(location));
        let outcome = source.open(location, plan).and_then(|mut reader| {
            let outcome = loop {
                buffer.clear();
                let more = reader.read(buffer);
                seen.add(buffer);
                nesting.nest(&mut partial.call_paths, buffer);
                fold_chunk(buffer);
                meter.advance();
                // Damage behind the end of the time range costs nothing that was asked for.
                if nesting.is_finished() || meter.is_cancelled() {
                    break Ok(());
                }
                match more {
                    Ok(true) => {}
                    other => break other.map(|_| ()),
                }
            };
            partial.notices.extend(reader.notices());
            outcome
        });
        buffer.clear();
        nesting.end(buffer);
        fold_chunk(buffer);
        meter.finish();
        let end = match outcome {
            Ok(()) => LocationEnd::Complete,
            Err(error) => {
                partial.notices.push(damage(location, &cx, &error, seen.n_events));
                LocationEnd::Damaged
            }
        };
        report_repairs(partial, location, &cx, nesting.repairs);
        let summary =
            LocationSummary { n_events: seen.n_events, span: seen.span_inside(selection.time), end };
        for ((member, local), slot) in set.members.iter().zip(locals).zip(&mut partial.slots) {
            member.end(local, &cx, &summary, slot);
        }
        partial.locations.insert(location, summary);
    }

    /// The state of every location folded.
    pub fn into_partial(self) -> Partial {
        self.partial
    }
}

/// The filter, resolved against the definitions.
fn selection(source: &dyn TraceSource, filter: &Filter) -> Selection {
    let definitions = source.definitions();
    let clock = &definitions.clock;
    let ticks = |ns| clock.ticks_from_ns(ns);
    let time = filter.time_ns.map(|(start, end)| TimeRange { start: ticks(start), end: ticks(end) });
    let regions = filter.regions_kept(definitions).map(|kept| (kept, definitions.filtered_region));
    Selection { time, regions }
}

/// The records of a location, with or without rows, whatever the filter.
#[derive(Debug, Default)]
struct Seen {
    n_events: u64,
    span: Option<(Ticks, Ticks)>,
}

impl Seen {
    /// Adds a chunk fresh from the reader.
    fn add(&mut self, buffer: &ChunkBuffer) {
        self.n_events += buffer.n_records;
        let of_rows = || Some((*buffer.time.first()?, *buffer.time.last()?));
        if let Some((first, last)) = buffer.span.or_else(of_rows) {
            self.span = Some(self.span.map_or((first, last), |(a, b)| (a.min(first), b.max(last))));
        }
    }

    /// The part of the span that lies in `range`. Taken of the whole span, as chunk borders carry no meaning.
    fn span_inside(&self, range: Option<TimeRange>) -> Option<(Ticks, Ticks)> {
        let (first, last) = self.span?;
        let Some(range) = range else { return Some((first, last)) };
        (first < range.end && range.start <= last && range.start < range.end)
            .then(|| (first.max(range.start), last.min(range.end)))
    }
}

/// Tells the progress of one location in bytes, though the reader only tells events.
struct Meter<'p> {
    progress: Option<&'p Progress>,
    bytes: u64,
    told: u64,
}

/// Bytes that a chunk of events takes in a typical trace; only for the progress bar, which is made whole at the end.
const CHUNK_BYTES: u64 = 14 * ouzel_model::CHUNK_EVENTS as u64;

impl<'p> Meter<'p> {
    fn new(progress: Option<&'p Progress>, bytes: u64) -> Self {
        Meter { progress, bytes, told: 0 }
    }

    fn advance(&mut self) {
        let step = CHUNK_BYTES.min(self.bytes - self.told);
        self.told += step;
        if let Some(progress) = self.progress {
            progress.add(step);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.progress.is_some_and(Progress::is_cancelled)
    }

    fn finish(self) {
        if let Some(progress) = self.progress {
            progress.add(self.bytes - self.told);
        }
    }
}

fn damage(location: LocationId, cx: &LocationCx<'_>, error: &ReadError, n_events: u64) -> Notice {
    let name = &cx.definitions.location(location).name;
    let message = format!(
        "events of location {name:?} cannot be read further ({}); {n_events} events before were kept",
        error.reason
    );
    Notice::new(Level::High, NoticeCode::DamagedEvents, message)
        .in_file(error.file.clone())
        .at(error.offset)
        .on(location)
}

fn report_repairs(partial: &Partial, location: LocationId, cx: &LocationCx<'_>, repairs: Repairs) {
    let name = &cx.definitions.location(location).name;
    let Repairs { unmatched_leaves, truncated_calls, open_calls } = repairs;
    let report = |count: u64, level, code, what: &str| {
        if 0 < count {
            let message = format!("location {name:?}: {what}");
            partial.notices.push(Notice::new(level, code, message).times(count).on(location));
        }
    };
    report(
        unmatched_leaves,
        Level::Medium,
        NoticeCode::UnmatchedLeaves,
        "a region was left that had not been entered; the leave was dropped",
    );
    report(
        truncated_calls,
        Level::Medium,
        NoticeCode::TruncatedCalls,
        "a call had no leave and was closed together with its caller",
    );
    report(
        open_calls,
        Level::Low,
        NoticeCode::OpenCalls,
        "a call was still open at the end and was closed at the last time stamp",
    );
}
