//! Whether the iterations found in a loop are all that it had.
//!
//! Samples and calls around an iteration that left no mark look as if there had been none, so the number of iterations
//! found is an estimate, mostly too low. It is the number if each iteration found shows that none can be missing before or behind it:
//! - by a recorded call that no iteration can do without, as the code says, and that is there once: an iteration that was
//!   missed would have made it, too;
//! - by samples in two parts that no iteration can do without, each of them [`PERIODS_MIN`] periods long: one that was
//!   missed would have been shorter than a period in one of them, while all others are three times as long;
//! - where samples say exactly which calls are new ones, by one call that is that long.
//!
//! Law: without one of these for each iteration, there may have been more.

use super::code_flow::CodeFlows;
use super::{SampledNode, neighbours};
use crate::node::StaticId;
use ouzel_model::Ticks;

/// Sampling periods that a part must take in each iteration for no iteration to be missed: timers are late by a part of a
/// period, and parts do not take equally long.
const PERIODS_MIN: u64 = 3;

/// What tells whether no iteration was missed.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    /// What the code says.
    pub code: Option<&'a CodeFlows>,
    /// The time between samples; none if it is unknown.
    pub period: Option<Ticks>,
    /// Whether all samples say exactly which calls stayed.
    pub has_exact_instances: bool,
}

impl Evidence<'_> {
    /// Nothing is known.
    #[cfg(test)]
    pub fn none() -> Self {
        Evidence { code: None, period: None, has_exact_instances: false }
    }

    /// Whether this iteration of a loop is one, and none before or behind it can have left no mark.
    pub fn shows_all(&self, of_loop: StaticId, iteration: &[SampledNode]) -> bool {
        let calls = || neighbours(iteration).map(|call| &call[0]);
        let is_long = |child: &&SampledNode| {
            let least = self.period.map(|period| period.0.saturating_mul(PERIODS_MIN));
            least.is_some_and(|least| least <= child.duration().0)
        };
        // What is folded has no order.
        if calls().any(|child| child.id == StaticId::Folded) {
            return false;
        }
        if self.has_exact_instances {
            return calls().any(|child| is_long(&child));
        }
        let Some(code) = self.code else { return false };
        let mut long = calls().filter(is_long).filter(|child| code.is_always(of_loop, child.id));
        let two_are_long = long.next().is_some_and(|first| long.any(|other| other.id != first.id));
        two_are_long || is_marked(code, of_loop, iteration)
    }
}

/// Whether there is one recorded call among these parts of a loop or function, or one in a function that is called once,
/// that it cannot do without. Two calls of a function that look like one have two.
fn is_marked(code: &CodeFlows, of: StaticId, parts: &[SampledNode]) -> bool {
    let is_once = |id: StaticId| neighbours(parts).filter(|other| other[0].id == id).count() == 1;
    neighbours(parts).any(|nodes| {
        let part = &nodes[0];
        part.has_recorded
            && code.is_always(of, part.id)
            && is_once(part.id)
            && (part.is_recorded || (part.id.region().is_some() && is_marked(code, part.id, &nodes[1..])))
    })
}
