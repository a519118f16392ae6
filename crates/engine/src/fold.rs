//! Folding locations into a partial: what one worker does.

use crate::analysis::{LocationCx, LocationEnd, LocationSummary, Scope, Selected};
use crate::erased::{DynAnalysis, Erased, Prepared};
use crate::nesting::{Cut, Hidden, Nesting, Repairs};
use crate::partial::{Partial, Whole};
use crate::processor_time::ProcessorTime;
use crate::progress::Progress;
use crate::sampled_calls::{Frames, SampledCalls};
use crate::verdicts::{CallVerdicts, PathVerdicts, Survey, Verdicts};
use ouzel_files::memory::{LimitReached, Watch};
use ouzel_model::units::count;
use ouzel_model::{
    Borders, CallPathTree, CallTest, ChunkBuffer, Content, Contents, Definitions, EventKind, Filter, Level,
    LocationId, LocationKind, LocationTests, MessageEnd, Needs, Notice, NoticeCode, ReadError, ReadPlan,
    Ticks, TimeRange, TraceSource,
};

/// Folds one location after the other into a partial, reusing its buffers.
///
/// This is also the unit of work for an external engine: fold some locations, send the partial, merge.
pub struct Folder<'a> {
    source: &'a dyn TraceSource,
    set: &'a Prepared,
    plan: ReadPlan,
    /// For locations that hold nothing but samples.
    sampled_plan: ReadPlan,
    /// The frames of samples, once a location needs them.
    frames: Option<Frames>,
    cut: Cut,
    /// How members of a wider scope see the trace, if there is a selection and there are such members.
    whole: Option<Cut>,
    /// For each location whether it is selected.
    is_selected: Vec<bool>,
    /// What calls must satisfy to be shown, if not everything is.
    tests: Option<&'a LocationTests>,
    /// What the filter names and the trace does not have: reported with the first location of the selection, so that
    /// all folders of a pass together report it once.
    unmatched: Option<(LocationId, &'a [Notice])>,
    buffer: ChunkBuffer,
    /// Calls made of samples.
    calls: ChunkBuffer,
    /// A chunk as members of a wider scope see it.
    wide: ChunkBuffer,
    partial: Partial,
    /// Checks the memory limit, if requested.
    watch: Option<Watch>,
    reached: Option<LimitReached>,
}

impl std::fmt::Debug for Folder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Folder")
            .field("set", self.set)
            .field("partial", &self.partial)
            .finish_non_exhaustive()
    }
}

/// What calls are made of where samples show them: teams say when a thread is in none, processor time when it did not run.
fn needs_of_samples(definitions: &Definitions) -> Needs {
    let needs = Needs::SAMPLES | Needs::THREADS;
    if ProcessorTime::new(definitions).is_some() { needs | Needs::METRICS } else { needs }
}

impl<'a> Folder<'a> {
    /// A folder that has seen nothing. Every folder of a pass is made with the same set.
    ///
    /// Calls that reach over a border of the time range are cut to it, whatever the filter says of listings.
    pub fn new(source: &'a dyn TraceSource, set: &'a Prepared) -> Self {
        Folder::with_borders(source, set, Borders::Trim)
    }

    /// A folder for a list of events: calls that overlap the time range are shown whole if the filter keeps them so.
    /// Their enters may lie before the range and their leaves after it; other events never do.
    pub(crate) fn listing(source: &'a dyn TraceSource, set: &'a Prepared) -> Self {
        Folder::with_borders(source, set, set.filter.borders)
    }

    fn with_borders(source: &'a dyn TraceSource, set: &'a Prepared, borders: Borders) -> Self {
        let definitions = source.definitions();
        let selection = set.selection(definitions);
        // Readers may leave out or cut what lies outside the range, but not where whole calls matter.
        let is_wide = set.scope() != Scope::Selection && !selection.is_everything;
        let wants_whole = is_wide
            || borders == Borders::Keep
            || selection.tests.as_ref().is_some_and(LocationTests::needs_end);
        let plan = ReadPlan { needs: set.needs(), time_range: selection.window.filter(|_| !wants_whole) };
        let cut = Cut {
            time: selection.window,
            borders,
            regions: selection.regions.clone(),
            hidden: Hidden::BehindOne(definitions.filtered_region),
        };
        let whole = is_wide.then(|| Cut {
            time: None,
            hidden: Hidden::Marked(definitions.filtered_region),
            ..cut.clone()
        });
        let mut is_selected = vec![!is_wide; definitions.locations.len()];
        if is_wide {
            selection.locations.iter().for_each(|location| is_selected[location.index()] = true);
        }
        let mut partial = set.empty();
        partial.window = selection.window;
        partial.whole = is_wide.then(Whole::default);
        let first = selection.locations.first().copied();
        Folder {
            source,
            set,
            plan,
            sampled_plan: ReadPlan { needs: plan.needs | needs_of_samples(source.definitions()), ..plan },
            frames: None,
            cut,
            whole,
            is_selected,
            tests: selection.tests.as_ref(),
            unmatched: first.map(|first| (first, &*selection.unmatched)),
            buffer: ChunkBuffer::default(),
            calls: ChunkBuffer::default(),
            wide: ChunkBuffer::default(),
            partial,
            watch: None,
            reached: None,
        }
    }

