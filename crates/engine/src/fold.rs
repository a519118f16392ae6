//! Folding locations into a partial: what one worker does.

use crate::analysis::{LocationCx, LocationEnd, LocationSummary};
use crate::erased::{AnalysisSet, DynAnalysis, Erased};
use crate::nesting::{Nesting, Repairs, Selection};
use crate::partial::Partial;
use crate::progress::Progress;
use crate::sampled_calls::{Frames, SampledCalls};
use crate::verdicts::{CallVerdicts, PathVerdicts, Survey, Verdicts};
use ouzel_model::{
    Borders, CallPathTree, CallTest, ChunkBuffer, Content, Contents, EventKind, Filter, Level, LocationId,
    LocationKind, LocationTests, Needs, Notice, NoticeCode, ReadError, ReadPlan, Ticks, TimeRange,
    TraceSource,
};

/// Folds one location after the other into a partial, reusing its buffers.
///
/// This is also the unit of work for an engine outside: fold some locations, send the partial, merge.
pub struct Folder<'a> {
    source: &'a dyn TraceSource,
    set: &'a AnalysisSet,
    plan: ReadPlan,
    /// For locations that hold nothing but samples.
    sampled_plan: ReadPlan,
    /// The frames of samples, once a location needs them.
    frames: Option<Frames>,
    selection: Selection,
    /// What calls must be like to be shown, if not everything is.
    tests: Option<LocationTests>,
    /// Metrics that they speak of and that are none of the trace.
    unknown_metrics: Vec<String>,
    buffer: ChunkBuffer,
    /// Calls made of samples.
    calls: ChunkBuffer,
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
    ///
    /// Calls that reach over a border of the time range are cut to it, whatever the filter says of listings.
    pub fn new(source: &'a dyn TraceSource, set: &'a AnalysisSet, filter: &Filter) -> Self {
        Folder::with_borders(source, set, filter, Borders::Trim)
    }

    /// A folder for analyses that list events: calls that overlap the time range are shown whole if the filter keeps
    /// them so. Their enters may lie before the range and their leaves behind it; other events never do.
    pub fn listing(source: &'a dyn TraceSource, set: &'a AnalysisSet, filter: &Filter) -> Self {
        Folder::with_borders(source, set, filter, filter.borders)
    }

    fn with_borders(
        source: &'a dyn TraceSource,
        set: &'a AnalysisSet,
        filter: &Filter,
        borders: Borders,
    ) -> Self {
        let tests = filter.location_tests(source.definitions());
        // Readers may leave out what lies outside of the range, or cut it: not where whole calls matter.
        let wants_whole = borders == Borders::Keep || tests.as_ref().is_some_and(LocationTests::needs_end);
        let time_ns = filter.time_ns.filter(|_| !wants_whole);
        let to_read = Filter { time_ns, ..filter.clone() };
        Folder {
            source,
            set,
            plan: source.plan(set.needs(), &to_read),
            sampled_plan: source.plan(set.needs() | Needs::SAMPLES, &to_read),
            frames: None,
            selection: selection(source, filter, borders),
            tests,
            unknown_metrics: filter.unknown_metrics(source.definitions()),
            buffer: ChunkBuffer::default(),
            calls: ChunkBuffer::default(),
            partial: set.empty(),
        }
    }

    /// Folds one location. Damage ends the location, not the run.
    ///
    /// # Panics
    /// If the location was folded before.
    pub fn fold(&mut self, location: LocationId, progress: Option<&Progress>) {
        assert!(!self.partial.locations.contains_key(&location), "a location is folded once");
        // Whoever asks for samples sees them; the others see the calls made of them.
        let wants_calls = |member: &dyn DynAnalysis| !member.needs().contains(Needs::SAMPLES);
        if self.source.is_sampled(location) && self.set.members.iter().any(|member| wants_calls(&**member)) {
            self.frames.get_or_insert_with(|| Frames::new(self.source.definitions()));
            let verdicts = self.verdicts(location, progress);
            self.fold_sampled(location, verdicts, progress);
        } else {
            let verdicts = self.verdicts(location, progress);
            self.fold_recorded(location, verdicts, progress);
        }
    }

    /// Which calls of the location are shown. Reads it if that depends on how its calls end.
    fn verdicts(&mut self, location: LocationId, progress: Option<&Progress>) -> Verdicts<'a> {
        let definitions = self.source.definitions();
        let Some(tests) = &self.tests else { return Verdicts::All };
        for name in &self.unknown_metrics {
            let message = format!("no counter of the trace is named {name:?}: no call passes a test of it");
            self.partial.notices.push(Notice::new(Level::Medium, NoticeCode::NotAvailable, message));
        }
        let test = tests.at(definitions, location);
        if test.is_always() {
            Verdicts::All
        } else if test.needs_end() {
            Verdicts::OfCalls(self.survey(location, test, progress))
        } else {
            Verdicts::OfPaths(PathVerdicts::new(test, definitions))
        }
    }

    /// Reads the location for verdicts on whole calls.
    fn survey(&mut self, location: LocationId, test: CallTest, progress: Option<&Progress>) -> CallVerdicts {
        let definitions = self.source.definitions();
        let is_sampled = self.source.is_sampled(location) && self.frames.is_some();
        let needs = if test.needs_metrics() { Needs::METRICS } else { Needs::NOTHING };
        let plan =
            self.source.plan(if is_sampled { needs | Needs::SAMPLES } else { needs }, &Filter::default());
        let everything = selection(self.source, &Filter::default(), Borders::Trim);
        let mut nesting = Nesting::new(&everything, Verdicts::All, needs);
        let mut survey = Survey::new(test, definitions);
        let mut sampled = SampledCalls::new();
        // Notices come from the pass proper, progress too.
        let nothing = AnalysisSet::default();
        let mut scratch = nothing.empty();
        let Folder { source, frames, buffer, calls, .. } = self;
        let frames = frames.as_ref().filter(|_| is_sampled);
        let read = Read { source: *source, location, plan: &plan, progress: None };
        read.all(buffer, &mut scratch, |buffer, scratch| {
            let rows = match frames {
                Some(frames) => {
                    sampled.derive(frames, buffer, calls);
                    &mut *calls
                }
                None => buffer,
            };
            nesting.nest(&mut scratch.call_paths, rows);
            survey.see(&rows.view());
            progress.is_some_and(Progress::is_cancelled)
        });
        buffer.clear();
        if let Some(frames) = frames {
            sampled.end(frames, buffer);
            nesting.nest(&mut scratch.call_paths, buffer);
            survey.see(&buffer.view());
            buffer.clear();
        }
        nesting.end(buffer);
        survey.see(&buffer.view());
        survey.into_verdicts()
    }

    fn fold_recorded(&mut self, location: LocationId, verdicts: Verdicts<'a>, progress: Option<&Progress>) {
        let Folder { source, set, plan, selection, buffer, partial, .. } = self;
        let cx = LocationCx { location, definitions: source.definitions() };
        let nesting = Nesting::new(selection, verdicts, plan.needs);
        let mut view = View::new(set, nesting, &cx, |_| true);
        let read = Read { source: *source, location, plan, progress };
        let outcome = read.all(buffer, partial, |buffer, partial| {
            view.show(set, &mut partial.call_paths, buffer);
            view.nesting.is_finished()
        });
        view.close(set, buffer);
        let mut fold = Fold { set, selection, cx: &cx, partial };
        let summary = fold.summary(&outcome, view.seen);
        fold.end(view, &summary);
        partial.locations.insert(location, summary);
    }

    fn fold_sampled(&mut self, location: LocationId, verdicts: Verdicts<'a>, progress: Option<&Progress>) {
        let Folder { source, set, sampled_plan: plan, frames, selection, buffer, calls, partial, .. } = self;
        let frames = frames.as_ref().expect("made before the first location that needs them");
        let cx = LocationCx { location, definitions: source.definitions() };
        let of_samples = |member: &dyn DynAnalysis| member.needs().contains(Needs::SAMPLES);
        let nesting = |verdicts| Nesting::new(selection, verdicts, plan.needs);
        let mut raw = View::new(set, nesting(Verdicts::All), &cx, of_samples);
        let mut view = View::new(set, nesting(verdicts), &cx, |member| !of_samples(member));
        let mut sampled = SampledCalls::new();
        let read = Read { source: *source, location, plan, progress };
        let outcome = read.all(buffer, partial, |buffer, partial| {
            sampled.derive(frames, buffer, calls);
            view.show(set, &mut partial.call_paths, calls);
            if !raw.is_empty() {
                raw.show(set, &mut partial.call_paths, buffer);
            }
            view.nesting.is_finished()
        });
        if !view.nesting.is_finished() {
            sampled.end(frames, calls);
            view.show(set, &mut partial.call_paths, calls);
        }
        view.close(set, calls);
        raw.close(set, buffer);
        if sampled.has_sample() {
            partial.notices.push(uncertain_calls(cx.definitions.location(location).kind));
        }
        let mut seen = view.seen;
        seen |= raw.seen;
        let mut fold = Fold { set, selection, cx: &cx, partial };
        let summary = fold.summary(&outcome, seen);
        fold.end(view, &summary);
        fold.end(raw, &summary);
        partial.locations.insert(location, summary);
    }

    /// The state of every location folded.
    pub fn into_partial(self) -> Partial {
        self.partial
    }
}

