//! Events of one location, in columns.
//!
//! Three base columns have one row per event: time, kind, region. Data that only some kinds have is in side tables
//! sorted by `row`, an index into the base
//! columns. Two derived columns are filled by the engine when an analysis needs
//! them: the call path of each row and the visits that end in the chunk.
//!
//! Law: times do not decrease. In an [`EventChunk`] enters and leaves are properly
//! nested over the whole location; a [`ChunkBuffer`] fresh from a reader need not be.

use crate::{
    CallPathId, CallSite, CommId, CommRank, DeviceCall, MetricId, ParameterId, RegionId, RmaEvent, Sample,
    ThreadEvent, Ticks,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Events per chunk that readers aim at. The columns of 2048 events and what is derived from them stay in a
/// second-level cache beside the decoder's window: on a profile
/// of 10 M events 4096 (with a window twice as large) took 5 % longer, 1024 was equal within the noise.
pub const CHUNK_EVENTS: usize = 2048;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum EventKind {
    /// A region was entered.
    Enter,
    /// A region was left.
    Leave,
    /// A message was sent, or its non-blocking send was posted; see [`EventChunk::sends`].
    MessageSend,
    /// A message was received; see [`EventChunk::recvs`].
    MessageRecv,
    /// A step in the life of a non-blocking request; see [`EventChunk::requests`].
    Request,
    /// A collective operation began at this location.
    CollectiveBegin,
    /// A collective operation ended at this location; see [`EventChunk::collectives`].
    CollectiveEnd,
    /// A step in the life of threads, tasks and locks; see [`EventChunk::threads`].
    Thread,
    /// A step of one-sided communication; see [`EventChunk::rma`].
    Rma,
    /// Metric values were read; see [`EventChunk::metrics`].
    Metric,
    /// A parameter of the current call; see [`EventChunk::parameters`].
    Parameter,
    /// The call path was sampled; see [`EventChunk::samples`].
    Sample,
    /// The tracer wrote its buffer to disk: time that belongs to the measurement.
    BufferFlush,
    /// Recording was switched on or off.
    MeasurementOnOff,
    /// Any other event; its payload is not part of the model, except for [`EventChunk::io`].
    Other,
}

impl EventKind {
    /// Its name in tables and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            EventKind::Enter => "enter",
            EventKind::Leave => "leave",
            EventKind::MessageSend => "message_send",
            EventKind::MessageRecv => "message_recv",
            EventKind::Request => "request",
            EventKind::CollectiveBegin => "collective_begin",
            EventKind::CollectiveEnd => "collective_end",
            EventKind::Thread => "thread",
            EventKind::Rma => "rma",
            EventKind::Metric => "metric",
            EventKind::Parameter => "parameter",
            EventKind::Sample => "sample",
            EventKind::BufferFlush => "buffer_flush",
            EventKind::MeasurementOnOff => "measurement_on_off",
            EventKind::Other => "other",
        }
    }
}

/// A completed input or output operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoOperation {
    /// Index of the completion into the base columns.
    pub row: u32,
    /// What it did.
    pub mode: IoMode,
    /// Bytes moved; `None` if that is not known.
    pub bytes: Option<u64>,
}

/// What an input or output operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum IoMode {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It flushes buffers, or its beginning is not recorded.
    Other,
}

/// Which record a row is that has no kind of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedRecord {
    /// Index into the base columns.
    pub row: u32,
    /// Place of its name in [`Definitions::records`](crate::Definitions::records).
    pub record: u16,
}

/// One side of a point-to-point message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEnd {
    /// Index into the base columns.
    pub row: u32,
    /// The communicator.
    pub comm: CommId,
    /// The other side, as a rank of the communicator.
    pub peer: CommRank,
    /// The tag.
    pub tag: u32,
    /// Length of the message in bytes.
    pub bytes: u64,
    /// The request, if the operation is non-blocking.
    pub request: Option<u64>,
}

/// A step in the life of a non-blocking request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Index into the base columns.
    pub row: u32,
    /// The request.
    pub request: u64,
    /// The step.
    pub event: RequestEvent,
}

