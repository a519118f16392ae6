//! Message ends of complete locations, in columns.

use crate::communication_totals::Channel;
use ouzel_model::{CallPathId, LocationId, Remap, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which side of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Side {
    /// The sender's.
    Send,
    /// The receiver's.
    Receive,
}

/// One side of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchedEnd {
    /// Where.
    pub location: LocationId,
    /// Position among the posted ends of the location.
    pub nth: u32,
}

/// One side of a channel at one location: the number of its rows, which follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// The channel.
    pub channel: Channel,
    /// The side.
    pub side: Side,
    /// Never zero.
    pub n: u32,
}

impl Queue {
    /// What queues are ordered by; no two of a location have the same.
    pub fn key(&self) -> (Channel, Side) {
        (self.channel, self.side)
    }
}

/// Means "no call" in [`LocationEnds::call`].
pub(super) const NO_CALL: CallPathId = CallPathId(u32::MAX);

/// A call that an end of a message completes in, and may wait in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndCall {
    /// Its call path.
    pub path: CallPathId,
    /// When it was entered.
    pub enter: Ticks,
    /// When it was left.
    pub leave: Ticks,
}

/// The message ends of one location: one row each, queue by queue, sorted by (posted, nth) within a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocationEnds {
    /// Ascending.
    pub queues: Vec<Queue>,
    /// Position among the posted ends of the location, including those that never completed.
    pub nth: Vec<u32>,
    /// When the call was entered that posted it.
    pub posted: Vec<Ticks>,
    /// The call path of that call.
    pub path: Vec<CallPathId>,
    /// Length of the message.
    pub bytes: Vec<u64>,
    /// The call path of the call that it completed in; `NO_CALL` if it never did.
    pub call: Vec<CallPathId>,
    /// When that one was entered.
    pub enter: Vec<Ticks>,
    /// When it was left.
    pub leave: Vec<Ticks>,
    /// Whether its record is selected; empty if all of the location are.
    pub selected: Vec<bool>,
}

impl LocationEnds {
    /// The queues, each with its first row.
    pub fn starts(&self) -> impl Iterator<Item = (&Queue, usize)> {
        self.queues.iter().scan(0, |next, queue| {
            let start = *next;
            *next += queue.n as usize;
            Some((queue, start))
        })
    }

    /// An exclusive upper bound of [`nth`](LocationEnds::nth).
    pub(crate) fn n_posted(&self) -> usize {
        self.nth.iter().max().map_or(0, |&nth| nth as usize + 1)
    }

    /// Adds the rows of a queue that sorts after all present queues.
    fn push(&mut self, from: &LocationEnds, queue: Queue, start: usize) {
        let rows = start..start + queue.n as usize;
        self.queues.push(queue);
        self.nth.extend_from_slice(&from.nth[rows.clone()]);
        self.posted.extend_from_slice(&from.posted[rows.clone()]);
        self.path.extend_from_slice(&from.path[rows.clone()]);
        self.bytes.extend_from_slice(&from.bytes[rows.clone()]);
        self.call.extend_from_slice(&from.call[rows.clone()]);
        self.enter.extend_from_slice(&from.enter[rows.clone()]);
        self.leave.extend_from_slice(&from.leave[rows.clone()]);
        // Either all pieces of a location have the column or none has.
        self.selected.extend_from_slice(from.selected.get(rows).unwrap_or_default());
    }

    /// Joins both: buckets of one location, which have no queue in common.
    fn merged(&self, other: &LocationEnds) -> LocationEnds {
        let mut queues: Vec<(&LocationEnds, Queue, usize)> = [self, other]
            .iter()
            .flat_map(|ends| ends.starts().map(|(q, start)| (*ends, *q, start)))
            .collect();
        queues.sort_by_key(|(_, queue, _)| queue.key());
        let mut merged = LocationEnds::default();
        queues.into_iter().for_each(|(ends, queue, start)| merged.push(ends, queue, start));
        merged
    }

