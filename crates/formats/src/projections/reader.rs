//! Reads the log of one PE as rows.
//!
//! Law: rows nest, times do not decrease; what cannot be read is counted. The rows of one
//! record are adjacent: the enter, then the other data of the call.

use super::brackets::Bracket;
use super::calls::{PeCall, PeCalls};
use super::definitions::{Refs, WORLD, parameter};
use super::messages::PeMessages;
use super::record::{Creation, LogRecord, Processing, RECORDS};
use super::scan::{LogReader, ScannedRecord};
use crate::position::u32_from;
use ouzel_model::{
    CHUNK_EVENTS, ChunkBuffer, ChunkReader, CommRank, EventKind, Level, LocationId, MessageEnd, MetricId,
    MetricValue, NamedRecord, Needs, Notice, NoticeCode, Parameter, ParameterId, ParameterValue, ReadError,
    RegionId, Ticks, units,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of a PE before its log is read.
pub(super) struct OpenedLog<'a> {
    pub location: LocationId,
    pub file: Arc<str>,
    pub refs: &'a Refs,
    pub needs: Needs,
    /// Its messages, if an analysis needs them.
    pub messages: Option<&'a PeMessages>,
    /// Brackets recorded after their times, and how many lack an end.
    pub brackets: (Vec<Bracket>, u64),
    /// Place of this PE and number of each in the communicator of all.
    pub pes: &'a [u32],
}

/// The reader of one PE.
pub(super) struct ProjectionsLocation<'a> {
    log: LogReader,
    state: PeState<'a>,
    error: Option<ReadError>,
    ended: bool,
}

/// All but the log, so that a record can be borrowed from the log.
struct PeState<'a> {
    opened: OpenedLog<'a>,
    calls: PeCalls,
    /// The next bracket to open, and ends of those that are open, latest first.
    next_bracket: usize,
    bracket_ends: Vec<(u64, usize)>,
    next_receipt: usize,
    now: u64,
    /// Whether the run has begun and is not over.
    runs: bool,
    runtime: Runtime,
    /// The last value of each accumulated metric.
    last_cpu: u64,
    tallies: BTreeMap<Tally, u64>,
}

/// The region of the runtime system: where a PE is during its run while no other call is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runtime {
    /// The run has not begun, is over, or another call is open.
    Off,
    /// It has its enter as soon as time passes.
    Due,
    /// It is entered.
    Open,
}

/// What is counted while reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tally {
    TimeGoesBack,
    EntryCutShort,
    StrayEnd,
    UnknownEntry,
    UnknownBracket,
    NoReceiver,
    NoCreation,
    CpuGoesBack,
    TooDeep,
    NotRepresented(&'static str),
    UnknownRecord,
}

impl<'a> ProjectionsLocation<'a> {
    pub fn new(log: LogReader, opened: OpenedLog<'a>) -> Self {
        let state = PeState {
            opened,
            calls: PeCalls::default(),
            next_bracket: 0,
            bracket_ends: Vec::new(),
            next_receipt: 0,
            now: 0,
            runs: false,
            runtime: Runtime::Off,
            last_cpu: 0,
            tallies: BTreeMap::new(),
        };
        ProjectionsLocation { log, state, error: None, ended: false }
    }
}

