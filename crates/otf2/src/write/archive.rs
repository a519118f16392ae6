//! The archive as a whole: directories, global definitions, anchor, and the check at the end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chunk_file::ChunkFile;
use super::error::{WriteError, WriteErrorKind};
use super::events::EventWriter;
use super::ledger::{EventSummary, Ledger, Pages};
use super::local_definitions::LocalDefinitionWriter;
use super::options::WriteOptions;
use crate::anchor::{ANCHOR_FORMAT, Anchor};
use crate::records::definition::ClockProperties;
use crate::records::{Definition, MarkerRecord, Text, definition};
use crate::wire::EncodeError;

/// Form of the files besides the anchor.
const TRACE_FORMAT: u8 = 2;
/// Version of the reference library that wrote files like these: major, minor, bugfix.
const LIBRARY_VERSION: [u8; 3] = [3, 0, 2];

/// Writes an archive; see the [module](super) for an example.
#[derive(Debug)]
#[must_use = "an archive must be finished"]
pub struct ArchiveWriter {
    /// The anchor file.
    path: Arc<Path>,
    /// The directory of the locations' files.
    locations_dir: PathBuf,
    options: WriteOptions,
    definitions: ChunkFile,
    /// The marker file, if there is one.
    markers: Option<ChunkFile>,
    n_definitions: u64,
    strings: BTreeMap<Box<[u8]>, u32>,
    next_string: u32,
    /// Numbers of events as defined.
    locations: BTreeMap<u64, u64>,
    clock: Option<ClockProperties>,
    ledger: Ledger,
}

