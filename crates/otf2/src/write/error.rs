//! Why an archive cannot be written: which file, and which rule is broken.

use std::io;
use std::path::Path;
use std::sync::Arc;

use thiserror::Error;

use crate::wire::EncodeError;

/// A record or an archive that cannot be written.
#[derive(Debug, Error)]
#[error("{}: {kind}", path.display())]
pub struct WriteError {
    path: Arc<Path>,
    #[source]
    kind: WriteErrorKind,
}

impl WriteError {
    #[cold]
    pub(super) fn new(path: &Arc<Path>, kind: impl Into<WriteErrorKind>) -> Self {
        WriteError { path: Arc::clone(path), kind: kind.into() }
    }

    /// The file that was to be written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What went wrong.
    pub fn kind(&self) -> &WriteErrorKind {
        &self.kind
    }
}

/// What went wrong while writing.
#[derive(Debug, Error)]
pub enum WriteErrorKind {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A record holds something that the format cannot say.
    #[error("{0}")]
    Encode(#[from] EncodeError),
    /// There is an archive of this name already, or some of its files.
    #[error("files of an archive of this name already exist")]
    Exists,
    /// The name of an archive cannot be used as a file name, or is empty.
    #[error("an archive cannot have the name {name:?}")]
    BadName {
        /// The name.
        name: String,
    },
    /// Chunks would be too small for records, or larger than memory can be.
    #[error("chunks of {bytes} bytes are too small: they need at least {min}")]
    ChunkBytes {
        /// Bytes asked for.
        bytes: u64,
        /// Bytes needed.
        min: u64,
    },
    /// An event is earlier than the one before it.
    #[error("timestamp {now} is before {before} of the same location")]
    TimeGoesBack {
        /// Ticks of the event before.
        before: u64,
        /// Ticks of the event.
        now: u64,
    },
    /// A record does not fit into one chunk.
    #[error("a record has {bytes} bytes, but a chunk holds only {max}")]
    RecordTooLarge {
        /// Bytes of the record with its time and attributes.
        bytes: usize,
        /// Bytes that an empty chunk has room for.
        max: usize,
    },
    /// A second writer was asked for the same file of a location.
    #[error("location {location} already has a writer")]
    WriterExists {
        /// The location.
        location: u64,
    },
    /// A writer was dropped instead of finished.
    #[error("the writer of location {location} was not finished")]
    Unfinished {
        /// The location.
        location: u64,
    },
    /// A location or the clock was defined twice.
    #[error("{what} is defined twice")]
    SecondDefinition {
        /// What was defined twice.
        what: String,
    },
    /// Events or local definitions of a location that has no global definition.
    #[error("location {location} has no definition")]
    UndefinedLocation {
        /// The location.
        location: u64,
    },
    /// A location's definition gives another number of events than there are.
    #[error("location {location} has {written} events, its definition says {defined}")]
    EventCount {
        /// The location.
        location: u64,
        /// Events according to the definition.
        defined: u64,
        /// Events written.
        written: u64,
    },
    /// There is no definition of the clock.
    #[error("the clock is not defined")]
    NoClock,
    /// The two clock offsets of a location are not in the order of time.
    #[error("the clock offset at {now} is not after the one at {before}")]
    ClockOffsetOrder {
        /// Ticks of the offset before.
        before: u64,
        /// Ticks of the offset.
        now: u64,
    },
    /// An event lies outside of the time range that the clock's definition gives.
    #[error("location {location} has events at {first}..={last}, the clock says {start}..={end}")]
    OutsideClock {
        /// The location.
        location: u64,
        /// Ticks of its first event.
        first: u64,
        /// Ticks of its last event.
        last: u64,
        /// First tick of the trace.
        start: u64,
        /// Last tick of the trace.
        end: u64,
    },
    /// References of this kind cannot be mapped.
    #[error("references to {kind} have no mapping table in the format")]
    NotMappable {
        /// The kind.
        kind: String,
    },
}
