//! Where the program begins threads: each is sampled from its begin to its end. Those that MPI makes for itself are not
//! recorded: most of them wait for messages of its daemons all the time, and none has code of the program.

use crate::{depth, next, openmp, process};
use ouzel_recording::journal::Entry;
use std::ffi::{c_int, c_void};

type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What a new thread is to do.
struct ThreadStart {
    function: Start,
    argument: *mut c_void,
    owner: Owner,
}

/// For what a thread is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// By the program.
    Program,
    /// To wait in a runtime of OpenMP until it has work.
    Team,
    /// By a function of MPI, or a thread of it.
    Mpi,
}

impl Owner {
    /// That of a thread that this one creates.
    fn of_new() -> Self {
        if openmp::creates_thread() {
            Owner::Team
        } else if depth::is_inside() {
            Owner::Mpi
        } else {
            Owner::Program
        }
    }
}

extern "C-unwind" fn begin(start: *mut c_void) -> *mut c_void {
    // SAFETY: the box that `pthread_create` below has made for this thread.
    let ThreadStart { function, argument, owner } = *unsafe { Box::from_raw(start.cast::<ThreadStart>()) };
    if owner == Owner::Mpi {
        depth::hold();
        return function(argument);
    }
    super::begin_thread();
    if owner == Owner::Team {
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
    let owner = Owner::of_new();
    if !super::is_on() && owner != Owner::Mpi {
        let arguments = [thread.addr(), attributes.addr(), function as *const () as usize, argument.addr()];
        // SAFETY: the caller's arguments.
        return unsafe { next::invoke(real, &arguments) };
    }
    let start = Box::into_raw(Box::new(ThreadStart { function, argument, owner }));
    let arguments = [thread.addr(), attributes.addr(), begin as *const () as usize, start.addr()];
    // SAFETY: the caller's arguments, but for the function, which calls the caller's with its argument.
    let result = unsafe { next::invoke(real, &arguments) };
    if result != 0 {
        // SAFETY: no thread has begun that would take it.
        drop(unsafe { Box::from_raw(start) });
    } else if owner == Owner::Mpi
        && super::is_on()
        && let Some(process) = process::begun().filter(|process| process.is_this())
    {
        process.entry(&Entry::MpiThread);
    }
    result
}
