//! The fold: one look-up for each send, one addition for each receive.

use super::collectives::{Receivers, Role, receivers, role, root_rank, spread};
use super::output::{CommMatrixOutput, MatrixCell};
use super::state::{CommMatrixLocal, CommMatrixPartial};
use super::traffic::{Traffic, add_all};
use crate::communication_totals::{LEAST_NULL_PEER, peer_rank};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationEnd, LocationSummary};
use ouzel_model::{
    Collective, CommId, CommRank, EventChunk, Level, MessageEnd, Needs, Notice, NoticeCode, Remap, WorldRank,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Most pairs of ranks that collectives are expanded to: all pairs of 4,096 ranks. A pair takes about 40 bytes,
/// so that is 700 MB; a larger matrix would be of no use.
const MAX_EXPANDED_PAIRS: u64 = 1 << 24;

/// Whether collective operations count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expansion {
    /// Point-to-point messages only.
    #[default]
    PointToPoint,
    /// Collectives, too, spread over pairs as the module documentation describes.
    WithCollectives,
}

/// Messages and bytes between pairs of ranks.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct CommMatrix {
    /// Whether collective operations count.
    pub expansion: Expansion,
}

impl Analysis for CommMatrix {
    type Local = CommMatrixLocal;
    type Partial = CommMatrixPartial;
    type Output = CommMatrixOutput;
    const NAME: &'static str = "comm-matrix";
    const PARTIAL_VERSION: u32 = 2;

    fn needs(&self) -> Needs {
        match self.expansion {
            Expansion::PointToPoint => Needs::MESSAGES,
            Expansion::WithCollectives => Needs::MESSAGES | Needs::COLLECTIVES,
        }
    }

    fn empty(&self) -> CommMatrixPartial {
        CommMatrixPartial::default()
    }

    fn begin(&self, _cx: &LocationCx<'_>) -> CommMatrixLocal {
        CommMatrixLocal::default()
    }

    fn fold(&self, local: &mut CommMatrixLocal, chunk: &EventChunk<'_>) {
        local.null_peers += add_sends(chunk.sends, &mut local.sent);
        local.null_peers += add_receives(chunk.recvs, &mut local.received);
        if self.expansion == Expansion::WithCollectives {
            add_collectives(chunk.collectives, local);
        }
    }

    fn end(
        &self,
        local: CommMatrixLocal,
        cx: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut CommMatrixPartial,
    ) {
        let CommMatrixLocal { sent, received, null_peers, collectives, not_expanded } = local;
        into.null_peers += null_peers;
        into.not_expanded.add(not_expanded);
        let Some(me) = cx.definitions.location(cx.location).rank else {
            sum(sent.into_values()).into_iter().chain([received]).for_each(|t| into.without_rank.add(t));
            into.not_expanded.add(sum(collectives.into_values()).unwrap_or_default());
            return;
        };
        let mut sent: Vec<_> = sent.into_iter().collect();
        sent.sort_unstable_by_key(|(peer, _)| *peer);
        for ((comm, peer), traffic) in sent {
            match peer_rank(cx.definitions, comm, me, peer) {
                Some(to) => into.sent.entry((me, to)).or_default().add(traffic),
                None => into.to_unknown.entry(me).or_default().add(traffic),
            }
        }
        if received != Traffic::default() {
            into.received.entry(me).or_default().add(received);
        }
        add_all(&mut into.collectives, collectives.into_iter().map(|((comm, to), t)| ((me, comm, to), t)));
    }

    fn remap(&self, _: &mut CommMatrixPartial, _: &Remap) {}

    fn merge(&self, into: &mut CommMatrixPartial, from: CommMatrixPartial) {
        add_all(&mut into.sent, from.sent);
        add_all(&mut into.received, from.received);
        add_all(&mut into.collectives, from.collectives);
        add_all(&mut into.to_unknown, from.to_unknown);
        into.without_rank.add(from.without_rank);
        into.not_expanded.add(from.not_expanded);
        into.null_peers += from.null_peers;
    }

    fn finish(
        &self,
        mut partial: CommMatrixPartial,
        cx: &FinishCx<'_>,
    ) -> Result<CommMatrixOutput, AnalysisError> {
        let collectives = std::mem::take(&mut partial.collectives);
        let expanded = expand(collectives, &mut partial.not_expanded, cx);
        // The traffic received in expanded collectives is that sent in them.
        let received = expanded.iter().map(|(&(_, to), &traffic)| (to, traffic));
        add_all(&mut partial.received, received);
        add_all(&mut partial.sent, expanded);
        report(&partial, cx);
        let CommMatrixPartial { sent, received, to_unknown, without_rank, null_peers, not_expanded, .. } =
            partial;
        let of_locations = cx.locations.keys().filter_map(|&id| cx.definitions.location(id).rank);
        let was_read =
            |summary: &LocationSummary| 0 < summary.n_events || summary.end == LocationEnd::Complete;
        let read = cx.locations.iter().filter(|(_, summary)| was_read(summary));
        let read: BTreeSet<WorldRank> =
            read.filter_map(|(&id, _)| cx.definitions.location(id).rank).collect();
        let of_messages = sent.keys().flat_map(|&(from, to)| [from, to]);
        let ranks: BTreeSet<WorldRank> =
            of_locations.chain(of_messages).chain(received.keys().copied()).collect();
        let cells = sent.into_iter().map(|((from, to), traffic)| MatrixCell { from, to, traffic });
        Ok(CommMatrixOutput {
            received: ranks.iter().map(|rank| received.get(rank).copied().unwrap_or_default()).collect(),
            has_events: ranks.iter().map(|rank| read.contains(rank)).collect(),
            ranks: ranks.into_iter().collect(),
            cells: cells.collect(),
            to_unknown: to_unknown.into_iter().collect(),
            without_rank,
            null_peers,
            not_expanded,
        })
    }
}

