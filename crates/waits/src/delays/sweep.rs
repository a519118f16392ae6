//! The costs of delays: waits are handed on to what caused them, the last ones first.
//!
//! The culprit of a wait is `D` ahead in call paths that took it longer than the waiter, and waited `P` itself since
//! their common point. The wait, and the costs that later waits have handed on to it, are divided among these parts in
//! proportion to their times, by largest remainder. A wait is settled after all that its location does later, so that
//! it has all costs: locations are gone through backward, and stop at an arrival until the wait for it is settled.

use super::caused::CausedWait;
use super::dependencies::Dependencies;
use super::output::DelaySums;
use super::parts::{WaitParts, has_parts};
use super::pieces::Pieces;
use super::share::{part, shares};
use crate::class::WaitClass;
use ouzel_model::{CallPathId, LocationId, Ticks};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What a location does, in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// It waits.
    Wait(usize),
    /// It arrives where another one waits.
    Arrive(usize),
}

/// What a wait is divided among.
pub(super) struct Causes {
    /// Call paths of the culprit with their delays.
    pub delays: Vec<(CallPathId, u64)>,
    /// Waits of the culprit.
    pub waits: Vec<(usize, u64)>,
}

impl Causes {
    /// The times of delays, then of waits.
    pub fn times(&self) -> Vec<u64> {
        self.delays.iter().map(|it| it.1).chain(self.waits.iter().map(|it| it.1)).collect()
    }
}

/// The largest of some amounts, and the wait it belongs to; of equal ones that of the first wait.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Most {
    pub amount: u64,
    pub wait: usize,
}

impl Most {
    fn add(&mut self, amount: u64, wait: usize) {
        if self.amount < amount || (self.amount == amount && wait < self.wait) {
            *self = Most { amount, wait };
        }
    }
}

/// What the sweep learns about a wait beside its costs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flow {
    /// What its selected part hands on to earlier waits of the culprit.
    indirect: u64,
    /// The most that the whole of one wait hands on to it.
    propagating: u64,
    /// The wait that hands on most to it, with what was handed on to that one.
    pub effect: Most,
}

/// What comes of a sweep.
pub(super) struct Swept {
    pub sums: DelaySums,
    /// Of each wait.
    pub flows: Vec<Flow>,
    /// Of each delay, the wait that brings it the highest costs.
    pub starts: FxHashMap<(CallPathId, LocationId), Most>,
}

impl Swept {
    /// The parts of the selected waits for messages.
    pub fn parts(&self, of: &Dependencies) -> Vec<WaitParts> {
        let has_parts = |wait: &CausedWait| Ticks(0) < wait.counted && has_parts(wait.class);
        let waits = of.waits.iter().zip(&self.flows).filter(|(wait, _)| has_parts(wait));
        let parts = waits.map(|(wait, flow)| WaitParts {
            wait: wait.place,
            indirect: Ticks(flow.indirect),
            propagating: Ticks(part(flow.propagating, wait.counted.0, wait.ticks().0)),
        });
        parts.collect()
    }
}

struct Sweep<'a> {
    of: &'a Dependencies,
    pieces: &'a Pieces<'a>,
    /// The costs that later waits have handed on to each wait.
    handed_on: Vec<BTreeMap<WaitClass, u64>>,
    swept: Swept,
}

pub(super) fn sweep(of: &Dependencies, pieces: &Pieces<'_>) -> Swept {
    let swept = Swept {
        sums: DelaySums::default(),
        flows: vec![Flow::default(); of.waits.len()],
        starts: FxHashMap::default(),
    };
    let mut sweep = Sweep { of, pieces, handed_on: vec![BTreeMap::new(); of.waits.len()], swept };
    let mut steps = steps(&of.waits);
    let mut is_settled = vec![false; of.waits.len()];
    let mut ready: Vec<LocationId> = steps.keys().copied().collect();
    while let Some(location) = ready.pop() {
        let Some(steps) = steps.get_mut(&location) else { continue };
        while let Some((_, step)) = steps.pop_if(|(_, step)| match *step {
            Step::Wait(_) => true,
            Step::Arrive(wait) => is_settled[wait],
        }) {
            if let Step::Wait(wait) = step {
                sweep.settle(wait);
                is_settled[wait] = true;
                ready.push(of.waits[wait].culprit.location);
            }
        }
    }
    // Waits that wait for each other in a circle: clocks are wrong.
    for wait in (0..of.waits.len()).filter(|&wait| !is_settled[wait]) {
        sweep.give_up(wait, of.waits[wait].counted.0);
    }
    sweep.swept
}

/// The steps of each location, in the order of time; a wait ends before what its location does at the same time.
fn steps(waits: &[CausedWait]) -> BTreeMap<LocationId, Vec<(Ticks, Step)>> {
    let mut steps: BTreeMap<LocationId, Vec<(Ticks, Step)>> = BTreeMap::new();
    for (i, wait) in waits.iter().enumerate() {
        steps.entry(wait.location).or_default().push((wait.end, Step::Wait(i)));
        steps.entry(wait.culprit.location).or_default().push((wait.culprit.arrived, Step::Arrive(i)));
    }
    steps.values_mut().for_each(|steps| steps.sort_unstable());
    steps
}

