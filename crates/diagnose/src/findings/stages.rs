//! Stages: the phases at the same place in the nest of loops of the run.
//!
//! ```text
//! phases   │Init│ A │Allreduce│ B │Barrier│ A │Allreduce│ B │Barrier│ … │ C │Finalize
//! loops     Init  n × { A Allreduce, B Barrier }  Finalize
//! stages    Init;  A Allreduce;  B Barrier;  C Finalize
//! ```
//!
//! An iteration is one of the outermost loop around a stage, which may have several of its phases; where the program's
//! own loop has more or as many, it has the numbers of its steps (see [`crate::steps`]). There are `n` peers. Each phase
//! has its length, the time `busy` in which a peer neither waits nor synchronises, and the time `S` in the
//! synchronisation:
//!
//! | loss | formula, summed over phases | how to regain it |
//! |---|---|---|
//! | idle | `length − mean busy` | perfect balance and no waiting |
//! | imbalance | `max busy − mean busy` | spreading the work, order unchanged |
//! | waiting | `length − max busy` | messages in time, cheaper calls, no locks; work unchanged |
//! | cost of the synchronisation | `min S`, a part of waiting | a cheaper call, or none |
//!
//! Law: `idle = imbalance + waiting`, phase by phase, and the lengths of all phases add up to the run.
//! So a gain is never counted twice. Causes are found elsewhere.

use super::finding::Iterations;
use super::ranks::ranges_of;
use crate::steps::{InSteps, Steps};
use ouzel_analyses::phases::structure::{Slot, Structure};
use ouzel_analyses::phases::{Cell, PhaseAnchor, PhaseGroup, Stat};
use ouzel_analyses::semantics::{Category, Class};
use ouzel_model::{CallPathId, CallPathTree, Ticks, TimeRange};
use std::collections::{BTreeMap, BTreeSet};

/// Phases at the same place in the nest of loops: all end in the same synchronisation.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    /// The call that ends it; `None` for the last phase.
    pub anchor: Option<PhaseAnchor>,
    /// In order of time.
    pub phases: Vec<PhaseTimes>,
    /// The outermost loop around it; `None` outside of loops, and for phases that are put together as they are too many.
    pub outermost: Option<u32>,
    /// Iterations of the outermost loop around it; 0 outside of loops.
    pub n_iterations: usize,
    /// What they are in the program's own loop, if it has as many iterations or more.
    pub steps: Option<StageSteps>,
    /// By call path and whether peers were left out.
    pub paths: BTreeMap<(CallPathId, bool), PathTimes>,
}

/// The steps of the program's own loop that the phases of each iteration of a stage are in.
#[derive(Debug, Clone)]
pub(super) struct StageSteps {
    /// All steps of the loop.
    n_all: usize,
    /// For each iteration the first and the last step of each of its phases.
    of: Vec<Vec<(usize, usize)>>,
}

/// One phase: one iteration of a stage.
#[derive(Debug, Clone, Copy)]
pub(super) struct PhaseTimes {
    /// Index into [`PhaseGroup::phases`].
    pub index: u32,
    /// Its iteration of the outermost loop around it; 0 outside of loops.
    pub iteration: usize,
    pub range: TimeRange,
    /// Time that peers neither wait nor synchronise.
    pub busy: Stat,
    /// Time in the synchronisation that ends it.
    pub sync: Option<Stat>,
    pub n_peers: u64,
}

/// One call path over the phases of a stage.
#[derive(Debug, Clone, Default)]
pub(super) struct PathTimes {
    pub n_visits: u64,
    /// Ticks of all peers and phases.
    pub inclusive_sum: u128,
    pub exclusive_sum: u128,
    /// The time of the slowest peer in each phase, summed over phases.
    pub inclusive_max: u128,
    pub exclusive_max: u128,
    /// Inclusive time less what waits or synchronises: of all peers, and of the slowest peer in each phase.
    pub busy_sum: u128,
    pub busy_max: u128,
}

impl PhaseTimes {
    pub fn length(&self) -> u64 {
        self.range.end.since(self.range.start).0
    }

    /// `max busy − mean busy`, times the number of peers.
    pub fn imbalance(&self) -> u128 {
        (u128::from(self.busy.max.0) * u128::from(self.n_peers)).saturating_sub(u128::from(self.busy.sum.0))
    }

    /// `length − max busy`.
    pub fn waiting(&self) -> u64 {
        self.length().saturating_sub(self.busy.max.0)
    }

    /// `mean S − min S`, times the number of peers: how far apart the peers arrive.
    pub(crate) fn spread_of_arrival(&self) -> u128 {
        let spread = |sync: Stat| {
            u128::from(sync.sum.0).saturating_sub(u128::from(sync.min.0) * u128::from(self.n_peers))
        };
        self.sync.map(spread).unwrap_or_default()
    }
}

