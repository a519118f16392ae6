//! Which format a path holds.
//!
//! Every format recognises its own content, never by the name alone. Where several
//! match (a Score-P experiment holds a trace and a profile), what the caller needs
//! decides; where it does not, the error names the candidates.

use crate::reader::{Format, OpenError, Opened, Reader};
use crate::readers::READERS;
use crate::unknown;
use ouzel_files::{Candidate, Inputs, Kind, memory};
use ouzel_model::{Content, ProfileSource, TraceSource};
use std::path::Path;

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

    /// Whether a reader recognises it.
    pub fn is_recognised(&self) -> bool {
        !self.readers.is_empty()
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
