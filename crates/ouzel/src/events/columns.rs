//! Batches of rows, and the sink that fills them.

use ouzel_model::{
    Clock, CommId, CommRank, Communicator, Definitions, EventChunk, EventKind, EventSink, LocationId,
    MessageEnd, MetricValue, MetricValueType, Needs, RequestEvent, RmaStep, ThreadStep, WorldRank,
};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of rows of a batch, apart from those of its last chunk.
pub(super) const BATCH_ROWS: usize = 1 << 18;

/// What kind of row, in the terms of Pipit: a code into [`EventType::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum EventType {
    /// A region is entered.
    Enter,
    /// A region is left.
    Leave,
    /// Anything else.
    Instant,
}

impl EventType {
    /// The texts, by code.
    pub const ALL: [&'static str; 3] = ["Enter", "Leave", "Instant"];
}

/// Rows of one location, column by column: one for each event, or one for each value if an event has values of several
/// metrics. All columns have the same length, or are empty if they were not requested.
#[derive(Debug, Clone, PartialEq)]
pub struct EventBatch {
    /// The location.
    pub location: LocationId,
    /// Nanoseconds since the trace start; not decreasing.
    pub time_ns: Vec<u64>,
    /// Codes of [`EventType`].
    pub event_type: Vec<u8>,
    /// Codes of [`EventNames`].
    pub name: Vec<u32>,
    /// Number of calls open around the event.
    pub depth: Vec<u32>,
    /// World rank of the other side of a message.
    pub partner: Vec<Option<u32>>,
    /// Tag of a message.
    pub tag: Vec<Option<u32>>,
    /// Bytes of a message, or those that a collective operation sent from here.
    pub bytes: Vec<Option<u64>>,
    /// The value of a metric, in its unit.
    pub value: Vec<Option<f64>>,
    /// The region of an enter or leave: [`RegionId`](ouzel_model::RegionId).
    pub region: Vec<Option<u32>>,
}

impl EventBatch {
    fn new(location: LocationId) -> Self {
        EventBatch {
            location,
            time_ns: Vec::new(),
            event_type: Vec::new(),
            name: Vec::new(),
            depth: Vec::new(),
            partner: Vec::new(),
            tag: Vec::new(),
            bytes: Vec::new(),
            value: Vec::new(),
            region: Vec::new(),
        }
    }

    /// Appends a row without payload.
    fn push(&mut self, time_ns: u64, event_type: EventType, name: u32, depth: u32) {
        self.time_ns.push(time_ns);
        self.event_type.push(event_type as u8);
        self.name.push(name);
        self.depth.push(depth);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.time_ns.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }
}

/// Names of rows by code, each once: regions with the same name share a code. Instants are named as in OTF2, records
/// without a kind as in their format.
#[derive(Debug, Clone)]
pub struct EventNames {
    names: Vec<Arc<str>>,
    /// By region.
    regions: Vec<u32>,
    /// By [`Instant`].
    instants: Vec<u32>,
    /// By step of threads.
    thread_steps: Vec<u32>,
    /// By step of one-sided communication.
    rma_steps: Vec<u32>,
    /// By metric.
    metrics: Vec<u32>,
    /// By record without a kind.
    records: Vec<u32>,
}

/// Names of instants, in the order of their codes.
const INSTANTS: [&str; 15] = [
    "MpiSend",
    "MpiIsend",
    "MpiRecv",
    "MpiIrecv",
    "MpiIsendComplete",
    "MpiIrecvRequest",
    "MpiRequestTest",
    "MpiRequestCancelled",
    "NonBlockingCollectiveRequest",
    "MpiCollectiveBegin",
    "MpiCollectiveEnd",
    "Parameter",
    "BufferFlush",
    "MeasurementOnOff",
    "Other",
];

impl EventNames {
    /// The names that events of a trace with these definitions may have.
    pub fn new(definitions: &Definitions) -> Self {
        let mut names = Vec::new();
        let mut places: BTreeMap<Arc<str>, u32> = BTreeMap::new();
        let mut code = |name: Arc<str>| {
            *places.entry(name).or_insert_with_key(|name| {
                names.push(Arc::clone(name));
                names.len() as u32 - 1
            })
        };
        let regions = definitions.regions.iter().map(|region| code(region.name.clone())).collect();
        let instants = INSTANTS.iter().map(|&name| code(Arc::from(name))).collect();
        let thread_steps = ThreadStep::NAMES.iter().map(|&name| code(Arc::from(name))).collect();
        let rma_steps = RmaStep::NAMES.iter().map(|&name| code(Arc::from(name))).collect();
        let metrics = definitions.metrics.iter().map(|metric| code(metric.name.clone())).collect();
        let other = code(Arc::from(INSTANTS[Instant::Other as usize]));
        let records = definitions.records.iter();
        let records = records.map(|name| if name.is_empty() { other } else { code(name.clone()) }).collect();
        EventNames { names, regions, instants, thread_steps, rma_steps, metrics, records }
    }