impl PathTimes {
    /// `max − mean` of exclusive time, times the number of peers.
    pub(crate) fn exclusive_imbalance(&self, n_peers: u64) -> u128 {
        (self.exclusive_max * u128::from(n_peers)).saturating_sub(self.exclusive_sum)
    }

    /// `max − mean` of inclusive time, times the number of peers.
    pub(crate) fn inclusive_imbalance(&self, n_peers: u64) -> u128 {
        (self.inclusive_max * u128::from(n_peers)).saturating_sub(self.inclusive_sum)
    }

    /// `max − mean` of busy time, times the number of peers.
    pub(crate) fn busy_imbalance(&self, n_peers: u64) -> u128 {
        (self.busy_max * u128::from(n_peers)).saturating_sub(self.busy_sum)
    }

    fn add(&mut self, cell: &Cell) {
        self.n_visits += cell.n_visits;
        self.inclusive_sum += u128::from(cell.inclusive.sum.0);
        self.exclusive_sum += u128::from(cell.exclusive.sum.0);
        self.inclusive_max += u128::from(cell.inclusive.max.0);
        self.exclusive_max += u128::from(cell.exclusive.max.0);
        self.busy_sum += u128::from(cell.busy.sum.0);
        self.busy_max += u128::from(cell.busy.max.0);
    }
}

impl Stage {
    pub fn n_peers(&self) -> u64 {
        self.phases.first().map_or(1, |phase| phase.n_peers)
    }

    /// Ticks of the run that the stage takes.
    pub fn length(&self) -> u64 {
        self.phases.iter().map(PhaseTimes::length).sum()
    }

    /// See [`PhaseTimes::imbalance`]; in ticks.
    pub fn imbalance(&self) -> u64 {
        self.mean(self.phases.iter().map(PhaseTimes::imbalance).sum())
    }

    /// See [`PhaseTimes::waiting`].
    pub fn waiting(&self) -> u64 {
        self.phases.iter().map(PhaseTimes::waiting).sum()
    }

    /// `Σ min S`.
    pub(crate) fn cost_of_sync(&self) -> u64 {
        self.phases.iter().filter_map(|phase| phase.sync).map(|sync| sync.min.0).sum()
    }

    /// Mean time in the synchronisation that ends the phases, in ticks.
    pub(crate) fn time_in_sync(&self) -> u64 {
        let sums = self.phases.iter().filter_map(|phase| phase.sync).map(|sync| u128::from(sync.sum.0));
        self.mean(sums.sum())
    }

    /// Mean busy time, in ticks.
    pub fn busy(&self) -> u64 {
        self.mean(self.phases.iter().map(|phase| u128::from(phase.busy.sum.0)).sum())
    }

    /// A sum over peers as a mean, rounded half up.
    pub fn mean(&self, sum: u128) -> u64 {
        let n = u128::from(self.n_peers());
        u64::try_from((sum + n / 2) / n).unwrap_or(u64::MAX)
    }

    /// The sum of a value over the phases of each iteration.
    pub fn by_iteration(&self, value: impl Fn(&PhaseTimes) -> u128) -> Vec<u128> {
        let mut sums = vec![0; self.n_iterations];
        for phase in &self.phases {
            if let Some(sum) = sums.get_mut(phase.iteration) {
                *sum += value(phase);
            }
        }
        sums
    }

    /// Iterations, as those of the program's own loop. Where it has as many, but other borders, two may have most of their
    /// time in one step: then all keep the numbers of the phases, so that none seems to be left out.
    pub fn named(&self, iterations: impl IntoIterator<Item = usize>) -> Iterations {
        let own: BTreeSet<usize> = iterations.into_iter().collect();
        let in_steps = self.steps.as_ref().map(|steps| {
            let steps = own.iter().flat_map(|&i| &steps.of[i]).flat_map(|&(first, last)| first..=last);
            steps.collect::<BTreeSet<_>>()
        });
        let has_as_many = self.steps.as_ref().is_some_and(|steps| steps.n_all == self.n_iterations);
        let named = in_steps.filter(|steps| !has_as_many || steps.len() == own.len()).unwrap_or(own);
        let n_all = self.steps.as_ref().map_or(self.n_iterations, |steps| steps.n_all);
        Iterations { n_all: n_all as u64, ranges: ranges_of(named.into_iter().map(|i| i as u64)) }
    }

    /// How many iterations of the program's own loop each has, on average.
    #[expect(clippy::cast_precision_loss, reason = "numbers of iterations")]
    pub fn steps_per_iteration(&self) -> f64 {
        let Some(steps) = &self.steps else { return 1.0 };
        let n: usize = steps.of.iter().flatten().map(|&(first, last)| last - first + 1).sum();
        (n as f64 / steps.of.len().max(1) as f64).max(1.0)
    }

