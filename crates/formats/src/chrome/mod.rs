//! Traces in the Chrome trace event format as a [`TraceSource`]: PyTorch (Kineto), TensorFlow, JAX, rocprof,
//! Chromium, V8 profiles, and whatever else writes events with phases.
//!
//! ```text
//! file ──window──► event objects ──collect──► records of tracks, sorted runs, spilled beyond a budget
//!                                                │ layout: lanes for calls that overlap, flows bound to calls
//!                                                ▼
//!                                     locations ──reader──► enters, leaves, links, collectives
//! ```
//!
//! Each file is read by one thread, or by several if there are fewer files; what the files hold is put together in their
//! order (`draft`).
//!
//! Law: a file is parsed once, in a window; memory is bounded by the budget of `record`, the names and the side
//! tables of copies, collectives and flows, not by the size of the file. Times are integer nanoseconds.
//! Perfetto's binary format is not supported.

mod ahead;
mod align;
mod bits;
mod block;
mod collect;
mod define;
mod draft;
mod driven;
mod drivers;
mod event;
mod files;
mod flows;
mod json;
mod keys;
mod kinds;
mod laid;
mod lanes;
mod layout;
mod meaning;
mod names;
mod number;
mod parse;
mod place;
mod reader;
mod record;
mod resources;
mod samples;
mod scan;
mod syncs;
#[cfg(test)]
mod tests;
mod together;
#[cfg(test)]
mod together_tests;
mod track;
mod window;
pub mod write;

use crate::reader::{Format, OpenError, Opened, Reader};
use crate::siblings;
use ahead::Ahead;
use define::has_kind;
use draft::{FileRecords, TraceDraft};
use files::FileHead;
use ouzel_files::Candidate;
use ouzel_model::{
    ChunkReader, CommId, Content, Definitions, DeviceStep, LocationId, LocationKind, Notice, ReadError,
    ReadPlan, TraceSource,
};
use reader::ChromeLocation;
use record::Store;
use rustc_hash::FxHashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Chrome traces among the formats.
pub static READER: Reader = Reader {
    format: Format::Chrome,
    writers: "PyTorch (Kineto), TensorFlow, JAX, rocprof, Chromium, V8",
    reads: &[
        (Content::Calls, "overlapping ones in lanes"),
        (Content::Samples, "V8 profiles, stack frames"),
        (Content::Collectives, "with group and sizes where recorded"),
        (Content::Counters, ""),
        (Content::AcceleratorStreams, ""),
        (Content::Links, "launches, flows"),
    ],
    recognise,
    open,
    add_files: |candidate, inputs| match candidate.is_dir() {
        true => inputs.add_named(candidate.path(), "", files::ENDINGS),
        false => inputs.add_file(candidate.path()),
    },
};

fn recognise(candidate: &Candidate) -> Option<String> {
    let path = candidate.path();
    if candidate.is_dir() {
        let found = files::of_folder(candidate);
        return match &found[..] {
            [] => None,
            [(file, _)] => Some(format!("Chrome trace {}", file.display())),
            several => Some(format!("{} Chrome traces in {}", several.len(), path.display())),
        };
    }
    let what = match files::head(candidate, path)? {
        FileHead::Kineto => "PyTorch (Kineto) trace",
        FileHead::Trace => "Chrome trace",
        FileHead::CpuProfile => "V8 CPU profile",
    };
    Some(format!("{what} {}", path.display()))
}

fn open(candidate: &Candidate) -> Result<Opened, OpenError> {
    let path = candidate.path();
    if !candidate.is_dir() {
        return Ok(Opened::trace(ChromeSource::open(&[path.to_owned()])?));
    }
    let found = files::of_folder(candidate);
    let is_rank =
        |(file, head): &(PathBuf, FileHead)| *head == FileHead::Kineto || files::rank_in_name(file).is_some();
    if 1 < found.len() && !found.iter().all(is_rank) {
        let candidates = found.iter().map(|(file, _)| file.display().to_string()).collect();
        return Err(OpenError::Ambiguous { path: path.to_owned(), candidates });
    }
    let files: Vec<PathBuf> = found.into_iter().map(|(file, _)| file).collect();
    let mut source = ChromeSource::open(&files)?;
    source.notices.extend(siblings::left_out(candidate, &files));
    Ok(Opened::trace(source))
}

