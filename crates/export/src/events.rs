//! Events as rows: one for each event, one for each value of a metric event. Memory is bounded by a batch.

use crate::event_batch::{Batch, EventRow};
use crate::{ExportError, TableWriter};
use ouzel_model::{
    Collective, CollectiveRoot, CommId, CommRank, ContextId, Definitions, EventChunk, EventKind, EventSink,
    Lca, LocationId, MessageEnd, MetricValue, MetricValueType, Needs, Parameter, ParameterValue, Region,
    RegionId, Request, RequestEvent, RmaEvent, RmaStep, RmaWindow, Sample, Table, TaskId, ThreadLife,
    ThreadStep, WorldRank, popped,
};
use std::sync::Arc;

/// Rows per batch: a row group of Parquet. Some 60 MB of columns.
const BATCH_ROWS: usize = 1 << 18;

/// Writes events as a table.
pub struct EventTable {
    names: Names,
    batch: Batch,
    writer: Box<dyn TableWriter>,
    n_rows: u64,
    local: Option<Local>,
}

impl std::fmt::Debug for EventTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventTable").field("n_rows", &self.n_rows).finish_non_exhaustive()
    }
}

/// The names of ids.
struct Names {
    definitions: Definitions,
    communicators: Vec<Arc<str>>,
    thread_steps: Vec<Arc<str>>,
    rma_steps: Vec<Arc<str>>,
    windows: Vec<Arc<str>>,
}

impl EventTable {
    /// A table of the events of a trace with these definitions, written to `writer`, which was made for
    /// [`EventTable::columns`].
    pub fn new(definitions: &Definitions, writer: Box<dyn TableWriter>) -> Self {
        let name = |(i, name): (usize, &Arc<str>)| {
            if name.is_empty() { Arc::from(format!("communicator {i}")) } else { name.clone() }
        };
        let communicators = definitions.communicators.iter().map(|c| &c.name).enumerate().map(name).collect();
        let thread_steps = ThreadStep::NAMES.iter().map(|&name| Arc::from(name)).collect();
        let rma_steps = RmaStep::NAMES.iter().map(|&name| Arc::from(name)).collect();
        let window = |(i, window): (usize, &RmaWindow)| -> Arc<str> {
            if window.name.is_empty() { Arc::from(format!("window {i}")) } else { window.name.clone() }
        };
        let windows = definitions.rma_windows.iter().enumerate().map(window).collect();
        let definitions = definitions.clone();
        let names = Names { definitions, communicators, thread_steps, rma_steps, windows };
        EventTable { names, batch: Batch::default(), writer, n_rows: 0, local: None }
    }

    /// The columns, without a row.
    pub fn columns() -> Table {
        Batch::default().into_table()
    }

    /// Writes what is left; gives the number of rows.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> Result<u64, ExportError> {
        self.flush()?;
        self.writer.finish()?;
        Ok(self.n_rows)
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(());
        }
        self.n_rows += batch.len() as u64;
        self.writer.write(&batch.into_table())
    }
}

/// The location whose events come.
struct Local {
    location: u64,
    rank: Option<WorldRank>,
    open: Vec<RegionId>,
}

impl EventSink for EventTable {
    type Error = ExportError;

    fn needs(&self) -> Needs {
        Needs::ALL_EVENTS
    }

    fn begin(&mut self, id: LocationId, definitions: &Definitions) -> Result<(), ExportError> {
        let location = definitions.location(id);
        self.local = Some(Local { location: location.native_id, rank: location.rank, open: Vec::new() });
        Ok(())
    }

    fn take(&mut self, chunk: &EventChunk<'_>) -> Result<(), ExportError> {
        let local = self.local.as_mut().expect("a location was begun");
        let mut rest = *chunk;
        for row in 0..chunk.time.len() {
            self.names.push_event(local, &mut rest, row, &mut self.batch);
        }
        if BATCH_ROWS <= self.batch.len() { self.flush() } else { Ok(()) }
    }

    fn end(&mut self) -> Result<(), ExportError> {
        self.local = None;
        Ok(())
    }
}

