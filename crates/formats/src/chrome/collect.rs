//! From event objects to records: one [`Collector`] sees every event of a file.
//!
//! ```text
//! event ──pid, tid, category──► track        slice, begin, end, mark, sample, value, flow ──► records of the track
//!       ──name, class─────────► region
//! ```
//!
//! Law: every event becomes a record or is counted by name in a notice. Nesting and order: see `lanes`.

use super::bits::Bits;
use super::drivers::Drivers;
use super::event::Event;
use super::flows::{AsyncSpans, Flows};
use super::kinds::{self, ActivityClass};
use super::names::{ChromeRegions, RegionDraft, TextTable};
use super::number::{ns_from_us, u64_from};
use super::record::{RecordKind, Store, TrackRecord};
use super::resources::{CallResources, LaunchShapes, MEMORY, PROFILER_RANGE};
use super::samples::Samples;
use super::scan::{Escapes, JsonCursor, JsonValue, Text, plain};
use super::syncs::StreamSyncs;
use super::track::{GroupDraft, N_TRACK_KINDS, TrackDraft, TrackKind};
use crate::position::u32_from;
use ouzel_model::{CollectiveOp, Level, NoticeCode};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// What a call has besides its region and times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail {
    /// As in [`TrackRecord::link`].
    pub link: u64,
    pub what: DetailKind,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum DetailKind {
    /// Bytes copied.
    Bytes(u64),
    /// Number of the step.
    Step(u64),
    /// A collective; `group` is an index into [`Collector::process_groups`].
    Collective { op: CollectiveOp, group: u32, bytes_sent: u64, bytes_received: u64, on_host: bool },
}

/// A process group as events or the file's head name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessGroup {
    pub name: String,
    /// World ranks; empty if not given.
    pub ranks: Vec<u32>,
    pub size: Option<u64>,
}

impl ProcessGroup {
    /// The group of a name, and of these members where both are known.
    pub fn find(groups: &[ProcessGroup], name: &str, ranks: &[u32]) -> Option<usize> {
        groups.iter().position(|group| {
            let agree = ranks.is_empty() || group.ranks.is_empty() || ranks == group.ranks;
            group.name == name && agree
        })
    }
}

/// What is known of one file.
#[derive(Debug, Default)]
pub(super) struct FileFacts {
    pub name: Arc<str>,
    pub rank: Option<u32>,
    pub world_size: Option<u32>,
    /// Nanoseconds since 1970 that times count from.
    pub base_ns: Option<i64>,
    pub host: Option<String>,
    pub devices: Vec<String>,
    /// First and last time of a record.
    pub span_ns: Option<(i64, i64)>,
    /// First time of each step number.
    pub steps: BTreeMap<u64, i64>,
    /// Whether Kineto wrote it.
    pub is_kineto: bool,
    pub has_device_collectives: bool,
}

/// How often something was seen, and the offset of the first time.
type Seen = (u64, u64);

/// Everything read of a file so far.
#[derive(Debug)]
pub(super) struct Collector {
    /// Which of the trace's files it is.
    pub nth: usize,
    pub file: FileFacts,
    pub store: Store,
    pub regions: ChromeRegions,
    pub marks: TextTable,
    pub metrics: TextTable,
    pub details: Vec<Detail>,
    pub tracks: Vec<TrackDraft>,
    pub groups: Vec<GroupDraft>,
    pub process_groups: Vec<ProcessGroup>,
    pub samples: Samples,
    pub shapes: LaunchShapes,
    pub of_calls: CallResources,
    /// Names of threads, by group and tid.
    pub thread_names: BTreeMap<(usize, String), String>,
    /// Correlations seen at launches, and at what was launched.
    pub launches: Bits,
    pub launched: Bits,
    pub drivers: Drivers,
    pub n_events: u64,
    pub flows: Flows,
    pub spans: AsyncSpans,
    pub syncs: StreamSyncs,
    pub track_ids: FxHashMap<Box<[u8]>, u32>,
    group_ids: FxHashMap<Box<[u8]>, usize>,
    key: Vec<u8>,
    /// By kind, as events on threads and on streams alternate.
    last_tracks: [Option<(Vec<u8>, u32)>; N_TRACK_KINDS],
    oddities: BTreeMap<(Level, NoticeCode, String), Seen>,
    /// Times with digits below the nanosecond.
    rounded: Option<Seen>,
    offset: u64,
}

