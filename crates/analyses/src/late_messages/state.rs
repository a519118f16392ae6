//! Message ends, while a location is folded and until all are.

use crate::communication::Channel;
use ouzel_model::{CallPathId, LocationId, MessageEnd, Remap, Ticks};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A call that an end of a message completes in, and may wait in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Call {
    /// Its call path.
    pub path: CallPathId,
    /// When it was entered.
    pub enter: Ticks,
    /// When it was left.
    pub leave: Ticks,
}

/// One end of a message.
///
/// Ordered as posted: by the time of the call that posted it, then by location, then as recorded there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    /// When the call was entered that posted it.
    pub posted: Ticks,
    /// Where.
    pub location: LocationId,
    /// Position among the message ends of the location, in the order of posting.
    pub nth: u32,
    /// The call path of the call that posted it.
    pub path: CallPathId,
    /// Length of the message.
    pub bytes: u64,
    /// Where it completed; `None` if it never did.
    pub completed: Option<Call>,
}

impl End {
    fn order(&self) -> (Ticks, LocationId, u32) {
        (self.posted, self.location, self.nth)
    }
}

/// Both sides of a channel, each in the order of posting.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ends {
    pub sends: Vec<End>,
    pub receives: Vec<End>,
}

impl Ends {
    /// Adds the ends of other locations.
    pub fn append(&mut self, mut other: Ends) {
        append(&mut self.sends, &mut other.sends);
        append(&mut self.receives, &mut other.receives);
    }
}

/// Keeps the order; one side of a channel is mostly one location, so there is mostly nothing to sort.
fn append(into: &mut Vec<End>, from: &mut Vec<End>) {
    into.append(from);
    if !into.is_sorted_by_key(End::order) {
        into.sort_unstable_by_key(End::order);
    }
}

/// The message ends of the locations folded so far.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateMessagesPartial {
    pub(crate) channels: BTreeMap<Channel, Ends>,
    /// Ends whose other side is no rank of the communicator.
    pub(crate) unresolved_peers: u64,
    /// Ends whose other side is nobody.
    pub(crate) null_peers: u64,
    /// Receives that were posted and never completed: nobody knows from whom.
    pub(crate) uncompleted_receives: u64,
}

impl LateMessagesPartial {
    pub(super) fn remap(&mut self, remap: &Remap) {
        for ends in self.channels.values_mut() {
            for end in ends.sends.iter_mut().chain(&mut ends.receives) {
                end.path = remap.path(end.path);
                if let Some(call) = &mut end.completed {
                    call.path = remap.path(call.path);
                }
            }
        }
    }
}

/// An end of the location that is being folded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenEnd {
    pub end: MessageEnd,
    pub is_send: bool,
    pub kept: End,
}

/// A receive that was posted and has yet to complete.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posted {
    pub at: Ticks,
    pub path: CallPathId,
    pub nth: u32,
}

/// An open call, and the ends that complete in it.
#[derive(Debug)]
pub(super) struct Frame {
    pub path: CallPathId,
    pub enter: Ticks,
    /// Index of the first of its ends in [`Local::completing`].
    pub first: usize,
}

/// While a location is folded.
#[derive(Debug, Default)]
pub struct Local {
    pub(crate) ends: Vec<OpenEnd>,
    pub(super) n_posted: u32,
    pub(super) stack: Vec<Frame>,
    /// Indices of the ends that complete in open calls, those of inner calls last.
    pub(super) completing: Vec<usize>,
    /// Receives posted under a request.
    pub(super) posted: FxHashMap<u64, Posted>,
    /// Index of the send that was posted under a request.
    pub(super) sending: FxHashMap<u64, usize>,
    pub(super) uncompleted_receives: u64,
}
