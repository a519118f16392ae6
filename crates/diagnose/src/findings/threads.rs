//! Uneven work of the threads of a process, as the reason why its threads wait for each other.
//!
//! ```text
//! main › solve › parallel › for › row          thread 0, whose callers are known
//!                parallel › for › row          thread 1
//!                ▲ region of the team: the outermost parallel one that helper threads run, too
//! ```
//!
//! `uneven = mean over processes of (max − mean over threads of busy time in the region)`. Threads that take turns at
//! being slow have even totals: then only the waiting is known.

use super::context::{Context, greatest_first};
use super::draft::{Draft, Saving};
use super::finding::{Confidence, Evidence, FindingKind, Quantity};
use ouzel_analyses::call_path_profile::LocationProfile;
use ouzel_analyses::semantics::Category;
use ouzel_analyses::{owner, runs_on_cpu};
use ouzel_model::{CallPathId, CallPathTree, NOT_RUNNING, RegionId, RegionRole};
use std::collections::BTreeMap;

/// A callee is named instead of its caller if it has so much of the caller's work.
const MOST: (u128, u128) = (9, 10);
/// Threads of a process work together if each has at least this part of the work of the busiest.
const HELPS: u64 = 20;

/// Work that the threads of processes do in a region of their team.
pub(super) struct UnevenThreads {
    /// The deepest call path of a first thread that has most of the work.
    path: CallPathId,
    /// Mean over processes, in ticks.
    busiest: u64,
    mean: u64,
    n_threads: usize,
}

/// The work in the parallel region around a call in which threads wait, if it is uneven by at least half of `gain`.
pub(super) fn uneven(cx: &Context<'_>, barrier: CallPathId, gain: u64) -> Option<UnevenThreads> {
    let mut callers: Vec<CallPathId> = cx.chain(barrier).skip(1).collect();
    callers.reverse();
    let threads: Vec<&LocationProfile> =
        cx.profile.locations.iter().filter(|it| runs_on_cpu(cx.definitions, it.location)).collect();
    // Helper threads may be shown in the code that forked their team.
    let is_parallel = |path: &CallPathId| {
        cx.paths()
            .region(*path)
            .is_some_and(|region| cx.definitions.region(region).role == RegionRole::Parallel)
    };
    let forks: Vec<CallPathId> = callers.iter().copied().filter(is_parallel).collect();
    let (team, busy) = forks.into_iter().chain(callers).find_map(|caller| {
        let busy = busy_in(cx, cx.paths().region(caller)?, &threads);
        let helps = |it: &(&&LocationProfile, u64)| 0 < it.1 && !cx.group.locations.contains(&it.0.location);
        threads.iter().zip(busy.iter().copied()).any(|it| helps(&it)).then_some((caller, busy))
    })?;
    let mut teams: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for (thread, busy) in threads.iter().zip(busy) {
        teams.entry(owner(cx.definitions, thread.location)).or_default().push(busy);
    }
    let teams: Vec<Vec<u64>> = teams.into_values().filter(|team| 1 < team.len()).collect();
    let n = teams.len() as u64;
    let busiest = teams.iter().filter_map(|team| team.iter().max()).sum::<u64>().checked_div(n)?;
    let mean = teams.iter().map(|team| team.iter().sum::<u64>() / team.len() as u64).sum::<u64>() / n;
    let n_threads = teams.iter().map(Vec::len).max()?;
    let is_uneven = 0 < gain && gain <= (busiest - mean).saturating_mul(2);
    let work = |path: CallPathId| cx.busy(path).map(u128::from).sum();
    is_uneven.then(|| UnevenThreads { path: with_most(cx, team, work), busiest, mean, n_threads })
}

/// What the threads do that are no first threads and have work, in whatever they run: those that a program makes by itself
/// have no region of a team.
pub(super) struct HelperThreads {
    pub uneven: UnevenThreads,
    /// Where they do not run for longest, and how long each does not, in ticks.
    pub stood: Option<(CallPathId, u64)>,
}

