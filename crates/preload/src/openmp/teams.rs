//! Teams: one forks, each of its threads takes part in the parallel region, and it joins.
//!
//! Law: what is written of a team does not depend on the runtime. A runtime says who belongs to it and when.

use super::write;
use crate::clock;
use crate::depth;
use crate::process::{Process, thread};
use ouzel_otf2::records::Event;
use ouzel_otf2::records::enums::Paradigm;
use ouzel_otf2::records::event::{Enter, Leave, ThreadFork, ThreadJoin, ThreadTeamBegin, ThreadTeamEnd};
use ouzel_recording::journal::Entry;
use ouzel_recording::openmp::{self, N_EPOCHS};
use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// What the threads of a team share.
pub struct Team {
    pub process: &'static Process,
    /// Of the parallel region.
    pub region: u32,
    /// Which thread has forked.
    master: usize,
    /// See [`openmp`]; [`UNDECIDED`] until a thread of it begins.
    epoch: AtomicU32,
}

/// Which threads are in the teams that a runtime makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Members {
    /// Those of the last team of this thread and size, unless a thread is created for it.
    Kept,
    /// Perhaps others, which are kept from now on.
    Changed,
    /// Any threads that are free.
    Free,
}

/// Not the number of an epoch.
const UNDECIDED: u32 = u32::MAX;
/// Epochs of this process.
static N_BEGUN: AtomicU32 = AtomicU32::new(0);
/// Levels of teams in teams; in deeper ones, each team has an epoch of its own.
const N_LEVELS: usize = 4;
/// Teams that a thread remembers to belong to.
const N_KNOWN: usize = 64;

thread_local! {
    /// The team that this thread forks just now.
    static FORKING: Cell<*const Team> = const { Cell::new(ptr::null()) };
    /// Teams that this thread is in.
    static LEVEL: Cell<usize> = const { Cell::new(0) };
    /// For each of these levels the epoch of the teams that this thread has forked last: runtimes keep threads of the
    /// outermost teams, and those of inner ones are others.
    static EPOCHS: Cell<[Option<u32>; N_LEVELS]> = const { Cell::new([None; N_LEVELS]) };
    /// Teams that this thread has written down that it belongs to, with the fork of the process and the place of the next.
    static KNOWN: RefCell<(u32, usize, [u32; N_KNOWN])> = const { RefCell::new((0, 0, [0; N_KNOWN])) };
}

/// A number that only this thread has.
fn this_thread() -> usize {
    FORKING.with(|forking| ptr::from_ref(forking).addr())
}

/// A number for threads that were in no team together. The last one is used again: a team of it has no certain members.
fn new_epoch() -> u32 {
    N_BEGUN.fetch_add(1, Ordering::Relaxed).min(N_EPOCHS)
}

/// The same, which later teams of this thread keep.
fn next_epoch() -> u32 {
    let epoch = new_epoch();
    let mut epochs = EPOCHS.get();
    if let Some(of_level) = epochs.get_mut(LEVEL.get()) {
        *of_level = Some(epoch);
    }
    EPOCHS.set(epochs);
    epoch
}

fn kept_epoch() -> u32 {
    EPOCHS.get().get(LEVEL.get()).copied().flatten().unwrap_or_else(next_epoch)
}

/// This thread creates another one: whether for a team.
pub fn creates_thread() -> bool {
    // SAFETY: null, or a team that this thread is forking, which stays until it has joined.
    let Some(team) = (unsafe { FORKING.get().as_ref() }) else { return false };
    // One whose members are not known before has a number of its own anyway.
    if team.epoch.load(Ordering::Acquire) != UNDECIDED {
        team.epoch.store(next_epoch(), Ordering::Release);
    }
    true
}

/// A thread begins that has nothing to do until a team runs on it.
pub fn begin_idle() {
    depth::hold();
}

/// Threads that this one creates from now on are for a team, or for none if it is null; for which they were before.
pub fn forking(team: *const Team) -> *const Team {
    FORKING.replace(team)
}

