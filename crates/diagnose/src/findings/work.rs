//! Work that is spread unevenly: in which call path, and how the imbalance behaves.
//!
//! The imbalance of a stage is assigned to one call path: the computing path whose exclusive time is spread most
//! unevenly, or a caller of it that is spread still more unevenly (several callees add up). Stages with the same path
//! are put together.

use super::context::{Context, Times};
use super::finding::Iterations;
use super::ranks::ranges_of;
use super::stages::{PhaseTimes, Stage};
use ouzel_analyses::semantics::Category;
use ouzel_model::{CallPathId, CallPathTree, LocationId, TimeRange};
use ouzel_replay::{Edit, EditedCode};
use std::collections::{BTreeMap, BTreeSet};

/// A caller is named instead of its callee if its imbalance is greater by this factor.
const CALLER_EXPLAINS_MORE: (u128, u128) = (11, 10);

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
    all
}

/// The call path that the imbalance of a stage is assigned to.
fn main_path(cx: &Context<'_>, stage: &Stage) -> CallPathId {
    let n = stage.n_peers();
    let computing = stage.paths.iter().filter(|((path, subset), _)| {
        cx.category(*path, *subset) == Category::Computation && !cx.is_inside_waiting(*path)
    });
    let worst =
        computing.max_by_key(|((path, _), times)| (times.exclusive_imbalance(n), std::cmp::Reverse(*path)));
    let Some((&(path, _), times)) = worst else { return CallPathTree::ROOT };
    let (mut main, mut most, mut at) = (path, times.exclusive_imbalance(n), path);
    while at != CallPathTree::ROOT {
        if let Some(times) = stage.paths.get(&(at, false)).filter(|_| at != CallPathTree::ROOT) {
            let imbalance = times.inclusive_imbalance(n);
            if most * CALLER_EXPLAINS_MORE.0 < imbalance * CALLER_EXPLAINS_MORE.1 {
                (main, most) = (at, imbalance);
            }
        }
        at = cx.paths().parent(at);
    }
    main
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

    /// Which time of the path shows the imbalance: inclusive if it has callees that contribute.
    pub fn times(&self, cx: &Context<'_>) -> Times {
        let (mut inclusive, mut exclusive) = (0, 0);
        for stage in &self.stages {
            if let Some(times) = stage.paths.get(&(self.path, false)) {
                inclusive += times.inclusive_imbalance(stage.n_peers());
                exclusive += times.exclusive_imbalance(stage.n_peers());
            }
        }
        let is_inner = self.path != CallPathTree::ROOT && !cx.is_inside_waiting(self.path);
        if is_inner && exclusive < inclusive { Times::Inclusive } else { Times::Exclusive }
    }

    /// Time of each peer in the path, over the run.
    pub(crate) fn by_peer(&self, cx: &Context<'_>) -> Vec<(LocationId, u64)> {
        cx.by_peer(self.path, self.times(cx))
    }

    /// What is spread to regain the imbalance.
    pub fn code(&self, cx: &Context<'_>) -> EditedCode {
        match self.times(cx) {
            Times::Inclusive => EditedCode::with_callees(self.path),
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
                Times::Inclusive => (path.inclusive_max, path.inclusive_sum),
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

/// The iterations in which something costs at least a quarter of what it costs in the worst one; `None` for a stage
/// that does not repeat.
pub(super) fn iterations(stage: &Stage, cost: impl Fn(&PhaseTimes) -> u128) -> Option<Iterations> {
    let n_all = stage.phases.len() as u64;
    let costs: Vec<u128> = stage.phases.iter().map(cost).collect();
    let most = costs.iter().copied().max().unwrap_or_default();
    let is_dear = |i: &usize| 0 < costs[*i] && most <= costs[*i] * 4;
    let ranges = ranges_of((0..costs.len()).filter(is_dear).map(|i| i as u64));
    (1 < n_all).then_some(Iterations { n_all, ranges })
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
