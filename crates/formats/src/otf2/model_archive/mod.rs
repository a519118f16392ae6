//! The event model as an OTF2 archive: the adapter in the other direction.
//!
//! Events come location by location, nested, as the engine hands them to sinks;
//! definitions are written after them, when it is known which are used. One chunk
//! of one location is in memory. Law: equal events give equal bytes, and an archive
//! read back gives the same ids, names and times, in ticks.
//!
//! The tables keep their order, so the ids of the model are the references of the
//! archive, and no location needs a mapping table. Locations of which no events came
//! are left out; communicators still name them, so that ranks keep their numbers.
//! What the model has no place for is not written; it is counted and reported.

mod classes;
mod communicators;
mod definitions;
mod events;
mod refs;

pub use ouzel_otf2::write::WriteError;

use super::communicators::UNKNOWN_COMM;
use classes::Classes;
use events::{LocationEvents, Unsaid};
use ouzel_model::{Definitions, EventChunk, EventSink, Level, LocationId, Marker, Needs, Notice, NoticeCode};
use ouzel_otf2::records::Text;
use ouzel_otf2::records::enums::{MarkerScope, MarkerSeverity, ParameterType};
use ouzel_otf2::records::local::ClockOffset;
use ouzel_otf2::records::marker::DefMarker;
use ouzel_otf2::write::{ArchiveWriter, EventSummary, WriteOptions};
use refs::Refs;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// An archive in the making.
#[derive(Debug)]
#[must_use = "an archive must be finished"]
pub struct ModelArchive {
    archive: ArchiveWriter,
    definitions: Arc<Definitions>,
    /// The reference of each location.
    location_refs: Vec<u64>,
    regions: Refs,
    comms: Refs,
    classes: Classes,
    /// Type of each parameter, known from its first value.
    parameter_types: Vec<Option<ParameterType>>,
    /// What was written of each location.
    written: BTreeMap<LocationId, EventSummary>,
    unsaid: Unsaid,
    /// The location whose events come.
    open: Option<LocationEvents>,
}

/// Whether the times of different locations may be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// They were synchronised. The archive says so by clock offsets of zero, as its times are corrected.
    Synchronised,
    /// They were not; the archive has no clock offsets.
    Unsynchronised,
}

/// A finished archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Event records written.
    pub n_events: u64,
    /// What could not be written to the archive.
    pub notices: Vec<Notice>,
}

impl ModelArchive {
    /// Begins the archive `dir/name.otf2` of a trace with these definitions.
    ///
    /// # Errors
    /// As [`ArchiveWriter::create`].
    pub fn create(dir: &Path, name: &str, definitions: &Definitions) -> Result<Self, WriteError> {
        let provenance = &definitions.provenance;
        let writer = WriteOptions::default().creator;
        let creator = match provenance.creator.as_str() {
            "" => writer,
            creator if creator.starts_with(&writer) => creator.to_owned(),
            creator => format!("{writer}, from a trace of {creator}"),
        };
        let options = WriteOptions {
            machine: without_zero(&provenance.machine),
            creator: without_zero(&creator),
            description: without_zero(&provenance.description),
            ..WriteOptions::default()
        };
        let n_communicators = definitions.communicators.len();
        let has_unknown_comm =
            definitions.communicators.last().is_some_and(|comm| *comm.name == *UNKNOWN_COMM);
        Ok(ModelArchive {
            archive: ArchiveWriter::create(dir, name, options)?,
            location_refs: location_refs(definitions),
            regions: Refs::new(definitions.n_regions()),
            comms: Refs::new(n_communicators - usize::from(has_unknown_comm)),
            classes: Classes::default(),
            parameter_types: vec![None; definitions.parameters.len()],
            written: BTreeMap::new(),
            unsaid: Unsaid::default(),
            open: None,
            definitions: Arc::new(definitions.clone()),
        })
    }

