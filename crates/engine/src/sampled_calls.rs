//! Calls made of samples, for locations that hold nothing else, or whose samples show the calls that are not recorded.
//!
//! ```text
//! samples   A/B   A/B   A/C    A    nothing   A    │ last time stamp
//! calls     A───────────────────────────┘     A────┘
//!           B───────────┘
//!                       C──────┘
//! ```
//!
//! A sample owns the time until the next one, as in the context trees of samples: a frame is entered at the first
//! sample that shows it, and left at the first later one that does not. What is open at the last sample is left at
//! the last time stamp of the location. Frames of two samples are one call if they are the same region, called from
//! the same line by frames that are one call, and the tracer does not say otherwise ([`Lca`]). A loop right inside
//! of a frame that stayed is taken to have stayed, as loops leave no marks.
//!
//! A recorded call ([`TraceSource::completes_calls`](ouzel_model::TraceSource::completes_calls)) is exact, and says more
//! than when it happened: what ran before it had ended, and what a sample after it shows had begun since.
//!
//! - Its caller is that of the frame of its region that samples show nearest to the open frames: frames inside of the
//!   caller are left at its enter, and those that are missing are entered. If samples show no such frame, the call is
//!   inside of the frames that are open. An implicit barrier ends a construct that is recorded: frames inside of that are
//!   left.
//! - The time between a recorded enter or leave and the next sample belongs to the path of that sample. Between two
//!   samples without a recorded call, paths change half-way. A sample at the time of a recorded enter was taken by the
//!   recorder at the call: it shows the caller, and the time before it belongs to the path of the sample before.
//! - What counters say at the time of a sample, right after it, belongs to the sample: what they gained since they were
//!   read before is of its path; at a recorded enter it is of the path that the time before it is of.
//! - Frames that samples show inside of a recorded call are entered in it and left before it is; the frame of the call
//!   itself, if samples show it, is the recorded call.
//! - Where the counter of a thread's processor time was read at two samples without a recorded call between them, what is
//!   missing is a call of the region for threads that do not run ([`ProcessorTime`]).
//!
//! - A recorded call that begins a construct of threads may be shown by the sample at its enter: that frame is the call.
//! - A thread that leaves a team outside of every recorded call is in no function until it is in a team again.
//! - Where two recorded calls follow each other that the code of the function around them does not allow to follow each
//!   other in one call of it, the function was left and called again; so were its callers, up to the loop around them.
//! - Between two recorded calls without a sample, time is spent as it was between the same two calls when a sample was taken
//!   there last: short stays get the share of the time that samples give them.
//!
//! Enters say where they are called, if samples show it ([`CallSite`]): those of frames, and those of MPI, before which the
//! recorder samples the caller.
//!
//! Law: the result is nested, and independent of chunk borders. Filter, call paths and visits are handled elsewhere.

mod frames;
#[cfg(test)]
mod tests;

pub(crate) use frames::Frames;

use crate::processor_time::Readings;
use crate::room::roomy;
use crate::sample_intervals::SampleIntervals;
use frames::{Call, FrameNode, OUTSIDE, RecordedPlace};
use ouzel_model::{
    CallSite, ChunkBuffer, EventKind, Lca, MetricValue, RegionId, Sample, ThreadEvent, ThreadStep, Ticks,
};
use rustc_hash::FxHashMap;

/// Recorded calls that a path is searched for, from the innermost one: mostly the first of them is there.
const RECORDED_AROUND: usize = 16;

/// What took a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SampleKind {
    /// A clock.
    Periodic,
    /// The recorder, as a call of this region began that is recorded.
    AtCall(RegionId),
}

/// What is known of two recorded calls that follow each other.
#[derive(Debug, Clone, Copy)]
struct Between {
    /// The innermost frame that can have stayed, by the order of the code; [`OUTSIDE`] if that is not known.
    stays: u32,
    /// The path of the last sample that was taken there.
    held: Option<u32>,
}

/// An open call that is recorded.
#[derive(Debug, Clone, Copy)]
struct RecordedCall {
    region: RegionId,
    at: u32,
    base: u32,
    line: Option<u32>,
}

