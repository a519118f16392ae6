//! The records of one location as enters, leaves and the rest.

use super::ChromeSource;
use super::collect::DetailKind;
use super::draft::FileRecords;
use super::layout::CallLink;
use super::record::{Merge, RecordKind, TrackRecord};
use super::samples::FRAME;
use crate::position::index_from;
use ouzel_model::{
    CHUNK_EVENTS, ChunkBuffer, ChunkReader, Collective, CollectiveRoot, CommId, ContextId, DeviceCall,
    DeviceStep, EventKind, LaunchShape, Lca, Link, LinkEnd, MetricValue, Needs, Notice, Parameter,
    ParameterId, ParameterValue, ReadError, ReadPlan, RegionId, Sample, Ticks,
};

/// Parameters of calls, in the order of their ids.
pub(super) const PARAMETERS: [&str; 4] = ["bytes", "step", "instant", LaunchShape::PARAMETER];

/// A call that is open.
#[derive(Debug, Clone, Copy)]
struct OpenInLocation {
    /// `i64::MAX` if its end comes as an event.
    end_ns: i64,
    region: RegionId,
    collective: Option<Collective>,
    /// Whether it ends before the time range and has no rows.
    is_hidden: bool,
}

/// Reads one location.
#[derive(Debug)]
pub(super) struct ChromeLocation<'a> {
    source: &'a ChromeSource,
    file: &'a FileRecords,
    records: usize,
    merge: Merge,
    links: &'a [CallLink],
    is_host: bool,
    host_collectives: bool,
    /// Added to the times of the file to get ticks.
    shift_ns: i64,
    needs: Needs,
    /// Calls that end before have no part in what is asked for.
    from: Ticks,
    open: Vec<OpenInLocation>,
    n_calls: u64,
    is_done: bool,
}

impl<'a> ChromeLocation<'a> {
    /// Begins to read the location of an index.
    pub fn new(source: &'a ChromeSource, index: usize, plan: &ReadPlan) -> Result<Self, ReadError> {
        let place = &source.places[index];
        let merge = source.store.merge(place.lane.records).map_err(|error| source.io_error(&error))?;
        Ok(ChromeLocation {
            source,
            file: &source.files[place.file],
            records: place.lane.records,
            merge,
            links: &place.lane.links,
            is_host: place.is_host,
            host_collectives: place.host_collectives,
            shift_ns: place.shift_ns,
            needs: plan.needs,
            from: plan.time_range.map_or(Ticks(0), |range| range.start),
            open: Vec::new(),
            n_calls: 0,
            is_done: false,
        })
    }

    fn ticks(&self, at_ns: i64) -> Ticks {
        Ticks(u64::try_from(at_ns.saturating_add(self.shift_ns)).unwrap_or(0))
    }

    /// Closes the calls that end by `at_ns`, innermost first.
    fn close_until(&mut self, at_ns: i64, buffer: &mut ChunkBuffer) {
        while let Some(&top) = self.open.last() {
            if at_ns < top.end_ns || top.end_ns == i64::MAX {
                break;
            }
            self.close(top.end_ns, buffer);
        }
    }

    fn close(&mut self, at_ns: i64, buffer: &mut ChunkBuffer) {
        let Some(OpenInLocation { region, collective, is_hidden, .. }) = self.open.pop() else { return };
        let at = self.ticks(at_ns);
        if let Some(end) = collective {
            count(buffer, at);
            if self.needs.contains(Needs::COLLECTIVES) && !is_hidden {
                let row = buffer.push(at, EventKind::CollectiveEnd, region);
                buffer.collectives.push(Collective { row, ..end });
            }
        }
        count(buffer, at);
        if !is_hidden {
            buffer.push(at, EventKind::Leave, region);
        }
    }

    fn record(&mut self, record: &TrackRecord, buffer: &mut ChunkBuffer) {
        self.close_until(record.at_ns, buffer);
        let at = self.ticks(record.at_ns);
        match record.kind {
            RecordKind::Begin => self.enter(record, i64::MAX, None, buffer),
            RecordKind::End => {
                if self.open.last().is_some_and(|top| top.end_ns == i64::MAX) {
                    self.close(record.at_ns, buffer);
                }
            }
            RecordKind::Slice => {
                self.enter(record, record.end_ns(), (record.link != 0).then_some(record.link), buffer);
                self.shape(record, buffer);
            }
            RecordKind::DetailedSlice => {
                let link = self.file.details[index_from(record.link)].link;
                self.enter(record, record.end_ns(), (link != 0).then_some(link), buffer);
                self.shape(record, buffer);
                self.detail(record, buffer);
            }
            RecordKind::Mark => {
                let name = &self.file.marks[record.what as usize];
                self.parameter(at, 2, ParameterValue::Text(name.clone()), buffer);
            }
            RecordKind::Sample => {
                let context = match record.what.checked_sub(FRAME) {
                    Some(frame) => self.file.frames.get(frame as usize).copied().flatten(),
                    None => Some(ContextId(self.file.first_context + record.what)),
                };
                count(buffer, at);
                if let Some(context) = context.filter(|_| self.needs.contains(Needs::SAMPLES)) {
                    let row = buffer.push(at, EventKind::Sample, RegionId(0));
                    buffer.samples.push(Sample {
                        row,
                        context: Some(context),
                        lca: Lca::Unknown,
                        generator: None,
                    });
                }
            }
            RecordKind::Counter => {
                count(buffer, at);
                if self.needs.contains(Needs::METRICS) {
                    let row = buffer.push(at, EventKind::Metric, RegionId(0));
                    let (metric, bits) = (self.file.metrics[record.what as usize], record.link);
                    buffer.metrics.push(MetricValue { row, metric, bits });
                }
            }
            RecordKind::FlowAround | RecordKind::FlowNext => {}
        }
    }

