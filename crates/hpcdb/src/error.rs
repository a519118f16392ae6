//! What ends the reading of a file, and what only costs a part of it.

use crate::header::Version;
use std::sync::Arc;
use std::{fmt, io};
use thiserror::Error;

/// Reading a file ended early.
#[derive(Debug, Error)]
pub struct ReadError {
    /// The file, as it was opened.
    pub file: Arc<str>,
    /// Byte of the file at which the broken structure begins.
    pub offset: u64,
    /// The broken rule.
    #[source]
    pub kind: ReadErrorKind,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadError { file, offset, kind } = self;
        match offset {
            0 => write!(f, "{file}: {kind}"),
            _ => write!(f, "{file}+{offset:#x}: {kind}"),
        }
    }
}

impl ReadError {
    /// An error that concerns a file as a whole.
    pub fn of_file(file: &str, kind: ReadErrorKind) -> Self {
        ReadError { file: file.into(), offset: 0, kind }
    }
}

/// The rule that a file broke.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The operating system could not read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The first bytes are those of something else.
    #[error("not a file of this kind: it must begin with {expected:?}")]
    Magic {
        /// What must be there.
        expected: String,
    },
    /// This reader does not know the major version.
    #[error("format version {found} is not known (only 4.x is)")]
    Version {
        /// The version found.
        found: Version,
    },
    /// The layout that development versions of HPCToolkit wrote early in 2022 under the number 4.0.
    #[error(
        "this is the pre-release 4.0 layout that development versions of HPCToolkit wrote early in 2022; run hpcprof \
         of a released HPCToolkit again on the measurements"
    )]
    PreRelease,
    /// A structure lies outside of the file.
    #[error("{what} of {n_bytes} bytes lies outside the file")]
    OutOfFile {
        /// Which structure.
        what: &'static str,
        /// Its size.
        n_bytes: u64,
    },
    /// A structure contradicts itself or the file.
    #[error("{0}")]
    Broken(String),
}

/// A part of a file that was lost; the rest is good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub file: Arc<str>,
    /// Byte of the file.
    pub offset: u64,
    /// What is wrong there, and what was lost.
    pub reason: String,
    /// How often.
    pub count: u64,
}
