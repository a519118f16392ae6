//! The second pass: which calls fill the local segments of a critical path.

use super::waits::SegmentKind;
use super::walk::CriticalPathOutput;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{
    CallPathId, CallPathTree, EventChunk, EventKind, LocationId, Needs, Remap, Ticks, TimeRange,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Exclusive time of the calls in each local segment of a critical path. The pass must have the filter of the one
/// that found the path.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PathCalls {
    /// Local segments of each location with their number, in the order of time.
    segments: BTreeMap<LocationId, Arc<[(u32, TimeRange)]>>,
}

impl PathCalls {
    /// The exclusive time of calls in ranges of each location, which are numbered and in the order of time.
    pub fn in_ranges(ranges: BTreeMap<LocationId, Vec<(u32, TimeRange)>>) -> Self {
        PathCalls { segments: ranges.into_iter().map(|(id, list)| (id, list.into())).collect() }
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
    /// Time in the segment that is open.
    open: FxHashMap<PathState, Ticks>,
    done: Vec<(u32, Vec<Share>)>,
}

/// What a location does, as far as one event shows it. The caller is looked up once the call-path tree is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum PathState {
    /// The last event was the enter of this path; the root before the first.
    In(CallPathId),
    /// The last event was the leave of this path.
    CallerOf(CallPathId),
}

/// Time of one state in one segment.
type Share = (PathState, Ticks);

/// Time by segment and call path.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathCallsPartial {
    segments: BTreeMap<u32, Vec<Share>>,
}

/// The calls of each local segment.
#[derive(Debug, Clone)]
pub struct PathCallsOutput {
    /// The call paths that the shares refer to.
    pub call_paths: CallPathTree,
    /// By number of the segment: exclusive time by call path, ascending; the root is time outside of every region.
    pub segments: BTreeMap<u32, Vec<(CallPathId, Ticks)>>,
}

impl Analysis for PathCalls {
    type Local = PathCallsLocal;
    type Partial = PathCallsPartial;
    type Output = PathCallsOutput;
    const NAME: &'static str = "critical-path-calls";
    const PARTIAL_VERSION: u32 = 2;

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
            state: PathState::In(CallPathTree::ROOT),
            since: Ticks(0),
            open: FxHashMap::default(),
            done: Vec::new(),
        }
    }

    fn fold(&self, local: &mut PathCallsLocal, chunk: &EventChunk<'_>) {
        let mut from = 0;
        while let Some(&(_, range)) = local.segments.get(local.next) {
            // Events up to the begin of a segment only tell what goes on there.
            let begin = from + chunk.time[from..].partition_point(|&at| at <= range.start);
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
        _: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut PathCallsPartial,
    ) {
        local.advance(Ticks(u64::MAX));
        into.segments.extend(local.done);
    }

    fn remap(&self, partial: &mut PathCallsPartial, remap: &Remap) {
        for shares in partial.segments.values_mut() {
            for (state, _) in shares.iter_mut() {
                *state = match *state {
                    PathState::In(path) => PathState::In(remap.path(path)),
                    PathState::CallerOf(path) => PathState::CallerOf(remap.path(path)),
                };
            }
            shares.sort_unstable();
        }
    }

    fn merge(&self, into: &mut PathCallsPartial, mut from: PathCallsPartial) {
        into.segments.append(&mut from.segments);
    }

    fn finish(&self, partial: PathCallsPartial, cx: &FinishCx<'_>) -> Result<PathCallsOutput, AnalysisError> {
        let resolve = |shares: Vec<Share>| {
            let mut sums: BTreeMap<CallPathId, Ticks> = BTreeMap::new();
            for (state, ticks) in shares {
                let path = match state {
                    PathState::In(path) => path,
                    PathState::CallerOf(path) => cx.call_paths.parent(path),
                };
                *sums.entry(path).or_default() += ticks;
            }
            sums.into_iter().collect()
        };
        let segments = partial.segments.into_iter().map(|(number, shares)| (number, resolve(shares)));
        Ok(PathCallsOutput { call_paths: cx.call_paths.clone(), segments: segments.collect() })
    }
}

/// What a location does after an enter or leave.
fn state_after(chunk: &EventChunk<'_>, row: usize) -> Option<PathState> {
    match chunk.kind[row] {
        EventKind::Enter => Some(PathState::In(chunk.call_path[row])),
        EventKind::Leave => Some(PathState::CallerOf(chunk.call_path[row])),
        _ => None,
    }
}

/// What it does after the last enter or leave of some rows.
fn last_state(chunk: &EventChunk<'_>, rows: std::ops::Range<usize>) -> Option<PathState> {
    rows.rev().find_map(|row| state_after(chunk, row))
}

impl PathCallsLocal {
    /// Gives the time since the last enter or leave to what the location does, as far as it lies in segments.
    fn advance(&mut self, at: Ticks) {
        while let Some(&(number, range)) = self.segments.get(self.next) {
            let inside = at.min(range.end).since(self.since.max(range.start));
            if 0 < inside.0 {
                *self.open.entry(self.state).or_default() += inside;
            }
            if at < range.end {
                break;
            }
            let mut shares: Vec<Share> = self.open.drain().collect();
            shares.sort_unstable();
            self.done.push((number, shares));
            self.next += 1;
        }
        self.since = at;
    }
}