/// Some of the analyses, and what they see of a location.
struct View<'p> {
    /// State of member `i`; `None` if it looks elsewhere.
    locals: Vec<Option<Erased>>,
    nesting: Nesting<'p>,
    seen: Contents,
}

impl<'p> View<'p> {
    fn new(
        set: &AnalysisSet,
        nesting: Nesting<'p>,
        cx: &LocationCx<'_>,
        is_member: impl Fn(&dyn DynAnalysis) -> bool,
    ) -> Self {
        let members = set.members.iter();
        let locals = members.map(|member| is_member(&**member).then(|| member.begin(cx))).collect();
        View { locals, nesting, seen: Contents::NONE }
    }

    fn is_empty(&self) -> bool {
        self.locals.iter().all(Option::is_none)
    }

    /// Nests a chunk and folds it.
    fn show(&mut self, set: &AnalysisSet, call_paths: &mut CallPathTree, buffer: &mut ChunkBuffer) {
        self.nesting.nest(call_paths, buffer);
        self.fold(set, buffer);
    }

    /// Closes what is open behind the last chunk.
    fn close(&mut self, set: &AnalysisSet, buffer: &mut ChunkBuffer) {
        buffer.clear();
        self.nesting.end(buffer);
        self.fold(set, buffer);
    }

