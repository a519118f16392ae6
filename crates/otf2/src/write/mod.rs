//! Writing of archives.
//!
//! An [`ArchiveWriter`] owns the anchor and the global definitions, an
//! [`EventWriter`] and a [`LocalDefinitionWriter`] one file of one location
//! each. Every open writer holds one chunk in memory and no file handle, so a
//! program may keep thousands of locations open and fill them in turns or from
//! several threads.
//!
//! Law: an archive that [`ArchiveWriter::finish`] accepted is read by the
//! reference tools without a warning, if global ids of each kind count from
//! zero in the order written, each reference has its definition, and each
//! value of an enumeration its name. The anchor is written last, so a
//! directory without one is an archive that was never finished.
//! Compression, substrates other than plain files, and snapshots are not supported.
//!
//! ```
//! use ouzel_otf2::records::definition::{ClockProperties, Location, LocationGroup, Region, SystemTreeNode};
//! use ouzel_otf2::records::enums::{LocationGroupType, LocationType, Paradigm, RegionRole};
//! use ouzel_otf2::records::event::{Enter, Leave};
//! use ouzel_otf2::wire::UNDEFINED_U32;
//! use ouzel_otf2::write::{ArchiveWriter, WriteOptions};
//!
//! # let dir = std::env::temp_dir().join(format!("ouzel-otf2-doc-{}", std::process::id()));
//! let mut archive = ArchiveWriter::create(&dir, "traces", WriteOptions::default())?;
//!
//! let mut events = archive.events(7)?;
//! events.write(100, Enter { region: 0 })?;
//! events.write(250, Leave { region: 0 })?;
//! let n_events = events.finish()?.n_events;
//!
//! archive.define(ClockProperties {
//!     timer_resolution: 1_000_000_000,
//!     global_offset: 100,
//!     trace_length: 150,
//!     realtime_timestamp: u64::MAX,
//! })?;
//! let (none, main) = (archive.string("")?, archive.string("main")?);
//! let node = SystemTreeNode { id: 0, name: main, class_name: none, parent: UNDEFINED_U32 };
//! archive.define(node)?;
//! archive.define(LocationGroup {
//!     id: 0,
//!     name: main,
//!     location_group_type: LocationGroupType::Process,
//!     system_tree_parent: 0,
//!     creating_location_group: UNDEFINED_U32,
//! })?;
//! archive.define(Location {
//!     id: 7,
//!     name: main,
//!     location_type: LocationType::CpuThread,
//!     number_of_events: n_events,
//!     location_group: 0,
//! })?;
//! archive.define(Region {
//!     id: 0,
//!     name: main,
//!     description: none,
//!     region_type: 0,
//!     source_file: UNDEFINED_U32,
//!     begin_line_number: 0,
//!     end_line_number: 0,
//!     canonical_name: main,
//!     region_role: RegionRole::Function,
//!     paradigm: Paradigm::User,
//!     region_flags: 0,
//! })?;
//! archive.finish()?;
//! # assert!(dir.join("traces.otf2").is_file() && dir.join("traces/7.evt").is_file());
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod chunk_file;
mod error;
mod events;
mod ledger;
mod local_definitions;
mod options;

pub use archive::ArchiveWriter;
pub use error::{WriteError, WriteErrorKind};
pub use events::EventWriter;
pub use ledger::EventSummary;
pub use local_definitions::LocalDefinitionWriter;
pub use options::WriteOptions;
