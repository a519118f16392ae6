//! Where the iterations of the loops of a sampled tree begin and end.

use super::{SampledNode, is_loop, neighbours};
use crate::control_flow::{Acceptance, ControlFlow, ControlFlows, Verdict, decide, learn};
use crate::node::{LoopSource, StaticId};
use ouzel_model::Ticks;
use rustc_hash::FxHashMap;

/// What becomes of an instance of a loop, a node with what is inside of it; `None` if so much is rejected that it becomes
/// a profile.
pub(super) fn verdict(
    instance: &[SampledNode],
    flow: &ControlFlow,
    acceptance: Acceptance,
) -> Option<Verdict> {
    let of_loop = instance[0].duration();
    let children = neighbours(&instance[1..]).map(|child| &child[0]);
    if !children.clone().any(|child| child.has_recorded)
        && acceptance.makes_a_profile(children.clone().map(SampledNode::duration), of_loop)
    {
        return None;
    }
    let tags = flow.tag(children.clone().map(|child| child.id));
    let durations: Vec<Ticks> = children.clone().map(SampledNode::duration).collect();
    let are_certain: Vec<bool> = children.map(|child| child.has_recorded).collect();
    let verdict = decide(&tags.tags, &durations, &|child| are_certain[child], of_loop, acceptance);
    Some(verdict).filter(|verdict| !verdict.becomes_profile)
}

/// The control flow of every loop in a tree, learned from the order of its children, whose lines are known.
pub(super) fn learn_flows(nodes: &[SampledNode], source: LoopSource) -> ControlFlows {
    let mut sequences: FxHashMap<StaticId, Instances> = FxHashMap::default();
    for (at, node) in nodes.iter().enumerate().filter(|(_, node)| is_loop(node.id) && 0 < node.n_inside) {
        sequences.entry(node.id).or_default().add(&nodes[at + 1..][..node.n_inside as usize]);
    }
    ControlFlows(sequences.into_iter().map(|(id, instances)| (id, instances.flow(source))).collect())
}

/// The instances of a loop: the children of each.
#[derive(Default)]
struct Instances {
    /// Instances with this child alone, as those of most inner loops, and their number.
    alone: Option<(StaticId, usize)>,
    others: Vec<Vec<StaticId>>,
}

impl Instances {
    fn add(&mut self, children: &[SampledNode]) {
        let first = &children[0];
        let is_alone = 1 + first.n_inside as usize == children.len();
        match &mut self.alone {
            Some((id, n)) if is_alone && *id == first.id => *n += 1,
            alone @ None if is_alone => *alone = Some((first.id, 1)),
            _ => self.others.push(neighbours(children).map(|child| child[0].id).collect()),
        }
    }

    fn flow(self, source: LoopSource) -> ControlFlow {
        if let (Some((id, _)), []) = (self.alone, self.others.as_slice()) {
            return ControlFlow::of_one(id, source);
        }
        let alone = self.alone.map(|(id, n)| ([id], n));
        let alone = alone.iter().flat_map(|(id, n)| std::iter::repeat_n(id.as_slice(), *n));
        learn(alone.chain(self.others.iter().map(Vec::as_slice)), source)
    }
}