/// A row of values that came with a sample.
#[derive(Debug)]
struct WaitingValues {
    region: RegionId,
    values: Vec<MetricValue>,
}

/// When a thread did not run, before a sample or a recorded call.
#[derive(Debug, Clone, Copy)]
struct Stood {
    region: RegionId,
    start: Ticks,
}

/// The calls of one location.
#[derive(Debug)]
pub(crate) struct SampledCalls {
    /// The innermost open frame.
    at: u32,
    /// Where in it the program was at the last sample.
    line: Option<u32>,
    has_sample: bool,
    /// The frame outside of all those that were entered since the innermost recorded call.
    base: u32,
    /// The open recorded calls, with what was `at` and `base` at their enters.
    recorded: Vec<RecordedCall>,
    /// The last time stamp, with or without a row.
    last: Ticks,
    /// When the last row came; what is learned later cannot be earlier.
    last_row: Ticks,
    /// When the last sample came.
    last_sample: Ticks,
    intervals: SampleIntervals,
    /// A sample beside recorded calls that waits for the next row.
    waiting: Option<(Ticks, Sample)>,
    /// Values that wait with it: of each row, the region that is in its column.
    waiting_values: Vec<WaitingValues>,
    /// The innermost frame of those that forked the last team of this thread.
    of_team: u32,
    /// The last recorded call at which a sample was taken, and the number of recorded calls around it, which are open.
    last_call: Option<(Call, usize)>,
    /// What is known of each two recorded calls that followed each other.
    between: FxHashMap<(Call, Call), Between>,
    /// Whether the last sample was taken at a recorded call.
    is_at_call: bool,
    /// Whether the last enter or leave was recorded, and no sample came since.
    is_after_recorded: bool,
    /// Whether a recorded call was seen.
    has_recorded: bool,
    readings: Readings,
    /// Least number of open frames since the last sample: those beyond were entered since.
    n_lasting: u32,
    /// Places that were looked up, by the open frame and the region of the call.
    places: FxHashMap<(u32, RegionId), Option<RecordedPlace>>,
    /// Frames to be entered, innermost first.
    entered: Vec<(RegionId, Option<u32>)>,
    /// New row of each old one.
    new_row: Vec<u32>,
}

impl SampledCalls {
    pub fn new() -> Self {
        SampledCalls {
            at: OUTSIDE,
            line: None,
            base: OUTSIDE,
            recorded: Vec::new(),
            has_sample: false,
            last: Ticks(0),
            last_row: Ticks(0),
            last_sample: Ticks(0),
            intervals: SampleIntervals::default(),
            waiting: None,
            waiting_values: Vec::new(),
            of_team: OUTSIDE,
            last_call: None,
            between: FxHashMap::default(),
            is_at_call: false,
            is_after_recorded: false,
            has_recorded: false,
            readings: Readings::default(),
            n_lasting: 0,
            places: FxHashMap::default(),
            entered: roomy(),
            new_row: roomy(),
        }
    }

    /// Median interval between samples that have no recorded call between them; `None` if there are none.
    pub fn sampling_period(&self) -> Option<Ticks> {
        self.intervals.median()
    }

    /// Whether a sample was seen.
    pub fn has_sample(&self) -> bool {
        self.has_sample
    }