    /// Stops reading when this process reaches its memory limit. The caller must then check [`Folder::reached`].
    pub fn watching_memory(mut self) -> Self {
        self.watch = Some(Watch::default());
        self
    }

    /// Whether the memory limit was reached: then the partial covers only part of what was folded.
    pub fn reached(&self) -> Option<LimitReached> {
        self.reached
    }

    /// Folds one location. Damage ends the location, not the run.
    ///
    /// # Panics
    /// If the location was folded before.
    pub fn fold(&mut self, location: LocationId, progress: Option<&Progress>) {
        assert!(!self.partial.folded().contains_key(&location), "a location is folded once");
        if let Some((_, notices)) = self.unmatched.take_if(|(first, _)| *first == location) {
            self.partial.notices.extend(notices.iter().cloned());
        }
        // Analyses that ask for samples see them; the others see the calls made of them.
        let wants_calls = |member: &dyn DynAnalysis| !member.needs().contains(Needs::SAMPLES);
        let is_sampled =
            self.source.is_sampled(location) && self.set.members.iter().any(|member| wants_calls(&**member));
        if is_sampled || self.source.completes_calls(location) {
            self.frames.get_or_insert_with(|| Frames::new(self.source.definitions()));
            let verdicts = self.verdicts(location, progress);
            self.fold_sampled(location, verdicts, progress);
        } else {
            let verdicts = self.verdicts(location, progress);
            self.fold_recorded(location, verdicts, progress);
        }
    }

    /// Which calls of the location are shown. Reads the location if that depends on how its calls end.
    fn verdicts(&mut self, location: LocationId, progress: Option<&Progress>) -> Verdicts<'a> {
        let definitions = self.source.definitions();
        let Some(tests) = self.tests else { return Verdicts::All };
        let test = tests.at(definitions, location);
        // If no call can pass, the location itself is not selected; its calls keep their names for analyses of waiting.
        if test.is_always() || test.is_never() {
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
        let of_samples = self.source.is_sampled(location) || self.source.completes_calls(location);
        let is_sampled = of_samples && self.frames.is_some();
        let needs = if test.needs_metrics() { Needs::METRICS } else { Needs::NOTHING };
        let plan = ReadPlan::all(if is_sampled { needs | needs_of_samples(definitions) } else { needs });
        let hidden = Hidden::BehindOne(definitions.filtered_region);
        let everything = Cut { time: None, borders: Borders::Trim, regions: None, hidden };
        let mut nesting = Nesting::new(&everything, Verdicts::All, needs);
        let mut survey = Survey::new(test, definitions);
        let mut sampled = SampledCalls::new();
        // Notices come from the main pass, and so does progress.
        let mut scratch = Prepared::elsewhere(Filter::default(), Vec::new()).empty();
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
        let Folder { source, set, plan, cut, whole, is_selected, buffer, wide: copy, partial, .. } = self;
        let (watch, reached) = (&mut self.watch, &mut self.reached);
        let cx = location_cx(*source, location, cut, is_selected);
        let mut wide = whole.as_ref().map(|whole| wide_view(set, whole, verdicts.clone(), plan.needs, &cx));
        let is_narrow = |member: &dyn DynAnalysis| cx.selected.location && is_narrow(member, whole.is_some());
        let mut view = View::new(set, Nesting::new(cut, verdicts, plan.needs), &cx, is_narrow);
        let shows_narrow = wide.is_none() || !view.is_empty();
        let read = Read { source: *source, location, plan, progress };
        let outcome = read.all(buffer, partial, |buffer, partial| {
            match &mut wide {
                Some(wide) if shows_narrow && !view.nesting.is_finished() => {
                    copy.copy_from(buffer);
                    wide.show(set, partial.paths_of_whole(), copy);
                }
                Some(wide) => {
                    wide.show(set, partial.paths_of_whole(), buffer);
                    return is_reached(watch, reached);
                }
                None => {}
            }
            view.show(set, &mut partial.call_paths, buffer);
            (wide.is_none() && view.nesting.is_finished()) || is_reached(watch, reached)
        });
        if shows_narrow {
            view.close(set, buffer);
        }
        let mut fold = Fold { set, cx: &cx, partial, sampling_period: None };
        fold.end(outcome, vec![view], wide, buffer);
    }

