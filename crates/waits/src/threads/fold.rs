//! The fold over a thread of a process with several: notes locks, teams, and calls that wait for other threads.

use super::calls::ThreadCall;
use super::records::{
    Acquisition, BlockedCall, BlockedFor, EndedThread, ForkSpan, InnerCall, TeamSpan, ThreadRecords, TimeSum,
};
use ouzel_engine::Selected;
use ouzel_model::{
    CallPathId, CallPathTree, EventChunk, EventKind, LockUse, Paradigm, ThreadLife, ThreadStep, Ticks,
    TimeRange, popped,
};
use rustc_hash::FxHashMap;

/// Open acquisitions of one lock at one thread that a release is looked for in. Threads acquire a lock again that they
/// hold a few times at most.
const NESTED_MAX: usize = 64;

/// While a location is folded.
#[derive(Debug, Default)]
pub(crate) struct ThreadFold {
    selected: Selected,
    open: Vec<OpenCall>,
    /// Teams that have not ended: which of [`ThreadRecords::teams`].
    teams: Vec<u32>,
    /// Forks that have not joined, and whether their team has begun here.
    forks: Vec<(u32, bool)>,
    /// Parallel regions that are open.
    n_regions: u32,
    /// Acquisitions that are not released, by lock.
    held: FxHashMap<(Paradigm, u32), Vec<u32>>,
    /// Acquisitions in calls that are open: number of calls around, and which.
    acquired: Vec<(usize, u32)>,
    /// When the location last changed between calls or teams.
    since: Option<Ticks>,
    /// Time outside of teams, by what ran; known to mean something once there was a team.
    serial: FxHashMap<CallPathId, TimeSum>,
    done: ThreadRecords,
}

/// A call that is open.
#[derive(Debug)]
struct OpenCall {
    kind: ThreadCall,
    path: CallPathId,
    enter: Ticks,
    /// Since when it has neither called anything nor had to do with a lock.
    free_since: Ticks,
    /// The lock that it has released.
    released: Option<(Paradigm, u32)>,
    /// Which of [`ThreadRecords::blocked`].
    blocked: Option<u32>,
}

impl ThreadFold {
    pub fn new(selected: Selected) -> Self {
        ThreadFold { selected, ..ThreadFold::default() }
    }

    pub fn fold(&mut self, kinds: &[ThreadCall], chunk: &EventChunk<'_>) {
        let mut steps = chunk.threads;
        for (row, (&at, &kind)) in chunk.time.iter().zip(chunk.kind).enumerate() {
            match kind {
                EventKind::Enter => {
                    self.enter(kinds[chunk.region[row].index()], chunk.call_path[row], at);
                }
                EventKind::Leave => self.leave(at),
                EventKind::Thread => {
                    if let Some(event) = popped(&mut steps, row, |event| event.row) {
                        self.step(event.step, at);
                    }
                }
                _ => {}
            }
        }
    }

    pub fn end(mut self) -> ThreadRecords {
        if !self.done.regions.is_empty() || self.done.forks.iter().any(|it| it.is_outermost) {
            self.done.serial = self.serial.into_iter().collect();
        }
        self.done.inner.sort_unstable_by_key(|it| (it.blocked, it.start));
        self.done
    }

    fn path(&self) -> CallPathId {
        self.open.last().map_or(CallPathTree::ROOT, |call| call.path)
    }

    fn is_in_no_team(&self) -> bool {
        self.forks.is_empty() && self.teams.is_empty()
    }

    /// The location goes on in another call or team.
    fn change(&mut self, at: Ticks) {
        let is_serial = self.is_in_no_team() && self.n_regions == 0 && self.selected.location;
        if let Some(start) = self.since.replace(at).filter(|_| is_serial) {
            let range = self.selected.clip(TimeRange { start, end: at });
            if range.start < range.end {
                self.serial.entry(self.path()).or_default().add((range.start, range.end), 1);
            }
        }
    }

    fn enter(&mut self, kind: ThreadCall, path: CallPathId, at: Ticks) {
        self.change(at);
        let blocked = (kind == ThreadCall::Barrier).then(|| {
            let reason = BlockedFor::Barrier(self.teams.last().copied());
            self.block(BlockedCall { reason, path, enter: at, start: at, leave: at })
        });
        if kind == ThreadCall::Parallel {
            if self.n_regions == 0 && self.is_in_no_team() {
                let span = ForkSpan { path, fork: at, join: None, is_outermost: true };
                self.done.regions.push(span);
            }
            self.n_regions += 1;
        }
        self.open.push(OpenCall { kind, path, enter: at, free_since: at, released: None, blocked });
    }

    fn block(&mut self, call: BlockedCall) -> u32 {
        self.done.blocked.push(call);
        self.done.blocked.len() as u32 - 1
    }

