//! Reader of HPCToolkit's databases and measurements, in pure Rust.
//!
//! HPCToolkit interrupts a program now and then and records the call path it finds. Its
//! database (format 4) is a directory of little-endian files: `meta.db` holds the tree of
//! call paths with loops and lines ([`Meta`]), `profile.db` the sums for each thread
//! ([`ProfileDb`]), `cct.db` the same sums by call path ([`CctDb`]), and `trace.db` the
//! samples over time ([`TraceDb`]). Here bytes become records; nothing is interpreted.
//!
//! Before format 4 a database was `experiment.xml` with the traces beside it ([`experiment`]),
//! and what `hpcrun` measures are big-endian files for each thread ([`measurement`]).
//!
//! Law: every pointer is checked before it is followed, no walk is longer than the file,
//! and memory stays a constant factor of what is in the file. What is broken is an error
//! ([`ReadError`]) with file and offset, or a [`Damage`] where the rest is still good.
//! There are no threads, event model or HPCToolkit tools here.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
// A number of a file becomes a length or an index: no cast cuts it unseen.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod bytes;
mod cct;
mod contexts;
mod error;
pub mod experiment;
mod header;
pub mod measurement;
mod meta;
mod metrics;
mod profile;
mod source;
mod texts;
mod trace;

pub use cct::{CctDb, CctValue};
pub use contexts::{Context, LexicalType, Relation};
pub use error::{Damage, ReadError, ReadErrorKind};
pub use header::{FileKind, Version, recognise};
pub use meta::{Function, Meta};
pub use metrics::{Combine, Metric, ScopeType, Summary, ValueScope};
pub use profile::{IdPart, Profile, ProfileDb, ProfileValue};
pub use trace::{Line, Lines, SampleLayout, TimeField, TraceDb, TraceSample};

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
