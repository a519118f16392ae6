//! Events of one-sided communication (remote memory access, RMA): windows, accesses, and what synchronises them.
//!
//! Law: numbers are those of the trace. A target is a rank in the communicator of the window; numbers that are no rank
//! ([`RmaLock::has_all_targets`]) name all of them. Codes that no version of OTF2 defines are kept as they are.

use crate::{CollectiveOp, CollectiveRoot, CommId, CommRank, RankGroupId, RmaWindowId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Memory of each member of a communicator that the others access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RmaWindow {
    /// The name the tracer gave; empty if none.
    pub name: Arc<str>,
    /// Whose memory it is.
    pub comm: CommId,
    /// Whether its creation and its end are recorded as events.
    pub has_life_events: bool,
}

/// An event of one-sided communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RmaEvent {
    /// Index into the base columns.
    pub row: u32,
    /// The window; `None` where the record names none, or one that is not defined.
    pub window: Option<RmaWindowId>,
    /// What happened.
    pub step: RmaStep,
}

/// What happened to a window or an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RmaStep {
    /// The window was made.
    WindowCreate,
    /// The window was freed.
    WindowDestroy,
    /// A collective operation on the next window that one ends on begins.
    CollectiveBegin,
    /// A collective operation on the window ended: fences among them.
    CollectiveEnd(RmaCollective),
    /// A group of ranks synchronises: an access or exposure epoch begins or ends.
    GroupSync {
        /// What is synchronised.
        level: RmaSyncLevel,
        /// With whom; `None` if the group is not defined.
        group: Option<RankGroupId>,
    },
    /// A lock was asked for.
    LockRequest(RmaLock),
    /// A lock was acquired.
    LockAcquire(RmaLock),
    /// A lock was tried, and not acquired.
    LockTry(RmaLock),
    /// A lock is released.
    LockRelease {
        /// Whose memory it is on.
        target: CommRank,
        /// The lock.
        lock: u64,
    },
    /// One rank synchronises with another.
    Sync {
        /// The other.
        target: CommRank,
        /// How.
        kind: RmaSyncKind,
    },
    /// The location waits until another changes a part of the window.
    WaitChange,
    /// Data is written to the target.
    Put(RmaAccess),
    /// Data is read from the target.
    Get(RmaAccess),
    /// Data of the target is changed in place.
    Atomic {
        /// The access; its bytes are those sent.
        access: RmaAccess,
        /// What happens to the data.
        kind: RmaAtomicKind,
        /// Bytes that come back.
        bytes_received: u64,
    },
    /// An access is complete, and was blocking.
    CompleteBlocking(RmaOperationId),
    /// An access is complete at the origin.
    CompleteNonBlocking(RmaOperationId),
    /// An access was tested, and was not complete.
    Test(RmaOperationId),
    /// An access is complete at the target.
    CompleteRemote(RmaOperationId),
}

/// The number of an access, which the records of its completion repeat; unique among those of its location and window
/// that are not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RmaOperationId(pub u64);

/// An access to the memory of another rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RmaAccess {
    /// Whose memory.
    pub target: CommRank,
    /// Bytes moved.
    pub bytes: u64,
    /// The number of the access.
    pub id: RmaOperationId,
}

/// A lock of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RmaLock {
    /// Whose memory it is on.
    pub target: CommRank,
    /// The lock; 0 where a target has but one.
    pub lock: u64,
    /// Who else may hold it.
    pub mode: RmaLockMode,
}

/// The end of a collective operation on a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RmaCollective {
    /// The operation.
    pub op: CollectiveOp,
    /// What is synchronised.
    pub level: RmaSyncLevel,
    /// The root, where the operation has one.
    pub root: CollectiveRoot,
    /// Bytes this location sent.
    pub bytes_sent: u64,
    /// Bytes this location received.
    pub bytes_received: u64,
}

/// What is synchronised: a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RmaSyncLevel(pub u32);

impl RmaSyncLevel {
    /// The processes.
    pub const PROCESS: RmaSyncLevel = RmaSyncLevel(1);
    /// The memory.
    pub const MEMORY: RmaSyncLevel = RmaSyncLevel(2);
    /// Both.
    pub const BOTH: RmaSyncLevel = RmaSyncLevel(3);

    /// Whether nothing is: the call only asked.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The set in words.
    pub fn as_str(self) -> &'static str {
        match (self.0 & 1, self.0 & 2) {
            (0, 0) => "none",
            (_, 0) => "process",
            (0, _) => "memory",
            _ => "process, memory",
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $code:literal $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each variant is the field's own term")]
        pub enum $name { $($variant,)* Other(u8) }

        impl $name {
            /// The term in lower case.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* Self::Other(_) => "unknown" }
            }
            /// What a code in the numbering of OTF2 means.
            pub fn from_code(code: u8) -> Self {
                match code { $($code => Self::$variant,)* _ => Self::Other(code) }
            }
            /// The code in the numbering of OTF2.
            pub fn code(self) -> u8 {
                match self { $(Self::$variant => $code,)* Self::Other(code) => code }
            }
        }
    )*};
}

codes! {
    /// Who else may hold a lock.
    RmaLockMode { Exclusive = 0 "exclusive", Shared = 1 "shared", }
    /// How one rank synchronises with another.
    RmaSyncKind { Memory = 0 "memory", NotifyIn = 1 "notify_in", NotifyOut = 2 "notify_out", }
    /// What happens to data in place.
    RmaAtomicKind {
        Accumulate = 0 "accumulate", Increment = 1 "increment", TestAndSet = 2 "test_and_set",
        CompareAndSwap = 3 "compare_and_swap", Swap = 4 "swap", FetchAndAdd = 5 "fetch_and_add",
        FetchAndIncrement = 6 "fetch_and_increment", FetchAndAccumulate = 7 "fetch_and_accumulate",
    }
}

