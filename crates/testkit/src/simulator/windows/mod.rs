//! Processes that access each other's memory through windows: executed in whole ticks, with the truth.
//!
//! Every rank goes through its own steps on windows of all ranks: fences, epochs of groups, locks, accesses. The rank
//! that is first in time goes on, of several the smallest. A call waits until all that it needs has been *entered* by
//! the others; the wait is noted at that moment with who came last, and the trace is never looked at.
//!
//! - A **fence**, and making and freeing a window, need all ranks.
//! - An **access epoch** needs the posts of all its targets, in the call that [`BlockAt`] names.
//! - The **end of an exposure epoch** needs the ends of the accesses of all its origins.
//! - A **lock** is given to those who ask for it in the order in which they ask; shared ones together. When a call asks
//!   is again what [`BlockAt`] says; a lock is released when the call that releases it is entered, or when it has got
//!   what it asked for itself.
//!
//! Accesses take time only with [`BlockAt::First`]: else one that waits for nothing could not be told from one that does.

mod random;

pub use random::{RandomWindows, random_windows};

use crate::{ToyEvent, ToyPayload, ToyTrace};
use ouzel_model::{
    CollectiveOp, CollectiveRoot, CommId, CommRank, LocationKind, RmaAccess, RmaCollective, RmaLock,
    RmaLockMode, RmaOperationId, RmaStep, RmaSyncLevel, RmaWindow, RmaWindowId, Ticks, WorldRank,
};
use std::collections::{BTreeMap, VecDeque};

/// Which call of an epoch waits until the epoch may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockAt {
    /// The one that begins it: `MPI_Win_start`, `MPI_Win_lock`.
    First,
    /// The first access, or the last call if there is none.
    Access,
    /// The one that ends it: `MPI_Win_complete`, `MPI_Win_unlock`.
    Last,
}

/// One step of a rank; the first number is the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowStep {
    /// It computes for so many ticks.
    Work(u64),
    /// It makes the window, with all others.
    Create(usize),
    /// It frees the window, with all others.
    Free(usize),
    /// A fence of all ranks.
    Fence(usize),
    /// It accesses the memory of a rank, for so many ticks.
    Access(usize, usize, u64),
    /// It begins to access the memory of these ranks.
    Start(usize, Vec<usize>),
    /// It ends that.
    Complete(usize),
    /// It lets these ranks access its memory.
    Post(usize, Vec<usize>),
    /// It waits until they have.
    Wait(usize),
    /// It locks the memory of a rank, alone or not.
    Lock(usize, usize, bool),
    /// It lets go.
    Unlock(usize, usize),
}

/// A call that waited.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WindowWait {
    /// The class in answers.
    pub class: &'static str,
    /// Who waited.
    pub rank: usize,
    /// In which call.
    pub call: &'static str,
    /// Since when.
    pub start: u64,
    /// How long.
    pub ticks: u64,
    /// Who came last; none if several may have.
    pub culprit: Option<usize>,
}

/// A run.
#[derive(Debug)]
pub struct WindowRun {
    /// What a tracer records.
    pub trace: ToyTrace,
    /// Every wait and its parts, sorted.
    pub waits: Vec<WindowWait>,
}

/// Runs these ranks on so many windows.
///
/// # Panics
/// If the program deadlocks.
pub fn simulate_windows(program: &[Vec<WindowStep>], n_windows: usize, block_at: BlockAt) -> WindowRun {
    let mut run = Execution::new(program, n_windows, block_at);
    while let Some((time, rank)) = run.next() {
        match run.ranks[rank].call.take() {
            Some(call) => run.end(rank, call, time),
            None => run.step(rank),
        }
    }
    run.finish()
}

/// The targets of an access epoch, whether it has asked them to let it in, and when its last access to each ended.
type OpenEpoch<'p> = (&'p [usize], bool, BTreeMap<usize, u64>);