/// An opened trace of one file, or of one for each rank.
#[derive(Debug)]
pub struct ChromeSource {
    definitions: Definitions,
    notices: Vec<Notice>,
    store: Store,
    places: Vec<place::LocationPlan>,
    files: Vec<FileRecords>,
    /// The communicator of each process group.
    comms: Vec<CommId>,
    /// What calls do to streams, by their correlations.
    steps: FxHashMap<u64, DeviceStep>,
    /// The first file, for errors.
    file: Arc<str>,
}

impl ChromeSource {
    /// Reads the files of a trace, one for each rank if there are several.
    ///
    /// # Errors
    /// If one cannot be opened or holds no trace, or the temporary file cannot be written.
    pub fn open(files: &[PathBuf]) -> Result<Self, ReadError> {
        together::read(files).map(define::finish)
    }

    /// Reads the text of one file that is in memory.
    ///
    /// # Errors
    /// If it is not a trace, or the temporary file cannot be written.
    pub fn from_text(name: &str, text: Vec<u8>) -> Result<Self, ReadError> {
        Self::read_text(name, text, Ahead::default())
    }

    fn read_text(name: &str, text: Vec<u8>, ahead: Ahead) -> Result<Self, ReadError> {
        let window = window::Window::new(Arc::from(name), Box::new(std::io::Cursor::new(text)));
        let mut trace = TraceDraft::default();
        trace.add(parse::read(0, window, ahead, Store::of_many(1, Arc::default()))?);
        Ok(define::finish(trace))
    }

    fn io_error(&self, error: &std::io::Error) -> ReadError {
        let reason = format!("the temporary file of its events cannot be used: {error}");
        ReadError { file: self.file.clone(), offset: 0, record: 0, reason }
    }
}

impl TraceSource for ChromeSource {
    fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn location_bytes(&self, location: LocationId) -> u64 {
        self.store.track(self.places[location.index()].lane.records).len()
    }

    fn is_sampled(&self, location: LocationId) -> bool {
        self.places[location.index()].is_sampled
    }

    fn lacks(&self, content: Content) -> Option<String> {
        let definitions = &self.definitions;
        let lacks = |is_there: bool, why: &str| (!is_there).then(|| why.to_owned());
        match content {
            Content::Calls => None,
            Content::Samples => lacks(!definitions.sampled_contexts.is_empty(), "it holds no sampled stacks"),
            Content::Messages => Some("Chrome traces have flows between calls, but no messages".to_owned()),
            Content::Collectives => {
                lacks(!definitions.communicators.is_empty(), "it holds no collective operation")
            }
            Content::Threads | Content::Rma => Some("Chrome traces hold none".to_owned()),
            Content::Counters => lacks(!definitions.metrics.is_empty(), "it holds no counter"),
            Content::AcceleratorStreams => lacks(
                has_kind(definitions, LocationKind::AcceleratorStream),
                "it holds no device kernel or copy",
            ),
            Content::Links => lacks(self.has_links(), "it holds no flow and no kernel launch"),
            Content::Topologies => Some("Chrome traces hold none".to_owned()),
            Content::Severities => Some("it is a trace, not a profile".to_owned()),
        }
    }

    fn open(&self, location: LocationId, plan: &ReadPlan) -> Result<Box<dyn ChunkReader + '_>, ReadError> {
        Ok(Box::new(ChromeLocation::new(self, location.index(), plan)?))
    }
}

impl ChromeSource {
    fn has_links(&self) -> bool {
        let has_launches = |file: &FileRecords| !file.launches.is_empty() && !file.launched.is_empty();
        self.places.iter().any(|place| !place.lane.links.is_empty()) || self.files.iter().any(has_launches)
    }
}
