//! OTF2 archives as a [`TraceSource`].
//!
//! Definitions are resolved once, when the archive is opened. What belongs to one
//! location (id mapping, clock offsets) is read when the location is, so that opening
//! an archive of many thousand locations stays cheap.

mod code_flows;
mod collect;
mod columns;
mod communicators;
mod contexts;
mod definitions;
mod evidence;
#[cfg(test)]
mod io_tests;
mod markers;
pub mod model_archive;
mod notices;
pub mod print;
mod ranks;
mod reader;
mod refs;
mod rma;
mod roots;
mod stack_changes;
mod threads;

use crate::reader::{Format, Opened, Reader};
use ouzel_files::{Candidate, Inputs};
use ouzel_model::units::count;
use ouzel_model::{
    ChunkBuffer, ChunkReader, Content, Definitions, EventKind, LocationId, Marker, Needs, Notice, Provenance,
    ReadError, ReadPlan, TraceSource,
};
use ouzel_otf2::remark::{BESIDE_CALLS, SAMPLES_PROPERTY};
use ouzel_otf2::{Archive, ReadErrorKind};
use reader::{Empty, OpenedLocation, Otf2Location};
use refs::GlobalRefs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// An opened OTF2 archive.
#[derive(Debug)]
pub struct Otf2Source {
    archive: Archive,
    definitions: Definitions,
    refs: GlobalRefs,
    notices: Vec<Notice>,
    markers: Vec<Marker>,
    n_processes: usize,
    /// For each location whether it holds nothing but samples, once asked.
    sampled: Vec<OnceLock<bool>>,
    /// For each location the bytes of its events, once asked: of 100,000 files the system takes a while to say.
    n_bytes: Vec<OnceLock<u64>>,
}

/// OTF2 among the formats.
pub static READER: Reader = Reader {
    format: Format::Otf2,
    writers: "Score-P, eztrace, Extrae, and others",
    reads: &[
        (Content::Calls, ""),
        (Content::Samples, ""),
        (Content::Messages, ""),
        (Content::Collectives, ""),
        (Content::Threads, ""),
        (Content::Rma, ""),
        (Content::Counters, ""),
        (Content::AcceleratorStreams, ""),
        (Content::Topologies, ""),
    ],
    recognise,
    open: |candidate| Ok(Opened::trace(Otf2Source::of(Archive::open_candidate(candidate)?))),
    add_files,
};

fn add_files(candidate: &Candidate, inputs: &mut Inputs) {
    let Some([anchor, definitions, markers, locations]) = ouzel_otf2::paths_of(candidate) else { return };
    [anchor, definitions, markers].into_iter().for_each(|file| inputs.add_file(file));
    inputs.add_folder(locations);
}

/// An anchor or anything else of an archive, or a directory with some of it.
fn recognise(candidate: &Candidate) -> Option<String> {
    Archive::recognise(candidate).then(|| format!("OTF2 archive {}", candidate.path().display()))
}

impl Otf2Source {
    /// Opens an archive: a directory, an anchor of any name, or the stem of one.
    ///
    /// # Errors
    /// If there is no archive, or one that cannot be read at all.
    pub fn open(path: &Path) -> Result<Self, ouzel_otf2::ReadError> {
        Ok(Otf2Source::of(Archive::open(path)?))
    }

    fn of(archive: Archive) -> Self {
        // Of 100,000 locations, listing their files takes as long as the definitions.
        let (records, found) = std::thread::scope(|scope| {
            let list = || archive.locations_on_disk();
            // Without a thread, the definitions wait for the list.
            let _ = std::thread::Builder::new().spawn_scoped(scope, list);
            archive.read_global_definitions()
        });
        let mut collected = collect::Collected::default();
        collected.is_incomplete = found.iter().any(notices::loses_definitions);
        collected.are_unique = !found.iter().any(notices::is_of_duplicates);
        for definition in records.records() {
            collected.take(&definition);
        }
        let evidence = if collected.has_holes() {
            evidence::Evidence::scan(&archive, &collected)
        } else {
            evidence::Evidence::default()
        };
        let definitions::Resolved { mut definitions, refs, notices } =
            definitions::resolve(collected, &evidence);
        definitions.provenance = provenance(&archive);
        let mut all: Vec<Notice> = archive.notices().iter().chain(&found).map(notices::of_archive).collect();
        all.extend(notices);
        all.extend(notices::set_aside(&archive));
        all.extend(notices::of_recording(&archive));
        let (markers, notices) = markers::read(&archive, &definitions);
        all.extend(notices);
        let n_processes = definitions.processes().len();
        let sampled = vec![OnceLock::new(); definitions.locations.len()];
        let n_bytes = vec![OnceLock::new(); definitions.locations.len()];
        Otf2Source { archive, definitions, refs, notices: all, markers, n_processes, sampled, n_bytes }
    }

