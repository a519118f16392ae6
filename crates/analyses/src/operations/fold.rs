//! The fold: notes in which call each operation takes place.

use super::output::{OperationsOutput, output};
use super::state::{Local, LocationOps, OperationsPartial, Part, What};
use crate::communication::{LEAST_NULL_PEER, peer_rank};
use crate::late_messages::{LateMessages, OpenEnd};
use crate::semantics::{Category, Semantics};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{
    CallPathId, Collective, CollectiveRoot, Definitions, EventChunk, EventKind, Filter, Level, Needs, Notice,
    NoticeCode, Remap, RequestEvent, Ticks,
};
use serde::{Deserialize, Serialize};

/// Sends, receives and collective operations, with both sides known.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Operations {
    messages: LateMessages,
    /// For each region whether its calls wait, send or synchronise.
    is_operation: Vec<bool>,
}

impl Operations {
    /// The analysis for a pass with `filter`, by the built-in rules of what regions mean.
    pub fn new(definitions: &Definitions, filter: &Filter) -> Self {
        Operations::with_semantics(definitions, filter, Semantics::default())
    }

    /// The analysis for a pass with `filter`, by the rules of `semantics`.
    pub fn with_semantics(definitions: &Definitions, filter: &Filter, semantics: Semantics) -> Self {
        let classes = semantics.classes(definitions);
        let is_operation = classes.iter().map(|class| class.category != Category::Computation).collect();
        Operations { messages: LateMessages::for_filter(filter, semantics), is_operation }
    }

    pub(super) fn is_operation(&self) -> &[bool] {
        &self.is_operation
    }
}

impl Analysis for Operations {
    type Local = Local;
    type Partial = OperationsPartial;
    type Output = OperationsOutput;
    const NAME: &'static str = "operations";
    const PARTIAL_VERSION: u32 = 1;
    const PAIRS_LOCATIONS: bool = true;

    fn needs(&self) -> Needs {
        Needs::MESSAGES | Needs::COLLECTIVES | Needs::CALL_PATHS
    }

    fn empty(&self) -> OperationsPartial {
        OperationsPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> Local {
        Local { messages: self.messages.begin(cx), ..Local::default() }
    }

    fn fold(&self, local: &mut Local, chunk: &EventChunk<'_>) {
        // Each end of a message is kept there in the order of the records.
        let mut next_end = local.messages.ends.len();
        self.messages.fold(&mut local.messages, chunk);
        let (mut collectives, mut requests) = (chunk.collectives.iter(), chunk.requests.iter());
        for (row, &kind) in chunk.kind.iter().enumerate() {
            let (at, path) = (chunk.time[row], chunk.call_path[row]);
            match kind {
                EventKind::Enter => {
                    local.enter(at, self.is_operation[chunk.region[row].index()]);
                }
                EventKind::Leave => local.leave(at),
                EventKind::MessageSend | EventKind::MessageRecv => {
                    add_end(local, next_end, path, at);
                    next_end += 1;
                }
                EventKind::CollectiveEnd => {
                    if let Some(end) = collectives.next() {
                        add_collective(local, end, path, at);
                    }
                }
                EventKind::Request => match requests.next() {
                    Some(request) if request.event == RequestEvent::CollectivePosted => {
                        local.posted.insert(request.request, local.began(at));
                    }
                    _ => {}
                },
                _ => {}
            }
        }
    }

    fn end(
        &self,
        local: Local,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut OperationsPartial,
    ) {
        let Local { messages, ops, collectives, .. } = local;
        self.messages.end(messages, cx, summary, &mut into.messages);
        if ops.is_empty() {
            return;
        }
        let me = cx.definitions.location(cx.location).rank;
        let root = |part: &Part, root| match (root, me) {
            (CollectiveRoot::This, me) => me,
            (CollectiveRoot::Rank(rank), Some(me)) => peer_rank(cx.definitions, part.comm, me, rank),
            _ => None,
        };
        let collectives =
            collectives.into_iter().map(|(part, at)| Part { root: root(&part, at), ..part }).collect();
        into.locations.insert(cx.location, LocationOps { ops, collectives });
    }

    fn remap(&self, partial: &mut OperationsPartial, remap: &Remap) {
        self.messages.remap(&mut partial.messages, remap);
        partial.remap(remap);
    }

    fn merge(&self, into: &mut OperationsPartial, mut from: OperationsPartial) {
        self.messages.merge(&mut into.messages, from.messages);
        into.locations.append(&mut from.locations);
    }

    fn split(&self, rest: &mut OperationsPartial, n_buckets: usize) -> Vec<OperationsPartial> {
        let messages = self.messages.split(&mut rest.messages, n_buckets);
        let of_bucket = |messages| OperationsPartial { messages, ..OperationsPartial::default() };
        messages.into_iter().map(of_bucket).collect()
    }

    /// # Errors
    /// If there are 2³² operations or more.
    fn finish(
        &self,
        partial: OperationsPartial,
        cx: &FinishCx<'_>,
    ) -> Result<OperationsOutput, AnalysisError> {
        let n_ops: usize = partial.locations.values().map(|location| location.ops.len()).sum();
        if u32::try_from(n_ops).is_err() {
            let reason = format!("{n_ops} sends, receives and collectives; at most 2^32 - 1 can be kept");
            return Err(AnalysisError { analysis: Self::NAME, reason });
        }
        let output = output(partial, self, cx);
        report(&output, cx);
        Ok(output)
    }
}

/// Adds the operation of an end of a message. To nobody is no operation.
fn add_end(local: &mut Local, end: usize, path: CallPathId, at: Ticks) {
    let OpenEnd { end, is_send, kept } = local.messages.ends[end];
    if end.peer.0 < LEAST_NULL_PEER {
        let nth = kept.nth;
        local.push(if is_send { What::Send { nth } } else { What::Receive { nth } }, path, at);
    }
}

fn add_collective(local: &mut Local, end: &Collective, path: CallPathId, at: Ticks) {
    let posted = end.request.and_then(|request| local.posted.remove(&request));
    let arrived = posted.unwrap_or_else(|| local.began(at));
    let index = local.collectives.len() as u32;
    local.collectives.push((Part { op: end.op, comm: end.comm, root: None, arrived }, end.root));
    local.push(What::Collective { index }, path, at);
}

fn report(output: &OperationsOutput, cx: &FinishCx<'_>) {
    let push = |count: u64, code, what: &str| {
        if 0 < count {
            cx.notices.push(Notice::new(Level::Low, code, what).times(count));
        }
    };
    push(
        output.n_unmatched_ends,
        NoticeCode::UnmatchedMessages,
        "an operation depends on nothing: the other side of its message is not known",
    );
    push(
        output.n_unaligned_collectives,
        NoticeCode::UnalignedSynchronisations,
        "an operation depends on nothing: it is not known which collective of the other members it is",
    );
}
