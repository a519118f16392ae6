//! What a format is to those who open one: how it is recognised, what it gives, and why it cannot be opened.

use ouzel_files::memory::LimitReached;
use ouzel_files::{Candidate, Inputs};
use ouzel_model::{Content, ProfileSource, ReadError, TraceSource};
use std::path::PathBuf;

/// A format that can be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each variant is the name of a format")]
pub enum Format {
    Otf2,
    HpcToolkit,
    Projections,
    Nsight,
    Rocpd,
    Chrome,
    Csv,
    Cube,
}

impl Format {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Otf2 => "OTF2",
            Format::HpcToolkit => "HPCToolkit",
            Format::Projections => "Projections",
            Format::Nsight => "Nsight Systems",
            Format::Rocpd => "rocpd",
            Format::Chrome => "Chrome trace",
            Format::Csv => "CSV",
            Format::Cube => "CUBE",
        }
    }
}

/// One format: how to recognise it, how to open it, what it gives.
#[derive(Debug)]
pub struct Reader {
    /// The format.
    pub format: Format,
    /// The tools that write it, for the table of formats.
    pub writers: &'static str,
    /// What of it is read, with a remark for the table of formats (may be empty).
    pub reads: &'static [(Content, &'static str)],
    /// Looks at the content of a file or directory, within the bounds of a [`Candidate`]. `Some` holds a few words on
    /// what was found, e.g. `OTF2 archive traces.otf2`. Never fails.
    pub recognise: fn(&Candidate) -> Option<String>,
    /// Opens what was recognised.
    pub open: fn(&Candidate) -> Result<Opened, OpenError>,
    /// Adds the files that are read of what was recognised, and names that would be.
    pub add_files: fn(&Candidate, &mut Inputs),
}

/// What one path gave; at least one of the two.
#[derive(Default)]
pub struct Opened {
    /// Events.
    pub trace: Option<Box<dyn TraceSource>>,
    /// Severities.
    pub profile: Option<Box<dyn ProfileSource>>,
}

impl Opened {
    /// Events only.
    pub fn trace(source: impl TraceSource + 'static) -> Self {
        Opened { trace: Some(Box::new(source)), profile: None }
    }

    /// Severities only.
    pub fn profile(source: impl ProfileSource + 'static) -> Self {
        Opened { trace: None, profile: Some(Box::new(source)) }
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Opened { trace, profile } = self;
        f.debug_struct("Opened")
            .field("trace", &trace.is_some())
            .field("profile", &profile.is_some())
            .finish()
    }
}

/// Why a path cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such file or directory.
    #[error("{0:?} does not exist")]
    NotFound(PathBuf),
    /// No format recognises it.
    #[error("{path:?} is not a trace or profile that ouzel can read: {reason}")]
    NotATrace {
        /// What was given.
        path: PathBuf,
        /// What was looked for.
        reason: String,
    },
    /// It is recognised, and not read on purpose; the reason tells the user what to do instead.
    #[error("{path:?}: {reason}")]
    Refused {
        /// What was given.
        path: PathBuf,
        /// What it is, and what to do.
        reason: String,
    },
    /// It is recognised, but holds a profile where a trace is needed, or the other way round.
    #[error("{path:?}: {reason}")]
    OtherKind {
        /// What was given.
        path: PathBuf,
        /// What it is.
        reason: String,
    },
    /// Its definitions take more memory than the limit allows.
    #[error("the definitions of {path:?} are too large: {reached}")]
    Memory {
        /// What was given.
        path: PathBuf,
        /// The limit.
        reached: LimitReached,
    },
    /// Several formats recognise it.
    #[error("{path:?} holds several traces; name one of them: {}", candidates.join(", "))]
    Ambiguous {
        /// What was given.
        path: PathBuf,
        /// What was found.
        candidates: Vec<String>,
    },
    /// It is recognised but cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The same, of an OTF2 archive.
    #[error(transparent)]
    Otf2(#[from] ouzel_otf2::ReadError),
}
