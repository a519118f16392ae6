//! The classes of waiting, and which of them are added up.

use serde::Serialize;

/// What a class is in the sum of all waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassRole {
    /// Waiting; classes of this role never overlap within a visit and are added up.
    Primary,
    /// A part of the waiting of another class, counted there.
    PartOf(WaitClass),
    /// Not waiting for a late rank, thread or device, and not added up.
    Beside,
}

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident $name:literal $words:literal $role:expr,)*) => {
        /// What a call waits for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum WaitClass { $($(#[$doc])* $class,)* }

        impl WaitClass {
            /// Every class, primary ones first.
            pub const ALL: &[WaitClass] = &[$(WaitClass::$class,)*];

            /// The term in snake case, as tables and JSON show it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$class => $name,)* }
            }

            /// The class in words.
            pub fn in_words(self) -> &'static str {
                match self { $(Self::$class => $words,)* }
            }

            /// What it is in the sum of all waiting.
            pub fn role(self) -> ClassRole {
                use ClassRole::{Beside, PartOf, Primary};
                match self { $(Self::$class => $role,)* }
            }
        }
    };
}

classes! {
    /// A receive waits for a message that is sent late.
    LateSender "late_sender" "late sender" Primary,
    /// A send waits for a receive that is posted late.
    LateReceiver "late_receiver" "late receiver" Primary,
    /// A barrier waits for its last member.
    WaitAtBarrier "wait_at_barrier" "wait at barrier" Primary,
    /// A collective in which all need data of all waits for its last member.
    WaitAtNxn "wait_at_nxn" "wait at N×N" Primary,
    /// Members of a broadcast or scatter wait for the root.
    LateBroadcast "late_broadcast" "late broadcast" Primary,
    /// The root of a reduction or gather waits for the last of the others.
    WaitForLast "wait_for_last" "wait for the last at N×1" Primary,
    /// A scan waits for the members of lower rank.
    EarlyScan "early_scan" "early scan" Primary,
    /// The start of MPI waits for the last process.
    WaitAtInit "wait_at_init" "wait at init" Primary,
    /// The end of MPI waits for the last process.
    WaitAtFinalize "wait_at_finalize" "wait at finalize" Primary,
    /// Making or freeing a communicator, window or file waits for the last member.
    WaitAtCreate "wait_at_create" "wait at create" Primary,
    /// A fence of a window waits for its last member.
    WaitAtFence "wait_at_fence" "wait at fence" Primary,
    /// An access waits for its target to let it in.
    LatePost "late_post" "late post" Primary,
    /// A target waits for the end of the accesses that it let in.
    EarlyWait "early_wait" "early wait" Primary,
    /// A process waits for the lock of a window that another one holds.
    RmaLock "rma_lock" "lock of a window" Primary,
    /// A thread waits at a barrier for the last of its team.
    OpenmpWaitAtBarrier "openmp_wait_at_barrier" "wait at OpenMP barrier" Primary,
    /// A thread waits for a lock that another one holds.
    LockContention "lock_contention" "lock contention" Primary,
    /// A thread waits for a condition, until the last one that changed it has released its lock.
    ConditionWait "condition_wait" "condition wait" Primary,
    /// A thread waits for the end of one that it created.
    ThreadJoin "thread_join" "thread join" Primary,
    /// Threads have nothing to do while the master of their process is in no team.
    IdleThreads "idle_threads" "idle threads" Primary,
    /// A thread waits until operations of an accelerator have ended.
    HostWaitsForDevice "host_waits_for_device" "host waits for device" Primary,
    /// A call that copies waits until its copy begins, one that releases memory for what runs.
    BlockingCopy "blocking_copy" "blocking copy" Primary,
    /// A stream waits for an event of another one.
    StreamWait "stream_wait" "stream wait" Primary,
    /// An operation of several devices waits for the last of them.
    WaitInDeviceCollective "wait_in_device_collective" "wait in device collective" Primary,
    /// Until the first of the others arrives: the waiting before any data could be taken.
    EarlyReduce "early_reduce" "early reduce" PartOf(WaitClass::WaitForLast),
    /// Until the last access of another rank to the memory of the waiting one ended.
    EarlyFence "early_fence" "early fence" PartOf(WaitClass::WaitAtFence),
    /// After the last access ended, until the origin says so.
    LateComplete "late_complete" "late complete" PartOf(WaitClass::EarlyWait),
    /// A message of the same rank that was sent earlier is received later.
    WrongOrderSameSource "late_sender_wrong_order_same_source" "wrong order, same source"
        PartOf(WaitClass::LateSender),
    /// A message of another rank that was sent earlier is received later.
    WrongOrderDifferentSource "late_sender_wrong_order_different_source" "wrong order, other source"
        PartOf(WaitClass::LateSender),
    /// What the sender's own code causes; only where causes are asked for, as all parts that follow.
    DirectLateSender "direct_late_sender" "late sender, direct" PartOf(WaitClass::LateSender),
    /// What earlier waits of the sender cause.
    IndirectLateSender "indirect_late_sender" "late sender, indirect" PartOf(WaitClass::LateSender),
    /// What makes another rank wait later, as far as one wait shows it.
    PropagatingLateSender "propagating_late_sender" "late sender, propagating" PartOf(WaitClass::LateSender),
    /// What makes nobody wait.
    TerminalLateSender "terminal_late_sender" "late sender, terminal" PartOf(WaitClass::LateSender),
    /// What the receiver's own code causes.
    DirectLateReceiver "direct_late_receiver" "late receiver, direct" PartOf(WaitClass::LateReceiver),
    /// What earlier waits of the receiver cause.
    IndirectLateReceiver "indirect_late_receiver" "late receiver, indirect" PartOf(WaitClass::LateReceiver),
    /// What makes another rank wait later, as far as one wait shows it.
    PropagatingLateReceiver "propagating_late_receiver" "late receiver, propagating"
        PartOf(WaitClass::LateReceiver),
    /// What makes nobody wait.
    TerminalLateReceiver "terminal_late_receiver" "late receiver, terminal" PartOf(WaitClass::LateReceiver),
    /// Until the operation that is waited for begins.
    Queueing "queueing" "queueing" PartOf(WaitClass::HostWaitsForDevice),
    /// In a barrier after its last member has arrived.
    BarrierCompletion "barrier_completion" "barrier completion" Beside,
    /// In a collective of all with all after its last member has arrived.
    NxnCompletion "nxn_completion" "N×N completion" Beside,
    /// In the start of MPI after the last process has arrived.
    InitCompletion "init_completion" "init completion" Beside,
    /// From a fork until threads begin in their team, and from their end in it until the join.
    Management "management" "thread management" Beside,
    /// Threads have nothing to do while a team smaller than the largest works.
    LimitedParallelism "limited_parallelism" "limited parallelism" Beside,
    /// From the first test of a request that failed until it was complete.
    Polling "polling" "polling" Beside,
    /// From when an operation of an accelerator could begin until it does.
    LaunchLatency "launch_latency" "launch latency" Beside,
    /// The same, while other streams of the device ran until shortly before.
    SerializedStreams "serialized_streams" "serialised streams" Beside,
    /// Between the kernels of a device.
    DeviceIdle "device_idle" "device idle" Beside,
    /// In a call that synchronises with an accelerator that has nothing to do.
    UselessSynchronization "useless_synchronization" "useless synchronisation" Beside,
}

