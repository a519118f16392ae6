//! Sampled traces as a [`TraceSource`], whatever files they come from.

use super::contexts::ContextIds;
use super::identity::has_streams;
use super::lines::LineReader;
use super::read_error;
use ouzel_files::input::SharedFile;
use ouzel_hpcdb::{Line, Lines};
use ouzel_model::{
    ChunkReader, Content, Definitions, InterruptGeneratorId, LocationId, LocationKind, Needs, Notice,
    ReadError, ReadPlan, Ticks, TimeRange, TraceSource,
};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// An opened trace of samples.
#[derive(Debug)]
pub struct SampledTrace {
    pub(super) definitions: Definitions,
    pub(super) notices: Vec<Notice>,
    /// Where the samples of each location lie.
    pub(super) lines: Vec<LineFile>,
    /// Whether there is a profile, too.
    pub(super) has_profile: bool,
}

/// The samples of one location in their file.
#[derive(Debug, Clone)]
pub(super) struct LineFile {
    /// The file.
    pub file: Arc<SampleFile>,
    /// The samples in it.
    pub line: Line,
    /// What the context numbers mean there.
    pub ids: Arc<ContextIds>,
}

/// A file with the samples of one location, or of all.
#[derive(Debug)]
pub(super) struct SampleFile {
    pub path: PathBuf,
    /// Its path, for messages.
    pub name: Arc<str>,
    /// The open file, if it has all locations: there may be too many of the others to keep them open.
    opened: Option<SharedFile>,
}

impl SampleFile {
    /// A file with one location.
    pub fn of_one(path: PathBuf) -> Self {
        SampleFile { name: Arc::from(path.display().to_string()), path, opened: None }
    }

    /// A file with all locations.
    pub fn of_all(path: PathBuf) -> Self {
        let opened = ouzel_files::input::open(&path).ok().map(SharedFile::new);
        SampleFile { opened, ..SampleFile::of_one(path) }
    }

    fn open(&self) -> io::Result<SharedFile> {
        match &self.opened {
            Some(file) => Ok(file.clone()),
            None => ouzel_files::input::open(&self.path).map(SharedFile::new),
        }
    }
}

impl LineFile {
    /// Begins to read it.
    pub fn open(&self) -> Result<Lines<SharedFile>, ReadError> {
        let name = &self.file.name;
        let file = self.file.open().map_err(|error| ReadError {
            file: Arc::clone(name),
            offset: 0,
            record: 0,
            reason: format!("cannot be read: {error}"),
        })?;
        Lines::new(Arc::clone(name), file, self.line).map_err(|error| read_error(&error))
    }
}

impl TraceSource for SampledTrace {
    fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn location_bytes(&self, location: LocationId) -> u64 {
        self.lines[location.index()].line.n_bytes()
    }

    fn is_sampled(&self, _: LocationId) -> bool {
        true
    }

    fn lacks(&self, content: Content) -> Option<String> {
        let reason = match content {
            Content::Calls | Content::Samples => return None,
            Content::Messages => "HPCToolkit samples call paths and records no messages",
            Content::Collectives => "HPCToolkit samples call paths and records no collective operations",
            Content::Threads => {
                "HPCToolkit samples call paths and records neither teams of threads nor locks"
            }
            Content::Rma => "HPCToolkit samples call paths and records no one-sided communication",
            Content::Counters => "HPCToolkit sums counters in its profile and records none over time",
            Content::Links => "HPCToolkit records the call path that launched a kernel, not the call",
            Content::Topologies => "HPCToolkit records no topologies",
            Content::AcceleratorStreams if has_streams(&self.definitions) => return None,
            Content::AcceleratorStreams => "this database has no stream traces",
            Content::Severities if self.has_profile => return None,
            Content::Severities => "this database has no profile",
        };
        Some(reason.to_owned())
    }

    fn open(&self, location: LocationId, plan: &ReadPlan) -> Result<Box<dyn ChunkReader + '_>, ReadError> {
        let of_location = &self.lines[location.index()];
        let mut lines = of_location.open()?;
        let clock = &self.definitions.clock;
        if let Some(TimeRange { start: Ticks(start), end: Ticks(end) }) = plan.time_range {
            let absolute = |ticks: u64| ticks.saturating_add(clock.offset_ticks);
            lines.restrict(absolute(start), absolute(end)).map_err(|error| read_error(&error))?;
        }
        let is_thread = self.definitions.location(location).kind == LocationKind::CpuThread;
        let generator = is_thread && !self.definitions.interrupt_generators.is_empty();
        Ok(Box::new(LineReader::new(
            lines,
            &of_location.ids,
            location,
            &self.definitions,
            generator.then_some(InterruptGeneratorId(0)),
            plan.needs.contains(Needs::SAMPLES),
        )))
    }
}