impl ChunkReader for ProjectionsLocation<'_> {
    fn read(&mut self, buffer: &mut ChunkBuffer) -> Result<bool, ReadError> {
        buffer.clear();
        let mut first = None;
        // A record may make many rows, but rarely does: the excess still fits after the chunk.
        while !self.ended && buffer.len() < CHUNK_EVENTS && buffer.n_records < 4 * CHUNK_EVENTS as u64 {
            match self.log.next() {
                Ok(Some(scan)) => {
                    self.state.take(scan, buffer);
                    first.get_or_insert(self.state.now);
                    buffer.n_records += 1;
                }
                Ok(None) => {
                    self.ended = true;
                    self.state.end(buffer);
                }
                Err(error) => {
                    self.ended = true;
                    self.state.end(buffer);
                    self.error = Some(error);
                }
            }
        }
        if 0 < buffer.n_records || !buffer.is_empty() {
            let first =
                first.unwrap_or(self.state.now).min(buffer.time.first().map_or(u64::MAX, |time| time.0));
            buffer.span = Some((Ticks(first), Ticks(self.state.now)));
            return Ok(true);
        }
        self.error.take().map_or(Ok(false), Err)
    }

    fn notices(&mut self) -> Vec<Notice> {
        let location = self.state.opened.location;
        let file = &self.state.opened.file;
        let mut all = self.state.notices();
        let found = self.log.found;
        let mut say = |level, code, message: String, count, offset: Option<u64>| {
            let notice = Notice::new(level, code, message).times(count).in_file(file.clone()).on(location);
            all.push(offset.map_or_else(|| notice.clone(), |offset| notice.clone().at(offset)));
        };
        if 0 < found.n_bad {
            let message =
                "a line is not a record of this version and was left out; the offset is that of the first";
            say(
                Level::High,
                NoticeCode::DamagedEvents,
                message.to_owned(),
                found.n_bad,
                Some(found.first_bad),
            );
        }
        if self.ended && self.error.is_none() && !found.is_complete {
            let message = "the log ends before the end of the run: it was truncated, or the program died";
            say(Level::High, NoticeCode::DamagedEvents, message.to_owned(), 1, None);
        }
        if let Some(declared) = found.declared.filter(|&n| found.is_complete && n != found.n_lines) {
            let message = format!(
                "the log declares {} and has {}",
                units::counted(declared, "record", "records"),
                units::count(found.n_lines)
            );
            let level = if found.n_lines < declared { Level::High } else { Level::Low };
            say(level, NoticeCode::WrongEventCount, message, 1, None);
        }
        all
    }
}