fn sum(traffic: impl Iterator<Item = Traffic>) -> Option<Traffic> {
    traffic.reduce(|mut a, b| {
        a.add(b);
        a
    })
}

/// Adds each send to its peer; returns the number of sends without a peer.
#[inline(never)]
fn add_sends(ends: &[MessageEnd], sent: &mut FxHashMap<(CommId, CommRank), Traffic>) -> u64 {
    let mut null_peers = 0;
    for end in ends {
        if LEAST_NULL_PEER <= end.peer.0 {
            null_peers += 1;
            continue;
        }
        sent.entry((end.comm, end.peer)).or_default().add(Traffic::one(end.bytes));
    }
    null_peers
}

/// Adds each receive; returns the number of receives without a peer.
#[inline(never)]
fn add_receives(ends: &[MessageEnd], received: &mut Traffic) -> u64 {
    let mut null_peers = 0;
    for end in ends {
        if LEAST_NULL_PEER <= end.peer.0 {
            null_peers += 1;
            continue;
        }
        received.add(Traffic::one(end.bytes));
    }
    null_peers
}

/// Adds each collective to its receivers. The root is looked up at the end.
#[inline(never)]
fn add_collectives(ends: &[Collective], local: &mut CommMatrixLocal) {
    for end in ends {
        let traffic = Traffic::one(end.bytes_sent);
        let to = match role(end) {
            Role::Sender(to) => to,
            Role::Unknown if 0 < end.bytes_sent => {
                local.not_expanded.add(traffic);
                continue;
            }
            Role::Silent | Role::Unknown => continue,
        };
        local.collectives.entry((end.comm, to)).or_default().add(traffic);
    }
}

/// Spreads what was sent in collectives over pairs; what cannot be goes to `not_expanded`.
fn expand(
    collectives: BTreeMap<(WorldRank, CommId, Receivers), Traffic>,
    not_expanded: &mut Traffic,
    cx: &FinishCx<'_>,
) -> BTreeMap<(WorldRank, WorldRank), Traffic> {
    let mut cells = BTreeMap::new();
    let n_members = |comm: CommId| {
        let comm = cx.definitions.communicators.get(comm.index());
        comm.map_or(0, |c| c.members.len().max(c.remote_members.as_ref().map_or(0, |r| r.len())) as u64)
    };
    let n_pairs: u64 = collectives
        .keys()
        .map(|(_, comm, to)| if matches!(to, Receivers::Root(_)) { 1 } else { n_members(*comm) })
        .sum();
    for ((from, comm, to), traffic) in collectives {
        if let Receivers::AllIfRoot(root) = to
            && root_rank(cx.definitions, comm, from, root).is_some_and(|root| root != from)
        {
            // Only the root sends.
            continue;
        }
        let to = match n_pairs {
            0..=MAX_EXPANDED_PAIRS => receivers(cx.definitions, comm, from, to),
            _ => Vec::new(),
        };
        if to.is_empty() && 0 < traffic.bytes {
            not_expanded.add(traffic);
        }
        spread(&mut cells, from, &to, traffic);
    }
    cells
}

fn report(partial: &CommMatrixPartial, cx: &FinishCx<'_>) {
    let push = |count: u64, level, code, what: &str| {
        if 0 < count {
            cx.notices.push(Notice::new(level, code, what).times(count));
        }
    };
    push(
        partial.to_unknown.values().map(|traffic| traffic.messages).sum(),
        Level::Medium,
        NoticeCode::UnmatchedMessages,
        "the receiver of a message is not known: its communicator is not defined, or has no such rank",
    );
    push(
        partial.without_rank.messages,
        Level::Medium,
        NoticeCode::UnmatchedMessages,
        "a message is not in the matrix: the location that recorded it has no rank",
    );
    push(
        partial.null_peers,
        Level::Low,
        NoticeCode::UnmatchedMessages,
        "a message to or from MPI_PROC_NULL is recorded; it is not in the matrix",
    );
    push(
        partial.not_expanded.messages,
        Level::Medium,
        NoticeCode::NotAvailable,
        "bytes of a collective operation are not in the matrix: it has no formula or no known receivers, or all of \
         them make more than 2^24 pairs of ranks",
    );
}
