//! Work that is spread unevenly: in which call path, and how the imbalance behaves.
//!
//! The imbalance of a stage is assigned to one call path: the computing path whose exclusive time is spread most
//! unevenly, or a caller of it that is spread still more unevenly (several callees add up). What waits or synchronises
//! does not count. Stages with the same path are put together.

use super::context::{Context, Times};
use super::draft::uncertainty;
use super::finding::Iterations;
use super::stages::{PhaseTimes, Stage};
use ouzel_analyses::semantics::Category;
use ouzel_model::{CallPathId, CallPathTree, LocationId, TimeRange};
use ouzel_replay::{Edit, EditedCode};
use std::collections::{BTreeMap, BTreeSet};

/// A caller is named instead of its callee if its imbalance is greater by this factor.
const CALLER_EXPLAINS_MORE: (u128, u128) = (11, 10);

/// Least share of an imbalance that the times of a call path over the run must have: denominator and numerator.
const MOST: (u64, u64) = (2, 3);

/// Stages whose imbalance comes from one call path.
#[derive(Debug)]
pub(super) struct Uneven<'c> {
    pub path: CallPathId,
    /// Greatest imbalance first.
    pub stages: Vec<&'c Stage>,
    /// Imbalance of the stages, in ticks.
    pub imbalance: u64,
}

/// Which peers had most work, weighted by the imbalance it caused.
pub(super) fn latest(stages: &[&Stage]) -> BTreeMap<LocationId, u128> {
    let mut latest = BTreeMap::new();
    for phase in stages.iter().flat_map(|stage| &stage.phases) {
        *latest.entry(phase.busy.max_at).or_default() += phase.imbalance();
    }
    latest
}

/// The imbalances of all stages but the start of MPI, greatest first.
pub(super) fn uneven<'c>(cx: &'c Context<'_>) -> Vec<Uneven<'c>> {
    let mut by_path: BTreeMap<CallPathId, Vec<&Stage>> = BTreeMap::new();
    for stage in cx.stages.iter().filter(|stage| !cx.starts_mpi(stage) && 0 < stage.imbalance()) {
        by_path.entry(main_path(cx, stage)).or_default().push(stage);
    }
    let mut all: Vec<Uneven<'_>> = by_path
        .into_iter()
        .map(|(path, mut stages)| {
            stages.sort_by_key(|stage| std::cmp::Reverse(stage.imbalance()));
            let imbalance = stages.iter().map(|stage| stage.imbalance()).sum();
            Uneven { path, stages, imbalance }
        })
        .collect();
    all.sort_by_key(|uneven| std::cmp::Reverse(uneven.imbalance));
    related_together(cx, all)
}

/// Puts together what is uneven in a path and in one that it calls: the same work would be told twice.
fn related_together<'c>(cx: &Context<'_>, groups: Vec<Uneven<'c>>) -> Vec<Uneven<'c>> {
    let is_below = |path, above| path != above && cx.chain(path).any(|at| at == above);
    let mut kept: Vec<Uneven<'c>> = Vec::new();
    for group in groups {
        let related = |other: &&mut Uneven<'c>| {
            other.path == group.path || is_below(group.path, other.path) || is_below(other.path, group.path)
        };
        match kept.iter_mut().find(related) {
            Some(larger) => {
                larger.stages.extend(group.stages);
                larger.imbalance += group.imbalance;
            }
            None => kept.push(group),
        }
    }
    kept.sort_by_key(|uneven| std::cmp::Reverse(uneven.imbalance));
    kept
}

/// The call path that the imbalance of a stage is assigned to.
fn main_path(cx: &Context<'_>, stage: &Stage) -> CallPathId {
    let n = stage.n_peers();
    let computing = stage.paths.iter().filter(|((path, subset), _)| {
        cx.category(*path, *subset) == Category::Computation && !cx.is_inside_waiting(*path)
    });
    let mut worst: Vec<_> = computing.collect();
    worst.sort_by_key(|((path, _), times)| (std::cmp::Reverse(times.exclusive_imbalance(n)), *path));
    let latest = latest(&[stage]);
    let found = worst.iter().find(|((path, _), _)| is_run_by(cx, *path, &latest)).or(worst.first());
    let Some(&(&(path, _), times)) = found else { return CallPathTree::ROOT };
    let (mut main, mut most) = (path, times.exclusive_imbalance(n));
    for at in cx.chain(path) {
        let imbalance = stage.paths.get(&(at, false)).map_or(0, |times| times.busy_imbalance(n));
        if most * CALLER_EXPLAINS_MORE.0 < imbalance * CALLER_EXPLAINS_MORE.1 {
            (main, most) = (at, imbalance);
        }
    }
    main
}

