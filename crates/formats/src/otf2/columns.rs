//! From records of one location to columns: the hot end of the OTF2 adapter.
//!
//! The decoder pushes; raw times go to a column of their own, because they are
//! corrected in one go when the chunk is full (see [`reader`](super::reader)).
//! Law: one row per event that an analysis needs; ids are dense and global.

use super::refs::LocationRefs;
use super::roots::root;
use super::stack_changes::StackChanges;
use super::{rma, threads};
use ouzel_model::{
    CHUNK_EVENTS, ChunkBuffer, Collective, CollectiveOp, CommRank, EventKind, IoMode, IoOperation,
    MessageEnd, MetricValue, NamedRecord, Needs, Parameter, ParameterValue, RegionId, Request, RequestEvent,
    RmaEvent, Sample, ThreadEvent, Ticks,
};
use ouzel_otf2::read::{EventKinds, EventSink};
use ouzel_otf2::records::enums::IoOperationMode;
use ouzel_otf2::records::event::CallingContextSample;
use ouzel_otf2::records::{Event, EventKind as Kind};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Which records no analysis needs, so that their bodies can be skipped.
pub(super) fn unwanted(needs: Needs) -> EventKinds {
    let mut kinds = EventKinds::NONE;
    for &kind in Kind::ALL {
        let wanted = match kind {
            Kind::Enter | Kind::Leave | Kind::CallingContextEnter | Kind::CallingContextLeave => true,
            Kind::MpiSend
            | Kind::MpiIsend
            | Kind::MpiIsendComplete
            | Kind::MpiIrecvRequest
            | Kind::MpiRecv
            | Kind::MpiIrecv
            | Kind::MpiRequestTest
            | Kind::MpiRequestCancelled => needs.contains(Needs::MESSAGES),
            Kind::MpiCollectiveBegin
            | Kind::MpiCollectiveEnd
            | Kind::NonBlockingCollectiveRequest
            | Kind::NonBlockingCollectiveComplete => needs.contains(Needs::COLLECTIVES),
            Kind::OmpFork
            | Kind::OmpJoin
            | Kind::OmpAcquireLock
            | Kind::OmpReleaseLock
            | Kind::OmpTaskCreate
            | Kind::OmpTaskSwitch
            | Kind::OmpTaskComplete
            | Kind::ThreadFork
            | Kind::ThreadJoin
            | Kind::ThreadTeamBegin
            | Kind::ThreadTeamEnd
            | Kind::ThreadAcquireLock
            | Kind::ThreadReleaseLock
            | Kind::ThreadTaskCreate
            | Kind::ThreadTaskSwitch
            | Kind::ThreadTaskComplete
            | Kind::ThreadCreate
            | Kind::ThreadBegin
            | Kind::ThreadWait
            | Kind::ThreadEnd => needs.contains(Needs::THREADS),
            Kind::RmaWinCreate
            | Kind::RmaWinDestroy
            | Kind::RmaCollectiveBegin
            | Kind::RmaCollectiveEnd
            | Kind::RmaGroupSync
            | Kind::RmaRequestLock
            | Kind::RmaAcquireLock
            | Kind::RmaTryLock
            | Kind::RmaReleaseLock
            | Kind::RmaSync
            | Kind::RmaWaitChange
            | Kind::RmaPut
            | Kind::RmaGet
            | Kind::RmaAtomic
            | Kind::RmaOpCompleteBlocking
            | Kind::RmaOpCompleteNonBlocking
            | Kind::RmaOpTest
            | Kind::RmaOpCompleteRemote => needs.contains(Needs::RMA),
            Kind::CallingContextSample => needs.contains(Needs::SAMPLES),
            Kind::Metric => needs.contains(Needs::METRICS),
            Kind::ParameterString | Kind::ParameterInt | Kind::ParameterUnsignedInt => {
                needs.contains(Needs::PARAMETERS)
            }
            Kind::IoOperationBegin | Kind::IoOperationComplete | Kind::IoOperationCancelled => {
                needs.contains(Needs::IO) || needs.contains(Needs::OTHERS)
            }
            _ => needs.contains(Needs::OTHERS),
        };
        if !wanted {
            kinds = kinds.with(kind);
        }
    }
    kinds
}

/// The base columns while they are filled: arrays of one length, so that a row costs one check and three stores.
#[derive(Debug)]
pub(super) struct BaseColumns {
    /// Raw time of each row, in ticks of the location's own clock.
    time: [u64; CHUNK_EVENTS],
    kind: [EventKind; CHUNK_EVENTS],
    region: [RegionId; CHUNK_EVENTS],
    len: usize,
}

