//! What was lost, rebuilt or doubtful while reading, and could be survived.

use std::fmt;
use std::sync::Arc;

use crate::error::ReadError;
use crate::records::RefKind;

/// One remark on a file of the archive.
///
/// Notices are returned, never printed; the order is that in which they arose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The file, as it was opened.
    pub file: Arc<str>,
    /// Byte of the file that the remark is about; 0 for the file itself.
    pub offset: u64,
    /// The remark.
    pub kind: NoticeKind,
}

impl Notice {
    pub(crate) fn new(file: &str, offset: u64, kind: NoticeKind) -> Self {
        Notice { file: file.into(), offset, kind }
    }

    /// The remark that a file ends early, of which `n_kept` records (or events) were good.
    pub fn damaged(error: &ReadError, n_kept: u64) -> Self {
        let kind = NoticeKind::Damaged { error: error.kind.to_string(), n_kept };
        Notice { file: error.file.clone(), offset: error.offset, kind }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Notice { file, offset, kind } = self;
        if *offset == 0 { write!(f, "{file}: {kind}") } else { write!(f, "{file}+{offset:#x}: {kind}") }
    }
}

/// What a [`Notice`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeKind {
    /// There is no anchor, or a broken one; what it would say was taken from the other files.
    AnchorRebuilt {
        /// What is wrong with the anchor, empty if it is missing.
        error: String,
    },
    /// There is no global definition file; locations are known from file names alone.
    NoGlobalDefinitions,
    /// A location has no file of local definitions, and others have.
    NoLocalDefinitions {
        /// The location.
        location: u64,
    },
    /// The file could be read up to here only.
    Damaged {
        /// What is wrong there.
        error: String,
        /// Good records, or events, before it.
        n_kept: u64,
    },
    /// Several definitions share an id; the last is used.
    Duplicates {
        /// The table.
        kind: RefKind,
        /// Definitions whose id was taken already.
        n: u64,
        /// How many of them say something else than the one before.
        n_different: u64,
        /// The first such id.
        first: u64,
    },
    /// Definitions are referred to before they come.
    Late {
        /// The table.
        kind: RefKind,
        /// References to definitions further on.
        n: u64,
        /// The first such id.
        first: u64,
    },
    /// References to definitions that do not exist.
    Dangling {
        /// The table.
        kind: RefKind,
        /// How many.
        n: u64,
        /// The first such id.
        first: u64,
    },
    /// Records of a kind that this version does not know were skipped.
    UnknownRecords {
        /// The id in the file.
        id: u8,
        /// How many.
        n: u64,
    },
    /// Records have fields that this version does not know; those were skipped.
    LongerRecords {
        /// How many.
        n: u64,
        /// Bytes not read.
        n_bytes: u64,
    },
    /// The anchor claims another number of global definitions.
    DefinitionCount {
        /// The anchor's number.
        claimed: u64,
        /// The number found.
        found: u64,
    },
    /// Locations have files but no definition; one was made up from the file's name.
    UndefinedLocations {
        /// How many.
        n: u64,
        /// The first of them.
        first: u64,
    },
    /// The definition claims another number of events than the event file's headers.
    EventCount {
        /// The location.
        location: u64,
        /// The definition's number.
        claimed: u64,
        /// The headers' number.
        found: u64,
    },
    /// A location that is defined with events has no event file.
    NoEventFile {
        /// The location.
        location: u64,
        /// Events that its definition claims.
        claimed: u64,
    },
    /// A kind of ids is mapped twice; the last table is used.
    SecondMappingTable {
        /// The kind.
        kind: RefKind,
    },
    /// A mapping table is for a kind of ids that this version does not know.
    UnknownMappingTable {
        /// The type byte.
        mapping_type: u8,
    },
    /// Clock offsets were not later than those before, and left out.
    UnusableClockOffsets {
        /// How many.
        n: u64,
    },
}

impl fmt::Display for NoticeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use NoticeKind as K;
        match self {
            K::AnchorRebuilt { error } if error.is_empty() => f.write_str(
                "the anchor file is missing; chunk sizes and locations are taken from the other files",
            ),
            K::AnchorRebuilt { error } => {
                write!(f, "{error}; chunk sizes and locations are taken from the other files")
            }
            K::NoGlobalDefinitions => {
                f.write_str("no global definitions: names, regions and the clock are unknown")
            }
            K::NoLocalDefinitions { location } => write!(
                f,
                "location {location} has no local definitions: its ids and times are taken as recorded"
            ),
            K::Damaged { error, n_kept } => write!(f, "{error}; the {n_kept} records before that are kept"),
            K::Duplicates { kind, n, n_different, first } => write!(
                f,
                "definitions of {kind:?} that reuse an id: {n} ({n_different} with different contents; first: {first}); \
                 the last is used"
            ),
            K::Late { kind, n, first } => {
                write!(f, "references to {kind:?} come before its definition: {n} (first: {first})")
            }
            K::Dangling { kind, n, first } => {
                write!(f, "references to {kind:?} have no definition: {n} (first: {first})")
            }
            K::UnknownRecords { id, n } => write!(f, "records of unknown kind {id} were skipped: {n}"),
            K::LongerRecords { n, n_bytes } => {
                write!(f, "records have unknown fields after the known ones: {n} ({n_bytes} bytes)")
            }
            K::DefinitionCount { claimed, found } => {
                write!(f, "the anchor declares {claimed} global definitions, but there are {found}")
            }
            K::UndefinedLocations { n, first } => {
                write!(f, "locations have files but no definition: {n} (first: {first})")
            }
            K::EventCount { location, claimed, found } => write!(
                f,
                "the definition of location {location} declares {claimed} events, but its event file has {found}"
            ),
            K::NoEventFile { location, claimed } => {
                write!(f, "location {location} has no event file; its definition declares {claimed} events")
            }
            K::SecondMappingTable { kind } => write!(f, "a second mapping of {kind:?} ids; the last is used"),
            K::UnknownMappingTable { mapping_type } => {
                write!(f, "a mapping of unknown type {mapping_type} was skipped")
            }
            K::UnusableClockOffsets { n } => {
                write!(f, "clock offsets are not later than the one before and were left out: {n}")
            }
        }
    }
}
