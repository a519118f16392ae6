//! The wrappers of functions in which a thread sleeps. Samples of processor time show nothing of it, so that the time
//! would belong to whatever was sampled next.

use crate::io::{RecordedCall, real};
use crate::process::sampling;
use crate::system::keeping_errno;
use libc::{c_int, c_uint, clockid_t, timespec, useconds_t};
use ouzel_recording::sleep;

fn recorded<R>(real: impl FnOnce() -> R) -> R {
    let begin = || sampling::is_on().then(|| RecordedCall::of(sleep::NUMBER, true)).flatten();
    let _begun = keeping_errno(begin);
    real()
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    let Some(real) = real!(sleep(c_uint) -> c_uint) else { return seconds };
    // SAFETY: the caller's argument.
    recorded(|| unsafe { real(seconds) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn usleep(microseconds: useconds_t) -> c_int {
    let Some(real) = real!(usleep(useconds_t) -> c_int) else { return -1 };
    // SAFETY: the caller's argument.
    recorded(|| unsafe { real(microseconds) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn nanosleep(time: *const timespec, rest: *mut timespec) -> c_int {
    let Some(real) = real!(nanosleep(*const timespec, *mut timespec) -> c_int) else { return -1 };
    // SAFETY: the caller's arguments.
    recorded(|| unsafe { real(time, rest) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    rest: *mut timespec,
) -> c_int {
    let Some(real) = real!(clock_nanosleep(clockid_t, c_int, *const timespec, *mut timespec) -> c_int) else {
        return libc::ENOSYS;
    };
    // SAFETY: the caller's arguments.
    recorded(|| unsafe { real(clock, flags, time, rest) })
}