impl BaseColumns {
    pub fn new() -> Box<Self> {
        Box::new(BaseColumns {
            time: [0; CHUNK_EVENTS],
            kind: [EventKind::Other; CHUNK_EVENTS],
            region: [RegionId(0); CHUNK_EVENTS],
            len: 0,
        })
    }

    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The raw times, to be corrected in place.
    pub fn times(&mut self) -> &mut [u64] {
        &mut self.time[..self.len]
    }

    /// Copies kinds and regions to the columns of `buffer`.
    pub(crate) fn append_to(&self, buffer: &mut ChunkBuffer) {
        buffer.kind.extend_from_slice(&self.kind[..self.len]);
        buffer.region.extend_from_slice(&self.region[..self.len]);
    }

    /// Adds a row. Readers ask for no more events than there is room for.
    #[inline]
    fn push(&mut self, time: u64, kind: EventKind, region: RegionId) -> u32 {
        let row = self.len;
        debug_assert!(row < CHUNK_EVENTS, "a chunk has room for its events");
        if row < CHUNK_EVENTS {
            self.time[row] = time;
            self.kind[row] = kind;
            self.region[row] = region;
            self.len = row + 1;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a row of a chunk, which has few")]
        let row = row as u32;
        row
    }
}

/// Takes the records of one location.
#[derive(Debug)]
pub(super) struct EventColumns<'a, 'r> {
    pub buffer: &'a mut ChunkBuffer,
    pub rows: &'a mut BaseColumns,
    pub refs: &'a mut LocationRefs<'r>,
    pub stack_changes: &'a mut StackChanges,
    /// Modes of the I/O operations that have begun, by handle and matching id.
    pub open_io: &'a mut FxHashMap<(u32, u64), IoMode>,
    /// Records that have a row but whose payload the model leaves out, by name.
    pub not_represented: &'a mut BTreeMap<&'static str, u64>,
}

impl EventColumns<'_, '_> {
    #[inline]
    fn row(&mut self, time: u64, kind: EventKind, region: RegionId) -> u32 {
        self.rows.push(time, kind, region)
    }

    fn plain_row(&mut self, time: u64, kind: EventKind) -> u32 {
        self.row(time, kind, RegionId(0))
    }

    fn message(
        &mut self,
        time: u64,
        kind: EventKind,
        (peer, comm, tag, bytes): (u32, u32, u32, u64),
        request: Option<u64>,
    ) {
        let row = self.plain_row(time, kind);
        let end = MessageEnd { row, comm: self.refs.comm(comm), peer: CommRank(peer), tag, bytes, request };
        match kind {
            EventKind::MessageSend => self.buffer.sends.push(end),
            _ => self.buffer.recvs.push(end),
        }
    }

    fn request(&mut self, time: u64, request: u64, event: RequestEvent) {
        let row = self.plain_row(time, EventKind::Request);
        self.buffer.requests.push(Request { row, request, event });
    }

    fn collective(&mut self, time: u64, comm: u32, collective: Collective) {
        let row = self.plain_row(time, EventKind::CollectiveEnd);
        self.buffer.collectives.push(Collective { row, comm: self.refs.comm(comm), ..collective });
    }

    fn other(&mut self, time: u64, event: &Event<'_>) {
        if let Some(step) = threads::step(event, self.refs) {
            let row = self.plain_row(time, EventKind::Thread);
            self.buffer.threads.push(ThreadEvent { row, step });
        } else if let Some((window, step)) = rma::step(event, self.refs) {
            let row = self.plain_row(time, EventKind::Rma);
            self.buffer.rma.push(RmaEvent { row, window, step });
        } else {
            self.named_row(time, event.kind());
            *self.not_represented.entry(event.kind().name()).or_default() += 1;
        }
    }

    /// A row of a record that is known by its name alone.
    fn named_row(&mut self, time: u64, record: Kind) -> u32 {
        let row = self.plain_row(time, EventKind::Other);
        self.buffer.named_records.push(NamedRecord { row, record: u16::from(record.id()) });
        row
    }

    fn parameter(&mut self, time: u64, parameter: u32, value: ParameterValue) {
        let row = self.plain_row(time, EventKind::Parameter);
        match self.refs.parameter(parameter) {
            Some(parameter) => self.buffer.parameters.push(Parameter { row, parameter, value }),
            None => *self.not_represented.entry("parameter without a definition").or_default() += 1,
        }
    }

