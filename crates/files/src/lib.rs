//! The files that Ouzel reads and writes.
//!
//! [`input`] opens what a user or a trace names: regular files only, so that a FIFO does not block and a device does
//! not fill the memory. Not here: what the bytes mean.

pub mod input;