/// `None` if there is none.
pub(super) fn helpers(cx: &Context<'_>) -> Option<HelperThreads> {
    let is_helper = |it: &&LocationProfile| {
        runs_on_cpu(cx.definitions, it.location) && !cx.group.locations.contains(&it.location)
    };
    let paths = cx.paths();
    let mut computes = vec![true; paths.len()];
    for path in paths.paths() {
        computes[path.index()] =
            computes[paths.parent(path).index()] && cx.category(path, false) == Category::Computation;
    }
    let busy = |thread: &LocationProfile| -> u64 {
        let rows = thread.rows.iter().filter(|row| computes[row.call_path.index()]);
        rows.map(|row| row.times.exclusive.0).sum()
    };
    let mut teams: BTreeMap<_, Vec<(u64, &LocationProfile)>> = BTreeMap::new();
    for thread in cx.profile.locations.iter().filter(is_helper) {
        teams.entry(owner(cx.definitions, thread.location)).or_default().push((busy(thread), thread));
    }
    // Threads that hardly do anything are no candidates for more of the work: they are there for something else.
    for team in teams.values_mut() {
        let most = team.iter().map(|it| it.0).max().unwrap_or(0);
        team.retain(|it| most <= it.0.saturating_mul(HELPS));
    }
    let n = teams.len() as u64;
    let most = |team: &Vec<(u64, &LocationProfile)>| team.iter().map(|it| it.0).max().unwrap_or(0);
    let mean = |team: &Vec<(u64, &LocationProfile)>| {
        team.iter().map(|it| it.0).sum::<u64>() / (team.len() as u64).max(1)
    };
    let busiest = teams.values().map(most).sum::<u64>().checked_div(n)?;
    let mean = teams.values().map(mean).sum::<u64>() / n;
    let n_threads = teams.values().map(Vec::len).max()?;
    let (_, longest) = teams.values().flatten().max_by_key(|it| it.0)?;
    let work = |path: CallPathId| {
        let below = |row: &CallPathId| path == CallPathTree::ROOT || cx.chain(*row).any(|at| at == path);
        let rows = longest.rows.iter().filter(|row| computes[row.call_path.index()] && below(&row.call_path));
        rows.map(|row| u128::from(row.times.exclusive.0)).sum()
    };
    let path = with_most(cx, CallPathTree::ROOT, work);
    let stood = stood(cx, teams.values().flatten().map(|&(_, thread)| thread));
    (0 < busiest).then_some(HelperThreads { uneven: UnevenThreads { path, busiest, mean, n_threads }, stood })
}

/// Where threads do not run for longest, and how long each does not.
fn stood<'a>(
    cx: &Context<'_>,
    threads: impl Iterator<Item = &'a LocationProfile>,
) -> Option<(CallPathId, u64)> {
    let (mut of_paths, mut n) = (BTreeMap::<CallPathId, u64>::new(), 0);
    for thread in threads {
        n += 1;
        let rows = thread.rows.iter().filter(|row| {
            let region = cx.paths().region(row.call_path);
            region.is_some_and(|region| &*cx.definitions.region(region).name == NOT_RUNNING)
                && !cx.is_inside_waiting(cx.paths().parent(row.call_path))
        });
        rows.for_each(|row| *of_paths.entry(row.call_path).or_default() += row.times.exclusive.0);
    }
    let (path, _) = *greatest_first(&of_paths).first()?;
    of_paths.values().sum::<u64>().checked_div(n).map(|mean| (path, mean))
}

/// The same where the first threads come late to a barrier that ends their phases, and what the threads of a process would
/// gain if they came to it at the same time, in ticks: the mean over all threads of their time in its region, at most.
pub(super) fn uneven_before(cx: &Context<'_>, barrier: CallPathId) -> Option<(UnevenThreads, u64)> {
    let uneven = uneven(cx, barrier, 1)?;
    let region = cx.paths().region(barrier)?;
    let threads = cx.profile.locations.iter().filter(|it| runs_on_cpu(cx.definitions, it.location));
    let waited = |thread: &LocationProfile| -> u64 {
        let rows = thread.rows.iter().filter(|row| cx.paths().region(row.call_path) == Some(region));
        rows.map(|row| row.times.exclusive.0).sum()
    };
    let (sum, n) = threads.fold((0, 0), |(sum, n), thread| (sum + waited(thread), n + 1_u64));
    let gain = sum.checked_div(n)?.min(uneven.busiest - uneven.mean);
    Some((uneven, gain))
}

