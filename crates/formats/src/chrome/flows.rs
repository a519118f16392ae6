//! Flow events, and spans of asynchronous operations that are matched by their id.
//!
//! Flows become links between the calls around their ends. Spans (`b`/`e`, older `S`/`F`) are matched here and
//! become calls on a track of their category. Kineto's flows from launch to kernel repeat the correlation ids, and
//! are skipped where those are present.

use super::collect::Collector;
use super::event::Event;
use super::kinds::ActivityClass;
use super::names::RegionDraft;
use super::record::RecordKind;
use super::track::TrackKind;
use ouzel_model::{Level, NoticeCode};
use rustc_hash::FxHashMap;
use std::io;

/// Flow ids of a file to numbers that no other file has.
#[derive(Debug)]
pub(super) struct Flows {
    ids: FxHashMap<Box<[u8]>, u64>,
    next: u64,
    n_launch: u64,
}

/// Links of flows have ids from here on; below are those of correlations.
pub(super) const FLOW_IDS: u64 = 1 << 62;

impl Flows {
    /// Of the file of a number.
    pub(crate) fn new(nth_file: usize) -> Self {
        let first = FLOW_IDS + ((nth_file as u64) << 40);
        Flows { ids: FxHashMap::default(), next: first, n_launch: 0 }
    }

    fn id(&mut self, key: &[u8]) -> u64 {
        if let Some(&id) = self.ids.get(key) {
            return id;
        }
        let id = self.next;
        self.next += 1;
        self.ids.insert(key.into(), id);
        id
    }
}

/// Spans that have begun.
#[derive(Debug, Default)]
pub(super) struct AsyncSpans {
    open: FxHashMap<Box<[u8]>, Vec<Span>>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    track: u32,
    region: u32,
    at_ns: i64,
}

/// Text that is equal for events of one operation: category, id and its scope, and the name if it counts.
fn key(event: &Event<'_>, with_name: bool) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    let (id, is_local) = match event.id2.nested() {
        Some(raw) => (raw, raw.windows(7).any(|word| word == b"\"local\"")),
        None => (event.id.raw(), false),
    };
    let pid = if is_local { event.pid.raw() } else { b"" };
    let name = if with_name { event.name.raw } else { b"" };
    for part in [event.category, event.scope.raw(), id, pid, name] {
        key.extend_from_slice(part);
        key.push(0);
    }
    key
}

impl Collector {
    /// Start, step or end of a flow.
    pub(super) fn flow(&mut self, event: &Event<'_>, at_ns: i64) -> io::Result<()> {
        if matches!(event.category, b"ac2g" | b"async_cpu_to_gpu" | b"async_gpu") {
            self.flows.n_launch += 1;
            return Ok(());
        }
        let id = self.flows.id(&key(event, true));
        // A flow on the row of a stream belongs to its kernels.
        let kind =
            if self.has_track(event, TrackKind::Stream) { TrackKind::Stream } else { TrackKind::Thread };
        let track = self.track(event, kind);
        let is_start = event.phase == b's';
        let kind = if is_start || event.binds_around { RecordKind::FlowAround } else { RecordKind::FlowNext };
        self.push(track, at_ns, 0, kind, u32::from(!is_start), id)
    }

    /// A flow that a call itself names (`bind_id`).
    pub(super) fn bound_flow(&mut self, event: &Event<'_>, track: u32, at_ns: i64) -> io::Result<()> {
        let bind = [b"bind\0", event.bind_id.raw()].concat();
        let id = self.flows.id(&bind);
        for (is_bound, end) in [(event.flow_out, 0), (event.flow_in, 1)] {
            if is_bound {
                self.push(track, at_ns, 0, RecordKind::FlowAround, end, id)?;
            }
        }
        Ok(())
    }

    /// An event in the life of an asynchronous operation.
    pub(super) fn async_event(&mut self, event: &Event<'_>, at_ns: i64) -> io::Result<()> {
        let track = self.track(event, TrackKind::Async);
        match event.phase {
            b'b' | b'S' => {
                let draft = |name| RegionDraft { name, class: ActivityClass::Code, op: None };
                let region = self.regions.id(ActivityClass::Code, event.name, draft);
                let key = key(event, event.phase == b'S');
                let span = Span { track, region, at_ns };
                self.spans.open.entry(key.into_boxed_slice()).or_default().push(span);
                Ok(())
            }
            b'e' | b'F' => {
                let key = key(event, event.phase == b'F');
                let Some(spans) = self.spans.open.get_mut(&key[..]) else {
                    self.note(Level::Medium, NoticeCode::UnmatchedLeaves, ORPHAN);
                    return Ok(());
                };
                let span = spans.pop();
                if spans.is_empty() {
                    self.spans.open.remove(&key[..]);
                }
                let Some(Span { track, region, at_ns: begin_ns }) = span else { return Ok(()) };
                let length_ns = at_ns - begin_ns;
                if length_ns < 0 {
                    let what =
                        "asynchronous operations that end before they begin were given a duration of 0";
                    self.note(Level::Medium, NoticeCode::DamagedEvents, what);
                }
                self.push(track, begin_ns, length_ns.max(0), RecordKind::Slice, region, 0)
            }
            _ => {
                let what = self.marks.id(event.name);
                self.push(track, at_ns, 0, RecordKind::Mark, what, 0)
            }
        }
    }

    /// Ends the file: what is open lasts to its last event.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub(super) fn end_spans(&mut self) -> io::Result<()> {
        let open = std::mem::take(&mut self.spans.open);
        let mut left: Vec<Span> = open.into_values().flatten().collect();
        left.sort_unstable_by_key(|span| (span.track, span.at_ns, span.region));
        let last_ns = self.file.span_ns.map_or(i64::MIN, |(_, last_ns)| last_ns);
        for Span { track, region, at_ns } in left {
            let what = "asynchronous operations without an end were extended to the last event";
            self.note(Level::Low, NoticeCode::OpenCalls, what);
            self.push(track, at_ns, last_ns.max(at_ns) - at_ns, RecordKind::Slice, region, 0)?;
        }
        if 0 < self.flows.n_launch && self.launched.is_empty() {
            let what = "flows from launch to kernel (ac2g) without correlation ids on the kernels";
            self.note(Level::Low, NoticeCode::NotRepresented, what);
        }
        Ok(())
    }
}

/// The message for ends without a begin.
const ORPHAN: &str = "ends of asynchronous operations without a begin were dropped";
