//! What is kept of the threads of a process: locks, teams, calls that block.
//!
//! Law: everything is in the order of the records of its location; a place in one of these lists is of this location.

use ouzel_model::{CallPathId, CommId, LockUse, Remap, ThreadLife, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The records of one location, of a process with several threads.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ThreadRecords {
    pub locks: Vec<Acquisition>,
    pub teams: Vec<TeamSpan>,
    pub forks: Vec<ForkSpan>,
    /// Visits of parallel regions in no other and in no team, as if they forked.
    pub regions: Vec<ForkSpan>,
    pub blocked: Vec<BlockedCall>,
    /// Calls directly inside of those that block, by these and time.
    pub inner: Vec<InnerCall>,
    pub ends: Vec<EndedThread>,
    /// Selected time outside of all teams and parallel regions, by call path; only of a location that has such.
    pub serial: BTreeMap<CallPathId, TimeSum>,
    /// Selected calls that take a lock without a record of it.
    pub n_unrecorded_locks: u64,
}

// What the documentation of the crate says of memory.
const _: () = assert!(size_of::<Acquisition>() <= 80 && size_of::<BlockedCall>() <= 56);
const _: () = assert!(size_of::<TeamSpan>() + size_of::<ForkSpan>() <= 120);

/// One acquisition of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Acquisition {
    pub used: LockUse,
    /// Whether the call does nothing but wait for the lock.
    pub blocks: bool,
    /// Whether the call released the lock before: it waited for a condition.
    pub is_of_condition: bool,
    /// The call.
    pub path: CallPathId,
    pub enter: Ticks,
    pub leave: Ticks,
    /// Since when the call does nothing else.
    pub start: Ticks,
    /// When it had the lock.
    pub at: Ticks,
    /// When it released it, if that is recorded.
    pub released: Option<Ticks>,
}

/// While a location belonged to a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TeamSpan {
    pub team: CommId,
    pub begin: Ticks,
    /// None if the record is lost.
    pub end: Option<Ticks>,
    /// The fork of this location that made the team.
    pub fork: Option<u32>,
}

/// From a fork to its join, or from the enter of a parallel region to its leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForkSpan {
    /// The call that forks.
    pub path: CallPathId,
    pub fork: Ticks,
    /// None if the record is lost.
    pub join: Option<Ticks>,
    /// Whether it is in no team.
    pub is_outermost: bool,
}

/// What a call blocks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BlockedFor {
    /// The others of a team: which of [`ThreadRecords::teams`], if any.
    Barrier(Option<u32>),
    /// The end of a thread.
    Thread(ThreadLife),
}

/// A call that does nothing but wait, and what it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockedCall {
    pub reason: BlockedFor,
    pub path: CallPathId,
    pub enter: Ticks,
    /// Since when it does nothing else.
    pub start: Ticks,
    pub leave: Ticks,
}

/// A call directly inside of one that blocks: a task, for instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InnerCall {
    /// Which of [`ThreadRecords::blocked`].
    pub blocked: u32,
    pub start: Ticks,
    pub end: Ticks,
}

/// The end of a created thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndedThread {
    pub life: ThreadLife,
    /// The innermost open call.
    pub path: CallPathId,
    pub at: Ticks,
}

/// Ranges of time, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TimeSum {
    pub ticks: Ticks,
    pub n: u64,
    pub longest: Ticks,
    pub longest_at: Ticks,
}

impl TimeSum {
    /// Adds a range that `n` threads spend in the same way; nothing if it is empty.
    pub fn add(&mut self, (start, end): (Ticks, Ticks), n: u64) {
        let ticks = end.since(start);
        if ticks == Ticks(0) || n == 0 {
            return;
        }
        self.join(TimeSum { ticks: Ticks(ticks.0.saturating_mul(n)), n, longest: ticks, longest_at: start });
    }

    /// The same for `n` threads.
    pub fn times(self, n: u64) -> TimeSum {
        TimeSum { ticks: Ticks(self.ticks.0.saturating_mul(n)), n: self.n.saturating_mul(n), ..self }
    }

    pub fn join(&mut self, other: TimeSum) {
        let is_longer = self.longest < other.longest
            || self.longest == other.longest && other.longest_at < self.longest_at;
        if self.n == 0 || is_longer {
            (self.longest, self.longest_at) = (other.longest, other.longest_at);
        }
        self.ticks += other.ticks;
        self.n += other.n;
    }
}

impl ThreadRecords {
    pub fn remap(&mut self, remap: &Remap) {
        self.locks.iter_mut().for_each(|it| it.path = remap.path(it.path));
        self.forks.iter_mut().for_each(|it| it.path = remap.path(it.path));
        self.regions.iter_mut().for_each(|it| it.path = remap.path(it.path));
        self.blocked.iter_mut().for_each(|it| it.path = remap.path(it.path));
        self.ends.iter_mut().for_each(|it| it.path = remap.path(it.path));
        for (path, sum) in std::mem::take(&mut self.serial) {
            self.serial.entry(remap.path(path)).or_default().join(sum);
        }
    }

    /// Whether anything tells of teams, locks or threads that are waited for.
    pub fn has_records(&self) -> bool {
        let has_joins = self.blocked.iter().any(|call| matches!(call.reason, BlockedFor::Thread(_)));
        let has_teams = !(self.teams.is_empty() && self.forks.is_empty() && self.regions.is_empty());
        has_joins || has_teams || !self.locks.is_empty()
    }
}
