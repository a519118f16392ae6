//! The events of one location, record by record: which are printed, and as what.
//!
//! Law: what is selected is decided on corrected times and global ids, whatever is shown.

use super::PrintOptions;
use super::layout::{PrintLine, PrintPlace, RecordHead, Section, Time, Widths};
use super::names::PrintNames;
use crate::otf2::{Otf2Source, notices, refs::GlobalRefs};
use ouzel_model::units::count;
use ouzel_model::{Clock, Level, LocationId, Notice, NoticeCode, Ticks};
use ouzel_otf2::read::{EventReader, EventRecord, EventSource};
use ouzel_otf2::records::{Event, FieldValue, RefKind};
use ouzel_otf2::{LocalDefinitions, ReadError, ReadErrorKind};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;

/// What all locations have in common.
pub(super) struct Common<'s> {
    pub source: &'s Otf2Source,
    pub options: &'s PrintOptions,
    pub clock: Clock,
    /// Corrected times to print, in ticks of the trace's clock; `None` is all.
    pub range: Option<Range<u64>>,
    /// For each region of the model whether its records are printed; `None` if all are.
    pub regions: Option<Vec<bool>>,
    pub widths: Widths,
}

/// The events of one location.
pub(super) struct LocationEvents<'s> {
    common: &'s Common<'s>,
    location: LocationId,
    native_id: u64,
    local: LocalDefinitions,
    reader: EventReader<Reopened>,
    calls: OpenRegions,
    damage: Option<ReadError>,
}

/// Bytes of a window when many files are read by turns.
const SMALL_WINDOW_BYTES: usize = 16 * 1024;

impl<'s> LocationEvents<'s> {
    /// Begins to read a location; `None` if there is nothing to read, which is a notice if there should be.
    pub fn open(common: &'s Common<'s>, location: LocationId, notices: &mut Vec<Notice>) -> Option<Self> {
        let source = common.source;
        let defined = source.definitions.location(location);
        let (local, found) = source.archive.read_local_definitions(defined.native_id);
        notices.extend(found.iter().map(|notice| notices::of_archive(notice).on(location)));
        match open_events(common, defined.native_id) {
            Ok(reader) => Some(LocationEvents {
                common,
                location,
                native_id: defined.native_id,
                local,
                reader,
                calls: OpenRegions::default(),
                damage: None,
            }),
            Err(error) if is_absent(&error) => {
                let declared = defined.declared_events.filter(|&n| 0 < n)?;
                let message = format!("the event file is missing; {declared} events are declared");
                let notice = Notice::new(Level::High, NoticeCode::MissingEvents, message);
                notices.push(notice.in_file(error.file).on(location));
                None
            }
            Err(error) => {
                notices.push(damaged(error, 0, location));
                None
            }
        }
    }

    /// Puts the next selected record into `out` and gives back its time; `None` at the end.
    pub fn next(&mut self, names: &mut PrintNames<'_>, out: &mut String) -> Option<u64> {
        let raw_times = self.common.options.raw;
        loop {
            let record = match self.reader.next_record() {
                Ok(record) => record?,
                Err(error) => {
                    self.damage = Some(error);
                    return None;
                }
            };
            let time = self.local.clock.global(record.time);
            let is_of_region = match &self.common.regions {
                Some(kept) => self.calls.keep(&record, &self.local, &self.common.source.refs, kept),
                None => true,
            };
            let is_of_range = match &self.common.range {
                Some(range) if range.end <= time => return None,
                Some(range) => range.start <= time,
                None => true,
            };
            if is_of_region && is_of_range {
                put_event(out, names, self.common, self.native_id, record, &self.local);
                return Some(if raw_times { record.time } else { time });
            }
        }
    }

    /// What was lost or is doubtful, as far as was read.
    pub fn finish(self, notices: &mut Vec<Notice>) {
        let counts = self.reader.counts();
        notices.extend(notices::of_events(counts, self.reader.file(), self.location));
        if 0 < counts.steps_back {
            let message = "a time stamp is earlier than the one before".to_owned();
            let notice = Notice::new(Level::Medium, NoticeCode::TimeGoesBack, message);
            let notice =
                notice.times(counts.steps_back).in_file(self.reader.file().clone()).on(self.location);
            notices.push(counts.first_step_back.iter().fold(notice, |notice, &offset| notice.at(offset)));
        }
        notices.extend(self.damage.map(|error| damaged(error, counts.events, self.location)));
    }
}

