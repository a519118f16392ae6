//! Executes a program: always the rank that is first in time goes on, the smaller rank if two are.
//!
//! Messages are therefore posted in the order of time, and what a rank finds posted does not depend on anything later.
//! A call is entered, waits until all it needs is posted, and is left when the machine says.

mod waits;

use super::instance::Instance;
use super::machine::{Machine, Need, Transfer};
use super::matching::{Matching, VisitId};
use super::program::{Call, CollectiveCall, Comm, Program, Slot, Step};
use super::record::Recorder;
use super::run::{Polling, Run, Span, Visit, WaitClass};
use ouzel_model::RequestEvent;
use std::collections::BTreeMap;

/// Runs `program` on `machine`.
///
/// # Panics
/// If the program deadlocks, ends with open regions or leaves what it has not entered.
pub fn simulate(program: &Program, machine: &Machine) -> Run {
    let mut execution = Execution::new(program, machine);
    while let Some((time, rank)) = execution.next() {
        match execution.ranks[rank].pending.take() {
            Some(pending) => execution.end_call(&pending, time),
            None => execution.step(rank),
        }
    }
    execution.finish()
}

/// One side of a message, to be completed by a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    side: Side,
    /// The request of what is not blocking.
    request: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Message(usize),
    Receive(usize),
}

/// A call that was entered and not left.
struct Pending {
    visit: VisitId,
    call: Call,
    /// What it completes: all of it, or the first.
    parts: Vec<Part>,
    /// Its collective operation.
    instance: Option<usize>,
}

#[derive(Default)]
struct Rank {
    n_steps: usize,
    now: u64,
    pending: Option<Pending>,
    posted: BTreeMap<Slot, Part>,
    n_requests: u64,
    n_collectives: BTreeMap<Comm, usize>,
    /// Since when the current loop of tests fails.
    polls_since: Option<u64>,
}

struct Execution<'p> {
    program: &'p Program,
    machine: &'p Machine,
    recorder: Recorder<'p>,
    matching: Matching,
    ranks: Vec<Rank>,
    instance_ids: BTreeMap<(Comm, usize), usize>,
    /// Receives as they are completed: the completing visit and the number of the message.
    received: Vec<(VisitId, usize)>,
    run: Run,
}

impl<'p> Execution<'p> {
    fn new(program: &'p Program, machine: &'p Machine) -> Self {
        let recorder = Recorder::new(program);
        let n_ranks = program.ranks.len();
        Execution {
            program,
            machine,
            recorder,
            matching: Matching::default(),
            ranks: (0..n_ranks).map(|_| Rank::default()).collect(),
            instance_ids: BTreeMap::new(),
            received: Vec::new(),
            run: Run::new(n_ranks),
        }
    }

    /// The rank that is first in time and can go on, and when.
    fn next(&self) -> Option<(u64, usize)> {
        let ready = |(number, rank): (usize, &Rank)| {
            let time = match &rank.pending {
                Some(pending) => self.end_of(pending),
                None => (rank.n_steps < self.program.ranks[number].len()).then_some(rank.now),
            };
            Some((time?, number))
        };
        self.ranks.iter().enumerate().filter_map(ready).min()
    }

    fn step(&mut self, rank: usize) {
        let at = &mut self.ranks[rank];
        let (step, now) = (&self.program.ranks[rank][at.n_steps], at.now);
        at.n_steps += 1;
        match step {
            Step::Enter(name) => self.recorder.enter(rank, now, name),
            Step::Leave => self.recorder.leave(rank, now),
            Step::Work(ticks) => self.work(rank, *ticks),
            Step::Call(call) => self.begin_call(rank, *call),
        }
    }

    fn work(&mut self, rank: usize, ticks: u64) {
        let start = self.ranks[rank].now;
        let call_path = self.recorder.call_path(rank);
        self.run.push_span(rank, Span { call_path, start, end: start + ticks, wait: None });
        self.run.useful[rank] += ticks;
        self.ranks[rank].now += ticks;
    }

