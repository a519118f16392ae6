//! The second pass: which calls fill the local segments of a critical path.

use super::walk::{CriticalPathOutput, SegmentKind};
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
    /// The second pass for a path.
    pub fn new(path: &CriticalPathOutput) -> Self {
        let mut segments: BTreeMap<LocationId, Vec<(u32, TimeRange)>> = BTreeMap::new();
        for (number, segment) in (0..).zip(&path.segments) {
            if segment.kind == SegmentKind::Local {
                segments.entry(segment.location).or_default().push((number, segment.range));
            }
        }
        PathCalls { segments: segments.into_iter().map(|(id, list)| (id, list.into())).collect() }
    }
}

/// While a location is folded.
#[derive(Debug)]
pub struct PathCallsLocal {
    /// Segments that are not over; empty if the path does not come here.
    segments: Arc<[(u32, TimeRange)]>,
    next: usize,
    stack: Vec<CallPathId>,
    /// When the innermost call became so.
    since: Ticks,
    /// Time of the calls in the segment that is open.
    open: FxHashMap<CallPathId, Ticks>,
    done: Vec<(u32, Vec<PathShare>)>,
}

/// Time of one call path in one segment.
type PathShare = (CallPathId, Ticks);

/// Time by segment and call path.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathCallsPartial {
    segments: BTreeMap<u32, Vec<PathShare>>,
}

/// The calls of each local segment.
#[derive(Debug, Clone)]
pub struct PathCallsOutput {
    /// The call paths that the shares speak of.
    pub call_paths: CallPathTree,
    /// By number of the segment: exclusive time by call path, ascending; the root is time outside of every region.
    pub segments: BTreeMap<u32, Vec<(CallPathId, Ticks)>>,
}

impl Analysis for PathCalls {
    type Local = PathCallsLocal;
    type Partial = PathCallsPartial;
    type Output = PathCallsOutput;
    const NAME: &'static str = "critical-path-calls";
    const PARTIAL_VERSION: u32 = 1;

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
            stack: Vec::new(),
            since: Ticks(0),
            open: FxHashMap::default(),
            done: Vec::new(),
        }
    }

    fn fold(&self, local: &mut PathCallsLocal, chunk: &EventChunk<'_>) {
        if local.next == local.segments.len() {
            return;
        }
        for (row, &kind) in chunk.kind.iter().enumerate() {
            match kind {
                EventKind::Enter => {
                    local.advance(chunk.time[row]);
                    local.stack.push(chunk.call_path[row]);
                }
                EventKind::Leave => {
                    local.advance(chunk.time[row]);
                    local.stack.pop();
                }
                _ => {}
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
            shares.iter_mut().for_each(|share| share.0 = remap.path(share.0));
            shares.sort_unstable();
        }
    }

    fn merge(&self, into: &mut PathCallsPartial, mut from: PathCallsPartial) {
        into.segments.append(&mut from.segments);
    }

    fn finish(&self, partial: PathCallsPartial, cx: &FinishCx<'_>) -> Result<PathCallsOutput, AnalysisError> {
        Ok(PathCallsOutput { call_paths: cx.call_paths.clone(), segments: partial.segments })
    }
}

impl PathCallsLocal {
    /// Gives the time since the last enter or leave to the innermost call, as far as it lies in segments.
    fn advance(&mut self, at: Ticks) {
        let path = self.stack.last().copied().unwrap_or(CallPathTree::ROOT);
        while let Some(&(number, range)) = self.segments.get(self.next) {
            let inside = at.min(range.end).since(self.since.max(range.start));
            if 0 < inside.0 {
                *self.open.entry(path).or_default() += inside;
            }
            if at < range.end {
                break;
            }
            let mut shares: Vec<PathShare> = self.open.drain().collect();
            shares.sort_unstable();
            self.done.push((number, shares));
            self.next += 1;
        }
        self.since = at;
    }
}
