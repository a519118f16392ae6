//! Processes whose threads fork and join, take locks and meet at barriers: executed in whole ticks, with the truth.
//!
//! A process is a list of [`Stage`]s of its first thread: work, or a parallel region of a team. Each thread of a team has
//! its own steps; a barrier of all ends the region. The thread that is first in time goes on, of several the one with
//! the smallest number; a lock goes to those who ask for it in the order in which they ask. Processes have nothing to do
//! with each other.
//!
//! - **A wait for a lock** lasts from the call until the thread that holds it lets it go; several who hold it in between
//!   are one wait, for the last of them.
//! - **A wait at a barrier** lasts from the call until the last thread of the team comes, without the task that the
//!   thread runs in the meantime. The barrier is over when all have come and all tasks are done.
//! - **Time without work**: every thread that is in a team anywhere has nothing to do while the first one is in none, and
//!   while a team works that it is not in.
//! - **Management**: from the fork until a thread begins in its team, and from its end in it until the join.
//!
//! Waits are noted when a thread goes on, sums when a stage is over; the trace is never looked at.

use crate::rng::Rng;
use crate::{ToyEvent, ToyPayload, ToyTrace};
use ouzel_model::{
    CommId, Communicator, LocationId, LocationKind, LockUse, Paradigm, ThreadStep, Ticks, TraceSource,
    WorldRank,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What the first thread of a process does next.
#[derive(Debug, Clone)]
pub enum Stage {
    /// It computes in a region for so many ticks.
    Serial(&'static str, u64),
    /// A team forks and joins.
    Parallel(Vec<TeamMember>),
}

/// What one thread of a team does.
#[derive(Debug, Clone, Default)]
pub struct TeamMember {
    /// Ticks from the fork until it begins.
    pub start: u64,
    /// Its steps, before the barrier that ends the region.
    pub steps: Vec<TeamStep>,
}

/// One step of a thread of a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamStep {
    /// It computes in a region for so many ticks.
    Work(&'static str, u64),
    /// It holds a lock for so many ticks.
    Locked(u32, u64),
    /// It waits for all others. If they have not come after some ticks, it runs a task for as many as the second number
    /// says.
    Barrier(u64, u64),
}

/// A thread that waited.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadWait {
    /// The class in answers.
    pub class: &'static str,
    /// The process.
    pub process: usize,
    /// The thread.
    pub thread: usize,
    /// Since when.
    pub start: u64,
    /// How long.
    pub ticks: u64,
    /// The thread that came last, or held the lock last.
    pub culprit: usize,
}

/// A run of several processes.
#[derive(Debug)]
pub struct ThreadedRun {
    /// What a tracer records.
    pub trace: ToyTrace,
    /// Every wait, sorted.
    pub waits: Vec<ThreadWait>,
    /// Sums by class, process and call path of the first thread.
    pub sums: BTreeMap<(&'static str, usize, String), u64>,
}

/// Runs processes of these stages.
pub fn simulate_threads(processes: &[Vec<Stage>]) -> ThreadedRun {
    let mut run = ThreadedRun { trace: ToyTrace::empty(), waits: Vec::new(), sums: BTreeMap::new() };
    for (number, stages) in processes.iter().enumerate() {
        let mut process = Process::new(number, stages, &mut run);
        for stage in stages {
            match stage {
                Stage::Serial(name, ticks) => process.serial(name, *ticks),
                Stage::Parallel(members) => process.parallel(members),
            }
        }
        process.finish();
    }
    run.waits.sort_unstable();
    run
}

const MAIN: &str = "main";
const PARALLEL: &str = "!$omp parallel";
const CRITICAL: &str = "!$omp critical";
const BARRIER: &str = "!$omp barrier";
const END: &str = "!$omp implicit barrier";
const TASK: &str = "!$omp task";

struct Process<'r> {
    number: usize,
    run: &'r mut ThreadedRun,
    /// Time of the first thread outside of teams.
    now: u64,
    events: Vec<Vec<ToyEvent>>,
    /// The team of the first n threads, by n.
    teams: BTreeMap<usize, CommId>,
    locks: BTreeMap<u32, Lock>,
}

#[derive(Default)]
struct Lock {
    holder: Option<usize>,
    n_acquired: u32,
    /// Who asked for it, when, and for how long.
    queue: VecDeque<(usize, u64, u64)>,
}

/// A thread while its team runs.
struct Running<'s> {
    now: u64,
    steps: VecDeque<&'s TeamStep>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    /// Waits for a lock.
    Asks,
    /// Has a lock until now.
    Holds(LockUse),
    /// Since then, and the task that it would run.
    AtBarrier(u64, (u64, u64)),
    Done,
}

