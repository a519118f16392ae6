//! The files that Ouzel reads and writes.
//!
//! [`input`] opens what a user or a trace names: regular files only, so that a FIFO does not block and a device does
//! not fill the memory. [`Candidate`] looks at the beginning of files whose format is asked for. [`Inputs`] are the
//! files that a command reads, by which [`output`] keeps its hands off them;
//! an output is written beside its target and gets its name when it is complete. Until then it is [`unfinished`], and
//! goes away with an error or a signal. [`memory`] holds the process to the limit that its user set.
//! Not here: what the bytes mean.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod candidate;
mod ending;
pub mod folder;
pub mod input;
mod inputs;
pub mod memory;
pub mod output;
mod place;

pub mod unfinished;

pub use candidate::{Candidate, Kind, LOOK_BYTES, Places};
pub use inputs::Inputs;
