//! Events of threads: teams that fork and join, tasks, created threads, and locks.
//!
//! Law: numbers are those of the trace. A lock is known within its process and programming model; the order of its
//! acquisitions is recorded, not derived from times.

use crate::{CommId, Paradigm};
use serde::{Deserialize, Serialize};

/// A step in the life of threads, tasks and locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadEvent {
    /// Index into the base columns.
    pub row: u32,
    /// The step.
    pub step: ThreadStep,
}

/// What happened to threads, a task or a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ThreadStep {
    /// This location forks a team.
    Fork {
        /// The programming model.
        paradigm: Paradigm,
        /// Threads asked for.
        n_requested: u32,
    },
    /// The team that this location forked last has joined.
    Join {
        /// The programming model.
        paradigm: Paradigm,
    },
    /// This location begins to belong to a team.
    TeamBegin(CommId),
    /// It ceases to belong to the team.
    TeamEnd(CommId),
    /// A lock was acquired.
    LockAcquire(LockUse),
    /// A lock is released.
    LockRelease(LockUse),
    /// A task was created.
    TaskCreate(TaskId),
    /// This location goes on with another task.
    TaskSwitch(TaskId),
    /// A task is complete.
    TaskComplete(TaskId),
    /// This location created a thread.
    ThreadCreate(ThreadLife),
    /// A created thread begins here.
    ThreadBegin(ThreadLife),
    /// This location waits for the end of a created thread.
    ThreadWait(ThreadLife),
    /// A created thread ends here.
    ThreadEnd(ThreadLife),
}

/// One acquisition of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LockUse {
    /// The programming model, which numbers its own locks.
    pub paradigm: Paradigm,
    /// The lock, among those of its process and programming model.
    pub lock: u32,
    /// Which acquisition of the lock: a later one has a greater number.
    pub order: u32,
}

/// A task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId {
    /// The team; `None` if the trace numbers tasks without one.
    pub team: Option<CommId>,
    /// The thread that created it, as a rank of the team; the upper half of its number without a team.
    pub creator: u32,
    /// Its number on that thread; the lower half of its number without a team.
    pub number: u32,
}

/// What creation and begin, or end and wait, of one thread have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadLife {
    /// The threads that the process may create; `None` if the trace does not say.
    pub contingent: Option<CommId>,
    /// The number that both records share.
    pub sequence: u64,
}

impl ThreadStep {
    /// The names of all steps, in the order of the variants: those of the records of OTF2.
    pub const NAMES: [&str; 13] = [
        "ThreadFork",
        "ThreadJoin",
        "ThreadTeamBegin",
        "ThreadTeamEnd",
        "ThreadAcquireLock",
        "ThreadReleaseLock",
        "ThreadTaskCreate",
        "ThreadTaskSwitch",
        "ThreadTaskComplete",
        "ThreadCreate",
        "ThreadBegin",
        "ThreadWait",
        "ThreadEnd",
    ];

    /// Its place in [`ThreadStep::NAMES`].
    pub fn index(self) -> usize {
        match self {
            ThreadStep::Fork { .. } => 0,
            ThreadStep::Join { .. } => 1,
            ThreadStep::TeamBegin(_) => 2,
            ThreadStep::TeamEnd(_) => 3,
            ThreadStep::LockAcquire(_) => 4,
            ThreadStep::LockRelease(_) => 5,
            ThreadStep::TaskCreate(_) => 6,
            ThreadStep::TaskSwitch(_) => 7,
            ThreadStep::TaskComplete(_) => 8,
            ThreadStep::ThreadCreate(_) => 9,
            ThreadStep::ThreadBegin(_) => 10,
            ThreadStep::ThreadWait(_) => 11,
            ThreadStep::ThreadEnd(_) => 12,
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        ThreadStep::NAMES[self.index()]
    }
}

impl TaskId {
    /// The task of a number that no team qualifies.
    pub fn without_team(number: u64) -> Self {
        TaskId { team: None, creator: (number >> 32) as u32, number: (number & u64::from(u32::MAX)) as u32 }
    }

    /// Its number, if no team qualifies it.
    pub fn number_without_team(self) -> u64 {
        u64::from(self.creator) << 32 | u64::from(self.number)
    }
}