impl<'r> Process<'r> {
    fn new(number: usize, stages: &[Stage], run: &'r mut ThreadedRun) -> Self {
        let sizes = stages.iter().filter_map(|stage| match stage {
            Stage::Parallel(members) => Some(members.len()),
            Stage::Serial(..) => None,
        });
        let mut teams = BTreeMap::new();
        let first = run.trace.definitions().locations.len();
        let n_threads = sizes.clone().max().unwrap_or(1);
        for size in sizes {
            let comms = &mut run.trace.definitions_mut().communicators;
            teams.entry(size).or_insert_with(|| {
                let member_locations = (first..first + size).map(LocationId::from_index).collect();
                let team = Communicator::of_ranks(format!("team {number}.{size}"), Arc::default());
                comms.push(Communicator { member_locations, ..team });
                CommId::from_index(comms.len() - 1)
            });
        }
        let mut process = Process {
            number,
            run,
            now: 0,
            events: vec![Vec::new(); n_threads],
            teams,
            locks: BTreeMap::new(),
        };
        process.enter(0, 0, MAIN);
        process
    }

    fn push(&mut self, thread: usize, time: u64, what: ToyPayload) {
        self.events[thread].push(ToyEvent { time: Ticks(time), what });
    }

    fn step(&mut self, thread: usize, time: u64, step: ThreadStep) {
        self.push(thread, time, ToyPayload::Thread(step));
    }

    fn enter(&mut self, thread: usize, time: u64, name: &str) {
        let region = self.run.trace.region(name);
        self.push(thread, time, ToyPayload::Enter(region));
    }

    fn leave(&mut self, thread: usize, time: u64, name: &str) {
        let region = self.run.trace.region(name);
        self.push(thread, time, ToyPayload::Leave(region));
    }

    fn add(&mut self, class: &'static str, path: &str, ticks: u64) {
        if 0 < ticks {
            *self.run.sums.entry((class, self.number, path.to_owned())).or_default() += ticks;
        }
    }

    fn wait(&mut self, class: &'static str, thread: usize, (start, end): (u64, u64), culprit: usize) {
        if start < end {
            let process = self.number;
            self.run.waits.push(ThreadWait { class, process, thread, start, ticks: end - start, culprit });
        }
    }

    fn serial(&mut self, name: &'static str, ticks: u64) {
        self.enter(0, self.now, name);
        self.now += ticks;
        self.leave(0, self.now, name);
        let others = self.events.len() as u64 - 1;
        self.add("idle_threads", &format!("{MAIN}/{name}"), ticks * others);
    }

    fn parallel(&mut self, members: &[TeamMember]) {
        let (fork, team) = (self.now, self.teams[&members.len()]);
        self.enter(0, fork, PARALLEL);
        self.step(
            0,
            fork,
            ThreadStep::Fork { paradigm: Paradigm::OpenMp, n_requested: members.len() as u32 },
        );
        let path = format!("{MAIN}/{PARALLEL}");
        let end = TeamStep::Barrier(0, 0);
        let mut threads: Vec<Running<'_>> = Vec::new();
        for (thread, member) in members.iter().enumerate() {
            let now = fork + if thread == 0 { 0 } else { member.start };
            self.add("management", &path, now - fork);
            self.step(thread, now, ThreadStep::TeamBegin(team));
            let steps = member.steps.iter().chain([&end]).collect();
            threads.push(Running { now, steps, state: State::Ready });
        }
        self.execute(&mut threads);
        let join = threads.iter().map(|thread| thread.now).max().unwrap_or(fork);
        for (thread, at) in threads.iter().enumerate() {
            self.step(thread, at.now, ThreadStep::TeamEnd(team));
            if 0 < thread {
                self.add("management", &path, join - at.now);
            }
        }
        self.step(0, join, ThreadStep::Join { paradigm: Paradigm::OpenMp });
        self.leave(0, join, PARALLEL);
        let without = (self.events.len() - members.len()) as u64;
        self.add("limited_parallelism", &path, (join - fork) * without);
        self.now = join;
    }