/// Whether those who come last run the path at least half as long as the average peer: code that only others run, as
/// the components of a coupled program do, is not what makes them late.
fn is_run_by(cx: &Context<'_>, path: CallPathId, latest: &BTreeMap<LocationId, u128>) -> bool {
    let by_peer = cx.by_peer(path, Times::Exclusive);
    let all: u128 = by_peer.iter().map(|&(_, ticks)| u128::from(ticks)).sum();
    let weights: u128 = latest.values().sum();
    let own = |&(location, ticks): &(LocationId, u64)| {
        latest.get(&location).copied().unwrap_or_default().saturating_mul(u128::from(ticks))
    };
    let own: u128 = by_peer.iter().map(own).fold(0, u128::saturating_add);
    let mean = all / by_peer.len().max(1) as u128;
    mean.saturating_mul(weights) <= own.saturating_mul(2)
}

impl Uneven<'_> {
    /// The stage with the greatest imbalance.
    pub(crate) fn main_stage(&self) -> &Stage {
        self.stages[0]
    }

    /// From the first phase to the last.
    pub fn range(&self) -> TimeRange {
        range_of(&self.stages)
    }

    /// Which time of the path shows the imbalance: that with callees if they contribute.
    pub fn times(&self, cx: &Context<'_>) -> Times {
        let (mut busy, mut exclusive) = (0, 0);
        for stage in &self.stages {
            if let Some(times) = stage.paths.get(&(self.path, false)) {
                busy += times.busy_imbalance(stage.n_peers());
                exclusive += times.exclusive_imbalance(stage.n_peers());
            }
        }
        let is_inner = self.path != CallPathTree::ROOT && !cx.is_inside_waiting(self.path);
        if is_inner && exclusive < busy { Times::Busy } else { Times::Exclusive }
    }

    /// The same work, named by the innermost caller that has a name, and whose times over the run differ by most of
    /// `imbalance` and by more than samples can be off.
    pub fn explaining(&self, cx: &Context<'_>, imbalance: u64) -> Uneven<'_> {
        let named = |path| Uneven { path, stages: self.stages.clone(), imbalance: self.imbalance };
        let differs = |path: &CallPathId| imbalance_of(&named(*path).by_peer(cx));
        // Where all that waits is recorded, the imbalance is exact; only where it comes from is not.
        let is_exact = cx.group.noise_of(CallPathTree::ROOT).is_none();
        let is_clear = |path: CallPathId| {
            let off = || uncertainty(cx, self.range(), |at| at == path).of_extremes();
            !is_exact || off().0 < self.imbalance
        };
        let explains = |path: &CallPathId| imbalance * MOST.0 <= differs(path) * MOST.1;
        let best = || cx.chain(self.path).max_by_key(|path| (differs(path), path.index()));
        let clear =
            || cx.chain(self.path).find(|path| explains(path) && cx.has_name(*path) && is_clear(*path));
        let found = clear().or_else(|| cx.chain(self.path).find(explains)).or_else(best);
        named(found.unwrap_or(self.path))
    }

    /// The call paths below that contribute, most first, with their imbalance phase by phase; in ticks.
    pub fn contributions(&self, cx: &Context<'_>) -> Vec<(CallPathId, u64)> {
        let mut sums: BTreeMap<CallPathId, u64> = BTreeMap::new();
        for stage in &self.stages {
            let below = stage.paths.iter().filter(|((path, subset), _)| {
                cx.category(*path, *subset) == Category::Computation
                    && cx.chain(*path).any(|at| at == self.path)
                    && !cx.is_inside_waiting(*path)
            });
            for (&(path, _), times) in below {
                *sums.entry(path).or_default() += stage.mean(times.exclusive_imbalance(stage.n_peers()));
            }
        }
        let mut all = super::context::greatest_first(&sums);
        all.retain(|&(_, ticks)| 0 < ticks);
        all
    }

    /// Time of each peer in the path, over the run.
    pub(crate) fn by_peer(&self, cx: &Context<'_>) -> Vec<(LocationId, u64)> {
        cx.by_peer(self.path, self.times(cx))
    }

    /// What is spread to regain the imbalance.
    pub fn code(&self, cx: &Context<'_>) -> EditedCode {
        match self.times(cx) {
            Times::Inclusive | Times::Busy => EditedCode::with_callees(self.path),
            Times::Exclusive => EditedCode::exclusive(vec![self.path]),
        }
    }

    /// Changes after which all peers have the same time over the run, spread over the phases as before.
    pub fn evened(&self, cx: &Context<'_>) -> Vec<Edit> {
        let by_peer = self.by_peer(cx);
        let mean = by_peer.iter().map(|&(_, ticks)| ticks).sum::<u64>() / by_peer.len().max(1) as u64;
        let scaled = by_peer.into_iter().filter(|&(_, ticks)| 0 < ticks).map(|(location, ticks)| {
            let code = EditedCode { locations: Some(vec![location]), ..self.code(cx) };
            Edit::Scale(code, (mean, ticks))
        });
        scaled.collect()
    }

    /// Time of each peer in all paths of the stages that compute, over the run.
    pub(crate) fn busy_by_peer(&self, cx: &Context<'_>) -> Vec<(LocationId, u64)> {
        let paths: BTreeSet<CallPathId> = self
            .stages
            .iter()
            .flat_map(|stage| stage.paths.keys())
            .filter(|(path, subset)| cx.category(*path, *subset) == Category::Computation)
            .map(|&(path, _)| path)
            .filter(|&path| !cx.is_inside_waiting(path))
            .collect();
        let mut sums: Vec<(LocationId, u64)> =
            cx.group.locations.iter().map(|&location| (location, 0)).collect();
        for path in paths {
            let times = cx.by_peer(path, Times::Exclusive);
            sums.iter_mut().zip(times).for_each(|(sum, (_, ticks))| sum.1 += ticks);
        }
        sums
    }

    /// Share of the path's time that the slowest peer has, phase by phase.
    #[expect(clippy::cast_precision_loss, reason = "the only division, of exact sums")]
    pub(crate) fn share_of_one(&self, cx: &Context<'_>) -> f64 {
        let times = self.times(cx);
        let (mut max, mut sum) = (0, 0);
        for path in self.stages.iter().filter_map(|stage| stage.paths.get(&(self.path, false))) {
            let (m, s) = match times {
                Times::Inclusive | Times::Busy => (path.busy_max, path.busy_sum),
                Times::Exclusive => (path.exclusive_max, path.exclusive_sum),
            };
            max += m;
            sum += s;
        }
        if sum == 0 { 0.0 } else { max as f64 / sum as f64 }
    }
}

