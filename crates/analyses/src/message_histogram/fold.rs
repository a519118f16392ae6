//! The fold: one look-up for each run of messages of one size.

use super::output::MessageHistogramOutput;
use super::state::{MessageHistogramLocal, SizeCounts};
use crate::communication_totals::LEAST_NULL_PEER;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{EventChunk, Level, MessageEnd, Needs, Notice, NoticeCode, Remap};
use serde::{Deserialize, Serialize};

/// Number of messages by size.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct MessageHistogram;

impl Analysis for MessageHistogram {
    type Local = MessageHistogramLocal;
    type Partial = SizeCounts;
    type Output = MessageHistogramOutput;
    const NAME: &'static str = "message-histogram";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::MESSAGES
    }

    fn empty(&self) -> SizeCounts {
        SizeCounts::default()
    }

    fn begin(&self, _cx: &LocationCx<'_>) -> MessageHistogramLocal {
        MessageHistogramLocal::default()
    }

    fn fold(&self, local: &mut MessageHistogramLocal, chunk: &EventChunk<'_>) {
        add_sizes(chunk.sends, local);
    }

    fn end(
        &self,
        mut local: MessageHistogramLocal,
        _: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut SizeCounts,
    ) {
        local.settle();
        into.add(local.counts);
    }

    fn remap(&self, _: &mut SizeCounts, _: &Remap) {}

    fn merge(&self, into: &mut SizeCounts, from: SizeCounts) {
        into.add(from);
    }

    fn finish(
        &self,
        partial: SizeCounts,
        cx: &FinishCx<'_>,
    ) -> Result<MessageHistogramOutput, AnalysisError> {
        let output = MessageHistogramOutput::new(partial);
        if 0 < output.null_peers {
            let message = "a message to MPI_PROC_NULL is recorded; it is not in the histogram";
            let notice = Notice::new(Level::Low, NoticeCode::UnmatchedMessages, message);
            cx.notices.push(notice.times(output.null_peers));
        }
        if 1 < output.step_bytes {
            let message = format!(
                "messages have too many different sizes; linear bins count them in steps of {} bytes",
                output.step_bytes
            );
            cx.notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, message));
        }
        Ok(output)
    }
}

/// Adds the size of each message.
#[inline(never)]
fn add_sizes(ends: &[MessageEnd], local: &mut MessageHistogramLocal) {
    let is_null = |end: &MessageEnd| LEAST_NULL_PEER <= end.peer.0;
    for run in ends.chunk_by(|a, b| a.bytes == b.bytes && is_null(a) == is_null(b)) {
        if is_null(&run[0]) {
            local.counts.null_peers += run.len() as u64;
        } else {
            local.add(run[0].bytes, run.len() as u64);
        }
    }
}