    fn fold_sampled(&mut self, location: LocationId, verdicts: Verdicts<'a>, progress: Option<&Progress>) {
        let Folder { source, set, sampled_plan: plan, frames, cut, whole, is_selected, .. } = self;
        let Folder { buffer, calls, wide: copy, partial, watch, reached, .. } = self;
        let frames = frames.as_ref().expect("made before the first location that needs them");
        let cx = location_cx(*source, location, cut, is_selected);
        // Samples that complete recorded calls have no meaning without these.
        let completes = cx.completes_calls;
        let of_samples = |member: &dyn DynAnalysis| {
            (!completes || member.sees_as_recorded()) && member.needs().contains(Needs::SAMPLES)
        };
        let is_narrow = |member: &dyn DynAnalysis| cx.selected.location && is_narrow(member, whole.is_some());
        let nesting = |verdicts| Nesting::new(cut, verdicts, plan.needs);
        let mut wide = whole.as_ref().map(|whole| wide_view(set, whole, verdicts.clone(), plan.needs, &cx));
        let mut raw = View::new(set, nesting(Verdicts::All), &cx, |m| is_narrow(m) && of_samples(m));
        let mut view = View::new(set, nesting(verdicts), &cx, |m| is_narrow(m) && !of_samples(m));
        let shows_narrow = wide.is_none() || !(view.is_empty() && raw.is_empty());
        let mut sampled = SampledCalls::new();
        let read = Read { source: *source, location, plan, progress };
        let outcome = read.all(buffer, partial, |buffer, partial| {
            sampled.derive(frames, buffer, calls);
            if let Some(wide) = &mut wide {
                copy.copy_from(calls);
                wide.show(set, partial.paths_of_whole(), copy);
            }
            if shows_narrow && !view.nesting.is_finished() {
                view.show(set, &mut partial.call_paths, calls);
                if !raw.is_empty() {
                    raw.show(set, &mut partial.call_paths, buffer);
                }
            }
            (wide.is_none() && view.nesting.is_finished()) || is_reached(watch, reached)
        });
        if wide.is_some() || !view.nesting.is_finished() {
            sampled.end(frames, calls);
            if let Some(wide) = &mut wide {
                copy.copy_from(calls);
                wide.show(set, partial.paths_of_whole(), copy);
            }
            if shows_narrow && !view.nesting.is_finished() {
                view.show(set, &mut partial.call_paths, calls);
            }
        }
        if shows_narrow {
            view.close(set, calls);
            raw.close(set, buffer);
        }
        if sampled.has_sample() {
            partial.notices.push(uncertain_calls(cx.definitions.location(location).kind, completes));
            if !completes {
                view.seen.insert(Content::Samples);
            }
        }
        let sampling_period = sampled.sampling_period();
        let mut fold = Fold { set, cx: &cx, partial, sampling_period };
        fold.end(outcome, vec![view, raw], wide, buffer);
    }

    /// Reduces what is complete of the locations folded so far, see [`Analysis::compact`](crate::Analysis::compact).
    pub fn compact(&mut self) {
        self.set.compact(&mut self.partial, self.source.definitions());
    }

    /// The state of every location folded.
    pub fn into_partial(self) -> Partial {
        self.partial
    }
}

/// What analyses may know of a location.
fn location_cx<'s>(
    source: &'s dyn TraceSource,
    location: LocationId,
    cut: &Cut,
    is_selected: &[bool],
) -> LocationCx<'s> {
    let selected = Selected { location: is_selected[location.index()], window: cut.time };
    let completes_calls = source.completes_calls(location);
    let has_sampled_calls = completes_calls || source.is_sampled(location);
    LocationCx { location, definitions: source.definitions(), selected, completes_calls, has_sampled_calls }
}

/// Whether an analysis sees only what is selected; all do if everything is selected.
fn is_narrow(member: &dyn DynAnalysis, has_wide: bool) -> bool {
    !has_wide || member.scope() == Scope::Selection
}