    /// Replaces the contents of `calls` by the rows of `raw`, with enters and leaves for its samples.
    pub fn derive(&mut self, frames: &Frames, raw: &ChunkBuffer, calls: &mut ChunkBuffer) {
        calls.clear();
        calls.n_records = raw.n_records;
        calls.span = raw.span;
        let last = raw.span.map(|(_, last)| last).max(raw.time.last().copied());
        self.last = self.last.max(last.unwrap_or_default());
        self.new_row.clear();
        let mut samples = raw.samples.iter().peekable();
        let mut metrics = raw.metrics.iter().peekable();
        let mut threads = raw.threads.iter().peekable();
        for (row, (&time, &kind)) in raw.time.iter().zip(&raw.kind).enumerate() {
            if kind == EventKind::Metric {
                let of_row = std::iter::from_fn(|| metrics.next_if(|value| value.row as usize <= row));
                self.values(frames, calls, (time, raw.region[row]), of_row.copied());
                continue;
            }
            if kind == EventKind::Thread {
                while threads.next_if(|event| (event.row as usize) < row).is_some() {}
                let ends_team = |event: &&ThreadEvent| matches!(event.step, ThreadStep::TeamEnd(_));
                if threads.next_if(|event| event.row as usize == row).is_some_and(|event| ends_team(&event)) {
                    self.leave_team(frames, calls, time);
                }
            }
            if kind != EventKind::Sample {
                self.recorded(frames, calls, (time, kind, raw.region[row]));
                continue;
            }
            self.new_row.push(u32::MAX);
            while samples.next_if(|sample| (sample.row as usize) < row).is_some() {}
            let Some(sample) = samples.next_if(|sample| sample.row as usize == row) else { continue };
            if self.waiting.is_some() {
                self.take_waiting(frames, calls, None);
            }
            if self.has_recorded || frames.processor_time.is_some() {
                self.waiting = Some((time, *sample));
            } else {
                self.sample_alone(frames, calls, time, *sample);
            }
        }
        if raw.samples.len() < raw.len() {
            self.copy_payloads(raw, calls);
        }
    }

    /// A thread that is in no recorded call has left the frames of those that forked its team.
    fn leave_team(&mut self, frames: &Frames, calls: &mut ChunkBuffer, time: Ticks) {
        if self.recorded.is_empty() {
            self.take_waiting(frames, calls, None);
            self.of_team = self.at;
            self.leave_to(frames, calls, time, OUTSIDE);
            (self.line, self.n_lasting, self.last_call) = (None, 0, None);
        }
    }

    /// Takes the sample that waits for the next row: a recorded call at its time, `entered`, says that it was taken there.
    fn take_waiting(&mut self, frames: &Frames, calls: &mut ChunkBuffer, entered: Option<(Ticks, RegionId)>) {
        let Some((time, sample)) = self.waiting.take() else { return };
        let entered = entered.filter(|entered| entered.0 == time);
        let kind = entered.map_or(SampleKind::Periodic, |(_, region)| SampleKind::AtCall(region));
        let mut values = std::mem::take(&mut self.waiting_values);
        // The time before a recorded enter is of the path of the sample before, if there was one.
        let are_first = kind != SampleKind::Periodic && !self.is_after_recorded;
        let mut stood = None;
        for of_row in &values {
            stood = self.stood(frames, time, &of_row.values).or(stood);
        }
        if are_first {
            self.push_stood(calls, time, stood);
        } else {
            self.sample(frames, calls, (time, kind), &sample, stood);
        }
        for WaitingValues { region, values } in values.drain(..) {
            self.push_values(calls, (time, region), values.into_iter());
        }
        if are_first {
            self.sample(frames, calls, (time, kind), &sample, None);
        }
        self.waiting_values = values;
    }

    /// When the thread did not run before a row of values.
    fn stood(&mut self, frames: &Frames, time: Ticks, values: &[MetricValue]) -> Option<Stood> {
        let of = frames.processor_time.as_ref()?;
        let inside = self.recorded.last().map(|call| call.region);
        let stood = self.readings.take(of, time, values, inside)?;
        let start = Ticks(time.0.saturating_sub(stood.0)).max(self.last_row);
        Some(Stood { region: of.region(), start })
    }

    /// Puts the time that the thread did not run into the innermost open frame.
    fn push_stood(&mut self, calls: &mut ChunkBuffer, time: Ticks, stood: Option<Stood>) {
        let Some(Stood { region, start }) = stood else { return };
        let row = calls.push(start.max(self.last_row), EventKind::Enter, region);
        calls.call_sites.push(CallSite { row, line: None, is_recorded: false, lca: Lca::Unknown });
        calls.push(time, EventKind::Leave, region);
        self.last_row = time;
    }