    /// Runs the threads of a team until all are done.
    fn execute(&mut self, threads: &mut [Running<'_>]) {
        loop {
            let can_go = |thread: &Running<'_>| matches!(thread.state, State::Ready | State::Holds(_));
            let ready = threads.iter().enumerate().filter(|(_, thread)| can_go(thread));
            match ready.min_by_key(|(number, thread)| (thread.now, *number)) {
                Some((thread, _)) => self.go_on(threads, thread),
                None if threads.iter().all(|thread| thread.state == State::Done) => return,
                None => self.end_barrier(threads),
            }
        }
    }

    fn go_on(&mut self, threads: &mut [Running<'_>], thread: usize) {
        let at = &mut threads[thread];
        let now = at.now;
        if let State::Holds(used) = at.state {
            return self.let_go(threads, thread, used);
        }
        match at.steps.pop_front() {
            None => at.state = State::Done,
            Some(&TeamStep::Work(name, ticks)) => {
                at.now += ticks;
                self.enter(thread, now, name);
                self.leave(thread, now + ticks, name);
            }
            Some(&TeamStep::Barrier(after, ticks)) => at.state = State::AtBarrier(now, (after, ticks)),
            Some(&TeamStep::Locked(lock, ticks)) => {
                at.state = State::Asks;
                self.enter(thread, now, CRITICAL);
                let of = self.locks.entry(lock).or_default();
                of.queue.push_back((thread, now, ticks));
                if of.holder.is_none() {
                    self.hand_over(threads, lock, now, None);
                }
            }
        }
    }

    fn let_go(&mut self, threads: &mut [Running<'_>], thread: usize, used: LockUse) {
        let now = threads[thread].now;
        threads[thread].state = State::Ready;
        self.step(thread, now, ThreadStep::LockRelease(used));
        self.leave(thread, now, CRITICAL);
        self.locks.entry(used.lock).or_default().holder = None;
        self.hand_over(threads, used.lock, now, Some(thread));
    }

    /// Gives a lock that is free to who asked first.
    fn hand_over(&mut self, threads: &mut [Running<'_>], lock: u32, now: u64, before: Option<usize>) {
        let of = self.locks.entry(lock).or_default();
        let Some((thread, asked, ticks)) = of.queue.pop_front() else { return };
        of.holder = Some(thread);
        of.n_acquired += 1;
        let used = LockUse { paradigm: Paradigm::OpenMp, lock, order: of.n_acquired };
        threads[thread].state = State::Holds(used);
        threads[thread].now = now + ticks;
        self.step(thread, now, ThreadStep::LockAcquire(used));
        if let Some(before) = before {
            self.wait("lock_contention", thread, (asked, now), before);
        }
    }

    /// All threads have come to a barrier.
    fn end_barrier(&mut self, threads: &mut [Running<'_>]) {
        let came = |thread: &Running<'_>| match thread.state {
            State::AtBarrier(since, task) => (since, task),
            _ => panic!("a thread ends before a barrier of its team"),
        };
        let all: Vec<(u64, (u64, u64))> = threads.iter().map(came).collect();
        let last = all.iter().map(|&(since, _)| since).max().unwrap_or_default();
        let culprit = all.iter().position(|&(since, _)| since == last).unwrap_or_default();
        let task = |&(since, (after, ticks)): &(u64, (u64, u64))| {
            (since + after < last && 0 < ticks).then_some((since + after, since + after + ticks))
        };
        let over = all.iter().filter_map(task).map(|(_, end)| end).fold(last, u64::max);
        for (thread, of) in all.iter().enumerate() {
            let name = if threads[thread].steps.is_empty() { END } else { BARRIER };
            let since = of.0;
            self.enter(thread, since, name);
            let (start, end) = task(of).unwrap_or((last, last));
            if start < end {
                self.enter(thread, start, TASK);
                self.leave(thread, end, TASK);
            }
            self.wait("openmp_wait_at_barrier", thread, (since, start), culprit);
            self.wait("openmp_wait_at_barrier", thread, (end, last), culprit);
            self.leave(thread, over, name);
            (threads[thread].now, threads[thread].state) = (over, State::Ready);
        }
    }

    fn finish(mut self) {
        self.leave(0, self.now, MAIN);
        let rank = WorldRank(self.number as u32);
        for (thread, events) in self.events.into_iter().enumerate() {
            let name = format!("{}.{thread}", self.number);
            self.run.trace.add_location(rank, &name, LocationKind::CpuThread, events);
        }
    }
}

/// Processes made from a seed: equal seeds give equal ones. Teams have one to four threads; all times are multiples of
/// ten, so that equal ones are frequent.
pub fn random_threads(seed: u64) -> Vec<Vec<Stage>> {
    let mut rng = Rng::new(seed);
    let stage = |rng: &mut Rng| match rng.below(3) {
        0 => Stage::Serial(["read", "write"][rng.below(2) as usize], rng.below(9) * 10),
        _ => {
            let n_barriers = rng.below(3);
            Stage::Parallel((0..1 + rng.below(4)).map(|_| random_member(rng, n_barriers)).collect())
        }
    };
    (0..1 + rng.below(2)).map(|_| (0..1 + rng.below(6)).map(|_| stage(&mut rng)).collect()).collect()
}

fn random_member(rng: &mut Rng, n_barriers: u64) -> TeamMember {
    let start = rng.below(3) * 10;
    let mut steps = Vec::new();
    for section in 0..=n_barriers {
        for _ in 0..rng.below(4) {
            let ticks = rng.below(9) * 10;
            steps.push(match rng.below(2) {
                0 => TeamStep::Work(["solve", "pack"][rng.below(2) as usize], ticks),
                _ => TeamStep::Locked(rng.below(2) as u32, ticks),
            });
        }
        if section < n_barriers {
            let task = if rng.below(3) == 0 { rng.below(6) * 10 } else { 0 };
            steps.push(TeamStep::Barrier(rng.below(4) * 10, task));
        }
    }
    TeamMember { start, steps }
}
