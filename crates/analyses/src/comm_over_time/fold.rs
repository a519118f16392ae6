//! The fold: one comparison and one addition for each end of a message.

use super::output::CommOverTimeOutput;
use super::state::{BinTraffic, CommOverTimeLocal, CommOverTimePartial, SideCounts};
use crate::time_grid::TimeGrid;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{EventChunk, Level, Needs, Notice, NoticeCode, Remap};
use serde::{Deserialize, Serialize};

/// Messages and bytes in bins of time.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct CommOverTime {
    grid: TimeGrid,
}

impl CommOverTime {
    /// The analysis with these bins. Messages outside of them are counted apart, with a notice.
    pub fn new(grid: TimeGrid) -> Self {
        CommOverTime { grid }
    }
}

impl Analysis for CommOverTime {
    type Local = CommOverTimeLocal;
    type Partial = CommOverTimePartial;
    type Output = CommOverTimeOutput;
    const NAME: &'static str = "comm-over-time";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::MESSAGES
    }

    fn empty(&self) -> CommOverTimePartial {
        CommOverTimePartial::default()
    }

    fn begin(&self, _cx: &LocationCx<'_>) -> CommOverTimeLocal {
        CommOverTimeLocal { sends: SideCounts::new(self.grid), receives: SideCounts::new(self.grid) }
    }

    fn fold(&self, local: &mut CommOverTimeLocal, chunk: &EventChunk<'_>) {
        local.sends.add(chunk.sends, chunk.time);
        local.receives.add(chunk.recvs, chunk.time);
    }

    fn end(
        &self,
        local: CommOverTimeLocal,
        _: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut CommOverTimePartial,
    ) {
        let CommOverTimeLocal { sends, receives } = local;
        let bins = sends.bins.into_iter().zip(receives.bins);
        into.add(CommOverTimePartial {
            bins: bins.map(|(sent, received)| BinTraffic { sent, received }).collect(),
            outside: BinTraffic { sent: sends.outside, received: receives.outside },
            null_peers: sends.null_peers + receives.null_peers,
        });
    }

    fn remap(&self, _: &mut CommOverTimePartial, _: &Remap) {}

    fn merge(&self, into: &mut CommOverTimePartial, from: CommOverTimePartial) {
        into.add(from);
    }

    fn finish(
        &self,
        partial: CommOverTimePartial,
        cx: &FinishCx<'_>,
    ) -> Result<CommOverTimeOutput, AnalysisError> {
        let CommOverTimePartial { mut bins, outside, null_peers } = partial;
        bins.resize(self.grid.n_bins(), BinTraffic::default());
        let n_outside = outside.sent.messages + outside.received.messages;
        if 0 < n_outside {
            let message = "the end of a message lies outside the time bins and is left out";
            cx.notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, message).times(n_outside));
        }
        if 0 < null_peers {
            let message = "a message to or from MPI_PROC_NULL is recorded; it is in no time bin";
            let notice = Notice::new(Level::Low, NoticeCode::UnmatchedMessages, message);
            cx.notices.push(notice.times(null_peers));
        }
        Ok(CommOverTimeOutput { grid: self.grid, run_range: cx.run_range(), bins, outside, null_peers })
    }
}