    fn remap(&mut self, remap: &Remap) {
        self.path.iter_mut().for_each(|path| *path = remap.path(*path));
        let calls = self.call.iter_mut().filter(|call| **call != NO_CALL);
        calls.for_each(|call| *call = remap.path(*call));
    }
}

/// One end of a message.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// Where.
    pub location: LocationId,
    /// Index of the location among those of the [`MessageEnds`].
    pub of: u32,
    /// Its row there.
    pub row: u32,
    /// The ends of the location.
    pub ends: &'a LocationEnds,
}

impl End<'_> {
    /// Identifies an end of a message, without its columns.
    pub fn place(&self) -> MatchedEnd {
        MatchedEnd { location: self.location, nth: self.nth() }
    }

    /// Position among the posted ends of the location.
    pub fn nth(&self) -> u32 {
        self.ends.nth[self.row as usize]
    }

    /// When the call was entered that posted it.
    pub fn posted(&self) -> Ticks {
        self.ends.posted[self.row as usize]
    }

    /// The call path of that call.
    pub fn path(&self) -> CallPathId {
        self.ends.path[self.row as usize]
    }

    /// Length of the message.
    pub fn bytes(&self) -> u64 {
        self.ends.bytes[self.row as usize]
    }

    /// The call it completed in; `None` if it never completed, or completed outside of every call.
    pub fn completed(&self) -> Option<EndCall> {
        let row = self.row as usize;
        let path = self.ends.call[row];
        (path != NO_CALL).then(|| EndCall { path, enter: self.ends.enter[row], leave: self.ends.leave[row] })
    }

    /// Whether its record is selected.
    pub fn is_selected(&self) -> bool {
        self.ends.selected.get(self.row as usize).copied().unwrap_or(true)
    }

    /// The sort key of the ends of a channel.
    pub fn order(&self) -> (Ticks, LocationId, u32) {
        (self.posted(), self.location, self.nth())
    }
}

/// The message ends of the locations folded so far.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEnds {
    /// Locations with at least one end.
    pub locations: BTreeMap<LocationId, LocationEnds>,
    /// Selected ends whose other side is no rank of the communicator.
    pub unresolved_peers: u64,
    /// Selected ends that have no other side (`MPI_PROC_NULL`).
    pub null_peers: u64,
    /// Selected receives that were posted and never completed: their senders are unknown.
    pub uncompleted_receives: u64,
}

impl MessageEnds {
    /// Renumbers call paths.
    pub fn remap(&mut self, remap: &Remap) {
        self.locations.values_mut().for_each(|ends| ends.remap(remap));
    }

    /// Number of ends.
    pub(crate) fn n_ends(&self) -> usize {
        self.locations.values().map(|ends| ends.nth.len()).sum()
    }

    /// Adds the ends of other locations, or other queues of the same.
    pub fn merge(&mut self, from: MessageEnds) {
        self.unresolved_peers += from.unresolved_peers;
        self.null_peers += from.null_peers;
        self.uncompleted_receives += from.uncompleted_receives;
        for (location, ends) in from.locations {
            match self.locations.get_mut(&location) {
                Some(here) => *here = here.merged(&ends),
                None => drop(self.locations.insert(location, ends)),
            }
        }
    }

    /// Moves the ends into buckets by channel; the counts stay.
    pub(crate) fn split(&mut self, n_buckets: usize) -> Vec<MessageEnds> {
        let mut buckets: Vec<MessageEnds> = Vec::new();
        buckets.resize_with(n_buckets, MessageEnds::default);
        for (location, ends) in std::mem::take(&mut self.locations) {
            for (queue, start) in ends.starts() {
                let bucket = &mut buckets[queue.channel.bucket(n_buckets)];
                bucket.locations.entry(location).or_default().push(&ends, *queue, start);
            }
        }
        buckets
    }
}
