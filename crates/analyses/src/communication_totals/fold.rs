//! The fold: one addition for each end of a message, and one look-up of its channel.

use super::output::{CommunicationOutput, LocationCommunication, UnmatchedChannel};
use super::state::{
    Channel, CollectiveTotals, CommunicationLocal, CommunicationPartial, LocationTotals, MessageTotals,
    PathCollectives, PathMessages, RawPeer, totals_of,
};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Pairing};
use ouzel_model::{
    CallPathId, Collective, CollectiveOp, CommId, CommRank, Communicator, Definitions, EventChunk, Level,
    MessageEnd, Needs, Notice, NoticeCode, Remap, WorldRank,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Totals of messages and collectives, and the messages that have one side only.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Communication;

impl Analysis for Communication {
    type Local = CommunicationLocal;
    type Partial = CommunicationPartial;
    type Output = CommunicationOutput;
    const NAME: &'static str = "communication";
    const PARTIAL_VERSION: u32 = 2;

    fn needs(&self) -> Needs {
        Needs::MESSAGES | Needs::COLLECTIVES | Needs::CALL_PATHS
    }

    fn empty(&self) -> CommunicationPartial {
        CommunicationPartial::default()
    }

    fn begin(&self, _cx: &LocationCx<'_>) -> CommunicationLocal {
        CommunicationLocal::default()
    }

    fn fold(&self, local: &mut CommunicationLocal, chunk: &EventChunk<'_>) {
        local.bursts.add(chunk, &mut local.messages);
        let CommunicationLocal { messages, collectives, sent_to, received_from, .. } = local;
        add_ends(chunk.sends, chunk.call_path, messages, sent_to, |totals, bytes| {
            totals.sends += 1;
            totals.bytes_sent = totals.bytes_sent.saturating_add(bytes);
        });
        add_ends(chunk.recvs, chunk.call_path, messages, received_from, |totals, bytes| {
            totals.receives += 1;
            totals.bytes_received = totals.bytes_received.saturating_add(bytes);
        });
        add_collectives(chunk.collectives, chunk.call_path, collectives);
    }

    fn end(
        &self,
        local: CommunicationLocal,
        cx: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut CommunicationPartial,
    ) {
        let CommunicationLocal { messages, collectives, sent_to, received_from, .. } = local;
        let messages = messages
            .into_iter()
            .enumerate()
            .filter(|(_, totals)| *totals != MessageTotals::default())
            .map(|(i, totals)| PathMessages { call_path: CallPathId::from_index(i), totals })
            .collect();
        let mut collectives: Vec<PathCollectives> = collectives
            .into_iter()
            .map(|((call_path, op), totals)| PathCollectives { call_path, op, totals })
            .collect();
        collectives.sort_unstable_by_key(|row| (row.call_path, row.op));
        into.locations.insert(cx.location, LocationTotals { messages, collectives });
        let me = cx.definitions.location(cx.location).rank;
        settle(into, sent_to, cx.definitions, me, Direction::Send);
        settle(into, received_from, cx.definitions, me, Direction::Receive);
    }

    fn remap(&self, partial: &mut CommunicationPartial, remap: &Remap) {
        for LocationTotals { messages, collectives } in partial.locations.values_mut() {
            for row in messages.iter_mut() {
                row.call_path = remap.path(row.call_path);
            }
            messages.sort_unstable_by_key(|row| row.call_path);
            for row in collectives.iter_mut() {
                row.call_path = remap.path(row.call_path);
            }
            collectives.sort_unstable_by_key(|row| (row.call_path, row.op));
        }
    }

    fn merge(&self, into: &mut CommunicationPartial, mut from: CommunicationPartial) {
        into.locations.append(&mut from.locations);
        into.unresolved_peers += from.unresolved_peers;
        into.null_peers += from.null_peers;
        for (channel, difference) in from.channels {
            into.add_to_channel(channel, difference);
        }
    }

    fn pairing(&self) -> Option<&dyn Pairing<CommunicationPartial>> {
        Some(self)
    }

    fn finish(
        &self,
        partial: CommunicationPartial,
        cx: &FinishCx<'_>,
    ) -> Result<CommunicationOutput, AnalysisError> {
        let CommunicationPartial { locations, channels, unresolved_peers, null_peers } = partial;
        // It takes both sides of every channel to tell: what lies outside of a selection is not missing.
        let unmatched = if cx.is_whole() { unmatched(channels, cx.definitions) } else { Vec::new() };
        let excess = |sign: i64| unmatched.iter().map(|c| (sign * c.sends_less_receives).max(0) as u64).sum();
        let (unmatched_sends, unmatched_receives) = (excess(1), excess(-1));
        report(cx, &unmatched, unresolved_peers, null_peers);
        let locations = locations
            .into_iter()
            .map(|(location, LocationTotals { messages, collectives })| LocationCommunication {
                location,
                messages,
                collectives,
            })
            .collect();
        Ok(CommunicationOutput {
            call_paths: cx.call_paths.clone(),
            locations,
            unmatched,
            unmatched_sends,
            unmatched_receives,
            unresolved_peers,
            null_peers,
        })
    }
}

impl Pairing<CommunicationPartial> for Communication {
    fn split(&self, rest: &mut CommunicationPartial, n_buckets: usize) -> Vec<CommunicationPartial> {
        let mut buckets: Vec<CommunicationPartial> = Vec::new();
        buckets.resize_with(n_buckets, CommunicationPartial::default);
        for (channel, difference) in std::mem::take(&mut rest.channels) {
            buckets[channel.bucket(n_buckets)].channels.insert(channel, difference);
        }
        // A channel that comes into balance is dropped where its sides are merged: nothing is left to settle.
        buckets
    }
}

fn report(cx: &FinishCx<'_>, unmatched: &[UnmatchedChannel], unresolved: u64, null: u64) {
    let (mut sends, mut receives, mut elsewhere) = (0, 0, 0);
    let ranks: BTreeSet<WorldRank> = cx.definitions.locations.iter().filter_map(|it| it.rank).collect();
    for UnmatchedChannel { channel, sends_less_receives: difference } in unmatched {
        let (other, n) =
            if 0 < *difference { (channel.to, &mut sends) } else { (channel.from, &mut receives) };
        *(if ranks.contains(&other) { n } else { &mut elsewhere }) += difference.unsigned_abs();
    }
    let push = |count: u64, level, what: &str| {
        if 0 < count {
            cx.notices.push(Notice::new(level, NoticeCode::UnmatchedMessages, what).times(count));
        }
    };
    push(sends, Level::Medium, "a message was sent and never received");
    push(receives, Level::Medium, "a message was received and never sent");
    push(
        unresolved,
        Level::Medium,
        "the other side of a message is not known: its communicator is not defined, or has no such rank",
    );
    push(
        elsewhere,
        Level::Low,
        "a message to or from a rank that the trace does not have: its other side is missing",
    );
    push(null, Level::Low, "a message to or from MPI_PROC_NULL is recorded; it has no other side");
}

/// Adds one side of each message to its call path, and counts it for its peer.
#[inline(never)]
fn add_ends(
    ends: &[MessageEnd],
    call_path: &[CallPathId],
    messages: &mut Vec<MessageTotals>,
    peers: &mut FxHashMap<RawPeer, i64>,
    add: impl Fn(&mut MessageTotals, u64),
) {
    for end in ends {
        add(totals_of(messages, call_path[end.row as usize]), end.bytes);
        *peers.entry((end.comm, end.peer, end.tag)).or_default() += 1;
    }
}

/// Adds each collective operation to its call path.
#[inline(never)]
fn add_collectives(
    ends: &[Collective],
    call_path: &[CallPathId],
    collectives: &mut FxHashMap<(CallPathId, CollectiveOp), CollectiveTotals>,
) {
    for end in ends {
        let totals = collectives.entry((call_path[end.row as usize], end.op)).or_default();
        let Collective { bytes_sent, bytes_received, .. } = *end;
        totals.add(&CollectiveTotals { operations: 1, bytes_sent, bytes_received });
    }
}

/// Which side of a message a location is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Send,
    Receive,
}

