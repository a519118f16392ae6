//! From a sampled tree to one in relative form, loop by loop from the inside out.
//!
//! Law: durations stay what they were.

use super::evidence::Evidence;
use super::iterations::verdict;
use super::{SampledNode, add_durations, add_instance, is_loop, neighbours, next_of};
use crate::assemble::LoopRecord;
use crate::cluster::cluster_timed;
use crate::control_flow::{Acceptance, ControlFlow, ControlFlows, Iteration, Verdict};
use crate::iterations::{averages_of, numbered};
use crate::merger::Merger;
use crate::node::{Body, Gaps, LoopBody, LoopSource, Node, StaticId, Stats};
use crate::rows::LoopRows;
use crate::run_length::{REJECTED, Runs};
use ouzel_model::Ticks;

/// How the iterations of loops are found.
#[derive(Clone, Copy)]
pub(super) struct LoopRules<'a> {
    /// The control flow of each loop; one without stays a call.
    pub flows: &'a ControlFlows,
    /// When an iteration is believed.
    pub acceptance: Acceptance,
    /// Tells whether no iteration was missed.
    pub evidence: &'a Evidence<'a>,
    /// How a loop became known.
    pub known_by: &'a dyn Fn(StaticId) -> LoopSource,
    /// How iterations are clustered.
    pub merger: &'a Merger<'a>,
}

/// A tree in relative form.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RelativeTree {
    pub tree: Node,
    /// From its start to its end, in ticks.
    pub duration: f64,
    /// The loops with iterations that are in no other, in order of time.
    pub loops: Vec<LoopRecord>,
}

impl RelativeTree {
    /// The tree of these nodes.
    pub fn new(mut nodes: Vec<SampledNode>, rules: LoopRules<'_>) -> Self {
        let mut conversion = Conversion { rules, path: Vec::new(), is_in_loop: false, loops: Vec::new() };
        let (tree, duration) = conversion.node(&mut nodes);
        RelativeTree { tree, duration, loops: conversion.loops }
    }
}

/// A tree on its way to relative form. Parts of it are a node with what is inside of it, or neighbours.
struct Conversion<'a> {
    rules: LoopRules<'a>,
    /// The calls and loops around, without the root.
    path: Vec<StaticId>,
    is_in_loop: bool,
    loops: Vec<LoopRecord>,
}

impl Conversion<'_> {
    /// A node in relative form, and its duration.
    fn node(&mut self, nodes: &mut [SampledNode]) -> (Node, f64) {
        let node = &mut nodes[0];
        if let Some(folded) = node.folded.take() {
            let duration = folded.duration();
            return (*folded, duration);
        }
        let &mut SampledNode { id, first, end, n_inside, .. } = node;
        if id != StaticId::Root {
            self.path.push(id);
        }
        let flow = self.rules.flows.0.get(&id).filter(|_| is_loop(id) && 0 < n_inside);
        let timed = match flow {
            Some(flow) => self.of_loop(nodes, flow),
            None => self.in_order(id, (first, end), &mut nodes[1..]),
        };
        self.path.pop();
        timed
    }

    /// A call from start to end, with neighbours inside and the time between them.
    fn in_order(
        &mut self,
        id: StaticId,
        (start, end): (Ticks, Ticks),
        mut inside: &mut [SampledNode],
    ) -> (Node, f64) {
        let n = neighbours(inside).count();
        let (mut gaps, mut children) = (Gaps::with_capacity(n + 1), Vec::with_capacity(n));
        let (mut at, mut of_children) = (start, 0.0);
        while let Some(child) = next_of(&mut inside) {
            gaps.push(child[0].first.since(at).0 as f64);
            at = child[0].end;
            let (node, duration) = self.node(child);
            of_children += duration;
            children.push(node);
        }
        gaps.push(end.since(at).0 as f64);
        let duration = gaps.iter().sum::<f64>() + of_children;
        (Node { id, stats: Stats::one(duration), body: Body::Call { gaps, children } }, duration)
    }

    /// A loop with its iterations, or a profile of it.
    fn of_loop(&mut self, nodes: &mut [SampledNode], flow: &ControlFlow) -> (Node, f64) {
        let id = nodes[0].id;
        let Some(verdict) = verdict(nodes, flow, self.rules.acceptance) else {
            let mut profile = Node::no_instance(id);
            let duration = add_instance(nodes, &mut profile);
            return (profile, duration);
        };
        let is_outermost = !std::mem::replace(&mut self.is_in_loop, true);
        let (mut body, rows) = self.iterations(nodes, &verdict, flow);
        self.is_in_loop = !is_outermost;
        // That it is a loop was a guess, and there may be nothing to show.
        let is_shown = 0 < rows.n || !matches!(id, StaticId::FoundLoop { .. });
        if is_outermost && is_shown {
            self.loops.push(LoopRecord {
                path: self.path.clone(),
                source: body.source,
                cfg_source: body.cfg_source,
                n_clusters: body.clusters.len() as u32,
                accepted: rows.n,
                rejected: body.rejected,
                is_estimate: body.is_estimate,
                rows,
            });
        }
        let whole = nodes[0].duration().0 as f64;
        body.gap = (whole - body.duration()).max(0.0);
        let node = Node::of_loop(id, body);
        let duration = node.duration();
        (node, duration)
    }

    /// The loop, without time outside of iterations, and when these were.
    fn iterations(
        &mut self,
        nodes: &mut [SampledNode],
        verdict: &Verdict,
        flow: &ControlFlow,
    ) -> (LoopBody, LoopRows) {
        let (of_loop, mut inside) = nodes.split_first_mut().expect("a node");
        let LoopRules { evidence, known_by, merger, .. } = self.rules;
        let mut body = LoopBody::empty(known_by(of_loop.id), flow.source());
        body.rejected = verdict.n_rejected;
        body.is_estimate = 0 < verdict.n_rejected;
        let mut rows = LoopRows::default();
        let mut accepted = Vec::with_capacity(verdict.n_accepted as usize);
        for iteration in &verdict.iterations {
            let n = neighbours(inside).take(iteration.children.len()).map(<[_]>::len).sum();
            let (calls, behind) = std::mem::take(&mut inside).split_at_mut(n);
            inside = behind;
            body.is_estimate = body.is_estimate || !evidence.shows_all(of_loop.id, calls);
            if iteration.is_accepted {
                accepted.push(self.iteration(calls, &mut rows));
            } else {
                add_all(calls, &mut body.profiles);
            }
        }
        let n = accepted.len();
        let (clusters, cluster_of) = numbered(averages_of(cluster_timed(accepted, merger)), n);
        let mut cluster_of = cluster_of.into_iter();
        let of = |iteration: &Iteration| {
            let of = iteration.is_accepted.then(|| cluster_of.next());
            of.flatten().unwrap_or(REJECTED)
        };
        body.map = Runs::from_values(verdict.iterations.iter().map(of));
        body.clusters = clusters;
        rows.set_clusters(&body.map);
        (body, rows)
    }

    /// An iteration of these calls, and its duration.
    fn iteration(&mut self, calls: &mut [SampledNode], rows: &mut LoopRows) -> (Node, f64) {
        let start = calls[0].first;
        let end = neighbours(calls).last().expect("an iteration has calls")[0].end;
        rows.push(end.0, end.since(start).0);
        self.in_order(StaticId::Iteration, (start, end), calls)
    }
}

/// Adds the durations of neighbours to profiles.
fn add_all(mut nodes: &mut [SampledNode], profiles: &mut Vec<Node>) {
    while let Some(next) = next_of(&mut nodes) {
        add_durations(next, profiles);
    }
}
