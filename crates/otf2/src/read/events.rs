//! The reader of one event file, or of one chunk of it.
//!
//! Events go fast through [`deliver_run`]; one at a time, carefully, at the
//! ends of windows and chunks and wherever a record is not plain. An event and
//! what comes before it (time, attributes) are one group: the reader moves on
//! by whole groups only.

use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;

use super::chunks::parse_chunk_header;
use super::run::{DeliveredRun, RunContext, deliver, deliver_run};
use super::sink::{EventCounts, EventKinds, EventSink};
use super::source::{EventRecord, EventSource};
use super::window::{ByteSource, WINDOW_BYTES, Window};
use crate::error::{ReadError, ReadErrorKind};
use crate::records::special::{
    ATTRIBUTE_LIST, CHUNK_HEADER, CHUNK_HEADER_BYTES, END_OF_BUFFER, END_OF_CHUNK, END_OF_FILE, FIRST_EVENT,
    TIMESTAMP,
};
use crate::records::{AttributeList, Event};
use crate::wire::{Cursor, Endian, Fault};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadState {
    Running,
    Ended,
}

/// Why a group could not be read, before it is known what it is called.
struct GroupStop {
    offset: u64,
    kind: ReadErrorKind,
}

/// An event and what belongs to it, as places in the window.
struct EventGroup {
    time: u64,
    attributes: Option<Range<usize>>,
    id: u8,
    id_at: usize,
    body: Range<usize>,
}

/// Reads the events of one location.
///
/// # Example
/// ```no_run
/// use ouzel_otf2::read::EventSink;
/// use ouzel_otf2::records::Event;
/// use ouzel_otf2::Archive;
///
/// #[derive(Default)]
/// struct Count { enters: u64, others: u64 }
/// impl EventSink for Count {
///     fn enter(&mut self, _time: u64, _region: u32) { self.enters += 1; }
///     fn leave(&mut self, _time: u64, _region: u32) {}
///     fn event(&mut self, _time: u64, _event: Event<'_>) { self.others += 1; }
/// }
///
/// let archive = Archive::open("traces.otf2".as_ref())?;
/// let mut count = Count::default();
/// for &location in archive.locations_on_disk() {
///     let mut reader = archive.events(location)?;
///     while reader.read(usize::MAX, &mut count)? > 0 {}
/// }
/// # Ok::<(), ouzel_otf2::ReadError>(())
/// ```
#[derive(Debug)]
pub struct EventReader<R> {
    window: Window<R>,
    file: Arc<str>,
    endian: Endian,
    chunk_bytes: Option<NonZeroU64>,
    /// File offset at which the chunk must end; `u64::MAX` if unknown.
    chunk_end: u64,
    one_chunk: bool,
    first_event: u64,
    events_before_chunk: u64,
    claimed_by_chunk: u64,
    time: u64,
    skip: EventKinds,
    counts: EventCounts,
    state: ReadState,
    pending: Option<ReadError>,
}

impl<R: ByteSource> EventReader<R> {
    /// Begins to read; the first chunk's header is read here.
    ///
    /// # Errors
    /// If there is no chunk header.
    pub fn new(source: EventSource<R>) -> Result<Self, ReadError> {
        Self::with_window(source, WINDOW_BYTES)
    }

    /// As [`EventReader::new`], with a window of a chosen size.
    ///
    /// # Errors
    /// If there is no chunk header.
    pub fn with_window(source: EventSource<R>, window_bytes: usize) -> Result<Self, ReadError> {
        let EventSource { bytes, file, offset, n_bytes, chunk_bytes, first_event, one_chunk } = source;
        let end = offset.saturating_add(n_bytes);
        let mut reader = EventReader {
            window: Window::new(bytes, offset, end, window_bytes),
            file,
            endian: Endian::Little,
            chunk_bytes,
            chunk_end: u64::MAX,
            one_chunk,
            first_event,
            events_before_chunk: 0,
            claimed_by_chunk: 0,
            time: 0,
            skip: EventKinds::NONE,
            counts: EventCounts::default(),
            state: ReadState::Running,
            pending: None,
        };
        match reader.begin_chunk() {
            Ok(()) => Ok(reader),
            Err(stop) => Err(reader.error(stop)),
        }
    }

    /// From now on events of these kinds are counted and not delivered by [`EventReader::read`].
    pub fn skip(&mut self, kinds: EventKinds) {
        self.skip = kinds;
    }

