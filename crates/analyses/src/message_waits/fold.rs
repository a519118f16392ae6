//! The analysis: the ends of messages, and the waits of their pairs.

use super::output::{LateMessagesOutput, output};
use super::settled::Settled;
use crate::message_matching::{self, MatchingLocal, MessageEnds, Unmatched, report_unmatched};
use crate::semantics::Semantics;
use ouzel_engine::{
    Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Pairing, Scope, SettleCx,
};
use ouzel_model::{EventChunk, Level, Needs, Notice, NoticeCode, Remap, units};
use serde::{Deserialize, Serialize};

/// Message ends of the locations folded so far, and what is known of those that are settled.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateMessagesPartial {
    ends: MessageEnds,
    settled: Settled,
}

/// Waiting for messages, and who was late.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LateMessages {
    /// Which calls wait.
    pub semantics: Semantics,
}

impl Analysis for LateMessages {
    type Local = MatchingLocal;
    type Partial = LateMessagesPartial;
    type Output = LateMessagesOutput;
    const NAME: &'static str = "late_messages";
    const PARTIAL_VERSION: u32 = 4;
    const SCOPE: Scope = Scope::Trace;

    fn needs(&self) -> Needs {
        Needs::MESSAGES | Needs::CALL_PATHS | Needs::VISITS
    }

    fn empty(&self) -> LateMessagesPartial {
        LateMessagesPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> MatchingLocal {
        MatchingLocal::new(cx)
    }

    fn fold(&self, local: &mut MatchingLocal, chunk: &EventChunk<'_>) {
        message_matching::fold(local, &mut (), chunk);
    }

    fn end(
        &self,
        local: MatchingLocal,
        cx: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut LateMessagesPartial,
    ) {
        local.end(cx, &mut into.ends);
    }

    fn remap(&self, partial: &mut LateMessagesPartial, remap: &Remap) {
        partial.ends.remap(remap);
        partial.settled.remap(remap);
    }

    fn merge(&self, into: &mut LateMessagesPartial, from: LateMessagesPartial) {
        into.ends.merge(from.ends);
        into.settled.add(from.settled);
    }

    fn pairing(&self) -> Option<&dyn Pairing<LateMessagesPartial>> {
        Some(self)
    }

    fn finish(
        &self,
        partial: LateMessagesPartial,
        cx: &FinishCx<'_>,
    ) -> Result<LateMessagesOutput, AnalysisError> {
        let settling = SettleCx { definitions: cx.definitions, call_paths: cx.call_paths };
        let LateMessagesPartial { ends, settled } = self.settle(partial, &settling);
        Ok(concluded(&ends, settled, cx))
    }
}

impl LateMessages {
    /// The same answer from the ends of all locations, for an analysis that has them.
    pub fn of_ends(&self, ends: &MessageEnds, cx: &FinishCx<'_>) -> LateMessagesOutput {
        let classes = self.semantics.classes(cx.definitions);
        let mut settled = Settled::of(ends, cx.definitions, cx.call_paths, &classes);
        settled.sort();
        concluded(ends, settled, cx)
    }
}

fn concluded(ends: &MessageEnds, settled: Settled, cx: &FinishCx<'_>) -> LateMessagesOutput {
    let (sends, receives) = (settled.unmatched_sends, settled.unmatched_receives);
    report_unmatched(cx.notices, Unmatched { sends, receives }, ends);
    let output = output(ends, settled, cx);
    report(cx, &output);
    output
}

impl Pairing<LateMessagesPartial> for LateMessages {
    fn split(&self, rest: &mut LateMessagesPartial, n_buckets: usize) -> Vec<LateMessagesPartial> {
        let of_bucket = |ends| LateMessagesPartial { ends, ..LateMessagesPartial::default() };
        rest.ends.split(n_buckets).into_iter().map(of_bucket).collect()
    }

    fn settle(&self, mut bucket: LateMessagesPartial, cx: &SettleCx<'_>) -> LateMessagesPartial {
        let classes = self.semantics.classes(cx.definitions);
        bucket.settled.add(Settled::of(&bucket.ends, cx.definitions, cx.call_paths, &classes));
        bucket.settled.sort();
        bucket.ends.locations.clear();
        bucket
    }
}

fn report(cx: &FinishCx<'_>, output: &LateMessagesOutput) {
    if output.received_before_sent == 0 {
        return;
    }
    let text = format!(
        "a message was received before it was sent, by up to {}: which rank waited for which is doubtful; \
         --repair-clocks corrects clocks",
        units::time(cx.clock().ns_from_ticks(output.received_before_sent_worst))
    );
    let notice = Notice::new(Level::Medium, NoticeCode::MessageOrder, text);
    cx.notices.push(notice.times(output.received_before_sent));
}
