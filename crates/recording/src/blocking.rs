//! Functions in which a thread waits for others of its process, or for another process: their numbers, names and roles.
//!
//! They are recorded where samples are, which show nothing of a thread that is blocked. Functions of locks and semaphores are
//! recorded only when they do not get what they ask for at once.

use crate::sleep;
use ouzel_otf2::records::enums::{Paradigm, RegionRole};

macro_rules! blocking_functions {
    ($($call:ident $name:literal $paradigm:ident $role:ident;)*) => {
        /// A function that is recorded.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum BlockingCall {
            $(#[doc = $name] $call,)*
        }

        const FUNCTIONS: &[BlockingFunction] = &[$(BlockingFunction {
            name: $name,
            paradigm: Paradigm::$paradigm,
            role: RegionRole::$role,
        },)*];
    };
}

blocking_functions! {
    MutexLock "pthread_mutex_lock" Pthread ThreadWait;
    MutexTimedLock "pthread_mutex_timedlock" Pthread ThreadWait;
    MutexClockLock "pthread_mutex_clocklock" Pthread ThreadWait;
    ReadLock "pthread_rwlock_rdlock" Pthread ThreadWait;
    ReadTimedLock "pthread_rwlock_timedrdlock" Pthread ThreadWait;
    ReadClockLock "pthread_rwlock_clockrdlock" Pthread ThreadWait;
    WriteLock "pthread_rwlock_wrlock" Pthread ThreadWait;
    WriteTimedLock "pthread_rwlock_timedwrlock" Pthread ThreadWait;
    WriteClockLock "pthread_rwlock_clockwrlock" Pthread ThreadWait;
    SpinLock "pthread_spin_lock" Pthread ThreadWait;
    ConditionWait "pthread_cond_wait" Pthread ThreadWait;
    ConditionTimedWait "pthread_cond_timedwait" Pthread ThreadWait;
    ConditionClockWait "pthread_cond_clockwait" Pthread ThreadWait;
    SemaphoreWait "sem_wait" Pthread ThreadWait;
    SemaphoreTimedWait "sem_timedwait" Pthread ThreadWait;
    SemaphoreClockWait "sem_clockwait" Pthread ThreadWait;
    BarrierWait "pthread_barrier_wait" Pthread Barrier;
    Join "pthread_join" Pthread ThreadWait;
    TimedJoin "pthread_timedjoin_np" Pthread ThreadWait;
    ClockJoin "pthread_clockjoin_np" Pthread ThreadWait;
    Poll "poll" Unknown ThreadWait;
    PollSignals "ppoll" Unknown ThreadWait;
    Select "select" Unknown ThreadWait;
    SelectSignals "pselect" Unknown ThreadWait;
    EventWait "epoll_wait" Unknown ThreadWait;
    EventWaitSignals "epoll_pwait" Unknown ThreadWait;
    Accept "accept" Unknown ThreadWait;
    ChildWait "waitpid" Unknown ThreadWait;
}

/// A function that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockingFunction {
    /// Its name.
    pub name: &'static str,
    /// Whose function it is.
    pub paradigm: Paradigm,
    /// What it does.
    pub role: RegionRole,
}

/// The number of the first one as a region.
const FIRST: usize = sleep::NUMBER + 1;

impl BlockingCall {
    /// Its number as a region.
    pub fn number(self) -> usize {
        FIRST + self as usize
    }
}

/// The function of a region's number.
pub fn function(number: u32) -> Option<&'static BlockingFunction> {
    FUNCTIONS.get((number as usize).checked_sub(FIRST)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_functions_do_not_meet() {
        // Regions of the program begin at 1000.
        assert!(FIRST + FUNCTIONS.len() <= 1000);
        let name = |number: usize| function(u32::try_from(number).unwrap_or(0)).map(|it| it.name);
        assert_eq!(name(BlockingCall::ChildWait.number()), Some("waitpid"));
        assert_eq!((name(sleep::NUMBER), name(FIRST + FUNCTIONS.len())), (None, None));
    }
}
