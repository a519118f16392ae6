//! The library that a recorded program is started with (`LD_PRELOAD`).
//!
//! ```text
//! the program ──MPI_Send──► wrapper ──► call (mpi/) ──► MPI's own MPI_Send
//!                              └──► events ──► this thread's mapped event file
//! ```
//! It replaces functions of MPI and some of C, passes every call on unchanged, and writes what happened into the
//! piece of its process. Law: what the program passes and gets is what it would be without this library; inside of
//! the recorder and of MPI nothing is recorded; without a directory in the environment nothing happens at all.
//!
//! This is the only crate that may hold `unsafe`: a program's arguments are raw pointers, and its memory is mapped.
//! What needs none of that is in `ouzel-recording`.
#![expect(unsafe_code, reason = "replaces C functions and maps files, see above")]

mod blocking;
mod clock;
mod depth;
mod io;
mod language;
mod mpi;
mod next;
#[cfg(target_arch = "x86_64")]
mod openmp;
mod process;
mod system;

/// Reads the environment when the library is loaded.
extern "C" fn begin() {
    process::load();
}

/// Ends the recording after the program's own destructors.
extern "C" fn end() {
    process::end("exit");
}

// SAFETY: the loader calls the functions in this section when the library is loaded, without arguments that they use.
#[unsafe(link_section = ".init_array")]
#[used]
static BEGIN: extern "C" fn() = begin;

// SAFETY: the loader calls the functions in this section when the process exits.
#[unsafe(link_section = ".fini_array")]
#[used]
static END: extern "C" fn() = end;