/// A call that was entered and not left.
#[derive(Debug, Clone, Copy)]
struct OpenCall<'p> {
    step: &'p WindowStep,
    enter: u64,
    /// Whether its epoch begins in it.
    begins: bool,
}

#[derive(Debug, Default)]
struct RankState<'p> {
    n_steps: usize,
    now: u64,
    call: Option<OpenCall<'p>>,
    /// By window: the access epoch.
    access: BTreeMap<usize, OpenEpoch<'p>>,
    /// By window: the origins of the exposure epoch.
    exposure: BTreeMap<usize, &'p [usize]>,
    /// By window and target: whether the lock is held alone, and whether it is asked for.
    locks: BTreeMap<(usize, usize), (bool, bool)>,
    /// By window: the end of the last access to each target since the last fence.
    accessed: Vec<BTreeMap<usize, u64>>,
    events: Vec<ToyEvent>,
    n_accesses: u64,
}

impl RankState<'_> {
    fn new(n_windows: usize) -> Self {
        RankState { accessed: vec![BTreeMap::new(); n_windows], ..RankState::default() }
    }
}

/// The lock of one target.
#[derive(Debug, Default)]
struct TargetLock {
    /// Who holds it, whether alone, and since when it is asked for.
    holders: Vec<(usize, bool, u64)>,
    queue: VecDeque<(usize, bool, u64)>,
    /// Since when those hold it who have got it, until they go on.
    given: BTreeMap<usize, u64>,
    /// Who released it: when, asked for when, who, whether it was held alone.
    released: Vec<(u64, u64, usize, bool)>,
}

struct Execution<'p> {
    program: &'p [Vec<WindowStep>],
    block_at: BlockAt,
    ranks: Vec<RankState<'p>>,
    trace: ToyTrace,
    waits: Vec<WindowWait>,
    /// By window and number of the operation on it: who came when.
    arrived: BTreeMap<(usize, usize), BTreeMap<usize, u64>>,
    /// By window and rank: number of operations it was at.
    n_arrived: BTreeMap<(usize, usize), usize>,
    /// By window, target and origin: when the target let the origin in, again and again.
    posts: BTreeMap<(usize, usize, usize), Vec<u64>>,
    /// By window, origin and target: when the origin ended its accesses, and when the last one to the target ended.
    completes: BTreeMap<(usize, usize, usize), Vec<(u64, u64)>>,
    n_starts: BTreeMap<(usize, usize, usize), usize>,
    n_waits: BTreeMap<(usize, usize, usize), usize>,
    /// By window, number of the operation on it, and target: when the last access of which origin before a fence ended.
    fenced: BTreeMap<(usize, usize, usize), Vec<(u64, usize)>>,
    locks: BTreeMap<(usize, usize), TargetLock>,
}

fn name(step: &WindowStep) -> &'static str {
    match step {
        WindowStep::Work(_) => "work",
        WindowStep::Create(_) => "MPI_Win_create",
        WindowStep::Free(_) => "MPI_Win_free",
        WindowStep::Fence(_) => "MPI_Win_fence",
        WindowStep::Access(..) => "MPI_Put",
        WindowStep::Start(..) => "MPI_Win_start",
        WindowStep::Complete(_) => "MPI_Win_complete",
        WindowStep::Post(..) => "MPI_Win_post",
        WindowStep::Wait(_) => "MPI_Win_wait",
        WindowStep::Lock(..) => "MPI_Win_lock",
        WindowStep::Unlock(..) => "MPI_Win_unlock",
    }
}

/// The latest time, and the smallest rank that has it.
fn last(times: impl Iterator<Item = (u64, usize)>) -> Option<(u64, usize)> {
    times.max_by_key(|&(time, rank)| (time, std::cmp::Reverse(rank)))
}

/// The last of a group, once all have a time.
fn all_of(group: &[usize], time: impl Fn(usize) -> Option<u64>) -> Option<Option<(u64, usize)>> {
    let times: Option<Vec<(u64, usize)>> = group.iter().map(|&it| Some((time(it)?, it))).collect();
    times.map(|times| last(times.into_iter()))
}

