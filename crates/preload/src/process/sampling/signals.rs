//! The signal of samples, beside what the program does with the same signal.
//!
//! Law: the program sees its own handler in the place of ours, and that handler gets all signals that are not ours.

use super::timer::{SIGNAL, ThreadTimer};
use crate::next;
use crate::next::keeping_errno;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

type Action = *const libc::sigaction;
type Handler = extern "C-unwind" fn(c_int);
type HandlerWithInfo = extern "C-unwind" fn(c_int, *mut libc::siginfo_t, *mut c_void);

static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
static PROGRAMS_HANDLER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static PROGRAMS_FLAGS: AtomicI32 = AtomicI32::new(0);

/// Installs the handler. False if that cannot be.
pub fn install() -> bool {
    // SAFETY: all zero is a valid action.
    let mut own: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut programs: libc::sigaction = unsafe { std::mem::zeroed() };
    own.sa_sigaction = on_signal as *const () as usize;
    own.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | on_which_stack();
    // SAFETY: both point to locals.
    let result = unsafe { real_sigaction(SIGNAL, &raw const own, &raw mut programs) };
    if result == 0 {
        keep(&programs);
        IS_INSTALLED.store(true, Ordering::Release);
    }
    result == 0
}

/// The thread's own stack: a program's stack for signals may have 8 KiB, as in Rust, of which the kernel takes up to half,
/// and a walk of the stack needs more. Go is the exception: its threads run on stacks of a few KiB, and theirs for signals
/// are large.
fn on_which_stack() -> c_int {
    // SAFETY: the name ends with a zero byte.
    let of_go = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"crosscall2".as_ptr()) };
    if of_go.is_null() { 0 } else { libc::SA_ONSTACK }
}

fn keep(action: &libc::sigaction) {
    PROGRAMS_FLAGS.store(action.sa_flags, Ordering::Relaxed);
    PROGRAMS_HANDLER.store(action.sa_sigaction, Ordering::Release);
}

unsafe fn real_sigaction(signal: c_int, new: Action, old: *mut libc::sigaction) -> c_int {
    let function = next::symbol(c"sigaction");
    if function.is_null() {
        return -1;
    }
    // SAFETY: the caller's arguments.
    unsafe { next::invoke(function, &[signal as usize, new.addr(), old.addr()]) }
}

extern "C-unwind" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid description.
    if ThreadTimer::is_ours(unsafe { &*info }) {
        // SAFETY: the kernel's own context.
        keeping_errno(|| unsafe { super::take(context) });
        return;
    }
    let handler = PROGRAMS_HANDLER.load(Ordering::Acquire);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        return;
    }
    // SAFETY: the program has installed this function with these flags.
    unsafe {
        if PROGRAMS_FLAGS.load(Ordering::Relaxed) & libc::SA_SIGINFO == 0 {
            std::mem::transmute::<usize, Handler>(handler)(signal);
        } else {
            std::mem::transmute::<usize, HandlerWithInfo>(handler)(signal, info, context);
        }
    }
}

/// Calls `call` while this thread gets no signal of samples; one that comes meanwhile comes at the end.
pub fn held_back<R>(call: impl FnOnce() -> R) -> R {
    let is_programs = ![libc::SIG_DFL, libc::SIG_IGN].contains(&PROGRAMS_HANDLER.load(Ordering::Relaxed));
    if is_programs {
        return call();
    }
    // SAFETY: all zero is a valid set.
    let mut held: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: both point to locals.
    let is_held = unsafe {
        libc::sigaddset(&raw mut held, SIGNAL);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const held, &raw mut before) == 0
            && libc::sigismember(&raw const before, SIGNAL) == 0
    };
    let result = call();
    if is_held {
        // SAFETY: as above; nothing is wanted back.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const held, ptr::null_mut()) };
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: Action, old: *mut libc::sigaction) -> c_int {
    if signal != SIGNAL || !IS_INSTALLED.load(Ordering::Acquire) {
        // SAFETY: the caller's arguments.
        return unsafe { real_sigaction(signal, new, old) };
    }
    // SAFETY: both are null or point to actions, as the caller says.
    unsafe {
        let before = (PROGRAMS_HANDLER.load(Ordering::Relaxed), PROGRAMS_FLAGS.load(Ordering::Relaxed));
        if let Some(new) = new.as_ref() {
            keep(new);
        }
        if let Some(old) = old.as_mut() {
            *old = std::mem::zeroed();
            (old.sa_sigaction, old.sa_flags) = before;
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(number: c_int, handler: usize) -> usize {
    if number == SIGNAL && IS_INSTALLED.load(Ordering::Acquire) {
        PROGRAMS_FLAGS.store(libc::SA_RESTART, Ordering::Relaxed);
        return PROGRAMS_HANDLER.swap(handler, Ordering::AcqRel);
    }
    let function = next::symbol(c"signal");
    if function.is_null() {
        return libc::SIG_ERR;
    }
    // SAFETY: it is the C function of this name.
    unsafe {
        let function: unsafe extern "C" fn(c_int, usize) -> usize = std::mem::transmute(function);
        function(number, handler)
    }
}
