//! Control flow of loop bodies: where one iteration ends and the next begins.
//!
//! ```text
//! sequences of children ─learn─► ControlFlow ─tag─► iteration ids ─decide─► accepted, rejected, profile
//! ```
//!
//! A [`ControlFlow`] is the forward successor relation between the call sites and inner loops of one
//! construct. A child that cannot follow the one before begins an iteration. Law: different tags are different
//! iterations; equal tags need not be one iteration.
//! Unmarked loops and the similarity of iterations are not handled here.
//!
//! Source: Wei and Mellor-Crummey, ICS'18, section 3.2 (Algorithm 1).

mod acceptance;
#[cfg(test)]
mod edges;
mod learned;
#[cfg(test)]
mod plain;
mod successors;
#[cfg(test)]
mod tests;

pub use acceptance::{Acceptance, Iteration, Verdict, decide};
pub(crate) use learned::learn;

use crate::align::Order;
use crate::node::{LoopSource, StaticId};
use ouzel_model::CodeFlow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use successors::Successors;

/// The forward control flow inside of one construct.
#[derive(Debug, Clone)]
pub struct ControlFlow {
    /// Call sites and inner loops, ascending.
    vertices: Vec<StaticId>,
    /// What can run after each vertex in the same iteration; the last row is that of the entry.
    successors: Successors,
    /// Place of each vertex in one linear extension of `successors`.
    places: Vec<u32>,
    source: LoopSource,
}

/// Iteration ids of the children of a loop instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tags {
    /// For each child its iteration: neighbours are equal or one apart.
    pub tags: Vec<u32>,
    /// Children that the control flow does not know. Each starts an iteration, and so does the child after it.
    pub n_unknown: u64,
}

impl ControlFlow {
    fn new(vertices: Vec<StaticId>, successors: Successors, source: LoopSource) -> Self {
        let places = linear_extension(&vertices, &successors);
        ControlFlow { vertices, successors, places, source }
    }

    /// That of a loop with one child.
    pub(crate) fn of_one(child: StaticId, source: LoopSource) -> Self {
        ControlFlow::new(vec![child], learned::in_one_order(1, &[]), source)
    }

    /// That of these children, ascending, each with the parts of a loop's code that it can be.
    pub(crate) fn of_code(parts: &[(StaticId, Vec<usize>)], code: &CodeFlow) -> Self {
        let n = parts.len();
        let mut successors = Successors::new(n + 1, n);
        for to in 0..n {
            let after = (0..n).filter(|&from| code.follows(&parts[from].1, &parts[to].1));
            after.chain([n]).for_each(|from| successors.add(from, to));
        }
        ControlFlow::new(parts.iter().map(|part| part.0).collect(), successors, LoopSource::Binary)
    }

    /// How it became known.
    pub fn source(&self) -> LoopSource {
        self.source
    }

    /// Whether `next` can run after `before` (`None`: at the start) in one iteration.
    #[cfg(test)]
    pub fn follows(&self, before: Option<StaticId>, next: StaticId) -> bool {
        let Some(next) = self.index(next) else { return false };
        match before.map(|id| self.index(id)) {
            None => self.successors.has(self.vertices.len(), next),
            Some(before) => before.is_some_and(|before| self.successors.has(before, next)),
        }
    }

    /// Algorithm 1: an iteration begins with each child that cannot follow the one before. An unknown child of which it is not
    /// known where it is called, as it was recorded without its caller, begins none.
    pub fn tag(&self, children: impl IntoIterator<Item = StaticId>) -> Tags {
        let mut found = Tags { tags: Vec::new(), n_unknown: 0 };
        // The row of the entry comes before the first child; behind an unknown one there is none.
        let (mut before, mut tag) = (Some(self.vertices.len()), 0);
        for child in children {
            let at = self.index(child);
            if at.is_none() && child.line().is_none() {
                found.tags.push(tag);
                found.n_unknown += 1;
                continue;
            }
            let follows = before.zip(at).is_some_and(|(before, at)| self.successors.has(before, at));
            tag += u32::from(!follows);
            found.tags.push(tag);
            found.n_unknown += u64::from(at.is_none());
            before = at;
        }
        found
    }

    fn index(&self, id: StaticId) -> Option<usize> {
        self.vertices.binary_search(&id).ok()
    }

    /// The order of two vertices in the linear extension; `None` if it does not know one of them.
    fn compare(&self, a: StaticId, b: StaticId) -> Option<Ordering> {
        Some(self.places[self.index(a)?].cmp(&self.places[self.index(b)?]))
    }
}

/// Position of each vertex: successors come later, else by source line, else by id.
fn linear_extension(vertices: &[StaticId], successors: &Successors) -> Vec<u32> {
    let key = |i: usize| (vertices[i].line().unwrap_or(u32::MAX), vertices[i], i);
    let mut n_before = vec![0u32; vertices.len()];
    for before in 0..vertices.len() {
        for after in successors.of(before) {
            n_before[after] += 1;
        }
    }
    let mut ready: BTreeSet<_> = (0..vertices.len()).filter(|&i| n_before[i] == 0).map(key).collect();
    let mut places = vec![0; vertices.len()];
    let mut place = 0;
    while let Some((_, _, at)) = ready.pop_first() {
        places[at] = place;
        place += 1;
        for after in successors.of(at) {
            n_before[after] -= 1;
            if n_before[after] == 0 {
                ready.insert(key(after));
            }
        }
    }
    places
}

/// The control flow of each construct that has one.
#[derive(Debug, Clone, Default)]
pub struct ControlFlows(pub BTreeMap<StaticId, ControlFlow>);

impl Order for ControlFlows {
    /// Inside of an iteration the loop is unknown, so the first construct that has both decides.
    fn compare(&self, parent: StaticId, a: StaticId, b: StaticId) -> Option<Ordering> {
        if parent == StaticId::Iteration {
            return self.0.values().find_map(|flow| flow.compare(a, b));
        }
        self.0.get(&parent)?.compare(a, b)
    }
}