    fn begin_call(&mut self, rank: usize, call: Call) {
        let now = self.ranks[rank].now;
        self.recorder.enter(rank, now, call.region());
        let call_path = self.recorder.call_path(rank);
        let visit = self.run.visits.len();
        self.run.visits.push(Visit { rank, call_path, enter: now, leave: now });
        let posted = &self.ranks[rank].posted;
        let mut pending = Pending { visit, call, parts: Vec::new(), instance: None };
        match call {
            Call::Send(_) | Call::Recv(_) | Call::Sendrecv(..) => {
                pending.parts = self.post(visit, call, None);
            }
            Call::Isend(slot, _) | Call::Irecv(slot, _) => {
                let request = self.ranks[rank].n_requests;
                self.ranks[rank].n_requests += 1;
                let part = self.post(visit, call, Some(request))[0];
                let before = self.ranks[rank].posted.insert(slot, part);
                assert!(before.is_none(), "rank {rank} posts {slot} again before it is complete");
            }
            Call::Wait(slot) => pending.parts.extend(posted.get(&slot)),
            Call::Waitall | Call::Waitany => pending.parts.extend(posted.values()),
            Call::Poll(slot, pause) => {
                let part = posted.get(&slot).copied();
                if let Some(part) = part.filter(|part| !self.is_complete(part.side, now)) {
                    return self.fail_test(&pending, part, pause);
                }
                pending.parts.extend(part);
            }
            Call::Collective(call) => pending.instance = Some(self.arrive(visit, call)),
        }
        self.ranks[rank].pending = Some(pending);
    }

    /// Whether one side of a message needs no more time.
    fn is_complete(&self, side: Side, now: u64) -> bool {
        let machine = Machine { transfer: Transfer::InFlight, ..*self.machine };
        self.need(side).is_some_and(|need| machine.leave(0, &[need]) <= now)
    }

    /// Posts the messages of a call.
    fn post(&mut self, visit: VisitId, call: Call, request: Option<u64>) -> Vec<Part> {
        let Visit { rank, enter, .. } = self.run.visits[visit];
        let (sent, wanted) = match call {
            Call::Send(sent) | Call::Isend(_, sent) => (Some(sent), None),
            Call::Recv(wanted) | Call::Irecv(_, wanted) => (None, Some(wanted)),
            Call::Sendrecv(sent, wanted) => (Some(sent), Some(wanted)),
            _ => (None, None),
        };
        let mut sides = Vec::new();
        if let Some(sent) = sent {
            let message = self.matching.send(rank, sent, visit, self.machine);
            self.recorder.send(enter, &self.matching.messages[message], request);
            sides.push(Side::Message(message));
        }
        if let Some(wanted) = wanted {
            sides.push(Side::Receive(self.matching.receive(rank, wanted, visit)));
            if let Some(request) = request {
                self.recorder.request(rank, enter, request, RequestEvent::RecvPosted);
            }
        }
        sides.into_iter().map(|side| Part { side, request }).collect()
    }

    /// Enters a collective operation; returns its number.
    fn arrive(&mut self, visit: VisitId, call: CollectiveCall) -> usize {
        let Visit { rank, enter, .. } = self.run.visits[visit];
        self.recorder.collective_begin(rank, enter, call);
        let n_before = self.ranks[rank].n_collectives.entry(call.comm).or_default();
        let instances = &mut self.run.instances;
        let number = *self.instance_ids.entry((call.comm, *n_before)).or_insert(instances.len());
        *n_before += 1;
        if number == instances.len() {
            instances.push(Instance::new(call, &self.program.comms[call.comm], self.machine));
        }
        instances[number].arrive(rank, visit, call);
        number
    }

    /// Leaves a test that failed, and works until the next one.
    fn fail_test(&mut self, test: &Pending, part: Part, pause: u64) {
        assert!(0 < pause + self.machine.overhead, "a loop of tests takes time");
        let Visit { rank, enter, .. } = self.run.visits[test.visit];
        let request = part.request.expect("what is posted and not complete has a request");
        self.recorder.request(rank, enter, request, RequestEvent::Tested);
        self.end_call(test, enter + self.machine.overhead);
        self.ranks[rank].polls_since.get_or_insert(enter);
        self.work(rank, pause);
        self.ranks[rank].n_steps -= 1;
    }

    /// What completes one side of a message; `None` until it is posted.
    fn need(&self, side: Side) -> Option<Need> {
        let Matching { messages, receives } = &self.matching;
        let message = match side {
            Side::Message(number) if messages[number].is_eager => return Some(Need { release: 0, ticks: 0 }),
            Side::Message(number) => &messages[number],
            Side::Receive(number) => &messages[receives[number].message?],
        };
        let ticks = self.machine.transfer_ticks(message.sent.bytes);
        let mut release = self.run.visits[message.post].enter;
        if !message.is_eager {
            release = release.max(self.run.visits[receives[message.receive?].post].enter);
        }
        Some(Need { release, ticks })
    }