    fn fold(&mut self, set: &AnalysisSet, buffer: &ChunkBuffer) {
        if buffer.is_empty() {
            return;
        }
        note(&mut self.seen, buffer);
        for (member, local) in set.members.iter().zip(&mut self.locals) {
            if let Some(local) = local {
                member.fold(local, &buffer.view());
            }
        }
    }
}

/// Notes what a chunk holds.
fn note(seen: &mut Contents, buffer: &ChunkBuffer) {
    let mut note = |content, is_there: bool| {
        if is_there {
            seen.insert(content);
        }
    };
    note(Content::Messages, !(buffer.sends.is_empty() && buffer.recvs.is_empty()));
    note(Content::Collectives, !buffer.collectives.is_empty());
    note(Content::Counters, !buffer.metrics.is_empty());
    note(Content::Samples, !buffer.samples.is_empty());
    note(Content::Links, !buffer.links.is_empty());
    if !seen.contains(Content::Calls) && buffer.kind.contains(&EventKind::Enter) {
        seen.insert(Content::Calls);
    }
}

/// The reading of one location.
struct Read<'r> {
    source: &'r dyn TraceSource,
    location: LocationId,
    plan: &'r ReadPlan,
    progress: Option<&'r Progress>,
}

/// How the reading of a location went.
struct Outcome {
    records: Records,
    error: Option<ReadError>,
}

