//! What sets one cluster of locations apart from another: the call paths in which their time differs most.
//!
//! ```text
//! tree of a cluster ──► exclusive time by call path ──┐
//! tree of another   ──► exclusive time by call path ──┴──► differences, largest first
//! ```
//!
//! Loops and iterations dissolve: what an iteration spends in a call path counts for each of
//! its iterations. Law: the differences add up to the difference of the trees' durations.
//! Not here: how clusters are made (`context_tree`), what differences cost.

use ouzel_analyses::context_tree::{Body, IterationCluster, Node, StaticId};
use ouzel_model::{Definitions, Ticks};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Exclusive time in one call path, in two clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathDifference {
    /// Regions from the outermost to the one that differs; empty is code outside of recorded regions.
    pub call_path: Vec<Arc<str>>,
    /// Exclusive time in the average tree of the cluster, in nanoseconds.
    pub time_ns: u64,
    /// Exclusive time in the average tree of the other, in nanoseconds.
    pub reference_ns: u64,
}

impl PathDifference {
    /// `|time − reference|`, in nanoseconds.
    pub fn size_ns(&self) -> u64 {
        self.time_ns.abs_diff(self.reference_ns)
    }
}

/// The call paths in which `tree` differs from `reference`, most first; equal differences in order of the path.
pub fn cluster_differences(tree: &Node, reference: &Node, definitions: &Definitions) -> Vec<PathDifference> {
    let mut times: BTreeMap<Vec<StaticId>, [f64; 2]> = BTreeMap::new();
    for (side, root) in [tree, reference].into_iter().enumerate() {
        add_times(root, side, &mut times);
    }
    let ns = |ticks: f64| definitions.clock.ns_from_ticks(Ticks(ticks.round().max(0.0) as u64));
    let difference = |(path, [time, reference]): (Vec<StaticId>, [f64; 2])| PathDifference {
        call_path: path.iter().map(|id| Arc::from(id.name(definitions))).collect(),
        time_ns: ns(time),
        reference_ns: ns(reference),
    };
    let mut all: Vec<PathDifference> = times.into_iter().map(difference).collect();
    all.retain(|difference| 0 < difference.size_ns());
    all.sort_by(|a, b| (b.size_ns(), &a.call_path).cmp(&(a.size_ns(), &b.call_path)));
    all
}

/// A node to be looked at: its weight is the number of instances that it stands for.
struct Visit<'a> {
    node: &'a Node,
    weight: f64,
    /// The call path down to the node itself.
    path: Vec<StaticId>,
}

/// Adds exclusive times by path. An explicit stack: call paths may be deep.
fn add_times<'a>(root: &'a Node, side: usize, times: &mut BTreeMap<Vec<StaticId>, [f64; 2]>) {
    let mut stack = vec![Visit { node: root, weight: 1.0, path: Vec::new() }];
    while let Some(Visit { node, weight, path }) = stack.pop() {
        let below = |node: &'a Node, weight| {
            let mut path = path.clone();
            path.extend(own_step(node));
            Visit { node, weight, path }
        };
        let own = match &node.body {
            Body::Call { gaps, children } => {
                stack.extend(children.iter().map(|child| below(child, weight)));
                gaps.iter().sum::<f64>()
            }
            Body::Profile { self_time, children, .. } => {
                stack.extend(children.iter().map(|child| below(child, weight)));
                *self_time
            }
            Body::Loop(body) => {
                let iterations =
                    body.clusters.iter().map(|IterationCluster { n, tree }| (tree, weight * *n as f64));
                stack.extend(iterations.map(|(tree, weight)| below(tree, weight)));
                stack.extend(body.profiles.iter().map(|profile| below(profile, weight)));
                body.gap
            }
        };
        times.entry(path).or_default()[side] += own * weight;
    }
}

/// What a node adds to the call path: loops and iterations are not called.
fn own_step(node: &Node) -> Option<StaticId> {
    match node.id {
        StaticId::Region(_) | StaticId::CallSite { .. } | StaticId::Folded => Some(node.id),
        StaticId::Root | StaticId::SourceLoop { .. } | StaticId::FoundLoop { .. } | StaticId::Iteration => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_analyses::context_tree::{LoopBody, LoopSource, Runs};
    use ouzel_model::RegionId;
    use ouzel_model::TraceSource;
    use ouzel_testkit::ToyTrace;

    /// `main` with three iterations that call `work` for `work` ticks each, then `output` for `output` ticks.
    fn tree(work: f64, output: f64) -> Node {
        let iteration = Node::call(
            StaticId::Iteration,
            vec![0.0, 1.0],
            vec![Node::leaf(StaticId::Region(RegionId(1)), work)],
        );
        let body = LoopBody {
            source: LoopSource::TandemRepeat,
            gap: 0.0,
            clusters: vec![IterationCluster { n: 3, tree: iteration }],
            map: Runs::from_values([0, 0, 0]),
            profiles: Vec::new(),
            rejected: 0,
        };
        let steps = Node::of_loop(StaticId::FoundLoop { key: RegionId(1), level: 0 }, body);
        let output = Node::leaf(StaticId::Region(RegionId(2)), output);
        let main = Node::call(StaticId::Region(RegionId(0)), vec![5.0, 0.0, 5.0], vec![steps, output]);
        Node::call(StaticId::Root, vec![0.0, 0.0], vec![main])
    }

    #[test]
    fn the_largest_difference_comes_first_and_loops_dissolve() {
        let toy =
            ToyTrace::new("0: enter main @0, enter work @1, leave @2, enter output @3, leave @4, leave @5");
        let (here, there) = (tree(10.0, 4.0), tree(12.0, 0.0));
        let found = cluster_differences(&here, &there, toy.definitions());
        let path = |names: &[&str]| names.iter().map(|&name| Arc::from(name)).collect::<Vec<Arc<str>>>();
        assert_eq!(
            found,
            [
                PathDifference { call_path: path(&["main", "work"]), time_ns: 30, reference_ns: 36 },
                PathDifference { call_path: path(&["main", "output"]), time_ns: 4, reference_ns: 0 },
            ]
        );
        let sum = |side: fn(&PathDifference) -> u64| found.iter().map(side).sum::<u64>() as f64;
        let difference = sum(|d| d.time_ns) - sum(|d| d.reference_ns);
        assert!((difference - (here.duration() - there.duration())).abs() < 1e-9);
        assert_eq!(cluster_differences(&here, &here, toy.definitions()), []);
    }
}