/// This thread is in one team more; `false`: in one less.
pub fn change_level(is_entered: bool) {
    LEVEL.set(if is_entered { LEVEL.get() + 1 } else { LEVEL.get().saturating_sub(1) });
}

/// Teams that this thread is in.
pub fn level() -> usize {
    LEVEL.get()
}

/// A thread in a team.
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    team: u32,
    pub n_threads: u32,
    pub is_master: bool,
}

impl Team {
    /// This thread forks.
    pub fn fork(
        process: &'static Process,
        region: u32,
        n_requested: u32,
        begin_ns: u64,
        members: Members,
    ) -> Self {
        let fork = ThreadFork { model: Paradigm::OpenMp, number_of_requested_threads: n_requested };
        write(process, begin_ns, &[Enter { region }.into(), fork.into()]);
        let epoch = match members {
            Members::Kept => kept_epoch(),
            Members::Changed => next_epoch(),
            Members::Free => UNDECIDED,
        };
        Team { process, region, master: this_thread(), epoch: AtomicU32::new(epoch) }
    }

    /// Whether this thread has forked it.
    pub fn is_master(&self) -> bool {
        self.master == this_thread()
    }

    /// This thread begins, with its number in the team.
    pub fn begin(&self, number: u32, n_threads: u32) -> Option<Begun> {
        let process = self.process;
        let Some(team) = openmp::team(self.epoch(n_threads), n_threads) else {
            process.lose(&"there are more teams of OpenMP than can be told apart");
            return None;
        };
        belong(process, team, number);
        let is_master = self.is_master();
        let (now_ns, begin) = (clock::now_ns(), ThreadTeamBegin { thread_team: team }.into());
        match is_master {
            true => write(process, now_ns, &[begin]),
            false => write(process, now_ns, &[begin, Enter { region: self.region }.into()]),
        }
        Some(Begun { team, n_threads, is_master })
    }

    fn epoch(&self, n_threads: u32) -> u32 {
        let known = self.epoch.load(Ordering::Acquire);
        if known != UNDECIDED {
            return known;
        }
        // Nobody else is in a team of one.
        let own = if n_threads == 1 { kept_epoch() } else { new_epoch() };
        self.epoch.compare_exchange(UNDECIDED, own, Ordering::AcqRel, Ordering::Acquire).err().unwrap_or(own)
    }

    /// What a thread that has not forked the team writes when its part ends.
    pub fn worker_end(&self, begun: &Begun) -> [Event<'static>; 2] {
        [Leave { region: self.region }.into(), ThreadTeamEnd { thread_team: begun.team }.into()]
    }

    /// This thread ends its part.
    pub fn end(&self, begun: &Begun) {
        let now_ns = clock::now_ns();
        match begun.is_master {
            true => write(self.process, now_ns, &[ThreadTeamEnd { thread_team: begun.team }.into()]),
            false => write(self.process, now_ns, &self.worker_end(begun)),
        }
    }

    /// All threads are back.
    pub fn join(&self) {
        let join = ThreadJoin { model: Paradigm::OpenMp };
        write(self.process, clock::now_ns(), &[join.into(), Leave { region: self.region }.into()]);
    }
}

/// Writes down once that this thread belongs to a team.
fn belong(process: &'static Process, team: u32, number: u32) {
    let is_new = |known: &RefCell<(u32, usize, [u32; N_KNOWN])>| {
        let mut known = known.borrow_mut();
        if known.0 != process.generation() {
            *known = (process.generation(), 0, [0; N_KNOWN]);
        }
        let is_new = !known.2.contains(&team);
        if is_new {
            let (_, next, all) = &mut *known;
            all[*next % N_KNOWN] = team;
            *next += 1;
        }
        is_new
    };
    if KNOWN.with(is_new) {
        // The slot is there after the first use.
        thread::with(process, |_| ());
        if let Some(slot) = thread::slot(process) {
            process.entry(&Entry::Team { id: team, number, slot });
        }
    }
}
