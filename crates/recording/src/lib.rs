//! What a recorded process writes, and how the pieces of a run become one archive.
//!
//! ```text
//! a process ──mpi, user──► events ──EventStream──► DIR/pieces/PIECE/N.evt ──┐
//!                    └──► what they refer to ──► DIR/pieces/PIECE/journal ──┴─finish──► DIR/traces.otf2
//! ```
//!
//! A piece is what one process leaves: a journal of text lines, an event file of OTF2 for each thread, a table that
//! says how much of each event file is valid, and the call paths that samples name. Law: everything in a piece is usable up to the last
//! event, whenever the process ends. Not here: symbols that a program calls, memory mappings, and anything else
//! that needs `unsafe`; the library that is preloaded has them.
#![forbid(unsafe_code)]

pub mod blocking;
pub mod counters;
pub mod elf;
pub mod finish;
pub mod io;
pub mod journal;
pub mod launch;
pub mod mpi;
pub mod open_regions;
pub mod openmp;
pub mod paths;
pub mod settings;
pub mod sleep;
pub mod slots;
pub mod stack;
pub mod stream;
pub mod window;