/// What happened to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RequestEvent {
    /// A non-blocking send is complete.
    SendComplete,
    /// A non-blocking receive was posted.
    RecvPosted,
    /// It was tested without success.
    Tested,
    /// It was cancelled.
    Cancelled,
    /// A non-blocking collective was posted.
    CollectivePosted,
}

/// The end of a collective operation at one location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collective {
    /// Index into the base columns.
    pub row: u32,
    /// The operation.
    pub op: CollectiveOp,
    /// The communicator.
    pub comm: CommId,
    /// The root, where the operation has one.
    pub root: CollectiveRoot,
    /// Bytes this location sent.
    pub bytes_sent: u64,
    /// Bytes this location received.
    pub bytes_received: u64,
    /// The request, if the operation is non-blocking.
    pub request: Option<u64>,
}

/// The root of a collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CollectiveRoot {
    /// The operation has no root.
    None,
    /// The caller is the root (inter-communicators).
    This,
    /// A member of the caller's own group is the root (inter-communicators).
    ThisGroup,
    /// This rank of the communicator is the root.
    Rank(CommRank),
}

macro_rules! collective_ops {
    ($($variant:ident = $code:literal $text:literal,)*) => {
        /// A collective operation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each variant is the field's own term")]
        pub enum CollectiveOp { $($variant,)* Unknown }

        impl CollectiveOp {
            /// The term in lower case.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* Self::Unknown => "unknown" }
            }
            /// The operation of a code in the numbering of OTF2.
            pub fn from_code(code: u8) -> Self {
                match code { $($code => Self::$variant,)* _ => Self::Unknown }
            }
            /// The code in the numbering of OTF2; 255 for `Unknown`.
            pub fn code(self) -> u8 {
                match self { $(Self::$variant => $code,)* Self::Unknown => u8::MAX }
            }
        }
    };
}

collective_ops! {
    Barrier = 0 "barrier", Bcast = 1 "bcast", Gather = 2 "gather", Gatherv = 3 "gatherv", Scatter = 4 "scatter",
    Scatterv = 5 "scatterv", Allgather = 6 "allgather", Allgatherv = 7 "allgatherv", Alltoall = 8 "alltoall",
    Alltoallv = 9 "alltoallv", Alltoallw = 10 "alltoallw", Allreduce = 11 "allreduce", Reduce = 12 "reduce",
    ReduceScatter = 13 "reduce_scatter", Scan = 14 "scan", Exscan = 15 "exscan",
    ReduceScatterBlock = 16 "reduce_scatter_block", CreateHandle = 17 "create_handle",
    DestroyHandle = 18 "destroy_handle", Allocate = 19 "allocate", Deallocate = 20 "deallocate",
    CreateHandleAndAllocate = 21 "create_handle_and_allocate",
    DestroyHandleAndDeallocate = 22 "destroy_handle_and_deallocate",
}

/// One value of one metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricValue {
    /// Index into the base columns. Several values may share a row.
    pub row: u32,
    /// The metric.
    pub metric: MetricId,
    /// The 64 bits of the value, to be read as [`Metric::value_type`](crate::Metric::value_type) says.
    pub bits: u64,
}

/// A value the current call was made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Index into the base columns.
    pub row: u32,
    /// Which parameter.
    pub parameter: ParameterId,
    /// Its value.
    pub value: ParameterValue,
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParameterValue {
    /// Text.
    Text(Arc<str>),
    /// A signed integer.
    I64(i64),
    /// An unsigned integer.
    U64(u64),
}

/// One end of a causal link between two calls that are not caller and callee: an accelerator operation and the
/// call that launched it, the two ends of a flow. Ends with one `id` belong together, over all locations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Row of the enter of the call that is linked. Several links may share a row.
    pub row: u32,
    /// Which link; unique in the trace.
    pub id: u64,
    /// Which end of it.
    pub end: LinkEnd,
}

/// Which end of a [`Link`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LinkEnd {
    /// The cause: the call that launched, the start of a flow.
    From,
    /// The effect: the operation that was launched, the end of a flow.
    To,
}

