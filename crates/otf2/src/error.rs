//! What ends the reading of a file: where, and which rule the bytes broke.
//!
//! What can be survived is not an error but a [`Notice`](crate::Notice).

use std::sync::Arc;
use std::{fmt, io};

use thiserror::Error;

use crate::wire::Fault;

/// Reading a file ended early; everything before `offset` is good.
#[derive(Debug, Error)]
pub struct ReadError {
    /// The file, as it was opened.
    pub file: Arc<str>,
    /// Byte of the file at which the broken record or field begins.
    pub offset: u64,
    /// Number of the record in the file, from 1; 0 for the file itself.
    pub record: u64,
    /// The broken rule.
    #[source]
    pub kind: ReadErrorKind,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadError { file, offset, record, kind } = self;
        match (offset, record) {
            (0, 0) => write!(f, "{file}: {kind}"),
            _ => write!(f, "{file}+{offset:#x} (record {record}): {kind}"),
        }
    }
}

impl ReadError {
    /// An error that concerns a file as a whole.
    #[cold]
    pub fn of_file(file: &str, kind: ReadErrorKind) -> Self {
        ReadError { file: file.into(), offset: 0, record: 0, kind }
    }
}

/// The rule that a file broke.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The operating system could not read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file ends inside a record.
    #[error("the file ends here, {needed} bytes short of a whole record")]
    Truncated {
        /// Bytes missing at the least.
        needed: u64,
    },
    /// The file ends between two records, without the closing record.
    #[error("the file ends without its closing record")]
    NoEnd,
    /// A field of a record is broken.
    #[error("record of id {id}: {fault}")]
    Field {
        /// The record's id.
        id: u8,
        /// What broke.
        fault: Fault,
    },
    /// A record is longer than the rest of its chunk.
    #[error("a record has {len} bytes, but only {left} are left in the chunk")]
    RecordPastChunk {
        /// Bytes the record claims.
        len: u64,
        /// Bytes left in the chunk.
        left: u64,
    },
    /// A chunk must begin here and does not.
    #[error("a chunk must begin here with byte 0x03, found {found:#04x}")]
    NoChunkHeader {
        /// The byte found.
        found: u8,
    },
    /// A chunk begins where none can.
    #[error("a chunk begins inside another")]
    EarlyChunkHeader,
    /// The byte-order byte is none of the two.
    #[error("byte order {found:#04x} is neither 0x42 (little) nor 0x23 (big)")]
    ByteOrder {
        /// The byte found.
        found: u8,
    },
    /// The file is no anchor.
    #[error("not an OTF2 anchor file")]
    NotAnAnchor,
    /// The anchor has a version this reader does not know.
    #[error("anchor format {found} is newer than the newest known (3)")]
    AnchorVersion {
        /// The version found.
        found: u8,
    },
    /// The archive lies in SIONlib containers.
    #[error(
        "the archive is stored in SIONlib containers, which only the SIONlib library reads; \
         unpack it on the machine that wrote it, or record with OTF2 substrate \"posix\" \
         (Score-P: unset SCOREP_TRACING_USE_SION)"
    )]
    Sion,
    /// The archive is compressed.
    #[error(
        "the archive is compressed with zlib, which no released OTF2 library reads either; \
         record without compression (Score-P: SCOREP_TRACING_COMPRESS=false)"
    )]
    Zlib,
    /// The substrate byte means nothing.
    #[error("file substrate {found} is none of 1 (POSIX), 2 (SIONlib), 3 (none)")]
    Substrate {
        /// The byte found.
        found: u8,
    },
    /// The compression byte means nothing.
    #[error("compression {found} is none of 1 (none), 2 (zlib)")]
    Compression {
        /// The byte found.
        found: u8,
    },
    /// A directory holds several archives.
    #[error("there are several archives here, name one of them: {}", names.join(", "))]
    SeveralArchives {
        /// The anchors' file names, sorted.
        names: Vec<String>,
    },
    /// Nothing of an archive is there.
    #[error(
        "there is no OTF2 archive here: neither an anchor (*.otf2), nor definitions (*.def), nor event files (*/*.evt)"
    )]
    NoArchive,
    /// The location has no file of this kind.
    #[error("location {location} has no such file")]
    NoSuchFile {
        /// The location's id.
        location: u64,
    },
}
