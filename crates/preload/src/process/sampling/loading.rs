//! Where the program loads and unloads code; see [`super::modules`].

use super::modules;
use crate::depth::Outermost;
use crate::next;
use crate::process;
use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

static REAL_DLOPEN: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static REAL_DLSYM: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Before a file is loaded. The address of the real function.
extern "C" fn before_dlopen() -> *mut c_void {
    let mut found = REAL_DLOPEN.load(Ordering::Relaxed);
    if found.is_null() {
        found = next::symbol(c"dlopen");
        REAL_DLOPEN.store(found, Ordering::Relaxed);
    }
    if super::is_on() {
        renew();
        // Last, since looking up symbols makes a new table, too.
        modules::expect_changes();
    }
    found
}

fn renew() {
    if let Some(_outermost) = Outermost::enter()
        && let Some(process) = process::begun().filter(|process| process.is_this())
    {
        modules::renew_if_outdated(|entry| process.entry(entry));
    }
}

/// Before a symbol is looked up, mostly in a file that was loaded just now. The address of the real function.
extern "C" fn before_dlsym() -> *mut c_void {
    if super::is_on() {
        renew();
    }
    let found = REAL_DLSYM.load(Ordering::Relaxed);
    if !found.is_null() {
        return found;
    }
    // Looking it up by itself would come back here.
    let versions = [c"GLIBC_2.34", c"GLIBC_2.2.5"];
    // SAFETY: both texts end with a zero byte.
    let look = |version: &CStr| unsafe { next::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
    let found = versions.into_iter().map(look).find(|found| !found.is_null());
    let found = found.unwrap_or(without_dlsym as *mut c_void);
    REAL_DLSYM.store(found, Ordering::Relaxed);
    found
}

/// In the place of a function that this system does not have.
extern "C" fn without_dlsym(_: *mut c_void, _: *const c_char) -> *mut c_void {
    ptr::null_mut()
}

/// The loader searches where its caller's file says, so the real function is jumped to and returns to the caller.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        before = sym before_dlopen,
    )
}

/// As [`dlopen`]: what comes after a file depends on who asks.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlsym(file: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        before = sym before_dlsym,
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dlclose(file: *mut c_void) -> c_int {
    let process = process::begun().filter(|process| super::is_on() && process.is_this());
    if let Some(process) = process {
        let _outermost = Outermost::enter();
        modules::begin_closing(|entry| process.entry(entry));
    }
    let function = next::symbol(c"dlclose");
    // SAFETY: the caller's argument.
    let result = if function.is_null() { -1 } else { unsafe { next::invoke(function, &[file.addr()]) } };
    if process.is_some() {
        modules::end_closing();
        renew();
    }
    result
}
