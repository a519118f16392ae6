//! The execution of processes with accelerators, tick by tick.

use super::{DeviceRun, DeviceWait, HostStep, Recording, SimulatedProcess};
use crate::{ToyEvent, ToyPayload, ToyTrace};
use ouzel_model::{LocationKind, Ticks, WorldRank};
use std::collections::{BTreeMap, VecDeque};

/// Ticks after the end of another operation in which one counts as held up by it: 500 µs.
pub(super) const SOON: u64 = 10;
const TICKS_PER_SECOND: u64 = 20_000;
/// What a program may take at most.
const TICKS_MAX: u64 = 1_000_000;

/// Something in a stream.
#[derive(Debug, Clone, Copy)]
pub(super) enum Item {
    Operation(usize),
    /// Is done when it is the next.
    Record(usize),
    Await {
        record: usize,
        path: &'static str,
    },
}

/// A kernel or a copy.
#[derive(Debug, Clone, Default)]
pub(super) struct Operation {
    pub process: usize,
    pub stream: usize,
    pub name: &'static str,
    pub is_kernel: bool,
    pub ticks: u64,
    pub can_begin: u64,
    /// The collective of which it is a part.
    pub collective: Option<usize>,
    pub link: u64,
    pub thread: usize,
    /// What the launching thread spent most time in.
    pub code: String,
    /// The call that launches it, and when that is over.
    pub launch: &'static str,
    pub launched: u64,
    pub begin: Option<u64>,
    pub end: Option<u64>,
    /// Since when nothing but the device keeps it from running.
    pub ready: Option<u64>,
}

/// A record of an event.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Occurrence {
    pub has_occurred: bool,
    /// The operation that was done last before, in its stream or one that the stream waited for.
    pub last: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct StreamState {
    pub items: VecDeque<Item>,
    pub running: Option<usize>,
    /// The operation that was done last in it, or that it waited for.
    pub last: Option<usize>,
    /// Since when it waits for an event.
    pub waits_since: Option<(u64, &'static str, usize)>,
}

/// What a call of a thread needs.
#[derive(Debug, Clone)]
pub(super) enum Needed {
    Nothing,
    Begin(usize),
    Ends(Vec<usize>, Vec<usize>),
}

/// A call of a thread.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub name: &'static str,
    /// The class of its waiting.
    pub class: Option<&'static str>,
    pub enter: u64,
    /// When it is left at the earliest.
    pub earliest: u64,
    pub needed: Needed,
    /// Whether it needed nothing that was not there.
    pub is_useless: bool,
    /// Whether all it needs is there.
    pub is_met: bool,
}

#[derive(Debug)]
pub(super) struct ThreadState {
    pub steps: VecDeque<HostStep>,
    pub call: Option<Call>,
    /// Ticks since the last launch or wait, by path, in the order in which they first came.
    pub code: Vec<(String, u64)>,
    pub events: Vec<ToyEvent>,
}

pub(super) struct Machine<'a> {
    pub processes: &'a [SimulatedProcess],
    pub recording: Recording,
    pub now: u64,
    pub trace: ToyTrace,
    pub threads: Vec<Vec<ThreadState>>,
    pub streams: Vec<Vec<StreamState>>,
    pub operations: Vec<Operation>,
    pub records: Vec<Occurrence>,
    /// The last record of each event of a process.
    pub events: BTreeMap<(usize, u64), usize>,
    pub n_collectives: Vec<usize>,
    pub waits: Vec<DeviceWait>,
}

/// Runs processes.
///
/// # Panics
/// If the program never ends.
pub fn simulate_devices(processes: &[SimulatedProcess], recording: Recording) -> DeviceRun {
    let mut machine = Machine::new(processes, recording);
    while !machine.is_done() {
        machine.end_operations();
        machine.advance_streams();
        machine.advance_threads();
        machine.observe();
        machine.now += 1;
        assert!(machine.now < TICKS_MAX, "the program never ends");
    }
    machine.finish()
}

impl<'a> Machine<'a> {
    fn new(processes: &'a [SimulatedProcess], recording: Recording) -> Self {
        let trace = ToyTrace::empty().with_ticks_per_second(TICKS_PER_SECOND);
        let thread = |steps: &Vec<HostStep>| ThreadState {
            steps: steps.iter().copied().collect(),
            call: None,
            code: Vec::new(),
            events: Vec::new(),
        };
        Machine {
            processes,
            recording,
            now: 0,
            trace,
            threads: processes.iter().map(|it| it.threads.iter().map(thread).collect()).collect(),
            streams: processes
                .iter()
                .map(|it| it.streams.iter().map(|_| StreamState::default()).collect())
                .collect(),
            operations: Vec::new(),
            records: Vec::new(),
            events: BTreeMap::new(),
            n_collectives: vec![0; processes.len()],
            waits: Vec::new(),
        }
    }

    fn is_done(&self) -> bool {
        let threads = self.threads.iter().flatten().all(|it| it.call.is_none() && it.steps.is_empty());
        threads && self.streams.iter().flatten().all(|it| it.items.is_empty() && it.running.is_none())
    }

