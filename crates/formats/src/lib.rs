//! Opens traces of every format as one event model.
//!
//! One folder for each format: it turns the decoder's records into
//! [`Definitions`](ouzel_model::Definitions) and
//! [`ChunkBuffer`](ouzel_model::ChunkBuffer)s, and ends the format's quirks.
//! Not here: what the events mean.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod detect;
pub mod otf2;

pub use detect::{Format, OpenError, open};
