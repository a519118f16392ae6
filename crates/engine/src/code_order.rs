//! What the code of the program allows to run after what, by regions.

use ouzel_model::{CodeFlow, Definitions, RegionId};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The flows of the functions and loops of a trace.
#[derive(Debug, Default)]
pub(crate) struct CodeOrder {
    flows: FxHashMap<RegionId, CodeFlow>,
    /// For each region its name; none if there are no flows.
    names: Vec<Arc<str>>,
}

impl CodeOrder {
    pub fn new(definitions: &Definitions) -> Self {
        if definitions.code_flows.is_empty() {
            return CodeOrder::default();
        }
        CodeOrder {
            flows: definitions.code_flows.iter().map(|(&region, flow)| (region, flow.clone())).collect(),
            names: definitions.regions.iter().map(|region| region.name.clone()).collect(),
        }
    }

    #[cfg(test)]
    pub fn of(flows: Vec<(RegionId, CodeFlow)>, n_regions: usize) -> Self {
        CodeOrder { flows: flows.into_iter().collect(), names: vec![Arc::from(""); n_regions] }
    }

    /// The parts of a function or loop that a call of a region can be, or an inner loop.
    pub fn parts(&self, of: RegionId, line: Option<u32>, is_loop: bool, called: RegionId) -> Vec<usize> {
        let flow = self.flows.get(&of).zip(self.names.get(called.index()));
        flow.map_or_else(Vec::new, |(flow, name)| flow.parts_of(line, is_loop, name))
    }

    /// Whether one of these parts can run after one of those in the same call, or in the same iteration.
    pub fn follows(&self, of: RegionId, before: &[usize], next: &[usize]) -> bool {
        self.flows.get(&of).is_some_and(|flow| flow.follows(before, next))
    }
}