    /// What was met so far.
    pub fn counts(&self) -> &EventCounts {
        &self.counts
    }

    /// Raw time of the last event, delivered or not, in ticks.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The file's name, as errors show it.
    pub fn file(&self) -> &Arc<str> {
        &self.file
    }

    /// The byte order of the file.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// File offset of the next record.
    pub fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Delivers up to `max_events` events; gives back how many, skipped and unknown ones included.
    ///
    /// 0 means the end (for `max_events` above 0). An error after good events
    /// comes with the next call, and nothing after it.
    ///
    /// # Errors
    /// What ends the file early.
    pub fn read<S: EventSink>(&mut self, max_events: usize, sink: &mut S) -> Result<usize, ReadError> {
        let mut n = 0;
        while n < max_events && self.pending.is_none() {
            n += self.deliver_run(max_events - n, sink);
            if n == max_events {
                break;
            }
            match self.deliver_one(sink) {
                Ok(true) => n += 1,
                Ok(false) => break,
                Err(stop) => self.pending = Some(self.error(stop)),
            }
        }
        match self.pending.take() {
            Some(error) if n == 0 => Err(error),
            later => {
                self.pending = later;
                Ok(n)
            }
        }
    }

    fn deliver_run<S: EventSink>(&mut self, max_events: usize, sink: &mut S) -> usize {
        if self.endian != Endian::Little || self.state != ReadState::Running {
            return 0;
        }
        let offset = self.window.offset();
        let bytes = self.window.bytes();
        let left = usize::try_from(self.chunk_end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let bytes = &bytes[..left.min(bytes.len())];
        let context = RunContext { max_events, skip: self.skip, offset };
        let DeliveredRun { pos, time, n } = deliver_run(bytes, context, self.time, &mut self.counts, sink);
        self.window.advance(pos);
        self.time = time;
        self.counts.events += n as u64;
        n
    }

    fn deliver_one<S: EventSink>(&mut self, sink: &mut S) -> Result<bool, GroupStop> {
        let Some(group) = self.next_group()? else { return Ok(false) };
        if self.skip.contains_id(group.id) {
            self.counts.skipped += 1;
        } else {
            let (attributes, event, left) = self.decode(&group)?;
            if let Some(attributes) = attributes {
                sink.attributes(attributes);
            }
            match event {
                Some(event) => {
                    deliver(event, group.time, sink);
                    if left > 0 {
                        self.counts.longer_record(left);
                    }
                }
                None => self.counts.unknown_record(group.id),
            }
        }
        self.finish_group(&group);
        Ok(true)
    }

    /// The next event, `None` at the end; nothing is skipped.
    ///
    /// # Errors
    /// What ends the file early; `None` after it.
    pub fn next_record(&mut self) -> Result<Option<EventRecord<'_>>, ReadError> {
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        let group = match self.next_group() {
            Ok(Some(group)) => group,
            Ok(None) => return Ok(None),
            Err(stop) => return Err(self.error(stop)),
        };
        match self.decode(&group) {
            Ok((_, Some(_), 0)) => {}
            Ok((_, Some(_), left)) => self.counts.longer_record(left),
            Ok((_, None, _)) => self.counts.unknown_record(group.id),
            Err(stop) => return Err(self.error(stop)),
        }
        let offset = self.window.offset() + group.id_at as u64;
        self.finish_group(&group);
        let number = self.number(self.counts.events - 1);
        // The group's bytes are still in the window, right before its start.
        let bytes = self.window.behind(group.body.end);
        let (attributes, event, _) =
            decode_group(bytes, &group, self.endian).map_err(|(at, id, fault)| ReadError {
                file: self.file.clone(),
                offset: offset + at as u64,
                record: number,
                kind: ReadErrorKind::Field { id, fault },
            })?;
        Ok(Some(EventRecord {
            offset,
            number,
            time: group.time,
            attributes: attributes.unwrap_or(AttributeList::new(&[])),
            id: group.id,
            event,
            body: &bytes[group.body.clone()],
        }))
    }