impl Sweep<'_> {
    fn settle(&mut self, index: usize) {
        let wait = self.of.waits[index];
        let causes = self.of.causes(self.pieces, index);
        let times = causes.times();
        let sum: u64 = times.iter().sum();
        if sum == 0 {
            return self.give_up(index, wait.counted.0);
        }
        let whole = self.of.explained(index, sum);
        let explained = part(wait.counted.0, whole, wait.ticks().0);
        self.swept.sums.unexplained(wait.class, wait.path, wait.counted.0 - explained);
        let (mut all, mut of_own) = (vec![0; times.len()], Vec::new());
        let costs = std::mem::take(&mut self.handed_on[index]);
        let own = std::iter::once((wait.class, explained, true));
        for (class, cost, is_short) in own.chain(costs.into_iter().map(|(class, cost)| (class, cost, false)))
        {
            let shares = shares(cost, &times);
            all.iter_mut().zip(&shares).for_each(|(sum, share)| *sum += share);
            let (to_delays, to_waits) = shares.split_at(causes.delays.len());
            for (&(path, _), &share) in causes.delays.iter().zip(to_delays) {
                self.swept.sums.cost((class, path, wait.culprit.location), share, is_short);
            }
            for (&(before, _), &share) in causes.waits.iter().zip(to_waits).filter(|(_, share)| 0 < **share) {
                *self.handed_on[before].entry(class).or_default() += share;
            }
            if is_short {
                self.swept.flows[index].indirect = to_waits.iter().sum();
                of_own = shares;
            }
        }
        self.note_flows(index, &causes, &all);
        let of_whole = if explained == whole { of_own } else { shares(whole, &times) };
        self.note_propagation(&causes, &of_whole);
    }

    /// Notes how much goes to each cause, with what was handed on.
    fn note_flows(&mut self, index: usize, causes: &Causes, all: &[u64]) {
        let location = self.of.waits[index].culprit.location;
        let (to_delays, to_waits) = all.split_at(causes.delays.len());
        for (&(path, _), &amount) in causes.delays.iter().zip(to_delays).filter(|(_, amount)| 0 < **amount) {
            let none = Most { amount: 0, wait: index };
            self.swept.starts.entry((path, location)).or_insert(none).add(amount, index);
        }
        for (&(before, _), &amount) in causes.waits.iter().zip(to_waits).filter(|(_, amount)| 0 < **amount) {
            self.swept.flows[before].effect.add(amount, index);
        }
    }

    /// Notes how much of a whole wait goes to each wait of the culprit: by rate, it might be more than that is long.
    fn note_propagation(&mut self, causes: &Causes, of_whole: &[u64]) {
        for (&(before, length), &share) in causes.waits.iter().zip(&of_whole[causes.delays.len()..]) {
            let propagating = &mut self.swept.flows[before].propagating;
            *propagating = share.min(length).max(*propagating);
        }
    }

    fn give_up(&mut self, index: usize, own: u64) {
        let CausedWait { class, path, .. } = self.of.waits[index];
        self.swept.sums.unexplained(class, path, own);
        for (class, cost) in std::mem::take(&mut self.handed_on[index]) {
            self.swept.sums.unexplained(class, path, cost);
        }
    }
}

impl Dependencies {
    /// What a wait is divided among.
    pub(super) fn causes(&self, pieces: &Pieces<'_>, index: usize) -> Causes {
        let (wait, interval) = (&self.waits[index], self.intervals[index]);
        let culprit = wait.culprit;
        let waits = self.waits_between(culprit.location, interval.of_culprit, culprit.arrived);
        if !self.is_exact(index) {
            let delays = pieces.times_by_rate(culprit.location, interval.of_culprit, culprit.arrived);
            return Causes { delays, waits };
        }
        let theirs = pieces.times(culprit.location, interval.of_culprit, culprit.arrived);
        let mine = pieces.times(wait.location, interval.of_waiter, wait.start);
        let delay = |&(path, ticks): &(CallPathId, u64)| {
            let known = mine.binary_search_by_key(&path, |time| time.0);
            let ticks = ticks.saturating_sub(known.map_or(0, |i| mine[i].1));
            (0 < ticks).then_some((path, ticks))
        };
        Causes { delays: theirs.iter().filter_map(delay).collect(), waits }
    }

    /// The part of a wait that its causes explain, of which there are `sum`: with clocks that agree, the culprit is at
    /// least as far behind as the wait is long. Rates explain everything.
    pub(super) fn explained(&self, index: usize, sum: u64) -> u64 {
        let ticks = self.waits[index].ticks().0;
        if self.is_exact(index) { sum.min(ticks) } else { ticks }
    }

    /// The waits of a location, in the order of time.
    pub(super) fn places_at(&self, location: LocationId) -> std::ops::Range<usize> {
        let start = self.waits.partition_point(|wait| wait.location < location);
        start..self.waits.partition_point(|wait| wait.location <= location)
    }

    /// The waits of a location that end in a range, with what lies in it of each.
    fn waits_between(&self, location: LocationId, start: Ticks, end: Ticks) -> Vec<(usize, u64)> {
        let first = self.waits.partition_point(|it| (it.location, it.end) <= (location, start));
        let last = self.waits.partition_point(|it| (it.location, it.end) <= (location, end)).max(first);
        let lengths = self.waits[first..last].iter().map(|it| it.end.since(it.start.max(start)).0);
        (first..last).zip(lengths).collect()
    }
}