impl WaitClass {
    /// The class that it is a part of.
    pub fn part_of(self) -> Option<WaitClass> {
        match self.role() {
            ClassRole::PartOf(whole) => Some(whole),
            ClassRole::Primary | ClassRole::Beside => None,
        }
    }

    /// Whether it is waiting for or of an accelerator, a part of that, or lies beside it; causes of it are not looked for.
    pub fn is_of_devices(self) -> bool {
        use WaitClass::{
            BlockingCopy, DeviceIdle, HostWaitsForDevice, LaunchLatency, Queueing, SerializedStreams,
            StreamWait, UselessSynchronization, WaitInDeviceCollective,
        };
        matches!(
            self,
            HostWaitsForDevice
                | BlockingCopy
                | StreamWait
                | WaitInDeviceCollective
                | Queueing
                | LaunchLatency
                | SerializedStreams
                | DeviceIdle
                | UselessSynchronization
        )
    }

    /// The class of a name, as [`as_str`](WaitClass::as_str) writes it.
    pub fn from_name(name: &str) -> Option<WaitClass> {
        WaitClass::ALL.iter().copied().find(|class| class.as_str() == name)
    }
}

/// How far a wait is known to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// It follows from the records.
    Certain,
    /// It waits at most so long: which members exchange data is not recorded.
    UpperBound,
    /// The call may as well have been busy: it is counted apart.
    Possible,
    /// Clocks are wrong in more than one of a hundred waits.
    Doubtful,
}

impl Certainty {
    /// The term in snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Certainty::Certain => "certain",
            Certainty::UpperBound => "upper_bound",
            Certainty::Possible => "possible",
            Certainty::Doubtful => "doubtful",
        }
    }
}
