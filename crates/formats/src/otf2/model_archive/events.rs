//! Rows of the event model as event records.

use super::super::roots::number_of_root;
use super::super::stack_changes::unwind_distance;
use super::super::{rma, threads};
use super::classes::Classes;
use super::communicators::FIRST_RANK_GROUP;
use super::{ModelArchive, WriteError, without_zero};
use ouzel_model::{
    Collective, EventChunk, EventKind, Lca, LocationId, LocationKind, MessageEnd, MetricId, MetricValueType,
    Parameter, ParameterValue, Request, RequestEvent, Sample, Ticks,
};
use ouzel_otf2::records::enums::{CollectiveOp, MeasurementMode, ParameterType, Type};
use ouzel_otf2::records::event::{
    BufferFlush, CallingContextSample, Enter, Leave, MeasurementOnOff, Metric, MpiCollectiveBegin,
    MpiCollectiveEnd, MpiIrecv, MpiIrecvRequest, MpiIsend, MpiIsendComplete, MpiRecv, MpiRequestCancelled,
    MpiRequestTest, MpiSend, NonBlockingCollectiveComplete, NonBlockingCollectiveRequest, ParameterInt,
    ParameterString, ParameterUnsignedInt,
};
use ouzel_otf2::records::{Event, List, MetricValue};
use ouzel_otf2::wire::UNDEFINED_U32;
use ouzel_otf2::write::EventWriter;

/// Values that one metric record can hold.
const MAX_VALUES: usize = 255;

/// The events of one location in the making.
#[derive(Debug)]
#[must_use = "the events of a location must be ended"]
pub struct LocationEvents {
    pub(super) location: LocationId,
    pub(super) writer: EventWriter,
    kind: LocationKind,
    /// Whether the next switch of recording is one to on.
    is_off: bool,
    /// Metric classes that wait for another event at their time.
    waiting: Vec<(u32, Ticks)>,
    members: Vec<MetricId>,
    values: Vec<MetricValue>,
}

/// What the archive cannot say, by number of events.
#[derive(Debug, Default)]
pub(super) struct Unsaid {
    pub others: u64,
    pub empty: u64,
    pub flushes: u64,
    pub switches: u64,
    pub bounds: u64,
}

impl LocationEvents {
    pub(super) fn new(location: LocationId, kind: LocationKind, writer: EventWriter) -> Self {
        LocationEvents {
            location,
            writer,
            kind,
            is_off: false,
            waiting: Vec::new(),
            members: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Another event came at `time`, or none any more: were metrics read at its time?
    pub(super) fn settle_classes(&mut self, time: Option<Ticks>, classes: &mut Classes) {
        for (class, at) in self.waiting.drain(..) {
            if Some(at) != time {
                classes.stands_alone(class);
            }
        }
    }
}

/// Writes the rows of a chunk.
pub(super) fn write(
    to: &mut ModelArchive,
    events: &mut LocationEvents,
    chunk: &EventChunk<'_>,
) -> Result<(), WriteError> {
    let start = to.definitions.clock.offset_ticks;
    let mut rest = *chunk;
    for (row, (&at, &kind)) in chunk.time.iter().zip(chunk.kind).enumerate() {
        // No clock reaches the limit; a broken one must not make times go back.
        let time = start.saturating_add(at.0);
        if kind != EventKind::Metric && !events.waiting.is_empty() {
            events.settle_classes(Some(at), &mut to.classes);
        }
        match kind {
            EventKind::Enter => {
                let region = to.regions.used(chunk.region[row].0);
                events.writer.write(time, Enter { region })?;
            }
            EventKind::Leave => {
                let region = to.regions.used(chunk.region[row].0);
                events.writer.write(time, Leave { region })?;
            }
            EventKind::Metric => {
                to.write_metrics(events, at, time, taken(&mut rest.metrics, row, |m| m.row))?;
            }
            _ => to.write_other(events, time, row, kind, &mut rest)?,
        }
    }
    Ok(())
}

/// Takes the elements of `row` off the front of a side table.
fn taken<'a, T>(side: &mut &'a [T], row: usize, row_of: impl Fn(&T) -> u32) -> &'a [T] {
    let n = side.iter().take_while(|element| row_of(element) as usize == row).count();
    let (front, rest) = side.split_at(n);
    *side = rest;
    front
}

