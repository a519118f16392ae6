//! Functions of C that end a process, or tell how one has ended.
//!
//! Launchers learn by `waitpid` that a rank was killed, which the rank itself cannot write down.

use crate::blocking;
use crate::clock;
use crate::next::{Next, keeping_errno};
use crate::process::{self, sampling};
use ouzel_recording::blocking::BlockingCall;
use ouzel_recording::journal::Entry;
use std::ffi::{c_char, c_int};

/// Writes down that a child was killed.
fn note(pid: c_int, status: c_int) {
    if pid <= 0 || !libc::WIFSIGNALED(status) || !process::is_on() {
        return;
    }
    let signal = u32::try_from(libc::WTERMSIG(status)).unwrap_or(0);
    note_signal(pid, signal);
}

fn note_signal(pid: c_int, signal: u32) {
    let Some(path) = process::deaths_file() else { return };
    let pid = u32::try_from(pid).unwrap_or(0);
    // Without a folder of pieces nothing was recorded that the child could belong to.
    process::append(&path, &Entry::ChildKilled { time_ns: clock::now_ns(), pid, signal });
}

/// Writes down that another process was sent a signal that ends it, unless it handles that.
fn note_sent(pid: c_int, signal: c_int) {
    let (Ok(to), Ok(signal)) = (u32::try_from(pid), u32::try_from(signal)) else { return };
    if to == 0 || to == std::process::id() || !process::is_on() {
        return;
    }
    let Some(path) = process::deaths_file() else { return };
    process::append(&path, &Entry::SignalSent { time_ns: clock::now_ns(), pid: to, signal });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn kill(pid: c_int, signal: c_int) -> c_int {
    static NEXT: Next = Next::new(c"kill");
    // SAFETY: the caller's arguments.
    let result = unsafe { NEXT.call(&[pid as usize, signal as usize]) };
    if result == 0 && matches!(signal, libc::SIGHUP | libc::SIGINT | libc::SIGTERM | libc::SIGKILL) {
        keeping_errno(|| note_sent(pid, signal));
    }
    result
}

/// Waits for a child in `real`, unless the options say that it only asks.
fn waiting(options: c_int, real: impl FnOnce() -> c_int) -> c_int {
    match options & libc::WNOHANG {
        0 => blocking::waiting(BlockingCall::ChildWait.number(), real),
        _ => real(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int {
    // SAFETY: the caller's arguments, but for the status, which may be null.
    unsafe { wait4(pid, status, options, std::ptr::null_mut()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait(status: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { wait4(-1, status, 0, std::ptr::null_mut()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait3(status: *mut c_int, options: c_int, usage: *mut libc::rusage) -> c_int {
    // SAFETY: as above.
    unsafe { wait4(-1, status, options, usage) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait4(
    pid: c_int,
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> c_int {
    static NEXT: Next = Next::new(c"wait4");
    let mut own = 0;
    let target = if status.is_null() { &raw mut own } else { status };
    // SAFETY: the caller's arguments; the status is the caller's or our own.
    let real = || unsafe { NEXT.call(&[pid as usize, target.addr(), options as usize, usage.addr()]) };
    let ended = waiting(options, real);
    // SAFETY: as above.
    let status = unsafe { *target };
    if 0 < ended {
        keeping_errno(|| note(ended, status));
    }
    ended
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitid(kind: c_int, id: c_int, info: *mut libc::siginfo_t, options: c_int) -> c_int {
    static NEXT: Next = Next::new(c"waitid");
    // SAFETY: the caller's arguments.
    let real = || unsafe { NEXT.call(&[kind as usize, id as usize, info.addr(), options as usize]) };
    let result = waiting(options, real);
    if result == 0 && !info.is_null() && options & libc::WNOWAIT == 0 {
        // SAFETY: the call has filled it in.
        let (code, pid, status) = unsafe { ((*info).si_code, (*info).si_pid(), (*info).si_status()) };
        if (code == libc::CLD_KILLED || code == libc::CLD_DUMPED) && 0 < pid && process::is_on() {
            keeping_errno(|| note_signal(pid, u32::try_from(status).unwrap_or(0)));
        }
    }
    result
}

/// Ends the process at once, in whatever way has this name.
unsafe fn end_by(next: &Next, how: &str, code: usize) -> ! {
    process::end(how);
    // SAFETY: these functions take the exit code or nothing, and do not return.
    unsafe {
        next.call(&[code]);
        libc::syscall(libc::SYS_exit_group, code);
    }
    loop {
        std::hint::spin_loop();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(code: c_int) -> ! {
    static NEXT: Next = Next::new(c"_exit");
    // SAFETY: the caller's argument.
    unsafe { end_by(&NEXT, "_exit", code as usize) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _Exit(code: c_int) -> ! {
    static NEXT: Next = Next::new(c"_Exit");
    // SAFETY: the caller's argument.
    unsafe { end_by(&NEXT, "_exit", code as usize) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn quick_exit(code: c_int) -> ! {
    static NEXT: Next = Next::new(c"quick_exit");
    // SAFETY: the caller's argument.
    unsafe { end_by(&NEXT, "_exit", code as usize) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn abort() -> ! {
    static NEXT: Next = Next::new(c"abort");
    // SAFETY: it takes no argument.
    unsafe { end_by(&NEXT, "abort", 0) }
}

/// Replaces the program by another one; if that fails, it goes on and is recorded as before.
unsafe fn replace_by(next: &Next, arguments: &[usize]) -> c_int {
    process::end("exec");
    // SAFETY: the caller's arguments.
    let result = unsafe { next.call(arguments) };
    keeping_errno(sampling::begin_thread);
    result
}

type Texts = *const *const c_char;

#[unsafe(no_mangle)]
unsafe extern "C" fn execve(path: *const c_char, arguments: Texts, environment: Texts) -> c_int {
    static NEXT: Next = Next::new(c"execve");
    // SAFETY: the caller's arguments.
    unsafe { replace_by(&NEXT, &[path.addr(), arguments.addr(), environment.addr()]) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, arguments: Texts) -> c_int {
    static NEXT: Next = Next::new(c"execv");
    // SAFETY: the caller's arguments.
    unsafe { replace_by(&NEXT, &[path.addr(), arguments.addr()]) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(file: *const c_char, arguments: Texts) -> c_int {
    static NEXT: Next = Next::new(c"execvp");
    // SAFETY: the caller's arguments.
    unsafe { replace_by(&NEXT, &[file.addr(), arguments.addr()]) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(file: *const c_char, arguments: Texts, environment: Texts) -> c_int {
    static NEXT: Next = Next::new(c"execvpe");
    // SAFETY: the caller's arguments.
    unsafe { replace_by(&NEXT, &[file.addr(), arguments.addr(), environment.addr()]) }
}