/// Ranks end here; greater numbers are negative ones without their sign.
const ALL_TARGETS: u32 = 1 << 31;

impl RmaLock {
    /// Whether a target is no rank, but stands for all of them: `MPI_Win_lock_all`, locks of OpenSHMEM.
    pub fn has_all_targets(target: CommRank) -> bool {
        ALL_TARGETS <= target.0
    }
}

impl RmaStep {
    /// The names of all steps, in the order of the variants: those of the records of OTF2.
    pub const NAMES: [&str; 18] = [
        "RmaWinCreate",
        "RmaWinDestroy",
        "RmaCollectiveBegin",
        "RmaCollectiveEnd",
        "RmaGroupSync",
        "RmaRequestLock",
        "RmaAcquireLock",
        "RmaTryLock",
        "RmaReleaseLock",
        "RmaSync",
        "RmaWaitChange",
        "RmaPut",
        "RmaGet",
        "RmaAtomic",
        "RmaOpCompleteBlocking",
        "RmaOpCompleteNonBlocking",
        "RmaOpTest",
        "RmaOpCompleteRemote",
    ];

    /// Its place in [`RmaStep::NAMES`].
    pub fn index(self) -> usize {
        match self {
            RmaStep::WindowCreate => 0,
            RmaStep::WindowDestroy => 1,
            RmaStep::CollectiveBegin => 2,
            RmaStep::CollectiveEnd(_) => 3,
            RmaStep::GroupSync { .. } => 4,
            RmaStep::LockRequest(_) => 5,
            RmaStep::LockAcquire(_) => 6,
            RmaStep::LockTry(_) => 7,
            RmaStep::LockRelease { .. } => 8,
            RmaStep::Sync { .. } => 9,
            RmaStep::WaitChange => 10,
            RmaStep::Put(_) => 11,
            RmaStep::Get(_) => 12,
            RmaStep::Atomic { .. } => 13,
            RmaStep::CompleteBlocking(_) => 14,
            RmaStep::CompleteNonBlocking(_) => 15,
            RmaStep::Test(_) => 16,
            RmaStep::CompleteRemote(_) => 17,
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        RmaStep::NAMES[self.index()]
    }

    /// The other side, if the step names one: a rank in the communicator of the window.
    pub fn target(self) -> Option<CommRank> {
        match self {
            RmaStep::LockRequest(RmaLock { target, .. })
            | RmaStep::LockAcquire(RmaLock { target, .. })
            | RmaStep::LockTry(RmaLock { target, .. })
            | RmaStep::LockRelease { target, .. }
            | RmaStep::Sync { target, .. }
            | RmaStep::Put(RmaAccess { target, .. })
            | RmaStep::Get(RmaAccess { target, .. })
            | RmaStep::Atomic { access: RmaAccess { target, .. }, .. } => Some(target),
            _ => None,
        }
    }

    /// The number of the access, if the step is of one.
    pub fn operation(self) -> Option<RmaOperationId> {
        match self {
            RmaStep::Put(RmaAccess { id, .. })
            | RmaStep::Get(RmaAccess { id, .. })
            | RmaStep::Atomic { access: RmaAccess { id, .. }, .. }
            | RmaStep::CompleteBlocking(id)
            | RmaStep::CompleteNonBlocking(id)
            | RmaStep::Test(id)
            | RmaStep::CompleteRemote(id) => Some(id),
            _ => None,
        }
    }

    /// The lock, if the step is of one.
    pub fn lock(self) -> Option<u64> {
        match self {
            RmaStep::LockRequest(RmaLock { lock, .. })
            | RmaStep::LockAcquire(RmaLock { lock, .. })
            | RmaStep::LockTry(RmaLock { lock, .. })
            | RmaStep::LockRelease { lock, .. } => Some(lock),
            _ => None,
        }
    }

    /// Bytes sent and received by this location, as far as the step says.
    pub fn bytes(self) -> (Option<u64>, Option<u64>) {
        match self {
            RmaStep::CollectiveEnd(RmaCollective { bytes_sent, bytes_received, .. }) => {
                (Some(bytes_sent), Some(bytes_received))
            }
            RmaStep::Put(access) => (Some(access.bytes), None),
            RmaStep::Get(access) => (None, Some(access.bytes)),
            RmaStep::Atomic { access, bytes_received, .. } => (Some(access.bytes), Some(bytes_received)),
            _ => (None, None),
        }
    }

    /// How it happens, where there are several ways: mode of a lock, what is synchronised, kind of an atomic access.
    pub fn detail(self) -> Option<&'static str> {
        match self {
            RmaStep::LockRequest(RmaLock { mode, .. })
            | RmaStep::LockAcquire(RmaLock { mode, .. })
            | RmaStep::LockTry(RmaLock { mode, .. }) => Some(mode.as_str()),
            RmaStep::CollectiveEnd(RmaCollective { level, .. }) | RmaStep::GroupSync { level, .. } => {
                Some(level.as_str())
            }
            RmaStep::Sync { kind, .. } => Some(kind.as_str()),
            RmaStep::Atomic { kind, .. } => Some(kind.as_str()),
            _ => None,
        }
    }
}
