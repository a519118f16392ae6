//! Chains of waiting: from code that takes longer than elsewhere, from rank to rank, to the last one that waits.
//!
//! ```text
//! rank 0   ████████ delay ─┐
//! rank 1       ░░░░ waits ░└── goes on ──┐
//! rank 2                 ░░░░░░ waits ░░░└──
//! ```
//!
//! A chain begins at the wait that brings its delay the highest costs. Each next wait is the one that hands on most to
//! the wait before; the last one causes no other. Law: each wait of a chain is for the rank that waits before it, and
//! begins after the previous one began. Only a few chains are kept, of each a bounded number of waits.

use super::dependencies::Dependencies;
use super::pieces::Pieces;
use super::sweep::{Most, Swept, shares};
use crate::class::WaitClass;
use crate::wait::Culprit;
use ouzel_model::{CallPathId, LocationId, Remap, Ticks};
use std::cmp::Reverse;

/// Chains that are kept.
const N_CHAINS: usize = 5;
/// Waits of a chain that are kept.
const MAX_WAITS: usize = 100;

/// Code that takes longer than elsewhere, and the waits that follow from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitChain {
    /// Where it begins.
    pub delay: ChainDelay,
    /// From rank to rank, in the order of time; the first ones, if there are many.
    pub waits: Vec<ChainWait>,
    /// Number of waits, kept or not.
    pub n_waits: u64,
}

/// The code that makes the first rank of a chain wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainDelay {
    /// Who runs it.
    pub location: LocationId,
    /// The code.
    pub call_path: CallPathId,
    /// When the two were last together.
    pub start: Ticks,
    /// When its location arrived where the first wait is.
    pub end: Ticks,
    /// How much longer it took there than at the one that waits.
    pub longer: Ticks,
    /// All waits of those who wait for this location because of this code, in this chain or not.
    pub short_term: Ticks,
    /// All waits of others that follow from these.
    pub long_term: Ticks,
}

/// A wait of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainWait {
    /// What for.
    pub class: WaitClass,
    /// Who waits.
    pub location: LocationId,
    /// The call that waits.
    pub call_path: CallPathId,
    /// When it began to wait.
    pub start: Ticks,
    /// When it could go on.
    pub end: Ticks,
    /// For whom.
    pub culprit: Culprit,
    /// The part of the wait that the one before it causes; of the first, the delay.
    pub caused: Ticks,
}

/// The chains of the delays with the highest costs. `remap` is for the call paths of waits.
pub(super) fn chains(of: &Dependencies, pieces: &Pieces, swept: &Swept, remap: &Remap) -> Vec<WaitChain> {
    let mut delays: Vec<_> = swept.sums.by_delay().into_iter().collect();
    delays.sort_by_key(|(_, (short, long))| Reverse(*short + *long));
    let chain = |((call_path, location), (short_term, long_term)): (_, (Ticks, Ticks))| {
        let first = swept.starts.get(&(call_path, location))?.wait;
        let (wait, interval) = (&of.waits[first], of.intervals[first]);
        let causes = of.causes(pieces, first);
        let longer = causes.delays.iter().find(|it| it.0 == call_path).map_or(0, |it| it.1);
        let delay = ChainDelay {
            location,
            call_path,
            start: interval.of_culprit,
            end: wait.culprit.arrived,
            longer: Ticks(longer),
            short_term,
            long_term,
        };
        let (waits, n_waits) = of.follow(pieces, swept, (call_path, first), remap);
        Some(WaitChain { delay, waits, n_waits })
    };
    delays.into_iter().take(N_CHAINS).filter_map(chain).collect()
}

/// What causes a wait in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Delay(CallPathId),
    Wait(usize),
}

impl Dependencies {
    /// The waits from the first on, and how many there are.
    fn follow(
        &self,
        pieces: &Pieces,
        swept: &Swept,
        (delay, first): (CallPathId, usize),
        remap: &Remap,
    ) -> (Vec<ChainWait>, u64) {
        let (mut waits, mut n_waits) = (Vec::new(), 0);
        let (mut cause, mut index) = (Cause::Delay(delay), first);
        loop {
            n_waits += 1;
            if waits.len() < MAX_WAITS {
                waits.push(self.chain_wait(pieces, (cause, index), remap));
            }
            let Most { amount: 1.., wait: next } = swept.flows[index].effect else { break };
            (cause, index) = (Cause::Wait(index), next);
        }
        (waits, n_waits)
    }

    fn chain_wait(&self, pieces: &Pieces, (cause, index): (Cause, usize), remap: &Remap) -> ChainWait {
        let wait = &self.waits[index];
        let causes = self.causes(pieces, index);
        let times = causes.times();
        let shares = shares(self.explained(index, times.iter().sum()), &times);
        let delays = causes.delays.iter().map(|it| Cause::Delay(it.0));
        let all = delays.chain(causes.waits.iter().map(|it| Cause::Wait(it.0)));
        let caused = all.zip(shares).find(|it| it.0 == cause).map_or(0, |it| it.1);
        ChainWait {
            class: wait.class,
            location: wait.location,
            call_path: remap.path(wait.path),
            start: wait.start,
            end: wait.end,
            culprit: Culprit { path: remap.path(wait.culprit.path), ..wait.culprit },
            caused: Ticks(caused),
        }
    }
}
