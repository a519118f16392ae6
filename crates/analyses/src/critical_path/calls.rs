//! The second pass: which calls fill the local segments of a critical path.

use super::waits::SegmentKind;
use super::walk::CriticalPathOutput;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Scope};
use ouzel_model::{
    CallPathId, CallPathTree, EventChunk, EventKind, LocationId, Needs, RegionId, Remap, Ticks, TimeRange,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Exclusive time of the calls in each local segment of a critical path, of calls that are not selected, too: what they do
/// tells what the path is bound by. The pass must have the filter of the one that found the path.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PathCalls {
    /// Local segments of each location with their number, in the order of time.
    segments: BTreeMap<LocationId, Arc<[(u32, TimeRange)]>>,
    /// Most times that are kept, of a segment and what the location does in it; none are if there are more.
    limit: u64,
    /// Times that partials of this process hold.
    #[serde(skip)]
    held: Arc<AtomicU64>,
}

impl PathCalls {
    /// The exclusive time of calls in ranges of each location, which are numbered and in the order of time.
    pub fn in_ranges(ranges: BTreeMap<LocationId, Vec<(u32, TimeRange)>>) -> Self {
        let segments = ranges.into_iter().map(|(id, list)| (id, list.into())).collect();
        PathCalls { segments, limit: u64::MAX, held: Arc::default() }
    }

    /// The same with at most so many times: if there are more, the output has none and says so.
    #[must_use]
    pub fn at_most(self, limit: u64) -> Self {
        PathCalls { limit, ..self }
    }

    /// The second pass for a path.
    pub fn new(path: &CriticalPathOutput) -> Self {
        let mut segments: BTreeMap<LocationId, Vec<(u32, TimeRange)>> = BTreeMap::new();
        for (number, segment) in (0..).zip(&path.segments) {
            if segment.kind == SegmentKind::Local {
                segments.entry(segment.location).or_default().push((number, segment.range));
            }
        }
        PathCalls::in_ranges(segments)
    }
}

/// While a location is folded.
#[derive(Debug)]
pub struct PathCallsLocal {
    /// Segments that are not over; empty if the path does not come here.
    segments: Arc<[(u32, TimeRange)]>,
    next: usize,
    /// What the location does since the last enter or leave.
    state: PathState,
    /// When that was.
    since: Ticks,
    /// Time in the segment that is open, by [`PathState`].
    open: Vec<Ticks>,
    /// States with time in it.
    touched: Vec<PathState>,
    done: Vec<StateTime>,
}

/// What a location does, as far as one event shows it: twice the call path, one more if the event was its leave. The
/// caller is looked up once the call-path tree is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct PathState(u32);

/// Number of a segment, what the location does in it, and how long.
type StateTime = (u32, PathState, Ticks);

/// Time by segment and call path.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathCallsPartial {
    /// By location, in the order of segments, and in a segment in that in which the states were first seen.
    locations: BTreeMap<LocationId, Vec<StateTime>>,
    /// Whether a location was left out as there are too many.
    is_over: bool,
}

/// The calls of each local segment.
#[derive(Debug, Clone)]
pub struct PathCallsOutput {
    /// The call paths that the shares refer to, with those of hidden calls.
    pub call_paths: CallPathTree,
    /// Ascending by segment and call path, each pair once.
    pub shares: Vec<SegmentShare>,
    /// Whether there are none because there are more than may be kept.
    pub is_over: bool,
}

/// Exclusive time of one call path in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentShare {
    /// Number of the segment.
    pub segment: u32,
    /// The call path; the root is time outside of every region.
    pub call_path: CallPathId,
    /// How long.
    pub time: Ticks,
}

impl PathCallsOutput {
    /// The calls of one segment.
    pub fn of_segment(&self, number: u32) -> &[SegmentShare] {
        let first = self.shares.partition_point(|share| share.segment < number);
        let n = self.shares[first..].partition_point(|share| share.segment == number);
        &self.shares[first..first + n]
    }

    /// The same with hidden calls put together: `stand_in` takes the place of their regions.
    #[must_use]
    pub fn shown(self, stand_in: RegionId) -> Self {
        let (call_paths, remap) = self.call_paths.shown(stand_in);
        let at = |share: SegmentShare| SegmentShare { call_path: remap.path(share.call_path), ..share };
        PathCallsOutput { shares: added_up(self.shares.into_iter().map(at).collect()), call_paths, ..self }
    }
}

impl Analysis for PathCalls {
    type Local = PathCallsLocal;
    type Partial = PathCallsPartial;
    type Output = PathCallsOutput;
    const NAME: &'static str = "critical-path-calls";
    const PARTIAL_VERSION: u32 = 6;
    const SCOPE: Scope = Scope::Locations;

    fn needs(&self) -> Needs {
        Needs::CALL_PATHS
    }