impl PeState<'_> {
    fn needs(&self, needs: Needs) -> bool {
        self.opened.needs.contains(needs)
    }

    fn count(&mut self, tally: Tally) {
        *self.tallies.entry(tally).or_default() += 1;
    }

    fn row(&mut self, buffer: &mut ChunkBuffer, kind: EventKind) -> u32 {
        buffer.push(Ticks(self.now), kind, RegionId(0))
    }

    fn parameter(&mut self, buffer: &mut ChunkBuffer, parameter: ParameterId, value: ParameterValue) {
        let row = self.row(buffer, EventKind::Parameter);
        buffer.parameters.push(Parameter { row, parameter, value });
    }

    fn metric(&mut self, buffer: &mut ChunkBuffer, metric: MetricId, bits: u64) {
        if self.needs(Needs::METRICS) {
            let row = self.row(buffer, EventKind::Metric);
            buffer.metrics.push(MetricValue { row, metric, bits });
        }
    }

    fn enter(&mut self, buffer: &mut ChunkBuffer, call: PeCall, region: RegionId) -> bool {
        let has_room = self.calls.enter(call, region);
        if has_room {
            self.pause_runtime(buffer);
            buffer.push(Ticks(self.now), EventKind::Enter, region);
        } else {
            self.count(Tally::TooDeep);
        }
        has_room
    }

    fn leave(&mut self, buffer: &mut ChunkBuffer, call: PeCall) -> bool {
        let now = Ticks(self.now);
        let was_open = self.calls.leave(call, |enters, region| {
            buffer.push(now, if enters { EventKind::Enter } else { EventKind::Leave }, region);
        });
        if was_open && self.calls.is_empty() && self.runs {
            self.runtime = Runtime::Due;
        }
        was_open
    }

    fn pause_runtime(&mut self, buffer: &mut ChunkBuffer) {
        if self.runtime == Runtime::Open {
            buffer.push(Ticks(self.now), EventKind::Leave, self.opened.refs.runtime);
        }
        self.runtime = Runtime::Off;
    }

    /// Advances the time.
    fn set_now(&mut self, time: u64, buffer: &mut ChunkBuffer) {
        if self.runtime == Runtime::Due && self.now < time {
            buffer.push(Ticks(self.now), EventKind::Enter, self.opened.refs.runtime);
            self.runtime = Runtime::Open;
        }
        self.now = self.now.max(time);
    }

    /// The clock goes on to the time of a record; brackets that begin or end before it come first.
    fn go_to(&mut self, time: u64, ends_a_call: bool, buffer: &mut ChunkBuffer) {
        if time < self.now {
            self.count(Tally::TimeGoesBack);
        }
        let time = time.max(self.now);
        loop {
            let next_end = self.bracket_ends.last().copied();
            let next_start = self.opened.brackets.0.get(self.next_bracket).map(|bracket| bracket.start);
            // In a call that begins or ends at this very time, begins come after its begin and ends before its end.
            let is_due = |at: u64| at < time || (ends_a_call && at == time);
            match (next_end, next_start) {
                (Some((end, place)), start) if is_due(end) && start.is_none_or(|start| end <= start) => {
                    self.set_now(end, buffer);
                    self.bracket_ends.pop();
                    self.leave(buffer, PeCall::Ahead(place));
                }
                (_, Some(start)) if is_due(start) => {
                    self.set_now(start, buffer);
                    self.open_bracket(buffer);
                }
                _ => break,
            }
        }
        self.set_now(time, buffer);
    }

    fn open_bracket(&mut self, buffer: &mut ChunkBuffer) {
        let place = self.next_bracket;
        self.next_bracket += 1;
        let Bracket { end, id, text, .. } = self.opened.brackets.0[place].clone();
        let region = self.bracket_region(id);
        if !self.enter(buffer, PeCall::Ahead(place), region) {
            return;
        }
        let at = self.bracket_ends.partition_point(|&(other, _)| end < other);
        self.bracket_ends.insert(at, (end, place));
        if let Some(text) = text.filter(|_| self.needs(Needs::PARAMETERS)) {
            self.parameter(buffer, parameter::NOTE, ParameterValue::Text(text));
        }
    }

    fn bracket_region(&mut self, id: i64) -> RegionId {
        self.opened.refs.bracket(id).unwrap_or_else(|| {
            self.count(Tally::UnknownBracket);
            self.opened.refs.unknown
        })
    }

    fn take(&mut self, scan: ScannedRecord<'_>, buffer: &mut ChunkBuffer) {
        match scan.record {
            LogRecord::Creation(creation) => {
                self.go_to(creation.time, false, buffer);
                self.creation(&creation, buffer);
            }
            LogRecord::BeginProcessing(processing) => {
                self.go_to(processing.time, self.calls.is_open(PeCall::EntryMethod), buffer);
                self.begin_processing(&processing, scan.number, buffer);
            }
            LogRecord::EndProcessing(processing) => {
                self.go_to(processing.time, true, buffer);
                if self.calls.is_open(PeCall::EntryMethod) {
                    self.counters(&processing, buffer);
                    self.leave(buffer, PeCall::EntryMethod);
                } else {
                    self.count(Tally::StrayEnd);
                }
            }
            LogRecord::Begin(span, time) => {
                self.go_to(time, false, buffer);
                let call = PeCall::Span(span as u8);
                if self.leave(buffer, call) {
                    self.count(Tally::EntryCutShort);
                }
                self.enter(buffer, call, self.opened.refs.span(span));
            }
            LogRecord::End(span, time) => {
                self.go_to(time, true, buffer);
                if !self.leave(buffer, PeCall::Span(span as u8)) {
                    self.count(Tally::StrayEnd);
                }
            }
            LogRecord::BeginComputation(time) => {
                self.go_to(time, false, buffer);
                self.runs = true;
                if self.calls.is_empty() && self.runtime == Runtime::Off {
                    self.runtime = Runtime::Due;
                }
            }
            LogRecord::EndComputation(time) => {
                self.go_to(time, true, buffer);
                self.close_all(buffer);
            }
            LogRecord::Tracing(is_on, time) => self.tracing(is_on, time, buffer),
            LogRecord::BeginFunction { id, line, time } => {
                self.go_to(time, false, buffer);
                let region = self.opened.refs.function(id).unwrap_or(self.opened.refs.unknown);
                self.enter(buffer, PeCall::Function(id), region);
                if self.needs(Needs::PARAMETERS) {
                    self.parameter(buffer, parameter::LINE, ParameterValue::I64(line));
                }
            }
            LogRecord::EndFunction { id, time } => {
                self.go_to(time, true, buffer);
                if !self.leave(buffer, PeCall::Function(id)) {
                    self.count(Tally::StrayEnd);
                }
            }
            record => self.user_record(record, buffer),
        }
    }

    fn user_record(&mut self, record: LogRecord<'_>, buffer: &mut ChunkBuffer) {
        let parameters = self.needs(Needs::PARAMETERS);
        match record {
            LogRecord::UserBracket { begins: true, id, nested, time } => {
                self.go_to(time, false, buffer);
                let region = self.bracket_region(id);
                self.enter(buffer, PeCall::Bracket(id, nested), region);
            }
            LogRecord::UserBracket { begins: false, id, nested, time } => {
                self.go_to(time, true, buffer);
                if !self.leave(buffer, PeCall::Bracket(id, nested)) {
                    self.count(Tally::StrayEnd);
                }
            }
            // Their rows were written when their time was reached.
            LogRecord::UserPair { .. } | LogRecord::BracketedNote { .. } => {}
            LogRecord::UserEvent { id, time } => {
                self.go_to(time, false, buffer);
                if parameters {
                    let name = self.opened.refs.event_names.get(&id).cloned();
                    let name = name.unwrap_or_else(|| Arc::from(id.to_string()));
                    self.parameter(buffer, parameter::USER_EVENT, ParameterValue::Text(name));
                }
            }
            LogRecord::UserValue { value, time } => {
                self.go_to(time.unwrap_or(self.now), false, buffer);
                if parameters {
                    self.parameter(buffer, parameter::USER_VALUE, ParameterValue::I64(value));
                }
            }
            LogRecord::Note { time, text } => {
                self.go_to(time, false, buffer);
                if parameters {
                    let text = Arc::from(String::from_utf8_lossy(text));
                    self.parameter(buffer, parameter::NOTE, ParameterValue::Text(text));
                }
            }
            LogRecord::EndPhase { phase, time } => {
                self.go_to(time, false, buffer);
                if parameters {
                    self.parameter(buffer, parameter::PHASE, ParameterValue::I64(phase));
                }
            }
            LogRecord::Memory { bytes, time } => {
                self.go_to(time, false, buffer);
                self.metric(buffer, self.opened.refs.memory, bytes.cast_unsigned());
            }
            LogRecord::UserStat { time, user_time, value, id } => {
                self.go_to(time, false, buffer);
                match self.opened.refs.stat(id) {
                    Some(metric) => self.metric(buffer, metric, value.to_bits()),
                    None => self.count(Tally::NotRepresented("USER_STAT without a name")),
                }
                if parameters {
                    let text = ParameterValue::Text(Arc::from(user_time.to_string()));
                    self.parameter(buffer, parameter::USER_TIME, text);
                }
            }
            LogRecord::Other { name, time } => {
                self.go_to(time, false, buffer);
                self.count(Tally::NotRepresented(name));
                self.other(RECORDS.iter().position(|&known| known == name), buffer);
            }
            _ => {
                self.count(Tally::UnknownRecord);
                self.other(None, buffer);
            }
        }
    }

    /// A row without payload; `record` is the place of its name in [`RECORDS`].
    fn other(&mut self, record: Option<usize>, buffer: &mut ChunkBuffer) {
        if self.needs(Needs::OTHERS) {
            let row = self.row(buffer, EventKind::Other);
            let record = record.and_then(|place| u16::try_from(place).ok());
            buffer.named_records.extend(record.map(|record| NamedRecord { row, record }));
        }
    }

    fn creation(&mut self, creation: &Creation<'_>, buffer: &mut ChunkBuffer) {
        if let Some(messages) = self.opened.messages {
            let receivers = messages.receivers(creation.event);
            for &(event, to) in receivers {
                let row = self.row(buffer, EventKind::MessageSend);
                buffer.sends.push(message_end(row, to, event, creation.bytes));
            }
            if receivers.is_empty() {
                self.count(Tally::NoReceiver);
                self.other(None, buffer);
            }
        }
        if !self.needs(Needs::PARAMETERS) {
            return;
        }
        let name = self.opened.refs.entry_names.get(&creation.entry).cloned();
        let name = name.unwrap_or_else(|| Arc::from(creation.entry.to_string()));
        self.parameter(buffer, parameter::CREATED_FOR, ParameterValue::Text(name));
        self.parameter(buffer, parameter::MESSAGE_TYPE, ParameterValue::I64(creation.message_type));
        self.parameter(buffer, parameter::EVENT, ParameterValue::I64(creation.event));
        if let Some(bytes) = creation.bytes {
            self.parameter(buffer, parameter::MESSAGE_BYTES, ParameterValue::U64(bytes));
        }
        if let Some(us) = creation.send_us {
            self.parameter(buffer, parameter::SEND_DURATION, ParameterValue::I64(us));
        }
        if let Some(n) = creation.n_receivers {
            self.parameter(buffer, parameter::N_RECEIVERS, ParameterValue::I64(n));
        }
        if !creation.receivers.is_empty() {
            self.parameter(buffer, parameter::RECEIVERS, ParameterValue::Text(joined(creation.receivers)));
        }
    }

    fn begin_processing(&mut self, processing: &Processing<'_>, number: u64, buffer: &mut ChunkBuffer) {
        if self.leave(buffer, PeCall::EntryMethod) {
            self.count(Tally::EntryCutShort);
        }
        let region = self.opened.refs.entry(processing.entry).unwrap_or_else(|| {
            self.count(Tally::UnknownEntry);
            self.opened.refs.unknown
        });
        self.enter(buffer, PeCall::EntryMethod, region);
        if let Some(messages) = self.opened.messages {
            let receipt = messages.receipts.get(self.next_receipt);
            let event = u32::try_from(processing.event).ok().filter(|_| receipt == Some(&number));
            if let Some(event) = event {
                self.next_receipt += 1;
                let from = u32::try_from(processing.source_pe).ok();
                let from = from.and_then(|pe| self.opened.pes.binary_search(&pe).ok()).unwrap_or_default();
                let row = self.row(buffer, EventKind::MessageRecv);
                buffer.recvs.push(message_end(row, u32_from(from), event, processing.bytes));
            } else {
                self.count(Tally::NoCreation);
            }
        }
        self.counters(processing, buffer);
        if !self.needs(Needs::PARAMETERS) {
            return;
        }
        self.parameter(buffer, parameter::MESSAGE_TYPE, ParameterValue::I64(processing.message_type));
        self.parameter(buffer, parameter::EVENT, ParameterValue::I64(processing.event));
        self.parameter(buffer, parameter::SOURCE_PE, ParameterValue::I64(processing.source_pe));
        if let Some(bytes) = processing.bytes {
            self.parameter(buffer, parameter::MESSAGE_BYTES, ParameterValue::U64(bytes));
        }
        if let Some(us) = processing.receive_us.filter(|&us| 0 < us) {
            self.parameter(buffer, parameter::RECEIVE_TIME, ParameterValue::I64(us));
        }
        if !processing.index.is_empty() {
            self.parameter(buffer, parameter::INDEX, ParameterValue::Text(joined(processing.index)));
        }
    }

    /// Processor time and hardware counters at the time of the record.
    fn counters(&mut self, processing: &Processing<'_>, buffer: &mut ChunkBuffer) {
        if !self.needs(Needs::METRICS) {
            return;
        }
        if let Some((metric, us)) =
            self.opened.refs.cpu.zip(processing.cpu_us.and_then(|us| u64::try_from(us).ok()))
        {
            // A thread that goes on is written without it.
            if us < self.last_cpu {
                self.count(Tally::CpuGoesBack);
            } else {
                self.last_cpu = us;
                self.metric(buffer, metric, us);
            }
        }
        for (&metric, &value) in self.opened.refs.counters.iter().zip(processing.counters) {
            self.metric(buffer, metric, value.cast_unsigned());
        }
    }

    fn tracing(&mut self, is_on: bool, time: u64, buffer: &mut ChunkBuffer) {
        self.go_to(time, !is_on, buffer);
        if !is_on {
            // What goes on while nothing is recorded is not known.
            self.leave(buffer, PeCall::EntryMethod);
            self.pause_runtime(buffer);
        } else if self.runs && self.calls.is_empty() && self.runtime == Runtime::Off {
            self.runtime = Runtime::Due;
        }
        if self.needs(Needs::OTHERS) {
            self.row(buffer, EventKind::MeasurementOnOff);
        }
    }

    fn close_all(&mut self, buffer: &mut ChunkBuffer) {
        self.runs = false;
        self.pause_runtime(buffer);
        let now = Ticks(self.now);
        self.calls.leave_all(|region| _ = buffer.push(now, EventKind::Leave, region));
        self.bracket_ends.clear();
    }

    /// After the last record: brackets that are due, and those that were written after the end.
    fn end(&mut self, buffer: &mut ChunkBuffer) {
        let last = self.opened.brackets.0[self.next_bracket..].iter().map(|bracket| bracket.end).max();
        let ends = self.bracket_ends.iter().map(|&(end, _)| end).max();
        if let Some(end) = last.max(ends) {
            self.go_to(end.max(self.now), true, buffer);
        }
    }

    fn notices(&self) -> Vec<Notice> {
        let mut all = Vec::new();
        let mut say = |level, code, message: &str, count: u64| {
            let notice = Notice::new(level, code, message).times(count);
            if 0 < count {
                all.push(notice.on(self.opened.location));
            }
        };
        for (&tally, &count) in &self.tallies {
            let (level, code, message) = describe(tally);
            say(level, code, &message, count);
        }
        let message =
            "user brackets that do not nest with entry methods were cut where the entry methods end";
        say(Level::Low, NoticeCode::NotRepresented, message, self.calls.n_cut);
        let message = "user brackets with only one recorded end were left out";
        say(Level::Medium, NoticeCode::NotRepresented, message, self.opened.brackets.1);
        all
    }
}