    /// Every name, by code.
    pub fn all(&self) -> &[Arc<str>] {
        &self.names
    }
}

/// Codes of [`INSTANTS`].
#[derive(Clone, Copy)]
enum Instant {
    Send,
    Isend,
    Recv,
    Irecv,
    SendComplete,
    RecvPosted,
    Tested,
    Cancelled,
    CollectivePosted,
    CollectiveBegin,
    CollectiveEnd,
    Parameter,
    BufferFlush,
    MeasurementOnOff,
    Other,
}

/// The input for making the rows.
#[derive(Debug)]
pub(super) struct Meaning {
    pub names: EventNames,
    clock: Clock,
    communicators: Vec<Communicator>,
    metrics: Vec<MetricValueType>,
}

impl Meaning {
    pub fn new(definitions: &Definitions) -> Self {
        Meaning {
            names: EventNames::new(definitions),
            clock: definitions.clock,
            communicators: definitions.communicators.clone(),
            metrics: definitions.metrics.iter().map(|metric| metric.value_type).collect(),
        }
    }

    /// The world rank of a peer, if it is known.
    fn world_rank(&self, comm: CommId, peer: CommRank, own: Option<WorldRank>) -> Option<u32> {
        self.communicators[comm.index()].peer(own, peer).map(|rank| rank.0)
    }

    fn value(&self, value: &MetricValue) -> f64 {
        match self.metrics[value.metric.index()] {
            MetricValueType::U64 => value.bits as f64,
            MetricValueType::I64 => value.bits as i64 as f64,
            MetricValueType::F64 => f64::from_bits(value.bits),
        }
    }
}

/// Fills batches, location by location.
pub(super) struct Lister {
    meaning: Arc<Meaning>,
    /// Whether the columns of messages and metrics are requested.
    with_payload: bool,
    batches: Arc<Mutex<Vec<EventBatch>>>,
    local: Option<Local>,
}

/// The current location.
struct Local {
    batch: EventBatch,
    depth: u32,
    rank: Option<WorldRank>,
}

impl Lister {
    pub fn new(meaning: Arc<Meaning>, with_payload: bool, batches: Arc<Mutex<Vec<EventBatch>>>) -> Self {
        Lister { meaning, with_payload, batches, local: None }
    }

    fn give(&self, batch: EventBatch) {
        if !batch.is_empty() {
            self.batches.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
        }
    }

