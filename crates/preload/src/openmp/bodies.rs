//! Functions of libomp that begin what the runtime reports: where the program calls them, and which function is the body.
//!
//! Law: the program's call goes on to the runtime's function with all of its registers and its stack as they were, but for
//! those that every function may change. What the runtime does then, it reports to [`super::ompt`]: it does not say what the
//! body is, by which samples of other threads are known to be of the construct.

use super::RecordedUse;
use super::sites;
use crate::process::sampling;
use std::arch::naked_asm;
use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};

/// What the third argument of a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Third {
    /// The body of a parallel region.
    Body,
    /// A task, which begins with the address of its data and its body.
    Task,
    /// Nothing, or something else: the body is called by the program.
    Other,
}

thread_local! {
    /// Where the last call returns to, and the body that it has passed.
    static NOTED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// The body that was passed by the call which returns to `call`, if this thread is in it.
pub fn noted(call: usize) -> Option<usize> {
    let (of_call, body) = NOTED.replace((0, 0));
    Some(body).filter(|&body| of_call == call && body != 0)
}

/// A runtime without the function that the program calls.
extern "C" fn nothing() -> c_int {
    0
}

/// Takes note of a call whose return address is at a place of the stack; where it goes on.
unsafe fn note(
    name: &'static CStr,
    third: Third,
    place: *const usize,
    value: usize,
    base: usize,
) -> *const c_void {
    // SAFETY: the wrapper below passes where it was itself to return to.
    let call = unsafe { place.read() };
    let site = sites::site_of_call(name, call);
    if let Some(recorded) = RecordedUse::begin() {
        if third != Third::Task {
            sampling::at_entry(recorded.process, place.addr() as u64, base as u64);
        }
        let body = match third {
            Third::Body => value,
            // SAFETY: compilers write these two addresses at the beginning of each task before they pass it.
            Third::Task => unsafe { (value as *const usize).add(1).read() },
            Third::Other => 0,
        };
        NOTED.set((call, body));
    }
    site.map_or(nothing as *const c_void, |site| site.real.cast_const())
}

macro_rules! note {
    ($($name:ident $third:ident;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            extern "C" fn noted(place: *const usize, value: usize, base: usize) -> *const c_void {
                const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                };
                // SAFETY: what the code below passes.
                unsafe { super::note(NAME, super::Third::$third, place, value, base) }
            }
            // All registers that may hold arguments, and the number of those in vector registers, of which these functions
            // have none.
            naked_asm!(
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                "lea rdi, [rsp + 56]", "mov rsi, rdx", "mov rdx, rbp",
                "call {0}",
                "mov r11, rax",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp r11",
                sym noted
            )
        }
    )*};
}

mod wrappers {
    use super::{CStr, c_void, naked_asm};

    note! {
        __kmpc_fork_call Body;
        __kmpc_fork_call_if Body;
        __kmpc_serialized_parallel Other;
        __kmpc_omp_task Task;
        __kmpc_omp_task_with_deps Task;
        __kmpc_omp_task_begin_if0 Task;
    }
}