    /// Takes a row of values, which waits if a sample of its time does.
    fn values(
        &mut self,
        frames: &Frames,
        calls: &mut ChunkBuffer,
        (time, region): (Ticks, RegionId),
        values: impl Iterator<Item = MetricValue>,
    ) {
        self.new_row.push(u32::MAX);
        if self.waiting.is_some_and(|(waiting, _)| waiting == time) {
            self.waiting_values.push(WaitingValues { region, values: values.collect() });
        } else {
            self.take_waiting(frames, calls, None);
            let values: Vec<MetricValue> = values.collect();
            let stood = self.stood(frames, time, &values);
            self.push_stood(calls, time, stood);
            self.push_values(calls, (time, region), values.into_iter());
        }
    }

    fn push_values(
        &mut self,
        calls: &mut ChunkBuffer,
        (time, region): (Ticks, RegionId),
        values: impl Iterator<Item = MetricValue>,
    ) {
        self.last_row = time;
        let row = calls.push(time, EventKind::Metric, region);
        calls.metrics.extend(values.map(|value| MetricValue { row, ..value }));
    }

    /// [`sample`](Self::sample) where no recorded call and no counter says anything, as is so in most locations.
    fn sample_alone(&mut self, frames: &Frames, calls: &mut ChunkBuffer, time: Ticks, sample: Sample) {
        let to = frames.of(sample.context);
        if self.has_sample {
            self.intervals.add(time.since(self.last_sample));
        }
        self.last_sample = time;
        if !std::mem::replace(&mut self.has_sample, true) {
            // What stayed of the sample before has no meaning.
            self.leave_to(frames, calls, time, OUTSIDE);
        } else {
            let common = frames.common(self.at, to);
            let kept = match sample.lca {
                Lca::Exact(bound) | Lca::AtMost(bound) if self.n_lasting <= bound => common,
                lca => frames.kept(common, lca),
            };
            self.leave_to(frames, calls, time, kept);
        }
        self.enter_from(frames, calls, time.max(self.last_row), (self.at, to), sample.lca);
        self.line = frames.line(sample.context);
        self.n_lasting = frames.get(to).depth;
    }

    fn sample(
        &mut self,
        frames: &Frames,
        calls: &mut ChunkBuffer,
        (time, kind): (Ticks, SampleKind),
        sample: &Sample,
        stood: Option<Stood>,
    ) {
        let shown = frames.of(sample.context);
        let to = match kind {
            SampleKind::AtCall(region) if frames.begins(shown, region) => frames.get(shown).parent,
            _ => shown,
        };
        let mut changed = self.changed(time, kind);
        // Where paths change as samples show it, the time before is of the path before.
        let (before, inside) = if changed < time { (None, stood) } else { (stood, None) };
        self.push_stood(calls, time, before);
        if let Some(stood) = inside {
            changed = changed.min(stood.start);
        }
        if self.has_sample && kind == SampleKind::Periodic && !self.is_after_recorded {
            self.intervals.add(time.since(self.last_sample));
        }
        let was_sampled = !self.is_after_recorded;
        (self.last_sample, self.is_after_recorded) = (time, false);
        self.is_at_call = kind != SampleKind::Periodic;
        self.rebase(frames, calls, changed, to);
        let common = frames.common(self.at, to);
        // At the first sample, what stayed of the sample before has no meaning.
        let kept = match sample.lca {
            _ if !self.has_sample && !self.has_recorded => OUTSIDE,
            _ if !self.has_sample => common,
            // What ended since is known already.
            Lca::Exact(bound) | Lca::AtMost(bound) if self.n_lasting <= bound => common,
            lca => frames.kept(common, lca),
        };
        let line = if to == shown { frames.line(sample.context) } else { frames.get(shown).call_line };
        let pair = match kind {
            SampleKind::AtCall(region) => self.pair(Call { region, caller: to, line }),
            SampleKind::Periodic => None,
        };
        let between = pair.map(|pair| self.between(frames, pair));
        let kept = between.map_or(kept, |between| frames.outer(kept, between.stays));
        let kept = if frames.get(kept).depth < frames.get(self.base).depth { self.base } else { kept };
        self.has_sample = true;
        match pair.zip(between).filter(|_| inside.is_none()) {
            Some((pair, between)) => {
                self.pass_gap(frames, calls, (changed, time), (pair, between, kept), was_sampled);
            }
            None => self.leave_to(frames, calls, changed, kept),
        }
        self.enter_from(frames, calls, changed.max(self.last_row), (self.at, to), sample.lca);
        self.line = line;
        self.n_lasting = frames.get(to).depth;
        self.push_stood(calls, time, inside);
    }

