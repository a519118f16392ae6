//! A whole file, from its first bracket to its last: events to the collector, the head to the file's facts.
//!
//! Files broken in the ways tracers break them are read: a missing end of the array, extra commas, control
//! characters, a last object that is cut, garbage between events. Each is reported with its offset.

use super::ahead::{Ahead, EventReaders};
use super::collect::{Collector, ProcessGroup};
use super::event::{Event, EventReader};
use super::laid::{LaidTrack, lay_out_tracks};
use super::record::Store;
use super::scan::{JsonCursor, JsonValue, Text, TokenStop, ValueKind, plain};
use super::window::Window;
use ouzel_files::memory;
use ouzel_model::{Level, Notice, NoticeCode, ReadError};
use serde_json::Value as Json;
use std::io;

/// A file that was read.
#[derive(Debug)]
pub(super) struct ReadFile {
    pub collector: Collector,
    pub tracks: Vec<LaidTrack>,
    /// What had to be repaired.
    pub notices: Vec<Notice>,
}

/// Reads the file of a number; its records go to `store`.
///
/// # Errors
/// If it cannot be read or holds nothing of a trace, or the temporary file cannot be used.
pub(super) fn read(nth: usize, window: Window, ahead: Ahead, store: Store) -> Result<ReadFile, ReadError> {
    let mut file = File {
        ahead,
        readers: EventReaders::default(),
        reader: EventReader::default(),
        collector: Collector::new(nth, window.file().clone(), store),
        window,
        notices: Vec::new(),
        profile: Vec::new(),
        is_trace: false,
    };
    file.whole()?;
    let File { window, mut collector, mut notices, profile, is_trace, .. } = file;
    if !profile.is_empty() {
        let text = [b"{", &profile.join(&b","[..])[..], b"}"].concat();
        collector.cpu_profile(&text).map_err(|error| window.error(0, 0, error.to_string()))?;
    } else if !is_trace {
        return Err(window.error(0, 0, "it has no array of trace events"));
    }
    let ended = end(&mut collector);
    let tracks = ended.map_err(|error| window.error(0, collector.n_events, error.to_string()))?;
    let say = |level, code, message: String| Notice::new(level, code, message).in_file(window.file().clone());
    if let Some(damage) = &window.damage {
        let message = format!("the file cannot be read further ({damage}); the events before that were kept");
        notices.push(say(Level::High, NoticeCode::DamagedEvents, message).at(window.offset(0)));
    }
    if 0 < window.n_control {
        let message = "control characters that JSON does not allow were read as is".to_owned();
        notices.push(say(Level::Low, NoticeCode::DamagedEvents, message).times(window.n_control));
    }
    Ok(ReadFile { collector, tracks, notices })
}

/// Ends what is open at the end of a file, and lays out its tracks.
fn end(collector: &mut Collector) -> io::Result<Vec<LaidTrack>> {
    collector.end_syncs();
    collector.end_spans()?;
    collector.store.close_all()?;
    lay_out_tracks(collector)
}

const CANNOT_WRITE: &str = "the temporary file cannot be written";

struct File {
    window: Window,
    ahead: Ahead,
    readers: EventReaders,
    /// Of events that are not read ahead.
    reader: EventReader,
    collector: Collector,
    notices: Vec<Notice>,
    /// Members of a `.cpuprofile`.
    profile: Vec<Vec<u8>>,
    is_trace: bool,
}

/// How a list of events ended.
enum End {
    Bracket,
    Cut,
}

impl File {
    fn say(&mut self, level: Level, message: impl Into<String>, ahead: usize) {
        let notice = Notice::new(level, NoticeCode::DamagedEvents, message);
        let (file, offset) = (self.window.file().clone(), self.window.offset(ahead));
        self.notices.push(notice.in_file(file).at(offset));
    }

