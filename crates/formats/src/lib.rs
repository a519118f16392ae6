//! Opens traces and profiles of every format as one model.
//!
//! One folder for each format: it turns the decoder's records into
//! [`Definitions`](ouzel_model::Definitions) and
//! [`ChunkBuffer`](ouzel_model::ChunkBuffer)s, and ends the format's quirks.
//! This crate does not interpret the events.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
// A number of a file becomes a length or an index: no cast cuts it unseen.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod chrome;
pub mod csv;
pub mod cube;
mod detect;
mod heads;
pub mod hpctoolkit;
mod naming;
pub mod nsight;
pub mod otf2;
mod position;
pub mod projections;
mod reader;
mod readers;
pub mod rocpd;
mod siblings;
mod unknown;

pub use detect::{Found, inputs, open, open_profile};
pub use ouzel_files::Candidate;
pub use reader::{Format, OpenError, Opened, Reader};
pub use readers::READERS;