/// Time of each thread in code that is called from a region, wherever that is, or belongs to it.
fn busy_in(cx: &Context<'_>, region: RegionId, threads: &[&LocationProfile]) -> Vec<u64> {
    let paths = cx.paths();
    let (mut is_below, mut computes) = (vec![false; paths.len()], vec![false; paths.len()]);
    for path in paths.paths() {
        let parent = paths.parent(path).index();
        let is_region = paths.region(path) == Some(region);
        is_below[path.index()] = is_region || is_below[parent];
        let computes_here = cx.category(path, false) == Category::Computation;
        computes[path.index()] = computes_here && (is_region || computes[parent]);
    }
    let counts = |path: CallPathId| is_below[path.index()] && computes[path.index()];
    let busy = |thread: &&LocationProfile| {
        let rows = thread.rows.iter().filter(|row| counts(row.call_path));
        rows.map(|row| row.times.exclusive.0).sum()
    };
    threads.iter().map(busy).collect()
}

/// The call path below `team` that has most of its work.
fn with_most(cx: &Context<'_>, team: CallPathId, work: impl Fn(CallPathId) -> u128) -> CallPathId {
    let paths = cx.paths();
    let mut at = team;
    loop {
        let own = work(at);
        let callees = paths.paths().filter(|&path| path != at && paths.parent(path) == at);
        // Code of a file without symbols has no name to act on.
        let has_name = |path: CallPathId| cx.names(path).last().is_some_and(|name| !name.starts_with('['));
        let is_most = |&path: &CallPathId| own * MOST.0 <= work(path) * MOST.1 && has_name(path);
        match callees.filter(|path| 0 < own && is_most(path)).min() {
            Some(callee) => at = callee,
            None => return at,
        }
    }
}

impl UnevenThreads {
    /// What even work would gain, at most.
    pub fn gain(&self) -> u64 {
        self.busiest - self.mean
    }

    /// The finding about waiting becomes one about the work that others wait for.
    pub fn explain(self, cx: &Context<'_>, waiting: Draft) -> Draft {
        let (name, busiest, mean) = (cx.place(self.path), cx.time(self.busiest), cx.time(self.mean));
        let mut draft = waiting;
        draft.kind = FindingKind::LoadImbalance;
        draft.title = format!("Load imbalance in {name}: threads of each process");
        draft.sentence = format!(
            "Of the {} threads of a process, the busiest works {busiest} in {name} and the mean {mean}; the others \
             wait for it.",
            self.n_threads
        );
        draft.saving = Saving::new("Spreading the work evenly over the threads would save");
        draft.also = std::iter::once(draft.path).chain(std::mem::take(&mut draft.also)).collect();
        draft.path = self.path;
        let exact = if cx.recorded.calls { "exact times of all threads" } else { "samples of all threads" };
        draft.confidence = (
            draft.confidence.0.max(Confidence::Likely),
            format!("{exact}; that the work can be divided otherwise is assumed"),
        );
        draft.evidence.insert(
            0,
            Evidence::new(
                format!("work of the {} threads of a process in {name}", self.n_threads),
                "busy time of each thread in the region of its team; mean over processes of the busiest thread, and of \
                 the mean over threads",
                vec![
                    Quantity::ns("busiest thread", cx.ns(self.busiest)),
                    Quantity::ns("mean of threads", cx.ns(self.mean)),
                ],
            ),
        );
        "Hand out the work in smaller pieces as threads become free (schedule(dynamic) or (guided), tasks), or divide \
         it by cost."
            .clone_into(&mut draft.advice);
        let region = cx.names(self.path).pop().unwrap_or_default();
        draft.command =
            ["profile", "--call-paths", "--per", "location", "--region", &region].map(str::to_owned).to_vec();
        draft
    }
}