    fn end_operations(&mut self) {
        for of in &mut self.streams {
            for stream in of {
                if let Some(running) = stream.running.filter(|&it| self.operations[it].end == Some(self.now))
                {
                    stream.running = None;
                    stream.last = Some(running);
                }
            }
        }
    }

    /// Of two operations, the one that is done last; of equally late ones that of the smaller stream.
    fn later(&self, a: Option<usize>, b: Option<usize>) -> Option<usize> {
        let key = |it: &usize| {
            let of = &self.operations[*it];
            (of.end, std::cmp::Reverse(of.stream))
        };
        a.into_iter().chain(b).max_by_key(key)
    }

    /// Until nothing changes any more.
    fn advance_streams(&mut self) {
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for process in 0..self.streams.len() {
                for stream in 0..self.streams[process].len() {
                    has_changed |= self.advance(process, stream);
                }
            }
        }
    }

    fn advance(&mut self, process: usize, number: usize) -> bool {
        let now = self.now;
        let stream = &mut self.streams[process][number];
        if stream.running.is_some() {
            return false;
        }
        match stream.items.front().copied() {
            None => false,
            Some(Item::Record(record)) => {
                self.records[record] = Occurrence { has_occurred: true, last: stream.last };
                stream.items.pop_front();
                true
            }
            Some(Item::Await { record, .. }) if self.records[record].has_occurred => {
                stream.items.pop_front();
                let waited = stream.waits_since.take();
                let last = self.records[record].last;
                let last = self.later(self.streams[process][number].last, last);
                self.streams[process][number].last = last;
                if let Some((since, path, record)) = waited {
                    self.stream_waited((process, number), (since, path, record));
                }
                true
            }
            Some(Item::Await { .. }) => false,
            Some(Item::Operation(it)) => {
                let launch_is_over = self.operations[it].launched <= now;
                if launch_is_over {
                    self.operations[it].ready.get_or_insert(now);
                }
                let device = self.processes[process].streams[number];
                let n_running = self.running(process, device).count();
                if now < self.operations[it].can_begin || self.processes[process].slots <= n_running {
                    return false;
                }
                self.begin(it);
                let stream = &mut self.streams[process][number];
                stream.items.pop_front();
                stream.running = Some(it);
                true
            }
        }
    }

    fn running(&self, process: usize, device: usize) -> impl Iterator<Item = usize> {
        let of_process = move |of: usize| {
            let of_device = self.processes[of].streams.iter().map(move |it| *it == device);
            self.streams[of].iter().zip(of_device).filter_map(|(it, is_of)| it.running.filter(|_| is_of))
        };
        (0..self.processes.len()).filter(move |&of| self.shares(process, of)).flat_map(of_process)
    }

    /// Whether two processes use the same devices.
    pub(super) fn shares(&self, one: usize, other: usize) -> bool {
        one == other || (self.processes[one].shares && self.processes[other].shares)
    }

    fn begin(&mut self, it: usize) {
        let now = self.now;
        self.operations[it].begin = Some(now);
        let Some(collective) = self.operations[it].collective else {
            self.operations[it].end = Some(now + self.operations[it].ticks);
            return;
        };
        let members: Vec<usize> = (0..self.operations.len())
            .filter(|&it| self.operations[it].collective == Some(collective))
            .collect();
        if members.len() == self.processes.len()
            && members.iter().all(|&it| self.operations[it].begin.is_some())
        {
            let ticks = members.iter().map(|&it| self.operations[it].ticks).max().unwrap_or(1);
            members.iter().for_each(|&it| self.operations[it].end = Some(now + ticks));
        }
    }

    fn stream_waited(
        &mut self,
        (process, stream): (usize, usize),
        (since, path, record): (u64, &'static str, usize),
    ) {
        let last = self.records[record].last;
        let culprit = last.map(|it| format!("{process}.gpu{}", self.operations[it].stream));
        self.waits.push(DeviceWait {
            class: "stream_wait",
            location: format!("{process}.gpu{stream}"),
            path: format!("main/{path}"),
            start: since,
            ticks: self.now - since,
            culprit,
        });
    }

    fn advance_threads(&mut self) {
        for process in 0..self.threads.len() {
            for thread in 0..self.threads[process].len() {
                self.advance_thread(process, thread);
            }
        }
    }

    pub(super) fn is_met(&self, needed: &Needed) -> bool {
        let has = |time: Option<u64>| time.is_some_and(|time| time <= self.now);
        match needed {
            Needed::Nothing => true,
            Needed::Begin(it) => has(self.operations[*it].begin),
            Needed::Ends(operations, records) => {
                operations.iter().all(|&it| has(self.operations[it].end))
                    && records.iter().all(|&it| self.records[it].has_occurred)
            }
        }
    }

    fn advance_thread(&mut self, process: usize, thread: usize) {
        let now = self.now;
        if let Some(call) = self.threads[process][thread].call.clone() {
            let is_met = call.is_met || self.is_met(&call.needed);
            if is_met && !call.is_met {
                self.thread_waited((process, thread), &call);
            }
            // A copy that blocks is over when its operation is.
            let is_over = match call.needed {
                Needed::Begin(it) => self.operations[it].end.is_some_and(|end| end <= now),
                _ => is_met,
            };
            let state = &mut self.threads[process][thread];
            state.call = Some(Call { is_met, ..call.clone() });
            if !is_over || now < call.earliest {
                return;
            }
            state.call = None;
            if call.class.is_some() || call.name.contains("Launch") || call.name.contains("Memcpy") {
                state.code.clear();
            }
            if call.is_useless {
                self.waits.push(DeviceWait {
                    class: "useless_synchronization",
                    location: format!("{process}.{thread}"),
                    path: format!("main/{}", call.name),
                    start: call.enter,
                    ticks: now - call.enter,
                    culprit: None,
                });
            }
            self.leave(process, thread, call.name);
        }
        let n_threads = self.threads[process].len() as u64;
        if now % n_threads != thread as u64 {
            return;
        }
        if let Some(step) = self.threads[process][thread].steps.pop_front() {
            self.step(process, thread, step);
        }
    }

    /// What a call waited for is there.
    fn thread_waited(
        &mut self,
        (process, thread): (usize, usize),
        Call { name, class, enter, needed, .. }: &Call,
    ) {
        let (Some(class), enter) = (*class, *enter) else { return };
        let last = match needed {
            Needed::Nothing => None,
            Needed::Begin(own) => {
                let is_before = |it: usize| {
                    let of = &self.operations[it];
                    it != *own
                        && of.process == process
                        && of.end.is_some_and(|end| enter < end && end <= self.now)
                };
                (0..self.operations.len())
                    .filter(|&it| is_before(it))
                    .fold(None, |a, b| self.later(a, Some(b)))
            }
            Needed::Ends(operations, records) => {
                let of_records = records.iter().filter_map(|&it| self.records[it].last);
                operations.iter().copied().chain(of_records).fold(None, |a, b| self.later(a, Some(b)))
            }
        };
        let culprit = last.map(|it| format!("{process}.gpu{}", self.operations[it].stream));
        let wait = |class, ticks| DeviceWait {
            class,
            location: format!("{process}.{thread}"),
            path: format!("main/{name}"),
            start: enter,
            ticks,
            culprit: culprit.clone(),
        };
        let mut found = vec![wait(class, self.now - enter)];
        if let (Some(last), "host_waits_for_device") = (last, class) {
            let begin = self.operations[last].begin.unwrap_or(0);
            found.push(wait("queueing", begin.saturating_sub(enter)));
        }
        self.waits.extend(found.into_iter().filter(|it| 0 < it.ticks));
    }

    pub(super) fn push(&mut self, process: usize, thread: usize, what: ToyPayload) {
        self.threads[process][thread].events.push(ToyEvent { time: Ticks(self.now), what });
    }

    fn leave(&mut self, process: usize, thread: usize, name: &'static str) {
        let region = self.trace.region(name);
        self.push(process, thread, ToyPayload::Leave(region));
    }

    /// What happens in this tick.
    fn observe(&mut self) {
        for of in &mut self.threads {
            for thread in of.iter_mut().filter(|it| it.call.is_some() || !it.steps.is_empty()) {
                let name =
                    thread.call.as_ref().map_or("main".to_owned(), |call| format!("main/{}", call.name));
                match thread.code.iter_mut().find(|it| it.0 == name) {
                    Some(it) => it.1 += 1,
                    None => thread.code.push((name, 1)),
                }
            }
        }
        let (now, records) = (self.now, &self.records);
        for stream in self.streams.iter_mut().flatten().filter(|it| it.running.is_none()) {
            if let Some(&Item::Await { record, path }) = stream.items.front()
                && !records[record].has_occurred
            {
                stream.waits_since.get_or_insert((now, path, record));
            }
        }
    }

    fn finish(mut self) -> DeviceRun {
        let sums = super::beside::sums(&self);
        self.add_collective_waits();
        self.waits.sort_unstable();
        let end = self.now;
        for process in 0..self.processes.len() {
            let rank = WorldRank(process as u32);
            for thread in 0..self.threads[process].len() {
                let main = self.trace.region("main");
                let at = |time, what| ToyEvent { time: Ticks(time), what };
                let mut events = vec![at(0, ToyPayload::Enter(main))];
                events.append(&mut self.threads[process][thread].events);
                events.push(at(end, ToyPayload::Leave(main)));
                self.trace.add_location(
                    rank,
                    &format!("{process}.{thread}"),
                    LocationKind::CpuThread,
                    events,
                );
            }
            for stream in 0..self.streams[process].len() {
                let has_links = self.recording != Recording::NamesOnly;
                let events = self.events_of(process, stream, has_links);
                let kind = LocationKind::AcceleratorStream;
                self.trace.add_location(rank, &format!("{process}.gpu{stream}"), kind, events);
            }
            self.add_devices(process, self.location(process, 0));
        }
        DeviceRun { trace: self.trace, waits: self.waits, sums }
    }
}
