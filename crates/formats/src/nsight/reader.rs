//! Reads the rows of one location as events, chunk by chunk.
//!
//! ```text
//! blocks of sorted, nested rows ──stack of open calls──► enter … leave, messages, links, samples
//! ```
//!
//! A leave is written when the next row begins at or after the end of the innermost call.
//! Law: times do not decrease and calls nest, since the rows of a lane do.

use super::requests::Requests;
use super::rows::{HAS_BYTES, HAS_SHAPE, NO_PEER, ReportRow, RowKind, StreamStep};
use super::scan::temporary_error;
use super::spill::SpillReader;
use super::store::{LaneBlock, StoredLane};
use crate::position::index_from;
use ouzel_model::{
    CHUNK_EVENTS, ChunkBuffer, ChunkReader, Collective, CollectiveOp, CollectiveRoot, CommId, CommRank,
    ContextId, DeviceCall, DeviceStep, EventKind, LaunchShape, Lca, Level, Link, LinkEnd, LocationGroupId,
    LocationId, MessageEnd, MetricId, MetricValue, Needs, Notice, NoticeCode, Parameter, ParameterId,
    ParameterValue, ReadError, RegionId, Request, RequestEvent, Sample, Ticks,
};
use std::sync::Arc;

/// Parameters of operations, in the order of their ids.
pub(super) const PARAMETERS: [&str; 3] = ["bytes", LaunchShape::PARAMETER, "host memory"];

/// Values of the last one, by the code of a row minus one.
const HOST_MEMORY: [&str; 2] = ["pageable", "pinned"];

/// What the readers of all locations share.
#[derive(Debug)]
pub(super) struct Shared {
    /// The file or folder.
    pub file: Arc<str>,
    /// The time of the rows that is tick zero.
    pub origin: i64,
    /// The communicator of each handle.
    pub comms: Vec<Option<CommId>>,
    /// Number of members of the world.
    pub world_size: usize,
    /// How kernels were launched, as text.
    pub shapes: Vec<Arc<str>>,
    /// The location of each place; none without rows.
    pub streams: Vec<Option<LocationId>>,
    /// The group of each context that is waited for, if it is known.
    pub contexts: Vec<Option<LocationGroupId>>,
}

impl Shared {
    /// What a row does to streams, if that is known.
    fn step(&self, row: &ReportRow) -> Option<DeviceStep> {
        let of_place = |place: u32| self.streams.get(place as usize).copied().flatten();
        let (stream, event) = (of_place(row.peer).unwrap_or(DeviceStep::NO_STREAM), row.more);
        Some(match StreamStep::from_code(row.op)? {
            StreamStep::AwaitStream => DeviceStep::AwaitStream(stream),
            StreamStep::AwaitContext => {
                DeviceStep::AwaitDevice(self.contexts.get(row.peer as usize).copied().flatten()?)
            }
            StreamStep::AwaitEvent => DeviceStep::AwaitEvent(event),
            StreamStep::Record => DeviceStep::RecordEvent { event, stream },
            StreamStep::StreamAwaits => DeviceStep::StreamAwaitsEvent { stream, event },
        })
    }
}

/// The reader of one location.
pub(super) struct NsightLocation<'a> {
    shared: &'a Shared,
    lane: &'a StoredLane,
    location: LocationId,
    needs: Needs,
    /// The blocks that are still to be read.
    blocks: std::vec::IntoIter<LaneBlock>,
    spill: Option<SpillReader>,
    rows: Vec<ReportRow>,
    next: usize,
    n_read: u64,
    open: Vec<ReportRow>,
    requests: Requests,
    /// Messages and collectives on communicators whose members are not known.
    n_unknown_comm: u64,
    /// Messages whose other side is not named: any source, or no process.
    n_no_peer: u64,
}

impl<'a> NsightLocation<'a> {
    /// `blocks` are those of the lane that are wanted.
    pub fn new(
        shared: &'a Shared,
        lane: &'a StoredLane,
        location: LocationId,
        needs: Needs,
        blocks: Vec<LaneBlock>,
        spill: Option<SpillReader>,
    ) -> Self {
        NsightLocation {
            shared,
            lane,
            location,
            needs,
            blocks: blocks.into_iter(),
            spill,
            rows: Vec::new(),
            next: 0,
            n_read: 0,
            open: Vec::new(),
            requests: Requests::default(),
            n_unknown_comm: 0,
            n_no_peer: 0,
        }
    }

    fn ticks(&self, time: i64) -> Ticks {
        Ticks(time.wrapping_sub(self.shared.origin).cast_unsigned())
    }