impl<'p> Execution<'p> {
    fn new(program: &'p [Vec<WindowStep>], n_windows: usize, block_at: BlockAt) -> Self {
        let mut trace = ToyTrace::empty();
        let window = |n: usize| RmaWindow {
            name: format!("window{n}").into(),
            comm: CommId(0),
            has_life_events: true,
        };
        trace.definitions_mut().rma_windows = (0..n_windows).map(window).collect();
        Execution {
            program,
            block_at,
            ranks: program.iter().map(|_| RankState::new(n_windows)).collect(),
            trace,
            waits: Vec::new(),
            arrived: BTreeMap::new(),
            n_arrived: BTreeMap::new(),
            posts: BTreeMap::new(),
            completes: BTreeMap::new(),
            n_starts: BTreeMap::new(),
            n_waits: BTreeMap::new(),
            fenced: BTreeMap::new(),
            locks: BTreeMap::new(),
        }
    }

    /// The rank that is first in time and can go on, and when.
    fn next(&self) -> Option<(u64, usize)> {
        let ready = |(rank, of): (usize, &RankState<'_>)| {
            let time = match &of.call {
                Some(call) => self.needed(rank, call)?.map_or(call.enter, |(time, _)| time.max(call.enter)),
                None => (of.n_steps < self.program[rank].len()).then_some(of.now)?,
            };
            Some((time, rank))
        };
        self.ranks.iter().enumerate().filter_map(ready).min()
    }

    /// What a call needs last, and of whom: `None` as long as it is not there, `Some(None)` if it needs nothing.
    fn needed(&self, rank: usize, call: &OpenCall<'_>) -> Option<Option<(u64, usize)>> {
        match call.step {
            WindowStep::Create(window) | WindowStep::Free(window) | WindowStep::Fence(window) => {
                let nth = self.n_arrived[&(*window, rank)];
                let all = &self.arrived[&(*window, nth)];
                (all.len() == self.ranks.len()).then(|| last(all.iter().map(|(&rank, &time)| (time, rank))))
            }
            WindowStep::Start(window, _) | WindowStep::Complete(window) if call.begins => {
                self.posted(rank, *window)
            }
            WindowStep::Access(window, target, _) if call.begins => {
                match self.ranks[rank].locks.contains_key(&(*window, *target)) {
                    true => self.given(rank, *window, *target),
                    false => self.posted(rank, *window),
                }
            }
            WindowStep::Wait(window) => all_of(self.ranks[rank].exposure[window], |origin| {
                let nth = self.n_waits[&(*window, rank, origin)] - 1;
                Some(self.completes.get(&(*window, origin, rank))?.get(nth)?.0)
            }),
            WindowStep::Lock(window, target, _) | WindowStep::Unlock(window, target) if call.begins => {
                self.given(rank, *window, *target)
            }
            _ => Some(None),
        }
    }

    /// When the last target of an access epoch let the rank in.
    fn posted(&self, rank: usize, window: usize) -> Option<Option<(u64, usize)>> {
        let (targets, ..) = &self.ranks[rank].access[&window];
        all_of(targets, |target| {
            let nth = self.n_starts[&(window, rank, target)] - 1;
            self.posts.get(&(window, target, rank))?.get(nth).copied()
        })
    }

    /// When a lock was given to a rank, and who released it last.
    fn given(&self, rank: usize, window: usize, target: usize) -> Option<Option<(u64, usize)>> {
        let lock = &self.locks[&(window, target)];
        let &since = lock.given.get(&rank)?;
        let (is_alone, _) = self.ranks[rank].locks[&(window, target)];
        let conflicts = lock.released.iter().filter(|it| it.2 != rank && (is_alone || it.3));
        Some(Some((since, conflicts.max().map_or(rank, |it| it.2))))
    }