impl Collector {
    /// Of the file of a number and name, with the store of its records.
    pub(crate) fn new(nth: usize, name: Arc<str>, store: Store) -> Self {
        Collector {
            nth,
            file: FileFacts { name, ..FileFacts::default() },
            store,
            regions: ChromeRegions::default(),
            marks: TextTable::default(),
            metrics: TextTable::default(),
            details: Vec::new(),
            tracks: Vec::new(),
            groups: Vec::new(),
            process_groups: Vec::new(),
            samples: Samples::default(),
            shapes: LaunchShapes::default(),
            of_calls: CallResources::default(),
            thread_names: BTreeMap::new(),
            launches: Bits::default(),
            launched: Bits::default(),
            drivers: Drivers::default(),
            n_events: 0,
            flows: Flows::new(nth),
            spans: AsyncSpans::default(),
            syncs: StreamSyncs::default(),
            track_ids: FxHashMap::default(),
            group_ids: FxHashMap::default(),
            key: Vec::new(),
            last_tracks: Default::default(),
            oddities: BTreeMap::new(),
            rounded: None,
            offset: 0,
        }
    }

    /// Counts something that is not as it should be, or has no place in the model.
    pub fn note(&mut self, level: Level, code: NoticeCode, what: impl Into<String>) {
        self.oddities.entry((level, code, what.into())).or_insert((0, self.offset)).0 += 1;
    }

    /// Counts a time with more digits than a nanosecond; in some traces, every time has them.
    #[inline]
    fn note_rounded(&mut self) {
        self.rounded.get_or_insert((0, self.offset)).0 += 1;
    }

    /// Everything counted, each with how often it was seen and the offset of the first time.
    pub(crate) fn take_oddities(&mut self) -> BTreeMap<(Level, NoticeCode, String), Seen> {
        if let Some(rounded) = self.rounded.take() {
            let what = "digits below the nanosecond were rounded".to_owned();
            self.oddities.insert((Level::Low, NoticeCode::NotRepresented, what), rounded);
        }
        std::mem::take(&mut self.oddities)
    }

