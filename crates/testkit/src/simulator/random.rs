//! Random programs that do not deadlock.
//!
//! A program is a list of actions, each of one or several ranks: work, a message with both of its ends, a collective
//! operation. Every rank gets its steps in the order of the actions, and no action needs a later one to end: that is why
//! nothing deadlocks, and why any actions may be left out ([`smallest`](RandomProgram::smallest)).
//!
//! Law: equal options give equal programs, and those of fewer actions are the beginnings of those of more.

use super::program::{
    Call, CollectiveCall, CollectiveKind, Comm, Incoming, Outgoing, Program, SendMode, Slot, Step, call,
    region, work,
};
use crate::rng::Rng;

/// The recipe of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomOptions {
    /// Equal seeds give equal programs.
    pub seed: u64,
    /// Its size.
    pub n_actions: usize,
    /// All work is a multiple of this. With 60, halves, thirds and means over up to six ranks are whole; equal times
    /// are frequent.
    pub granule: u64,
    /// Which calls occur.
    pub matching: MatchingOrder,
}

/// Whether times decide who gets what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchingOrder {
    /// Never: each receive gets the same message, and each call completes the same requests, whatever the times.
    Fixed,
    /// Receives from any source, `MPI_Waitany` and loops of `MPI_Test` occur too.
    ByTime,
}

/// A program that can lose any of its actions.
#[derive(Debug, Clone)]
pub struct RandomProgram {
    comms: Vec<Vec<usize>>,
    actions: Vec<Action>,
    ending: Vec<Step>,
}

/// What some ranks do.
type Action = Vec<(usize, Vec<Step>)>;

impl RandomOptions {
    /// Thirty actions of fixed matching.
    pub fn new(seed: u64) -> Self {
        RandomOptions { seed, n_actions: 30, granule: 60, matching: MatchingOrder::Fixed }
    }

    /// The program of this recipe: two to six ranks, in up to three communicators.
    pub fn build(self) -> RandomProgram {
        Generator::new(self).build()
    }
}

impl RandomProgram {
    /// The program of all actions. All is inside of `main`, and everything posted is completed in the end.
    pub fn program(&self) -> Program {
        let mut ranks = vec![Vec::new(); self.comms[0].len()];
        for (rank, steps) in self.actions.iter().flatten() {
            ranks[*rank].extend_from_slice(steps);
        }
        let whole = |steps: Vec<Step>| region("main", [steps, self.ending.clone()].concat());
        Program { ranks: ranks.into_iter().map(whole).collect(), comms: self.comms.clone() }
    }

    /// Leaves out actions as long as the program `fails`: none of those left can be left out alone. For test reports.
    #[must_use]
    pub fn smallest(mut self, fails: impl Fn(&Program) -> bool) -> RandomProgram {
        let mut n_out = self.actions.len();
        while 0 < n_out {
            let mut first = 0;
            while first < self.actions.len() {
                let mut less = self.clone();
                less.actions.drain(first..(first + n_out).min(self.actions.len()));
                match fails(&less.program()) {
                    true => self = less,
                    false => first += n_out,
                }
            }
            n_out /= 2;
        }
        self
    }
}

struct Generator {
    options: RandomOptions,
    rng: Rng,
    comms: Vec<Vec<usize>>,
    n_slots: Slot,
    n_batches: u32,
    /// What each rank has ever posted.
    posted: Vec<Vec<Slot>>,
}

impl Generator {
    fn new(options: RandomOptions) -> Self {
        let mut rng = Rng::new(options.seed);
        let n_ranks = 2 + rng.below(5) as usize;
        let without_first = (1..n_ranks).collect();
        let every_second = (0..n_ranks).rev().step_by(2).collect();
        let mut comms: Vec<Vec<usize>> = vec![(0..n_ranks).collect(), without_first, every_second];
        comms.retain(|members| 2 <= members.len());
        Generator { options, rng, comms, n_slots: 0, n_batches: 0, posted: vec![Vec::new(); n_ranks] }
    }