    /// When a call is left; `None` as long as it lacks something.
    fn end_of(&self, pending: &Pending) -> Option<u64> {
        let Visit { rank, enter, .. } = self.run.visits[pending.visit];
        if let (Call::Waitany, false) = (pending.call, pending.parts.is_empty()) {
            return Some(self.first(pending)?.0);
        }
        let mut needs = Vec::new();
        for part in &pending.parts {
            needs.push(self.need(part.side)?);
        }
        if let Some(instance) = pending.instance.map(|number| &self.run.instances[number]) {
            let ticks = self.machine.transfer_ticks(instance.call.bytes);
            for visit in instance.needed(rank) {
                needs.push(Need { release: self.run.visits[(*visit)?].enter, ticks });
            }
        }
        Some(self.machine.leave(enter, &needs))
    }

    /// The part of a call that is complete first, and when.
    fn first(&self, pending: &Pending) -> Option<(u64, Part)> {
        let enter = self.run.visits[pending.visit].enter;
        let end = |&part: &Part| Some((self.machine.leave(enter, &[self.need(part.side)?]), part));
        pending.parts.iter().filter_map(end).min_by_key(|&(end, _)| end)
    }

    fn end_call(&mut self, pending: &Pending, time: u64) {
        let Visit { rank, enter, .. } = self.run.visits[pending.visit];
        let completed = match pending.call {
            Call::Waitany => self.first(pending).map(|(_, part)| part).into_iter().collect(),
            _ => pending.parts.clone(),
        };
        let call_path = self.recorder.call_path(rank);
        let mut waited_until = enter;
        if let Some(wait) = self.wait(pending, &completed) {
            waited_until += wait.ticks;
            let wait_number = Some(self.run.waits.len());
            let span =
                Span { call_path: call_path.clone(), start: enter, end: waited_until, wait: wait_number };
            self.run.push_span(rank, span);
            self.run.waits.push(wait);
        }
        self.run.push_span(rank, Span { call_path, start: waited_until, end: time, wait: None });
        self.run.visits[pending.visit].leave = time;
        self.record_end(pending, &completed, time);
        let at = &mut self.ranks[rank];
        at.now = time;
        at.posted.retain(|_, part| !completed.contains(part));
        // A test that fails completes nothing.
        if let (Call::Poll(..), false) = (pending.call, completed.is_empty())
            && let Some(start) = at.polls_since.take()
        {
            let call_path = self.run.visits[pending.visit].call_path.clone();
            self.run.polling.push(Polling { rank, call_path, start, ticks: enter - start });
        }
    }

    fn record_end(&mut self, pending: &Pending, completed: &[Part], time: u64) {
        let rank = self.run.visits[pending.visit].rank;
        let Matching { messages, receives } = &self.matching;
        for &Part { side, request } in completed {
            match (side, request) {
                (Side::Receive(number), _) => {
                    let message = receives[number].message.expect("what is complete is matched");
                    self.recorder.receive(time, &receives[number], &messages[message], request);
                    self.received.push((pending.visit, message));
                }
                (Side::Message(_), Some(request)) => {
                    self.recorder.request(rank, time, request, RequestEvent::SendComplete);
                }
                (Side::Message(_), None) => {}
            }
        }
        if let Call::Collective(call) = pending.call {
            self.recorder.collective_end(rank, time, call);
        }
        self.recorder.leave(rank, time);
    }

    fn finish(mut self) -> Run {
        for (number, rank) in self.ranks.iter().enumerate() {
            let n_steps = self.program.ranks[number].len();
            assert!(rank.pending.is_none(), "deadlock: rank {number} is stuck in step {}", rank.n_steps);
            assert_eq!(rank.n_steps, n_steps, "every rank ends");
            assert!(self.recorder.call_path(number).is_empty(), "rank {number} ends with open regions");
        }
        for wait in self.run.waits.iter_mut().filter(|wait| wait.class == WaitClass::LateSender) {
            wait.wrong_order = waits::wrong_order(wait, &self.run.visits, &self.received, &self.matching);
        }
        self.run.trace = self.recorder.finish();
        self.run
    }
}
