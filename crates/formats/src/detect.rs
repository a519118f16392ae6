//! Which format a path holds.
//!
//! Every format recognises its own content, never by the name alone. Where several
//! match (a Score-P experiment holds a trace and a profile), what the caller needs
//! decides; where it does not, the error names the candidates.

use crate::readers::READERS;
use crate::unknown;
use ouzel_files::memory::{self, LimitReached};
use ouzel_files::{Candidate, Inputs, Kind};
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

impl Reader {
    fn gives(&self, wanted: Wanted) -> bool {
        self.reads.iter().any(|(content, _)| (*content == Content::Severities) == (wanted == Wanted::Profile))
    }
}

/// What the caller needs from a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Trace,
    Profile,
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

/// Opens a trace: a directory, an anchor file, or the stem of one, of any format.
///
/// # Errors
/// If there is nothing, nothing that is recognised, or nothing that can be read.
pub fn open(path: &Path) -> Result<(Format, Box<dyn TraceSource>), OpenError> {
    Found::at(path).trace()
}

/// Opens a profile: a file or a directory of any format that holds severities.
///
/// # Errors
/// If there is nothing, nothing that is recognised, or nothing that can be read.
pub fn open_profile(path: &Path) -> Result<(Format, Box<dyn ProfileSource>), OpenError> {
    Found::at(path).profile()
}

/// The files of the trace and the profile that a path names, so that nothing is written over them.
pub fn inputs(path: &Path) -> Inputs {
    Found::at(path).inputs()
}

/// What a path holds, recognised once, for callers that need a trace and a profile from it.
#[derive(Debug)]
pub struct Found {
    candidate: Candidate,
    /// The readers that recognise it, each with what it found.
    readers: Vec<(&'static Reader, String)>,
    /// What was opened and is not taken yet.
    opened: Vec<(Format, Opened)>,
}

impl Found {
    /// Looks at `path`; nothing is opened yet.
    pub fn at(path: &Path) -> Self {
        let candidate = Candidate::at(path);
        let readers =
            READERS.iter().filter_map(|&reader| Some((reader, (reader.recognise)(&candidate)?))).collect();
        Found { candidate, readers, opened: Vec::new() }
    }

    /// The files of the trace and the profile, so that nothing is written over them.
    pub fn inputs(&self) -> Inputs {
        let mut inputs = Inputs::default();
        if !self.candidate.is_dir() {
            inputs.add_file(self.path());
        }
        for (reader, _) in &self.readers {
            (reader.add_files)(&self.candidate, &mut inputs);
        }
        // The stem of an archive is no file, and a damaged one may not be recognised.
        (crate::otf2::READER.add_files)(&self.candidate, &mut inputs);
        inputs
    }

    /// The path.
    pub fn path(&self) -> &Path {
        self.candidate.path()
    }

    /// Opens the trace.
    ///
    /// # Errors
    /// If there is none, or none that can be read.
    pub fn trace(&mut self) -> Result<(Format, Box<dyn TraceSource>), OpenError> {
        let (format, mut opened) = self.open_as(Wanted::Trace)?;
        let source = opened.trace.take();
        self.keep(format, opened);
        source.map(|source| (format, source)).ok_or_else(|| self.other_kind(format, Wanted::Profile))
    }

    /// Opens the profile.
    ///
    /// # Errors
    /// If there is none, or none that can be read.
    pub fn profile(&mut self) -> Result<(Format, Box<dyn ProfileSource>), OpenError> {
        let (format, mut opened) = self.open_as(Wanted::Profile)?;
        let source = opened.profile.take();
        self.keep(format, opened);
        source.map(|source| (format, source)).ok_or_else(|| self.other_kind(format, Wanted::Trace))
    }

    /// The rest of what was opened may be needed next.
    fn keep(&mut self, format: Format, rest: Opened) {
        if rest.trace.is_some() || rest.profile.is_some() {
            self.opened.push((format, rest));
        }
    }

    /// Opens with the one reader that recognises the path; if several do, with the one among them that gives what is
    /// wanted.
    fn open_as(&mut self, wanted: Wanted) -> Result<(Format, Opened), OpenError> {
        let suits = |(reader, _): &&(&'static Reader, String)| reader.gives(wanted);
        let mut found: Vec<&(&'static Reader, String)> = self.readers.iter().filter(suits).collect();
        let is_other_kind = found.is_empty();
        if is_other_kind {
            found = self.readers.iter().collect();
        }
        match &found[..] {
            [(reader, _)] if is_other_kind => Err(self.other_kind(
                reader.format,
                if wanted == Wanted::Trace { Wanted::Profile } else { Wanted::Trace },
            )),
            [(reader, _)] => {
                let format = reader.format;
                let is_it = |(opened, rest): &(Format, Opened)| {
                    let is_there =
                        if wanted == Wanted::Trace { rest.trace.is_some() } else { rest.profile.is_some() };
                    *opened == format && is_there
                };
                match self.opened.iter().position(is_it) {
                    Some(place) => Ok(self.opened.swap_remove(place)),
                    None => {
                        let opened = (reader.open)(&self.candidate)?;
                        memory::check()
                            .map_err(|reached| OpenError::Memory { path: self.path().to_owned(), reached })?;
                        Ok((format, opened))
                    }
                }
            }
            [] => nothing_found(&self.candidate),
            several => Err(OpenError::Ambiguous {
                path: self.path().to_owned(),
                candidates: several.iter().map(|(_, what)| what.clone()).collect(),
            }),
        }
    }

    /// The error for a path that holds something other than what is needed.
    fn other_kind(&self, format: Format, holds: Wanted) -> OpenError {
        let what = match holds {
            Wanted::Profile => "a profile without events; use `ouzel info` or `ouzel profile --metric`",
            Wanted::Trace => "a trace without a profile",
        };
        let reason = format!("this {} data is {what}", format.as_str());
        OpenError::OtherKind { path: self.path().to_owned(), reason }
    }
}

/// A stem of an OTF2 archive names a trace and no file. The OTF2 reader also explains its own damaged archives best.
fn nothing_found(candidate: &Candidate) -> Result<(Format, Opened), OpenError> {
    use ouzel_otf2::ReadErrorKind::{NoArchive, NotAnAnchor};
    let path = candidate.path();
    if let Kind::Special(_) = candidate.kind() {
        return Err(OpenError::NotATrace { path: path.to_owned(), reason: unknown::describe(candidate) });
    }
    match (crate::otf2::READER.open)(candidate) {
        Ok(opened) => Ok((Format::Otf2, opened)),
        Err(_) if !path.exists() => Err(OpenError::NotFound(path.to_owned())),
        Err(OpenError::Otf2(error)) if matches!(error.kind, NoArchive | NotAnAnchor) => {
            Err(OpenError::NotATrace { path: path.to_owned(), reason: unknown::describe(candidate) })
        }
        Err(error) => Err(error),
    }
}
