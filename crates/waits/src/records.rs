//! What is kept of each location: the calls that synchronise it with others.
//!
//! Ends of messages are kept by [`message_matching`]; beside
//! them stand the order and times of their records. All other synchronising calls are rows here. Law: everything is in
//! the order of the records of its location.

use crate::devices::DeviceRecords;
use crate::rma_records::RmaRecords;
use crate::threads::ThreadRecords;
use ouzel_analyses::message_matching::MessageEnds;
use ouzel_model::{CallPathId, CollectiveOp, CommId, LocationId, Remap, Ticks, WorldRank};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[cfg(doc)]
use ouzel_analyses::message_matching;

/// The records of the locations folded so far.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitsPartial {
    pub(crate) ends: MessageEnds,
    pub(crate) locations: BTreeMap<LocationId, LocationRecords>,
}

/// The records of one location.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LocationRecords {
    /// When each end of a message was recorded, by its place in the order of posting; zero if it never was.
    pub recorded: Vec<Ticks>,
    /// Places of the receives, in the order in which they completed.
    pub received: Vec<u32>,
    pub collectives: Vec<CollectiveRecord>,
    pub bare: Vec<BareCall>,
    pub polls: Vec<Poll>,
    pub order: CallOrder,
    pub threads: ThreadRecords,
    pub rma: RmaRecords,
    pub devices: DeviceRecords,
    /// Of a stream: operations of several devices together.
    pub stream_collectives: Vec<CollectiveRecord>,
}

/// The numbers of calls in the sequence of the location: where something was posted, and where it was complete. Empty
/// unless dependencies are asked for.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallOrder {
    /// Of each end of a message, by its place in the order of posting.
    pub ends: Vec<Steps>,
    /// Of each collective.
    pub collectives: Vec<Steps>,
}

/// The calls in which something was posted and complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Steps {
    pub posted: u32,
    pub completed: u32,
}

impl Steps {
    /// In no known call.
    pub const NONE: Steps = Steps { posted: u32::MAX, completed: u32::MAX };
}

/// Where members of a collective meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CollectiveSite {
    /// On a communicator.
    Communicator,
    /// On a window of one-sided communication.
    Window,
    /// At a fence of a window.
    Fence,
}

/// One collective of one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CollectiveRecord {
    pub op: CollectiveOp,
    pub comm: CommId,
    /// The root, if the operation has a known one.
    pub root: Option<WorldRank>,
    /// Whether the member sends or receives any bytes.
    pub moves_data: bool,
    /// Whether it began in the call in which it ended.
    pub is_blocking: bool,
    /// Whether its end is selected.
    pub is_selected: bool,
    /// Where it is one.
    pub site: CollectiveSite,
    /// The call in which it began.
    pub arrived_path: CallPathId,
    /// The begin record of a blocking one, the enter of the posting call of any other.
    pub arrived: Ticks,
    /// The call in which it ended.
    pub path: CallPathId,
    /// When that one was entered.
    pub enter: Ticks,
    /// The end record of a blocking one, the leave of the completing call of any other.
    pub end: Ticks,
}

impl CollectiveRecord {
    /// When it began to wait, if it did.
    pub fn start(&self) -> Ticks {
        if self.is_blocking { self.arrived } else { self.enter }
    }
}

/// What a call does that synchronises without a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BareKind {
    Probe,
    Init,
    Finalize,
}

/// A call that synchronises without a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BareCall {
    pub kind: BareKind,
    pub path: CallPathId,
    pub enter: Ticks,
    pub leave: Ticks,
}

/// From the first test of a request that failed until it was complete; no two of a location overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Poll {
    /// The call that found it complete.
    pub path: CallPathId,
    pub start: Ticks,
    pub end: Ticks,
}

impl WaitsPartial {
    /// How many ends of messages and calls that synchronise.
    pub(crate) fn n_records(&self) -> u64 {
        self.locations.values().map(WaitsPartial::n_of).sum()
    }

    /// The same of one location.
    pub(crate) fn n_of(of: &LocationRecords) -> u64 {
        (of.recorded.len() + of.collectives.len() + of.bare.len() + of.polls.len()) as u64
    }

    pub(crate) fn remap(&mut self, remap: &Remap) {
        self.ends.remap(remap);
        for records in self.locations.values_mut() {
            for it in records.collectives.iter_mut().chain(&mut records.stream_collectives) {
                it.path = remap.path(it.path);
                it.arrived_path = remap.path(it.arrived_path);
            }
            records.bare.iter_mut().for_each(|it| it.path = remap.path(it.path));
            records.threads.remap(remap);
            records.rma.remap(remap);
            records.devices.remap(remap);
            records.polls.iter_mut().for_each(|it| it.path = remap.path(it.path));
        }
    }

    pub(crate) fn merge(&mut self, mut from: WaitsPartial) {
        self.ends.merge(from.ends);
        self.locations.append(&mut from.locations);
    }
}
