//! What interrupts a thread after each period of its processor time.
//!
//! The signal is one that is ignored by default, so one that comes late does no harm: not to a program that has just
//! replaced this one, nor to a thread whose handler is gone. It does not queue either.

use crate::process::errno;
use crate::process::perf::{DISABLED, EXCLUDE_KERNEL, PerfAttributes};
use ouzel_recording::journal::Entry;
use std::ptr;

/// The signal of samples.
pub const SIGNAL: i32 = libc::SIGURG;
/// What a POSIX timer of ours says.
const MARK: usize = 0x6f75_7a65;
const NS: u64 = 1_000_000_000;

/// A timer of one thread.
#[derive(Debug)]
pub enum ThreadTimer {
    /// A counter of the kernel, by its file.
    Perf(i32),
    /// A POSIX timer.
    Posix(libc::timer_t),
}

#[repr(C)]
struct Owner {
    kind: i32,
    id: i32,
}

const SOFTWARE: u32 = 1;
const TASK_CLOCK: u64 = 1;
const ENABLE: libc::Ioctl = 0x2400;
const DISABLE: libc::Ioctl = 0x2401;
const SET_SIGNAL: i32 = 10;
const SET_OWNER: i32 = 15;
const OWNER_THREAD: i32 = 0;

fn thread_id() -> i32 {
    // SAFETY: no arguments.
    i32::try_from(unsafe { libc::syscall(libc::SYS_gettid) }).unwrap_or(0)
}

impl ThreadTimer {
    /// Begins to interrupt this thread.
    ///
    /// # Errors
    /// The error number of what failed last.
    pub fn start(hz: u32) -> Result<Self, i32> {
        let period_ns = NS / u64::from(hz.max(1));
        Self::start_perf(period_ns, 0)
            .or_else(|_| Self::start_perf(period_ns, EXCLUDE_KERNEL))
            .or_else(|_| Self::start_posix(period_ns))
    }

    fn start_perf(period_ns: u64, flags: u64) -> Result<Self, i32> {
        let attributes = PerfAttributes {
            kind: SOFTWARE,
            config: TASK_CLOCK,
            period: period_ns,
            flags: flags | DISABLED,
            wakeup_events: 1,
            ..PerfAttributes::default()
        };
        let kept = attributes.open(-1)?;
        let timer = ThreadTimer::Perf(kept);
        let owner = Owner { kind: OWNER_THREAD, id: thread_id() };
        // SAFETY: an open file, and arguments as each command takes them.
        let is_set = unsafe {
            libc::fcntl(kept, SET_OWNER, &raw const owner) == 0
                && libc::fcntl(kept, SET_SIGNAL, SIGNAL) == 0
                && libc::fcntl(kept, libc::F_SETFL, libc::O_ASYNC) == 0
                && libc::ioctl(kept, ENABLE, 0) == 0
        };
        if is_set { Ok(timer) } else { Err(errno()) }
    }

    fn start_posix(period_ns: u64) -> Result<Self, i32> {
        // SAFETY: all zero is a valid event without a notification.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = SIGNAL;
        event.sigev_value = libc::sigval { sival_ptr: ptr::without_provenance_mut(MARK) };
        event.sigev_notify_thread_id = thread_id();
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: both point to locals of the right types.
        let made =
            unsafe { libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut event, &raw mut timer) };
        if made != 0 {
            return Err(errno());
        }
        let own = ThreadTimer::Posix(timer);
        let seconds = i64::try_from(period_ns / NS).unwrap_or(1);
        let period = libc::timespec { tv_sec: seconds, tv_nsec: i64::try_from(period_ns % NS).unwrap_or(0) };
        let periods = libc::itimerspec { it_interval: period, it_value: period };
        // SAFETY: the timer was made above; nothing is wanted back.
        if unsafe { libc::timer_settime(timer, 0, &raw const periods, ptr::null_mut()) } == 0 {
            Ok(own)
        } else {
            Err(errno())
        }
    }

    /// What the journal says of samples by such a timer.
    pub fn entry(&self, hz: u32) -> Entry {
        let source = match self {
            ThreadTimer::Perf(_) => "perf",
            ThreadTimer::Posix(_) => "timer",
        };
        Entry::Sampler { hz, source: source.to_owned() }
    }

    /// Whether a signal is of such a timer.
    pub fn is_ours(info: &libc::siginfo_t) -> bool {
        const FIRST_OF_FILES: i32 = 1;
        const LAST_OF_FILES: i32 = 6;
        match info.si_code {
            // SAFETY: signals of timers carry the value that they were made with.
            libc::SI_TIMER => (unsafe { info.si_value() }).sival_ptr.addr() == MARK,
            FIRST_OF_FILES..=LAST_OF_FILES => true,
            _ => false,
        }
    }

    /// Closes what the child of a fork has of its parent's timer, which goes on there: a command to the file would stop it
    /// in both. A POSIX timer is the parent's alone.
    pub fn forget(self) {
        if let ThreadTimer::Perf(file) = self {
            // SAFETY: the child's number of the file, which is not used again.
            unsafe { libc::syscall(libc::SYS_close, file) };
        }
        std::mem::forget(self);
    }
}

impl Drop for ThreadTimer {
    fn drop(&mut self) {
        // SAFETY: the file or timer is ours, and is not used again.
        unsafe {
            match *self {
                ThreadTimer::Perf(file) => {
                    libc::ioctl(file, DISABLE, 0);
                    libc::syscall(libc::SYS_close, file);
                }
                ThreadTimer::Posix(timer) => {
                    libc::timer_delete(timer);
                }
            }
        }
    }
}
