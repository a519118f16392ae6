//! The calls of one location in the order of entry.

use crate::peers::{PeerGroups, PeerKind};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Question, SelectionCx};
use ouzel_model::{
    CallPathId, CallPathTree, EventChunk, EventKind, LocationId, Needs, Remap, Ticks, WorldRank,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The calls of the main thread of `rank`, or of the smallest rank, among the selected locations. Memory grows with the
/// number of its calls: 32 bytes for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallSeries {
    /// The rank.
    pub rank: Option<WorldRank>,
}

impl Question for CallSeries {
    type Analysis = CallSeriesFold;
    type Output = CallSeriesOutput;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<CallSeriesFold> {
        let peers = PeerGroups::new(cx);
        let threads = peers.groups().iter().find(|group| group.kind == PeerKind::MainThread);
        let is_it = |&&id: &&LocationId| self.rank.is_none() || cx.definitions.location(id).rank == self.rank;
        let location = threads.and_then(|threads| threads.members.iter().find(is_it));
        Arc::new(CallSeriesFold { location: location.copied() })
    }
}

/// The [`CallSeries`] of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSeriesFold {
    /// `None` if there is none to look at.
    location: Option<LocationId>,
}

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesCall {
    /// Its call path.
    pub call_path: CallPathId,
    /// When it was entered.
    pub enter: Ticks,
    /// When it was left.
    pub leave: Ticks,
    /// `leave − enter` less the time in callees.
    pub exclusive: Ticks,
}

/// While the location is folded.
#[derive(Debug, Default)]
pub struct CallSeriesLocal {
    is_it: bool,
    calls: Vec<SeriesCall>,
    /// Open calls: index, and time in callees.
    stack: Vec<(usize, Ticks)>,
}

/// The calls of the location, once it is folded.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSeriesPartial {
    calls: Vec<SeriesCall>,
}

/// The calls of one location.
#[derive(Debug, Clone)]
pub struct CallSeriesOutput {
    /// The location; `None` if there was none to look at.
    pub location: Option<LocationId>,
    /// The call paths that the calls refer to.
    pub call_paths: CallPathTree,
    /// In the order of entry.
    pub calls: Vec<SeriesCall>,
}

impl Analysis for CallSeriesFold {
    type Local = CallSeriesLocal;
    type Partial = CallSeriesPartial;
    type Output = CallSeriesOutput;
    const NAME: &'static str = "call-series";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::CALL_PATHS
    }

    fn empty(&self) -> CallSeriesPartial {
        CallSeriesPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> CallSeriesLocal {
        CallSeriesLocal { is_it: self.location == Some(cx.location), ..CallSeriesLocal::default() }
    }

    fn fold(&self, local: &mut CallSeriesLocal, chunk: &EventChunk<'_>) {
        if !local.is_it {
            return;
        }
        for (row, &kind) in chunk.kind.iter().enumerate() {
            let at = chunk.time[row];
            match kind {
                EventKind::Enter => {
                    local.stack.push((local.calls.len(), Ticks(0)));
                    let call_path = chunk.call_path[row];
                    local.calls.push(SeriesCall { call_path, enter: at, leave: at, exclusive: Ticks(0) });
                }
                EventKind::Leave => local.leave(at),
                _ => {}
            }
        }
    }

    fn end(
        &self,
        local: CallSeriesLocal,
        _: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut CallSeriesPartial,
    ) {
        if local.is_it {
            into.calls = local.calls;
        }
    }

    fn remap(&self, partial: &mut CallSeriesPartial, remap: &Remap) {
        partial.calls.iter_mut().for_each(|call| call.call_path = remap.path(call.call_path));
    }

    fn merge(&self, into: &mut CallSeriesPartial, mut from: CallSeriesPartial) {
        // One location only, so one of them is empty.
        into.calls.append(&mut from.calls);
    }

    fn finish(
        &self,
        partial: CallSeriesPartial,
        cx: &FinishCx<'_>,
    ) -> Result<CallSeriesOutput, AnalysisError> {
        let CallSeriesPartial { calls } = partial;
        Ok(CallSeriesOutput { location: self.location, call_paths: cx.call_paths.clone(), calls })
    }
}

impl CallSeriesLocal {
    fn leave(&mut self, at: Ticks) {
        let Some((index, in_callees)) = self.stack.pop() else { return };
        let call = &mut self.calls[index];
        call.leave = at;
        let inclusive = at.since(call.enter);
        call.exclusive = inclusive.since(in_callees);
        if let Some((_, in_callees)) = self.stack.last_mut() {
            *in_callees += inclusive;
        }
    }
}
