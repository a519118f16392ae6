//! Topologies of traces and profiles: axes, places, what is located there, and what is missing.

use crate::terminal::units::count;
use ouzel::model::{CartTopology, Definitions};
use serde::Serialize;
use std::sync::Arc;

/// A topology; the keys are those of the JSON.
#[derive(Debug, Serialize)]
pub struct TopologyEntry {
    pub name: Arc<str>,
    /// For a trace: the communicator that it arranges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communicator: Option<Option<Arc<str>>>,
    pub members: &'static str,
    pub n_members: u64,
    pub n_places: Option<u64>,
    pub n_taken: u64,
    pub n_missing: Option<u64>,
    pub dimensions: Vec<DimensionEntry>,
}

#[derive(Debug, Serialize)]
pub struct DimensionEntry {
    pub name: Arc<str>,
    pub size: u32,
    pub periodic: bool,
}

impl TopologyEntry {
    /// From a profile.
    pub fn new(topology: &CartTopology) -> Self {
        TopologyEntry {
            name: topology.name.clone(),
            communicator: None,
            members: topology.members.as_str(),
            n_members: topology.members.len() as u64,
            n_places: topology.n_places(),
            n_taken: topology.n_taken(),
            n_missing: topology.n_missing(),
            dimensions: topology
                .dimensions
                .iter()
                .map(|d| DimensionEntry { name: d.name.clone(), size: d.size, periodic: d.periodic })
                .collect(),
        }
    }

    /// From a trace.
    pub fn of_trace(topology: &CartTopology, definitions: &Definitions) -> Self {
        let communicator = topology.comm.map(|comm| definitions.communicator(comm).name.clone());
        TopologyEntry { communicator: Some(communicator), ..TopologyEntry::new(topology) }
    }

    /// Name, axes, and how many places are taken.
    pub fn text(&self) -> String {
        let axis = |axis: &DimensionEntry| {
            let name = if axis.name.is_empty() { String::new() } else { format!("{} ", axis.name) };
            format!("{name}{}{}", axis.size, if axis.periodic { " (periodic)" } else { "" })
        };
        let axes: Vec<String> = self.dimensions.iter().map(axis).collect();
        let name = if self.name.is_empty() { String::new() } else { format!("{}: ", self.name) };
        let places = self.n_places.map_or("very many".to_owned(), count);
        let missing = match self.n_missing {
            Some(0) | None => String::new(),
            Some(n) => format!(", {} missing", count(n)),
        };
        format!(
            "{name}{} · {} of {places} places used by {} {}{missing}",
            axes.join(" × "),
            count(self.n_taken),
            count(self.n_members),
            self.members
        )
    }
}
