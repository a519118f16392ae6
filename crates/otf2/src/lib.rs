//! Reader and writer of the Open Trace Format 2, in pure Rust.
//!
//! OTF2 is what Score-P, EZTrace and others record of a parallel program: the
//! events of each thread (regions entered and left, messages, collectives,
//! I/O, metrics) and the definitions they refer to. This crate reads archives
//! without any C library, and is of use on its own.
//!
//! # Responsibilities
//! - [`Archive`]: finds the files, from a directory, an anchor or a bare name, and
//!   copes with missing and damaged ones; what is lost comes as a [`Notice`].
//! - [`Definitions`]: the global definitions by kind and id.
//! - [`LocalDefinitions`]: a location's id mapping ([`MappingTables`]) and clock
//!   correction ([`ClockOffsets`]), with the reference library's arithmetic.
//! - [`read::EventReader`]: the events of one location, or of one chunk, pushed to a
//!   [`read::EventSink`] or one at a time, in a window of constant size.
//! - [`records`], [`wire`]: every record of the format and its bytes, in both directions.
//!
//! # Limits
//! - SIONlib containers and zlib-compressed archives are refused.
//! - Records and fields of versions after 3.2 are skipped by their length and counted.
//! - Snapshots are counted, not interpreted; thumbnails have types and no reader.
//! - Events come as recorded: times uncorrected and references local. Applying
//!   [`ClockOffsets`] and [`MappingTables`] is the caller's decision.
//! - No threads; give each thread a reader of its own.
//!
//! # Example
//! ```no_run
//! use ouzel_otf2::Archive;
//!
//! let archive = Archive::open("traces.otf2".as_ref())?;
//! let (definitions, _notices) = archive.read_global_definitions();
//! for &location in archive.locations_on_disk() {
//!     let (local, _notices) = archive.read_local_definitions(location);
//!     let mut events = archive.events(location)?;
//!     while let Some(record) = events.next_record()? {
//!         let time = local.clock.global(record.time);
//!         if let Some(mut event) = record.event {
//!             event.map_refs(&local.mapping);
//!             println!("{location} {time} {event:?}");
//!         }
//!     }
//! }
//! # let _ = definitions;
//! # Ok::<(), ouzel_otf2::ReadError>(())
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]
// A number of a file becomes a length or an index: no cast cuts it unseen.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod anchor;
mod archive;
mod clock;
pub mod code_flow;
mod definitions;
mod error;
mod local_definitions;
pub mod mapping;
mod notice;
pub mod read;
pub mod records;
pub mod remark;
pub mod wire;
pub mod write;

pub use anchor::{ANCHOR_FORMAT, Anchor};
pub use archive::{Archive, paths_of};
pub use clock::ClockOffsets;
pub use definitions::Definitions;
pub use error::{ReadError, ReadErrorKind};
pub use local_definitions::LocalDefinitions;
pub use mapping::MappingTables;
pub use notice::{Notice, NoticeKind};

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
