//! Golden values and laws of comparing, averaging and clustering.

mod application;
mod golden;
mod halving;
mod laws;
mod sampled;
mod simulation;
mod streaming;

use crate::align::{LookAhead, Order};
use crate::cluster::cluster;
use crate::diff::{Differ, Dummies};
use crate::merger::{ClusterRule, Merger, Over};
use crate::node::{Body, IterationCluster, LoopBody, Node};
use crate::run_length::Runs;
use crate::sample_tree::LcaQuality;
use crate::*;
use ouzel_model::RegionId;

/// The id of region `n`.
fn id(n: u32) -> StaticId {
    StaticId::Region(RegionId(n))
}

/// A loop of one location over leaf iterations of these durations, clustered.
fn loop_of(durations: &[f64], order: &dyn Order) -> Node {
    let iterations = durations.iter().map(|&duration| Node::leaf(StaticId::Iteration, duration)).collect();
    loop_node(iterations, order)
}

/// A loop of one location over these iterations, clustered.
fn loop_node(iterations: Vec<Node>, order: &dyn Order) -> Node {
    let n = iterations.len();
    let clusters = cluster(iterations, &Merger::exact(order, Over::Iterations));
    let mut of = vec![0; n];
    for (i, (members, _)) in clusters.iter().enumerate() {
        for &member in members {
            of[member] = i as u32;
        }
    }
    let clusters = clusters
        .into_iter()
        .map(|(members, cluster)| IterationCluster { n: members.len() as u64, tree: cluster.tree })
        .collect();
    let empty = LoopBody::empty(LoopSource::TandemRepeat, LoopSource::TandemRepeat);
    let body = LoopBody { clusters, map: Runs::from_values(of), ..empty };
    Node::of_loop(StaticId::FoundLoop { key: RegionId(0), level: 0 }, body)
}
