//! Loops of one location whose iterations call the same in the same order: most short loops.
//!
//! Such iterations are columns of times, and Algorithm 3 compares and averages the columns instead of trees.
//! Law: the result is that over trees, up to the rounding of sums in another order.

use crate::cluster::Clustering;
use crate::diff::ratio;
use crate::merge::SideWeights;
use crate::merger::{ClusterRule, Merger};
use crate::node::{Body, Node, Stats};
use smallvec::SmallVec;

/// Whether all of them call the same in the same order, and no loops or profiles are inside.
pub(crate) fn are_columns(iterations: &[Node]) -> bool {
    let Some((first, others)) = iterations.split_first() else { return false };
    others.iter().all(|other| is_same(first, other)) && (!others.is_empty() || is_same(first, first))
}

fn is_same(a: &Node, b: &Node) -> bool {
    a.id == b.id
        && match (&a.body, &b.body) {
            (Body::Call { children: a, .. }, Body::Call { children: b, .. }) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
            }
            _ => false,
        }
}

/// An iteration, or the average of iterations.
#[derive(Debug)]
pub(crate) struct Column {
    times: SmallVec<[f64; 6]>,
    duration: f64,
    n: f64,
}

impl Column {
    /// That of one iteration.
    pub fn new(iteration: &Node) -> Self {
        let mut times = SmallVec::new();
        add_times(iteration, &mut times);
        Column { duration: times.iter().sum(), times, n: 1.0 }
    }

    /// Gives an iteration that calls the same these times.
    pub fn fill(&self, iteration: &mut Node) {
        set_times(iteration, &mut self.times.iter().copied());
    }
}

fn add_times(node: &Node, times: &mut SmallVec<[f64; 6]>) {
    let Body::Call { gaps, children } = &node.body else { return };
    times.extend_from_slice(gaps);
    for child in children {
        add_times(child, times);
    }
}

/// Returns the duration.
fn set_times(node: &mut Node, times: &mut impl Iterator<Item = f64>) -> f64 {
    let Body::Call { gaps, children } = &mut node.body else { return 0.0 };
    let mut duration = 0.0;
    for (gap, time) in gaps.iter_mut().zip(times.by_ref()) {
        *gap = time;
        duration += time;
    }
    for child in children {
        duration += set_times(child, times);
    }
    node.stats = Stats::one(duration);
    duration
}

/// Algorithm 3 over columns.
pub(crate) struct Columns<'m, 'a>(pub &'m Merger<'a>);

impl Clustering for Columns<'_, '_> {
    type Cluster = Column;

    fn rule(&self) -> ClusterRule {
        self.0.rule
    }

    fn ratio(&mut self, a: &mut Column, b: &mut Column) -> f64 {
        let diff: f64 = a.times.iter().zip(&b.times).map(|(&a, &b)| self.0.differ.gap(a, b)).sum();
        ratio(diff, a.duration + b.duration)
    }

    fn unite(&mut self, a: &mut Column, b: Column) {
        let w = SideWeights { left: a.n, right: b.n };
        for (time, other) in a.times.iter_mut().zip(b.times) {
            *time = w.mean(*time, other);
        }
        a.n += b.n;
        a.duration = a.times.iter().sum();
    }
}