    /// The next byte that is not white space, or `None` at the end.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let mut cursor = JsonCursor::new(self.window.rest());
            let found = cursor.peek();
            self.window.at += cursor.at;
            match found {
                Ok(byte) => return Some(byte),
                Err(_) if self.window.grow() => {}
                Err(_) => return None,
            }
        }
    }

    fn whole(&mut self) -> Result<(), ReadError> {
        self.window.grow();
        if self.window.rest().starts_with(b"\xef\xbb\xbf") {
            self.window.at += 3;
        }
        match self.peek() {
            Some(b'[') => {
                self.is_trace = true;
                self.window.at += 1;
                if let End::Cut = self.events(false)? {
                    let what = "the array of events has no end; its events were kept";
                    self.say(Level::Low, what, 0);
                }
            }
            Some(b'{') => self.object()?,
            Some(_) => return Err(self.window.error(0, 0, "neither an array nor an object")),
            None => return Err(self.window.error(0, 0, "the file is empty")),
        }
        if self.peek().is_some() {
            self.say(Level::Low, "data after the end of the trace was not read", 0);
        }
        Ok(())
    }

    /// The members of the outermost object.
    fn object(&mut self) -> Result<(), ReadError> {
        self.window.at += 1;
        loop {
            let Some(key) = self.member_key() else { return Ok(()) };
            match (&key[..], self.peek()) {
                (_, None) => {
                    self.say(Level::Low, "the outermost object has no end", 0);
                    return Ok(());
                }
                (b"traceEvents", Some(b'[')) => {
                    self.is_trace = true;
                    self.window.at += 1;
                    if let End::Cut = self.events(false)? {
                        let what = "the array of events has no end; its events were kept";
                        self.say(Level::Medium, what, 0);
                        return Ok(());
                    }
                }
                (b"samples", Some(b'[')) if self.samples_are_objects() => {
                    self.window.at += 1;
                    if let End::Cut = self.events(true)? {
                        self.say(Level::Medium, "the array of samples has no end", 0);
                        return Ok(());
                    }
                }
                _ => {
                    if !self.member(&key) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The next key of the outermost object; `None` at its end or where it is broken, which is reported.
    fn member_key(&mut self) -> Option<Vec<u8>> {
        loop {
            let mut cursor = JsonCursor::new(self.window.rest());
            let found = cursor.key().map(|key| key.map(|key| key.raw.to_vec()));
            let at = cursor.at;
            match found {
                Ok(key) => {
                    self.window.at += at;
                    return key;
                }
                Err(TokenStop::End) if self.window.grow() => {}
                Err(stop) => {
                    let what = match stop {
                        TokenStop::End => "the outermost object has no end".to_owned(),
                        TokenStop::Bad(rule) => {
                            format!("{rule} in the outermost object; the rest was not read")
                        }
                    };
                    self.say(Level::Medium, what, at);
                    self.window.at += self.window.rest().len();
                    return None;
                }
            }
        }
    }

    /// Any other member: kept if it means something. `false` if it cannot be read, which is reported.
    fn member(&mut self, key: &[u8]) -> bool {
        loop {
            let mut cursor = JsonCursor::new(self.window.rest());
            let found = cursor.value();
            let end = cursor.at;
            let stop = match found {
                Ok(value) => {
                    take_member(key, value, &mut self.collector, &mut self.profile);
                    self.window.at += end;
                    return true;
                }
                Err(stop) => stop,
            };
            match stop {
                TokenStop::End if self.window.grow() => {}
                _ => {
                    let name = String::from_utf8_lossy(key).into_owned();
                    self.say(
                        Level::Medium,
                        format!("member {name:?} and everything after it cannot be read"),
                        0,
                    );
                    self.window.at += self.window.rest().len();
                    return false;
                }
            }
        }
    }

    /// Whether the array at the position holds objects: samples of frames, not those of a CPU profile.
    fn samples_are_objects(&mut self) -> bool {
        let is_object =
            |rest: &[u8]| rest.iter().skip(1).find(|b| !b.is_ascii_whitespace()).map(|b| *b == b'{');
        loop {
            if let Some(found) = is_object(self.window.rest()) {
                return found;
            }
            if !self.window.grow() {
                return false;
            }
        }
    }

    /// The events of an array whose bracket is read: the hot loop.
    fn events(&mut self, are_samples: bool) -> Result<End, ReadError> {
        loop {
            memory::check()
                .map_err(|reached| self.window.error(0, 0, format!("it has too many records: {reached}")))?;
            if self.events_ahead(are_samples)? {
                continue;
            }
            let base = self.window.offset(0);
            let mut cursor = JsonCursor::new(self.window.rest());
            let mut done = 0;
            let stop = loop {
                match cursor.peek() {
                    Ok(b',') => cursor.at += 1,
                    Ok(b']') => {
                        self.window.at += cursor.at + 1;
                        return Ok(End::Bracket);
                    }
                    Ok(_) => match take_event(
                        (&mut cursor, &mut self.reader),
                        &mut self.collector,
                        are_samples,
                        base + done as u64,
                    ) {
                        Ok(()) => {}
                        Err(Broken::Text(stop)) => break stop,
                        Err(Broken::Scratch(error)) => {
                            let reason = format!("{CANNOT_WRITE}: {error}");
                            return Err(self.window.error(done, 0, reason));
                        }
                    },
                    Err(stop) => break stop,
                }
                done = cursor.at;
            };
            let at = cursor.at;
            self.window.at += done;
            match stop {
                TokenStop::End if self.window.grow() => {}
                TokenStop::End => {
                    self.cut_event();
                    return Ok(End::Cut);
                }
                TokenStop::Bad(rule) => {
                    let what = format!("an event is damaged and was left out: {rule}");
                    self.say(Level::High, what, at - done);
                    self.skip_damage(at - done);
                }
            }
            if NOTICES_MAX < self.notices.len() {
                self.say(Level::High, "too much is damaged; the rest was not read", 0);
                self.window.give_up();
                return Ok(End::Cut);
            }
        }
    }

    /// Reads a stretch of events by several threads; `false` if there is little left, or something is not as usual.
    fn events_ahead(&mut self, are_samples: bool) -> Result<bool, ReadError> {
        let wanted = self.ahead.n_bytes();
        if wanted == 0 || !self.window.fill(wanted) {
            return Ok(false);
        }
        let base = self.window.offset(0);
        let done = self.ahead.read(self.window.rest(), &mut self.readers, |event, at| {
            if are_samples {
                event.phase = b'P';
            }
            self.collector.event(event, base + at as u64)
        });
        match done {
            Ok(done) => {
                self.window.at += done.n_bytes;
                Ok(done.is_clean && 0 < done.n_bytes)
            }
            Err((at, error)) => Err(self.window.error(at, 0, format!("{CANNOT_WRITE}: {error}"))),
        }
    }

    /// Reports that the text ends inside of an event, if it does.
    fn cut_event(&mut self) {
        if self.window.rest().iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let what = if self.window.is_full() {
            "an event is too long to read; the rest was not read"
        } else {
            "the last event is truncated and was left out"
        };
        self.say(Level::High, what, 0);
        self.window.at += self.window.rest().len();
    }

    /// Goes on after damage that is `ahead` of the position, at the next `{` that begins an event: one that follows
    /// a comma, a bracket or a line break, and is followed by a key.
    fn skip_damage(&mut self, ahead: usize) {
        self.window.at += ahead.max(1).min(self.window.rest().len());
        let begin = self.window.offset(0);
        loop {
            if DAMAGE_BYTES_MAX < self.window.offset(0) - begin {
                let what = "no event follows the damage for a long way; the rest was not read";
                self.say(Level::High, what, 0);
                self.window.give_up();
                return;
            }
            let rest = self.window.rest();
            let is_event = |i: &usize| {
                let before = rest[..*i].iter().rev().find(|b| !b.is_ascii_whitespace());
                let after = rest[*i + 1..].iter().find(|b| !b.is_ascii_whitespace());
                matches!(before, Some(b',' | b'[' | b'}')) && matches!(after, Some(b'"'))
            };
            let found = memchr::memchr_iter(b'{', rest).find(is_event);
            if let Some(at) = found {
                self.window.at += at;
                return;
            }
            // The sign before a bracket at the border must be seen, too.
            self.window.at += rest.len().saturating_sub(64);
            if !self.window.grow() {
                self.window.at += self.window.rest().len();
                return;
            }
        }
    }
}

/// Why an event could not be taken.
enum Broken {
    /// It cannot be read.
    Text(TokenStop),
    /// It cannot be kept.
    Scratch(io::Error),
}

/// Reads an event and adds it.
#[inline]
fn take_event(
    (cursor, reader): (&mut JsonCursor<'_>, &mut EventReader),
    collector: &mut Collector,
    are_samples: bool,
    offset: u64,
) -> Result<(), Broken> {
    reader.clear();
    reader.read(cursor, 0).map_err(Broken::Text)?;
    let mut event = Event::default();
    reader.get(0, cursor.bytes, &mut event);
    if are_samples {
        event.phase = b'P';
    }
    collector.event(&event, offset).map_err(Broken::Scratch)
}

/// Text without an event that is searched for the next one before the rest is given up. Files with holes have more.
const DAMAGE_BYTES_MAX: u64 = 256 << 20;

/// Pieces of damage that are reported one by one before the rest is given up.
const NOTICES_MAX: usize = 1000;

/// Keeps what a member of the outermost object says.
fn take_member(key: &[u8], value: JsonValue<'_>, collector: &mut Collector, profile: &mut Vec<Vec<u8>>) {
    let json = |value: JsonValue<'_>| {
        value.nested().and_then(|raw| serde_json::from_slice::<Json>(raw).ok()).unwrap_or(Json::Null)
    };
    match key {
        b"nodes" | b"samples" | b"timeDeltas" | b"startTime" | b"endTime" => {
            if let ValueKind::Nested | ValueKind::Bare = value.kind {
                let raw = value.nested().unwrap_or(value.raw());
                profile.push([b"\"", key, b"\":", raw].concat());
            }
        }
        b"stackFrames" => {
            if let Some(raw) = value.nested() {
                collector.stack_frames(raw);
            }
        }
        b"schemaVersion" | b"traceName" | b"trace_id" => collector.file.is_kineto = true,
        b"deviceProperties" => {
            let devices = json(value);
            let name = |device: &Json| device.get("name")?.as_str().map(str::to_owned);
            collector.file.devices = devices.as_array().into_iter().flatten().filter_map(name).collect();
        }
        b"distributedInfo" => distributed(&json(value), collector),
        b"baseTimeNanoseconds" => {
            let text = std::str::from_utf8(value.raw()).ok();
            collector.file.base_ns = text.and_then(|text| text.parse().ok());
        }
        b"host_name" => {
            let text = Text::plain(value.raw());
            collector.file.host = Some(plain(text)).filter(|host| !host.is_empty());
        }
        b"systemTraceEvents" | b"controllerTraceDataKey" | b"powerTraceAsString" => {
            let name = String::from_utf8_lossy(key).into_owned();
            collector.note(Level::Low, NoticeCode::NotRepresented, format!("system data ({name:?})"));
        }
        _ => {}
    }
}

/// Rank, size of the world and process groups.
fn distributed(info: &Json, collector: &mut Collector) {
    let number = |value: Option<&Json>| value.and_then(Json::as_u64).and_then(|n| u32::try_from(n).ok());
    collector.file.rank = number(info.get("rank"));
    collector.file.world_size = number(info.get("world_size"));
    collector.file.is_kineto = true;
    for group in info.get("pg_config").and_then(Json::as_array).into_iter().flatten() {
        let name = match group.get("pg_name") {
            Some(Json::String(name)) => name.clone(),
            Some(Json::Number(name)) => name.to_string(),
            _ => continue,
        };
        let ranks = group.get("ranks").and_then(Json::as_array);
        let ranks: Option<Vec<u32>> =
            ranks.and_then(|ranks| ranks.iter().map(|rank| number(Some(rank))).collect());
        let group = ProcessGroup {
            name,
            ranks: ranks.unwrap_or_default(),
            size: group.get("pg_size").and_then(Json::as_u64),
        };
        let is_known = |known: &ProcessGroup| known.name == group.name && known.ranks == group.ranks;
        if !collector.process_groups.iter().any(is_known) {
            collector.process_groups.push(group);
        }
    }
}
