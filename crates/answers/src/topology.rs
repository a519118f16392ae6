//! Topologies of traces and profiles: axes, places, what is located there, and what is missing.

use ouzel::model::{CartTopology, Definitions};
use serde::Serialize;
use std::sync::Arc;

/// A topology. The last one of a trace may be built from the system tree.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopologyAnswer {
    /// Its name.
    pub name: Arc<str>,
    /// Of a trace: the communicator that it arranges; `null` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub communicator: Option<Option<Arc<str>>>,
    /// What is arranged.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::TopologyMembers"))]
    pub members: &'static str,
    /// How many.
    pub n_members: u64,
    /// Number of places; `null` if they are too many to count.
    pub n_places: Option<u64>,
    /// Places with a member.
    pub n_taken: u64,
    /// Members without a place; `null` if unknown.
    pub n_missing: Option<u64>,
    /// Its axes.
    pub dimensions: Vec<TopologyDimension>,
}

/// One axis.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopologyDimension {
    /// Its name; empty if it has none.
    pub name: Arc<str>,
    /// Number of places along it.
    pub size: u32,
    /// Whether its last place is beside its first.
    pub periodic: bool,
}

impl TopologyAnswer {
    /// From a profile.
    pub fn new(topology: &CartTopology) -> Self {
        let axis = |d: &ouzel::model::CartDimension| TopologyDimension {
            name: d.name.clone(),
            size: d.size,
            periodic: d.periodic,
        };
        TopologyAnswer {
            name: topology.name.clone(),
            communicator: None,
            members: topology.members.as_str(),
            n_members: topology.members.len() as u64,
            n_places: topology.n_places(),
            n_taken: topology.n_taken(),
            n_missing: topology.n_missing(),
            dimensions: topology.dimensions.iter().map(axis).collect(),
        }
    }

    /// From a trace.
    pub fn of_trace(topology: &CartTopology, definitions: &Definitions) -> Self {
        let communicator = topology.comm.map(|comm| definitions.communicator(comm).name.clone());
        TopologyAnswer { communicator: Some(communicator), ..TopologyAnswer::new(topology) }
    }
}
