//! What is kept of one-sided communication: the calls that synchronise, and those that access memory of others.
//!
//! Law: everything is in the order of the records of its location.

use ouzel_model::{
    CallPathId, CollectiveOp, CollectiveRoot, CommRank, RankGroupId, Remap, RmaLockMode, RmaWindowId, Ticks,
};
use serde::{Deserialize, Serialize};

/// The records of one location.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RmaRecords {
    pub records: Vec<RmaRecord>,
}

/// One record, with the call that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RmaRecord {
    pub window: RmaWindowId,
    pub what: RmaWhat,
    /// Whether it is selected.
    pub is_selected: bool,
    /// The call.
    pub path: CallPathId,
    /// Its number in the sequence of the location, if that is kept.
    pub nth: Option<u32>,
    pub enter: Ticks,
    pub leave: Ticks,
}

// What the documentation of the crate says of memory.
const _: () = assert!(size_of::<RmaRecord>() <= 80);

/// What a call does with a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RmaWhat {
    /// A collective operation; `begin` is its own record, if there is one.
    Collective {
        op: CollectiveOp,
        root: CollectiveRoot,
        moves_data: bool,
        is_fence: bool,
        begin: Option<Ticks>,
    },
    /// A group synchronises.
    Sync {
        call: SyncCall,
        group: Option<RankGroupId>,
    },
    LockRequest {
        target: CommRank,
        lock: u64,
        mode: RmaLockMode,
    },
    LockAcquire {
        target: CommRank,
        lock: u64,
        mode: RmaLockMode,
    },
    LockRelease {
        target: CommRank,
        lock: u64,
    },
    Access {
        target: CommRank,
    },
    /// Accesses are complete: the call may be a flush.
    Completes,
}

/// Which call synchronises with a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SyncCall {
    Start,
    Complete,
    Post,
    Wait,
    /// It found that all accesses were complete.
    Test,
    /// It is none of these.
    Unknown,
}

impl RmaRecords {
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub fn remap(&mut self, remap: &Remap) {
        self.records.iter_mut().for_each(|it| it.path = remap.path(it.path));
    }
}
