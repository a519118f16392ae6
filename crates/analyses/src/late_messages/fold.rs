//! The fold: remembers in which call each message end was posted and completed.

use super::output::{LateMessagesOutput, output};
use super::pairing::pairing;
use super::state::{Call, End, Ends, Frame, LateMessagesPartial, Local, OpenEnd, Posted};
use super::waits::waits;
use crate::communication::{Channel, Communication, Extent, LEAST_NULL_PEER, peer_rank};
use crate::semantics::Semantics;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{
    CallPathId, CallPathTree, EventChunk, EventKind, Filter, Level, MessageEnd, Needs, Notice, NoticeCode,
    Remap, Request, RequestEvent, Ticks,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    type Partial = LateMessagesPartial;
    type Output = LateMessagesOutput;
    const NAME: &'static str = "late_messages";
    const PARTIAL_VERSION: u32 = 1;
    const PAIRS_LOCATIONS: bool = true;

    fn needs(&self) -> Needs {
        Needs::MESSAGES | Needs::CALL_PATHS
    }

    fn empty(&self) -> LateMessagesPartial {
        LateMessagesPartial::default()
    }

    fn begin(&self, _cx: &LocationCx<'_>) -> Local {
        Local::default()
    }

    fn fold(&self, local: &mut Local, chunk: &EventChunk<'_>) {
        let (mut sends, mut recvs, mut requests) =
            (chunk.sends.iter(), chunk.recvs.iter(), chunk.requests.iter());
        for (row, &kind) in chunk.kind.iter().enumerate() {
            let at = chunk.time[row];
            match kind {
                EventKind::Enter => local.enter(chunk.call_path[row], at),
                EventKind::Leave => local.leave(at),
                EventKind::MessageSend => {
                    sends.next().into_iter().for_each(|end| local.send(end, at));
                }
                EventKind::MessageRecv => {
                    recvs.next().into_iter().for_each(|end| local.receive(end, at));
                }
                EventKind::Request => {
                    requests.next().into_iter().for_each(|request| local.request(request, at));
                }
                _ => {}
            }
        }
    }

    fn end(&self, local: Local, cx: &LocationCx<'_>, _: &LocationSummary, into: &mut LateMessagesPartial) {
        let me = cx.definitions.location(cx.location).rank;
        into.uncompleted_receives += local.uncompleted_receives + local.posted.len() as u64;
        let mut channels: BTreeMap<Channel, Ends> = BTreeMap::new();
        for OpenEnd { end, is_send, kept } in local.ends {
            if LEAST_NULL_PEER <= end.peer.0 {
                into.null_peers += 1;
                continue;
            }
            let peer = me.and_then(|me| Some((me, peer_rank(cx.definitions, end.comm, me, end.peer)?)));
            let Some((me, peer)) = peer else {
                into.unresolved_peers += 1;
                continue;
            };
            let (from, to) = if is_send { (me, peer) } else { (peer, me) };
            let ends = channels.entry(Channel { from, to, comm: end.comm, tag: end.tag }).or_default();
            let side = if is_send { &mut ends.sends } else { &mut ends.receives };
            side.push(End { location: cx.location, ..kept });
        }
        for (channel, mut ends) in channels {
            // Receives come in the order of completion.
            ends.receives.sort_unstable_by_key(|end| (end.posted, end.nth));
            into.channels.entry(channel).or_default().append(ends);
        }
    }

    fn remap(&self, partial: &mut LateMessagesPartial, remap: &Remap) {
        partial.remap(remap);
    }

    fn merge(&self, into: &mut LateMessagesPartial, from: LateMessagesPartial) {
        into.unresolved_peers += from.unresolved_peers;
        into.null_peers += from.null_peers;
        into.uncompleted_receives += from.uncompleted_receives;
        for (channel, ends) in from.channels {
            into.channels.entry(channel).or_default().append(ends);
        }
    }

    fn split(&self, rest: &mut LateMessagesPartial, n_buckets: usize) -> Vec<LateMessagesPartial> {
        let mut buckets: Vec<LateMessagesPartial> = Vec::new();
        buckets.resize_with(n_buckets, LateMessagesPartial::default);
        for (channel, ends) in std::mem::take(&mut rest.channels) {
            buckets[channel.bucket(n_buckets)].channels.insert(channel, ends);
        }
        buckets
    }

    fn finish(
        &self,
        partial: LateMessagesPartial,
        cx: &FinishCx<'_>,
    ) -> Result<LateMessagesOutput, AnalysisError> {
        let LateMessagesPartial { channels, unresolved_peers, null_peers, uncompleted_receives } = partial;
        let pairing = pairing(channels, cx.definitions);
        let classes = self.semantics.classes(cx.definitions);
        let waits = waits(&pairing.pairs, cx.call_paths, &classes);
        let output = LateMessagesOutput {
            unresolved_peers,
            null_peers,
            uncompleted_receives,
            ..output(&pairing, &waits, cx.call_paths.clone())
        };
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

impl Local {
    fn enter(&mut self, path: CallPathId, at: Ticks) {
        self.stack.push(Frame { path, enter: at, first: self.completing.len() });
    }

    fn leave(&mut self, at: Ticks) {
        let Some(Frame { path, enter, first }) = self.stack.pop() else { return };
        for i in self.completing.drain(first..) {
            self.ends[i].kept.completed = Some(Call { path, enter, leave: at });
        }
    }

    /// The next place in the order of posting, in the innermost open call.
    fn post(&mut self, at: Ticks) -> Posted {
        let nth = self.n_posted;
        self.n_posted = nth.saturating_add(1);
        let call = self.stack.last();
        Posted {
            at: call.map_or(at, |call| call.enter),
            path: call.map_or(CallPathTree::ROOT, |call| call.path),
            nth,
        }
    }

    /// Keeps an end and returns its index.
    fn keep(&mut self, end: &MessageEnd, is_send: bool, posted: Posted) -> usize {
        let Posted { at, path, nth } = posted;
        let kept = End {
            posted: at,
            location: ouzel_model::LocationId(0),
            nth,
            path,
            bytes: end.bytes,
            completed: None,
        };
        self.ends.push(OpenEnd { end: *end, is_send, kept });
        self.ends.len() - 1
    }

    fn complete(&mut self, index: usize) {
        if !self.stack.is_empty() {
            self.completing.push(index);
        }
    }

    fn send(&mut self, end: &MessageEnd, at: Ticks) {
        let posted = self.post(at);
        let index = self.keep(end, true, posted);
        match end.request {
            None => self.complete(index),
            // An earlier send under this number did not complete where anybody could see it.
            Some(request) => drop(self.sending.insert(request, index)),
        }
    }

    fn receive(&mut self, end: &MessageEnd, at: Ticks) {
        let posted = end.request.and_then(|request| self.posted.remove(&request));
        let posted = posted.unwrap_or_else(|| self.post(at));
        let index = self.keep(end, false, posted);
        self.complete(index);
    }

    fn request(&mut self, request: &Request, at: Ticks) {
        match request.event {
            RequestEvent::RecvPosted => {
                let posted = self.post(at);
                let lost = self.posted.insert(request.request, posted);
                self.uncompleted_receives += u64::from(lost.is_some());
            }
            RequestEvent::SendComplete => {
                if let Some(index) = self.sending.remove(&request.request) {
                    self.complete(index);
                }
            }
            RequestEvent::Cancelled => {
                self.posted.remove(&request.request);
                self.sending.remove(&request.request);
            }
            RequestEvent::Tested | RequestEvent::CollectivePosted => {}
        }
    }
}