    fn enter(&mut self, record: &TrackRecord, end_ns: i64, launch: Option<u64>, buffer: &mut ChunkBuffer) {
        let at = self.ticks(record.at_ns);
        let region = self.file.regions[record.what as usize];
        let is_hidden = end_ns != i64::MAX && self.ticks(end_ns) < self.from;
        let call = self.n_calls;
        self.n_calls += 1;
        self.open.push(OpenInLocation { end_ns, region, collective: None, is_hidden });
        count(buffer, at);
        let n_linked = self.links.iter().take_while(|link| link.call <= call).count();
        let (links, rest) = self.links.split_at(n_linked);
        self.links = rest;
        if is_hidden {
            return;
        }
        let row = buffer.push(at, EventKind::Enter, region);
        if !self.needs.contains(Needs::LINKS) {
            return;
        }
        buffer.links.extend(links.iter().map(|link| Link { row, id: link.id, end: link.end }));
        if let Some(&step) = launch.filter(|_| self.is_host).and_then(|link| self.source.steps.get(&link)) {
            // Kineto also shows queries of events as waits.
            let is_query = || self.source.definitions.region(region).name.contains("Query");
            if !(matches!(step, DeviceStep::AwaitEvent(_)) && is_query()) {
                buffer.device_calls.push(DeviceCall { row, step });
            }
        }
        // One that only one side knows is no link.
        let other = if self.is_host { &self.file.launched } else { &self.file.launches };
        if let Some(id) = launch.filter(|&id| other.contains(id)) {
            let end = if self.is_host { LinkEnd::From } else { LinkEnd::To };
            buffer.links.push(Link { row, id, end });
        }
    }

    /// How a kernel was launched, after its enter.
    fn shape(&self, record: &TrackRecord, buffer: &mut ChunkBuffer) {
        let shape = record.shape.checked_sub(1).and_then(|shape| self.file.shapes.get(usize::from(shape)));
        if let Some(shape) = shape {
            self.parameter(self.ticks(record.at_ns), 3, ParameterValue::Text(shape.clone()), buffer);
        }
    }

    /// What a call has besides, after its enter.
    fn detail(&mut self, record: &TrackRecord, buffer: &mut ChunkBuffer) {
        let at = self.ticks(record.at_ns);
        match self.file.details[index_from(record.link)].what {
            DetailKind::Bytes(bytes) => self.parameter(at, 0, ParameterValue::U64(bytes), buffer),
            DetailKind::Step(step) => self.parameter(at, 1, ParameterValue::U64(step), buffer),
            DetailKind::Collective { op, group, bytes_sent, bytes_received, on_host } => {
                if on_host && !self.host_collectives {
                    return;
                }
                let comm: CommId = self.source.comms[group as usize];
                let root = CollectiveRoot::None;
                let end = Collective { row: 0, op, comm, root, bytes_sent, bytes_received, request: None };
                let Some(top) = self.open.last_mut() else { return };
                top.collective = Some(end);
                let (is_hidden, region) = (top.is_hidden, top.region);
                count(buffer, at);
                if self.needs.contains(Needs::COLLECTIVES) && !is_hidden {
                    buffer.push(at, EventKind::CollectiveBegin, region);
                }
            }
        }
    }

    fn parameter(&self, at: Ticks, parameter: u32, value: ParameterValue, buffer: &mut ChunkBuffer) {
        count(buffer, at);
        let is_hidden = self.open.last().is_some_and(|top| top.is_hidden);
        if self.needs.contains(Needs::PARAMETERS) && !is_hidden {
            let row = buffer.push(at, EventKind::Parameter, RegionId(0));
            buffer.parameters.push(Parameter { row, parameter: ParameterId(parameter), value });
        }
    }
}

/// Counts an event, with a row or without.
fn count(buffer: &mut ChunkBuffer, at: Ticks) {
    buffer.n_records += 1;
    buffer.span = Some(buffer.span.map_or((at, at), |(first, _)| (first, at)));
}

impl ChunkReader for ChromeLocation<'_> {
    fn read(&mut self, buffer: &mut ChunkBuffer) -> Result<bool, ReadError> {
        buffer.clear();
        while buffer.len() < CHUNK_EVENTS && !self.is_done {
            let next = self.merge.next(&self.source.store, self.records);
            match next.map_err(|error| self.source.io_error(&error))? {
                Some(record) => self.record(&record, buffer),
                None => {
                    self.close_until(i64::MAX - 1, buffer);
                    self.is_done = true;
                }
            }
        }
        Ok(!self.is_done)
    }

    fn notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}
