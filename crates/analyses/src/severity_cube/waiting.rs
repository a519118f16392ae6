//! Waiting as metrics, by what is waited for.
//!
//! Unique names are those of Scalasca where it has the metric, so that tools for its profiles find them. Law: the parts
//! of [`Waiting::All`] add up to it.

use serde::{Deserialize, Serialize};

macro_rules! waiting {
    ($($(#[$doc:meta])* $kind:ident $name:literal $display_name:literal $whole:expr, $description:literal;)*) => {
        /// A kind of waiting that is a metric.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Waiting { $($(#[$doc])* $kind,)* }

        impl Waiting {
            /// What it is part of.
            pub fn whole(self) -> Option<Waiting> {
                match self { $(Self::$kind => $whole,)* }
            }

            /// Unique name, display name, unit and description.
            pub(super) fn texts(self) -> [&'static str; 4] {
                match self { $(Self::$kind => [$name, $display_name, "sec", $description],)* }
            }
        }

        impl super::Quantity {
            /// Every kind of waiting, in order.
            pub(super) const WAITING: &[super::Quantity] = &[$(super::Quantity::Waiting(Waiting::$kind),)*];
        }
    };
}

waiting! {
    /// All that is added up.
    All "waiting" "Waiting" None, "Time in which calls wait for another rank that is late";
    /// For messages that are sent late.
    LateSender "mpi_latesender" "Late Sender" Some(Waiting::All), "Time in which receivers wait for late messages";
    /// Where another message could have been received first.
    WrongOrder "mpi_latesender_wo" "Messages in Wrong Order" Some(Waiting::LateSender),
        "Part of Late Sender: a message that was sent earlier is received later";
    /// The other message is of another rank.
    WrongOrderDifferentSource "mpi_lswo_different" "From different sources" Some(Waiting::WrongOrder),
        "The message that was sent earlier is of another rank";
    /// The other message is of the same rank.
    WrongOrderSameSource "mpi_lswo_same" "From same source" Some(Waiting::WrongOrder),
        "The message that was sent earlier is of the same rank";
    /// For receives that are posted late.
    LateReceiver "mpi_latereceiver" "Late Receiver" Some(Waiting::All), "Time in which senders wait for late receives";
    /// At barriers.
    Barrier "mpi_barrier_wait" "Wait at Barrier" Some(Waiting::All),
        "Time in which barriers wait for their last member";
    /// In collectives of all with all.
    Nxn "mpi_wait_nxn" "Wait at N x N" Some(Waiting::All),
        "Time in which collectives of all with all wait for their last member";
    /// For the root of a broadcast or scatter.
    LateBroadcast "mpi_latebroadcast" "Late Broadcast" Some(Waiting::All),
        "Time in which members of a broadcast or scatter wait for its root";
    /// The root of a reduction or gather, for the last of the others.
    Last "wait_for_last" "Wait for Last at N x 1" Some(Waiting::All),
        "Time in which the root of a reduction or gather waits for the last of the others";
    /// Of this, until the first of the others came.
    EarlyReduce "mpi_earlyreduce" "Early Reduce" Some(Waiting::Last),
        "Part of the wait of the root: until the first of the others has come";
    /// For earlier members of a scan.
    EarlyScan "mpi_earlyscan" "Early Scan" Some(Waiting::All),
        "Time in which members of a scan wait for those of lower rank";
    /// At the start of MPI.
    Init "wait_at_init" "Wait at Init" Some(Waiting::All), "Time in which the start of MPI waits for the last process";
    /// At the end of MPI.
    Finalize "mpi_finalize_wait" "Wait at Finalize" Some(Waiting::All),
        "Time in which the end of MPI waits for the last process";
    /// When communicators, windows and files are made or freed.
    Create "wait_at_create" "Wait at Create" Some(Waiting::All),
        "Time in which making or freeing a communicator, window or file waits for its last member";
    /// At fences of windows.
    Fence "mpi_rma_wait_at_fence" "Wait at Fence" Some(Waiting::All),
        "Time in which fences of windows wait for their last member";
    /// Of this, until the last access of another rank ended.
    EarlyFence "mpi_rma_early_fence" "Early Fence" Some(Waiting::Fence),
        "Part of the wait at a fence: until the last access of another rank to the waiting one ended";
    /// For targets that let others in late.
    LatePost "mpi_rma_late_post" "Late Post" Some(Waiting::All),
        "Time in which accesses wait for their targets to let them in";
    /// For accesses that one has let in.
    EarlyWait "mpi_rma_early_wait" "Early Wait" Some(Waiting::All),
        "Time in which targets wait for the end of the accesses that they have let in";
    /// Of this, after the last access ended.
    LateComplete "mpi_rma_late_complete" "Late Complete" Some(Waiting::EarlyWait),
        "Part of an early wait: after the last access ended, until the origin says so";
    /// For locks of windows.
    RmaLock "rma_lock" "Lock of a Window" Some(Waiting::All),
        "Time in which processes wait for the lock of a window to be released";
    /// Of threads, at barriers of their team.
    OpenMpBarrier "omp_barrier_wait" "Wait at OpenMP Barrier" Some(Waiting::All),
        "Time in which barriers of a team of threads wait for its last thread";
    /// For a lock that another thread holds.
    Lock "lock_contention" "Lock Contention" Some(Waiting::All), "Time in which threads wait for a lock to be released";
    /// For the lock of a condition.
    Condition "condition_wait" "Condition Wait" Some(Waiting::All),
        "Time in which threads wait for the lock of a condition again";
    /// Threads that wait for work while the master runs alone.
    IdleThreads "omp_idle_threads" "Idle Threads" Some(Waiting::All),
        "Time of threads without work while their master runs alone";
    /// For other threads to end.
    Join "thread_join" "Wait for Threads to End" Some(Waiting::All), "Time in which threads wait for others to end";
    /// Any other kind.
    Other "waiting_other" "Other Waiting" Some(Waiting::All), "Time of waiting that no other metric here names";
    /// In barriers after the last member has come.
    BarrierCompletion "mpi_barrier_completion" "Barrier Completion" None,
        "Time in barriers after their last member has come";
    /// In collectives of all with all after the last member has come.
    NxnCompletion "mpi_nxn_completion" "N x N Completion" None,
        "Time in collectives of all with all after their last member has come";
    /// In the start of MPI after the last process has come.
    InitCompletion "mpi_init_completion" "Init Completion" None,
        "Time in the start of MPI after the last process has come";
    /// Making and ending teams of threads.
    Management "omp_management" "Thread Management" None, "Time in which teams of threads are made and ended";
    /// Threads that a team leaves out.
    LimitedParallelism "omp_limited_parallelism" "Limited Parallelism" None,
        "Time of threads that a smaller team than possible leaves out";
    /// From the first test of a request that failed until it was complete.
    Polling "polling" "Polling" None, "From the first test of a request that failed until it was complete";
}