    /// Makes the next row available; `false` if there is none.
    fn fetch(&mut self) -> Result<bool, ReadError> {
        while self.next == self.rows.len() {
            let Some(block) = self.blocks.next() else { return Ok(false) };
            self.next = 0;
            match &mut self.spill {
                Some(spill) => {
                    let read = spill.read(block.offset, block.n_rows, &mut self.rows);
                    read.map_err(|error| ReadError {
                        record: self.n_read,
                        ..temporary_error(&self.shared.file, &error)
                    })?;
                }
                None => {
                    let start = index_from(block.offset);
                    self.rows.clear();
                    self.rows.extend_from_slice(&self.lane.rows[start..start + block.n_rows]);
                }
            }
            self.n_read += block.n_rows as u64;
        }
        Ok(true)
    }

    fn begin(&mut self, buffer: &mut ChunkBuffer, row: ReportRow) {
        let at = self.ticks(row.start);
        if row.kind == RowKind::Sample {
            self.sample(buffer, at, row);
            return;
        }
        if row.kind == RowKind::Value {
            if self.needs.contains(Needs::METRICS) {
                let at_row = buffer.push(at, EventKind::Metric, RegionId(0));
                let (metric, bits) = (MetricId(row.region), row.bytes);
                buffer.metrics.push(MetricValue { row: at_row, metric, bits });
            }
            return;
        }
        // A call that completes several requests has a row for each.
        let is_same = |open: &ReportRow| {
            open.kind == RowKind::Wait
                && (open.start, open.end, open.region) == (row.start, row.end, row.region)
        };
        if row.kind == RowKind::Wait && self.open.last().is_some_and(is_same) {
            self.requests.wait_for(row.id);
            return;
        }
        let enter = buffer.push(at, EventKind::Enter, RegionId(row.region));
        if row.id != 0 && self.needs.contains(Needs::LINKS) {
            let end = match row.kind {
                RowKind::Call | RowKind::StreamStep => Some(LinkEnd::From),
                RowKind::Device => Some(LinkEnd::To),
                _ => None,
            };
            buffer.links.extend(end.map(|end| Link { row: enter, id: row.id, end }));
        }
        if row.kind == RowKind::StreamStep && self.needs.contains(Needs::LINKS) {
            let step = self.shared.step(&row);
            buffer.device_calls.extend(step.map(|step| DeviceCall { row: enter, step }));
        }
        match row.kind {
            RowKind::Device => self.operation(buffer, at, &row),
            RowKind::Send => self.message(buffer, at, EventKind::MessageSend, &row, None),
            RowKind::Isend => {
                self.message(buffer, at, EventKind::MessageSend, &row, Some(row.id));
                self.requests.post(row);
            }
            RowKind::Irecv => {
                self.request(buffer, at, row.id, RequestEvent::RecvPosted);
                self.requests.post(row);
            }
            RowKind::Icollective => {
                self.request(buffer, at, row.id, RequestEvent::CollectivePosted);
                self.requests.post(row);
            }
            RowKind::SendInit | RowKind::RecvInit => self.requests.make(row),
            RowKind::Start => match self.requests.start(row.id) {
                Some(made) if made.kind == RowKind::Isend => {
                    self.message(buffer, at, EventKind::MessageSend, &made, Some(made.id));
                }
                Some(made) => self.request(buffer, at, made.id, RequestEvent::RecvPosted),
                None => {}
            },
            RowKind::Wait => self.requests.wait_for(row.id),
            RowKind::Collective => self.collective_begin(buffer, at, &row),
            _ => {}
        }
        self.open.push(row);
    }

    fn end(&mut self, buffer: &mut ChunkBuffer, row: ReportRow) {
        let at = self.ticks(row.end);
        match row.kind {
            RowKind::Recv => self.message(buffer, at, EventKind::MessageRecv, &row, None),
            RowKind::Collective => self.collective_end(buffer, at, &row, None),
            RowKind::Wait => {
                for done in self.requests.complete() {
                    match done.kind {
                        RowKind::Isend => self.request(buffer, at, done.id, RequestEvent::SendComplete),
                        RowKind::Irecv => {
                            self.message(buffer, at, EventKind::MessageRecv, &done, Some(done.id));
                        }
                        _ => self.collective_end(buffer, at, &done, Some(done.id)),
                    }
                }
            }
            _ => {}
        }
        buffer.push(at, EventKind::Leave, RegionId(row.region));
    }

    fn sample(&self, buffer: &mut ChunkBuffer, at: Ticks, row: ReportRow) {
        buffer.n_records += 1;
        if self.needs.contains(Needs::SAMPLES) {
            let context = row.region.checked_sub(1).map(ContextId);
            let row = buffer.push(at, EventKind::Sample, RegionId(0));
            buffer.samples.push(Sample { row, context, lca: Lca::Unknown, generator: None });
        }
    }

    /// What is known of an operation of a device, after its enter.
    fn operation(&self, buffer: &mut ChunkBuffer, at: Ticks, row: &ReportRow) {
        let shape = || self.shared.shapes.get(index_from(row.bytes));
        match row.more {
            HAS_BYTES => self.parameter(buffer, at, 0, ParameterValue::U64(row.bytes)),
            HAS_SHAPE => {
                if let Some(shape) = shape() {
                    self.parameter(buffer, at, 1, ParameterValue::Text(Arc::clone(shape)));
                }
            }
            _ => {}
        }
        if let Some(memory) = usize::from(row.op).checked_sub(1).and_then(|it| HOST_MEMORY.get(it)) {
            self.parameter(buffer, at, 2, ParameterValue::Text(Arc::from(*memory)));
        }
    }

