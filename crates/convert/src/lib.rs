//! A trace or a profile in another format: files that are complete or absent.
//!
//! ```text
//! Conversion (format, OUT) ──begin──► trace ──events, location by location──► writer ──► files get their names
//!                                     profile ──rows of severities──────────►
//! ```
//!
//! Law: where the output goes is checked before any work; an output that fails leaves what was there. The writers of
//! formats are in `ouzel_formats`, those of tables in `ouzel_export`; rules of output files in `ouzel_files`.
#![deny(missing_docs)]

mod chrome;
mod otf2;
mod severities;
mod tables;

use ouzel::engine::{Listed, PassError, Report, list};
use ouzel::model::{Borders, EventSink, Filter, Notice, Notices, SeverityError};
use ouzel::{Answer, AskError, Options, Profile, Trace};
use ouzel_answers::Written;
use ouzel_export::{CsvText, ExportError};
use ouzel_files::Inputs;
use ouzel_files::output::{Existing, OutputError, Target};
use std::error::Error;
use std::path::{Path, PathBuf};

/// A format that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// An OTF2 archive.
    Otf2,
    /// Tables as comma-separated values.
    Csv,
    /// Tables as Parquet.
    Parquet,
    /// JSON for Perfetto and `chrome://tracing`.
    Chrome,
    /// A CUBE profile.
    Cube,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The output must be a file.
    #[error("{0:?} is a directory; name a file, e.g. trace.json")]
    Directory(PathBuf),
    /// A profile has no events.
    #[error("a profile holds no events: write it as csv, parquet or cube")]
    NoEvents,
    /// Something is in the way.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Writing failed.
    #[error("cannot write {path:?}")]
    Write {
        /// The output.
        path: PathBuf,
        /// The reason.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Reading failed.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// Severities cannot be read.
    #[error(transparent)]
    Severities(#[from] SeverityError),
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] ExportError),
    /// An archive cannot be written.
    #[error(transparent)]
    Archive(#[from] ouzel::formats::otf2::model_archive::WriteError),
    /// A profile cannot be written.
    #[error(transparent)]
    Cube(#[from] ouzel::formats::cube::write::WriteError),
}

/// What is to be written, and where.
#[derive(Debug)]
pub struct Conversion {
    to: To,
    out: PathBuf,
    place: Place,
    csv_text: CsvText,
}

#[derive(Debug)]
enum Place {
    File(Target),
    Archive(otf2::Place),
    Folder(ouzel_files::folder::Folder),
}

impl Conversion {
    /// Checks where the output goes: see docs/convert.md for what is a file and what a folder.
    ///
    /// # Errors
    /// If it would replace an input, or anything else that `existing` keeps, or cannot be written.
    pub fn new(
        (to, out): (To, &Path),
        existing: Existing,
        inputs: &Inputs,
        csv_text: CsvText,
    ) -> Result<Self, ConvertError> {
        let file = || Target::file(out, existing, inputs).map(Place::File);
        let place = match to {
            To::Chrome if out.is_dir() => return Err(ConvertError::Directory(out.to_owned())),
            To::Chrome | To::Cube => file()?,
            To::Otf2 => Place::Archive(otf2::Place::new(out, existing, inputs)?),
            To::Csv | To::Parquet => tables::place((to, out), existing, inputs)?,
        };
        Ok(Conversion { to, out: out.to_owned(), place, csv_text })
    }

    /// The selection that is written. Readers of traces sum them up, and whole calls would give other sums than the
    /// range of time, so calls are cut to it. Tables are listings and keep calls whole unless asked otherwise.
    pub fn filter(&self, filter: &Filter) -> Filter {
        match self.to {
            To::Otf2 | To::Chrome => Filter { borders: Borders::Trim, ..filter.clone() },
            To::Csv | To::Parquet | To::Cube => filter.clone(),
        }
    }

    /// Writes what is selected of a trace; as CUBE, everything that can be counted in it.
    ///
    /// # Errors
    /// If reading or writing fails.
    pub fn trace(self, trace: &Trace, options: &Options<'_>) -> Result<Answer<Vec<Written>>, ConvertError> {
        let options = &Options { filter: self.filter(&options.filter), ..options.clone() };
        let (report, unsaid, files) = match self.place {
            Place::Archive(place) => otf2::write(trace, options, place)?,
            Place::File(target) if self.to == To::Chrome => chrome::write(trace, options, &target)?,
            Place::File(_) if self.to == To::Cube => {
                let answer = trace.severity_cube(options)?;
                let (files, more) = self.profile(&answer.output)?;
                let notices = merged(answer.notices.iter().cloned().chain(more));
                return Ok(Answer { notices, ..answer.map(|_| files) });
            }
            place => tables::write(
                trace,
                options,
                tables::Tables::begin((self.to, self.out), place, self.csv_text)?,
            )?,
        };
        let notices = merged(report.notices.iter().cloned().chain(unsaid));
        Ok(Answer { notices, ..Answer::new(files, report) })
    }

    /// Writes the severities of a profile. Gives what was written and what went wrong on the way.
    ///
    /// # Errors
    /// If the format holds events, or reading or writing fails.
    pub fn profile(self, profile: &Profile) -> Result<(Vec<Written>, Vec<Notice>), ConvertError> {
        let source = profile.source();
        match (self.to, self.place) {
            (To::Otf2 | To::Chrome, _) => Err(ConvertError::NoEvents),
            (To::Cube, Place::File(target)) => {
                let file = target.begin()?;
                let notices = ouzel::formats::cube::write::write(source, file.writer())?;
                // The rows that are reported are its call paths.
                let n_rows = source.definitions().call_tree.len() as u64;
                Ok((vec![Written::new(&self.out, n_rows, file.complete()?)], notices))
            }
            (_, place) => {
                severities::write(source, tables::Tables::begin((self.to, self.out), place, self.csv_text)?)
            }
        }
    }
}

/// What a pass read, what the output cannot hold, and the files.
type Outcome = (Report, Vec<Notice>, Vec<Written>);

/// Hands what is selected to `sink`, in the order of the trace.
fn listed<S: EventSink>(trace: &Trace, options: &Options<'_>, sink: S) -> Result<Listed<S>, ConvertError> {
    let locations = options.filter.resolve(trace.definitions()).locations;
    let listed = list(trace.source(), &options.filter, locations, sink, options.progress);
    let listed = listed.map_err(AskError::Pass)?;
    match options.progress {
        // The rest was not read: no file may get its name.
        Some(progress) if progress.is_cancelled() => Err(AskError::Pass(PassError::Cancelled).into()),
        _ => Ok(listed),
    }
}

fn failed(out: &Path, error: impl Error + Send + Sync + 'static) -> ConvertError {
    ConvertError::Write { path: out.to_owned(), source: Box::new(error) }
}

fn merged(all: impl IntoIterator<Item = Notice>) -> Vec<Notice> {
    let notices = Notices::default();
    notices.extend(all);
    notices.to_vec()
}