/// What members of a wider scope see.
fn wide_view<'p>(
    set: &Prepared,
    whole: &'p Cut,
    verdicts: Verdicts<'p>,
    needs: Needs,
    cx: &LocationCx<'_>,
) -> View<'p> {
    let view = View::new(set, Nesting::new(whole, verdicts, needs), cx, |member| match member.scope() {
        Scope::Selection => false,
        Scope::Locations => cx.selected.location,
        Scope::Trace => true,
    });
    View { window: cx.selected.window, ..view }
}

/// Some of the analyses, and what they see of a location.
struct View<'p> {
    /// State of member `i`; `None` if it looks elsewhere.
    locals: Vec<Option<Erased>>,
    nesting: Nesting<'p>,
    /// What the location had of the data requested.
    seen: Contents,
    /// The requested time range, if events outside of it are seen, too.
    window: Option<TimeRange>,
    /// Number of open calls; counted as long as it matters to `seen`.
    depth: usize,
}

impl<'p> View<'p> {
    fn new(
        set: &Prepared,
        nesting: Nesting<'p>,
        cx: &LocationCx<'_>,
        is_member: impl Fn(&dyn DynAnalysis) -> bool,
    ) -> Self {
        let members = set.members.iter();
        let locals = members.map(|member| is_member(&**member).then(|| member.begin(cx))).collect();
        View { locals, nesting, seen: Contents::NONE, window: None, depth: 0 }
    }

    fn is_empty(&self) -> bool {
        self.locals.iter().all(Option::is_none)
    }

    /// Nests a chunk and folds it.
    fn show(&mut self, set: &Prepared, call_paths: &mut CallPathTree, buffer: &mut ChunkBuffer) {
        self.nesting.nest(call_paths, buffer);
        self.fold(set, buffer);
    }

    /// Closes the calls still open after the last chunk.
    fn close(&mut self, set: &Prepared, buffer: &mut ChunkBuffer) {
        buffer.clear();
        self.nesting.end(buffer);
        self.fold(set, buffer);
    }

    /// Notes what a chunk holds of the requested data.
    fn note(&mut self, buffer: &ChunkBuffer) {
        let window = self.window;
        let is_inside = |row: u32| window.is_none_or(|window| window.contains(buffer.time[row as usize]));
        let mut note = |content, is_there: bool| {
            if is_there {
                self.seen.insert(content);
            }
        };
        let has_end = |ends: &[MessageEnd]| ends.iter().any(|it| is_inside(it.row));
        note(Content::Messages, has_end(&buffer.sends) || has_end(&buffer.recvs));
        note(Content::Collectives, buffer.collectives.iter().any(|it| is_inside(it.row)));
        note(Content::Threads, buffer.threads.iter().any(|it| is_inside(it.row)));
        note(Content::Rma, buffer.rma.iter().any(|it| is_inside(it.row)));
        note(Content::Counters, buffer.metrics.iter().any(|it| is_inside(it.row)));
        note(Content::Samples, buffer.samples.iter().any(|it| is_inside(it.row)));
        note(Content::Links, buffer.links.iter().any(|it| is_inside(it.row)));
        if !self.seen.contains(Content::Calls) && self.has_call(buffer) {
            self.seen.insert(Content::Calls);
        }
    }

    /// Whether a call overlaps the time range.
    fn has_call(&mut self, buffer: &ChunkBuffer) -> bool {
        let Some(window) = self.window else { return buffer.kind.contains(&EventKind::Enter) };
        for (&at, kind) in buffer.time.iter().zip(&buffer.kind) {
            if window.start < at && 0 < self.depth {
                return true;
            }
            match kind {
                _ if window.end <= at => return false,
                EventKind::Enter if window.contains(at) => return true,
                EventKind::Enter => self.depth += 1,
                EventKind::Leave => self.depth -= 1,
                _ => {}
            }
        }
        false
    }

    fn fold(&mut self, set: &Prepared, buffer: &ChunkBuffer) {
        if buffer.is_empty() {
            return;
        }
        self.note(buffer);
        for (member, local) in set.members.iter().zip(&mut self.locals) {
            if let Some(local) = local {
                member.fold(local, &buffer.view());
            }
        }
    }
}

/// Chunks between two checks of the memory limit: some megabytes of events.
const WATCH_CHUNKS: u32 = 16;

/// Checks the memory limit now and then.
fn is_reached(watch: &mut Option<Watch>, reached: &mut Option<LimitReached>) -> bool {
    if let Some(Err(limit)) = watch.as_mut().map(|watch| watch.step(WATCH_CHUNKS)) {
        *reached = Some(limit);
    }
    reached.is_some()
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
    /// Reads chunk by chunk until `take` needs no more.
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
                // Damage after the end of the time range loses nothing that was requested.
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
    set: &'f Prepared,
    cx: &'f LocationCx<'f>,
    partial: &'f mut Partial,
    /// Of samples that complete recorded calls.
    sampling_period: Option<Ticks>,
}