fn describe(tally: Tally) -> (Level, NoticeCode, String) {
    let (level, code, message) = match tally {
        Tally::TimeGoesBack => {
            let message = "a time stamp is earlier than the one before and was raised to it";
            (Level::Medium, NoticeCode::TimeGoesBack, message)
        }
        Tally::EntryCutShort => {
            let message = "entry methods or idle times without an end were closed where the next one begins";
            (Level::Low, NoticeCode::TruncatedCalls, message)
        }
        Tally::StrayEnd => (Level::Low, NoticeCode::UnmatchedLeaves, "ends without a begin were dropped"),
        Tally::UnknownEntry => {
            let message = "entry methods that the .sts file does not name were replaced by a placeholder";
            (Level::Medium, NoticeCode::UndefinedReference, message)
        }
        Tally::UnknownBracket => {
            let message = "user brackets that the .sts file does not name were replaced by a placeholder";
            (Level::Medium, NoticeCode::UndefinedReference, message)
        }
        Tally::NoReceiver => {
            let message = "messages were sent whose processing no log shows; their receiver is unknown";
            (Level::Low, NoticeCode::UnmatchedMessages, message)
        }
        Tally::NoCreation => {
            let message = "entry methods began without a new message: resumed threads, further elements of an array, \
                           or a message whose sending no log shows";
            (Level::Low, NoticeCode::UnmatchedMessages, message)
        }
        Tally::CpuGoesBack => {
            let message = "CPU time values that decrease were left out";
            (Level::Low, NoticeCode::NotRepresented, message)
        }
        Tally::TooDeep => {
            let message = "calls nested deeper than any program's were left out";
            (Level::High, NoticeCode::DamagedEvents, message)
        }
        Tally::UnknownRecord => {
            let message = "records of unknown types were skipped";
            (Level::Medium, NoticeCode::UnknownRecords, message)
        }
        Tally::NotRepresented(name) => {
            let message = format!("{name} records are counted as events; their contents are not analysed");
            return (Level::Low, NoticeCode::NotRepresented, message);
        }
    };
    (level, code, message.to_owned())
}

fn message_end(row: u32, peer: u32, tag: u32, bytes: Option<u64>) -> MessageEnd {
    MessageEnd { row, comm: WORLD, peer: CommRank(peer), tag, bytes: bytes.unwrap_or(0), request: None }
}

fn joined(numbers: &[i64]) -> Arc<str> {
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    numbers.join(",").into()
}