    /// The rows of a chunk, without payload.
    fn push_rows(&self, local: &mut Local, chunk: &EventChunk<'_>) {
        let Meaning { names, clock, .. } = &*self.meaning;
        let Local { batch, depth, .. } = local;
        let mut requests = chunk.requests.iter();
        let (mut threads, mut rma) = (chunk.threads.iter(), chunk.rma.iter());
        let mut metrics = chunk.metrics.iter().peekable();
        let mut named = chunk.named_records.iter().peekable();
        let (mut sends, mut recvs) = (chunk.sends.iter(), chunk.recvs.iter());
        for (row, (&kind, &region)) in (0_u32..).zip(chunk.kind.iter().zip(chunk.region)) {
            let time_ns = clock.ns_from_ticks(chunk.time[row as usize]);
            let request = |end: Option<&MessageEnd>| end.is_some_and(|end| end.request.is_some());
            let instant = match kind {
                EventKind::Enter => {
                    batch.push(time_ns, EventType::Enter, names.regions[region.index()], *depth);
                    *depth += 1;
                    continue;
                }
                EventKind::Leave => {
                    *depth = depth.saturating_sub(1);
                    batch.push(time_ns, EventType::Leave, names.regions[region.index()], *depth);
                    continue;
                }
                EventKind::Metric => {
                    while metrics.next_if(|value| value.row < row).is_some() {}
                    let before = batch.len();
                    while let Some(value) = metrics.next_if(|value| value.row == row) {
                        batch.push(time_ns, EventType::Instant, names.metrics[value.metric.index()], *depth);
                    }
                    if before < batch.len() {
                        continue;
                    }
                    Instant::Other
                }
                EventKind::MessageSend if request(sends.next()) => Instant::Isend,
                EventKind::MessageSend => Instant::Send,
                EventKind::MessageRecv if request(recvs.next()) => Instant::Irecv,
                EventKind::MessageRecv => Instant::Recv,
                EventKind::Request => match requests.next().map(|request| request.event) {
                    Some(RequestEvent::SendComplete) => Instant::SendComplete,
                    Some(RequestEvent::RecvPosted) => Instant::RecvPosted,
                    Some(RequestEvent::Tested) => Instant::Tested,
                    Some(RequestEvent::Cancelled) => Instant::Cancelled,
                    Some(RequestEvent::CollectivePosted) => Instant::CollectivePosted,
                    None => Instant::Other,
                },
                EventKind::Thread => match threads.next() {
                    Some(event) => {
                        let name = names.thread_steps[event.step.index()];
                        batch.push(time_ns, EventType::Instant, name, *depth);
                        continue;
                    }
                    None => Instant::Other,
                },
                EventKind::Rma => match rma.next() {
                    Some(event) => {
                        let name = names.rma_steps[event.step.index()];
                        batch.push(time_ns, EventType::Instant, name, *depth);
                        continue;
                    }
                    None => Instant::Other,
                },
                EventKind::CollectiveBegin => Instant::CollectiveBegin,
                EventKind::CollectiveEnd => Instant::CollectiveEnd,
                EventKind::Parameter => Instant::Parameter,
                EventKind::BufferFlush => Instant::BufferFlush,
                EventKind::MeasurementOnOff => Instant::MeasurementOnOff,
                EventKind::Other => {
                    while named.next_if(|record| record.row < row).is_some() {}
                    let record = named.next_if(|record| record.row == row);
                    let name = record.and_then(|record| names.records.get(usize::from(record.record)));
                    if let Some(&name) = name {
                        batch.push(time_ns, EventType::Instant, name, *depth);
                        continue;
                    }
                    Instant::Other
                }
                EventKind::Sample => Instant::Other,
            };
            batch.push(time_ns, EventType::Instant, names.instants[instant as usize], *depth);
        }
    }

    /// The payload of the rows that begin at `first`.
    fn push_payload(&self, local: &mut Local, first: usize, chunk: &EventChunk<'_>) {
        let Local { batch, rank, .. } = local;
        let n_rows = batch.len();
        batch.partner.resize(n_rows, None);
        batch.tag.resize(n_rows, None);
        batch.bytes.resize(n_rows, None);
        batch.value.resize(n_rows, None);
        batch.region.resize(n_rows, None);
        let mut further = FurtherRows::default();
        for (value, next) in chunk.metrics.iter().zip(chunk.metrics.iter().skip(1).map(Some).chain([None])) {
            batch.value[first + further.row(value.row)] = Some(self.meaning.value(value));
            if next.is_some_and(|next| next.row == value.row) {
                further.add(value.row);
            }
        }
        // In the end: it is known then which rows events with several values shift.
        for (row, (kind, region)) in (0_u32..).zip(chunk.kind.iter().zip(chunk.region)) {
            if matches!(kind, EventKind::Enter | EventKind::Leave) {
                batch.region[first + further.row(row)] = Some(region.0);
            }
        }
        for end in chunk.sends.iter().chain(chunk.recvs) {
            let row = first + further.row(end.row);
            batch.partner[row] = self.meaning.world_rank(end.comm, end.peer, *rank);
            batch.tag[row] = Some(end.tag);
            batch.bytes[row] = Some(end.bytes);
        }
        for collective in chunk.collectives {
            batch.bytes[first + further.row(collective.row)] = Some(collective.bytes_sent);
        }
    }
}

/// The rows of events that have several, one for each value of a metric class: they shift the rows after them.
#[derive(Default)]
struct FurtherRows(Vec<u32>);

impl FurtherRows {
    /// Another row of event `row`; the events come in order.
    fn add(&mut self, row: u32) {
        self.0.push(row);
    }

