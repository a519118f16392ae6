//! The analysis: the ends of messages, and what their pairs say.

use super::output::{LateMessagesOutput, output};
use crate::communication::{Communication, Extent};
use crate::matching::{self, Local, MessageEnds};
use crate::semantics::Semantics;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{EventChunk, Filter, Level, Needs, Notice, NoticeCode, Remap};
use serde::{Deserialize, Serialize};

/// Waiting for messages, and who was late.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LateMessages {
    /// How much of the trace is looked at.
    pub extent: Extent,
    /// Which calls wait.
    pub semantics: Semantics,
}

impl LateMessages {
    /// The analysis for a pass with `filter`.
    pub fn for_filter(filter: &Filter, semantics: Semantics) -> Self {
        LateMessages { extent: Communication::for_filter(filter).extent, semantics }
    }
}

impl Analysis for LateMessages {
    type Local = Local;
    type Partial = MessageEnds;
    type Output = LateMessagesOutput;
    const NAME: &'static str = "late_messages";
    const PARTIAL_VERSION: u32 = 2;
    const PAIRS_LOCATIONS: bool = true;

    fn needs(&self) -> Needs {
        Needs::MESSAGES | Needs::CALL_PATHS | Needs::VISITS
    }

    fn empty(&self) -> MessageEnds {
        MessageEnds::default()
    }

    fn begin(&self, _cx: &LocationCx<'_>) -> Local {
        Local::default()
    }

    fn fold(&self, local: &mut Local, chunk: &EventChunk<'_>) {
        matching::fold(local, &mut (), chunk);
    }

    fn end(&self, local: Local, cx: &LocationCx<'_>, _: &LocationSummary, into: &mut MessageEnds) {
        local.end(cx, into);
    }

    fn remap(&self, partial: &mut MessageEnds, remap: &Remap) {
        partial.remap(remap);
    }

    fn merge(&self, into: &mut MessageEnds, from: MessageEnds) {
        into.merge(from);
    }

    fn split(&self, rest: &mut MessageEnds, n_buckets: usize) -> Vec<MessageEnds> {
        rest.split(n_buckets)
    }

    fn finish(&self, partial: MessageEnds, cx: &FinishCx<'_>) -> Result<LateMessagesOutput, AnalysisError> {
        let classes = self.semantics.classes(cx.definitions);
        let output = output(&partial, cx, &classes);
        self.report(cx, &output);
        Ok(output)
    }
}

impl LateMessages {
    fn report(&self, cx: &FinishCx<'_>, output: &LateMessagesOutput) {
        let (level, hint) = match self.extent {
            Extent::WholeTrace => (Level::Medium, ""),
            Extent::Selection => (Level::Low, "; its other side may lie outside of what was selected"),
        };
        let push = |count: u64, level, code, what: &str| {
            if 0 < count {
                cx.notices.push(Notice::new(level, code, what).times(count));
            }
        };
        let unmatched = NoticeCode::UnmatchedMessages;
        push(
            output.unmatched_sends,
            level,
            unmatched,
            &format!("a send has no receive to be paired with{hint}"),
        );
        push(
            output.unmatched_receives,
            level,
            unmatched,
            &format!("a receive has no send to be paired with{hint}"),
        );
        push(
            output.uncompleted_receives,
            Level::Low,
            unmatched,
            "a receive was posted and never completed; its sender is not known",
        );
        push(
            output.unresolved_peers,
            Level::Medium,
            unmatched,
            "a message cannot be paired: its other side is no rank of its communicator",
        );
        push(
            output.received_before_sent,
            Level::Medium,
            NoticeCode::MessageOrder,
            &format!(
                "a message was received before it was sent, the worst by {} ns: who waited for whom is doubtful; \
                 --repair-clocks corrects clocks",
                cx.clock().ns_from_ticks(output.received_before_sent_worst)
            ),
        );
    }
}