    /// Whether the location has samples and no call. Reads to its first call: archives do not say.
    fn holds_samples_only(&self, location: LocationId) -> bool {
        let plan = ReadPlan::all(Needs::SAMPLES);
        let Ok(mut reader) = self.open(location, &plan) else { return false };
        let mut buffer = ChunkBuffer::default();
        let mut has_samples = false;
        loop {
            buffer.clear();
            let more = reader.read(&mut buffer);
            if buffer.kind.iter().any(|kind| matches!(kind, EventKind::Enter | EventKind::Leave)) {
                return false;
            }
            has_samples |= !buffer.samples.is_empty();
            if more != Ok(true) {
                return has_samples;
            }
        }
    }

    /// Whether the recorder says that samples and recorded calls complete each other.
    fn has_samples_beside_calls(&self) -> bool {
        let says = |(name, value): &(String, String)| name == SAMPLES_PROPERTY && value == BESIDE_CALLS;
        self.archive.anchor().properties.iter().any(says)
    }

    /// The archive, for what only OTF2 has.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }
}

fn provenance(archive: &Archive) -> Provenance {
    let anchor = archive.anchor();
    let [major, minor, bugfix] = anchor.library_version;
    Provenance {
        format: "OTF2".to_owned(),
        format_version: format!("{major}.{minor}.{bugfix}"),
        creator: anchor.creator.clone(),
        machine: anchor.machine_name.clone(),
        description: anchor.description.clone(),
    }
}

impl TraceSource for Otf2Source {
    fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn markers(&self) -> &[Marker] {
        &self.markers
    }

    fn location_bytes(&self, location: LocationId) -> u64 {
        let ask = || self.archive.event_bytes(self.definitions.location(location).native_id);
        *self.n_bytes[location.index()].get_or_init(ask)
    }

    fn is_sampled(&self, location: LocationId) -> bool {
        if self.definitions.sampled_contexts.is_empty() {
            return false;
        }
        *self.sampled[location.index()].get_or_init(|| self.holds_samples_only(location))
    }

    fn completes_calls(&self, location: LocationId) -> bool {
        self.has_samples_beside_calls() && !self.is_sampled(location)
    }

    /// An event file must be decoded from its start to know the open calls, so a time range only ends the reading early.
    fn open(&self, location: LocationId, plan: &ReadPlan) -> Result<Box<dyn ChunkReader + '_>, ReadError> {
        let defined = self.definitions.location(location);
        let (local, found) = self.archive.read_local_definitions(defined.native_id);
        let notices: Vec<Notice> = found.iter().map(|n| notices::of_archive(n).on(location)).collect();
        let events = match self.archive.events(defined.native_id) {
            Ok(events) => events,
            Err(error) if matches!(error.kind, ReadErrorKind::NoSuchFile { .. }) => {
                return match defined.declared_events {
                    None | Some(0) => Ok(Box::new(Empty { notices })),
                    Some(n) => Err(ReadError {
                        reason: format!("the event file is missing; {} events are declared", count(n)),
                        ..read_error(&error)
                    }),
                };
            }
            Err(error) => return Err(read_error(&error)),
        };
        let opened = OpenedLocation {
            location,
            local,
            notices,
            trace_start: self.definitions.clock.offset_ticks,
            declared_events: defined.declared_events,
            is_upper_bound: self.has_samples_beside_calls(),
            has_peers: 1 < self.n_processes && defined.kind.runs_code(),
        };
        Ok(Box::new(Otf2Location::new(events, opened, &self.refs, plan)))
    }
}

fn read_error(error: &ouzel_otf2::ReadError) -> ReadError {
    ReadError {
        file: Arc::clone(&error.file),
        offset: error.offset,
        record: error.record,
        reason: error.kind.to_string(),
    }
}
