//! Who receives what is sent in a collective operation.

use super::traffic::Traffic;
use crate::communication_totals::peer_rank;
use ouzel_model::{
    Collective, CollectiveOp, CollectiveRoot, CommId, CommRank, Definitions, Membership, WorldRank,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The ranks that a sender's bytes are spread over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) enum Receivers {
    /// All members, the sender included.
    All,
    /// All members, if the sender is this root; else no rank.
    AllIfRoot(Root),
    /// This root.
    Root(Root),
    /// The sender and the members above it.
    FromSelf,
    /// The members above the sender.
    Above,
}

/// A root as recorded, where there is one that the caller can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) enum Root {
    /// The caller.
    This,
    /// A rank of the communicator, or of the other group.
    Rank(CommRank),
}

/// What a location's record of one operation means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Its bytes go to these.
    Sender(Receivers),
    /// It sends nothing to the other group: another member of its own is the root.
    Silent,
    /// There is no formula.
    Unknown,
}

/// The formula for an operation.
pub(super) fn role(end: &Collective) -> Role {
    use CollectiveOp as Op;
    let root = match end.root {
        CollectiveRoot::This => Some(Root::This),
        CollectiveRoot::Rank(rank) => Some(Root::Rank(rank)),
        CollectiveRoot::ThisGroup => return Role::Silent,
        CollectiveRoot::None => None,
    };
    let of_root = |to: fn(Root) -> Receivers| root.map_or(Role::Unknown, |root| Role::Sender(to(root)));
    match end.op {
        Op::Bcast | Op::Scatter | Op::Scatterv => of_root(Receivers::AllIfRoot),
        // The root of an inter-communicator sends nothing to itself.
        Op::Gather | Op::Gatherv | Op::Reduce if root == Some(Root::This) => Role::Silent,
        Op::Gather | Op::Gatherv | Op::Reduce => of_root(Receivers::Root),
        Op::Allgather
        | Op::Allgatherv
        | Op::Alltoall
        | Op::Alltoallv
        | Op::Alltoallw
        | Op::Allreduce
        | Op::ReduceScatter
        | Op::ReduceScatterBlock => Role::Sender(Receivers::All),
        Op::Scan => Role::Sender(Receivers::FromSelf),
        Op::Exscan => Role::Sender(Receivers::Above),
        Op::Barrier
        | Op::CreateHandle
        | Op::DestroyHandle
        | Op::Allocate
        | Op::Deallocate
        | Op::CreateHandleAndAllocate
        | Op::DestroyHandleAndDeallocate
        | Op::Unknown => Role::Unknown,
    }
}

/// The world rank of a root, as `me` sees it.
pub(super) fn root_rank(
    definitions: &Definitions,
    comm: CommId,
    me: WorldRank,
    root: Root,
) -> Option<WorldRank> {
    match root {
        Root::This => Some(me),
        Root::Rank(rank) => peer_rank(definitions, comm, me, rank),
    }
}

/// The world ranks that `me` sends to, in the order of the communicator.
pub(super) fn receivers(
    definitions: &Definitions,
    comm: CommId,
    me: WorldRank,
    receivers: Receivers,
) -> Vec<WorldRank> {
    let Some(communicator) = definitions.communicators.get(comm.index()) else { return Vec::new() };
    let own = [me];
    let members: &[WorldRank] = match (communicator.membership, &communicator.remote_members) {
        (Membership::Unknown, _) => &[],
        (Membership::Caller, _) => &own,
        (Membership::Listed, Some(remote)) if !remote.contains(&me) => remote,
        (Membership::Listed, _) => &communicator.members,
    };
    let from = |offset: usize| {
        let at = members.iter().position(|&rank| rank == me);
        at.map_or(Vec::new(), |at| members[at + offset..].to_vec())
    };
    match receivers {
        Receivers::AllIfRoot(root) if root_rank(definitions, comm, me, root) != Some(me) => Vec::new(),
        Receivers::All | Receivers::AllIfRoot(_) => members.to_vec(),
        Receivers::Root(root) => root_rank(definitions, comm, me, root).into_iter().collect(),
        Receivers::FromSelf => from(0),
        Receivers::Above => from(1),
    }
}

/// `⌊bytes / D⌋` for each of the `D` receivers and one more for the first `bytes mod D`; all messages for each.
pub(super) fn spread(
    cells: &mut BTreeMap<(WorldRank, WorldRank), Traffic>,
    from: WorldRank,
    to: &[WorldRank],
    traffic: Traffic,
) {
    let n = to.len() as u64;
    for (i, &to) in (0..n).zip(to) {
        let bytes = traffic.bytes / n + u64::from(i < traffic.bytes % n);
        cells.entry((from, to)).or_default().add(Traffic { bytes, ..traffic });
    }
}
