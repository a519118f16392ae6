//! Locations that are alike, with their averaged tree.

use crate::assemble::LoopRecord;
use crate::cluster::Weighted;
use crate::node::Node;
use crate::sample_tree::{LcaQuality, SampledLocation};
use ouzel_model::Ticks;
use serde::{Deserialize, Serialize};

/// Locations of a peer group that are alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alike {
    /// Indices in the peer group, ascending.
    pub members: Vec<u32>,
    /// Their average.
    pub average: Weighted,
    /// The loops of the first member.
    pub loops: Vec<LoopRecord>,
    /// The longest of the members' median intervals between samples, in ticks; 0 if all have exact events.
    pub period: u64,
    /// What is known about instances, at worst.
    pub quality: LcaQuality,
}

impl Alike {
    /// One location with exact events.
    pub fn one(member: u32, tree: Node, loops: Vec<LoopRecord>) -> Self {
        let average = Weighted::new(tree, 1.0, 0.0);
        Alike { members: vec![member], average, loops, period: 0, quality: LcaQuality::Exact }
    }

    /// One location with samples, taken every `period`, beside recorded calls.
    pub fn beside_calls(member: u32, tree: Node, loops: Vec<LoopRecord>, period: Ticks) -> Self {
        let average = Weighted::new(tree, 1.0, period.0 as f64);
        Alike { members: vec![member], average, loops, period: period.0, quality: LcaQuality::UpperBound }
    }

    /// One location with samples alone.
    pub fn sampled(member: u32, samples: SampledLocation) -> Self {
        let SampledLocation { tree, duration, loops, period, quality, .. } = samples;
        let average = Weighted::one(tree, duration, period.0 as f64);
        Alike { members: vec![member], average, loops, period: period.0, quality }
    }
}
