//! Arrows: which link, and which message, an end belongs to.
//!
//! A message is known by its number on its channel, counted over the whole location even if only a part is written, so
//! that the arrows of a part connect the same calls as those of the whole.

use ouzel_model::{Definitions, LocationId, MessageEnd, WorldRank};
use std::collections::{BTreeMap, VecDeque};

/// Numbers of flows. Both ends of a message find its number from what both know; it is then dropped.
#[derive(Debug, Default)]
pub(super) struct Flows {
    n: u64,
    links: BTreeMap<u64, u64>,
    messages: BTreeMap<(Channel, u64), u64>,
    /// Sends and receives numbered so far.
    counts: [BTreeMap<Channel, u64>; 2],
    /// The message to which each send and receive that is written next belongs, if both sides are known.
    numbered: [VecDeque<Option<(Channel, u64)>>; 2],
}

/// The side of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The send.
    Send,
    /// The receive.
    Receive,
}

/// Communicator, sender, receiver, tag. Messages on one do not overtake each other.
type Channel = (u32, u32, u32, u32);

impl Flows {
    pub fn link(&mut self, id: u64) -> u64 {
        let next = self.n;
        let found = *self.links.entry(id).or_insert(next);
        self.n += u64::from(found == next);
        found
    }

    /// Records which message an end at a location belongs to, before the end is written or left out.
    pub fn number(
        &mut self,
        definitions: &Definitions,
        location: LocationId,
        end: &MessageEnd,
        side: Side,
        is_written: bool,
    ) {
        let number = channel(definitions, location, end, side).map(|channel| {
            let count = self.counts[side as usize].entry(channel).or_default();
            *count += 1;
            (channel, *count - 1)
        });
        if is_written {
            self.numbered[side as usize].push_back(number);
        }
    }

    /// The flow of the message end that is written next.
    pub fn message(&mut self, side: Side) -> Option<u64> {
        let key = self.numbered[side as usize].pop_front()??;
        Some(self.messages.remove(&key).unwrap_or_else(|| {
            let id = self.n;
            self.n += 1;
            self.messages.insert(key, id);
            id
        }))
    }

    /// Messages of which one end only was written.
    pub(crate) fn n_half_written(&self) -> u64 {
        self.messages.len() as u64
    }
}

fn channel(definitions: &Definitions, location: LocationId, end: &MessageEnd, side: Side) -> Option<Channel> {
    let rank = definitions.location(location).rank;
    let peer = definitions.communicator(end.comm).peer(rank, end.peer);
    let (WorldRank(own), WorldRank(peer)) = (rank?, peer?);
    let (sender, receiver) = if side == Side::Send { (own, peer) } else { (peer, own) };
    Some((end.comm.0, sender, receiver, end.tag))
}
