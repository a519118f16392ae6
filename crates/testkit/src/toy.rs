//! A trace in memory that behaves like a file: chunks, needs, damage.
//!
//! A location is a list of [`ToyEvent`]s. The reader delivers them in chunks of any size,
//! leaves out rows that no analysis needs (they still count as records) and can be made
//! to fail after some events. For traces written as text see [`ToyTrace::new`], for
//! random ones [`RandomTrace`].

mod language;
mod program;
mod random;
#[cfg(test)]
mod tests;

pub use program::random_program;
pub use random::{Faults, RandomTrace, sampled_trace};

use ouzel_model::{
    ChunkBuffer, ChunkReader, Clock, Collective, Communicator, ContextId, Definitions, DeviceCall,
    DeviceStep, EventKind, IoMode, IoOperation, Link, LinkEnd, Location, LocationGroup, LocationGroupId,
    LocationGroupKind, LocationId, LocationKind, MessageEnd, Metric, MetricId, MetricMode, MetricValue,
    MetricValueType, Needs, Notice, Paradigm, Parameter, ParameterId, ParameterValue, ReadError, ReadPlan,
    Region, RegionId, RegionRole, Request, RmaEvent, RmaStep, RmaWindowId, Sample, SystemNode, SystemNodeId,
    SystemTree, ThreadEvent, ThreadStep, Ticks, TraceSource, WorldRank,
};
use std::sync::Arc;

/// Nominal size of an event on disk.
const EVENT_BYTES: u64 = 9;

/// One event of a [`ToyTrace`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToyEvent {
    /// When.
    pub time: Ticks,
    /// What.
    pub what: ToyPayload,
}

/// What a [`ToyEvent`] is. Rows inside payloads are set when a chunk is read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are those of EventKind, the fields those of the model")]
pub enum ToyPayload {
    Enter(RegionId),
    Leave(RegionId),
    Send(MessageEnd),
    Recv(MessageEnd),
    Request(Request),
    CollectiveBegin,
    CollectiveEnd(Collective),
    Thread(ThreadStep),
    Rma(Option<RmaWindowId>, RmaStep),
    Metric(Vec<(MetricId, u64)>),
    Parameter(ParameterId, ParameterValue),
    Sample(Sample),
    Io(IoMode, Option<u64>),
    /// Belongs to the enter before it, and is no event of its own.
    Link(u64, LinkEnd),
    /// Likewise.
    Device(DeviceStep),
    BufferFlush,
    MeasurementOnOff,
    Other,
}

impl ToyPayload {
    /// Whether it only says more of the enter before it.
    fn is_of_enter(&self) -> bool {
        matches!(self, ToyPayload::Link(..) | ToyPayload::Device(_))
    }
}

/// A trace in memory.
#[derive(Debug, Clone)]
pub struct ToyTrace {
    definitions: Definitions,
    events: Vec<Vec<ToyEvent>>,
    notices: Vec<Notice>,
    chunk_events: usize,
    damage: Vec<(LocationId, usize)>,
    completes_calls: bool,
}

impl ToyTrace {
    /// A trace of no location on a clock of nanoseconds, with `MPI_COMM_WORLD` as its first communicator.
    pub fn empty() -> Self {
        let clock = Clock {
            ticks_per_second: 1_000_000_000,
            offset_ticks: 0,
            realtime_ns: None,
            declared_length: None,
        };
        let mut definitions = Definitions::empty(clock);
        definitions.provenance.format = "toy".to_owned();
        definitions.provenance.creator = "ouzel-testkit".to_owned();
        let node = |name: &str, class: &str, parent, shared_memory| SystemNode {
            name: Arc::from(name),
            class: Arc::from(class),
            parent,
            shared_memory,
        };
        definitions.system_tree = SystemTree {
            nodes: vec![
                node("toy", "machine", None, false),
                node("node0", "node", Some(SystemNodeId(0)), true),
            ],
        };
        definitions.communicators.push(Communicator::of_ranks("MPI_COMM_WORLD", Arc::default()));
        ToyTrace {
            definitions,
            events: Vec::new(),
            notices: Vec::new(),
            chunk_events: usize::MAX,
            damage: Vec::new(),
            completes_calls: false,
        }
    }

    /// The same, in which samples show the calls that are not recorded.
    #[must_use]
    pub fn completing_calls(self) -> Self {
        ToyTrace { completes_calls: true, ..self }
    }

    /// A trace with these definitions, whose locations have no events yet.
    pub fn of_definitions(definitions: Definitions) -> Self {
        let events = vec![Vec::new(); definitions.locations.len()];
        ToyTrace { definitions, events, ..ToyTrace::empty() }
    }

