//! Operations while a location is folded, and of the locations folded so far.

use crate::communication_totals::LEAST_NULL_PEER;
use crate::message_matching::{self, Matched, MessageEnds, Observer, Side};
use ouzel_engine::Selected;
use ouzel_model::{
    CallPathId, CallPathTree, Collective, CollectiveOp, CollectiveRoot, CommId, LocationId, MessageEnd,
    RegionId, Remap, Request, RequestEvent, Ticks, Visit, WorldRank,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What an operation of a location is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    /// A send; `nth` as in `message_matching::LocationEnds`.
    Send { nth: u32 },
    /// A receive; `nth` as in `message_matching::LocationEnds`.
    Receive { nth: u32 },
    /// A collective; index into [`LocationOps::collectives`].
    Collective { index: u32 },
}

/// One operation of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Op {
    pub what: What,
    pub path: CallPathId,
    pub enter: Ticks,
    pub leave: Ticks,
    /// Whether its record is selected.
    pub is_selected: bool,
}

/// Further data of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectivePart {
    /// What they do.
    pub op: CollectiveOp,
    /// The communicator.
    pub comm: CommId,
    /// The root, if the operation has a known one.
    pub root: Option<WorldRank>,
    /// When it was posted, or entered.
    pub arrived: Ticks,
}

/// The operations of one location, in order.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LocationOps {
    pub ops: Vec<Op>,
    pub collectives: Vec<CollectivePart>,
}

/// A synchronous send (`MPI_Ssend`, `MPI_Issend`): it completes after its receive is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rendezvous {
    /// Who sends.
    pub location: LocationId,
    /// The call in which the send completes.
    pub call_path: CallPathId,
    /// When that call was entered.
    pub enter: Ticks,
    /// When it was left.
    pub leave: Ticks,
    /// Who receives.
    pub receiver: LocationId,
    /// When the call was entered that posts the receive.
    pub receive_posted: Ticks,
}

/// Data of settled messages.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Settled {
    pub messages: Matched,
    /// Once sorted: ascending.
    pub rendezvous: Vec<Rendezvous>,
    /// Sends and receives whose other side is unknown.
    pub n_unmatched: u64,
}

impl Settled {
    fn remap(&mut self, remap: &Remap) {
        self.rendezvous.iter_mut().for_each(|of| of.call_path = remap.path(of.call_path));
    }

    pub fn add(&mut self, mut from: Settled) {
        self.messages.merge(from.messages);
        self.rendezvous.append(&mut from.rendezvous);
        self.n_unmatched += from.n_unmatched;
    }
}

/// The operations of the locations folded so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct OperationsPartial {
    pub(super) messages: MessageEnds,
    pub(super) settled: Settled,
    pub(super) locations: BTreeMap<LocationId, LocationOps>,
}

impl OperationsPartial {
    pub(super) fn remap(&mut self, remap: &Remap) {
        self.messages.remap(remap);
        self.settled.remap(remap);
        for op in self.locations.values_mut().flat_map(|location| &mut location.ops) {
            op.path = remap.path(op.path);
        }
    }
}

/// While a location is folded.
#[derive(Debug, Default)]
pub struct OperationsLocal {
    pub(super) messages: message_matching::MatchingLocal,
    pub(super) own: LocalOps,
}

/// The operations of the location that is being folded.
#[derive(Debug, Default)]
pub(super) struct LocalOps {
    /// Which of the events count.
    selected: Selected,
    pub ops: Vec<Op>,
    pub collectives: Vec<LocalPart>,
    /// Operations in open calls, those of inner calls last.
    open: Vec<(CallPathId, u32)>,
    /// When collectives were posted.
    posted_at: Vec<Ticks>,
    /// Those posted in open calls, those of inner calls last.
    posting: Vec<(CallPathId, u32)>,
    /// Which of [`LocalOps::posted_at`] was posted under a request.
    posted: FxHashMap<u64, u32>,
}

/// A collective; the start of its call is known when the call ends.
#[derive(Debug)]
pub(super) struct LocalPart {
    op: CollectiveOp,
    pub comm: CommId,
    pub root: CollectiveRoot,
    /// Index of its operation.
    index: u32,
    /// Index into [`LocalOps::posted_at`].
    posted: Option<u32>,
}

impl LocalOps {
    pub fn new(selected: Selected) -> Self {
        LocalOps { selected, ..LocalOps::default() }
    }

    fn push(&mut self, what: What, path: CallPathId, at: Ticks) {
        if path != CallPathTree::ROOT {
            self.open.push((path, self.ops.len() as u32));
        }
        let is_selected = self.selected.has(at);
        self.ops.push(Op { what, path, enter: at, leave: at, is_selected });
    }

    /// The part of a collective to keep once its location is complete.
    pub fn part(&self, part: &LocalPart, root: Option<WorldRank>) -> CollectivePart {
        let arrived = match part.posted {
            Some(posted) => self.posted_at[posted as usize],
            None => self.ops[part.index as usize].enter,
        };
        CollectivePart { op: part.op, comm: part.comm, root, arrived }
    }
}

/// [`LocalOps`], and for each region whether it waits, sends or synchronises.
pub(super) struct Folding<'a> {
    pub ops: &'a mut LocalOps,
    pub is_operation: &'a [bool],
}

impl Observer for Folding<'_> {
    fn end(&mut self, end: &MessageEnd, side: Side, nth: u32, path: CallPathId, at: Ticks) {
        // An end without another side is not an operation.
        if end.peer.0 < LEAST_NULL_PEER {
            let what = match side {
                Side::Send => What::Send { nth },
                Side::Receive => What::Receive { nth },
            };
            self.ops.push(what, path, at);
        }
    }

    fn request(&mut self, request: &Request, _: Option<u32>, path: CallPathId, at: Ticks) {
        if request.event != RequestEvent::CollectivePosted {
            return;
        }
        let posted = self.ops.posted_at.len() as u32;
        self.ops.posted_at.push(at);
        self.ops.posted.insert(request.request, posted);
        if path != CallPathTree::ROOT {
            self.ops.posting.push((path, posted));
        }
    }

    fn collective(&mut self, end: &Collective, path: CallPathId, at: Ticks) {
        let posted = end.request.and_then(|request| self.ops.posted.remove(&request));
        let (index, of_op) = (self.ops.collectives.len() as u32, self.ops.ops.len() as u32);
        let &Collective { op, comm, root, .. } = end;
        self.ops.collectives.push(LocalPart { op, comm, root, index: of_op, posted });
        self.ops.push(What::Collective { index }, path, at);
    }

    fn is_waiting(&self) -> bool {
        !self.ops.open.is_empty() || !self.ops.posting.is_empty()
    }

    fn leave(&mut self, visit: &Visit, region: RegionId) {
        let LocalOps { ops, open, posted_at, posting, .. } = &mut *self.ops;
        let is_operation = self.is_operation[region.index()];
        while let Some((_, i)) = open.pop_if(|open| open.0 == visit.call_path) {
            if is_operation {
                let op = &mut ops[i as usize];
                (op.enter, op.leave) = (visit.enter, visit.leave);
            }
        }
        while let Some((_, i)) = posting.pop_if(|posting| posting.0 == visit.call_path) {
            if is_operation {
                posted_at[i as usize] = visit.enter;
            }
        }
    }
}
