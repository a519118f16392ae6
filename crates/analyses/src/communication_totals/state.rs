//! Totals and channels, while a location is folded and over the locations folded so far.

use ouzel_model::{CallPathId, CollectiveOp, CommId, CommRank, EventChunk, LocationId, WorldRank};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Point-to-point messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageTotals {
    /// Number of messages sent.
    pub sends: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Number of messages received.
    pub receives: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Groups of messages sent to one peer in a row: between them, nothing is received and no collective ends, so none
    /// of them waits for an answer to the one before.
    pub bursts: u64,
}

impl MessageTotals {
    /// Adds other messages. Bytes stop at the greatest number, which only corrupt lengths reach.
    pub fn add(&mut self, other: &MessageTotals) {
        self.sends += other.sends;
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.receives += other.receives;
        self.bytes_received = self.bytes_received.saturating_add(other.bytes_received);
        self.bursts += other.bursts;
    }
}

/// Collective operations, counted once for each location that took part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveTotals {
    /// Number of operations.
    pub operations: u64,
    /// Bytes that the locations sent.
    pub bytes_sent: u64,
    /// Bytes that the locations received.
    pub bytes_received: u64,
}

impl CollectiveTotals {
    /// Adds other operations. Bytes stop at the greatest number, which only corrupt lengths reach.
    pub fn add(&mut self, other: &CollectiveTotals) {
        self.operations += other.operations;
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.bytes_received = self.bytes_received.saturating_add(other.bytes_received);
    }
}

/// Messages of one call path at one location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathMessages {
    /// The innermost call; the root outside of every region.
    pub call_path: CallPathId,
    /// Its messages.
    pub totals: MessageTotals,
}

/// Collective operations of one kind in one call path at one location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathCollectives {
    /// The innermost call; the root outside of every region.
    pub call_path: CallPathId,
    /// The operation.
    pub op: CollectiveOp,
    /// How often, and how much.
    pub totals: CollectiveTotals,
}

/// Where messages of one kind travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Channel {
    /// World rank of the sender.
    pub from: WorldRank,
    /// World rank of the receiver.
    pub to: WorldRank,
    /// The communicator.
    pub comm: CommId,
    /// The tag.
    pub tag: u32,
}

impl Channel {
    /// The bucket of `n` that the channel belongs to, the same on every machine. The communicator plays no part: a
    /// tracer may define one several times, and their channels belong together.
    pub(crate) fn bucket(&self, n: usize) -> usize {
        let mut hash = 0_u64;
        for part in [self.from.0, self.to.0, self.tag] {
            hash = (hash ^ u64::from(part)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            hash ^= hash >> 29;
        }
        (hash % n as u64) as usize
    }
}

/// The other side of a message as recorded: communicator, rank in it, tag.
pub(super) type RawPeer = (CommId, CommRank, u32);

/// While a location is folded.
#[derive(Debug, Default)]
pub struct CommunicationLocal {
    /// Messages by call path.
    pub(super) messages: Vec<MessageTotals>,
    pub(super) collectives: FxHashMap<(CallPathId, CollectiveOp), CollectiveTotals>,
    /// Number of messages sent to each peer.
    pub(super) sent_to: FxHashMap<RawPeer, i64>,
    /// Number of messages received from each peer.
    pub(super) received_from: FxHashMap<RawPeer, i64>,
    pub(super) bursts: Bursts,
}

/// The totals of a call path.
#[inline]
pub(super) fn totals_of(messages: &mut Vec<MessageTotals>, call_path: CallPathId) -> &mut MessageTotals {
    let path = call_path.index();
    if messages.len() <= path {
        messages.resize((path + 1).next_power_of_two(), MessageTotals::default());
    }
    &mut messages[path]
}

/// Messages to one peer in a row: those that could be one message. Two messages are in one burst if the sender has
/// received nothing and completed no collective between them; so none depends on an answer to an earlier one.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    /// How often something was received.
    n_received: u64,
    /// What that was when the last message was sent to a peer.
    sent_at: FxHashMap<(CommId, CommRank), u64>,
}

impl Bursts {
    /// Counts the bursts that begin in a chunk, each for the call path of its first message.
    #[inline(never)]
    pub fn add(&mut self, chunk: &EventChunk<'_>, messages: &mut Vec<MessageTotals>) {
        let before = self.n_received;
        let (mut recvs, mut collectives) = (0, 0);
        for end in chunk.sends {
            recvs += chunk.recvs[recvs..].iter().take_while(|recv| recv.row < end.row).count();
            collectives += chunk.collectives[collectives..].iter().take_while(|it| it.row < end.row).count();
            let n_received = before + (recvs + collectives) as u64;
            if self.sent_at.insert((end.comm, end.peer), n_received) != Some(n_received) {
                totals_of(messages, chunk.call_path[end.row as usize]).bursts += 1;
            }
        }
        self.n_received = before + (chunk.recvs.len() + chunk.collectives.len()) as u64;
    }
}

/// Totals of one location, sorted.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LocationTotals {
    pub messages: Vec<PathMessages>,
    pub collectives: Vec<PathCollectives>,
}

/// Totals by location, and the channels that are out of balance.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommunicationPartial {
    pub(super) locations: BTreeMap<LocationId, LocationTotals>,
    /// Sends less receives of each channel; never zero.
    pub(super) channels: BTreeMap<Channel, i64>,
    /// Messages whose other side is no rank of the communicator.
    pub(super) unresolved_peers: u64,
    /// Message ends without another side.
    pub(super) null_peers: u64,
}

impl CommunicationPartial {
    /// Adds to the sends less the receives of a channel; a balanced channel is dropped.
    pub(super) fn add_to_channel(&mut self, channel: Channel, difference: i64) {
        let sum = self.channels.entry(channel).or_default();
        *sum += difference;
        if *sum == 0 {
            self.channels.remove(&channel);
        }
    }
}