/// One enter–leave instance of a region, known when it ends. Derived by the engine.
///
/// `leave - enter` is the inclusive time; subtracting `in_callees` gives the exclusive time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// The call path of the region.
    pub call_path: CallPathId,
    /// Row of the leave.
    pub row: u32,
    /// When it was entered.
    pub enter: Ticks,
    /// When it was left.
    pub leave: Ticks,
    /// Time in the regions entered inside it.
    pub in_callees: Ticks,
}

/// A run of consecutive events of one location, borrowed column by column.
#[derive(Debug, Clone, Copy)]
pub struct EventChunk<'a> {
    /// When, one for each row; not decreasing.
    pub time: &'a [Ticks],
    /// What, one for each row.
    pub kind: &'a [EventKind],
    /// Region of an enter or leave; unspecified for other kinds.
    pub region: &'a [RegionId],
    /// Call path of each row: the entered or left one, else the innermost open one
    /// ([`CallPathTree::ROOT`](crate::CallPathTree::ROOT) outside all calls). Empty unless needed.
    pub call_path: &'a [CallPathId],
    /// Where analyses see calls that are not selected: the call path of each row as it is shown, `[filtered]` in place
    /// of hidden calls, once for those directly inside each other. Empty if nothing is hidden: use `call_path` then.
    pub shown_path: &'a [CallPathId],
    /// The same for the region of an enter or leave.
    pub shown_region: &'a [RegionId],
    /// Visits that end here, in the order of their leaves. Empty unless needed.
    pub visits: &'a [Visit],
    /// Payload of [`EventKind::MessageSend`].
    pub sends: &'a [MessageEnd],
    /// Payload of [`EventKind::MessageRecv`].
    pub recvs: &'a [MessageEnd],
    /// Payload of [`EventKind::Request`].
    pub requests: &'a [Request],
    /// Payload of [`EventKind::CollectiveEnd`].
    pub collectives: &'a [Collective],
    /// Payload of [`EventKind::Thread`].
    pub threads: &'a [ThreadEvent],
    /// Payload of [`EventKind::Rma`].
    pub rma: &'a [RmaEvent],
    /// Payload of [`EventKind::Metric`].
    pub metrics: &'a [MetricValue],
    /// Payload of [`EventKind::Parameter`].
    pub parameters: &'a [Parameter],
    /// Payload of [`EventKind::Sample`].
    pub samples: &'a [Sample],
    /// Where calls are made, of enters of which samples show it.
    pub call_sites: &'a [CallSite],
    /// Links of enters.
    pub links: &'a [Link],
    /// What calls do to streams of accelerators.
    pub device_calls: &'a [DeviceCall],
    /// Input and output operations, of rows that are [`EventKind::Other`].
    pub io: &'a [IoOperation],
    /// Names of rows that are [`EventKind::Other`], where the format has them.
    pub named_records: &'a [NamedRecord],
}

impl EventChunk<'_> {
    /// The call path of each row, as it is shown.
    pub fn paths_shown(&self) -> &[CallPathId] {
        if self.shown_path.is_empty() { self.call_path } else { self.shown_path }
    }

    /// The region of each enter and leave, as it is shown.
    pub fn regions_shown(&self) -> &[RegionId] {
        if self.shown_region.is_empty() { self.region } else { self.shown_region }
    }
}

