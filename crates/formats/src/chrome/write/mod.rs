//! Events as Chrome JSON, location by location, for Perfetto and chrome://tracing.
//!
//! | in the trace | in the file |
//! |---|---|
//! | call | `B` and `E`; on a stream `X` of category `kernel`, `gpu_memcpy` or `gpu_op` |
//! | parameter, collective | arguments of the end of the call |
//! | link, message | flow (`s`, `f`) between the calls around its ends |
//! | metric value | `C` |
//! | sample | `P` with a stack frame |
//! | request | not written; a notice reports it |
//!
//! Processes are location groups, threads are locations. Times are microseconds with three decimals: nanoseconds
//! are exact, finer clocks are rounded to them.

mod flows;

use flows::{Flows, Side};
use ouzel_model::{
    Clock, Collective, ContextId, Definitions, EventChunk, EventKind, EventSink, Level, LinkEnd,
    LocationGroupKind, LocationId, LocationKind, MessageEnd, MetricValue, MetricValueType, Needs, Notice,
    NoticeCode, Parameter, ParameterValue, Region, RegionRole, Ticks, TimeRange, popped,
};
use std::io::{self, Write};

/// Writes a trace.
#[derive(Debug)]
pub struct ChromeWriter<W> {
    names: Names,
    out: Lines<W>,
    flows: Flows,
    n_requests: u64,
    n_thread_steps: u64,
    n_rma_steps: u64,
    open: Option<Local>,
}

/// The names of ids, as JSON.
#[derive(Debug)]
struct Names {
    definitions: Definitions,
    regions: Vec<String>,
    categories: Vec<&'static str>,
}

/// The file. Once writing failed, nothing more is written.
#[derive(Debug)]
struct Lines<W> {
    out: W,
    error: Option<io::Error>,
    n_events: u64,
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

impl<W: Write + Send + 'static> ChromeWriter<W> {
    /// Begins the file with the names of processes and threads.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(out: W, definitions: &Definitions) -> io::Result<Self> {
        let regions = definitions.regions.iter().map(|region| json(&region.name)).collect();
        let categories = definitions.regions.iter().map(category).collect();
        let names = Names { definitions: definitions.clone(), regions, categories };
        let mut out = Lines { out, error: None, n_events: 0 };
        out.raw("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        names.metadata(&mut out);
        out.check()?;
        let flows = Flows::default();
        Ok(ChromeWriter { names, out, flows, n_requests: 0, n_thread_steps: 0, n_rma_steps: 0, open: None })
    }

    /// Ends the file; gives the number of events and what could not be written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<(u64, Vec<Notice>)> {
        self.out.raw("\n]");
        self.names.stack_frames(&mut self.out);
        self.out.raw("}\n");
        self.out.check()?;
        self.out.out.flush()?;
        let mut notices = Vec::new();
        let mut say = |n: u64, message: &str| {
            if 0 < n {
                notices.push(Notice::new(Level::Low, NoticeCode::NotRepresented, message).times(n));
            }
        };
        say(self.n_requests, "steps of non-blocking requests have no place in Chrome traces");
        say(self.n_thread_steps, "events of threads, tasks and locks have no place in Chrome traces");
        say(self.n_rma_steps, "events of one-sided communication have no place in Chrome traces");
        say(self.flows.n_half_written(), "messages with only one end written have no arrow");
        Ok((self.out.n_events, notices))
    }
}

impl<W: Write + Send + 'static> EventSink for ChromeWriter<W> {
    type Error = io::Error;

    fn needs(&self) -> Needs {
        Needs::ALL_EVENTS
    }

    fn begin(&mut self, id: LocationId, definitions: &Definitions) -> io::Result<()> {
        let LocationId(tid) = id;
        let location = definitions.location(id);
        self.open = Some(Local {
            place: format!(r#""pid":{},"tid":{tid}"#, location.group.index()),
            name: location.name.to_string(),
            is_stream: location.kind == LocationKind::AcceleratorStream,
            open: Vec::new(),
        });
        Ok(())
    }

    fn take(&mut self, chunk: &EventChunk<'_>) -> io::Result<()> {
        let mut local = self.open.take().expect("a location was begun");
        let mut rest = *chunk;
        for row in 0..chunk.time.len() {
            self.event(&mut local, &mut rest, row);
        }
        self.open = Some(local);
        self.out.check()
    }

    fn end(&mut self) -> io::Result<()> {
        self.open = None;
        Ok(())
    }

    fn survey_needs(&self) -> Option<Needs> {
        Some(Needs::MESSAGES)
    }

    fn survey(&mut self, location: LocationId, chunk: &EventChunk<'_>, window: Option<TimeRange>) {
        let is_written =
            |end: &MessageEnd| window.is_none_or(|window| window.contains(chunk.time[end.row as usize]));
        for (ends, side) in [(chunk.sends, Side::Send), (chunk.recvs, Side::Receive)] {
            for end in ends {
                self.flows.number(&self.names.definitions, location, end, side, is_written(end));
            }
        }
    }
}