/// From the first phase of stages to the last.
pub(super) fn range_of(stages: &[&Stage]) -> TimeRange {
    let ranges = stages.iter().map(|stage| stage.range());
    let all = ranges.reduce(|a, b| TimeRange { start: a.start.min(b.start), end: a.end.max(b.end) });
    all.unwrap_or(TimeRange { start: ouzel_model::Ticks(0), end: ouzel_model::Ticks(0) })
}

/// The iterations of the outermost loop in which something costs at least a quarter of what it costs in the worst one; all
/// of them if these have less than four fifths of the cost, as then a few stand out of a loss that is everywhere.
/// `None` if no loop has four fifths of what it costs in `stages`.
pub(super) fn iterations(stages: &[&Stage], cost: impl Fn(&PhaseTimes) -> u128) -> Option<Iterations> {
    let is_most = |part: u128, all: u128| 0 < all && 4 * all <= 5 * part;
    let all: u128 = stages.iter().flat_map(|stage| &stage.phases).map(&cost).sum();
    let mut loops = BTreeMap::new();
    for (nth, stage) in stages.iter().enumerate() {
        // Stages outside of loops have nothing in common.
        let key = (stage.outermost, if stage.outermost.is_some() { 0 } else { nth });
        let (_, costs) = loops.entry(key).or_insert_with(|| (*stage, vec![0_u128; stage.n_iterations]));
        costs.iter_mut().zip(stage.by_iteration(&cost)).for_each(|(sum, cost)| *sum += cost);
    }
    let (stage, costs) = loops.into_values().find(|(_, costs)| is_most(costs.iter().sum(), all))?;
    let most = costs.iter().copied().max().unwrap_or_default();
    let is_dear = |i: &usize| 0 < costs[*i] && most <= costs[*i] * 4;
    let dear: Vec<usize> = (0..costs.len()).filter(is_dear).collect();
    let is_enough = is_most(dear.iter().map(|&i| costs[i]).sum(), costs.iter().sum());
    Some(stage.named(if is_enough { dear } else { (0..costs.len()).collect() }))
}

/// Peers that exceed the mean by more than a third of what the highest exceeds it by.
pub(super) fn above_mean(by_peer: &[(LocationId, u64)]) -> Vec<LocationId> {
    let n = by_peer.len().max(1) as u128;
    let sum: u128 = by_peer.iter().map(|&(_, ticks)| u128::from(ticks)).sum();
    let most = by_peer.iter().map(|&(_, ticks)| u128::from(ticks)).max().unwrap_or_default();
    let above = (most * n).saturating_sub(sum);
    let is_above = |ticks: u64| above < 3 * (u128::from(ticks) * n).saturating_sub(sum);
    by_peer.iter().filter(|&&(_, ticks)| is_above(ticks)).map(|&(location, _)| location).collect()
}

/// `max − mean` of times of peers, in ticks.
pub(super) fn imbalance_of(by_peer: &[(LocationId, u64)]) -> u64 {
    let n = by_peer.len().max(1) as u64;
    let sum: u64 = by_peer.iter().map(|&(_, ticks)| ticks).sum();
    by_peer.iter().map(|&(_, ticks)| ticks).max().unwrap_or_default().saturating_sub(sum / n)
}