impl Fold<'_> {
    /// Ends the views of a location: those of what is selected, and that of the whole. `buffer` is scratch.
    fn end(
        &mut self,
        outcome: Outcome,
        narrow: Vec<View<'_>>,
        wide: Option<View<'_>>,
        buffer: &mut ChunkBuffer,
    ) {
        let Fold { set, cx: &LocationCx { location, selected, .. }, .. } = *self;
        let mut wide = wide;
        wide.iter_mut().for_each(|wide| wide.close(set, buffer));
        let Outcome { records, error } = outcome;
        if let Some(error) = &error {
            self.partial.notices.push(damage(self.cx, error, records.n_events));
        }
        let end = if error.is_some() { LocationEnd::Damaged } else { LocationEnd::Complete };
        let mut seen = Contents::NONE;
        narrow.iter().chain(&wide).for_each(|view| seen |= view.seen);
        let sampling_period = self.sampling_period;
        let of_span = |span| LocationSummary { n_events: records.n_events, span, end, sampling_period, seen };
        if selected.location {
            let summary = of_span(records.span.and_then(|span| selected.clip_span(span)));
            for view in narrow {
                // Analyses that see all calls report all repairs.
                let repairs = if wide.is_none() { view.nesting.repairs } else { Repairs::default() };
                self.end_view(view, repairs, &summary);
            }
            self.partial.locations.insert(location, summary);
        }
        if let Some(wide) = wide {
            let summary = of_span(records.span);
            let repairs = wide.nesting.repairs;
            self.end_view(wide, repairs, &summary);
            let whole = self.partial.whole.as_mut().expect("there is one if there is a view of it");
            whole.locations.insert(location, summary);
        }
    }

    fn end_view(&mut self, view: View<'_>, repairs: Repairs, summary: &LocationSummary) {
        let Fold { set, cx, partial, .. } = self;
        report_repairs(partial, cx, repairs);
        for ((member, local), slot) in set.members.iter().zip(view.locals).zip(&mut partial.slots) {
            if let Some(local) = local {
                member.end(local, cx, summary, slot);
            }
        }
    }
}

/// What calls made of samples cannot show; one notice for each kind of location.
fn uncertain_calls(kind: LocationKind, completes: bool) -> Notice {
    let of = match kind {
        LocationKind::CpuThread => "CPU threads",
        // Tools record a stream where its operations begin and end.
        LocationKind::AcceleratorStream => {
            let message = "operations of accelerator streams are told apart by their call paths: those that follow each \
                           other without a gap count as one";
            return Notice::new(Level::Low, NoticeCode::UncertainInstances, message);
        }
        LocationKind::Metric => "metric sources",
        LocationKind::Unknown => "locations of unknown kind",
    };
    // Between recorded calls, what no sample shows is taken to be as it was before.
    let (which, visits) =
        if completes { ("unrecorded calls", "estimates") } else { ("calls", "lower bounds") };
    let message = format!(
        "{which} of {of} are made of samples: times are exact only to the sampling period, and visits are {visits}"
    );
    Notice::new(Level::Low, NoticeCode::UncertainInstances, message)
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
}

/// Reports the progress of one location in bytes, although the reader reports only events.
struct Meter<'p> {
    progress: Option<&'p Progress>,
    bytes: u64,
    told: u64,
}

/// Bytes that a chunk of events takes in a typical trace; used only by the progress bar, which is filled at the end.
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
    let LocationCx { location, definitions, .. } = *cx;
    let name = &definitions.location(location).name;
    let message = format!(
        "events of location {name:?} cannot be read further ({}); the {} events before that were kept",
        error.reason,
        count(n_events)
    );
    Notice::new(Level::High, NoticeCode::DamagedEvents, message)
        .in_file(error.file.clone())
        .at(error.offset)
        .on(location)
}

fn report_repairs(partial: &Partial, cx: &LocationCx<'_>, repairs: Repairs) {
    let LocationCx { location, definitions, .. } = *cx;
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
        "a region was left without being entered; the leave was dropped",
    );
    report(
        truncated_calls,
        Level::Medium,
        NoticeCode::TruncatedCalls,
        "a call had no leave and was closed with its caller",
    );
    report(
        open_calls,
        Level::Low,
        NoticeCode::OpenCalls,
        "a call was still open at the end and was closed at the last time stamp",
    );
}