impl<W: Write> Lines<W> {
    fn raw(&mut self, text: &str) {
        if self.error.is_none() {
            self.error = self.out.write_all(text.as_bytes()).err();
        }
    }

    /// Whether all was written so far.
    fn check(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
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
    fn metadata<W: Write>(&self, sink: &mut Lines<W>) {
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

    fn stack_frames<W: Write>(&self, sink: &mut Lines<W>) {
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

/// The location whose events come.
#[derive(Debug)]
struct Local {
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

impl<W: Write> ChromeWriter<W> {
    /// Writes one row. Consumes the payload of the row from the front of the side tables of `rest`.
    fn event(&mut self, local: &mut Local, rest: &mut EventChunk<'_>, row: usize) {
        let at = rest.time[row];
        let ts = us(&self.names.definitions.clock, at);
        match rest.kind[row] {
            EventKind::Enter => {
                self.enter(local, rest.region[row].index(), at, &ts);
                while let Some(link) = popped(&mut rest.links, row, |link| link.row) {
                    let id = self.flows.link(link.id);
                    match local.open.last_mut().filter(|_| local.is_stream) {
                        // A kernel is written when it ends, and readers look for the calls of flows among those before.
                        Some(open) => open.links.push((id, link.end)),
                        None => flow(local, &ts, "link", id, link.end, &mut self.out),
                    }
                }
            }
            EventKind::Leave => self.leave(local, at, &ts),
            EventKind::MessageSend => {
                let end = popped(&mut rest.sends, row, |end| end.row);
                end.into_iter().for_each(|end| self.message(local, &ts, end, Side::Send));
            }
            EventKind::MessageRecv => {
                let end = popped(&mut rest.recvs, row, |end| end.row);
                end.into_iter().for_each(|end| self.message(local, &ts, end, Side::Receive));
            }
            EventKind::CollectiveEnd => {
                let end = popped(&mut rest.collectives, row, |end| end.row);
                end.into_iter().for_each(|end| self.collective(local, end));
            }
            EventKind::Metric => {
                while let Some(value) = popped(&mut rest.metrics, row, |value| value.row) {
                    self.metric(local, &ts, value);
                }
            }
            EventKind::Parameter => {
                while let Some(value) = popped(&mut rest.parameters, row, |p| p.row) {
                    self.parameter(local, &ts, value);
                }
            }
            EventKind::Sample => {
                let sample = popped(&mut rest.samples, row, |sample| sample.row);
                if let Some(ContextId(frame)) = sample.and_then(|sample| sample.context) {
                    let place = &local.place;
                    self.out.event(&format!(r#""ph":"P","name":"sample",{place},"ts":{ts},"sf":"{frame}""#));
                }
            }
            EventKind::Request => self.n_requests += 1,
            EventKind::Thread => self.n_thread_steps += 1,
            EventKind::Rma => self.n_rma_steps += 1,
            EventKind::BufferFlush => instant(local, &ts, "buffer flush", &mut self.out),
            EventKind::MeasurementOnOff => instant(local, &ts, "measurement on or off", &mut self.out),
            EventKind::Other => instant(local, &ts, "event", &mut self.out),
            EventKind::CollectiveBegin => {}
        }
    }

    fn enter(&mut self, local: &mut Local, region: usize, enter: Ticks, ts: &str) {
        if !local.is_stream {
            let (name, place) = (&self.names.regions[region], &local.place);
            let category = self.names.definitions.regions[region].paradigm.as_str();
            self.out.event(&format!(r#""ph":"B","name":{name},"cat":"{category}",{place},"ts":{ts}"#));
        }
        local.open.push(Open { region, enter, args: String::new(), links: Vec::new() });
    }

    fn leave(&mut self, local: &mut Local, at: Ticks, ts: &str) {
        let Some(Open { region, enter, args, links }) = local.open.pop() else { return };
        let place = &local.place;
        let args = if args.is_empty() { args } else { format!(r#","args":{{{args}}}"#) };
        if local.is_stream {
            let (name, category) = (&self.names.regions[region], self.names.categories[region]);
            let clock = &self.names.definitions.clock;
            let (begin, ns) = (us(clock, enter), clock.ns_from_ticks(at) - clock.ns_from_ticks(enter));
            let dur = format!("{}.{:03}", ns / 1000, ns % 1000);
            self.out.event(&format!(
                r#""ph":"X","name":{name},"cat":"{category}",{place},"ts":{begin},"dur":{dur}{args}"#
            ));
            links.into_iter().for_each(|(id, end)| flow(local, &begin, "link", id, end, &mut self.out));
        } else {
            self.out.event(&format!(r#""ph":"E",{place},"ts":{ts}{args}"#));
        }
    }

    fn message(&mut self, local: &mut Local, ts: &str, end: &MessageEnd, side: Side) {
        let (verb, link_end) = match side {
            Side::Send => ("sent", LinkEnd::From),
            Side::Receive => ("received", LinkEnd::To),
        };
        local.argue(&format!(r#""bytes_{verb}":{},"tag":{}"#, end.bytes, end.tag));
        if let Some(id) = self.flows.message(side) {
            flow(local, ts, "message", id, link_end, &mut self.out);
        }
    }

    fn collective(&self, local: &mut Local, end: &Collective) {
        let (op, comm) = (end.op.as_str(), json(&self.names.definitions.communicator(end.comm).name));
        let Collective { bytes_sent, bytes_received, .. } = end;
        local.argue(&format!(
            r#""Collective name":"{op}","Process Group Name":{comm},"bytes_sent":{bytes_sent},"bytes_received":{bytes_received}"#
        ));
    }

    fn metric(&mut self, local: &Local, ts: &str, value: &MetricValue) {
        let metric = &self.names.definitions.metrics[value.metric.index()];
        let number = match metric.value_type {
            MetricValueType::U64 => value.bits.to_string(),
            MetricValueType::I64 => value.bits.cast_signed().to_string(),
            MetricValueType::F64 => f64::from_bits(value.bits).to_string(),
        };
        // A counter is one of its process: that of each location has a name of its own.
        let name = json(&format!("{} ({})", metric.name, local.name));
        let place = &local.place;
        let number = if number.contains(['N', 'i']) { json(&number) } else { number };
        self.out.event(&format!(r#""ph":"C","name":{name},{place},"ts":{ts},"args":{{"value":{number}}}"#));
    }

    fn parameter(&mut self, local: &mut Local, ts: &str, parameter: &Parameter) {
        let name = &self.names.definitions.parameters[parameter.parameter.index()];
        let value = match &parameter.value {
            ParameterValue::Text(text) if &**name == "instant" => {
                return instant(local, ts, text, &mut self.out);
            }
            ParameterValue::Text(text) => json(text),
            ParameterValue::I64(number) => number.to_string(),
            ParameterValue::U64(number) => number.to_string(),
        };
        if !local.argue(&format!("{}:{value}", json(name))) {
            instant(local, ts, &format!("{name} = {value}"), &mut self.out);
        }
    }
}

fn instant<W: Write>(local: &Local, ts: &str, name: &str, out: &mut Lines<W>) {
    let (name, place) = (json(name), &local.place);
    out.event(&format!(r#""ph":"i","s":"t","name":{name},{place},"ts":{ts}"#));
}

/// One end of a flow, bound to the call around it.
fn flow<W: Write>(local: &Local, ts: &str, what: &str, id: u64, end: LinkEnd, out: &mut Lines<W>) {
    let (phase, binding) = if end == LinkEnd::From { ("s", "") } else { ("f", r#","bp":"e""#) };
    let place = &local.place;
    out.event(&format!(
        r#""ph":"{phase}"{binding},"name":"{what}","cat":"{what}","id":{id},{place},"ts":{ts}"#
    ));
}