    /// From the first phase of an iteration to the last one of another.
    pub fn range_of_iterations(&self, first: usize, last: usize) -> TimeRange {
        let phases = self.phases.iter().filter(|phase| (first..=last).contains(&phase.iteration));
        let all = phases.map(|phase| phase.range);
        all.reduce(|a, b| TimeRange { start: a.start.min(b.start), end: a.end.max(b.end) })
            .unwrap_or(self.range())
    }

    pub fn range(&self) -> TimeRange {
        let start = self.phases.first().map(|phase| phase.range.start).unwrap_or_default();
        TimeRange { start, end: self.phases.last().map(|phase| phase.range.end).unwrap_or_default() }
    }
}

/// The stages of a group, in order of their first phase.
pub(super) fn stages(group: &PhaseGroup, steps: &Steps) -> Vec<Stage> {
    // A phase begins when the last peer has left the one before, so that lengths add up.
    let mut starts = Vec::with_capacity(group.phases.len());
    let mut start = group.run_range.start;
    for phase in &group.phases {
        starts.push(start);
        start = start.max(phase.end);
    }
    let structure = Structure::new(group);
    let ranges = |iterations: &[(u32, u32)]| -> Vec<TimeRange> {
        iterations.iter().map(|&iteration| group.range_of(iteration)).collect()
    };
    let in_steps: Vec<Option<InSteps<'_>>> =
        structure.loops.iter().map(|of| steps.of(&ranges(&of.iterations))).collect();
    let of_slot = |slot: &Slot| {
        let anchor = slot.phases.first().and_then(|&i| group.phases[i as usize].anchor);
        let outermost = slot.loops.first().map(|&outermost| outermost as usize);
        let iterations = outermost.map(|outermost| &structure.loops[outermost].iterations);
        let steps = outermost.and_then(|outermost| in_steps[outermost].as_ref());
        let n_phases = slot.phases.len();
        let mut stage = Stage {
            anchor,
            phases: Vec::with_capacity(n_phases),
            outermost: slot.loops.first().copied(),
            n_iterations: match iterations {
                Some(iterations) => iterations.len(),
                // What is put together because there is too much of it.
                None if structure.slots_are_merged && 1 < n_phases => n_phases,
                None => 0,
            },
            steps: None,
            paths: BTreeMap::new(),
        };
        for (nth, &index) in slot.phases.iter().enumerate() {
            let iteration = match iterations {
                Some(iterations) => {
                    iterations.partition_point(|(first, _)| *first <= index).saturating_sub(1)
                }
                None => nth,
            };
            stage.phases.push(times(group, index, iteration, starts[index as usize]));
            for cell in group.cells_of(index) {
                stage.paths.entry((cell.call_path, cell.subset)).or_default().add(cell);
            }
        }
        stage.steps = steps.map(|steps| {
            let mut of = vec![Vec::new(); stage.n_iterations];
            stage.phases.iter().for_each(|phase| of[phase.iteration].push(steps.within(phase.range)));
            StageSteps { n_all: steps.n_all(), of }
        });
        stage.paths.retain(|_, times| 0 < times.inclusive_sum || 0 < times.n_visits);
        stage
    };
    structure.slots.iter().map(of_slot).collect()
}

fn times(group: &PhaseGroup, index: u32, iteration: usize, start: Ticks) -> PhaseTimes {
    let phase = &group.phases[index as usize];
    let range = TimeRange { start, end: phase.end.max(start) };
    let n_peers = group.locations.len() as u64;
    PhaseTimes { index, iteration, range, busy: phase.busy, sync: phase.in_anchor, n_peers }
}

/// How losses classify the time in a call path of a stage.
pub(super) fn category(path: CallPathId, subset: bool, paths: &CallPathTree, classes: &[Class]) -> Category {
    let class = paths.region(path).map_or(Category::Computation, |region| classes[region.index()].category);
    match class {
        // In a collective that leaves peers out, a peer waits for some, not for all.
        Category::Synchronization if subset => Category::Wait,
        class => class,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_iteration_is_left_out_because_another_has_its_number() {
        let stage = Stage {
            anchor: None,
            phases: Vec::new(),
            outermost: None,
            n_iterations: 3,
            steps: Some(StageSteps { n_all: 3, of: vec![vec![(0, 0)], vec![(0, 0)], vec![(1, 1)]] }),
            paths: BTreeMap::new(),
        };
        assert_eq!(stage.named([2]).ranges, [(1, 1)]);
        assert_eq!(stage.named(0..3).ranges, [(0, 2)]);
    }
}