    fn decode(&self, group: &EventGroup) -> Result<DecodedGroup<'_>, GroupStop> {
        decode_group(self.window.bytes(), group, self.endian).map_err(|(at, id, fault)| GroupStop {
            offset: self.window.offset() + at as u64,
            kind: ReadErrorKind::Field { id, fault },
        })
    }

    fn finish_group(&mut self, group: &EventGroup) {
        if group.time < self.time {
            self.counts.step_back(self.time - group.time, self.window.offset());
        }
        self.time = group.time;
        self.counts.events += 1;
        self.counts.attribute_lists += u64::from(group.attributes.is_some());
        self.window.advance(group.body.end);
    }

    #[cold]
    fn error(&mut self, stop: GroupStop) -> ReadError {
        self.state = ReadState::Ended;
        let record = self.number(self.counts.events);
        ReadError { file: self.file.clone(), offset: stop.offset, record, kind: stop.kind }
    }

    /// Number in the file of the event after `n_before` others; the first number is the claim of a header.
    fn number(&self, n_before: u64) -> u64 {
        self.first_event.saturating_add(n_before)
    }

    /// Finds the next event and holds all of it, with what comes before it, in the window.
    fn next_group(&mut self) -> Result<Option<EventGroup>, GroupStop> {
        if self.state == ReadState::Ended {
            return Ok(None);
        }
        let mut time = self.time;
        let mut attributes = None;
        let mut at = 0;
        loop {
            if self.window.offset() + at as u64 == self.chunk_end {
                // A chunk that is full to its last byte.
                if self.end_chunk(at)? {
                    return Ok(None);
                }
                at = 0;
                attributes = None;
            }
            let id = self.byte(at)?;
            match id {
                TIMESTAMP => {
                    self.need(at, 9)?;
                    time = self.cursor(at + 1).u64_full().map_err(|fault| self.field(at, id, fault))?;
                    at += 9;
                }
                ATTRIBUTE_LIST => {
                    let body = self.sized_body(at)?;
                    at = body.end;
                    attributes = Some(body);
                }
                END_OF_CHUNK => {
                    if self.end_chunk(at)? {
                        return Ok(None);
                    }
                    at = 0;
                    attributes = None;
                }
                END_OF_FILE | END_OF_BUFFER => {
                    self.end_file(at, id)?;
                    return Ok(None);
                }
                CHUNK_HEADER => return Err(self.stop(at, ReadErrorKind::EarlyChunkHeader)),
                _ if id < FIRST_EVENT => {
                    // Not an event in any version so far; a length follows.
                    at = self.sized_body(at)?.end;
                    self.counts.unknown_record(id);
                }
                _ => {
                    let bare = EventKinds::BARE.contains_id(id);
                    let body = if bare { self.bare_body(at)? } else { self.sized_body(at)? };
                    return Ok(Some(EventGroup { time, attributes, id, id_at: at, body }));
                }
            }
        }
    }

    /// Holds `n` bytes from place `at` of the window on.
    fn need(&mut self, at: usize, n: usize) -> Result<(), GroupStop> {
        let left = self.chunk_end.saturating_sub(self.window.offset() + at as u64);
        if left < n as u64 && self.chunk_end != u64::MAX {
            return Err(self.stop(at, ReadErrorKind::RecordPastChunk { len: n as u64, left }));
        }
        match self.window.fill(at.saturating_add(n)) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let held = self.window.available().saturating_sub(at);
                Err(self.stop(at, ReadErrorKind::Truncated { needed: (n - held.min(n)) as u64 }))
            }
            Err(error) => Err(self.stop(at, ReadErrorKind::Io(error))),
        }
    }

    fn byte(&mut self, at: usize) -> Result<u8, GroupStop> {
        match self.window.fill(at + 1) {
            Ok(true) => Ok(self.window.bytes()[at]),
            Ok(false) => Err(self.stop(at, ReadErrorKind::NoEnd)),
            Err(error) => Err(self.stop(at, ReadErrorKind::Io(error))),
        }
    }

    fn cursor(&self, at: usize) -> Cursor<'_> {
        let bytes = self.window.bytes();
        Cursor::within(bytes, at, bytes.len(), self.endian)
    }

    /// The bytes of a record's fields; the record's id lies at `at`.
    fn sized_body(&mut self, at: usize) -> Result<Range<usize>, GroupStop> {
        self.need(at, 2)?;
        let short = self.window.bytes()[at + 1];
        let (start, len) = if short == 0xff {
            self.need(at, 10)?;
            let id = self.window.bytes()[at];
            let len = self.cursor(at + 2).u64_full().map_err(|fault| self.field(at, id, fault))?;
            (at + 10, usize::try_from(len).unwrap_or(usize::MAX / 2))
        } else {
            (at + 2, usize::from(short))
        };
        self.need(at, (start - at).saturating_add(len))?;
        Ok(start..start + len)
    }

    fn bare_body(&mut self, at: usize) -> Result<Range<usize>, GroupStop> {
        self.need(at, 2)?;
        let digits = self.window.bytes()[at + 1];
        // A claim of more than eight digits is found wrong when the field is read.
        let n = if digits <= 8 { usize::from(digits) } else { 0 };
        self.need(at, 2 + n)?;
        Ok(at + 1..at + 2 + n)
    }

    fn stop(&self, at: usize, kind: ReadErrorKind) -> GroupStop {
        GroupStop { offset: self.window.offset() + at as u64, kind }
    }

    fn field(&self, at: usize, id: u8, fault: Fault) -> GroupStop {
        self.stop(at, ReadErrorKind::Field { id, fault })
    }

    /// Goes from the end of a chunk to the next; gives back whether that was the last.
    fn end_chunk(&mut self, at: usize) -> Result<bool, GroupStop> {
        self.count_chunk();
        let here = self.window.offset() + at as u64;
        if self.one_chunk {
            self.state = ReadState::Ended;
            return Ok(true);
        }
        self.window.advance(at);
        let found = match self.chunk_bytes {
            Some(_) => {
                self.window.skip_to(self.chunk_end).and_then(|there| Ok(there && self.window.fill(1)?))
            }
            None => self.window.skip_zeros(),
        };
        match found {
            Ok(true) => {}
            Ok(false) => return Err(GroupStop { offset: here, kind: ReadErrorKind::NoEnd }),
            Err(error) => return Err(GroupStop { offset: here, kind: ReadErrorKind::Io(error) }),
        }
        self.begin_chunk()?;
        Ok(false)
    }

    fn end_file(&mut self, at: usize, id: u8) -> Result<(), GroupStop> {
        if id == END_OF_FILE {
            let last = self.byte(at + 1)?;
            if last != END_OF_BUFFER {
                return Err(self.stop(at + 1, ReadErrorKind::NoEnd));
            }
        }
        self.window.advance(at + if id == END_OF_FILE { 2 } else { 1 });
        self.count_chunk();
        self.state = ReadState::Ended;
        Ok(())
    }

    fn count_chunk(&mut self) {
        if self.counts.events - self.events_before_chunk != self.claimed_by_chunk {
            self.counts.chunks_miscounted += 1;
        }
        self.events_before_chunk = self.counts.events;
    }

    fn begin_chunk(&mut self) -> Result<(), GroupStop> {
        match self.window.fill(CHUNK_HEADER_BYTES) {
            Ok(true) => {}
            Ok(false) => {
                let needed = (CHUNK_HEADER_BYTES - self.window.available()) as u64;
                return Err(self.stop(0, ReadErrorKind::Truncated { needed }));
            }
            Err(error) => return Err(self.stop(0, ReadErrorKind::Io(error))),
        }
        let header = parse_chunk_header(self.window.bytes()).map_err(|(at, kind)| self.stop(at, kind))?;
        self.endian = header.endian;
        self.claimed_by_chunk = header.n_events();
        self.counts.events_claimed = self.counts.events_claimed.saturating_add(self.claimed_by_chunk);
        self.counts.chunks += 1;
        self.chunk_end = self.chunk_bytes.map_or(u64::MAX, |size| {
            let start = self.window.offset();
            (start - start % size).saturating_add(size.get())
        });
        self.window.advance(CHUNK_HEADER_BYTES);
        Ok(())
    }
}

/// Attributes, event, and bytes after its fields.
type DecodedGroup<'a> = (Option<AttributeList<'a>>, Option<Event<'a>>, usize);

fn decode_group<'a>(
    bytes: &'a [u8],
    group: &EventGroup,
    endian: Endian,
) -> Result<DecodedGroup<'a>, (usize, u8, Fault)> {
    let mut attributes = None;
    if let Some(range) = &group.attributes {
        let mut cursor = Cursor::within(bytes, range.start, range.end, endian);
        let list = cursor.u32().and_then(|n| AttributeList::get(u64::from(n), &mut cursor));
        attributes = Some(list.map_err(|fault| (cursor.position(), ATTRIBUTE_LIST, fault))?);
    }
    let mut cursor = Cursor::within(bytes, group.body.start, group.body.end, endian);
    let event = Event::decode(group.id, &mut cursor).map_err(|fault| (cursor.position(), group.id, fault))?;
    Ok((attributes, event, cursor.left()))
}