/// The buffer that a reader fills again and again, so that the loop allocates nothing.
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "the columns are those of EventChunk")]
pub struct ChunkBuffer {
    pub time: Vec<Ticks>,
    pub kind: Vec<EventKind>,
    pub region: Vec<RegionId>,
    pub call_path: Vec<CallPathId>,
    pub shown_path: Vec<CallPathId>,
    pub shown_region: Vec<RegionId>,
    pub visits: Vec<Visit>,
    pub sends: Vec<MessageEnd>,
    pub recvs: Vec<MessageEnd>,
    pub requests: Vec<Request>,
    pub collectives: Vec<Collective>,
    pub threads: Vec<ThreadEvent>,
    pub rma: Vec<RmaEvent>,
    pub metrics: Vec<MetricValue>,
    pub parameters: Vec<Parameter>,
    pub samples: Vec<Sample>,
    pub call_sites: Vec<CallSite>,
    pub links: Vec<Link>,
    pub device_calls: Vec<DeviceCall>,
    pub io: Vec<IoOperation>,
    pub named_records: Vec<NamedRecord>,
    /// Event records that this chunk covers, including those without a row because no analysis needs them.
    pub n_records: u64,
    /// Time of the first and the last of those records.
    pub span: Option<(Ticks, Ticks)>,
}

impl ChunkBuffer {
    /// Empties every column but keeps the memory.
    pub fn clear(&mut self) {
        self.time.clear();
        self.kind.clear();
        self.region.clear();
        self.call_path.clear();
        self.shown_path.clear();
        self.shown_region.clear();
        self.visits.clear();
        self.sends.clear();
        self.recvs.clear();
        self.requests.clear();
        self.collectives.clear();
        self.threads.clear();
        self.rma.clear();
        self.metrics.clear();
        self.parameters.clear();
        self.samples.clear();
        self.call_sites.clear();
        self.links.clear();
        self.device_calls.clear();
        self.io.clear();
        self.named_records.clear();
        self.n_records = 0;
        self.span = None;
    }

    /// Takes over what a reader put into another buffer, but keeps the memory. Derived columns are left out.
    pub fn copy_from(&mut self, other: &ChunkBuffer) {
        self.clear();
        self.time.extend_from_slice(&other.time);
        self.kind.extend_from_slice(&other.kind);
        self.region.extend_from_slice(&other.region);
        self.sends.extend_from_slice(&other.sends);
        self.recvs.extend_from_slice(&other.recvs);
        self.requests.extend_from_slice(&other.requests);
        self.collectives.extend_from_slice(&other.collectives);
        self.threads.extend_from_slice(&other.threads);
        self.rma.extend_from_slice(&other.rma);
        self.metrics.extend_from_slice(&other.metrics);
        self.parameters.extend_from_slice(&other.parameters);
        self.samples.extend_from_slice(&other.samples);
        self.call_sites.extend_from_slice(&other.call_sites);
        self.links.extend_from_slice(&other.links);
        self.device_calls.extend_from_slice(&other.device_calls);
        self.io.extend_from_slice(&other.io);
        self.named_records.extend_from_slice(&other.named_records);
        self.n_records = other.n_records;
        self.span = other.span;
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }

    /// Appends a row and returns its index. Payload goes to the side table of its kind.
    #[inline]
    pub fn push(&mut self, time: Ticks, kind: EventKind, region: RegionId) -> u32 {
        let row = self.time.len() as u32;
        self.time.push(time);
        self.kind.push(kind);
        self.region.push(region);
        row
    }

    /// All columns, borrowed.
    pub fn view(&self) -> EventChunk<'_> {
        EventChunk {
            time: &self.time,
            kind: &self.kind,
            region: &self.region,
            call_path: &self.call_path,
            shown_path: &self.shown_path,
            shown_region: &self.shown_region,
            visits: &self.visits,
            sends: &self.sends,
            recvs: &self.recvs,
            requests: &self.requests,
            collectives: &self.collectives,
            threads: &self.threads,
            rma: &self.rma,
            metrics: &self.metrics,
            parameters: &self.parameters,
            samples: &self.samples,
            call_sites: &self.call_sites,
            links: &self.links,
            device_calls: &self.device_calls,
            io: &self.io,
            named_records: &self.named_records,
        }
    }
}
/// Takes the first element off a side table if it belongs to `row`, for those who go through the rows in order.
pub fn popped<'a, T>(side: &mut &'a [T], row: usize, row_of: impl Fn(&T) -> u32) -> Option<&'a T> {
    let (first, rest) = side.split_first()?;
    if row_of(first) as usize != row {
        return None;
    }
    *side = rest;
    Some(first)
}
