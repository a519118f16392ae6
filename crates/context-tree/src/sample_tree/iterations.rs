//! Iterations of the loops of a sampled tree: from control flow to nodes of their own.
//!
//! Law: durations stay what they were. Loops are done from the inside out.

use super::evidence::Evidence;
use super::{Inside, SampledIterations, SampledNode, is_loop};
use crate::control_flow::{Acceptance, ControlFlow, ControlFlows, Iteration, Verdict, decide, learn};
use crate::node::{LoopSource, StaticId};
use ouzel_model::Ticks;
use rustc_hash::FxHashMap;

/// Gives every loop whose control flow is known its iterations. Loops without children are left as they are. `evidence`
/// tells whether no iteration was missed, `known_by` how a loop became known.
pub(super) fn identify_loops(
    node: &mut SampledNode,
    flows: &ControlFlows,
    (acceptance, evidence): (Acceptance, &Evidence<'_>),
    known_by: &dyn Fn(StaticId) -> LoopSource,
) {
    let Inside::Ordered(children) = &mut node.inside else { return };
    for child in children.iter_mut() {
        identify_loops(child, flows, (acceptance, evidence), known_by);
    }
    if !is_loop(node.id) || children.is_empty() {
        return;
    }
    if let Some(flow) = flows.0.get(&node.id) {
        split(node, flow, (acceptance, evidence), known_by);
    }
}

/// Interposes iterations between a loop and its children.
fn split(
    node: &mut SampledNode,
    flow: &ControlFlow,
    (acceptance, evidence): (Acceptance, &Evidence<'_>),
    known_by: &dyn Fn(StaticId) -> LoopSource,
) {
    let inside = std::mem::replace(&mut node.inside, Inside::Ordered(Vec::new()));
    let Inside::Ordered(children) = inside else {
        unreachable!("only loops with children in order are split")
    };
    let Some(verdict) = verdict(node, &children, flow, acceptance) else {
        let ordered = SampledNode { inside: Inside::Ordered(children), ..node.clone() };
        node.inside = Inside::Profile(ordered.into_profile());
        return;
    };
    let of_iteration =
        |iteration: &Iteration| evidence.shows_all(node.id, &children[iteration.children.clone()]);
    let is_estimate = 0 < verdict.n_rejected || !verdict.iterations.iter().all(of_iteration);
    let mut children = children.into_iter();
    let is_accepted = verdict.iterations.iter().map(|iteration| iteration.is_accepted).collect();
    let (mut accepted, mut profiles) = (Vec::with_capacity(verdict.n_accepted as usize), Vec::new());
    for iteration in verdict.iterations {
        let of_iteration = children.by_ref().take(iteration.children.len());
        if iteration.is_accepted {
            accepted.extend(iteration_node(of_iteration.collect()));
        } else {
            of_iteration.for_each(|mut child| {
                child.add_to(&mut profiles);
            });
        }
    }
    let (n_rejected, source, cfg_source) = (verdict.n_rejected, known_by(node.id), flow.source());
    let inside =
        SampledIterations { accepted, profiles, is_accepted, n_rejected, is_estimate, source, cfg_source };
    node.inside = Inside::Iterations(Box::new(inside));
}

/// What becomes of an instance of a loop with these children; `None` if so much is rejected that it becomes a profile.
fn verdict(
    node: &SampledNode,
    children: &[SampledNode],
    flow: &ControlFlow,
    acceptance: Acceptance,
) -> Option<Verdict> {
    let is_certain = |child: usize| children[child].has_recorded;
    if !(0..children.len()).any(is_certain)
        && acceptance.makes_a_profile(children.iter().map(SampledNode::duration), node.duration())
    {
        return None;
    }
    let tags = flow.tag(children.iter().map(|child| child.id));
    let durations: Vec<Ticks> = children.iter().map(SampledNode::duration).collect();
    let verdict = decide(&tags.tags, &durations, &is_certain, node.duration(), acceptance);
    Some(verdict).filter(|verdict| !verdict.becomes_profile)
}

/// The iteration of these children; none of none.
fn iteration_node(children: Vec<SampledNode>) -> Option<SampledNode> {
    let (first, last) = (children.first()?, children.last()?);
    Some(SampledNode {
        id: StaticId::Iteration,
        first: first.first,
        last: last.last,
        start: first.start,
        end: last.end,
        n_samples: children.iter().map(|child| child.n_samples).sum(),
        continuity: children.iter().map(|child| child.continuity).max().unwrap_or_default(),
        has_recorded: children.iter().any(|child| child.has_recorded),
        is_recorded: false,
        inside: Inside::Ordered(children),
    })
}

/// The control flow of every loop in these trees, learned from the order of their children, whose lines are known.
pub(crate) fn learn_flows<'t>(
    trees: impl IntoIterator<Item = &'t SampledNode>,
    source: LoopSource,
) -> ControlFlows {
    let mut sequences: FxHashMap<StaticId, Instances> = FxHashMap::default();
    let mut pending: Vec<&SampledNode> = trees.into_iter().collect();
    while let Some(node) = pending.pop() {
        let Inside::Ordered(children) = &node.inside else { continue };
        if is_loop(node.id) && !children.is_empty() {
            sequences.entry(node.id).or_default().add(children);
        }
        pending.extend(children);
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
        match (children, &mut self.alone) {
            ([child], Some((id, n))) if *id == child.id => *n += 1,
            ([child], alone @ None) => *alone = Some((child.id, 1)),
            _ => self.others.push(children.iter().map(|child| child.id).collect()),
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