    /// Writes these markers, but for those of locations without events.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn mark(&mut self, markers: &[Marker]) -> Result<(), WriteError> {
        let mut kinds: BTreeMap<(&str, &str, Option<Level>), u32> = BTreeMap::new();
        for marker in markers {
            let (scope, scope_ref) = match marker.location {
                Some(location) if !self.written.contains_key(&location) => continue,
                Some(location) => (MarkerScope::Location, self.location_refs[location.index()]),
                None => (MarkerScope::Global, 0),
            };
            let next = u32::try_from(kinds.len()).unwrap_or(u32::MAX);
            let id = match kinds.entry((&marker.group, &marker.category, marker.level)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    let severity = marker.level.map_or(MarkerSeverity::None, severity);
                    let (group, category) = (without_zero(&marker.group), without_zero(&marker.category));
                    let (group, category) = (Text::from(&*group), Text::from(&*category));
                    self.archive.mark(DefMarker { id: next, group, category, severity })?;
                    *new.insert(next)
                }
            };
            let text = without_zero(&marker.text);
            self.archive.mark(ouzel_otf2::records::marker::Marker {
                time: marker.time.0.saturating_add(self.definitions.clock.offset_ticks),
                duration: marker.length.0,
                marker: id,
                scope,
                scope_ref,
                text: Text::from(&*text),
            })?;
        }
        Ok(())
    }

    /// Writes the definitions and the anchor.
    ///
    /// # Errors
    /// If a file cannot be written; then there is no anchor.
    pub fn finish(mut self, clocks: Clocks) -> Result<Finished, WriteError> {
        self.write_clock_offsets(clocks)?;
        definitions::write(&mut self)?;
        let n_events = self.written.values().map(|summary| summary.n_events).sum();
        let notices = self.unsaid.notices();
        self.archive.finish()?;
        Ok(Finished { n_events, notices })
    }

    fn write_clock_offsets(&self, clocks: Clocks) -> Result<(), WriteError> {
        let groups = |id: &LocationId| self.definitions.location(*id).group;
        let n_groups = self.written.keys().map(groups).collect::<BTreeSet<_>>().len();
        if clocks == Clocks::Unsynchronised || n_groups < 2 {
            return Ok(());
        }
        let start = self.definitions.clock.offset_ticks;
        for summary in self.written.values() {
            let (first, last) = summary.span.unwrap_or((start, start));
            let first = first.min(u64::MAX - 1);
            let mut local = self.archive.local_definitions(summary.location)?;
            for time in [first, last.max(first + 1)] {
                local.clock_offset(ClockOffset { time, offset: 0, standard_deviation: 0.0 })?;
            }
            local.finish()?;
        }
        Ok(())
    }
}

impl EventSink for ModelArchive {
    type Error = WriteError;

    fn needs(&self) -> Needs {
        Needs::ALL_EVENTS
    }

    fn begin(&mut self, location: LocationId, definitions: &Definitions) -> Result<(), WriteError> {
        let writer = self.archive.events(self.location_refs[location.index()])?;
        self.open = Some(LocationEvents::new(location, definitions.location(location).kind, writer));
        Ok(())
    }

    fn take(&mut self, chunk: &EventChunk<'_>) -> Result<(), WriteError> {
        let mut events = self.open.take().expect("a location was begun");
        events::write(self, &mut events, chunk)?;
        self.open = Some(events);
        Ok(())
    }

    fn end(&mut self) -> Result<(), WriteError> {
        let mut events = self.open.take().expect("a location was begun");
        events.settle_classes(None, &mut self.classes);
        self.written.insert(events.location, events.writer.finish()?);
        Ok(())
    }
}

fn severity(level: Level) -> MarkerSeverity {
    match level {
        Level::Low => MarkerSeverity::Low,
        Level::Medium => MarkerSeverity::Medium,
        Level::High => MarkerSeverity::High,
    }
}

impl Unsaid {
    fn notices(&self) -> Vec<Notice> {
        let said = [
            (
                self.others,
                "events that have no place in the event model are left out of the archive; a location that began or \
                 ended with them is shorter",
            ),
            (self.empty, "metric or parameter events without a known value are left out of the archive"),
            (
                self.flushes,
                "buffer flushes are written with their time only: the event model does not record their duration",
            ),
            (
                self.switches,
                "recording is written as switched off and on alternately: the event model does not distinguish the two",
            ),
            (
                self.bounds,
                "samples are written without the information that no frame, or at most some frames, stayed since the \
                 one before: tracers disagree on how the format expresses that",
            ),
        ];
        let notice = |(n, message): (u64, &str)| {
            (0 < n).then(|| Notice::new(Level::Medium, NoticeCode::NotRepresented, message).times(n))
        };
        said.into_iter().filter_map(notice).collect()
    }
}

/// The ids that users know from file names; the model's own where those are not unique.
fn location_refs(definitions: &Definitions) -> Vec<u64> {
    let native: Vec<u64> = definitions.locations.iter().map(|location| location.native_id).collect();
    let unique = native.iter().collect::<BTreeSet<_>>().len() == native.len();
    if unique { native } else { (0..native.len() as u64).collect() }
}

/// Texts of the format end at a zero byte.
fn without_zero(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