    /// Adds one event, found at `offset`.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub fn event(&mut self, event: &Event<'_>, offset: u64) -> io::Result<()> {
        self.offset = offset;
        self.n_events += 1;
        if event.phase == b'M' {
            self.metadata(event);
            return Ok(());
        }
        let Some(time) = ns_from_us(event.time.raw()) else {
            // Some writers close their list with `{}`, because every event before ends with a comma.
            if event.phase == 0 && event.time.raw().is_empty() && event.name.raw.is_empty() {
                let what = "objects without name, phase and time are not events";
                self.note(Level::Low, NoticeCode::NotRepresented, what);
            } else {
                let what = "events without a readable time were left out";
                self.note(Level::High, NoticeCode::DamagedEvents, what);
            }
            return Ok(());
        };
        if time.is_rounded {
            self.note_rounded();
        }
        match event.phase {
            b'X' if event.category == PROFILER_RANGE => self.profiler_range(event, time.ns),
            b'X' => self.slice(event, time.ns),
            b'B' => self.begin(event, time.ns),
            b'E' => {
                let track = self.track(event, TrackKind::Thread);
                self.push(track, time.ns, 0, RecordKind::End, 0, 0)
            }
            b'i' | b'I' | b'R' if event.name.raw == MEMORY => self.memory(event, time.ns),
            b'i' | b'I' | b'R' => {
                let track = self.track(event, TrackKind::Thread);
                let what = self.marks.id(event.name);
                self.push(track, time.ns, 0, RecordKind::Mark, what, 0)
            }
            b'C' => self.counter(event, time.ns),
            b's' | b't' | b'f' => self.flow(event, time.ns),
            b'b' | b'e' | b'n' | b'S' | b'T' | b'p' | b'F' => self.async_event(event, time.ns),
            b'P' => self.sample(event, time.ns),
            phase => {
                self.unrepresented(phase);
                Ok(())
            }
        }
    }

    fn unrepresented(&mut self, phase: u8) {
        let what = match phase {
            b'N' => "objects created (phase N)".to_owned(),
            b'O' => "snapshots of objects (phase O)".to_owned(),
            b'D' => "objects destroyed (phase D)".to_owned(),
            b'c' => "clock synchronisations (phase c)".to_owned(),
            b'v' | b'V' => "memory dumps (phase v)".to_owned(),
            b'(' | b')' => "contexts (phases ( and ))".to_owned(),
            0 => "events without a phase".to_owned(),
            other => format!("events of phase {:?}", char::from(other)),
        };
        self.note(Level::Low, NoticeCode::NotRepresented, format!("{what} have no place in the model"));
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a record, in the hot path")]
    pub(super) fn push(
        &mut self,
        track: u32,
        at_ns: i64,
        length_ns: i64,
        kind: RecordKind,
        what: u32,
        link: u64,
    ) -> io::Result<()> {
        let record = TrackRecord { at_ns, length_ns, link, what, kind, shape: 0 };
        self.push_record(track, record)
    }

    fn push_record(&mut self, track: u32, record: TrackRecord) -> io::Result<()> {
        let TrackRecord { at_ns, length_ns, .. } = record;
        let span = &mut self.file.span_ns;
        let end_ns = at_ns + length_ns;
        *span = Some(span.map_or((at_ns, end_ns), |(first, last)| (first.min(at_ns), last.max(end_ns))));
        let records = self.tracks[track as usize].records;
        self.store.push(records, record)
    }

    fn begin(&mut self, event: &Event<'_>, at_ns: i64) -> io::Result<()> {
        let track = self.track(event, TrackKind::Thread);
        let class = kinds::class(event.category);
        let class = if matches!(class, ActivityClass::Runtime | ActivityClass::Python) {
            class
        } else {
            ActivityClass::Code
        };
        let what = self.regions.id(class, event.name, |name| RegionDraft { name, class, op: None });
        self.push(track, at_ns, 0, RecordKind::Begin, what, 0)
    }

    /// A call with its length.
    fn slice(&mut self, event: &Event<'_>, at_ns: i64) -> io::Result<()> {
        let class = kinds::class(event.category);
        let length_ns = self.length(event);
        let track_kind = match class {
            ActivityClass::Kernel | ActivityClass::Copy => TrackKind::Stream,
            ActivityClass::DeviceRange => TrackKind::DeviceRanges,
            ActivityClass::Sync => TrackKind::Waits,
            _ => TrackKind::Thread,
        };
        let track = self.track(event, track_kind);
        let mut link = match event.args.correlation {
            [] => 0,
            text => u64_from(text).map_or(0, |correlation| self.link(correlation)),
        };
        match class {
            ActivityClass::Kernel | ActivityClass::Copy | ActivityClass::Sync if link != 0 => {
                self.launched.insert(link);
                if track_kind == TrackKind::Stream {
                    self.drivers.run(track, link);
                }
            }
            ActivityClass::Runtime if link != 0 => {
                self.launches.insert(link);
                self.drivers.launch(self.tracks[track as usize].group, link);
                self.keep_resources(event, link);
            }
            ActivityClass::Kernel | ActivityClass::Copy | ActivityClass::Sync | ActivityClass::Runtime => {}
            _ => link = 0,
        }
        if class == ActivityClass::Sync && link != 0 {
            self.sync(event, link);
        }
        let (what, mut detail) = self.meaning(event, class, at_ns);
        let mut shape = if class == ActivityClass::Kernel { self.shape(&event.args) } else { 0 };
        match class {
            ActivityClass::Kernel if shape == 0 => shape = self.of_calls.shape(link),
            ActivityClass::Copy if detail.is_none() => {
                detail = self.of_calls.bytes(link).map(DetailKind::Bytes);
            }
            _ => {}
        }
        let (kind, link) = match detail {
            None => (RecordKind::Slice, link),
            Some(detail) => {
                self.details.push(Detail { link, what: detail });
                (RecordKind::DetailedSlice, (self.details.len() - 1) as u64)
            }
        };
        self.push_record(track, TrackRecord { at_ns, length_ns, link, what, kind, shape })?;
        if event.flow_in || event.flow_out {
            self.bound_flow(event, track, at_ns)?;
        }
        Ok(())
    }

    /// The link of a correlation of the file: others have others.
    pub(super) fn link(&self, correlation: u64) -> u64 {
        let file_bits = ((self.nth as u64 + 1) & 0xf_ffff) << 40;
        1 + (file_bits | (correlation & LOW_40))
    }

    pub(super) fn length(&mut self, event: &Event<'_>) -> i64 {
        if event.duration.is_missing() {
            return 0;
        }
        match ns_from_us(event.duration.raw()) {
            Some(length) if 0 <= length.ns => {
                if length.is_rounded {
                    self.note_rounded();
                }
                length.ns
            }
            _ => {
                let what = "calls whose duration is negative or not a number were given a duration of 0";
                self.note(Level::Medium, NoticeCode::DamagedEvents, what);
                0
            }
        }
    }

    /// The values of a counter event, one record each.
    fn counter(&mut self, event: &Event<'_>, at_ns: i64) -> io::Result<()> {
        let track = self.track(&Event { tid: JsonValue::default(), ..*event }, TrackKind::Counters);
        let mut cursor = JsonCursor::new(event.args.raw);
        if cursor.expect(b'{', "").is_err() {
            return Ok(());
        }
        while let Ok(Some(series)) = cursor.key() {
            let Ok(value) = cursor.value() else { break };
            let number = std::str::from_utf8(value.raw()).ok().and_then(|text| text.parse::<f64>().ok());
            let Some(number) = number.filter(|number| number.is_finite()) else {
                self.note(Level::Low, NoticeCode::NotRepresented, "counter values that are not numbers");
                continue;
            };
            let id = event.id.raw();
            let brackets: [&[u8]; 2] = if id.is_empty() { [b"", b""] } else { [b"[", b"]"] };
            let dot: &[u8] = if series.raw == b"value" { b"" } else { b"." };
            let suffix = if dot.is_empty() { &[] } else { series.raw };
            let name = [event.name.raw, brackets[0], id, brackets[1], dot, suffix].concat();
            let escapes = if event.name.escapes == Escapes::None { series.escapes } else { Escapes::Some };
            let what = self.metrics.id(Text { raw: &name, escapes });
            self.push(track, at_ns, 0, RecordKind::Counter, what, number.to_bits())?;
        }
        Ok(())
    }

    fn metadata(&mut self, event: &Event<'_>) {
        let name = plain(event.args.name);
        match event.name.raw {
            b"process_name" => {
                let group = self.group(event.pid);
                self.groups[group].name = Some(name).filter(|name| !name.is_empty());
            }
            b"process_labels" => {
                let group = self.group(event.pid);
                let labels = super::json::member(event.args.raw, b"labels");
                self.groups[group].labels = labels.map(|labels| labels.trim().to_owned());
            }
            b"thread_name" => {
                let group = self.group(event.pid);
                let tid = String::from_utf8_lossy(event.tid.raw()).into_owned();
                self.thread_names.insert((group, tid), name);
            }
            b"process_sort_index" | b"thread_sort_index" | b"process_uptime_seconds" => {}
            other => {
                let what = format!("metadata {:?}", String::from_utf8_lossy(other));
                self.note(Level::Low, NoticeCode::NotRepresented, what);
            }
        }
    }

    /// The group of a process id, made when it is new.
    pub(super) fn group(&mut self, pid: JsonValue<'_>) -> usize {
        if let Some(&group) = self.group_ids.get(pid.raw()) {
            return group;
        }
        let text = String::from_utf8_lossy(pid.raw()).into_owned();
        let draft = GroupDraft { file: self.nth, pid: text, name: None, labels: None, is_device: false };
        self.groups.push(draft);
        self.group_ids.insert(pid.raw().into(), self.groups.len() - 1);
        self.groups.len() - 1
    }

    /// The track of an event, made when it is new.
    #[inline]
    pub(super) fn track(&mut self, event: &Event<'_>, kind: TrackKind) -> u32 {
        self.set_key(event, kind);
        if let Some((key, track)) = &self.last_tracks[kind as usize]
            && *key == self.key
        {
            return *track;
        }
        let track = match self.track_ids.get(&self.key[..]) {
            Some(&track) => track,
            None => self.add_track(event, kind),
        };
        match &mut self.last_tracks[kind as usize] {
            Some((key, last)) => {
                key.clone_from(&self.key);
                *last = track;
            }
            none => *none = Some((self.key.clone(), track)),
        }
        track
    }

    /// Whether the track of an event was seen before.
    pub(super) fn has_track(&mut self, event: &Event<'_>, kind: TrackKind) -> bool {
        self.set_key(event, kind);
        self.track_ids.contains_key(&self.key[..])
    }

    /// What distinguishes the track of an event from others.
    fn set_key(&mut self, event: &Event<'_>, kind: TrackKind) {
        self.key.clear();
        self.key.push(kind as u8);
        self.key.extend_from_slice(event.pid.raw());
        self.key.push(0);
        self.key.extend_from_slice(if kind == TrackKind::Async { event.category } else { event.tid.raw() });
    }

    #[cold]
    fn add_track(&mut self, event: &Event<'_>, kind: TrackKind) -> u32 {
        let group = self.group(event.pid);
        self.groups[group].is_device |= kind == TrackKind::Stream;
        let tid = if kind == TrackKind::Async { event.category } else { event.tid.raw() };
        let tid = String::from_utf8_lossy(tid).into_owned();
        let records = self.store.add_track();
        self.tracks.push(TrackDraft { group, kind, tid, records });
        let track = u32_from(self.tracks.len() - 1);
        self.track_ids.insert(self.key[..].into(), track);
        track
    }
}

const LOW_40: u64 = (1 << 40) - 1;
