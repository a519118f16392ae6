//! Events as lines of JSON, location by location. An analysis in form only: it returns nothing but writes.

use super::super::events::popped;
use ouzel::engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel::model::{
    Clock, Collective, ContextId, Definitions, EventChunk, EventKind, Level, LinkEnd, LocationGroupKind,
    LocationId, LocationKind, MessageEnd, MetricValue, MetricValueType, Needs, Notice, NoticeCode, Parameter,
    ParameterValue, Region, RegionRole, Remap, Ticks, WorldRank,
};
use ouzel_files::output::Writer;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Writes the events of every location it is folded over.
#[derive(Debug, Clone)]
pub struct ChromeEvents {
    names: Arc<Names>,
    sink: Arc<Mutex<Sink>>,
}

/// The names of ids, as JSON.
#[derive(Debug)]
struct Names {
    definitions: Definitions,
    regions: Vec<String>,
    categories: Vec<&'static str>,
}

#[derive(Debug)]
struct Sink {
    out: Option<Writer>,
    error: Option<io::Error>,
    n_events: u64,
    n_requests: u64,
    flows: Flows,
}

/// Numbers of flows. Both ends of a message find its number from what both know; it is then dropped.
#[derive(Debug, Default)]
struct Flows {
    n: u64,
    links: BTreeMap<u64, u64>,
    messages: BTreeMap<(Channel, u64), u64>,
    /// Sends and receives numbered so far.
    counts: [BTreeMap<Channel, u64>; 2],
    /// The message to which each send and receive that is written next belongs, if both sides are known.
    numbered: [VecDeque<Option<(Channel, u64)>>; 2],
}

/// The side of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbered {
    /// The send.
    Send,
    /// The receive.
    Receive,
}

/// Communicator, sender, receiver, tag. Messages on one do not overtake each other.
type Channel = (u32, u32, u32, u32);

impl Flows {
    fn link(&mut self, id: u64) -> u64 {
        let next = self.n;
        let found = *self.links.entry(id).or_insert(next);
        self.n += u64::from(found == next);
        found
    }

    fn number(&mut self, channel: Option<Channel>, side: Numbered, is_written: bool) {
        let number = channel.map(|channel| {
            let count = self.counts[side as usize].entry(channel).or_default();
            *count += 1;
            (channel, *count - 1)
        });
        if is_written {
            self.numbered[side as usize].push_back(number);
        }
    }

    /// The flow of the message end that is written next.
    fn message(&mut self, side: Numbered) -> Option<u64> {
        let key = self.numbered[side as usize].pop_front()??;
        Some(self.messages.remove(&key).unwrap_or_else(|| {
            let id = self.n;
            self.n += 1;
            self.messages.insert(key, id);
            id
        }))
    }
}

