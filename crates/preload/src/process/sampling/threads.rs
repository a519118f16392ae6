//! Where the program begins threads: each is sampled from its begin to its end.

use crate::{next, openmp};
use std::ffi::{c_int, c_void};

type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What a new thread is to do.
struct ThreadStart {
    function: Start,
    argument: *mut c_void,
    /// Whether it is to wait in a runtime of OpenMP until it has work.
    is_of_team: bool,
}

extern "C-unwind" fn begin(start: *mut c_void) -> *mut c_void {
    // SAFETY: the box that `pthread_create` below has made for this thread.
    let ThreadStart { function, argument, is_of_team } =
        *unsafe { Box::from_raw(start.cast::<ThreadStart>()) };
    super::begin_thread();
    if is_of_team {
        openmp::begin_idle();
    }
    function(argument)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    function: Start,
    argument: *mut c_void,
) -> c_int {
    let real = next::symbol(c"pthread_create");
    if real.is_null() {
        return libc::EAGAIN;
    }
    let is_of_team = openmp::creates_thread();
    if !super::is_on() {
        let arguments = [thread.addr(), attributes.addr(), function as *const () as usize, argument.addr()];
        // SAFETY: the caller's arguments.
        return unsafe { next::invoke(real, &arguments) };
    }
    let start = Box::into_raw(Box::new(ThreadStart { function, argument, is_of_team }));
    let arguments = [thread.addr(), attributes.addr(), begin as *const () as usize, start.addr()];
    // SAFETY: the caller's arguments, but for the function, which calls the caller's with its argument.
    let result = unsafe { next::invoke(real, &arguments) };
    if result != 0 {
        // SAFETY: no thread has begun that would take it.
        drop(unsafe { Box::from_raw(start) });
    }
    result
}