impl ModelArchive {
    fn write_other(
        &mut self,
        events: &mut LocationEvents,
        time: u64,
        row: usize,
        kind: EventKind,
        rest: &mut EventChunk<'_>,
    ) -> Result<(), WriteError> {
        let event: Option<Event<'static>> = match kind {
            EventKind::MessageSend => {
                taken(&mut rest.sends, row, |m| m.row).first().map(|end| self.send(end))
            }
            EventKind::MessageRecv => {
                taken(&mut rest.recvs, row, |m| m.row).first().map(|end| self.recv(end))
            }
            EventKind::Request => taken(&mut rest.requests, row, |r| r.row).first().map(request),
            EventKind::CollectiveBegin => Some(MpiCollectiveBegin {}.into()),
            EventKind::CollectiveEnd => {
                taken(&mut rest.collectives, row, |c| c.row).first().map(|end| self.collective(end))
            }
            EventKind::Thread => taken(&mut rest.threads, row, |t| t.row)
                .first()
                .map(|event| threads::record(event.step, |comm| self.comms.used(comm))),
            EventKind::Rma => {
                taken(&mut rest.rma, row, |r| r.row).first().map(|event| rma::record(event, FIRST_RANK_GROUP))
            }
            EventKind::Parameter => {
                return self.write_parameters(events, time, taken(&mut rest.parameters, row, |p| p.row));
            }
            EventKind::Sample => {
                taken(&mut rest.samples, row, |s| s.row).first().map(|found| self.sample(found))
            }
            EventKind::BufferFlush => {
                self.unsaid.flushes += 1;
                Some(BufferFlush { stop_time: time }.into())
            }
            EventKind::MeasurementOnOff => {
                self.unsaid.switches += 1;
                events.is_off = !events.is_off;
                let measurement_mode = if events.is_off { MeasurementMode::Off } else { MeasurementMode::On };
                Some(MeasurementOnOff { measurement_mode }.into())
            }
            EventKind::Other | EventKind::Enter | EventKind::Leave | EventKind::Metric => None,
        };
        match event {
            Some(event) => events.writer.write(time, event),
            None => {
                self.unsaid.others += 1;
                Ok(())
            }
        }
    }

    fn sample(&mut self, found: &Sample) -> Event<'static> {
        let is_bound = matches!(found.lca, Lca::AtMost(_) | Lca::Exact(0));
        self.unsaid.bounds += u64::from(is_bound && found.context.is_some());
        let depth = found.context.map_or(0, |context| self.definitions.sampled_contexts.get(context).depth);
        CallingContextSample {
            calling_context: found.context.map_or(UNDEFINED_U32, |context| context.0),
            unwind_distance: unwind_distance(depth, found.lca),
            interrupt_generator: found.generator.map_or(UNDEFINED_U32, |generator| generator.0),
        }
        .into()
    }

    fn send(&mut self, end: &MessageEnd) -> Event<'static> {
        let communicator = self.comms.used(end.comm.0);
        let &MessageEnd { tag: msg_tag, bytes: msg_length, request, .. } = end;
        let receiver = end.peer.0;
        match request {
            None => MpiSend { receiver, communicator, msg_tag, msg_length }.into(),
            Some(request_id) => MpiIsend { receiver, communicator, msg_tag, msg_length, request_id }.into(),
        }
    }

    fn recv(&mut self, end: &MessageEnd) -> Event<'static> {
        let communicator = self.comms.used(end.comm.0);
        let &MessageEnd { tag: msg_tag, bytes: msg_length, request, .. } = end;
        let sender = end.peer.0;
        match request {
            None => MpiRecv { sender, communicator, msg_tag, msg_length }.into(),
            Some(request_id) => MpiIrecv { sender, communicator, msg_tag, msg_length, request_id }.into(),
        }
    }

    fn collective(&mut self, end: &Collective) -> Event<'static> {
        let collective_op = CollectiveOp::from_u8(end.op.code());
        let communicator = self.comms.used(end.comm.0);
        let (size_sent, size_received) = (end.bytes_sent, end.bytes_received);
        let root = number_of_root(end.root);
        match end.request {
            None => MpiCollectiveEnd { collective_op, communicator, root, size_sent, size_received }.into(),
            Some(request_id) => NonBlockingCollectiveComplete {
                collective_op,
                communicator,
                root,
                size_sent,
                size_received,
                request_id,
            }
            .into(),
        }
    }

    fn write_parameters(
        &mut self,
        events: &mut LocationEvents,
        time: u64,
        parameters: &[Parameter],
    ) -> Result<(), WriteError> {
        self.unsaid.empty += u64::from(parameters.is_empty());
        for Parameter { parameter, value, .. } in parameters {
            let (event, parameter_type): (Event<'static>, _) = match value {
                ParameterValue::Text(text) => {
                    let string = self.archive.string(&without_zero(text))?;
                    (ParameterString { parameter: parameter.0, string }.into(), ParameterType::String)
                }
                &ParameterValue::I64(value) => {
                    (ParameterInt { parameter: parameter.0, value }.into(), ParameterType::Int64)
                }
                &ParameterValue::U64(value) => {
                    (ParameterUnsignedInt { parameter: parameter.0, value }.into(), ParameterType::Uint64)
                }
            };
            self.parameter_types[parameter.index()].get_or_insert(parameter_type);
            events.writer.write(time, event)?;
        }
        Ok(())
    }

    /// Values of one row as one record.
    fn write_metrics(
        &mut self,
        events: &mut LocationEvents,
        at: Ticks,
        time: u64,
        values: &[ouzel_model::MetricValue],
    ) -> Result<(), WriteError> {
        self.unsaid.empty += u64::from(values.is_empty());
        if events.waiting.iter().any(|&(_, before)| before != at) {
            events.settle_classes(None, &mut self.classes);
        }
        for values in values.chunks(MAX_VALUES) {
            events.members.clear();
            events.members.extend(values.iter().map(|value| value.metric));
            events.values.clear();
            events.values.extend(values.iter().map(|value| {
                let value_type = self.definitions.metrics[value.metric.index()].value_type;
                MetricValue { value_type: type_of(value_type), bits: value.bits }
            }));
            let metric = self.classes.used(&events.members, events.kind);
            events.waiting.push((metric, at));
            events.writer.write(time, Metric { metric, values: List::new(&events.values) })?;
        }
        Ok(())
    }
}

/// The type of a metric's values.
pub(super) fn type_of(value_type: MetricValueType) -> Type {
    match value_type {
        MetricValueType::U64 => Type::Uint64,
        MetricValueType::I64 => Type::Int64,
        MetricValueType::F64 => Type::Double,
    }
}

fn request(step: &Request) -> Event<'static> {
    let request_id = step.request;
    match step.event {
        RequestEvent::SendComplete => MpiIsendComplete { request_id }.into(),
        RequestEvent::RecvPosted => MpiIrecvRequest { request_id }.into(),
        RequestEvent::Tested => MpiRequestTest { request_id }.into(),
        RequestEvent::Cancelled => MpiRequestCancelled { request_id }.into(),
        RequestEvent::CollectivePosted => NonBlockingCollectiveRequest { request_id }.into(),
    }
}
