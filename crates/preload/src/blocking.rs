//! The wrappers of functions in which a thread sleeps, or waits for others of its process or for another process. Samples of
//! processor time show nothing of it, so that the time would belong to whatever was sampled next.
//!
//! ```text
//! pthread_mutex_lock ──► pthread_mutex_trylock ── it has the mutex ──► back
//!                             └── it is taken ──► Enter ── C's own pthread_mutex_lock ── Leave
//! ```
//! Law: the program gets what the real function would have returned. What is free is taken without an event, a clock or a
//! system call. Functions that look at their other arguments even then (those with a deadline, but for
//! `pthread_mutex_timedlock`) are not preceded by an attempt. A thread that has no stream yet, or no longer, is not recorded,
//! as making one takes memory, and allocators have mutexes.

use crate::io::{RecordedCall, missing, real};
use crate::next::keeping_errno;
use crate::process::{sampling, thread};
use libc::{c_int, c_uint, clockid_t, timespec, timeval, useconds_t};
use ouzel_recording::blocking::BlockingCall;
use ouzel_recording::sleep;
use std::ffi::c_void;

type Object = *mut c_void;
type Time = *const timespec;

/// Waits in `real`, which goes on after a signal.
pub fn waiting<R>(number: usize, real: impl FnOnce() -> R) -> R {
    let number = |process: &_| thread::slot(process).map(|_| number);
    let begin = || sampling::is_on().then(|| RecordedCall::of(number, true)).flatten();
    let _begun = keeping_errno(begin);
    real()
}

/// Waits in `real`, which a signal would end.
fn held<R>(number: usize, real: impl FnOnce() -> R) -> R {
    waiting(number, || sampling::held_back(real))
}

/// What an attempt returns if it has got what the caller asks for.
macro_rules! taken {
    ($name:ident($object:ident)) => {
        real!($name(Object) -> c_int)
            // SAFETY: the caller's object.
            .map(|attempt| unsafe { attempt($object) })
            .filter(|&result| result == 0)
    };
}

/// The same of a mutex. Robust ones are not tried: if such a mutex cannot be recovered, `pthread_mutex_trylock` says so and
/// leaves it locked (glibc 2.36), so that the next thread would wait for ever.
unsafe fn mutex_taken(mutex: Object) -> Option<c_int> {
    /// Where initialisers of glibc put the kind of a mutex, and the bit of robust ones in it.
    const KIND: (usize, c_int) = (16, 16);
    // SAFETY: the caller's mutex, which the real function reads, too.
    let kind = unsafe { mutex.byte_add(KIND.0).cast::<c_int>().read_volatile() };
    if kind & KIND.1 != 0 { None } else { taken!(pthread_mutex_trylock(mutex)) }
}

/// The same of a semaphore. The function ends threads that are cancelled even if it need not wait.
unsafe fn semaphore_taken(semaphore: Object) -> Option<c_int> {
    if let Some(test) = real!(pthread_testcancel() -> ()) {
        // SAFETY: no arguments.
        unsafe { test() };
    }
    keeping_errno(|| taken!(sem_trywait(semaphore)))
}

/// The number of a function that waits for files; for none, it sleeps.
fn of_files(call: BlockingCall, has_files: bool) -> usize {
    if has_files { call.number() } else { sleep::NUMBER }
}

/// Functions that wait by `$waits`. After `unless`: what they return without waiting, if they need not; after `if`: whether
/// they may wait at all.
macro_rules! blocking {
    ($result:ty, $missing:expr, $waits:ident; $(
        $name:ident $number:expr, ($($a:ident: $t:ty),*) $(unless $taken:expr)? $(, if $may_wait:expr)?;
    )*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($a: $t),*) -> $result {
            $(if sampling::is_on() && let Some(result) = $taken {
                return result;
            })?
            let Some(real) = real!($name($($t),*) -> $result) else { return $missing };
            // SAFETY: the caller's arguments.
            let real = || unsafe { real($($a),*) };
            $(if !$may_wait {
                return real();
            })?
            $waits($number, real)
        }
    )*};
}

use BlockingCall as Call;