    fn push(&mut self, rank: usize, time: u64, what: ToyPayload) {
        self.ranks[rank].events.push(ToyEvent { time: Ticks(time), what });
    }

    fn record(&mut self, rank: usize, time: u64, window: usize, step: RmaStep) {
        self.push(rank, time, ToyPayload::Rma(Some(RmaWindowId::from_index(window)), step));
    }

    fn step(&mut self, rank: usize) {
        let at = &mut self.ranks[rank];
        let (step, enter) = (&self.program[rank][at.n_steps], at.now);
        at.n_steps += 1;
        let region = self.trace.region(name(step));
        self.push(rank, enter, ToyPayload::Enter(region));
        let begins = self.arrive(rank, step, enter);
        self.ranks[rank].call = Some(OpenCall { step, enter, begins });
    }

    /// What a call tells the others when it is entered; whether its epoch begins in it.
    fn arrive(&mut self, rank: usize, step: &'p WindowStep, now: u64) -> bool {
        match *step {
            WindowStep::Work(_) => {}
            WindowStep::Create(window) | WindowStep::Free(window) | WindowStep::Fence(window) => {
                let nth = self.n_arrived.entry((window, rank)).or_default();
                *nth += 1;
                let nth = (window, *nth);
                self.arrived.entry(nth).or_default().insert(rank, now);
                if matches!(step, WindowStep::Fence(_)) {
                    for (target, end) in std::mem::take(&mut self.ranks[rank].accessed[window]) {
                        let of = self.fenced.entry((nth.0, nth.1, target)).or_default();
                        of.push((end, rank));
                    }
                }
                self.push(rank, now, ToyPayload::Rma(None, RmaStep::CollectiveBegin));
            }
            WindowStep::Start(window, ref targets) => {
                for &target in targets {
                    *self.n_starts.entry((window, rank, target)).or_default() += 1;
                }
                let begins = self.block_at == BlockAt::First;
                self.ranks[rank].access.insert(window, (targets, begins, BTreeMap::new()));
                return begins;
            }
            WindowStep::Complete(window) => {
                let (targets, has_begun, accesses) = self.ranks[rank].access[&window].clone();
                for &target in targets {
                    let last = accesses.get(&target).copied().unwrap_or_default();
                    self.completes.entry((window, rank, target)).or_default().push((now, last));
                }
                return !has_begun;
            }
            WindowStep::Post(window, ref origins) => {
                for &origin in origins {
                    self.posts.entry((window, rank, origin)).or_default().push(now);
                }
                self.ranks[rank].exposure.insert(window, origins);
            }
            WindowStep::Wait(window) => {
                for &origin in self.ranks[rank].exposure[&window] {
                    *self.n_waits.entry((window, rank, origin)).or_default() += 1;
                }
            }
            WindowStep::Lock(window, target, is_alone) => {
                let asks = self.block_at == BlockAt::First;
                self.ranks[rank].locks.insert((window, target), (is_alone, asks));
                let mode = if is_alone { RmaLockMode::Exclusive } else { RmaLockMode::Shared };
                let lock = RmaLock { target: CommRank(target as u32), lock: 0, mode };
                self.record(rank, now, window, RmaStep::LockRequest(lock));
                return asks && self.ask(rank, window, target, now);
            }
            WindowStep::Unlock(window, target) => {
                let (_, has_asked) = self.ranks[rank].locks[&(window, target)];
                if !has_asked {
                    return self.ask(rank, window, target, now);
                }
                self.release(rank, window, target, now);
            }
            WindowStep::Access(window, target, _) => return self.access(rank, window, target, now),
        }
        false
    }

