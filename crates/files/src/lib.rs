//! The files that Ouzel reads and writes.
//!
//! [`input`] opens what a user or a trace names: regular files only, so that a FIFO does not block and a device does
//! not fill the memory. [`Candidate`] reads the beginning of files to recognise their format. [`Inputs`] are the files
//! that a command reads, which [`output`] never overwrites; an output is written beside its target and gets its name
//! when it is complete. Until then it is [`unfinished`], and is removed by an error or a signal ([`ending`]). [`memory`] and
//! [`threads`] keep the process within its user's limits. This crate does not interpret the bytes.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
// A number of a file becomes a length or an index: no cast cuts it unseen.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod cache;
mod candidate;
pub mod ending;
pub mod folder;
pub mod input;
mod inputs;
pub mod memory;
pub mod output;
mod place;
pub mod threads;
pub mod unfinished;

pub use candidate::{Candidate, LOOK_BYTES, Places};
pub use input::Kind;
pub use inputs::Inputs;
