//! Batches of rows, and the analysis that fills them.

use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{
    Clock, CommId, CommRank, Communicator, Contents, Definitions, EventChunk, EventKind, LocationId,
    MessageEnd, MetricValue, MetricValueType, Needs, Remap, RequestEvent, WorldRank,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of a batch at most, but for those of one chunk.
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

/// Rows of one location, column by column; all columns have one length, or none where they were not asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct EventBatch {
    /// Where.
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
        }
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

/// Names of rows by code: of regions, then of instants, then of metrics. Instants are called as in OTF2.
#[derive(Debug, Clone)]
pub struct EventNames {
    names: Vec<Arc<str>>,
    n_regions: u32,
}

/// What instants are called, in the order of their codes.
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
        let regions = definitions.regions.iter().map(|region| region.name.clone());
        let metrics = definitions.metrics.iter().map(|metric| metric.name.clone());
        let instants = INSTANTS.iter().map(|&name| Arc::from(name));
        let n_regions = definitions.regions.len() as u32;
        EventNames { names: regions.chain(instants).chain(metrics).collect(), n_regions }
    }

    /// Every name, by code.
    pub fn all(&self) -> &[Arc<str>] {
        &self.names
    }

    fn instant(&self, name: Instant) -> u32 {
        self.n_regions + name as u32
    }

    fn metric(&self, index: usize) -> u32 {
        self.n_regions + INSTANTS.len() as u32 + index as u32
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

/// What the rows are made with.
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

/// Fills batches and hands them to whoever holds the other end of the sink. An analysis in form only.
pub(super) struct Lister {
    pub meaning: Arc<Meaning>,
    /// Whether the columns of messages and metrics are wanted.
    pub with_payload: bool,
    pub sink: Arc<Mutex<Vec<EventBatch>>>,
}

/// The location at work.
pub(super) struct Local {
    batch: EventBatch,
    depth: u32,
    rank: Option<WorldRank>,
}

impl Lister {
    fn give(&self, batch: &mut EventBatch) {
        let full = std::mem::replace(batch, EventBatch::new(batch.location));
        if !full.is_empty() {
            self.sink.lock().unwrap_or_else(PoisonError::into_inner).push(full);
        }
    }

    /// The rows of a chunk, without payload.
    fn push_rows(&self, local: &mut Local, chunk: &EventChunk<'_>) {
        let Meaning { names, clock, .. } = &*self.meaning;
        let Local { batch, depth, .. } = local;
        batch.time_ns.extend(chunk.time.iter().map(|&time| clock.ns_from_ticks(time)));
        let mut requests = chunk.requests.iter();
        let mut metrics = chunk.metrics.iter().peekable();
        let (mut sends, mut recvs) = (chunk.sends.iter(), chunk.recvs.iter());
        for (row, (&kind, &region)) in (0_u32..).zip(chunk.kind.iter().zip(chunk.region)) {
            let request = |end: Option<&MessageEnd>| end.is_some_and(|end| end.request.is_some());
            let instant = match kind {
                EventKind::Enter => {
                    batch.event_type.push(EventType::Enter as u8);
                    batch.name.push(region.0);
                    batch.depth.push(*depth);
                    *depth += 1;
                    continue;
                }
                EventKind::Leave => {
                    *depth = depth.saturating_sub(1);
                    batch.event_type.push(EventType::Leave as u8);
                    batch.name.push(region.0);
                    batch.depth.push(*depth);
                    continue;
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
                EventKind::CollectiveBegin => Instant::CollectiveBegin,
                EventKind::CollectiveEnd => Instant::CollectiveEnd,
                EventKind::Parameter => Instant::Parameter,
                EventKind::BufferFlush => Instant::BufferFlush,
                EventKind::MeasurementOnOff => Instant::MeasurementOnOff,
                EventKind::Metric | EventKind::Sample | EventKind::Other => Instant::Other,
            };
            let mut name = names.instant(instant);
            if kind == EventKind::Metric {
                // Of several values in one row the first names it; `ouzel convert` has a row for each.
                while metrics.next_if(|value| value.row < row).is_some() {}
                if let Some(value) = metrics.peek().filter(|value| value.row == row) {
                    name = names.metric(value.metric.index());
                }
            }
            batch.event_type.push(EventType::Instant as u8);
            batch.name.push(name);
            batch.depth.push(*depth);
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
        for end in chunk.sends.iter().chain(chunk.recvs) {
            let row = first + end.row as usize;
            batch.partner[row] = self.meaning.world_rank(end.comm, end.peer, *rank);
            batch.tag[row] = Some(end.tag);
            batch.bytes[row] = Some(end.bytes);
        }
        for collective in chunk.collectives {
            batch.bytes[first + collective.row as usize] = Some(collective.bytes_sent);
        }
        for value in chunk.metrics.iter().rev() {
            batch.value[first + value.row as usize] = Some(self.meaning.value(value));
        }
    }
}

impl Analysis for Lister {
    type Local = Local;
    type Partial = ();
    type Output = ();
    const NAME: &'static str = "event-columns";
    const PARTIAL_VERSION: u32 = 1;

    /// Samples of locations that hold nothing else come as the calls made of them.
    fn needs(&self) -> Needs {
        Needs::MESSAGES | Needs::COLLECTIVES | Needs::METRICS | Needs::PARAMETERS | Needs::OTHERS
    }

    fn speaks_of(&self) -> Contents {
        Contents::NONE
    }

    fn empty(&self) {}

    fn begin(&self, cx: &LocationCx<'_>) -> Local {
        let rank = cx.definitions.location(cx.location).rank;
        Local { batch: EventBatch::new(cx.location), depth: 0, rank }
    }

    fn fold(&self, local: &mut Local, chunk: &EventChunk<'_>) {
        let first = local.batch.len();
        self.push_rows(local, chunk);
        if self.with_payload {
            self.push_payload(local, first, chunk);
        }
        if BATCH_ROWS <= local.batch.len() {
            self.give(&mut local.batch);
        }
    }

    fn end(&self, mut local: Local, _: &LocationCx<'_>, _: &LocationSummary, _: &mut ()) {
        self.give(&mut local.batch);
    }

    fn remap(&self, _: &mut (), _: &Remap) {}

    fn merge(&self, _: &mut (), _: ()) {}

    fn finish(&self, _: (), _: &FinishCx<'_>) -> Result<(), AnalysisError> {
        Ok(())
    }
}
