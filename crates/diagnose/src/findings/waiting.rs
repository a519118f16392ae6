//! Where the waiting of a stage is spent: even the busiest rank waits, so balancing does not regain it.
//!
//! The waiting of a stage is `Σ (length − max busy)`, see [`stages`](super::stages). First the cost of the
//! synchronisation itself, `Σ min S`, is subtracted, and then the time of the rank that stands still longest in each phase
//! (does not run, is blocked). The rest is divided among the calls that wait, in proportion to
//! their mean times, and assigned to a theme: messages, collectives with a root or over some ranks, locks, threads, the
//! accelerator. The theme is what the call path waits for. For the reasons see [`messages`](super::messages) and
//! [`calls`](super::calls).

use super::context::Context;
use super::stages::Stage;
use ouzel_analyses::semantics::{Category, Family};
use ouzel_model::{CallPathId, CallPathTree, NOT_RUNNING};
use ouzel_replay::{Edit, EditedCode};
use std::collections::BTreeMap;

/// What calls wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Theme {
    /// A processor, or what blocks the thread outside of recorded calls.
    Running,
    /// Point-to-point messages.
    Messages,
    /// Collectives with a root, and those that leave ranks out.
    Collectives,
    /// Locks, and what is waited for in turn by threads that wait for others in locks.
    Locks,
    /// Other threads of the process.
    Threads,
    /// An accelerator.
    Device,
    /// Another process: what it sends, or its end.
    Process,
    /// Something else.
    Other,
}

/// Waiting of one theme.
#[derive(Debug)]
pub(super) struct Waiting<'c> {
    pub theme: Theme,
    /// The stages, greatest waiting of the theme first, with their part in ticks.
    pub stages: Vec<(&'c Stage, u64)>,
    /// The possible gain in ticks: the sum of the parts.
    pub ticks: u64,
    /// Calls that wait, most time first, with their mean time over ranks in ticks.
    pub paths: Vec<(CallPathId, u64)>,
}

/// Threads of a process wait in barriers for those that wait for a lock, if so much of the time is for locks.
const LOCKS_MATTER: (u64, u64) = (1, 5);

/// The waiting of all stages but the start of MPI. Stages that wait mostly in the same call path are put together.
pub(super) fn waiting<'c>(cx: &'c Context<'_>) -> Vec<Waiting<'c>> {
    let mut all: BTreeMap<(Theme, CallPathId), Waiting<'c>> = BTreeMap::new();
    for stage in cx.stages.iter().filter(|stage| !cx.starts_mpi(stage)) {
        let rest = stage.waiting().saturating_sub(stage.cost_of_sync());
        let themes = themes(cx, stage);
        // Others wait for those that do not run, so these come first.
        let stood = stood(cx, stage).min(rest);
        let others = themes.iter().filter(|(theme, _)| **theme != Theme::Running);
        let whole: u64 = others.flat_map(|(_, paths)| paths.values()).sum();
        for (theme, paths) in themes {
            let own: u64 = paths.values().sum();
            let part = match theme {
                Theme::Running => u128::from(stood),
                _ => u128::from(rest - stood) * u128::from(own) / u128::from(whole.max(1)),
            };
            let part = u64::try_from(part).unwrap_or(u64::MAX);
            let by_time = super::context::greatest_first(&paths);
            let Some(&(first, _)) = by_time.first().filter(|_| 0 < part) else { continue };
            let waiting = all.entry((theme, first)).or_insert(Waiting {
                theme,
                stages: Vec::new(),
                ticks: 0,
                paths: Vec::new(),
            });
            waiting.ticks += part;
            waiting.stages.push((stage, part));
            waiting.paths.extend(by_time);
        }
    }
    let mut all: Vec<Waiting<'c>> = all.into_values().collect();
    for waiting in &mut all {
        waiting.stages.sort_by_key(|&(_, part)| std::cmp::Reverse(part));
        let mut sums: BTreeMap<CallPathId, u64> = BTreeMap::new();
        waiting.paths.iter().for_each(|&(path, ticks)| *sums.entry(path).or_default() += ticks);
        waiting.paths = super::context::greatest_first(&sums);
    }
    all
}

/// The time of the peer that stands still longest in each phase, summed over phases.
fn stood(cx: &Context<'_>, stage: &Stage) -> u64 {
    let own = stage.paths.iter().filter(|((path, subset), _)| theme(cx, *path, *subset) == Theme::Running);
    let sum: u128 = own.map(|(_, times)| times.inclusive_max).sum();
    u64::try_from(sum).unwrap_or(u64::MAX)
}

/// Whether a call path takes a lock.
pub(super) fn takes_lock(cx: &Context<'_>, path: CallPathId) -> bool {
    cx.category(path, false) != Category::Computation && theme(cx, path, false) == Theme::Locks
}

/// Whether threads of a process wait for each other in a call path.
pub(super) fn joins_threads(cx: &Context<'_>, path: CallPathId) -> bool {
    cx.category(path, false) != Category::Computation && theme(cx, path, false) == Theme::Threads
}