    /// The same with `n` events per chunk; all in one if this is never called.
    #[must_use]
    pub fn with_chunk_events(mut self, n: usize) -> Self {
        assert!(0 < n, "a chunk holds at least one event");
        self.chunk_events = n;
        self
    }

    /// The same with `location` unreadable after its first `n_events` events.
    #[must_use]
    pub fn with_damage(mut self, location: LocationId, n_events: usize) -> Self {
        self.damage.push((location, n_events));
        self
    }

    /// The same on another clock.
    #[must_use]
    pub fn with_ticks_per_second(mut self, ticks_per_second: u64) -> Self {
        self.definitions.clock.ticks_per_second = ticks_per_second;
        self
    }

    /// The same with a notice from opening.
    #[must_use]
    pub fn with_notice(mut self, notice: Notice) -> Self {
        self.notices.push(notice);
        self
    }

    /// The definitions, to be changed by tests that need something special.
    pub fn definitions_mut(&mut self) -> &mut Definitions {
        &mut self.definitions
    }

    /// The events of a location as recorded.
    pub fn events(&self, location: LocationId) -> &[ToyEvent] {
        &self.events[location.index()]
    }

    /// The events of a location, to be changed.
    pub fn events_mut(&mut self, location: LocationId) -> &mut Vec<ToyEvent> {
        &mut self.events[location.index()]
    }

    /// Number of events over all locations.
    pub fn n_events(&self) -> usize {
        self.events.iter().map(Vec::len).sum()
    }

    /// The region of a name, defined if need be; names determine role and paradigm (see [`region_from_name`]).
    pub fn region(&mut self, name: &str) -> RegionId {
        let n = self.definitions.n_regions();
        let regions = &mut self.definitions.regions;
        if let Some(found) = regions[..n].iter().position(|r| &*r.name == name) {
            return RegionId::from_index(found);
        }
        let mut all = std::mem::take(regions);
        all.truncate(n);
        all.push(region_from_name(name));
        self.definitions.set_regions(all);
        RegionId::from_index(n)
    }

    /// The metric of a name, defined as an accumulated unsigned counter if need be.
    pub fn metric(&mut self, name: &str) -> MetricId {
        let metrics = &mut self.definitions.metrics;
        let found = metrics.iter().position(|m| &*m.name == name);
        MetricId::from_index(found.unwrap_or_else(|| {
            metrics.push(Metric {
                name: Arc::from(name),
                description: Arc::from(""),
                unit: Arc::from("#"),
                mode: MetricMode::Accumulated,
                value_type: MetricValueType::U64,
            });
            metrics.len() - 1
        }))
    }

    /// The parameter of a name, defined if need be.
    pub fn parameter(&mut self, name: &str) -> ParameterId {
        let parameters = &mut self.definitions.parameters;
        let found = parameters.iter().position(|p| &**p == name);
        ParameterId::from_index(found.unwrap_or_else(|| {
            parameters.push(Arc::from(name));
            parameters.len() - 1
        }))
    }

    /// The sampled path of `frames`, outermost first: regions with the line at which each is; defined if need be.
    /// None of no frame.
    pub fn sampled_context(&mut self, frames: &[(RegionId, Option<u32>)]) -> Option<ContextId> {
        let mut at = None;
        for &(region, line) in frames {
            let contexts = &mut self.definitions.sampled_contexts;
            let found = contexts.iter().position(|c| c.parent == at && c.region == region && c.line == line);
            let found = found.map(ContextId::from_index);
            at = Some(found.unwrap_or_else(|| contexts.push(at, region, None, line)));
        }
        at
    }

    /// Adds a location of `rank`: its process or accelerator context is made if need be.
    pub fn add_location(
        &mut self,
        rank: WorldRank,
        name: &str,
        kind: LocationKind,
        events: Vec<ToyEvent>,
    ) -> LocationId {
        let on_accelerator = kind == LocationKind::AcceleratorStream;
        let process = self.group(rank, LocationGroupKind::Process, None);
        let group = if on_accelerator {
            self.group(rank, LocationGroupKind::Accelerator, Some(process))
        } else {
            process
        };
        let id = LocationId::from_index(self.events.len());
        self.definitions.locations.push(Location {
            name: Arc::from(name),
            kind,
            group,
            rank: Some(rank),
            declared_events: Some(events.len() as u64),
            native_id: u64::from(id.0),
        });
        self.events.push(events);
        id
    }