impl Names {
    /// Appends the rows of one event. Consumes the payload of the event from the front of its side table in `rest`.
    fn push_event(&self, local: &mut Local, rest: &mut EventChunk<'_>, row: usize, batch: &mut Batch) {
        let kind = rest.kind[row];
        let region = match kind {
            EventKind::Enter => Some(rest.region[row]),
            EventKind::Leave => local.open.pop(),
            _ => local.open.last().copied(),
        };
        let event = EventRow {
            time_ns: self.definitions.clock.ns_from_ticks(rest.time[row]),
            rank: rank_number(local.rank),
            location: local.location,
            kind: kind.as_str(),
            region: region.map(|id| self.region(id).name.clone()),
            depth: local.open.len() as u64,
            ..EventRow::default()
        };
        if kind == EventKind::Enter {
            local.open.push(rest.region[row]);
        }
        match kind {
            EventKind::MessageSend => {
                let message = popped(&mut rest.sends, row, |m| m.row);
                batch.push(message.map_or(event.clone(), |m| self.message(event, m, local.rank, true)));
            }
            EventKind::MessageRecv => {
                let message = popped(&mut rest.recvs, row, |m| m.row);
                batch.push(message.map_or(event.clone(), |m| self.message(event, m, local.rank, false)));
            }
            EventKind::Request => {
                let step = popped(&mut rest.requests, row, |r| r.row);
                batch.push(step.map_or(event.clone(), |r| request(event, r)));
            }
            EventKind::CollectiveEnd => {
                let end = popped(&mut rest.collectives, row, |c| c.row);
                batch.push(end.map_or(event.clone(), |c| self.collective(event, c, local.rank)));
            }
            EventKind::Thread => {
                let thread = popped(&mut rest.threads, row, |t| t.row);
                batch.push(thread.map_or(event.clone(), |t| self.thread(event, t.step)));
            }
            EventKind::Rma => {
                let rma = popped(&mut rest.rma, row, |r| r.row);
                batch.push(rma.map_or(event.clone(), |r| self.rma(event, r, local.rank)));
            }
            EventKind::Metric => {
                while let Some(value) = popped(&mut rest.metrics, row, |m| m.row) {
                    batch.push(self.metric(event.clone(), value));
                }
            }
            EventKind::Parameter => {
                while let Some(value) = popped(&mut rest.parameters, row, |p| p.row) {
                    batch.push(self.parameter(event.clone(), value));
                }
            }
            EventKind::Sample => {
                let sample = popped(&mut rest.samples, row, |s| s.row);
                batch.push(sample.map_or(event.clone(), |s| self.sample(event, s)));
            }
            _ => batch.push(event),
        }
    }

    fn sample(&self, event: EventRow, sample: &Sample) -> EventRow {
        let (kept, at_most) = match sample.lca {
            Lca::Exact(kept) => (Some(kept), None),
            Lca::AtMost(kept) => (None, Some(kept)),
            Lca::Unknown => (None, None),
        };
        EventRow {
            sampled_path: sample.context.map(|context| self.sampled_path(context)),
            frames_kept: kept.map(u64::from),
            frames_kept_at_most: at_most.map(u64::from),
            ..event
        }
    }

    /// `main:12/solve:40`.
    fn sampled_path(&self, id: ContextId) -> Arc<str> {
        let mut frames = Vec::new();
        let mut at = Some(id);
        while let Some(context) = at.map(|id| self.definitions.sampled_contexts.get(id)) {
            let name = &self.region(context.region).name;
            frames.push(context.line.map_or(name.to_string(), |line| format!("{name}:{line}")));
            at = context.parent;
        }
        frames.reverse();
        Arc::from(frames.join("/"))
    }

    fn region(&self, id: RegionId) -> &Region {
        self.definitions.region(id)
    }

    fn message(&self, event: EventRow, end: &MessageEnd, own: Option<WorldRank>, is_send: bool) -> EventRow {
        EventRow {
            partner: self.world_rank(end.comm, end.peer, own),
            communicator: self.communicators.get(end.comm.index()).cloned(),
            tag: Some(u64::from(end.tag)),
            bytes_sent: is_send.then_some(end.bytes),
            bytes_received: (!is_send).then_some(end.bytes),
            request: end.request,
            ..event
        }
    }

    fn collective(&self, event: EventRow, end: &Collective, own: Option<WorldRank>) -> EventRow {
        let root = match end.root {
            CollectiveRoot::None | CollectiveRoot::ThisGroup => None,
            CollectiveRoot::This => rank_number(own),
            CollectiveRoot::Rank(rank) => self.world_rank(end.comm, rank, own),
        };
        EventRow {
            communicator: self.communicators.get(end.comm.index()).cloned(),
            bytes_sent: Some(end.bytes_sent),
            bytes_received: Some(end.bytes_received),
            collective: Some(Arc::from(end.op.as_str())),
            root,
            request: end.request,
            ..event
        }
    }

