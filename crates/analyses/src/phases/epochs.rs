//! Epochs: parts of the run in which the same peers have most to do.
//!
//! ```text
//! most work at   3 3 1 3 3 3 5 5 2 5 5 5 5 0 0 0 4 0 0 0      phase by phase
//! epochs         ├── 3 ────┤├─── 5 ─────┤├───── 0 ─────┤
//! ```
//!
//! An imbalance can belong to the run (the same peers are always slow), to each phase (others every time), or to a scale
//! between: work that moves with a mesh, say. The imbalance of a part is `max − mean` over peers of their busy time in
//! it, so merging parts can only lower the sum. Let `V(n)` be the greatest sum that `n` consecutive parts can have. If
//! other peers were slow in each of `K` phases, it would grow like a random walk, `V(n) ≈ V(K) · √(n / K)`. A further
//! part is worth having while it adds four times as much as that; the parts are epochs if they hold [`MOST`] of `V(K)`, are
//! long, and hold more than the whole run as one part. From samples, each must hold more than its imbalance can be off.

use super::anchors::AnchorRole;
use super::by_peer::ByPeer;
use super::noise::Uncertainty;
use super::output::PhaseGroup;
use ouzel_model::{LocationId, Ticks, TimeRange};

/// Least share of the imbalance of the phases that epochs hold together.
pub const MOST: (u64, u64) = (3, 5);
/// Greatest number of epochs.
const MAX_EPOCHS: usize = 32;
/// Least mean number of buckets in an epoch.
const LEAST_BUCKETS: usize = 6;
/// Additions that the search may take.
const MAX_WORK: usize = 1 << 26;

/// A part of the run in which the same peers have most to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
    /// Indices into [`PhaseGroup::phases`], the last one excluded.
    pub phases: std::ops::Range<u32>,
    /// Buckets of [`PhaseGroup::by_peer`].
    pub buckets: std::ops::Range<usize>,
    /// From the end of the epoch before to the end of its last phase.
    pub range: TimeRange,
    /// When the last peer comes to the synchronisation before, and to the last one inside: what a peer begins after the
    /// first and before the second is part of the epoch.
    pub window: TimeRange,
    /// `max − mean` of the busy time of the peers in the epoch, in ticks.
    pub imbalance: Ticks,
    /// The peers that exceed the mean by more than a third of what the busiest exceeds it by, in the order of the group.
    pub most: Vec<LocationId>,
}

/// The epochs of a group, in order of time; none if the same peers are slow in the whole run, or others in each phase.
pub fn epochs(group: &PhaseGroup) -> Vec<Epoch> {
    let Some(steps) = Steps::new(group) else { return Vec::new() };
    let borders = steps.best_parts();
    let bucket = |part: usize| (steps.first + part * steps.step).min(steps.end);
    let found = borders.windows(2).map(|pair| epoch(group, bucket(pair[0])..bucket(pair[1])));
    let found: Vec<Epoch> = found.collect();
    if found.iter().all(|epoch| band(group, epoch) < epoch.imbalance) { found } else { Vec::new() }
}

/// How far the imbalance of an epoch can be off, as samples may miss what peers wait in its synchronisations; 0 if times are
/// exact.
fn band(group: &PhaseGroup, epoch: &Epoch) -> Ticks {
    let mut sum = Uncertainty::default();
    for phase in &group.phases[epoch.phases.start as usize..epoch.phases.end as usize] {
        if let Some((noise, sync)) = group.noise_of_anchor(phase).zip(phase.in_anchor.as_ref()) {
            sum.add(&sync.uncertainty(noise, u64::from(sync.n_seen) * phase.n_phases));
        }
    }
    sum.of_extreme_sums()
}