    /// A recorded call and the one before, if a sample was taken at both and neither is inside of the other.
    fn pair(&mut self, next: Call) -> Option<(Call, Call)> {
        let n_around = self.recorded.len();
        if self.last_call.is_some_and(|(_, n)| n < n_around) {
            return None;
        }
        self.last_call.replace((next, n_around)).map(|(before, _)| (before, next))
    }

    /// What is known of two recorded calls that follow each other.
    fn between(&mut self, frames: &Frames, pair: (Call, Call)) -> Between {
        let unknown = || Between { stays: frames.stays(&pair), held: None };
        *self.between.entry(pair).or_insert_with(unknown)
    }

    /// Leaves what ended between two recorded calls. If no sample was taken there, the time is spent as it was between the
    /// same two calls when one was taken last.
    fn pass_gap(
        &mut self,
        frames: &Frames,
        calls: &mut ChunkBuffer,
        (begin, end): (Ticks, Ticks),
        (pair, between, kept): ((Call, Call), Between, u32),
        was_sampled: bool,
    ) {
        let to = pair.1.caller;
        if was_sampled {
            self.between.insert(pair, Between { held: Some(self.at), ..between });
            return self.leave_to(frames, calls, begin, kept);
        }
        let is_inside = |held: &u32| frames.common(self.base, *held) == self.base;
        let Some(held) = between.held.filter(is_inside) else {
            // Which of two calls of a function had the time between them is not known.
            let is_cut = kept != frames.common(self.at, to);
            self.leave_to(frames, calls, begin, kept);
            self.last_row = if is_cut { end } else { begin };
            return;
        };
        let stayed = frames.common(self.at, held);
        self.leave_to(frames, calls, begin, stayed);
        self.enter_from(frames, calls, begin, (stayed, held), Lca::Unknown);
        let lasts = frames.common(held, to);
        // What stayed from the first call must end if the code says so.
        let is_old = frames.get(kept).depth < frames.get(stayed).depth.min(frames.get(lasts).depth);
        self.leave_to(frames, calls, end, if is_old { kept } else { lasts });
        self.last_row = end;
    }

    /// When the path changed to that of a sample at `time`.
    fn changed(&self, time: Ticks, kind: SampleKind) -> Ticks {
        let changed = match (self.has_recorded, self.is_after_recorded, self.has_sample) {
            (true, true, _) => self.last_row,
            (true, false, true) if kind == SampleKind::Periodic => {
                Ticks(self.last_sample.0 + time.since(self.last_sample).0 / 2)
            }
            _ => time,
        };
        changed.max(self.last_row).min(time)
    }

    /// Enters the frames from one that is open to one inside of it.
    fn enter_from(
        &mut self,
        frames: &Frames,
        calls: &mut ChunkBuffer,
        time: Ticks,
        (from, to): (u32, u32),
        lca: Lca,
    ) {
        let mut at = to;
        while at != from {
            let FrameNode { parent, region, call_line, .. } = frames.get(at);
            self.entered.push((region, call_line));
            at = parent;
        }
        while let Some((region, line)) = self.entered.pop() {
            let row = calls.push(time, EventKind::Enter, region);
            calls.call_sites.push(CallSite { row, line, is_recorded: false, lca });
        }
        self.at = to;
    }

    /// Takes a row that is no sample.
    fn recorded(
        &mut self,
        frames: &Frames,
        calls: &mut ChunkBuffer,
        (time, kind, region): (Ticks, EventKind, RegionId),
    ) {
        self.take_waiting(frames, calls, (kind == EventKind::Enter).then_some((time, region)));
        self.readings.recorded(time, kind);
        let line = match kind {
            EventKind::Enter => self.enter_recorded(frames, calls, time, region),
            EventKind::Leave => {
                self.leave_recorded(frames, calls, time, region);
                None
            }
            _ => None,
        };
        self.last_row = time;
        let row = calls.push(time, kind, region);
        self.new_row.push(row);
        if kind == EventKind::Enter {
            let is_mpi = frames.is_mpi.get(region.index()).copied().unwrap_or_default();
            let line = line.filter(|_| is_mpi);
            calls.call_sites.push(CallSite { row, line, is_recorded: true, lca: Lca::Unknown });
        }
    }