/// Mean time in which the peers wait for other threads, in ticks.
pub(super) fn for_threads(cx: &Context<'_>) -> u64 {
    cx.stages
        .iter()
        .filter_map(|stage| themes(cx, stage).remove(&Theme::Threads))
        .flat_map(BTreeMap::into_values)
        .sum()
}

/// Mean time of the outermost calls that wait, by theme and path.
fn themes(cx: &Context<'_>, stage: &Stage) -> BTreeMap<Theme, BTreeMap<CallPathId, u64>> {
    let anchor = stage.anchor.map(|anchor| anchor.call_path);
    let mut themes: BTreeMap<Theme, BTreeMap<CallPathId, u64>> = BTreeMap::new();
    for (&(path, subset), times) in &stage.paths {
        let waits = cx.category(path, subset) != Category::Computation;
        let is_anchor = !subset && Some(path) == anchor;
        if !waits || is_anchor || cx.is_inside_waiting(cx.paths().parent(path)) {
            continue;
        }
        let mean = stage.mean(times.exclusive_sum);
        *themes.entry(theme(cx, path, subset)).or_default().entry(path).or_default() += mean;
    }
    let total = |themes: &BTreeMap<Theme, BTreeMap<CallPathId, u64>>, theme| -> u64 {
        themes.get(&theme).map_or(0, |paths| paths.values().sum())
    };
    let (locks, threads) = (total(&themes, Theme::Locks), total(&themes, Theme::Threads));
    if (locks + threads) * LOCKS_MATTER.0 < locks * LOCKS_MATTER.1 {
        // They wait for the one that got the lock last.
        if let (Some(threads), Some(locks)) = (themes.remove(&Theme::Threads), themes.get_mut(&Theme::Locks))
        {
            let first = super::context::greatest_first(locks).first().map(|&(path, _)| path);
            let waited: u64 = threads.values().sum();
            first.into_iter().for_each(|path| *locks.entry(path).or_default() += waited);
        }
    }
    themes
}

fn theme(cx: &Context<'_>, path: CallPathId, subset: bool) -> Theme {
    let Some(class) = cx.class(path) else { return Theme::Other };
    let name = cx.paths().region(path).map(|region| cx.mpi_name(region)).unwrap_or_default();
    match class.family {
        Family::Mpi | Family::Shmem | Family::Nccl => {
            let rooted = ["bcast", "reduce", "gather", "gatherv", "scatter", "scatterv", "scan", "exscan"];
            let operation = name.trim_start_matches("mpi_").trim_start_matches('i');
            let is_collective =
                subset || class.category == Category::Synchronization || rooted.contains(&operation);
            if is_collective { Theme::Collectives } else { Theme::Messages }
        }
        Family::OpenMp | Family::Pthread => match class.category {
            Category::Synchronization => Theme::Threads,
            // Who waits for a condition or a semaphore waits for what another thread does, and holds no lock.
            _ if ["join", "sleep", "cond", "sem_", "yield"].iter().any(|word| name.contains(word)) => {
                Theme::Threads
            }
            _ => Theme::Locks,
        },
        // The first of these calls starts the accelerator, and waits for nothing that runs there.
        Family::CudaHip if name.contains("alloc") => Theme::Other,
        Family::CudaHip => Theme::Device,
        Family::User if name == NOT_RUNNING => Theme::Running,
        Family::PosixIo if class.category == Category::Wait => Theme::Process,
        Family::PosixIo | Family::User => Theme::Other,
    }
}

impl Waiting<'_> {
    /// The call that waits longest.
    pub(crate) fn main_path(&self) -> CallPathId {
        self.paths.first().map_or(CallPathTree::ROOT, |&(path, _)| path)
    }

    /// The part of `ticks` of waiting that could be hidden behind work: in each stage at most the work of the busiest
    /// rank.
    pub fn hidden(&self, ticks: u64) -> u64 {
        let hidden =
            |&(stage, part): &(&Stage, u64)| part.min(stage.phases.iter().map(|p| p.busy.max.0).sum());
        ticks.min(self.stages.iter().map(hidden).sum())
    }

    /// The calls, with what they call.
    fn calls(&self) -> EditedCode {
        let paths = self.paths.iter().map(|&(path, _)| path).collect();
        EditedCode { paths, with_callees: true, locations: None }
    }

    /// A change after which the calls find what they wait for.
    pub fn released(&self) -> Edit {
        Edit::Release(self.calls())
    }

    /// A change after which the calls take a part of the time that they do not wait: numerator and denominator.
    pub fn shortened(&self, part: (u64, u64)) -> Edit {
        Edit::Scale(self.calls(), part)
    }

    /// Changes after which the calls take no time.
    pub fn gone(&self) -> Vec<Edit> {
        vec![self.released(), self.shortened((0, 1))]
    }

    /// Takes out the parts of some stages, and returns their sum.
    pub fn take(&mut self, stages: &[&Stage]) -> u64 {
        let is_one = |stage: &Stage| stages.iter().any(|other| std::ptr::eq(*other, stage));
        let taken = self.stages.iter().filter(|(stage, _)| is_one(stage)).map(|&(_, part)| part).sum();
        self.stages.retain(|(stage, _)| !is_one(stage));
        self.ticks -= taken;
        taken
    }
}
