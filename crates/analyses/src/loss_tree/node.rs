//! A tree of losses: sums, significant paths, segments by position.
//!
//! Nodes are in pre-order: a parent comes directly before all of its descendants. Law: this module does not
//! depend on what the nodes represent or where their durations are from.

use super::diagnosis::part_of;
use super::thresholds::{Significance, Thresholds};
use crate::MeanTicks;
use crate::imbalance::Loss;
use crate::semantics::Category;
use crate::spread::ratio;
use ouzel_model::Ticks;

/// A call path with its loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossNode {
    /// The index of its parent, less than its own.
    pub parent: Option<usize>,
    /// What its time is spent on.
    pub category: Category,
    /// What is lost in it, callees included. Of waiting and synchronisation, callees excluded.
    pub loss: Loss,
}

/// For each node the loss of the leaves below it (paper, §4.3.2). A leaf has its own, and so have nodes that wait or
/// synchronise beside those below.
pub fn sums(nodes: &[LossNode]) -> Vec<Loss> {
    let mut is_leaf = vec![true; nodes.len()];
    nodes.iter().filter_map(|node| node.parent).for_each(|parent| is_leaf[parent] = false);
    let own = |(node, &leaf): (&LossNode, &bool)| {
        let counts = leaf || node.category != Category::Computation;
        if counts { node.loss } else { Loss::none(node.loss.wait.n_processes) }
    };
    let mut sums: Vec<Loss> = nodes.iter().zip(&is_leaf).map(own).collect();
    for (i, node) in nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            let below = sums[i];
            sums[parent].add(&below);
        }
    }
    sums
}

/// For each node whether its imbalance, or its waiting, is worth showing and its own: the uppermost of each branch.
pub fn significant(nodes: &[LossNode], sums: &[Loss], run: Ticks, thresholds: &Thresholds) -> Vec<bool> {
    let mut chosen = vec![false; nodes.len()];
    let kinds: [fn(&Loss) -> MeanTicks; 2] = [|loss| loss.imbalance, |loss| loss.wait];
    for kind in kinds {
        let mut is_below = vec![false; nodes.len()];
        for (i, node) in nodes.iter().enumerate() {
            is_below[i] = node.parent.is_some_and(|parent| is_below[parent]);
            if !is_below[i] && is_origin(kind(&node.loss), kind(&sums[i]), run, thresholds) {
                chosen[i] = true;
                is_below[i] = true;
            }
        }
    }
    chosen
}

/// Whether a loss is worth showing, and not mostly one of the paths below. Nothing is never worth showing.
fn is_origin(own: MeanTicks, sum: MeanTicks, run: Ticks, thresholds: &Thresholds) -> bool {
    let is_enough = match thresholds.significance {
        Significance::Own(least) => least < part_of(own, run),
        Significance::Sum(least) => least < part_of(sum, run),
    };
    // Without any loss below, all of it is the path's own.
    let is_own = ratio(own.sum, sum.sum).is_none_or(|part| thresholds.origin_ratio < part);
    0 < own.sum && is_enough && is_own
}