    /// Enters a recorded call; gives where in its caller it is.
    fn enter_recorded(
        &mut self,
        frames: &Frames,
        calls: &mut ChunkBuffer,
        time: Ticks,
        region: RegionId,
    ) -> Option<u32> {
        // Inside of a recorded call of which nothing is known yet, what is open outside of it is nearest.
        let outer = self.recorded.last().map_or(OUTSIDE, |call| call.at);
        let near =
            [self.at, outer, self.of_team].into_iter().find(|&frame| frame != OUTSIDE).unwrap_or(OUTSIDE);
        // A sample taken at the call has shown its caller.
        let is_known = std::mem::take(&mut self.is_at_call) && self.last_sample == time;
        let ends_construct = frames.ends_construct.get(region.index()).copied().unwrap_or_default();
        let call = if ends_construct && !self.recorded.is_empty() {
            self.leave_to(frames, calls, time, self.base);
            self.n_lasting = self.n_lasting.min(frames.get(self.base).depth);
            OUTSIDE
        } else {
            if !is_known {
                self.called_from_there_again(frames, calls, time, region);
            }
            let place = *self.places.entry((near, region)).or_insert_with(|| frames.place(near, region));
            place.filter(|_| !is_known).map_or(OUTSIDE, |place| self.go_to(frames, calls, time, place))
        };
        let line = self.line;
        self.recorded.push(RecordedCall { region, at: self.at, base: self.base, line });
        (self.at, self.base, self.line) = (call, call, None);
        (self.has_recorded, self.is_after_recorded) = (true, true);
        line
    }

    /// A call of MPI is a sample of its own, unless the path is that of the last sample.
    fn called_from_there_again(
        &mut self,
        frames: &Frames,
        calls: &mut ChunkBuffer,
        time: Ticks,
        region: RegionId,
    ) {
        let is_mpi = frames.is_mpi.get(region.index()).copied().unwrap_or_default();
        if !is_mpi || self.last_call.is_none() {
            return;
        }
        let next = Call { region, caller: self.at, line: self.line };
        let Some(pair) = self.pair(next) else { return };
        let between = self.between(frames, pair);
        let kept = frames.outer(next.caller, between.stays);
        let kept = if frames.get(kept).depth < frames.get(self.base).depth { self.base } else { kept };
        let was_sampled = !self.is_after_recorded;
        let begin = if was_sampled { time } else { self.last_row };
        self.pass_gap(frames, calls, (begin, time), (pair, between, kept), was_sampled);
        self.n_lasting = self.n_lasting.min(frames.get(kept).depth);
        self.enter_from(frames, calls, time, (self.at, next.caller), Lca::Unknown);
        self.line = next.line;
    }

    /// Leaves and enters frames until the caller of a recorded call is the innermost; gives the frame of the call.
    fn go_to(
        &mut self,
        frames: &Frames,
        calls: &mut ChunkBuffer,
        time: Ticks,
        RecordedPlace { caller, call }: RecordedPlace,
    ) -> u32 {
        self.rebase(frames, calls, time, caller);
        if frames.common(self.base, caller) != self.base {
            return OUTSIDE;
        }
        let kept = frames.common(self.at, caller);
        let has_moved = self.at != caller;
        self.leave_to(frames, calls, time, kept);
        self.n_lasting = self.n_lasting.min(frames.get(kept).depth);
        self.enter_from(frames, calls, time, (kept, caller), Lca::Unknown);
        if has_moved || call != OUTSIDE {
            self.line = frames.get(call).call_line;
        }
        call
    }