    fn leave(&mut self, at: Ticks) {
        self.change(at);
        let Some(call) = self.open.pop() else { return };
        if call.kind == ThreadCall::Parallel {
            self.n_regions -= 1;
            if self.n_regions == 0
                && let Some(region) = self.done.regions.last_mut().filter(|it| it.join.is_none())
            {
                region.join = Some(at);
            }
        }
        if let Some(blocked) = call.blocked {
            self.done.blocked[blocked as usize].leave = at;
        }
        let depth = self.open.len();
        if call.kind == ThreadCall::Locks && self.acquired.last().is_none_or(|it| it.0 != depth) {
            self.done.n_unrecorded_locks += u64::from(self.selected.has(call.enter));
        }
        while let Some((_, lock)) = self.acquired.pop_if(|it| it.0 == depth) {
            self.done.locks[lock as usize].leave = at;
        }
        if let Some(caller) = self.open.last_mut() {
            caller.free_since = at;
            if let Some(blocked) = caller.blocked.filter(|_| call.enter < at) {
                self.done.inner.push(InnerCall { blocked, start: call.enter, end: at });
            }
        }
    }

    fn step(&mut self, step: ThreadStep, at: Ticks) {
        match step {
            ThreadStep::Fork { .. } => {
                self.change(at);
                let is_outermost = self.is_in_no_team();
                self.forks.push((self.done.forks.len() as u32, false));
                self.done.forks.push(ForkSpan { path: self.path(), fork: at, join: None, is_outermost });
            }
            ThreadStep::Join { .. } => {
                self.change(at);
                if let Some((fork, _)) = self.forks.pop() {
                    self.done.forks[fork as usize].join = Some(at);
                }
            }
            ThreadStep::TeamBegin(team) => {
                self.change(at);
                // The master belongs to the team that it has just forked.
                let fork = self.forks.last_mut().filter(|it| !it.1).map(|it| {
                    it.1 = true;
                    it.0
                });
                self.teams.push(self.done.teams.len() as u32);
                self.done.teams.push(TeamSpan { team, begin: at, end: None, fork });
            }
            ThreadStep::TeamEnd(team) => {
                self.change(at);
                let is_of_team = |&&open: &&u32| self.done.teams[open as usize].team == team;
                if let Some(place) = self.teams.iter().rposition(|open| is_of_team(&open)) {
                    self.done.teams[self.teams[place] as usize].end = Some(at);
                    self.teams.truncate(place);
                }
            }
            ThreadStep::LockAcquire(used) => self.acquire(used, at),
            ThreadStep::LockRelease(used) => self.release(used, at),
            ThreadStep::ThreadWait(life) => self.wait_for(life),
            ThreadStep::ThreadEnd(life) => {
                self.done.ends.push(EndedThread { life, path: self.path(), at });
            }
            ThreadStep::TaskCreate(_)
            | ThreadStep::TaskSwitch(_)
            | ThreadStep::TaskComplete(_)
            | ThreadStep::ThreadCreate(_)
            | ThreadStep::ThreadBegin(_) => {}
        }
    }

    fn acquire(&mut self, used: LockUse, at: Ticks) {
        let lock = self.done.locks.len() as u32;
        let mut acquisition = Acquisition {
            used,
            blocks: false,
            is_of_condition: false,
            path: self.path(),
            enter: at,
            leave: at,
            start: at,
            at,
            released: None,
        };
        if let Some(call) = self.open.last_mut() {
            acquisition.blocks = matches!(call.kind, ThreadCall::Locks | ThreadCall::Blocks);
            acquisition.is_of_condition = call.released == Some((used.paradigm, used.lock));
            (acquisition.enter, acquisition.start) = (call.enter, call.free_since);
            call.free_since = at;
            self.acquired.push((self.open.len() - 1, lock));
        }
        self.done.locks.push(acquisition);
        self.held.entry((used.paradigm, used.lock)).or_default().push(lock);
    }

    fn release(&mut self, used: LockUse, at: Ticks) {
        if let Some(call) = self.open.last_mut() {
            call.released = Some((used.paradigm, used.lock));
            call.free_since = at;
        }
        let Some(held) = self.held.get_mut(&(used.paradigm, used.lock)) else { return };
        let is_same = |&&lock: &&u32| self.done.locks[lock as usize].used == used;
        let from_last = held.iter().rev().take(NESTED_MAX).position(|lock| is_same(&lock)).unwrap_or(0);
        let Some(place) = held.len().checked_sub(1 + from_last) else { return };
        let lock = held.remove(place);
        self.done.locks[lock as usize].released = Some(at);
    }

    /// The innermost call waits for the end of a thread.
    fn wait_for(&mut self, life: ThreadLife) {
        let Some(call) = self.open.last() else { return };
        if call.kind != ThreadCall::Blocks || call.blocked.is_some() {
            return;
        }
        let &OpenCall { path, enter, free_since, .. } = call;
        let reason = BlockedFor::Thread(life);
        let blocked = self.block(BlockedCall { reason, path, enter, start: free_since, leave: enter });
        if let Some(call) = self.open.last_mut() {
            call.blocked = Some(blocked);
        }
    }
}
