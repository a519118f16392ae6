//! Which format a path holds.
//!
//! Every format answers for itself, from the content and never from the name alone.
//! Where several match (a Score-P experiment holds a trace and a profile), the
//! question decides; where it does not, the error names the candidates.

use crate::readers::READERS;
use crate::unknown;
use ouzel_files::Inputs;
use ouzel_model::{Content, ProfileSource, ReadError, TraceSource};
use std::path::{Path, PathBuf};

/// A format that can be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each variant is the name of a format")]
pub enum Format {
    Otf2,
    HpcToolkit,
    Projections,
    Nsight,
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
            Format::Chrome => "Chrome trace",
            Format::Csv => "CSV",
            Format::Cube => "CUBE",
        }
    }
}

/// One format: how it is recognised, how it is opened, what comes out.
#[derive(Debug)]
pub struct Reader {
    /// The format.
    pub format: Format,
    /// Who writes it, for the table of formats.
    pub writers: &'static str,
    /// What of it is read, with a remark for the table of formats (may be empty).
    pub reads: &'static [(Content, &'static str)],
    /// Looks at the content of an existing file or directory. `Some` says in a few words what was found, e.g.
    /// `OTF2 archive traces.otf2`. Cheap: reads some kilobytes at most, never fails.
    pub recognise: fn(&Path) -> Option<String>,
    /// Opens what was recognised.
    pub open: fn(&Path) -> Result<Opened, OpenError>,
    /// Adds the files that are read of what was recognised, and names that would be.
    pub add_files: fn(&Path, &mut Inputs),
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
    #[error("{path:?} is no trace or profile that ouzel can read: {reason}")]
    NotATrace {
        /// What was given.
        path: PathBuf,
        /// What was looked for.
        reason: String,
    },
    /// It is recognised, and not read on purpose; the reason says what to do instead.
    #[error("{path:?}: {reason}")]
    Refused {
        /// What was given.
        path: PathBuf,
        /// What it is, and what to do.
        reason: String,
    },
    /// Several formats recognise it.
    #[error("{path:?} holds several traces; name one of them: {}", candidates.join(", "))]
    Ambiguous {
        /// What was given.
        path: PathBuf,
        /// What was found.
        candidates: Vec<String>,
    },
    /// It is recognised but nothing can be said from it.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The same, of an OTF2 archive.
    #[error(transparent)]
    Otf2(#[from] ouzel_otf2::ReadError),
}

/// Opens a trace: a directory, an anchor file, or the stem of one, of any format.
///
/// # Errors
/// If there is nothing, nothing that is recognised, or nothing that can be read.
pub fn open(path: &Path) -> Result<(Format, Box<dyn TraceSource>), OpenError> {
    let is_trace = |reader: &&Reader| reader.reads.iter().any(|(content, _)| *content != Content::Severities);
    let (format, opened) = open_as(path, is_trace)?;
    match opened.trace {
        Some(source) => Ok((format, source)),
        None => Err(OpenError::Refused {
            path: path.to_owned(),
            reason: format!(
                "this {} data is a profile, without events; ask `ouzel info` or `ouzel profile --metric`",
                format.as_str()
            ),
        }),
    }
}

/// Opens a profile: a file or a directory of any format that holds severities.
///
/// # Errors
/// If there is nothing, nothing that is recognised, or nothing that can be read.
pub fn open_profile(path: &Path) -> Result<(Format, Box<dyn ProfileSource>), OpenError> {
    let is_profile =
        |reader: &&Reader| reader.reads.iter().any(|(content, _)| *content == Content::Severities);
    let (format, opened) = open_as(path, is_profile)?;
    match opened.profile {
        Some(source) => Ok((format, source)),
        None => Err(OpenError::Refused {
            path: path.to_owned(),
            reason: format!("this {} data is a trace, without a profile", format.as_str()),
        }),
    }
}

/// The files of the trace and the profile that a path names, so that nothing is written over them.
pub fn inputs(path: &Path) -> Inputs {
    let mut inputs = Inputs::default();
    if !path.is_dir() {
        inputs.add_file(path);
    }
    for reader in READERS.iter().filter(|reader| (reader.recognise)(path).is_some()) {
        (reader.add_files)(path, &mut inputs);
    }
    // The stem of an archive is no file, and a damaged one may not be recognised.
    (crate::otf2::READER.add_files)(path, &mut inputs);
    inputs
}

/// Opens with the one reader that recognises the path; if several do, with the one among them that `suits`.
fn open_as(path: &Path, suits: impl Fn(&&Reader) -> bool) -> Result<(Format, Opened), OpenError> {
    let mut found: Vec<(&Reader, String)> =
        READERS.iter().filter_map(|&reader| Some((reader, (reader.recognise)(path)?))).collect();
    if found.iter().any(|(reader, _)| suits(reader)) {
        found.retain(|(reader, _)| suits(reader));
    }
    match &found[..] {
        [(reader, _)] => Ok((reader.format, (reader.open)(path)?)),
        [] => nothing_found(path),
        several => Err(OpenError::Ambiguous {
            path: path.to_owned(),
            candidates: several.iter().map(|(_, what)| what.clone()).collect(),
        }),
    }
}

/// A stem of an OTF2 archive names a trace and no file. OTF2 also says best what is wrong with an archive of its own.
fn nothing_found(path: &Path) -> Result<(Format, Opened), OpenError> {
    use ouzel_otf2::ReadErrorKind::{NoArchive, NotAnAnchor};
    match (crate::otf2::READER.open)(path) {
        Ok(opened) => Ok((Format::Otf2, opened)),
        Err(_) if !path.exists() => Err(OpenError::NotFound(path.to_owned())),
        Err(OpenError::Otf2(error)) if matches!(error.kind, NoArchive | NotAnAnchor) => {
            Err(OpenError::NotATrace { path: path.to_owned(), reason: unknown::describe(path) })
        }
        Err(error) => Err(error),
    }
}