    /// Leaves the frames inside of a recorded call that ends now. One that was not entered changes nothing.
    fn leave_recorded(&mut self, frames: &Frames, calls: &mut ChunkBuffer, time: Ticks, region: RegionId) {
        let Some(at) = self.recorded.iter().rposition(|call| call.region == region) else { return };
        self.leave_to(frames, calls, time, self.base);
        let RecordedCall { at: outer, base, line, .. } = self.recorded[at];
        (self.at, self.base, self.line) = (outer, base, line);
        self.recorded.truncate(at);
        self.last_call = self.last_call.filter(|&(_, n_around)| n_around <= at);
        (self.has_recorded, self.is_after_recorded) = (true, true);
    }

    /// Finds the frame of the innermost recorded call that is on a path, or that in which the innermost one was entered.
    fn rebase(&mut self, frames: &Frames, calls: &mut ChunkBuffer, time: Ticks, to: u32) {
        let Some(call) = self.recorded.last().copied() else { return };
        let frame_of = |region: RegionId| {
            let mut at = to;
            while at != OUTSIDE && frames.get(at).region != region {
                at = frames.get(at).parent;
            }
            Some(at).filter(|&at| at != OUTSIDE)
        };
        let known = self.recorded.iter().rev().take(RECORDED_AROUND).find_map(|call| frame_of(call.region));
        // Of a call that is not on the path, an outer one that is says less than the frames that it was entered in.
        let entered_in = frames.common(call.at, to);
        let is_inside = |known: &u32| frames.get(entered_in).depth < frames.get(*known).depth;
        let base = known.filter(is_inside).unwrap_or(entered_in);
        if base != self.base {
            self.leave_to(frames, calls, time, self.base);
            (self.at, self.base) = (base, base);
        }
    }

    /// Leaves the frames inside `outer`.
    fn leave_to(&mut self, frames: &Frames, calls: &mut ChunkBuffer, time: Ticks, outer: u32) {
        while self.at != outer {
            let FrameNode { parent, region, .. } = frames.get(self.at);
            calls.push(time, EventKind::Leave, region);
            self.at = parent;
        }
    }

    /// Replaces the contents of `calls` by the leaves of the calls open at the end.
    pub fn end(&mut self, frames: &Frames, calls: &mut ChunkBuffer) {
        calls.clear();
        self.take_waiting(frames, calls, None);
        let last = self.last;
        self.leave_to(frames, calls, last, self.base);
        // Those outside of recorded calls that are open are left with these.
        if self.recorded.is_empty() {
            self.leave_to(frames, calls, last, OUTSIDE);
        }
    }

    /// Gives the payload of other rows their new row numbers.
    fn copy_payloads(&self, raw: &ChunkBuffer, calls: &mut ChunkBuffer) {
        fn copy<T: Clone>(new_row: &[u32], from: &[T], to: &mut Vec<T>, row_of: impl Fn(&mut T) -> &mut u32) {
            to.extend(from.iter().filter_map(|payload| {
                let mut payload = payload.clone();
                let row = row_of(&mut payload);
                *row = new_row.get(*row as usize).copied()?;
                (*row != u32::MAX).then_some(payload)
            }));
        }
        let new_row = &self.new_row;
        copy(new_row, &raw.sends, &mut calls.sends, |x| &mut x.row);
        copy(new_row, &raw.recvs, &mut calls.recvs, |x| &mut x.row);
        copy(new_row, &raw.requests, &mut calls.requests, |x| &mut x.row);
        copy(new_row, &raw.collectives, &mut calls.collectives, |x| &mut x.row);
        copy(new_row, &raw.threads, &mut calls.threads, |x| &mut x.row);
        copy(new_row, &raw.rma, &mut calls.rma, |x| &mut x.row);
        copy(new_row, &raw.parameters, &mut calls.parameters, |x| &mut x.row);
        copy(new_row, &raw.links, &mut calls.links, |x| &mut x.row);
        copy(new_row, &raw.device_calls, &mut calls.device_calls, |x| &mut x.row);
        copy(new_row, &raw.io, &mut calls.io, |x| &mut x.row);
        copy(new_row, &raw.named_records, &mut calls.named_records, |x| &mut x.row);
    }
}