    fn thread(&self, event: EventRow, step: ThreadStep) -> EventRow {
        let (lock, team) = match step {
            ThreadStep::LockAcquire(lock) | ThreadStep::LockRelease(lock) => (Some(lock), None),
            ThreadStep::TeamBegin(team) | ThreadStep::TeamEnd(team) => (None, Some(team)),
            ThreadStep::TaskCreate(TaskId { team, .. })
            | ThreadStep::TaskSwitch(TaskId { team, .. })
            | ThreadStep::TaskComplete(TaskId { team, .. }) => (None, team),
            ThreadStep::ThreadCreate(ThreadLife { contingent, .. })
            | ThreadStep::ThreadBegin(ThreadLife { contingent, .. })
            | ThreadStep::ThreadWait(ThreadLife { contingent, .. })
            | ThreadStep::ThreadEnd(ThreadLife { contingent, .. }) => (None, contingent),
            ThreadStep::Fork { .. } | ThreadStep::Join { .. } => (None, None),
        };
        EventRow {
            communicator: team.and_then(|team| self.communicators.get(team.index()).cloned()),
            thread_step: self.thread_steps.get(step.index()).cloned(),
            lock: lock.map(|it| u64::from(it.lock)),
            acquisition: lock.map(|it| u64::from(it.order)),
            ..event
        }
    }

    fn rma(&self, event: EventRow, of: &RmaEvent, rank: Option<WorldRank>) -> EventRow {
        let comm = of.window.map(|window| self.definitions.rma_windows[window.index()].comm);
        let peer = |target| self.world_rank(comm?, target, rank);
        let (bytes_sent, bytes_received) = of.step.bytes();
        let collective = match of.step {
            RmaStep::CollectiveEnd(end) => Some(end),
            _ => None,
        };
        let root = collective.zip(comm).and_then(|(end, comm)| match end.root {
            CollectiveRoot::None | CollectiveRoot::ThisGroup => None,
            CollectiveRoot::This => rank_number(rank),
            CollectiveRoot::Rank(root) => self.world_rank(comm, root, rank),
        });
        EventRow {
            rma_step: self.rma_steps.get(of.step.index()).cloned(),
            rma_detail: of.step.detail().map(Arc::from),
            window: of.window.and_then(|window| self.windows.get(window.index()).cloned()),
            partner: of.step.target().and_then(peer),
            communicator: comm.and_then(|comm| self.communicators.get(comm.index()).cloned()),
            bytes_sent,
            bytes_received,
            collective: collective.map(|end| Arc::from(end.op.as_str())),
            root,
            lock: of.step.lock(),
            rma_operation: of.step.operation().map(|id| id.0),
            ..event
        }
    }

    /// The world rank of a peer, if it is known.
    fn world_rank(&self, comm: CommId, peer: CommRank, own: Option<WorldRank>) -> Option<u64> {
        rank_number(self.definitions.communicator(comm).peer(own, peer))
    }

    fn metric(&self, event: EventRow, value: &MetricValue) -> EventRow {
        let metric = &self.definitions.metrics[value.metric.index()];
        let (float, exact) = match metric.value_type {
            MetricValueType::U64 => (value.bits as f64, Some(value.bits)),
            MetricValueType::I64 => {
                let signed = value.bits.cast_signed();
                (signed as f64, u64::try_from(signed).ok())
            }
            MetricValueType::F64 => (f64::from_bits(value.bits), None),
        };
        EventRow {
            metric: Some(metric.name.clone()),
            metric_value: Some(float),
            metric_value_exact: exact,
            ..event
        }
    }

    fn parameter(&self, event: EventRow, parameter: &Parameter) -> EventRow {
        let value = match &parameter.value {
            ParameterValue::Text(text) => text.clone(),
            ParameterValue::I64(value) => Arc::from(value.to_string()),
            ParameterValue::U64(value) => Arc::from(value.to_string()),
        };
        EventRow {
            parameter: self.definitions.parameters.get(parameter.parameter.index()).cloned(),
            parameter_value: Some(value),
            ..event
        }
    }
}

fn rank_number(rank: Option<WorldRank>) -> Option<u64> {
    rank.map(|rank| u64::from(rank.0))
}

fn request(event: EventRow, step: &Request) -> EventRow {
    let kind = match step.event {
        RequestEvent::SendComplete => "send_complete",
        RequestEvent::RecvPosted => "recv_posted",
        RequestEvent::Tested => "request_tested",
        RequestEvent::Cancelled => "request_cancelled",
        RequestEvent::CollectivePosted => "collective_posted",
    };
    EventRow { kind, request: Some(step.request), ..event }
}