fn epoch(group: &PhaseGroup, buckets: std::ops::Range<usize>) -> Epoch {
    let times = group.by_peer.busy_of(buckets.clone());
    let (n, sum) = (times.len() as u64, times.iter().sum::<u64>());
    let most = times.iter().copied().max().unwrap_or_default();
    let above = (most * n).saturating_sub(sum);
    let is_above = |ticks: u64| above < 3 * (ticks * n).saturating_sub(sum);
    let members = group.locations.iter().zip(&times).filter(|(_, ticks)| is_above(**ticks));
    let phases = group.by_peer.borders[buckets.start]..group.by_peer.borders[buckets.end];
    let end_of = |phase: u32| group.phases[phase as usize].end;
    let start = phases.start.checked_sub(1).map_or(group.run_range.start, end_of);
    let last = phases.end.max(1) - 1;
    let range = TimeRange { start, end: end_of(last).max(start) };
    let come = |phase: u32| group.phases[phase as usize].last_enter;
    let window = TimeRange {
        start: phases.start.checked_sub(1).map_or(group.run_range.start, come),
        end: if last as usize + 1 == group.phases.len() { group.run_range.end } else { come(last) },
    };
    Epoch {
        phases,
        buckets,
        range,
        window,
        imbalance: Ticks(most - sum / n.max(1)),
        most: members.map(|(location, _)| *location).collect(),
    }
}

/// Busy times of the peers, in steps.
struct Steps<'a> {
    by_peer: &'a ByPeer,
    /// The first bucket after the start of the parallel program, and the one after its end.
    first: usize,
    end: usize,
    /// Buckets that are not divided, so that the search ends soon.
    step: usize,
    n_steps: usize,
}

/// The sum and the greatest of the busy times of the peers in a part.
#[derive(Debug, Clone, Copy, Default)]
struct PartTimes {
    sum: u64,
    most: u64,
}

impl<'a> Steps<'a> {
    /// `None` if there is nothing to divide.
    fn new(group: &'a PhaseGroup) -> Option<Self> {
        let by_peer = &group.by_peer;
        let role = |bucket: usize| {
            let last = by_peer.borders[bucket + 1].checked_sub(1)?;
            group.phases[last as usize].anchor.map(|anchor| anchor.role)
        };
        let all = 0..by_peer.n_buckets();
        let first = all.clone().rev().find(|&it| role(it) == Some(AnchorRole::Start)).map_or(0, |it| it + 1);
        let end = all.clone().find(|&it| role(it) == Some(AnchorRole::End)).unwrap_or(all.end);
        let (n_buckets, n_peers) = (end.checked_sub(first)?, group.locations.len());
        let n_most = (MAX_WORK / n_peers.max(1)).isqrt().max(2 * LEAST_BUCKETS);
        let step = n_buckets.div_ceil(n_most).max(1);
        let n_steps = n_buckets.div_ceil(step);
        let is_enough = 2 * LEAST_BUCKETS <= n_steps && 2 <= n_peers;
        is_enough.then_some(Steps { by_peer, first, end, step, n_steps })
    }

    /// For each part, given by the steps that it begins and ends at, `max − mean` times the number of peers.
    fn imbalances(&self, parts: &[(usize, usize)]) -> Vec<u64> {
        let mut times = vec![PartTimes::default(); parts.len()];
        // Peer by peer: the sums of all peers at once would be as large as all rows.
        let mut until = vec![0; self.n_steps + 1];
        let mut n_peers = 0;
        for busy in self.by_peer.busy(self.first..self.end) {
            n_peers += 1;
            for (at, ticks) in busy.enumerate() {
                let step = at / self.step;
                if at % self.step == 0 {
                    until[step + 1] = until[step];
                }
                until[step + 1] += ticks;
            }
            for (times, &(from, to)) in times.iter_mut().zip(parts) {
                let ticks = until[to] - until[from];
                *times = PartTimes { sum: times.sum + ticks, most: times.most.max(ticks) };
            }
        }
        times.iter().map(|times| (times.most * n_peers).saturating_sub(times.sum)).collect()
    }