    fn context_enter(&mut self, time: u64, context: u32, unwind_distance: u32) {
        let context = self.refs.calling_context(context);
        self.stack_changes.enter(context.map(|context| context.depth), unwind_distance);
        let region = context.map_or(self.refs.unknown_region(), |context| context.region);
        self.row(time, EventKind::Enter, region);
    }

    fn context_leave(&mut self, time: u64, context: u32) {
        let context = self.refs.calling_context(context);
        self.stack_changes.leave(context.map(|context| context.depth));
        let region = context.map_or(self.refs.unknown_region(), |context| context.region);
        self.row(time, EventKind::Leave, region);
    }

    fn sample(&mut self, time: u64, sample: &CallingContextSample) {
        let generator = self.refs.interrupt_generator(sample.interrupt_generator);
        if sample.calling_context == u32::MAX {
            let lca = self.stack_changes.sample(0, sample.unwind_distance);
            let row = self.plain_row(time, EventKind::Sample);
            self.buffer.samples.push(Sample { row, context: None, lca, generator });
            return;
        }
        let Some(context) = self.refs.calling_context(sample.calling_context) else {
            self.named_row(time, Kind::CallingContextSample);
            *self.not_represented.entry("sample without a calling context").or_default() += 1;
            return;
        };
        let lca = self.stack_changes.sample(context.depth, sample.unwind_distance);
        let row = self.plain_row(time, EventKind::Sample);
        self.buffer.samples.push(Sample { row, context: Some(context.context), lca, generator });
    }

    fn io_complete(&mut self, time: u64, operation: (u32, u64), bytes: u64) {
        let row = self.named_row(time, Kind::IoOperationComplete);
        let mode = self.open_io.remove(&operation).unwrap_or(IoMode::Other);
        // All ones: an operation that failed, or of which the tracer does not know.
        let bytes = (bytes != u64::MAX).then_some(bytes);
        self.buffer.io.push(IoOperation { row, mode, bytes });
    }

    fn metric(&mut self, time: u64, metric: u32, values: impl Iterator<Item = u64>) {
        let row = self.plain_row(time, EventKind::Metric);
        let Some(members) = self.refs.metric_members(metric) else {
            *self.not_represented.entry("metric without a definition").or_default() += 1;
            return;
        };
        let values = members.iter().zip(values);
        self.buffer.metrics.extend(values.map(|(&metric, bits)| MetricValue { row, metric, bits }));
    }
}

impl EventSink for EventColumns<'_, '_> {
    #[inline]
    fn enter(&mut self, time: u64, region: u32) {
        let region = self.refs.region(region);
        self.row(time, EventKind::Enter, region);
    }

    #[inline]
    fn leave(&mut self, time: u64, region: u32) {
        let region = self.refs.region(region);
        self.row(time, EventKind::Leave, region);
    }