blocking! { c_int, libc::ENOSYS, waiting;
    pthread_mutex_lock Call::MutexLock.number(), (mutex: Object) unless unsafe {
        // SAFETY: the caller's object.
        mutex_taken(mutex)
    };
    pthread_mutex_timedlock Call::MutexTimedLock.number(), (mutex: Object, until: Time) unless unsafe {
        // SAFETY: as above.
        mutex_taken(mutex)
    };
    pthread_mutex_clocklock Call::MutexClockLock.number(), (mutex: Object, clock: clockid_t, until: Time);
    pthread_rwlock_rdlock Call::ReadLock.number(), (lock: Object) unless taken!(pthread_rwlock_tryrdlock(lock));
    pthread_rwlock_timedrdlock Call::ReadTimedLock.number(), (lock: Object, until: Time);
    pthread_rwlock_clockrdlock Call::ReadClockLock.number(), (lock: Object, clock: clockid_t, until: Time);
    pthread_rwlock_wrlock Call::WriteLock.number(), (lock: Object) unless taken!(pthread_rwlock_trywrlock(lock));
    pthread_rwlock_timedwrlock Call::WriteTimedLock.number(), (lock: Object, until: Time);
    pthread_rwlock_clockwrlock Call::WriteClockLock.number(), (lock: Object, clock: clockid_t, until: Time);
    pthread_spin_lock Call::SpinLock.number(), (lock: Object) unless taken!(pthread_spin_trylock(lock));
    pthread_cond_wait Call::ConditionWait.number(), (condition: Object, mutex: Object);
    pthread_cond_timedwait Call::ConditionTimedWait.number(), (condition: Object, mutex: Object, until: Time);
    pthread_cond_clockwait Call::ConditionClockWait.number(),
        (condition: Object, mutex: Object, clock: clockid_t, until: Time);
    pthread_barrier_wait Call::BarrierWait.number(), (barrier: Object);
    pthread_join Call::Join.number(), (thread: usize, result: Object);
    pthread_timedjoin_np Call::TimedJoin.number(), (thread: usize, result: Object, until: Time);
    pthread_clockjoin_np Call::ClockJoin.number(), (thread: usize, result: Object, clock: clockid_t, until: Time);
}

blocking! { c_int, libc::ENOSYS, held;
    clock_nanosleep sleep::NUMBER, (clock: clockid_t, flags: c_int, time: Time, rest: *mut timespec);
}

blocking! { c_int, missing(-1), waiting;
    sem_wait Call::SemaphoreWait.number(), (semaphore: Object) unless unsafe {
        // SAFETY: the caller's object.
        semaphore_taken(semaphore)
    };
    accept Call::Accept.number(), (socket: c_int, address: Object, length: Object);
    accept4 Call::Accept.number(), (socket: c_int, address: Object, length: Object, flags: c_int);
}

blocking! { c_int, missing(-1), held;
    sem_timedwait Call::SemaphoreTimedWait.number(), (semaphore: Object, until: Time);
    sem_clockwait Call::SemaphoreClockWait.number(), (semaphore: Object, clock: clockid_t, until: Time);
    poll of_files(Call::Poll, n != 0), (files: Object, n: usize, timeout_ms: c_int), if timeout_ms != 0;
    __poll_chk of_files(Call::Poll, n != 0), (files: Object, n: usize, timeout_ms: c_int, room: usize), if timeout_ms != 0;
    ppoll of_files(Call::PollSignals, n != 0), (files: Object, n: usize, timeout: Time, signals: Object);
    __ppoll_chk of_files(Call::PollSignals, n != 0), (files: Object, n: usize, timeout: Time, signals: Object, room: usize);
    select of_files(Call::Select, n != 0), (n: c_int, a: Object, b: Object, c: Object, timeout: *mut timeval), if {
        // SAFETY: the caller's pointer, which the real function reads, too.
        timeout.is_null() || unsafe { (*timeout).tv_sec != 0 || (*timeout).tv_usec != 0 }
    };
    pselect of_files(Call::SelectSignals, n != 0),
        (n: c_int, a: Object, b: Object, c: Object, timeout: Time, signals: Object);
    epoll_wait Call::EventWait.number(), (set: c_int, events: Object, n: c_int, timeout_ms: c_int),
        if timeout_ms != 0;
    epoll_pwait Call::EventWaitSignals.number(),
        (set: c_int, events: Object, n: c_int, timeout_ms: c_int, signals: Object), if timeout_ms != 0;
    usleep sleep::NUMBER, (microseconds: useconds_t);
    nanosleep sleep::NUMBER, (time: Time, rest: *mut timespec);
}

blocking! { c_uint, seconds, held;
    sleep sleep::NUMBER, (seconds: c_uint);
}