fn put_event(
    out: &mut String,
    names: &mut PrintNames<'_>,
    common: &Common<'_>,
    location: u64,
    record: EventRecord<'_>,
    local: &LocalDefinitions,
) {
    let options = common.options;
    let time = if options.raw {
        Time { ticks: record.time, ns: None }
    } else {
        let ticks = local.clock.global(record.time);
        let since_start = Ticks(ticks.saturating_sub(common.clock.offset_ticks));
        Time { ticks, ns: Some(common.clock.ns_from_ticks(since_start)) }
    };
    let place = options.offsets.then_some(PrintPlace { offset: record.offset, number: record.number });
    let head = RecordHead {
        section: Section::Events,
        name: record.event.map(|event| event.kind().name()),
        id: record.id,
        location: Some(location),
        time: Some(time),
        place,
    };
    let mut line = PrintLine::begin(out, names, options.layout, &head, common.widths);
    match record.event {
        Some(mut event) => {
            if !options.raw {
                event.map_refs(&local.mapping);
            }
            event.fields(&mut |name, value| match value {
                FieldValue::Ticks(raw) if !options.raw => {
                    line.field(name, FieldValue::Ticks(local.clock.global(raw)));
                }
                other => line.field(name, other),
            });
        }
        None => line.unknown(record.id, record.body),
    }
    if !record.attributes.is_empty() {
        let mut attributes = record.attributes;
        if !options.raw {
            attributes.map_refs(None, &local.mapping);
        }
        line.field("attributes", FieldValue::Attributes(attributes));
    }
    line.end();
}

/// Which calls are open, as far as the selection of regions needs it.
#[derive(Debug, Default)]
struct OpenRegions {
    /// For each open call whether its region is selected.
    open: Vec<bool>,
}

impl OpenRegions {
    /// Whether a record is selected: by its own region, or by that of the innermost open call.
    fn keep(
        &mut self,
        record: &EventRecord<'_>,
        local: &LocalDefinitions,
        refs: &GlobalRefs,
        kept: &[bool],
    ) -> bool {
        let of_region = |id: u32| {
            let id = local.mapping.map_u32(RefKind::Region, id);
            refs.regions.get(&id).is_some_and(|region| kept.get(region.0 as usize).copied().unwrap_or(false))
        };
        let of_context = |id: u32| {
            let id = local.mapping.map_u32(RefKind::CallingContext, id);
            let context = refs.calling_contexts.get(&id);
            context.is_some_and(|context| kept.get(context.region.index()).copied().unwrap_or(false))
        };
        match record.event {
            Some(Event::Enter(enter)) => self.enter(of_region(enter.region)),
            Some(Event::CallingContextEnter(enter)) => self.enter(of_context(enter.calling_context)),
            Some(Event::Leave(leave)) => self.leave(of_region(leave.region)),
            Some(Event::CallingContextLeave(leave)) => self.leave(of_context(leave.calling_context)),
            Some(Event::CallingContextSample(sample)) => of_context(sample.calling_context),
            _ => self.open.last().copied().unwrap_or(false),
        }
    }

    fn enter(&mut self, is_selected: bool) -> bool {
        self.open.push(is_selected);
        is_selected
    }

    fn leave(&mut self, is_selected: bool) -> bool {
        self.open.pop();
        is_selected
    }
}

fn damaged(error: ReadError, n_kept: u64, location: LocationId) -> Notice {
    let message = format!("{}; the {} events before that are printed", error.kind, count(n_kept));
    Notice::new(Level::High, NoticeCode::DamagedEvents, message)
        .in_file(error.file)
        .at(error.offset)
        .on(location)
}

fn is_absent(error: &ReadError) -> bool {
    matches!(&error.kind, ReadErrorKind::Io(io) if io.kind() == io::ErrorKind::NotFound)
}

fn open_events(common: &Common<'_>, native_id: u64) -> Result<EventReader<Reopened>, ReadError> {
    let archive = &common.source.archive;
    let path = archive.event_path(native_id);
    let name = path.display().to_string();
    let n_bytes =
        std::fs::metadata(&path).map_err(|error| ReadError::of_file(&name, ReadErrorKind::Io(error)))?.len();
    let bytes = Reopened { path, offset: 0 };
    let events = EventSource::whole(bytes, &name, n_bytes, archive.anchor().event_chunk_size());
    if common.options.merged {
        EventReader::with_window(events, SMALL_WINDOW_BYTES)
    } else {
        EventReader::new(events)
    }
}

/// A file that is open only while it is read: merging thousands of locations must not run out of open files.
struct Reopened {
    path: PathBuf,
    offset: u64,
}

impl Read for Reopened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = ouzel_files::input::open(&self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let n = file.read(buffer)?;
        self.offset += n as u64;
        Ok(n)
    }
}
