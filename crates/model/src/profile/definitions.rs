//! What is known once about a profile.

use super::{CallTree, Formula};
use crate::{
    CallPathId, CartTopology, Location, LocationGroup, LocationId, MetricId, MetricValueType, Provenance,
    Region, RegionRole, SystemTree,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The region used for the program where calls of a trace have several roots: it calls them all.
pub const PROGRAM_REGION: &str = "[program]";

/// Everything a profile defines, whatever its format. One table per noun, indexed by the dense id of its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileDefinitions {
    /// Where the profile comes from.
    pub provenance: Provenance,
    /// The metrics; a metric comes after the one it is part of.
    pub metrics: Vec<ProfileMetric>,
    /// Code regions.
    pub regions: Vec<Region>,
    /// The call tree; [`CallPathId`](crate::CallPathId)s of a profile are its nodes.
    pub call_tree: CallTree,
    /// The machine.
    pub system_tree: SystemTree,
    /// Processes and accelerator contexts.
    pub location_groups: Vec<LocationGroup>,
    /// Threads, streams and metric sources.
    pub locations: Vec<Location>,
    /// Cartesian topologies; their members are locations, groups or system nodes.
    pub topologies: Vec<CartTopology>,
}

/// A metric of a profile: one severity for each call path and location.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileMetric {
    /// Its unique name, e.g. `time`.
    pub name: Arc<str>,
    /// The name people read, e.g. `Time`.
    pub display_name: Arc<str>,
    /// Unit of its values as the tool writes it, e.g. `sec`, `occ`, `bytes`; may be empty.
    pub unit: Arc<str>,
    /// The tool's description of it; may be empty.
    pub description: Arc<str>,
    /// The metric it is part of: values of that contain its own.
    pub parent: Option<MetricId>,
    /// The type of its values.
    pub value_type: MetricValueType,
    /// What its rows hold.
    pub kind: MetricKind,
    /// How its values are put together, over call paths and over locations.
    pub aggregation: Aggregation,
    /// Whether the tool hides it from users by default.
    pub hidden: bool,
}

/// What the rows of a metric hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum MetricKind {
    /// The value of a call path without its callees.
    Exclusive,
    /// The value of a call path with its callees.
    Inclusive,
    /// The value of a call path without its callees, and without the values of the metrics that are part of this one
    /// (CUBE 3).
    Simple,
    /// Nothing: values follow from other metrics. Computed for each call path and location in the scope given; from
    /// there on it is as if the results were stored.
    DerivedBefore(Formula, Scope),
    /// Nothing: values follow from other metrics, computed from sums (a ratio): in the requested scope, and over
    /// several locations from the sums of the operands over these.
    DerivedAfter(Formula),
}

/// How values of a metric are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Aggregation {
    /// They are added. A missing value is zero.
    Sum,
    /// The minimum is taken. A missing value is no value.
    Min,
    /// The maximum is taken. A missing value is no value.
    Max,
    /// The formula is computed from operands that are put together.
    Formula,
}

/// Which value of a call path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// With its callees.
    Inclusive,
    /// Without its callees.
    Exclusive,
}

impl Scope {
    /// The scope in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Inclusive => "inclusive",
            Scope::Exclusive => "exclusive",
        }
    }
}

impl MetricKind {
    /// In lower case, for tables.
    pub fn as_str(&self) -> &'static str {
        match self {
            MetricKind::Exclusive => "exclusive",
            MetricKind::Inclusive => "inclusive",
            MetricKind::Simple => "simple",
            MetricKind::DerivedBefore(..) | MetricKind::DerivedAfter(_) => "derived",
        }
    }
}

impl ProfileDefinitions {
    /// A profile that defines nothing.
    pub fn empty() -> Self {
        ProfileDefinitions {
            provenance: Provenance::default(),
            metrics: Vec::new(),
            regions: Vec::new(),
            call_tree: CallTree::default(),
            system_tree: SystemTree::default(),
            location_groups: Vec::new(),
            locations: Vec::new(),
            topologies: Vec::new(),
        }
    }

    /// The metric of an id.
    pub fn metric(&self, id: MetricId) -> &ProfileMetric {
        &self.metrics[id.index()]
    }

    /// The metric of a unique name, else the only one of that display name.
    pub fn metric_by_name(&self, name: &str) -> Option<MetricId> {
        if let Some(index) = self.metrics.iter().position(|metric| &*metric.name == name) {
            return Some(MetricId::from_index(index));
        }
        let mut displayed = self.metrics.iter().enumerate().filter(|(_, m)| &*m.display_name == name);
        match (displayed.next(), displayed.next()) {
            (Some((index, _)), None) => Some(MetricId::from_index(index)),
            _ => None,
        }
    }

    /// Names of the regions of a call path, from the outermost to the innermost. The region used for the program
    /// ([`PROGRAM_REGION`]) is no call: its own path is empty.
    pub fn call_path_names(&self, path: CallPathId) -> Vec<Arc<str>> {
        let region = |node| &self.regions[self.call_tree.node(node).region.index()];
        let regions = self.call_tree.from_root(path).into_iter().map(region);
        let is_program =
            |region: &&Region| region.role == RegionRole::Artificial && *region.name == *PROGRAM_REGION;
        regions.skip_while(is_program).map(|region| region.name.clone()).collect()
    }

    /// Every metric id.
    pub fn metric_ids(&self) -> impl DoubleEndedIterator<Item = MetricId> + use<> {
        (0..self.metrics.len()).map(MetricId::from_index)
    }

    /// Every location id.
    pub fn location_ids(&self) -> impl Iterator<Item = LocationId> + use<> {
        (0..self.locations.len()).map(LocationId::from_index)
    }
}
