//! Which send belongs to which receive.
//!
//! Channels whose sides are equally long are paired in order. A tracer may define one communicator several times; the
//! ends of channels that stay out of balance are paired over communicators of the same members. There, too, a receive
//! that completed before the next send was posted is not its.

use super::ends::{End, MessageEnds, Queue, Side};
use crate::communication_totals::{Channel, groups};
use ouzel_model::{Definitions, Level, Notice, NoticeCode, Notices, WorldRank};
use std::collections::BTreeMap;

/// A message: both ends.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// Who sends.
    pub from: WorldRank,
    /// Who receives.
    pub to: WorldRank,
    /// The sender's end.
    pub send: End<'a>,
    /// The receiver's end.
    pub receive: End<'a>,
}

/// How many selected ends belong to no other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Sends.
    pub sends: u64,
    /// Receives.
    pub receives: u64,
}

/// A queue of any location.
#[derive(Clone, Copy)]
struct QueueHead<'a> {
    queue: Queue,
    /// Its first end.
    first: End<'a>,
}

impl<'a> QueueHead<'a> {
    fn ends(self) -> impl Iterator<Item = End<'a>> {
        (0..self.queue.n).map(move |i| End { row: self.first.row + i, ..self.first })
    }
}

/// What channels of communicators of the same members have in common.
type ChannelMembers<'a> = (&'a [WorldRank], &'a [WorldRank], WorldRank, WorldRank, u32);

/// Hands over every message: by channel, those of a channel in the order of posting; then those that span
/// communicators of the same members.
pub fn for_each_pair<'a>(
    ends: &'a MessageEnds,
    definitions: &Definitions,
    mut each: impl FnMut(Pair<'a>),
) -> Unmatched {
    let heads = heads(ends);
    let mut rest: BTreeMap<ChannelMembers<'_>, Vec<QueueHead<'a>>> = BTreeMap::new();
    let mut both = Both::default();
    for heads in heads.chunk_by(|a, b| a.queue.channel == b.queue.channel) {
        let channel @ Channel { from, to, comm, tag } = heads[0].queue.channel;
        let (sends, receives) = heads.split_at(heads.partition_point(|head| head.queue.side == Side::Send));
        if let ([send], [receive]) = (sends, receives)
            && send.queue.n == receive.queue.n
        {
            let pairs = send.ends().zip(receive.ends());
            pairs.for_each(|(send, receive)| each(Pair { from, to, send, receive }));
        } else if n_ends(sends) == n_ends(receives) {
            both.fill(heads);
            both.pair(channel.from, channel.to, &mut each);
        } else {
            let (local, remote) = groups(definitions.communicator(comm));
            rest.entry((local, remote, from, to, tag)).or_default().extend_from_slice(heads);
        }
    }
    let mut unmatched = Unmatched::default();
    for ((_, _, from, to, _), heads) in rest {
        both.fill(&heads);
        if both.sends.len() == both.receives.len() {
            both.pair(from, to, &mut each);
        } else {
            let left = both.pair_some(from, to, &mut each);
            unmatched.sends += left.sends;
            unmatched.receives += left.receives;
        }
    }
    unmatched
}

/// Says how many selected ends have no known other side; the counts of `ends` are those of all locations.
pub fn report_unmatched(notices: &Notices, unmatched: Unmatched, ends: &MessageEnds) {
    let push = |count: u64, level, what: &str| {
        if 0 < count {
            notices.push(Notice::new(level, NoticeCode::UnmatchedMessages, what).times(count));
        }
    };
    push(unmatched.sends, Level::Medium, "a send has no matching receive");
    push(unmatched.receives, Level::Medium, "a receive has no matching send");
    push(
        ends.uncompleted_receives,
        Level::Low,
        "a receive was posted and never completed; its sender is unknown",
    );
    push(ends.unresolved_peers, Level::Medium, "a message cannot be paired: its other side is not known");
}

/// The queues of all locations by channel, sends first, then by location.
fn heads(ends: &MessageEnds) -> Vec<QueueHead<'_>> {
    let mut heads = Vec::with_capacity(ends.locations.values().map(|ends| ends.queues.len()).sum());
    for (of, (&location, ends)) in (0..).zip(&ends.locations) {
        let head = |(&queue, start): (&Queue, usize)| QueueHead {
            queue,
            first: End { location, of, row: start as u32, ends },
        };
        heads.extend(ends.starts().map(head));
    }
    // Stable, so that locations stay in order, and quick on what is sorted piece by piece.
    heads.sort_by_key(|head| head.queue.key());
    heads
}

fn n_ends(heads: &[QueueHead<'_>]) -> u64 {
    heads.iter().map(|head| u64::from(head.queue.n)).sum()
}

/// The ends of several queues, each side in the order of posting.
#[derive(Default)]
struct Both<'a> {
    sends: Vec<End<'a>>,
    receives: Vec<End<'a>>,
}

impl<'a> Both<'a> {
    fn fill(&mut self, heads: &[QueueHead<'a>]) {
        for (ends, side) in [(&mut self.sends, Side::Send), (&mut self.receives, Side::Receive)] {
            ends.clear();
            let heads = heads.iter().filter(|head| head.queue.side == side);
            heads.for_each(|head| ends.extend(head.ends()));
            if !ends.is_sorted_by_key(End::order) {
                ends.sort_unstable_by_key(End::order);
            }
        }
    }

    fn pair(&self, from: WorldRank, to: WorldRank, each: &mut impl FnMut(Pair<'a>)) {
        let pairs = self.sends.iter().zip(&self.receives);
        pairs.for_each(|(&send, &receive)| each(Pair { from, to, send, receive }));
    }

    fn pair_some(&self, from: WorldRank, to: WorldRank, each: &mut impl FnMut(Pair<'a>)) -> Unmatched {
        let mut unmatched = Unmatched::default();
        let mut sends = self.sends.iter().peekable();
        for &receive in &self.receives {
            let done = receive.completed().map(|call| call.leave);
            match sends.next_if(|send| done.is_none_or(|done| send.posted() <= done)) {
                Some(&send) => each(Pair { from, to, send, receive }),
                None => unmatched.receives += u64::from(receive.is_selected()),
            }
        }
        unmatched.sends = sends.filter(|send| send.is_selected()).count() as u64;
        unmatched
    }
}