impl ArchiveWriter {
    /// Begins the archive `dir/name.otf2`; directories are made as needed.
    ///
    /// # Errors
    /// [`WriteErrorKind::Exists`] if there is one of this name, or a part of one, [`WriteErrorKind::BadName`],
    /// [`WriteErrorKind::ChunkBytes`], [`WriteErrorKind::Encode`] for a text with a zero byte,
    /// [`WriteErrorKind::Io`].
    pub fn create(dir: impl AsRef<Path>, name: &str, options: WriteOptions) -> Result<Self, WriteError> {
        let dir = dir.as_ref();
        let path: Arc<Path> = dir.join(format!("{name}.otf2")).into();
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
            return Err(WriteError::new(&path, WriteErrorKind::BadName { name: name.to_owned() }));
        }
        let locations_dir = dir.join(name);
        // Left-over files of locations would become part of the new archive.
        let has_files = std::fs::read_dir(&locations_dir).is_ok_and(|mut files| files.next().is_some());
        if path.exists() || has_files {
            return Err(WriteError::new(&path, WriteErrorKind::Exists));
        }
        std::fs::create_dir_all(&locations_dir).map_err(|error| WriteError::new(&path, error))?;
        check_texts(&options).map_err(|error| WriteError::new(&path, error))?;
        // Refuses a bad size of event chunks now and not with the first location.
        ChunkFile::new(Arc::clone(&path), options.event_chunk_bytes, options.endian)?;
        let definitions_path = dir.join(format!("{name}.def")).into();
        Ok(ArchiveWriter {
            definitions: ChunkFile::new(definitions_path, options.definition_chunk_bytes, options.endian)?,
            markers: None,
            path,
            locations_dir,
            options,
            n_definitions: 0,
            strings: BTreeMap::new(),
            next_string: 0,
            locations: BTreeMap::new(),
            clock: None,
            ledger: Ledger::default(),
        })
    }

    /// Writes a global definition. Those that it refers to should have been written before.
    ///
    /// # Errors
    /// [`WriteErrorKind::SecondDefinition`] for a location or clock that is defined already,
    /// [`WriteErrorKind::Encode`], [`WriteErrorKind::RecordTooLarge`], [`WriteErrorKind::Io`].
    pub fn define<'d>(&mut self, definition: impl Into<Definition<'d>>) -> Result<(), WriteError> {
        let definition = definition.into();
        let second = match definition {
            Definition::ClockProperties(clock) => self.clock.replace(clock).map(|_| "the clock".to_owned()),
            Definition::Location(location) => self
                .locations
                .insert(location.id, location.number_of_events)
                .map(|_| format!("location {}", location.id)),
            Definition::String(definition::String { id, string }) => {
                self.strings.entry(string.bytes().into()).or_insert(id);
                self.next_string = self.next_string.max(id.saturating_add(1));
                None
            }
            _ => None,
        };
        if let Some(what) = second {
            return Err(self.definitions.error(WriteErrorKind::SecondDefinition { what }));
        }
        self.definitions.append(0, |buffer, _| definition.encode(buffer))?;
        self.n_definitions += 1;
        Ok(())
    }

    /// Writes a record of the marker file, which the first one begins. The kinds of markers come before their markers.
    ///
    /// # Errors
    /// [`WriteErrorKind::Encode`], [`WriteErrorKind::RecordTooLarge`], [`WriteErrorKind::Io`].
    pub fn mark<'m>(&mut self, record: impl Into<MarkerRecord<'m>>) -> Result<(), WriteError> {
        let markers = match &mut self.markers {
            Some(markers) => markers,
            none => {
                let path = self.path.with_extension("marker").into();
                none.insert(ChunkFile::new(path, self.options.definition_chunk_bytes, self.options.endian)?)
            }
        };
        let record = record.into();
        markers.append(0, |buffer, _| record.encode(buffer))
    }

    /// The id of a text, which is defined now if it was not before.
    ///
    /// # Errors
    /// As [`ArchiveWriter::define`].
    pub fn string(&mut self, text: &str) -> Result<u32, WriteError> {
        if let Some(&id) = self.strings.get(text.as_bytes()) {
            return Ok(id);
        }
        let id = self.next_string;
        self.define(definition::String { id, string: Text::from(text) })?;
        Ok(id)
    }

    /// Begins the event file of a location; its definition may come before or after.
    ///
    /// # Errors
    /// [`WriteErrorKind::WriterExists`] if there was a writer for it before.
    pub fn events(&self, location: u64) -> Result<EventWriter, WriteError> {
        let file = self.location_file(location, "evt", self.options.event_chunk_bytes)?;
        if self.ledger.pages().events.insert(location, None).is_some() {
            return Err(file.error(WriteErrorKind::WriterExists { location }));
        }
        Ok(EventWriter::new(file, location, self.ledger.clone()))
    }

    /// Takes over the event file of a location that was written by other means: it is in its place, complete, with
    /// chunks of [`WriteOptions::event_chunk_bytes`]; its place is [`ArchiveWriter::event_file`].
    ///
    /// # Errors
    /// [`WriteErrorKind::WriterExists`] if there was a writer for it before.
    pub fn adopt_events(&self, summary: EventSummary) -> Result<(), WriteError> {
        let location = summary.location;
        if self.ledger.pages().events.insert(location, Some(summary)).is_some() {
            return Err(WriteError::new(&self.path, WriteErrorKind::WriterExists { location }));
        }
        Ok(())
    }

    /// Where the event file of a location belongs.
    pub fn event_file(&self, location: u64) -> PathBuf {
        self.locations_dir.join(format!("{location}.evt"))
    }

    /// Begins the local definition file of a location.
    ///
    /// # Errors
    /// [`WriteErrorKind::WriterExists`] if there was a writer for it before.
    pub fn local_definitions(&self, location: u64) -> Result<LocalDefinitionWriter, WriteError> {
        let file = self.location_file(location, "def", self.options.definition_chunk_bytes)?;
        if self.ledger.pages().local_definitions.insert(location, None).is_some() {
            return Err(file.error(WriteErrorKind::WriterExists { location }));
        }
        Ok(LocalDefinitionWriter::new(file, location, self.ledger.clone()))
    }

    fn location_file(
        &self,
        location: u64,
        extension: &str,
        chunk_bytes: u64,
    ) -> Result<ChunkFile, WriteError> {
        let path = self.locations_dir.join(format!("{location}.{extension}")).into();
        ChunkFile::new(path, chunk_bytes, self.options.endian)
    }

    /// Local ticks of the earliest and the latest event of all event files finished so far.
    pub fn event_span(&self) -> Option<(u64, u64)> {
        let pages = self.ledger.pages();
        let spans = pages.events.values().flatten().filter_map(|summary| summary.span);
        spans.reduce(|(first, last), (start, end)| (first.min(start), last.max(end)))
    }

    /// Writes what is still missing, the end of the definitions, and the anchor.
    ///
    /// Defined locations without a file get one without records.
    ///
    /// # Errors
    /// [`WriteErrorKind::Unfinished`], [`WriteErrorKind::UndefinedLocation`],
    /// [`WriteErrorKind::EventCount`], [`WriteErrorKind::NoClock`], [`WriteErrorKind::OutsideClock`]
    /// if definitions and events contradict each other; [`WriteErrorKind::Io`]. Without an anchor,
    /// readers do not take the files for an archive.
    pub fn finish(mut self) -> Result<(), WriteError> {
        self.write_missing_files()?;
        self.check(&self.ledger.pages()).map_err(|kind| WriteError::new(&self.path, kind))?;
        self.definitions.finish()?;
        if let Some(markers) = &mut self.markers {
            markers.finish()?;
        }
        let anchor = Anchor {
            endian: self.options.endian,
            anchor_format: ANCHOR_FORMAT,
            trace_format: TRACE_FORMAT,
            library_version: LIBRARY_VERSION,
            event_chunk_bytes: self.options.event_chunk_bytes,
            definition_chunk_bytes: self.options.definition_chunk_bytes,
            n_locations: self.locations.len() as u64,
            n_global_definitions: self.n_definitions,
            machine_name: self.options.machine,
            creator: self.options.creator,
            description: self.options.description,
            properties: self.options.properties,
            trace_id: self.options.trace_id,
            n_snapshots: 0,
            n_thumbnails: 0,
        };
        std::fs::write(&self.path, anchor.encode()).map_err(|error| WriteError::new(&self.path, error))
    }

    fn write_missing_files(&self) -> Result<(), WriteError> {
        for &location in self.locations.keys() {
            let (events, local) = {
                let pages = self.ledger.pages();
                (pages.events.contains_key(&location), pages.local_definitions.contains_key(&location))
            };
            if !events {
                self.events(location)?.finish()?;
            }
            if !local {
                self.local_definitions(location)?.finish()?;
            }
        }
        Ok(())
    }

    fn check(&self, pages: &Pages) -> Result<(), WriteErrorKind> {
        let clock = self.clock.ok_or(WriteErrorKind::NoClock)?;
        for (&location, local) in &pages.local_definitions {
            local.ok_or(WriteErrorKind::Unfinished { location })?;
        }
        for (&location, summary) in &pages.events {
            let summary = summary.ok_or(WriteErrorKind::Unfinished { location })?;
            let written = summary.n_events;
            let defined =
                *self.locations.get(&location).ok_or(WriteErrorKind::UndefinedLocation { location })?;
            if defined != written {
                return Err(WriteErrorKind::EventCount { location, defined, written });
            }
            // Two clock offsets or more move the times, so the local ones may lie anywhere.
            let n_clock_offsets = pages.local_definitions.get(&location).copied().flatten().unwrap_or(0);
            if n_clock_offsets < 2 {
                check_span(&clock, &summary)?;
            }
        }
        let local_only =
            pages.local_definitions.keys().find(|location| !self.locations.contains_key(location));
        match local_only {
            Some(&location) => Err(WriteErrorKind::UndefinedLocation { location }),
            None => Ok(()),
        }
    }
}

/// Texts of the anchor end at their first zero byte, so they must have none.
fn check_texts(options: &WriteOptions) -> Result<(), EncodeError> {
    let properties = options.properties.iter().flat_map(|(name, value)| [name, value]);
    let texts = [&options.machine, &options.creator, &options.description];
    match texts.into_iter().chain(properties).find_map(|text| text.find('\0')) {
        Some(at) => Err(EncodeError::ZeroInText { at }),
        None => Ok(()),
    }
}

fn check_span(clock: &ClockProperties, summary: &EventSummary) -> Result<(), WriteErrorKind> {
    let (start, end) = (clock.global_offset, clock.global_offset.saturating_add(clock.trace_length));
    match summary.span {
        Some((first, last)) if first < start || end < last => {
            Err(WriteErrorKind::OutsideClock { location: summary.location, first, last, start, end })
        }
        _ => Ok(()),
    }
}
