//! Reads the samples of one location, chunk by chunk.
//!
//! Law: a sample of an unknown context means that something unknown runs, never nothing:
//! it gets the placeholder context of the trace.

use super::contexts::{ABSENT, ContextIds, NOTHING};
use super::read_error;
use ouzel_files::input::SharedFile;
use ouzel_hpcdb::{Lines, TraceSample};
use ouzel_model::{
    CHUNK_EVENTS, ChunkBuffer, ChunkReader, ContextId, Definitions, EventKind, InterruptGeneratorId, Lca,
    Level, LocationId, Notice, NoticeCode, ReadError, RegionId, RegionRole, Sample, Ticks,
};

/// The reader of one location.
pub(super) struct LineReader<'a> {
    lines: Lines<SharedFile>,
    ids: &'a ContextIds,
    location: LocationId,
    generator: Option<InterruptGeneratorId>,
    /// Whether samples get rows.
    wanted: bool,
    times: TraceTimes,
    before: Before<'a>,
    n_unknown: u64,
}

/// The sample before.
struct Before<'a> {
    definitions: &'a Definitions,
    context: Option<ContextId>,
}

impl Before<'_> {
    /// What stayed of it, when `distance` calls up from its innermost frame is the innermost frame that stayed.
    /// Loops are no calls: they are passed over.
    fn kept(&self, distance: u32) -> Lca {
        let Some(mut at) = self.context else { return Lca::Unknown };
        let mut left = distance;
        loop {
            let context = self.definitions.sampled_contexts.get(at);
            let is_loop = self.definitions.region(context.region).role == RegionRole::Loop;
            if left == 0 && !is_loop {
                return Lca::Exact(context.depth);
            }
            left -= u32::from(!is_loop);
            match context.parent {
                Some(parent) => at = parent,
                None => return Lca::Exact(0),
            }
        }
    }
}

/// Turns absolute times to ticks since the trace start.
#[derive(Debug)]
struct TraceTimes {
    trace_start: u64,
    last: u64,
    n_back: u64,
    n_before_start: u64,
}

impl TraceTimes {
    #[inline]
    fn ticks(&mut self, time_ns: u64) -> Ticks {
        let ticks = time_ns.saturating_sub(self.trace_start);
        self.n_before_start += u64::from(time_ns < self.trace_start);
        self.n_back += u64::from(ticks < self.last);
        self.last = ticks.max(self.last);
        Ticks(self.last)
    }
}

impl<'a> LineReader<'a> {
    pub fn new(
        lines: Lines<SharedFile>,
        ids: &'a ContextIds,
        location: LocationId,
        definitions: &'a Definitions,
        generator: Option<InterruptGeneratorId>,
        wanted: bool,
    ) -> Self {
        let trace_start = definitions.clock.offset_ticks;
        let times = TraceTimes { trace_start, last: 0, n_back: 0, n_before_start: 0 };
        let before = Before { definitions, context: None };
        LineReader { lines, ids, location, generator, wanted, times, before, n_unknown: 0 }
    }
}

/// The model's context for a context number.
#[inline]
fn context(id: u32, n_unknown: &mut u64) -> Option<ContextId> {
    match id {
        NOTHING => None,
        // The placeholder is the first context.
        ABSENT => {
            *n_unknown += 1;
            Some(ContextId(0))
        }
        id => Some(ContextId(id)),
    }
}

impl ChunkReader for LineReader<'_> {
    fn read(&mut self, buffer: &mut ChunkBuffer) -> Result<bool, ReadError> {
        buffer.clear();
        let samples = self.lines.read(CHUNK_EVENTS as u64).map_err(|error| read_error(&error))?;
        let n = samples.len();
        let mut span: Option<(Ticks, Ticks)> = None;
        if self.wanted {
            buffer.kind.resize(n, EventKind::Sample);
            // Samples have no region.
            buffer.region.resize(n, RegionId(0));
            buffer.time.reserve(n);
            buffer.samples.reserve(n);
            let (times, ids, generator) = (&mut self.times, self.ids, self.generator);
            let n_unknown = &mut self.n_unknown;
            for (row, TraceSample { time_ns, context: number, lca_distance }) in (0..).zip(samples) {
                buffer.time.push(times.ticks(time_ns));
                let context = context(ids.get(number), n_unknown);
                let lca = lca_distance.map_or(Lca::Unknown, |distance| self.before.kept(distance));
                self.before.context = context;
                buffer.samples.push(Sample { row, context, lca, generator });
            }
            span = buffer.time.first().copied().zip(buffer.time.last().copied());
        } else {
            for TraceSample { time_ns, .. } in samples {
                let time = self.times.ticks(time_ns);
                span = Some((span.map_or(time, |span| span.0), time));
            }
        }
        buffer.n_records = n as u64;
        buffer.span = span;
        Ok(0 < n)
    }

    fn notices(&mut self) -> Vec<Notice> {
        let file = self.lines.file();
        let said = [
            (
                self.times.n_back,
                NoticeCode::TimeGoesBack,
                "a time stamp is earlier than the one before and was raised to it",
            ),
            (
                self.times.n_before_start,
                NoticeCode::TimeBeforeStart,
                "a time stamp lies before the trace start and was raised to it",
            ),
            (
                self.n_unknown,
                NoticeCode::UndefinedReference,
                "samples name a call path that is not defined; a placeholder replaces it",
            ),
        ];
        let notice = |(count, code, message): (u64, NoticeCode, &str)| {
            let notice = Notice::new(Level::Medium, code, message).times(count);
            notice.in_file(file.clone()).on(self.location)
        };
        said.into_iter().filter(|said| 0 < said.0).map(notice).collect()
    }
}