    /// Borders of the best parts, the first and the last step included; none if no parts are epochs.
    #[expect(clippy::cast_precision_loss, reason = "compared with a rule of thumb")]
    fn best_parts(&self) -> Vec<usize> {
        let k = self.n_steps;
        let whole_and_steps: Vec<(usize, usize)> =
            [(0, k)].into_iter().chain((0..k).map(|step| (step, step + 1))).collect();
        let imbalances = self.imbalances(&whole_and_steps);
        let finest: u64 = imbalances[1..].iter().sum();
        // No parts hold more than all steps do, and epochs hold more than twice the whole run.
        if finest <= imbalances[0] * 2 {
            return Vec::new();
        }
        // Those that end at one step follow each other, as they are compared with each other.
        let parts: Vec<(usize, usize)> = (1..=k).flat_map(|to| (0..to).map(move |from| (from, to))).collect();
        let all = self.imbalances(&parts);
        let of = |from: usize, to: usize| if from < to { all[to * (to - 1) / 2 + from] } else { 0 };
        // best[n][to]: the greatest sum of n + 1 parts that end at `to`, and where the last of them begins.
        let n_most = MAX_EPOCHS.min(k / LEAST_BUCKETS);
        let mut best: Vec<Vec<(u64, usize)>> = vec![(0..=k).map(|to| (of(0, to), 0)).collect()];
        for n in 1..n_most {
            let before = &best[n - 1];
            let longest =
                |to: usize| (n..to).map(|from| (before[from].0 + of(from, to), from)).max_by_key(|it| it.0);
            best.push((0..=k).map(|to| longest(to).unwrap_or_default()).collect());
        }
        let value = |n: usize| best[n - 1][k].0;
        let is_worth = |n: &usize| {
            let walk = finest as f64 / ((*n * k) as f64).sqrt();
            2.0 * walk <= value(*n).saturating_sub(value(*n - 1)) as f64
        };
        let Some(n) = (2..=n_most).rev().find(is_worth) else { return Vec::new() };
        if value(n) * MOST.1 < finest * MOST.0 || value(n) <= value(1) * 2 {
            return Vec::new();
        }
        let mut borders = vec![k];
        let mut to = k;
        for n in (0..n).rev() {
            to = best[n][to].1;
            borders.push(to);
        }
        borders.reverse();
        borders
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::Phases;
    use ouzel_model::{LocationKind, WorldRank};
    use ouzel_testkit::{Rng, ToyEvent, ToyPayload, ToyTrace, run};

    /// A run of `n_phases` phases of `n_ranks` ranks with the given work.
    fn group(n_ranks: u32, n_phases: u64, mut work: impl FnMut(u32, u64) -> u64) -> PhaseGroup {
        let mut trace = ToyTrace::empty();
        let (f, barrier) = (trace.region("f"), trace.region("MPI_Barrier"));
        for rank in 0..n_ranks {
            let mut events = Vec::new();
            for phase in 0..n_phases {
                let start = phase * 1000;
                let mut push = |time, what| events.push(ToyEvent { time: Ticks(time), what });
                let work = work(rank, phase);
                push(start, ToyPayload::Enter(f));
                push(start + work, ToyPayload::Leave(f));
                push(start + work, ToyPayload::Enter(barrier));
                push(start + 1000, ToyPayload::Leave(barrier));
            }
            trace.add_location(WorldRank(rank), &rank.to_string(), LocationKind::CpuThread, events);
        }
        run(&trace, Phases::default()).groups.remove(0)
    }

    fn found(group: &PhaseGroup) -> Vec<(u32, u32, Vec<u32>)> {
        let most = |epoch: &Epoch| epoch.most.iter().map(|location| location.0).collect();
        epochs(group).iter().map(|epoch| (epoch.phases.start, epoch.phases.end, most(epoch))).collect()
    }

    #[test]
    fn work_that_moves_after_some_phases_makes_epochs() {
        let mut rng = Rng::new(1);
        let slow = |phase: u64| {
            if phase < 20 {
                3
            } else if phase < 50 {
                1
            } else {
                5
            }
        };
        let group = group(6, 80, |rank, phase| {
            300 + rng.below(60) + if u64::from(rank) == slow(phase) { 200 } else { 0 }
        });
        assert_eq!(found(&group), [(0, 20, vec![3]), (20, 50, vec![1]), (50, 81, vec![5])]);
        let all = epochs(&group);
        assert_eq!(
            (all[0].range.start, all[1].range.start, all[2].range.end),
            (Ticks(0), Ticks(20_000), Ticks(80_000))
        );
    }

    #[test]
    fn the_same_rank_all_the_time_and_another_each_time_make_none() {
        for seed in 0..20 {
            let mut rng = Rng::new(seed);
            let always = group(5, 60, |rank, _| 300 + rng.below(100) + if rank == 2 { 200 } else { 0 });
            assert_eq!(found(&always), []);
            let mut rng = Rng::new(seed);
            let random = group(5, 60, |_, _| 300 + rng.below(200));
            assert_eq!(found(&random), []);
            let turns = group(4, 60, |rank, phase| if u64::from(rank) == phase % 4 { 500 } else { 300 });
            assert_eq!(found(&turns), []);
        }
    }
}
