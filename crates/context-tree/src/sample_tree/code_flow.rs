//! Control flow of the loops of one location from the code of the program, where that is known.
//!
//! Law: children of a loop that its code does not explain stay unknown, so that each of them begins an iteration if it is
//! known where it is called; if most are unknown, the code is not that of this loop, and the order of samples is used.

use super::{SampledNode, neighbours};
use crate::control_flow::{ControlFlow, ControlFlows};
use crate::node::StaticId;
use ouzel_model::{CodeFlow, Definitions, NOT_RUNNING, RegionId, RegionRole};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the code says of loops, and what its names refer to.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct CodeFlows {
    loops: BTreeMap<RegionId, CodeFlow>,
    functions: BTreeMap<RegionId, CodeFlow>,
    /// For each region its name.
    names: Vec<Arc<str>>,
    /// Regions that are loops, with their lines.
    lines: BTreeMap<RegionId, Option<u32>>,
}

impl CodeFlows {
    pub fn new(definitions: &Definitions) -> Self {
        let flows = &definitions.code_flows;
        if flows.is_empty() {
            return CodeFlows::default();
        }
        let loops =
            definitions.regions.iter().enumerate().filter(|(_, region)| region.role == RegionRole::Loop);
        let lines: BTreeMap<RegionId, Option<u32>> =
            loops.map(|(id, region)| (RegionId::from_index(id), region.line)).collect();
        let flows = flows.iter().map(|(&id, flow)| (id, flow.clone()));
        let (loops, functions) = flows.partition(|(region, _)| lines.contains_key(region));
        CodeFlows {
            loops,
            functions,
            names: definitions.regions.iter().map(|region| region.name.clone()).collect(),
            lines,
        }
    }

    /// Whether the code says nothing.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    fn of(&self, id: StaticId) -> Option<&CodeFlow> {
        match id {
            StaticId::SourceLoop { region, .. } => self.loops.get(&region),
            _ => None,
        }
    }

    /// Whether it is a loop of the code.
    pub fn has(&self, id: StaticId) -> bool {
        self.of(id).is_some()
    }

    /// Whether no iteration of a loop, or call of a function, can do without what this is an instance of.
    pub fn is_always(&self, of: StaticId, part: StaticId) -> bool {
        let flow = self.of(of).or_else(|| of.region().and_then(|region| self.functions.get(&region)));
        flow.is_some_and(|flow| flow.is_always(&self.parts(flow, part)))
    }

    /// The parts of a loop or function that something can be an instance of.
    fn parts(&self, flow: &CodeFlow, id: StaticId) -> Vec<usize> {
        let name = |region: RegionId| self.names.get(region.index()).map_or("", |name| name);
        match id {
            StaticId::SourceLoop { line, .. } => flow.parts_of(Some(line), true, ""),
            id => id.region().map_or_else(Vec::new, |region| flow.parts_of(id.line(), false, name(region))),
        }
    }

    /// Whether code calls it. That a thread does not run is no part of a loop, and tells no iterations apart.
    pub fn is_call(&self, region: RegionId) -> bool {
        self.names.get(region.index()).is_none_or(|name| **name != *NOT_RUNNING)
    }

    /// What a call of a region from a line is an instance of.
    pub fn id(&self, region: RegionId, line: Option<u32>) -> StaticId {
        match (self.lines.get(&region), line) {
            (Some(own), line) => StaticId::SourceLoop { region, line: own.or(line).unwrap_or(0) },
            (None, Some(line)) => StaticId::CallSite { region, line },
            (None, None) => StaticId::Region(region),
        }
    }

    /// Whether loops of the code are in a tree, and calls right inside of the outermost of them have kept their order.
    pub fn shows_loops(&self, mut nodes: &[SampledNode]) -> bool {
        let mut shows = false;
        while let Some((node, behind)) = nodes.split_first() {
            nodes = behind;
            if self.has(node.id) {
                let (inside, behind) = nodes.split_at(node.n_inside as usize);
                if neighbours(inside).any(|child| child[0].id == StaticId::Folded) {
                    return false;
                }
                (shows, nodes) = (true, behind);
            }
        }
        shows
    }

    /// Replaces what was learned of the loops in a tree by what the code says.
    pub fn replace(&self, nodes: &[SampledNode], learned: &mut ControlFlows) {
        if self.is_empty() {
            return;
        }
        let mut children: BTreeMap<StaticId, BTreeSet<StaticId>> = BTreeMap::new();
        for (at, node) in nodes.iter().enumerate().filter(|(_, node)| self.has(node.id)) {
            let inside = &nodes[at + 1..][..node.n_inside as usize];
            children.entry(node.id).or_default().extend(neighbours(inside).map(|child| child[0].id));
        }
        for (id, children) in children {
            let flow = self.of(id).and_then(|flow| self.flow(flow, &children));
            if let Some(flow) = flow {
                learned.0.insert(id, flow);
            }
        }
    }

    fn flow(&self, flow: &CodeFlow, children: &BTreeSet<StaticId>) -> Option<ControlFlow> {
        let known = children.iter().map(|id| (*id, self.parts(flow, *id)));
        let known: Vec<(StaticId, Vec<usize>)> = known.filter(|(_, parts)| !parts.is_empty()).collect();
        if known.is_empty() || 2 * known.len() < children.len() {
            return None;
        }
        Some(ControlFlow::of_code(&known, flow))
    }
}