    /// Position of the last row of event `row` so far.
    fn row(&self, row: u32) -> usize {
        row as usize + self.0.partition_point(|&other| other <= row)
    }
}

impl EventSink for Lister {
    type Error = Infallible;

    /// Samples of locations with no other events come as the calls made of them.
    fn needs(&self) -> Needs {
        let instants = Needs::METRICS | Needs::PARAMETERS | Needs::THREADS | Needs::RMA | Needs::OTHERS;
        Needs::MESSAGES | Needs::COLLECTIVES | instants
    }

    fn begin(&mut self, location: LocationId, definitions: &Definitions) -> Result<(), Infallible> {
        let rank = definitions.location(location).rank;
        self.local = Some(Local { batch: EventBatch::new(location), depth: 0, rank });
        Ok(())
    }

    fn take(&mut self, chunk: &EventChunk<'_>) -> Result<(), Infallible> {
        let mut local = self.local.take().expect("a location was begun");
        let first = local.batch.len();
        self.push_rows(&mut local, chunk);
        if self.with_payload {
            self.push_payload(&mut local, first, chunk);
        }
        if BATCH_ROWS <= local.batch.len() {
            let next = EventBatch::new(local.batch.location);
            self.give(std::mem::replace(&mut local.batch, next));
        }
        self.local = Some(local);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Infallible> {
        let local = self.local.take().expect("a location was begun");
        self.give(local.batch);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_engine::list;
    use ouzel_model::{Filter, TraceSource};
    use ouzel_testkit::ToyTrace;

    /// Time, name, depth, bytes and value.
    type Row = (u64, String, u32, Option<u64>, Option<f64>);

    fn rows(trace: &ToyTrace) -> Vec<Row> {
        let meaning = Arc::new(Meaning::new(trace.definitions()));
        let batches: Arc<Mutex<Vec<EventBatch>>> = Arc::default();
        let lister = Lister::new(Arc::clone(&meaning), true, Arc::clone(&batches));
        list(trace, &Filter::default(), [LocationId(0)], lister, None).unwrap();
        let batches = std::mem::take(&mut *batches.lock().unwrap());
        let row = |batch: &EventBatch, i: usize| {
            let name = meaning.names.all()[batch.name[i] as usize].to_string();
            (batch.time_ns[i], name, batch.depth[i], batch.bytes[i], batch.value[i])
        };
        batches.iter().flat_map(|batch| (0..batch.len()).map(|i| row(batch, i)).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn each_value_of_a_metric_class_has_a_row() {
        let trace = ToyTrace::new(
            "0: send>0 bytes 4 @0, enter main @1, metric a=1 b=2 c=3 @2, send>0 bytes 8 @3, metric c=5 @4, leave @9",
        );
        let is = |time, name: &str, depth, bytes, value| (time, name.to_owned(), depth, bytes, value);
        assert_eq!(
            rows(&trace),
            [
                is(0, "MpiSend", 0, Some(4), None),
                is(1, "main", 0, None, None),
                is(2, "a", 1, None, Some(1.0)),
                is(2, "b", 1, None, Some(2.0)),
                is(2, "c", 1, None, Some(3.0)),
                is(3, "MpiSend", 1, Some(8), None),
                is(4, "c", 1, None, Some(5.0)),
                is(9, "main", 0, None, None),
            ]
        );
    }

    #[test]
    fn names_are_unique() {
        let mut definitions =
            ToyTrace::new("0: enter a @0, metric a=1 MpiSend=2 @1, leave @2").definitions().clone();
        let region = definitions.regions[0].clone();
        definitions.set_regions(vec![region.clone(), region]);
        let names = EventNames::new(&definitions);
        let mut all = names.all().to_vec();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), names.all().len());
        assert_eq!([names.regions[0], names.regions[1], names.metrics[0]], [0; 3]);
        assert_eq!(names.metrics[1], names.instants[Instant::Send as usize]);
    }
}