    fn access(&mut self, rank: usize, window: usize, target: usize, now: u64) -> bool {
        let id = RmaOperationId(self.ranks[rank].n_accesses);
        self.ranks[rank].n_accesses += 1;
        let access = RmaAccess { target: CommRank(target as u32), bytes: 8, id };
        self.record(rank, now, window, RmaStep::Put(access));
        if self.block_at != BlockAt::Access {
            return false;
        }
        if let Some((_, has_asked)) = self.ranks[rank].locks.get_mut(&(window, target)) {
            return !std::mem::replace(has_asked, true) && self.ask(rank, window, target, now);
        }
        let epoch = self.ranks[rank].access.get_mut(&window);
        epoch.is_some_and(|(_, has_begun, _)| !std::mem::replace(has_begun, true))
    }

    fn ask(&mut self, rank: usize, window: usize, target: usize, now: u64) -> bool {
        let (is_alone, _) = self.ranks[rank].locks[&(window, target)];
        self.locks.entry((window, target)).or_default().queue.push_back((rank, is_alone, now));
        self.give(window, target, now);
        true
    }

    fn release(&mut self, rank: usize, window: usize, target: usize, now: u64) {
        let lock = self.locks.entry((window, target)).or_default();
        let place = lock.holders.iter().position(|it| it.0 == rank).expect("who releases a lock holds it");
        let (_, is_alone, asked) = lock.holders.remove(place);
        lock.released.push((now, asked, rank, is_alone));
        self.give(window, target, now);
    }

    /// Gives a lock to those who are next and do not conflict.
    fn give(&mut self, window: usize, target: usize, now: u64) {
        let lock = self.locks.entry((window, target)).or_default();
        while let Some(&next) = lock.queue.front() {
            let conflicts = |holder: &(usize, bool, u64)| holder.1 || next.1;
            if lock.holders.iter().any(conflicts) {
                return;
            }
            lock.queue.pop_front();
            lock.holders.push(next);
            lock.given.insert(next.0, now);
        }
    }

    fn end(&mut self, rank: usize, call: OpenCall<'p>, time: u64) {
        let needed = self.needed(rank, &call).expect("a call ends when all that it needs is there");
        let class = self.class(rank, call.step);
        let mut leave = time;
        match *call.step {
            WindowStep::Work(ticks) => leave += ticks,
            WindowStep::Create(window) => {
                self.end_collective(rank, &call, time, window, CollectiveOp::CreateHandle);
            }
            WindowStep::Free(window) => {
                self.end_collective(rank, &call, time, window, CollectiveOp::DestroyHandle);
            }
            WindowStep::Fence(window) => {
                self.end_collective(rank, &call, time, window, CollectiveOp::Barrier);
            }
            WindowStep::Access(window, target, ticks) => {
                leave += ticks;
                self.ranks[rank].accessed[window].insert(target, leave);
                if let Some((_, _, accesses)) = self.ranks[rank].access.get_mut(&window) {
                    accesses.insert(target, leave);
                }
            }
            WindowStep::Start(window, ref group) => self.record_sync(rank, time, window, group),
            WindowStep::Complete(window) => {
                let (group, ..) = self.ranks[rank].access.remove(&window).expect("an epoch is open");
                self.record_sync(rank, time, window, group);
            }
            WindowStep::Post(window, ref group) => self.record_sync(rank, time, window, group),
            WindowStep::Wait(window) => {
                let group = self.ranks[rank].exposure.remove(&window).expect("an epoch is open");
                self.record_sync(rank, time, window, group);
                self.late_complete(rank, &call, window, group);
            }
            WindowStep::Lock(..) => {}
            WindowStep::Unlock(window, target) => {
                if call.begins {
                    self.release(rank, window, target, time);
                }
                self.record(
                    rank,
                    time,
                    window,
                    RmaStep::LockRelease { target: CommRank(target as u32), lock: 0 },
                );
                self.ranks[rank].locks.remove(&(window, target));
                self.locks.entry((window, target)).or_default().given.remove(&rank);
            }
        }
        if let Some((last, culprit)) = needed {
            self.wait(class, rank, &call, (call.enter, last), Some(culprit));
        }
        let region = self.trace.region(name(call.step));
        self.push(rank, leave, ToyPayload::Leave(region));
        self.ranks[rank].now = leave;
    }