    fn event(&mut self, time: u64, event: Event<'_>) {
        use EventKind::{MessageRecv, MessageSend};
        match event {
            Event::MpiSend(m) => {
                self.message(time, MessageSend, (m.receiver, m.communicator, m.msg_tag, m.msg_length), None);
            }
            Event::MpiIsend(m) => {
                let end = (m.receiver, m.communicator, m.msg_tag, m.msg_length);
                self.message(time, MessageSend, end, Some(m.request_id));
            }
            Event::MpiRecv(m) => {
                self.message(time, MessageRecv, (m.sender, m.communicator, m.msg_tag, m.msg_length), None);
            }
            Event::MpiIrecv(m) => {
                let end = (m.sender, m.communicator, m.msg_tag, m.msg_length);
                self.message(time, MessageRecv, end, Some(m.request_id));
            }
            Event::MpiIsendComplete(r) => self.request(time, r.request_id, RequestEvent::SendComplete),
            Event::MpiIrecvRequest(r) => self.request(time, r.request_id, RequestEvent::RecvPosted),
            Event::MpiRequestTest(r) => self.request(time, r.request_id, RequestEvent::Tested),
            Event::MpiRequestCancelled(r) => self.request(time, r.request_id, RequestEvent::Cancelled),
            Event::NonBlockingCollectiveRequest(r) => {
                self.request(time, r.request_id, RequestEvent::CollectivePosted);
            }
            Event::MpiCollectiveBegin(_) => {
                self.plain_row(time, EventKind::CollectiveBegin);
            }
            Event::MpiCollectiveEnd(c) => {
                let collective =
                    collective(c.collective_op.to_u8(), c.root, c.size_sent, c.size_received, None);
                self.collective(time, c.communicator, collective);
            }
            Event::NonBlockingCollectiveComplete(c) => {
                let request = Some(c.request_id);
                let collective =
                    collective(c.collective_op.to_u8(), c.root, c.size_sent, c.size_received, request);
                self.collective(time, c.communicator, collective);
            }
            Event::Metric(m) => self.metric(time, m.metric, m.values.iter().map(|value| value.bits)),
            Event::ParameterString(p) => {
                let value = ParameterValue::Text(self.refs.text(p.string));
                self.parameter(time, p.parameter, value);
            }
            Event::ParameterInt(p) => self.parameter(time, p.parameter, ParameterValue::I64(p.value)),
            Event::ParameterUnsignedInt(p) => self.parameter(time, p.parameter, ParameterValue::U64(p.value)),
            Event::CallingContextEnter(c) => self.context_enter(time, c.calling_context, c.unwind_distance),
            Event::CallingContextLeave(c) => self.context_leave(time, c.calling_context),
            Event::CallingContextSample(c) => self.sample(time, &c),
            Event::IoOperationBegin(io) => {
                self.named_row(time, Kind::IoOperationBegin);
                let mode = match io.mode {
                    IoOperationMode::Read => IoMode::Read,
                    IoOperationMode::Write => IoMode::Write,
                    _ => IoMode::Other,
                };
                self.open_io.insert((io.handle, io.matching_id), mode);
            }
            Event::IoOperationComplete(io) => {
                self.io_complete(time, (io.handle, io.matching_id), io.bytes_result);
            }
            Event::IoOperationCancelled(io) => {
                self.named_row(time, Kind::IoOperationCancelled);
                self.open_io.remove(&(io.handle, io.matching_id));
            }
            Event::BufferFlush(_) => {
                self.plain_row(time, EventKind::BufferFlush);
            }
            Event::MeasurementOnOff(_) => {
                self.plain_row(time, EventKind::MeasurementOnOff);
            }
            other => self.other(time, &other),
        }
    }
}

fn collective(op: u8, rank: u32, bytes_sent: u64, bytes_received: u64, request: Option<u64>) -> Collective {
    let (op, root) = (CollectiveOp::from_code(op), root(rank));
    // Row and communicator are set where the row is made.
    Collective { row: 0, op, comm: ouzel_model::CommId(0), root, bytes_sent, bytes_received, request }
}

/// Appends corrected times as ticks since the trace start, and raises those that go back. Returns how many were
/// raised because they go back, and how many because they lie before the start.
#[inline(never)]
pub(super) fn append_times(
    corrected: &[u64],
    trace_start: u64,
    last: &mut u64,
    out: &mut Vec<Ticks>,
) -> (u64, u64) {
    let Some((&first, &end)) = corrected.first().zip(corrected.last()) else { return (0, 0) };
    if trace_start <= first && *last <= first - trace_start && corrected.is_sorted() {
        out.extend(corrected.iter().map(|&time| Ticks(time - trace_start)));
        *last = end - trace_start;
        return (0, 0);
    }
    let (mut went_back, mut before_start) = (0, 0);
    out.extend(corrected.iter().map(|&time| {
        before_start += u64::from(time < trace_start);
        let since = time.saturating_sub(trace_start);
        went_back += u64::from(since < *last);
        *last = since.max(*last);
        Ticks(*last)
    }));
    (went_back, before_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_raised_and_counted() {
        let (mut last, mut out) = (3, Vec::new());
        let raised = append_times(&[90, 104, 103, 110], 100, &mut last, &mut out);
        assert_eq!(out, [Ticks(3), Ticks(4), Ticks(4), Ticks(10)]);
        assert_eq!((raised, last), ((2, 1), 10));
    }

    #[test]
    fn what_nobody_needs_is_unwanted() {
        let kinds = unwanted(Needs::COLLECTIVES);
        assert!(
            kinds.contains(Kind::Metric) && kinds.contains(Kind::MpiSend) && kinds.contains(Kind::IoSeek)
        );
        assert!(!kinds.contains(Kind::Enter) && !kinds.contains(Kind::MpiCollectiveEnd));
        assert_eq!(unwanted(Needs::ALL_EVENTS), EventKinds::NONE);
    }
}
