//! The files that Ouzel reads and writes.
//!
//! [`input`] opens what a user or a trace names: regular files only, so that a FIFO does not block and a device does
//! not fill the memory. [`Inputs`] are the files that a command reads, by which [`output`] keeps its hands off them;
//! an output is written beside its target and gets its name when it is complete. Until then it is [`unfinished`], and
//! goes away with an error or a signal. Not here: what the bytes mean.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod folder;
pub mod input;
mod inputs;
pub mod output;
mod place;
mod signals;
pub mod unfinished;

pub use inputs::Inputs;