    fn group(
        &mut self,
        rank: WorldRank,
        kind: LocationGroupKind,
        creator: Option<LocationGroupId>,
    ) -> LocationGroupId {
        let groups = &mut self.definitions.location_groups;
        if let Some(found) = groups.iter().position(|g| g.rank == Some(rank) && g.kind == kind) {
            return LocationGroupId::from_index(found);
        }
        let name = match kind {
            LocationGroupKind::Accelerator => format!("Context of rank {rank}"),
            _ => format!("MPI Rank {rank}"),
        };
        groups.push(LocationGroup {
            name: Arc::from(name),
            kind,
            system_node: Some(SystemNodeId(1)),
            creator,
            device: None,
            rank: Some(rank),
        });
        let group = LocationGroupId::from_index(groups.len() - 1);
        self.definitions.communicators[0].members = self.definitions.ranks().into();
        group
    }
}

/// A region as its name suggests: `MPI_*`, `omp*` or `!$omp *`, `pthread_*`, `cuda*` have their paradigm, the rest is
/// user code.
pub fn region_from_name(name: &str) -> Region {
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let paradigm = match name {
        _ if name.starts_with("MPI_") => Paradigm::Mpi,
        _ if name.starts_with("omp") || name.starts_with("!$omp") => Paradigm::OpenMp,
        _ if name.starts_with("pthread_") => Paradigm::Pthread,
        _ if name.starts_with("cuda") => Paradigm::Cuda,
        _ => Paradigm::User,
    };
    let role = match paradigm {
        Paradigm::Mpi if has(&["Barrier"]) => RegionRole::Barrier,
        Paradigm::Mpi if has(&["All", "Reduce_scatter"]) => RegionRole::CollectiveAllToAll,
        Paradigm::Mpi if has(&["Bcast", "Scatter"]) => RegionRole::CollectiveOneToAll,
        Paradigm::Mpi if has(&["Reduce", "Gather"]) => RegionRole::CollectiveAllToOne,
        Paradigm::Mpi if has(&["end", "ecv", "Wait", "Test"]) => RegionRole::PointToPoint,
        Paradigm::OpenMp if has(&["implicit barrier"]) => RegionRole::ImplicitBarrier,
        Paradigm::OpenMp if has(&["barrier"]) => RegionRole::Barrier,
        Paradigm::OpenMp if has(&["critical"]) => RegionRole::Critical,
        Paradigm::OpenMp if has(&["parallel"]) => RegionRole::Parallel,
        Paradigm::OpenMp if has(&["for", "loop"]) => RegionRole::Loop,
        _ => RegionRole::Function,
    };
    Region {
        name: Arc::from(name),
        canonical_name: None,
        file: (paradigm == Paradigm::User).then(|| Arc::from("toy.c")),
        line: None,
        end_line: None,
        role,
        paradigm,
    }
}

impl TraceSource for ToyTrace {
    fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn location_bytes(&self, location: LocationId) -> u64 {
        self.events[location.index()].len() as u64 * EVENT_BYTES
    }

    fn is_sampled(&self, location: LocationId) -> bool {
        let is_call = |what: &ToyPayload| matches!(what, ToyPayload::Enter(_) | ToyPayload::Leave(_));
        let events = &self.events[location.index()];
        let has_samples = events.iter().any(|event| matches!(event.what, ToyPayload::Sample(_)));
        has_samples && !events.iter().any(|event| is_call(&event.what))
    }

    fn completes_calls(&self, location: LocationId) -> bool {
        self.completes_calls && !self.is_sampled(location)
    }

    fn open(&self, location: LocationId, plan: &ReadPlan) -> Result<Box<dyn ChunkReader + '_>, ReadError> {
        let damage = self.damage.iter().filter(|(l, _)| *l == location).map(|&(_, n)| n).min();
        let rest = &self.events[location.index()];
        Ok(Box::new(ToyReader {
            location,
            rest,
            done: 0,
            damage,
            chunk_events: self.chunk_events,
            needs: plan.needs,
        }))
    }
}

/// Reads one location of a [`ToyTrace`].
#[derive(Debug)]
struct ToyReader<'t> {
    location: LocationId,
    rest: &'t [ToyEvent],
    done: usize,
    damage: Option<usize>,
    chunk_events: usize,
    needs: Needs,
}