    fn parameter(&self, buffer: &mut ChunkBuffer, at: Ticks, parameter: u32, value: ParameterValue) {
        buffer.n_records += 1;
        if self.needs.contains(Needs::PARAMETERS) {
            let row = buffer.push(at, EventKind::Parameter, RegionId(0));
            buffer.parameters.push(Parameter { row, parameter: ParameterId(parameter), value });
        }
    }

    /// The communicator of a row; counts those that are not known.
    fn comm(&mut self, row: &ReportRow) -> Option<CommId> {
        let handle = row.comm.checked_sub(1)?;
        let comm = self.shared.comms.get(handle as usize).copied().flatten();
        self.n_unknown_comm += u64::from(comm.is_none());
        comm
    }

    fn message(
        &mut self,
        buffer: &mut ChunkBuffer,
        at: Ticks,
        kind: EventKind,
        row: &ReportRow,
        request: Option<u64>,
    ) {
        let Some(comm) = self.comm(row) else { return };
        if row.peer == NO_PEER || self.shared.world_size <= row.peer as usize {
            self.n_no_peer += 1;
            return;
        }
        buffer.n_records += 1;
        if self.needs.contains(Needs::MESSAGES) {
            let (peer, tag, bytes) = (CommRank(row.peer), (row.more & 0xffff_ffff) as u32, row.bytes);
            let row = buffer.push(at, kind, RegionId(0));
            let end = MessageEnd { row, comm, peer, tag, bytes, request };
            if kind == EventKind::MessageSend { &mut buffer.sends } else { &mut buffer.recvs }.push(end);
        }
    }

    fn request(&self, buffer: &mut ChunkBuffer, at: Ticks, request: u64, event: RequestEvent) {
        buffer.n_records += 1;
        if self.needs.contains(Needs::MESSAGES) {
            let row = buffer.push(at, EventKind::Request, RegionId(0));
            buffer.requests.push(Request { row, request, event });
        }
    }

    fn collective_begin(&self, buffer: &mut ChunkBuffer, at: Ticks, row: &ReportRow) {
        let known = row.comm.checked_sub(1).and_then(|handle| *self.shared.comms.get(handle as usize)?);
        buffer.n_records += u64::from(known.is_some());
        if known.is_some() && self.needs.contains(Needs::COLLECTIVES) {
            buffer.push(at, EventKind::CollectiveBegin, RegionId(0));
        }
    }

    fn collective_end(&mut self, buffer: &mut ChunkBuffer, at: Ticks, row: &ReportRow, request: Option<u64>) {
        let Some(comm) = self.comm(row) else { return };
        buffer.n_records += 1;
        if self.needs.contains(Needs::COLLECTIVES) {
            let root = match row.peer {
                NO_PEER => CollectiveRoot::None,
                rank => CollectiveRoot::Rank(CommRank(rank)),
            };
            let collective = Collective {
                row: buffer.push(at, EventKind::CollectiveEnd, RegionId(0)),
                op: CollectiveOp::from_code(row.op),
                comm,
                root,
                bytes_sent: row.bytes,
                bytes_received: row.more,
                request,
            };
            buffer.collectives.push(collective);
        }
    }
}

impl ChunkReader for NsightLocation<'_> {
    fn read(&mut self, buffer: &mut ChunkBuffer) -> Result<bool, ReadError> {
        buffer.clear();
        let mut span: Option<(Ticks, Ticks)> = None;
        while buffer.n_records < CHUNK_EVENTS as u64 && buffer.len() < CHUNK_EVENTS {
            let next = if self.fetch()? { Some(self.rows[self.next]) } else { None };
            let ends = |open: &&ReportRow| next.is_none_or(|next| open.end <= next.start);
            let at = if let Some(&row) = self.open.last().filter(ends) {
                self.open.pop();
                self.end(buffer, row);
                self.ticks(row.end)
            } else if let Some(row) = next {
                self.next += 1;
                self.begin(buffer, row);
                self.ticks(row.start)
            } else {
                break;
            };
            buffer.n_records += 1;
            span = Some((span.map_or(at, |(first, _)| first), at));
        }
        buffer.span = span;
        Ok(span.is_some())
    }

    fn notices(&mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut say = |count: u64, message: &str| {
            if 0 < count {
                let notice = Notice::new(Level::Medium, NoticeCode::NotRepresented, message);
                notices.push(notice.times(count).on(self.location));
            }
        };
        say(
            self.n_unknown_comm,
            "messages and collectives on communicators whose members the export does not record have no payload",
        );
        say(
            self.n_no_peer,
            "messages whose other side the export does not name (any source, no process) are left out",
        );
        notices
    }
}