/// Peers from here on are negative ranks, written without their sign: `MPI_PROC_NULL` in every MPI library.
pub(crate) const LEAST_NULL_PEER: u32 = 1 << 31;

/// Books the messages with each peer on their channels.
fn settle(
    into: &mut CommunicationPartial,
    peers: FxHashMap<RawPeer, i64>,
    definitions: &Definitions,
    me: Option<WorldRank>,
    direction: Direction,
) {
    let mut peers: Vec<(RawPeer, i64)> = peers.into_iter().collect();
    peers.sort_unstable();
    for ((comm, peer, tag), n) in peers {
        if LEAST_NULL_PEER <= peer.0 {
            into.null_peers += n.unsigned_abs();
            continue;
        }
        let ranks = me.and_then(|me| Some((me, peer_rank(definitions, comm, me, peer)?)));
        match (ranks, direction) {
            (Some((me, peer)), Direction::Send) => {
                into.add_to_channel(Channel { from: me, to: peer, comm, tag }, n);
            }
            (Some((me, peer)), Direction::Receive) => {
                into.add_to_channel(Channel { from: peer, to: me, comm, tag }, -n);
            }
            (None, _) => into.unresolved_peers += n.unsigned_abs(),
        }
    }
}

/// World rank of the peer that `me` names `peer`, if it is known.
pub fn peer_rank(
    definitions: &Definitions,
    comm: CommId,
    me: WorldRank,
    peer: CommRank,
) -> Option<WorldRank> {
    definitions.communicators.get(comm.index())?.peer(Some(me), peer)
}

/// The channels that stay out of balance. A tracer may define one communicator several times, so that two sides of
/// a message name different ones; what is left over is paired again over communicators of the same members.
fn unmatched(channels: BTreeMap<Channel, i64>, definitions: &Definitions) -> Vec<UnmatchedChannel> {
    let mut first_of: BTreeMap<(&[WorldRank], &[WorldRank]), CommId> = BTreeMap::new();
    let mut sums: BTreeMap<Channel, i64> = BTreeMap::new();
    for (channel, difference) in channels {
        let members = groups(definitions.communicator(channel.comm));
        let comm = *first_of.entry(members).or_insert(channel.comm);
        *sums.entry(Channel { comm, ..channel }).or_default() += difference;
    }
    sums.into_iter()
        .filter(|&(_, difference)| difference != 0)
        .map(|(channel, sends_less_receives)| UnmatchedChannel { channel, sends_less_receives })
        .collect()
}

/// The groups of a communicator, whichever of them calls itself the local one.
pub(crate) fn groups(comm: &Communicator) -> (&[WorldRank], &[WorldRank]) {
    let local = &*comm.members;
    let remote = comm.remote_members.as_deref().unwrap_or_default();
    (local.min(remote), local.max(remote))
}