    fn empty(&self) -> PathCallsPartial {
        PathCallsPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> PathCallsLocal {
        PathCallsLocal {
            segments: self.segments.get(&cx.location).cloned().unwrap_or_default(),
            next: 0,
            state: PathState::entered(CallPathTree::ROOT),
            since: Ticks(0),
            open: Vec::new(),
            touched: Vec::new(),
            done: Vec::new(),
        }
    }

    fn fold(&self, local: &mut PathCallsLocal, chunk: &EventChunk<'_>) {
        let mut from = 0;
        while let Some(&(_, range)) = local.segments.get(local.next) {
            // Events up to the begin of a segment only tell what goes on there.
            let begin = from + n_until(&chunk.time[from..], range.start);
            local.state = last_state(chunk, from..begin).unwrap_or(local.state);
            from = begin;
            let here = local.next;
            while from < chunk.time.len() && local.next == here {
                if let Some(state) = state_after(chunk, from) {
                    local.advance(chunk.time[from]);
                    local.state = state;
                }
                from += 1;
            }
            if from == chunk.time.len() {
                return;
            }
        }
    }

    fn end(
        &self,
        mut local: PathCallsLocal,
        cx: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut PathCallsPartial,
    ) {
        local.advance(Ticks(u64::MAX));
        let held = self.held.fetch_add(local.done.len() as u64, Ordering::Relaxed) + local.done.len() as u64;
        if self.limit < held {
            into.is_over = true;
        } else if !local.done.is_empty() {
            into.locations.insert(cx.location, local.done);
        }
    }

    fn remap(&self, partial: &mut PathCallsPartial, remap: &Remap) {
        let times = partial.locations.values_mut().flatten();
        times.for_each(|(_, state, _)| *state = state.with_path(remap.path(state.path())));
    }

    fn merge(&self, into: &mut PathCallsPartial, mut from: PathCallsPartial) {
        into.locations.append(&mut from.locations);
        into.is_over |= from.is_over;
    }

    fn finish(&self, partial: PathCallsPartial, cx: &FinishCx<'_>) -> Result<PathCallsOutput, AnalysisError> {
        let n_times: usize = partial.locations.values().map(Vec::len).sum();
        if partial.is_over || self.limit < n_times as u64 {
            let call_paths = cx.call_paths.clone();
            return Ok(PathCallsOutput { call_paths, shares: Vec::new(), is_over: true });
        }
        let share = |&(segment, state, time): &StateTime| {
            let call_path = if state.is_left() { cx.call_paths.parent(state.path()) } else { state.path() };
            SegmentShare { segment, call_path, time }
        };
        let mut shares: Vec<SegmentShare> = Vec::with_capacity(n_times);
        // Each location is let go once it is read.
        partial.locations.into_values().for_each(|times| shares.extend(times.iter().map(share)));
        let shares = added_up(shares);
        Ok(PathCallsOutput { call_paths: cx.call_paths.clone(), shares, is_over: false })
    }
}

/// Ascending, each segment and call path once.
fn added_up(mut shares: Vec<SegmentShare>) -> Vec<SegmentShare> {
    sort_by_segment(&mut shares);
    shares.dedup_by(|later, first| {
        let is_same = (later.segment, later.call_path) == (first.segment, first.call_path);
        if is_same {
            first.time += later.time;
        }
        is_same
    });
    shares
}

/// Segments are folded in their order, location after location, so mostly only the rows of each are out of order.
fn sort_by_segment(shares: &mut [SegmentShare]) {
    if shares.is_sorted_by_key(|share| share.segment) {
        shares.chunk_by_mut(|a, b| a.segment == b.segment).for_each(<[SegmentShare]>::sort_unstable);
    } else {
        shares.sort_unstable();
    }
}

/// How many of some ascending times are not after a time: doubling steps, as it is mostly near.
fn n_until(times: &[Ticks], last: Ticks) -> usize {
    let mut n = 1;
    while times.get(n).is_some_and(|&at| at <= last) {
        n *= 2;
    }
    let times = &times[..times.len().min(n)];
    times.partition_point(|&at| at <= last)
}

/// What a location does after an enter or leave.
fn state_after(chunk: &EventChunk<'_>, row: usize) -> Option<PathState> {
    match chunk.kind[row] {
        EventKind::Enter => Some(PathState::entered(chunk.call_path[row])),
        EventKind::Leave => Some(PathState::left(chunk.call_path[row])),
        _ => None,
    }
}

/// What it does after the last enter or leave of some rows.
fn last_state(chunk: &EventChunk<'_>, rows: std::ops::Range<usize>) -> Option<PathState> {
    rows.rev().find_map(|row| state_after(chunk, row))
}

impl PathState {
    /// After the enter of this path; of the root, before the first event.
    fn entered(path: CallPathId) -> Self {
        PathState(2 * path.0)
    }

    /// After the leave of this path.
    fn left(path: CallPathId) -> Self {
        PathState(2 * path.0 + 1)
    }

    fn path(self) -> CallPathId {
        CallPathId(self.0 / 2)
    }

    fn is_left(self) -> bool {
        self.0 % 2 == 1
    }

    fn with_path(self, path: CallPathId) -> Self {
        PathState(2 * path.0 + self.0 % 2)
    }
}

impl PathCallsLocal {
    /// Adds time of the present state; not zero.
    fn add(&mut self, time: Ticks) {
        let index = self.state.0 as usize;
        if self.open.len() <= index {
            self.open.resize(index + 1, Ticks(0));
        }
        if self.open[index] == Ticks(0) {
            self.touched.push(self.state);
        }
        self.open[index] += time;
    }

    /// Gives the time since the last enter or leave to what the location does, as far as it lies in segments.
    #[inline]
    fn advance(&mut self, at: Ticks) {
        while let Some(&(number, range)) = self.segments.get(self.next) {
            let inside = at.min(range.end).since(self.since.max(range.start));
            if 0 < inside.0 {
                self.add(inside);
            }
            if at < range.end {
                break;
            }
            self.end_segment(number);
        }
        self.since = at;
    }

    /// Moves the times of a segment that is over to those that are done.
    fn end_segment(&mut self, number: u32) {
        let open = &mut self.open;
        let time = |state: PathState| (number, state, std::mem::take(&mut open[state.0 as usize]));
        self.done.extend(self.touched.drain(..).map(time));
        self.next += 1;
    }
}
