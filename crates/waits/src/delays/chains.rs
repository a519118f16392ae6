//! Chains of waiting: from code that takes longer than elsewhere, from rank to rank, to the last one that waits.
//!
//! ```text
//! rank 0   ████████ delay ─┐
//! rank 1       ░░░░ waits ░└── goes on ──┐
//! rank 2                 ░░░░░░ waits ░░░└──
//! ```
//!
//! A chain begins at the wait that brings its delay the highest costs. Each next wait is the one that hands on most to
//! the wait before; the last one causes no other. Law: each wait of a chain is for the rank that waits before it, which
//! had gone on by then. Only a few chains are kept, of each a bounded number of waits.

use super::chain::{ChainDelay, ChainWait, WaitChain};
use super::dependencies::Dependencies;
use super::pieces::Pieces;
use super::share::shares;
use super::sweep::{Most, Swept};
use crate::wait::Culprit;
use ouzel_model::{CallPathId, Remap, Ticks};
use std::cmp::Reverse;

/// Chains that are kept.
const N_CHAINS: usize = 5;
/// Waits of a chain that are kept.
const MAX_WAITS: usize = 100;

/// The chains of the delays with the highest costs. `remap` is for the call paths of waits.
pub(super) fn chains(of: &Dependencies, pieces: &Pieces<'_>, swept: &Swept, remap: &Remap) -> Vec<WaitChain> {
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
        pieces: &Pieces<'_>,
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

    fn chain_wait(&self, pieces: &Pieces<'_>, (cause, index): (Cause, usize), remap: &Remap) -> ChainWait {
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
