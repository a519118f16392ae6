//! The machine the program ran on: machine → node → socket → … .

use crate::SystemNodeId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One node of the system tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemNode {
    /// Its name, e.g. the host name.
    pub name: Arc<str>,
    /// Its class as the tracer wrote it, e.g. `machine`, `node`, `socket`.
    pub class: Arc<str>,
    /// What it is part of; `None` at a root.
    pub parent: Option<SystemNodeId>,
    /// Whether the tracer marked it as a domain of shared memory, i.e. a compute node.
    pub shared_memory: bool,
}

/// The tree, by parents. A trace may hold several roots or none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemTree {
    /// The nodes, in the order of definition.
    pub nodes: Vec<SystemNode>,
}

impl SystemTree {
    /// The compute nodes: those marked as shared-memory domains, else those of class `node`.
    pub fn compute_nodes(&self) -> Vec<SystemNodeId> {
        let pick = |test: &dyn Fn(&SystemNode) -> bool| -> Vec<SystemNodeId> {
            self.nodes
                .iter()
                .enumerate()
                .filter(|(_, node)| test(node))
                .map(|(i, _)| SystemNodeId::from_index(i))
                .collect()
        };
        let marked = pick(&|node| node.shared_memory);
        if marked.is_empty() { pick(&|node| node.class.eq_ignore_ascii_case("node")) } else { marked }
    }
}
