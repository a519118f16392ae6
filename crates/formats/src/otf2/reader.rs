//! Reads the events of one location, chunk by chunk.
//!
//! Per chunk: the decoder pushes up to [`CHUNK_EVENTS`] records into columns, then
//! their raw times are corrected in one go and become ticks since the trace start.
//! Law: what the decoder delivered before an error is delivered before the error.

use super::columns::{BaseColumns, EventColumns, append_times, unwanted};
use super::refs::{GlobalRefs, LocationRefs};
use super::stack_changes::StackChanges;
use super::{notices, read_error};
use ouzel_model::{
    CHUNK_EVENTS, ChunkBuffer, ChunkReader, IoMode, Level, LocationId, Notice, NoticeCode, ReadError,
    ReadPlan, Ticks, units,
};
use ouzel_otf2::LocalDefinitions;
use ouzel_otf2::read::EventReader;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fs::File;

/// What is known of a location before its events are read.
#[derive(Debug)]
pub(super) struct OpenedLocation {
    pub location: LocationId,
    pub local: LocalDefinitions,
    /// Notices of the local definitions.
    pub notices: Vec<Notice>,
    /// The clock's value at the trace start.
    pub trace_start: u64,
    /// Events that the location's definition declares.
    pub declared_events: Option<u64>,
    /// Whether unwind distances are upper bounds of what stayed.
    pub is_upper_bound: bool,
    /// Whether there are other processes, whose clocks may differ.
    pub has_peers: bool,
}

/// The reader of one location.
pub(super) struct Otf2Location<'a> {
    events: EventReader<File>,
    opened: OpenedLocation,
    refs: LocationRefs<'a>,
    rows: Box<BaseColumns>,
    stack_changes: StackChanges,
    open_io: FxHashMap<(u32, u64), IoMode>,
    last: u64,
    n_back: u64,
    n_before_start: u64,
    not_represented: BTreeMap<&'static str, u64>,
    begun: bool,
    /// Whether the end of the file was reached.
    ended: bool,
}

impl<'a> Otf2Location<'a> {
    pub fn new(
        mut events: EventReader<File>,
        mut opened: OpenedLocation,
        refs: &'a GlobalRefs,
        plan: &ReadPlan,
    ) -> Self {
        events.skip(unwanted(plan.needs));
        let stack_changes = StackChanges::new(opened.is_upper_bound);
        Otf2Location {
            events,
            refs: LocationRefs::new(refs, std::mem::take(&mut opened.local.mapping)),
            opened,
            rows: BaseColumns::new(),
            stack_changes,
            open_io: FxHashMap::default(),
            last: 0,
            n_back: 0,
            n_before_start: 0,
            not_represented: BTreeMap::new(),
            begun: false,
            ended: false,
        }
    }

    /// Raw times to ticks since the trace start.
    fn finish_times(&mut self, buffer: &mut ChunkBuffer) {
        self.opened.local.clock.correct(self.rows.times());
        let trace_start = self.opened.trace_start;
        let (back, before) = append_times(self.rows.times(), trace_start, &mut self.last, &mut buffer.time);
        self.rows.append_to(buffer);
        self.n_back += back;
        self.n_before_start += before;
    }
}

impl ChunkReader for Otf2Location<'_> {
    fn read(&mut self, buffer: &mut ChunkBuffer) -> Result<bool, ReadError> {
        self.rows.clear();
        let mut columns = EventColumns {
            buffer,
            rows: &mut self.rows,
            refs: &mut self.refs,
            stack_changes: &mut self.stack_changes,
            open_io: &mut self.open_io,
            not_represented: &mut self.not_represented,
        };
        // The first record alone: its time begins the location, whether or not it has a row.
        let max_events = if self.begun { CHUNK_EVENTS } else { 1 };
        self.begun = true;
        let n = self.events.read(max_events, &mut columns).map_err(|error| read_error(&error))?;
        self.finish_times(buffer);
        buffer.n_records = n as u64;
        if 0 < n {
            // Records without a row lie between the rows, or after them.
            let corrected = self.opened.local.clock.global(self.events.time());
            let last = Ticks(corrected.saturating_sub(self.opened.trace_start).max(self.last));
            buffer.span = Some((buffer.time.first().copied().unwrap_or(last), last));
        }
        self.ended |= n == 0;
        Ok(0 < n)
    }

    fn notices(&mut self) -> Vec<Notice> {
        let location = self.opened.location;
        let mut all = std::mem::take(&mut self.opened.notices);
        all.extend(notices::of_events(self.events.counts(), self.events.file(), location));
        let mut say = |count: u64, level, code, message: String| {
            if 0 < count {
                all.push(
                    Notice::new(level, code, message)
                        .times(count)
                        .in_file(self.events.file().clone())
                        .on(location),
                );
            }
        };
        say(
            self.n_back,
            Level::Medium,
            NoticeCode::TimeGoesBack,
            "a time stamp is earlier than the one before and was raised to it".to_owned(),
        );
        say(
            self.n_before_start,
            Level::Medium,
            NoticeCode::TimeBeforeStart,
            "a time stamp lies before the trace start and was raised to it".to_owned(),
        );
        let (found, declared) = (self.events.counts().events, self.opened.declared_events);
        if let Some(declared) = declared.filter(|&declared| self.ended && declared != found) {
            let message = format!(
                "the location's definition declares {}, its file has {}",
                units::counted(declared, "event", "events"),
                units::count(found)
            );
            say(1, Level::Low, NoticeCode::WrongEventCount, message);
        }
        for ((kind, reference), count) in self.refs.take_undefined() {
            let message =
                format!("events name {kind:?} {reference}, which is not defined; a placeholder replaces it");
            say(count, Level::Medium, NoticeCode::UndefinedReference, message);
        }
        all.extend(notices::not_represented(&self.not_represented));
        if self.opened.has_peers && self.opened.local.clock_offsets.len() < 2 {
            all.push(Notice::new(
                Level::Medium,
                NoticeCode::ClocksUnsynchronised,
                "locations carry no clock offsets; times of different ranks are compared as recorded",
            ));
        }
        all
    }
}

/// The reader of a location that has no events and no file.
pub(super) struct Empty {
    pub notices: Vec<Notice>,
}

impl ChunkReader for Empty {
    fn read(&mut self, _: &mut ChunkBuffer) -> Result<bool, ReadError> {
        Ok(false)
    }

    fn notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }
}
