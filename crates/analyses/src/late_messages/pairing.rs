//! Which send belongs to which receive.
//!
//! Messages of a channel do not overtake each other, so the nth send and the nth receive
//! are one message. A tracer may define one communicator several times; the ends of
//! channels that stay out of balance are paired over communicators of the same members.
//! There, too, a receive that completed before the next send was posted is not its.

use super::state::{End, Ends};
use crate::communication::{Channel, groups};
use ouzel_model::{Definitions, WorldRank};
use std::collections::BTreeMap;

/// A message: both ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub from: WorldRank,
    pub to: WorldRank,
    pub send: End,
    pub receive: End,
}

/// All messages, and how many ends belong to none.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    pub pairs: Vec<Pair>,
    pub unmatched_sends: u64,
    pub unmatched_receives: u64,
}

/// What channels of communicators of the same members have in common.
type Members<'a> = (&'a [WorldRank], &'a [WorldRank], WorldRank, WorldRank, u32);

pub(crate) fn pairing(channels: BTreeMap<Channel, Ends>, definitions: &Definitions) -> Pairing {
    let mut pairing = Pairing::default();
    let mut rest: BTreeMap<Members<'_>, Ends> = BTreeMap::new();
    for (channel, ends) in channels {
        if ends.sends.len() == ends.receives.len() {
            pairing.pair(channel.from, channel.to, &ends);
            continue;
        }
        let (local, remote) = groups(definitions.communicator(channel.comm));
        let members = (local, remote, channel.from, channel.to, channel.tag);
        rest.entry(members).or_default().append(ends);
    }
    for ((_, _, from, to, _), ends) in rest {
        if ends.sends.len() == ends.receives.len() {
            pairing.pair(from, to, &ends);
        } else {
            pairing.pair_some(from, to, &ends);
        }
    }
    pairing
}

impl Pairing {
    fn pair(&mut self, from: WorldRank, to: WorldRank, ends: &Ends) {
        let both = ends.sends.iter().zip(&ends.receives);
        self.pairs.extend(both.map(|(&send, &receive)| Pair { from, to, send, receive }));
    }

    fn pair_some(&mut self, from: WorldRank, to: WorldRank, ends: &Ends) {
        let mut sends = ends.sends.iter().peekable();
        for &receive in &ends.receives {
            let done = receive.completed.map(|call| call.leave);
            match sends.peek() {
                Some(send) if done.is_none_or(|done| send.posted <= done) => {
                    self.pairs.push(Pair { from, to, send: **send, receive });
                    sends.next();
                }
                _ => self.unmatched_receives += 1,
            }
        }
        self.unmatched_sends += sends.count() as u64;
    }
}