impl Read<'_> {
    /// Reads chunk by chunk until `take` wants no more.
    fn all(
        &self,
        buffer: &mut ChunkBuffer,
        partial: &mut Partial,
        mut take: impl FnMut(&mut ChunkBuffer, &mut Partial) -> bool,
    ) -> Outcome {
        let Read { source, location, plan, progress } = *self;
        let mut records = Records::default();
        let mut meter = Meter::new(progress, source.location_bytes(location));
        let outcome = source.open(location, plan).and_then(|mut reader| {
            let outcome = loop {
                buffer.clear();
                let more = reader.read(buffer);
                records.add(buffer);
                let is_finished = take(buffer, partial);
                meter.advance();
                // Damage behind the end of the time range costs nothing that was asked for.
                if is_finished || meter.is_cancelled() {
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
        meter.finish();
        Outcome { records, error: outcome.err() }
    }
}

/// The end of the fold of one location.
struct Fold<'f> {
    set: &'f AnalysisSet,
    selection: &'f Selection,
    cx: &'f LocationCx<'f>,
    partial: &'f mut Partial,
}

impl Fold<'_> {
    fn summary(&self, outcome: &Outcome, seen: Contents) -> LocationSummary {
        let Outcome { records, error } = outcome;
        if let Some(error) = error {
            self.partial.notices.push(damage(self.cx, error, records.n_events));
        }
        let end = if error.is_some() { LocationEnd::Damaged } else { LocationEnd::Complete };
        let span = records.span_inside(self.selection.time);
        LocationSummary { n_events: records.n_events, span, end, seen }
    }

    fn end(&mut self, view: View<'_>, summary: &LocationSummary) {
        let Fold { set, cx, partial, .. } = self;
        report_repairs(partial, cx, view.nesting.repairs);
        for ((member, local), slot) in set.members.iter().zip(view.locals).zip(&mut partial.slots) {
            if let Some(local) = local {
                member.end(local, cx, summary, slot);
            }
        }
    }
}

/// What calls made of samples cannot tell; one notice for each kind of location.
fn uncertain_calls(kind: LocationKind) -> Notice {
    let of = match kind {
        LocationKind::CpuThread => "CPU threads",
        LocationKind::AcceleratorStream => "accelerator streams",
        LocationKind::Metric => "metric sources",
        LocationKind::Unknown => "locations of unknown kind",
    };
    let message = format!(
        "calls of {of} are made of samples: times are exact to the sampling period only, and visits are lower bounds"
    );
    Notice::new(Level::Low, NoticeCode::UncertainInstances, message)
}

/// The filter, resolved against the definitions.
fn selection(source: &dyn TraceSource, filter: &Filter, borders: Borders) -> Selection {
    let definitions = source.definitions();
    let clock = &definitions.clock;
    let ticks = |ns| clock.ticks_from_ns(ns);
    let time = filter.time_ns.map(|(start, end)| TimeRange { start: ticks(start), end: ticks(end) });
    let regions = filter.regions_kept(definitions);
    Selection { time, borders, regions, stand_in: definitions.filtered_region }
}

/// The records of a location, with or without rows, whatever the filter.
#[derive(Debug, Default)]
struct Records {
    n_events: u64,
    span: Option<(Ticks, Ticks)>,
}

impl Records {
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

fn damage(cx: &LocationCx<'_>, error: &ReadError, n_events: u64) -> Notice {
    let LocationCx { location, definitions } = *cx;
    let name = &definitions.location(location).name;
    let message = format!(
        "events of location {name:?} cannot be read further ({}); {n_events} events before were kept",
        error.reason
    );
    Notice::new(Level::High, NoticeCode::DamagedEvents, message)
        .in_file(error.file.clone())
        .at(error.offset)
        .on(location)
}

fn report_repairs(partial: &Partial, cx: &LocationCx<'_>, repairs: Repairs) {
    let LocationCx { location, definitions } = *cx;
    let name = &definitions.location(location).name;
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
