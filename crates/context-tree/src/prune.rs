//! Keeps an average of unlike trees within a bound.
//!
//! An average has the calls of all averaged trees. Calls of one tree in a thousand are a
//! thousand times shorter in it: the shortest are folded into a profile of their caller.
//! Law: the durations of the whole tree and of every remaining node are preserved.
//! Single trees are bounded when they are made ([`fold_short`](crate::fold_short)).

use crate::node::{Body, Gaps, Node, StaticId, Stats, add_profile};
use smallvec::smallvec;

/// Folds the shortest calls until there are about `n_max` nodes; the leaves of profiles are not counted.
pub(crate) fn prune(node: &mut Node, n_max: usize) {
    if node.n_nodes() <= n_max {
        return;
    }
    let mut durations = Vec::new();
    collect(node, &mut durations);
    if durations.len() <= n_max {
        return;
    }
    let (_, &mut limit, _) = durations.select_nth_unstable_by(n_max, |a, b| b.total_cmp(a));
    fold(node, limit);
}

/// The duration of every child of a call.
fn collect(node: &Node, durations: &mut Vec<f64>) {
    match &node.body {
        Body::Call { children, .. } => {
            for child in children {
                durations.push(child.duration());
                collect(child, durations);
            }
        }
        Body::Loop(body) => {
            for cluster in &body.clusters {
                collect(&cluster.tree, durations);
            }
        }
        Body::Profile { .. } => {}
    }
}

/// Folds every call that is not longer than `limit`.
fn fold(node: &mut Node, limit: f64) {
    match &mut node.body {
        Body::Call { gaps, children } => {
            if children.iter().any(|child| is_short(child, limit)) {
                (*gaps, *children) = folded(std::mem::take(gaps), std::mem::take(children), limit);
            }
            for child in children {
                fold(child, limit);
            }
        }
        Body::Loop(body) => {
            for cluster in &mut body.clusters {
                fold(&mut cluster.tree, limit);
            }
        }
        Body::Profile { .. } => {}
    }
}

fn is_short(child: &Node, limit: f64) -> bool {
    child.id != StaticId::Folded && child.duration() <= limit
}

/// Gaps and children without the short ones, whose profile comes first.
fn folded(gaps: Gaps, children: Vec<Node>, limit: f64) -> (Gaps, Vec<Node>) {
    let mut gaps = gaps.into_iter();
    let mut pending = gaps.next().unwrap_or(0.0);
    let (mut new_gaps, mut kept) = (smallvec![0.0], Vec::new());
    let mut profile = Node::profile(StaticId::Folded, 0.0, 1.0, Vec::new());
    profile.stats = Stats::default();
    for (child, gap) in children.into_iter().zip(gaps) {
        if child.id == StaticId::Folded || is_short(&child, limit) {
            add_to(&mut profile, child);
            pending += gap;
        } else {
            new_gaps.push(std::mem::replace(&mut pending, gap));
            kept.push(child);
        }
    }
    new_gaps.push(pending);
    kept.insert(0, profile);
    (new_gaps, kept)
}

/// Adds a child to the profile of its caller; if it was folded before, its children are added.
fn add_to(profile: &mut Node, child: Node) {
    let Stats { n, sum, min, max } = child.stats;
    let stats = &mut profile.stats;
    *stats = Stats { n: stats.n.max(n), sum: stats.sum + sum, min: stats.min + min, max: stats.max + max };
    let Body::Profile { self_time, children, .. } = &mut profile.body else { return };
    let child = child.into_profile();
    match (child.id, child.body) {
        (StaticId::Folded, Body::Profile { self_time: own, children: inside, .. }) => {
            *self_time += own;
            for node in inside {
                add_profile(children, node);
            }
        }
        (id, body) => add_profile(children, Node { id, stats: child.stats, body }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_model::RegionId;

    #[test]
    fn the_longest_are_kept_and_nothing_is_lost() {
        let leaf = |i: u32| Node::leaf(StaticId::Region(RegionId(i % 7)), f64::from(i % 100));
        let inner = Node::call(StaticId::Region(RegionId(8)), vec![1.0; 301], (0..300).map(leaf).collect());
        let mut children: Vec<Node> = (0..200).map(leaf).collect();
        children.push(inner);
        let mut node = Node::call(StaticId::Root, vec![2.0; 202], children);
        let (duration, stats) = (node.duration(), node.stats);
        for n_max in [100, 20] {
            prune(&mut node, n_max);
            assert!((node.duration() - duration).abs() < 1e-9);
            assert!(node.n_nodes() <= n_max + 2 * 8 + 2, "{}", node.n_nodes());
            assert_eq!(node.children()[0].id, StaticId::Folded);
            let folded = &node.children()[0];
            assert!((folded.stats.mean() - folded.duration()).abs() < 1e-9);
            assert_eq!(folded.stats.n, 1);
        }
        assert_eq!(node.stats, stats);
    }
}
