//! Which format a path holds.
//!
//! Every format answers for itself, from the content and never from the name alone.

use crate::otf2::Otf2Source;
use ouzel_model::TraceSource;
use std::path::{Path, PathBuf};

/// A format that can be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Open Trace Format 2.
    Otf2,
}

impl Format {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Otf2 => "OTF2",
        }
    }
}

/// Why a path cannot be opened as a trace.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such file or directory.
    #[error("{0:?} does not exist")]
    NotFound(PathBuf),
    /// No format recognises it.
    #[error("{path:?} is not a trace that ouzel can read: {reason}")]
    NotATrace {
        /// What was given.
        path: PathBuf,
        /// What was looked for.
        reason: String,
    },
    /// It is recognised but nothing can be said from it.
    #[error(transparent)]
    Otf2(#[from] ouzel_otf2::ReadError),
}

/// Opens a trace: a directory, an anchor file, or the stem of one, of any format.
///
/// # Errors
/// If there is nothing, nothing that is recognised, or nothing that can be read.
pub fn open(path: &Path) -> Result<(Format, Box<dyn TraceSource>), OpenError> {
    let source = Otf2Source::open(path)?;
    Ok((Format::Otf2, Box::new(source)))
}