    fn build(mut self) -> RandomProgram {
        let n_ranks = self.comms[0].len();
        let (mut actions, mut ending) = (Vec::new(), call(Call::Waitall));
        if self.rng.below(2) == 0 {
            let of_all = |kind| CollectiveCall { kind, comm: 0, root: 0, bytes: 0 };
            let start = Call::Collective(of_all(CollectiveKind::Init));
            actions.push((0..n_ranks).map(|rank| (rank, self.with_work(call(start)))).collect());
            ending.extend(call(Call::Collective(of_all(CollectiveKind::Finalize))));
        }
        while actions.len() < self.options.n_actions {
            let action = match self.rng.below(10) {
                0 | 1 => self.collective(),
                2..=4 => self.message(),
                5 => self.batch(),
                6 => self.ring(),
                7 | 8 => self.completion(),
                _ => (0..n_ranks).map(|rank| (rank, self.with_work(Vec::new()))).collect(),
            };
            actions.push(action);
        }
        actions.truncate(self.options.n_actions);
        RandomProgram { comms: self.comms, actions, ending }
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.below(of.len() as u64) as usize]
    }

    /// `steps` after some work, sometimes both in a region.
    fn with_work(&mut self, steps: Vec<Step>) -> Vec<Step> {
        let mut all = Vec::new();
        for _ in 0..self.rng.below(3) {
            let name = self.pick(&["pack", "solve"]);
            all.extend(work(name, self.rng.below(8) * self.options.granule));
        }
        all.extend(steps);
        if self.rng.below(2) == 0 { region("step", all) } else { all }
    }

    fn collective(&mut self) -> Action {
        use CollectiveKind as K;
        let kinds =
            [K::Barrier, K::Allreduce, K::Alltoall, K::Bcast, K::Scatter, K::Reduce, K::Gather, K::Scan];
        let kind = self.pick(&kinds);
        let comm = self.rng.below(self.comms.len() as u64) as Comm;
        let members = self.comms[comm].clone();
        let bytes = if kind == K::Barrier { 0 } else { 8 + self.rng.below(1000) };
        let one = Call::Collective(CollectiveCall { kind, comm, root: self.pick(&members), bytes });
        members.into_iter().map(|rank| (rank, self.with_work(call(one)))).collect()
    }

    /// Two members of a communicator, and a message from the first to the second.
    fn pair(&mut self) -> (usize, Outgoing, Incoming) {
        let comm = self.rng.below(self.comms.len() as u64) as Comm;
        let mut members = self.comms[comm].clone();
        self.rng.shuffle(&mut members);
        let [from, to] = [members[0], members[1]];
        let tag = self.rng.below(2) as u32;
        let mode = if self.rng.below(4) == 0 { SendMode::Synchronous } else { SendMode::Standard };
        let outgoing = Outgoing { to, tag, bytes: self.pick(&[8, 100, 5000]), comm, mode };
        (from, outgoing, Incoming { from: Some(from), tag: Some(tag), comm })
    }

    fn slot(&mut self, rank: usize) -> Slot {
        self.n_slots += 1;
        self.posted[rank].push(self.n_slots);
        self.n_slots
    }

    /// A message, each end of which blocks or not.
    fn message(&mut self) -> Action {
        let (from, outgoing, incoming) = self.pair();
        let sent = match self.rng.below(2) {
            0 => Call::Send(outgoing),
            _ => Call::Isend(self.slot(from), outgoing),
        };
        let received = match self.rng.below(2) {
            0 => Call::Recv(incoming),
            _ => Call::Irecv(self.slot(outgoing.to), incoming),
        };
        vec![(from, self.with_work(call(sent))), (outgoing.to, self.with_work(call(received)))]
    }

    /// Several messages to one rank, received in any order. Their tags are their own.
    fn batch(&mut self) -> Action {
        let (_, first, _) = self.pair();
        let to = first.to;
        let others: Vec<usize> = self.comms[0].iter().copied().filter(|&rank| rank != to).collect();
        let from_any = self.options.matching == MatchingOrder::ByTime && self.rng.below(2) == 0;
        let (mut actions, mut received) = (Vec::new(), Vec::new());
        for number in 0..2 + self.rng.below(3) as u32 {
            let from = self.pick(&others);
            let tag = 10 * (self.n_batches + 1) + if from_any { 0 } else { number };
            let slot = self.slot(from);
            let sent = Call::Isend(slot, Outgoing { tag, comm: 0, ..first });
            actions.push((from, self.with_work(call(sent))));
            received.push(Incoming { from: (!from_any).then_some(from), tag: Some(tag), comm: 0 });
        }
        self.n_batches += 1;
        self.rng.shuffle(&mut received);
        actions.extend(received.into_iter().map(|incoming| (to, self.with_work(call(Call::Recv(incoming))))));
        actions
    }

    /// Every member of a communicator sends to the next one.
    fn ring(&mut self) -> Action {
        let (_, outgoing, incoming) = self.pair();
        let members = self.comms[outgoing.comm].clone();
        let n = members.len();
        let one = |(i, &rank): (usize, &usize)| {
            let (next, before) = (members[(i + 1) % n], members[(i + n - 1) % n]);
            let outgoing = Outgoing { to: next, mode: SendMode::Standard, ..outgoing };
            let incoming = Incoming { from: Some(before), ..incoming };
            (rank, self.with_work(call(Call::Sendrecv(outgoing, incoming))))
        };
        members.iter().enumerate().map(one).collect()
    }

    /// A rank completes what it has posted.
    fn completion(&mut self) -> Action {
        let rank = self.rng.below(self.posted.len() as u64) as usize;
        let by_time = self.options.matching == MatchingOrder::ByTime;
        let slot = match self.posted[rank].len() {
            0 => 0,
            n => self.posted[rank][n - 1 - self.rng.below(n.min(3) as u64) as usize],
        };
        let one = match self.rng.below(if by_time { 4 } else { 2 }) {
            0 => Call::Wait(slot),
            1 => Call::Waitall,
            2 => Call::Waitany,
            _ => Call::Poll(slot, self.options.granule),
        };
        vec![(rank, self.with_work(call(one)))]
    }
}