impl ChunkReader for ToyReader<'_> {
    fn read(&mut self, buffer: &mut ChunkBuffer) -> Result<bool, ReadError> {
        buffer.clear();
        let readable =
            self.damage.map_or(self.rest.len(), |n| self.rest.len().min(n.saturating_sub(self.done)));
        let mut n_events = readable.min(self.chunk_events);
        while n_events < readable && self.rest[n_events].what.is_of_enter() {
            n_events += 1;
        }
        let (chunk, rest) = self.rest.split_at(n_events);
        for event in chunk {
            push_event(buffer, self.needs, event);
        }
        buffer.n_records = chunk.len() as u64;
        buffer.span = chunk.first().zip(chunk.last()).map(|(first, last)| (first.time, last.time));
        self.rest = rest;
        self.done += chunk.len();
        if self.damage.is_some_and(|n| n <= self.done) {
            return Err(ReadError {
                file: Arc::from(format!("toy/{}.evt", self.location.0)),
                offset: self.done as u64 * EVENT_BYTES,
                record: self.done as u64,
                reason: "input ends inside a record".to_owned(),
            });
        }
        Ok(!chunk.is_empty())
    }

    fn notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}

/// Appends the row of an event and its payload, if an analysis needs it.
fn push_event(buffer: &mut ChunkBuffer, needs: Needs, event: &ToyEvent) {
    let (kind, need) = kind_and_need(&event.what);
    if !needs.contains(need) {
        return;
    }
    if event.what.is_of_enter() {
        // Of an enter that was lost nothing is known.
        let Some(row) = buffer.kind.iter().rposition(|kind| *kind == EventKind::Enter) else { return };
        match event.what {
            ToyPayload::Link(id, end) => buffer.links.push(Link { row: row as u32, id, end }),
            ToyPayload::Device(step) => buffer.device_calls.push(DeviceCall { row: row as u32, step }),
            _ => {}
        }
        return;
    }
    let region = match event.what {
        ToyPayload::Enter(region) | ToyPayload::Leave(region) => region,
        // Unspecified for other kinds: an invalid value, so that code that uses it fails.
        _ => RegionId(u32::MAX),
    };
    let row = buffer.push(event.time, kind, region);
    match &event.what {
        ToyPayload::Send(end) => buffer.sends.push(MessageEnd { row, ..*end }),
        ToyPayload::Recv(end) => buffer.recvs.push(MessageEnd { row, ..*end }),
        ToyPayload::Request(request) => buffer.requests.push(Request { row, ..*request }),
        ToyPayload::CollectiveEnd(end) => buffer.collectives.push(Collective { row, ..*end }),
        &ToyPayload::Thread(step) => buffer.threads.push(ThreadEvent { row, step }),
        &ToyPayload::Rma(window, step) => buffer.rma.push(RmaEvent { row, window, step }),
        ToyPayload::Metric(values) => {
            let values = values.iter().map(|&(metric, bits)| MetricValue { row, metric, bits });
            buffer.metrics.extend(values);
        }
        ToyPayload::Parameter(parameter, value) => {
            buffer.parameters.push(Parameter { row, parameter: *parameter, value: value.clone() });
        }
        ToyPayload::Sample(sample) => buffer.samples.push(Sample { row, ..*sample }),
        &ToyPayload::Io(mode, bytes) => buffer.io.push(IoOperation { row, mode, bytes }),
        _ => {}
    }
}

fn kind_and_need(what: &ToyPayload) -> (EventKind, Needs) {
    match what {
        ToyPayload::Enter(_) => (EventKind::Enter, Needs::NOTHING),
        ToyPayload::Leave(_) => (EventKind::Leave, Needs::NOTHING),
        ToyPayload::Send(_) => (EventKind::MessageSend, Needs::MESSAGES),
        ToyPayload::Recv(_) => (EventKind::MessageRecv, Needs::MESSAGES),
        ToyPayload::Request(_) => (EventKind::Request, Needs::MESSAGES),
        ToyPayload::CollectiveBegin => (EventKind::CollectiveBegin, Needs::COLLECTIVES),
        ToyPayload::CollectiveEnd(_) => (EventKind::CollectiveEnd, Needs::COLLECTIVES),
        ToyPayload::Thread(_) => (EventKind::Thread, Needs::THREADS),
        ToyPayload::Rma(..) => (EventKind::Rma, Needs::RMA),
        ToyPayload::Metric(_) => (EventKind::Metric, Needs::METRICS),
        ToyPayload::Parameter(..) => (EventKind::Parameter, Needs::PARAMETERS),
        ToyPayload::Sample(_) => (EventKind::Sample, Needs::SAMPLES),
        ToyPayload::Io(..) => (EventKind::Other, Needs::IO),
        ToyPayload::Link(..) | ToyPayload::Device(_) => (EventKind::Enter, Needs::LINKS),
        ToyPayload::BufferFlush => (EventKind::BufferFlush, Needs::OTHERS),
        ToyPayload::MeasurementOnOff => (EventKind::MeasurementOnOff, Needs::OTHERS),
        ToyPayload::Other => (EventKind::Other, Needs::OTHERS),
    }
}
