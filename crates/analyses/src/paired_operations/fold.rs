//! The fold: notes in which call each operation takes place.

use super::output::{AllRendezvous, OperationsOutput, output};
use super::state::{Folding, LocalOps, LocationOps, OperationsLocal, OperationsPartial};
use crate::communication_totals::peer_rank;
use crate::message_matching::{self, for_each_pair};
use crate::semantics::{Category, Semantics};
use ouzel_engine::{
    Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Pairing, Scope, SettleCx,
};
use ouzel_model::{CollectiveRoot, Definitions, EventChunk, Level, Needs, Notice, NoticeCode, Remap};
use serde::{Deserialize, Serialize};

/// Sends, receives and collective operations, with both sides known.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Operations {
    /// For each region whether its calls wait, send or synchronise.
    is_operation: Vec<bool>,
    /// Whether what goes wrong is not reported.
    is_silent: bool,
}

impl Operations {
    /// The analysis by the built-in rules of what regions mean.
    pub fn new(definitions: &Definitions) -> Self {
        Operations::with_semantics(definitions, &Semantics::default())
    }

    /// The analysis by the rules of `semantics`.
    pub(crate) fn with_semantics(definitions: &Definitions, semantics: &Semantics) -> Self {
        let classes = semantics.classes(definitions);
        let is_operation = classes.iter().map(|class| class.category != Category::Computation).collect();
        Operations { is_operation, is_silent: false }
    }

    /// The same without notices, for passes in which another analysis reports the same.
    #[must_use]
    pub fn silent(self) -> Self {
        Operations { is_silent: true, ..self }
    }
}

impl Analysis for Operations {
    type Local = OperationsLocal;
    type Partial = OperationsPartial;
    type Output = OperationsOutput;
    const NAME: &'static str = "operations";
    const PARTIAL_VERSION: u32 = 4;
    const SCOPE: Scope = Scope::Trace;

    fn needs(&self) -> Needs {
        Needs::MESSAGES | Needs::COLLECTIVES | Needs::CALL_PATHS | Needs::VISITS
    }

    fn empty(&self) -> OperationsPartial {
        OperationsPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> OperationsLocal {
        let own = LocalOps::new(cx.selected);
        OperationsLocal { messages: message_matching::MatchingLocal::new(cx), own }
    }

    fn fold(&self, local: &mut OperationsLocal, chunk: &EventChunk<'_>) {
        let OperationsLocal { messages, own } = local;
        message_matching::fold(messages, &mut Folding { ops: own, is_operation: &self.is_operation }, chunk);
    }

    fn end(
        &self,
        local: OperationsLocal,
        cx: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut OperationsPartial,
    ) {
        let OperationsLocal { messages, own } = local;
        messages.end(cx, &mut into.messages);
        if own.ops.is_empty() {
            return;
        }
        let me = cx.definitions.location(cx.location).rank;
        let root = |comm, root| match (root, me) {
            (CollectiveRoot::This, me) => me,
            (CollectiveRoot::Rank(rank), Some(me)) => peer_rank(cx.definitions, comm, me, rank),
            _ => None,
        };
        let collectives =
            own.collectives.iter().map(|part| own.part(part, root(part.comm, part.root))).collect();
        let mut ops = own.ops;
        ops.shrink_to_fit();
        into.locations.insert(cx.location, LocationOps { ops, collectives });
    }

    fn remap(&self, partial: &mut OperationsPartial, remap: &Remap) {
        partial.remap(remap);
    }

    fn merge(&self, into: &mut OperationsPartial, mut from: OperationsPartial) {
        into.messages.merge(from.messages);
        into.settled.add(from.settled);
        into.locations.append(&mut from.locations);
    }

    fn pairing(&self) -> Option<&dyn Pairing<OperationsPartial>> {
        Some(self)
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
        let output = output(partial, &self.is_operation, cx);
        if !self.is_silent {
            report(&output, cx);
        }
        Ok(output)
    }
}

impl Pairing<OperationsPartial> for Operations {
    fn split(&self, rest: &mut OperationsPartial, n_buckets: usize) -> Vec<OperationsPartial> {
        let of_bucket = |messages| OperationsPartial { messages, ..OperationsPartial::default() };
        rest.messages.split(n_buckets).into_iter().map(of_bucket).collect()
    }

    fn settle(&self, mut bucket: OperationsPartial, cx: &SettleCx<'_>) -> OperationsPartial {
        let mut pairs = Vec::with_capacity(bucket.messages.n_ends() / 2);
        let mut rendezvous = AllRendezvous::new(&self.is_operation, cx.definitions, cx.call_paths);
        let unmatched = for_each_pair(&bucket.messages, cx.definitions, |pair| {
            rendezvous.add(&pair);
            pairs.push(pair);
        });
        bucket.settled.messages.extend(pairs);
        bucket.settled.rendezvous.append(&mut rendezvous.found);
        bucket.settled.rendezvous.sort_unstable();
        bucket.settled.n_unmatched += unmatched.sends + unmatched.receives;
        bucket.messages.locations.clear();
        bucket
    }
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
        "an operation has no dependency: the other side of its message is unknown",
    );
    push(
        output.n_unaligned_collectives,
        NoticeCode::UnalignedSynchronisations,
        "an operation has no dependency: the matching collective of the other members is unknown",
    );
}