fn json(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

/// Microseconds with three decimals.
fn us(clock: &Clock, ticks: Ticks) -> String {
    let ns = clock.ns_from_ticks(ticks);
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

fn category(region: &Region) -> &'static str {
    match region.role {
        RegionRole::Kernel => "kernel",
        RegionRole::DataTransfer => "gpu_memcpy",
        _ => "gpu_op",
    }
}

impl ChromeEvents {
    /// Begins the file with the names of processes and threads.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(out: Writer, definitions: &Definitions) -> io::Result<Self> {
        let regions = definitions.regions.iter().map(|region| json(&region.name)).collect();
        let categories = definitions.regions.iter().map(category).collect();
        let names = Names { definitions: definitions.clone(), regions, categories };
        let flows = Flows::default();
        let mut sink = Sink { out: Some(out), error: None, n_events: 0, n_requests: 0, flows };
        sink.raw("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        names.metadata(&mut sink);
        match sink.error.take() {
            Some(error) => Err(error),
            None => Ok(ChromeEvents { names: Arc::new(names), sink: Arc::new(Mutex::new(sink)) }),
        }
    }

    fn sink(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records which message an end at a location of `rank` belongs to, before the end is written or left out.
    pub fn number(&self, rank: Option<WorldRank>, end: &MessageEnd, side: Numbered, is_written: bool) {
        let channel = self.names.channel(rank, end, side);
        self.sink().flows.number(channel, side, is_written);
    }

    /// Whether writing failed, so that there is no point in continuing.
    pub fn has_failed(&self) -> bool {
        self.sink().error.is_some()
    }

    /// Ends the file; gives the number of events and what could not be written.
    ///
    /// # Errors
    /// If writing failed, now or before.
    pub fn finish_writing(&self) -> io::Result<(u64, Vec<Notice>)> {
        let mut sink = self.sink();
        sink.raw("\n]");
        self.names.stack_frames(&mut sink);
        sink.raw("}\n");
        if let Some(mut out) = sink.out.take() {
            out.flush()?;
        }
        if let Some(error) = sink.error.take() {
            return Err(error);
        }
        let mut notices = Vec::new();
        let mut say = |n: u64, message: &str| {
            if 0 < n {
                notices.push(Notice::new(Level::Low, NoticeCode::NotRepresented, message).times(n));
            }
        };
        say(sink.n_requests, "steps of non-blocking requests have no place in Chrome traces");
        say(sink.flows.messages.len() as u64, "messages with only one end written have no arrow");
        Ok((sink.n_events, notices))
    }
}

impl Sink {
    fn raw(&mut self, text: &str) {
        if let (Some(out), None) = (&mut self.out, &self.error) {
            self.error = out.write_all(text.as_bytes()).err();
        }
    }

    /// One event, without its braces.
    fn event(&mut self, members: &str) {
        let comma = if self.n_events == 0 { "\n{" } else { ",\n{" };
        self.n_events += 1;
        self.raw(comma);
        self.raw(members);
        self.raw("}");
    }
}

impl Names {
    fn metadata(&self, sink: &mut Sink) {
        for (pid, group) in self.definitions.location_groups.iter().enumerate() {
            let mut say = |what: &str, args: String| {
                sink.event(&format!(r#""ph":"M","name":"{what}","pid":{pid},"tid":0,"args":{{{args}}}"#));
            };
            say("process_name", format!(r#""name":{}"#, json(&group.name)));
            let rank = group.rank.map_or(u64::MAX >> 40, |rank| u64::from(rank.0));
            let is_device = group.kind == LocationGroupKind::Accelerator;
            say("process_sort_index", format!(r#""sort_index":{}"#, 2 * rank + u64::from(is_device)));
            if let Some(rank) = group.rank {
                say("process_labels", format!(r#""labels":"rank {rank}""#));
            }
        }
        for (tid, location) in self.definitions.locations.iter().enumerate() {
            // Counters belong to a process here; a thread without events would be one more location.
            if location.kind == LocationKind::Metric {
                continue;
            }
            let (pid, name) = (location.group.index(), json(&location.name));
            let head = format!(r#""ph":"M","pid":{pid},"tid":{tid}"#);
            sink.event(&format!(r#"{head},"name":"thread_name","args":{{"name":{name}}}"#));
            sink.event(&format!(r#"{head},"name":"thread_sort_index","args":{{"sort_index":{tid}}}"#));
        }
    }

    fn stack_frames(&self, sink: &mut Sink) {
        let contexts = &self.definitions.sampled_contexts;
        if contexts.is_empty() {
            return;
        }
        sink.raw(",\"stackFrames\":{");
        for (i, context) in contexts.iter().enumerate() {
            let name = &self.regions[context.region.index()];
            let parent = context.parent.map_or(String::new(), |ContextId(id)| format!(r#","parent":"{id}""#));
            let comma = if i == 0 { "" } else { "," };
            sink.raw(&format!("{comma}\n\"{i}\":{{\"name\":{name}{parent}}}"));
        }
        sink.raw("}");
    }
}

/// The location being folded.
#[derive(Debug)]
pub struct Local {
    /// `"pid":…,"tid":…`.
    place: String,
    name: String,
    is_stream: bool,
    open: Vec<Open>,
}

/// An open call: when it began, and the arguments to be written at its end.
#[derive(Debug)]
struct Open {
    region: usize,
    enter: Ticks,
    args: String,
    /// Links of a call on a stream.
    links: Vec<(u64, LinkEnd)>,
}

impl Local {
    /// Adds arguments to the innermost call; `false` if there is none.
    fn argue(&mut self, args: &str) -> bool {
        let Some(top) = self.open.last_mut() else { return false };
        if !top.args.is_empty() {
            top.args.push(',');
        }
        top.args.push_str(args);
        true
    }
}

impl Analysis for ChromeEvents {
    type Local = Local;
    type Partial = ();
    type Output = ();

    const NAME: &'static str = "chrome";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::ALL_EVENTS
    }

    fn empty(&self) {}

    fn begin(&self, cx: &LocationCx<'_>) -> Local {
        let LocationId(tid) = cx.location;
        let location = cx.definitions.location(cx.location);
        Local {
            place: format!(r#""pid":{},"tid":{tid}"#, location.group.index()),
            name: location.name.to_string(),
            is_stream: location.kind == LocationKind::AcceleratorStream,
            open: Vec::new(),
        }
    }

    fn fold(&self, local: &mut Local, chunk: &EventChunk<'_>) {
        let mut sink = self.sink();
        let mut rest = *chunk;
        for row in 0..chunk.time.len() {
            self.names.event(local, &mut rest, row, &mut sink);
        }
    }

    fn end(&self, _: Local, _: &LocationCx<'_>, _: &LocationSummary, _: &mut ()) {}

    fn remap(&self, _: &mut (), _: &Remap) {}

    fn merge(&self, _: &mut (), _: ()) {}

    fn finish(&self, _: (), _: &FinishCx<'_>) -> Result<(), AnalysisError> {
        Ok(())
    }
}

impl Names {
    /// Writes one row. Consumes the payload of the row from the front of the side tables of `rest`.
    fn event(&self, local: &mut Local, rest: &mut EventChunk<'_>, row: usize, sink: &mut Sink) {
        let at = rest.time[row];
        let ts = us(&self.definitions.clock, at);
        match rest.kind[row] {
            EventKind::Enter => {
                self.enter(local, rest.region[row].index(), at, &ts, sink);
                while let Some(link) = popped(&mut rest.links, row, |link| link.row) {
                    let id = sink.flows.link(link.id);
                    match local.open.last_mut().filter(|_| local.is_stream) {
                        // A kernel is written when it ends, and readers look for the calls of flows among those before.
                        Some(open) => open.links.push((id, link.end)),
                        None => flow(local, &ts, "link", id, link.end, sink),
                    }
                }
            }
            EventKind::Leave => self.leave(local, at, &ts, sink),
            EventKind::MessageSend => {
                let end = popped(&mut rest.sends, row, |end| end.row);
                end.into_iter().for_each(|end| self.message(local, &ts, end, Numbered::Send, sink));
            }
            EventKind::MessageRecv => {
                let end = popped(&mut rest.recvs, row, |end| end.row);
                end.into_iter().for_each(|end| self.message(local, &ts, end, Numbered::Receive, sink));
            }
            EventKind::CollectiveEnd => {
                let end = popped(&mut rest.collectives, row, |end| end.row);
                end.into_iter().for_each(|end| self.collective(local, end));
            }
            EventKind::Metric => {
                while let Some(value) = popped(&mut rest.metrics, row, |value| value.row) {
                    self.metric(local, &ts, value, sink);
                }
            }
            EventKind::Parameter => {
                while let Some(value) = popped(&mut rest.parameters, row, |p| p.row) {
                    self.parameter(local, &ts, value, sink);
                }
            }
            EventKind::Sample => {
                let sample = popped(&mut rest.samples, row, |sample| sample.row);
                if let Some(ContextId(frame)) = sample.and_then(|sample| sample.context) {
                    let place = &local.place;
                    sink.event(&format!(r#""ph":"P","name":"sample",{place},"ts":{ts},"sf":"{frame}""#));
                }
            }
            EventKind::Request => sink.n_requests += 1,
            EventKind::BufferFlush => instant(local, &ts, "buffer flush", sink),
            EventKind::MeasurementOnOff => instant(local, &ts, "measurement on or off", sink),
            EventKind::Other => instant(local, &ts, "event", sink),
            EventKind::CollectiveBegin => {}
        }
    }

    fn enter(&self, local: &mut Local, region: usize, enter: Ticks, ts: &str, sink: &mut Sink) {
        if !local.is_stream {
            let (name, place) = (&self.regions[region], &local.place);
            let category = self.definitions.regions[region].paradigm.as_str();
            sink.event(&format!(r#""ph":"B","name":{name},"cat":"{category}",{place},"ts":{ts}"#));
        }
        local.open.push(Open { region, enter, args: String::new(), links: Vec::new() });
    }

    fn leave(&self, local: &mut Local, at: Ticks, ts: &str, sink: &mut Sink) {
        let Some(Open { region, enter, args, links }) = local.open.pop() else { return };
        let place = &local.place;
        let args = if args.is_empty() { args } else { format!(r#","args":{{{args}}}"#) };
        if local.is_stream {
            let (name, category) = (&self.regions[region], self.categories[region]);
            let clock = &self.definitions.clock;
            let (begin, ns) = (us(clock, enter), clock.ns_from_ticks(at) - clock.ns_from_ticks(enter));
            let dur = format!("{}.{:03}", ns / 1000, ns % 1000);
            sink.event(&format!(
                r#""ph":"X","name":{name},"cat":"{category}",{place},"ts":{begin},"dur":{dur}{args}"#
            ));
            links.into_iter().for_each(|(id, end)| flow(local, &begin, "link", id, end, sink));
        } else {
            sink.event(&format!(r#""ph":"E",{place},"ts":{ts}{args}"#));
        }
    }

    fn channel(&self, rank: Option<WorldRank>, end: &MessageEnd, side: Numbered) -> Option<Channel> {
        let peer = self.definitions.communicator(end.comm).peer(rank, end.peer);
        let (WorldRank(own), WorldRank(peer)) = (rank?, peer?);
        let (sender, receiver) = if side == Numbered::Send { (own, peer) } else { (peer, own) };
        Some((end.comm.0, sender, receiver, end.tag))
    }

    fn message(&self, local: &mut Local, ts: &str, end: &MessageEnd, side: Numbered, sink: &mut Sink) {
        let (verb, link_end) = match side {
            Numbered::Send => ("sent", LinkEnd::From),
            Numbered::Receive => ("received", LinkEnd::To),
        };
        local.argue(&format!(r#""bytes_{verb}":{},"tag":{}"#, end.bytes, end.tag));
        if let Some(id) = sink.flows.message(side) {
            flow(local, ts, "message", id, link_end, sink);
        }
    }

    fn collective(&self, local: &mut Local, end: &Collective) {
        let (op, comm) = (end.op.as_str(), json(&self.definitions.communicator(end.comm).name));
        let Collective { bytes_sent, bytes_received, .. } = end;
        local.argue(&format!(
            r#""Collective name":"{op}","Process Group Name":{comm},"bytes_sent":{bytes_sent},"bytes_received":{bytes_received}"#
        ));
    }

    fn metric(&self, local: &Local, ts: &str, value: &MetricValue, sink: &mut Sink) {
        let metric = &self.definitions.metrics[value.metric.index()];
        let number = match metric.value_type {
            MetricValueType::U64 => value.bits.to_string(),
            MetricValueType::I64 => value.bits.cast_signed().to_string(),
            MetricValueType::F64 => f64::from_bits(value.bits).to_string(),
        };
        // A counter is one of its process: that of each location has a name of its own.
        let name = json(&format!("{} ({})", metric.name, local.name));
        let place = &local.place;
        let number = if number.contains(['N', 'i']) { json(&number) } else { number };
        sink.event(&format!(r#""ph":"C","name":{name},{place},"ts":{ts},"args":{{"value":{number}}}"#));
    }

    fn parameter(&self, local: &mut Local, ts: &str, parameter: &Parameter, sink: &mut Sink) {
        let name = &self.definitions.parameters[parameter.parameter.index()];
        let value = match &parameter.value {
            ParameterValue::Text(text) if &**name == "instant" => return instant(local, ts, text, sink),
            ParameterValue::Text(text) => json(text),
            ParameterValue::I64(number) => number.to_string(),
            ParameterValue::U64(number) => number.to_string(),
        };
        if !local.argue(&format!("{}:{value}", json(name))) {
            instant(local, ts, &format!("{name} = {value}"), sink);
        }
    }
}

fn instant(local: &Local, ts: &str, name: &str, sink: &mut Sink) {
    let (name, place) = (json(name), &local.place);
    sink.event(&format!(r#""ph":"i","s":"t","name":{name},{place},"ts":{ts}"#));
}

/// One end of a flow, bound to the call around it.
fn flow(local: &Local, ts: &str, what: &str, id: u64, end: LinkEnd, sink: &mut Sink) {
    let (phase, binding) = if end == LinkEnd::From { ("s", "") } else { ("f", r#","bp":"e""#) };
    let place = &local.place;
    sink.event(&format!(
        r#""ph":"{phase}"{binding},"name":"{what}","cat":"{what}","id":{id},{place},"ts":{ts}"#
    ));
}