    fn class(&self, rank: usize, step: &WindowStep) -> &'static str {
        match step {
            WindowStep::Create(_) | WindowStep::Free(_) => "wait_at_create",
            WindowStep::Fence(_) => "wait_at_fence",
            WindowStep::Wait(_) => "early_wait",
            WindowStep::Lock(..) | WindowStep::Unlock(..) => "rma_lock",
            WindowStep::Access(window, target, _)
                if self.ranks[rank].locks.contains_key(&(*window, *target)) =>
            {
                "rma_lock"
            }
            _ => "late_post",
        }
    }

    fn wait(
        &mut self,
        class: &'static str,
        rank: usize,
        call: &OpenCall<'_>,
        (start, end): (u64, u64),
        culprit: Option<usize>,
    ) {
        // With locks that are asked for late, several calls may be the last before.
        let is_lock = class == "rma_lock" && self.block_at != BlockAt::First;
        let culprit = culprit.filter(|_| !is_lock);
        if start < end {
            let call = name(call.step);
            self.waits.push(WindowWait { class, rank, call, start, ticks: end - start, culprit });
        }
    }

    fn end_collective(
        &mut self,
        rank: usize,
        call: &OpenCall<'_>,
        time: u64,
        window: usize,
        op: CollectiveOp,
    ) {
        let (level, root) = (RmaSyncLevel::BOTH, CollectiveRoot::None);
        let end = RmaCollective { op, level, root, bytes_sent: 0, bytes_received: 0 };
        self.record(rank, time, window, RmaStep::CollectiveEnd(end));
        if op == CollectiveOp::Barrier {
            let nth = self.n_arrived[&(window, rank)];
            let all = last(self.arrived[&(window, nth)].iter().map(|(&rank, &time)| (time, rank)));
            let accesses = self.fenced.get(&(window, nth, rank)).into_iter().flatten();
            let others = accesses.filter(|&&(_, origin)| origin != rank);
            let accessed = others.map(|&(end, _)| end).max().unwrap_or_default();
            self.wait("early_fence", rank, call, (call.enter, accessed), all.map(|(_, rank)| rank));
        }
    }

    fn late_complete(&mut self, rank: usize, call: &OpenCall<'_>, window: usize, origins: &[usize]) {
        let of = |&origin: &usize| {
            let nth = self.n_waits[&(window, rank, origin)] - 1;
            let (complete, access) = self.completes[&(window, origin, rank)][nth];
            (complete, access, origin)
        };
        let all: Vec<(u64, u64, usize)> = origins.iter().map(of).collect();
        let complete = last(all.iter().map(|&(complete, _, origin)| (complete, origin)));
        let accessed = all.iter().map(|it| it.1).max().unwrap_or_default().max(call.enter);
        if let Some((complete, culprit)) = complete {
            self.wait("late_complete", rank, call, (accessed, complete), Some(culprit));
        }
    }

    fn record_sync(&mut self, rank: usize, time: u64, window: usize, group: &[usize]) {
        let ranks = group.iter().map(|&rank| WorldRank(rank as u32)).collect();
        let group = Some(self.trace.rank_group(ranks));
        self.record(rank, time, window, RmaStep::GroupSync { level: RmaSyncLevel::BOTH, group });
    }

    fn finish(mut self) -> WindowRun {
        for (rank, of) in self.ranks.into_iter().enumerate() {
            assert!(of.call.is_none(), "deadlock: rank {rank} is stuck in step {}", of.n_steps);
            self.trace.add_location(
                WorldRank(rank as u32),
                &rank.to_string(),
                LocationKind::CpuThread,
                of.events,
            );
        }
        self.waits.sort_unstable();
        WindowRun { trace: self.trace, waits: self.waits }
    }
}
