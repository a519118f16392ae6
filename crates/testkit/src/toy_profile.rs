//! A profile in memory, for tests.

use ouzel_model::{
    Aggregation, CallNode, CallPathId, CallTree, Location, LocationGroup, LocationGroupId, LocationGroupKind,
    LocationId, LocationKind, MetricId, MetricKind, MetricValueType, Notice, Paradigm, ProfileDefinitions,
    ProfileMetric, ProfileSource, ReadError, Region, RegionId, RegionRole, Severities, SeverityRow,
    SeverityRows, WorldRank,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Severities in memory. One process of one thread for each location; calls are added in pre-order.
#[derive(Debug, Clone)]
pub struct ToyProfile {
    definitions: ProfileDefinitions,
    nodes: Vec<CallNode>,
    rows: BTreeMap<(u32, u32), Vec<(u32, f64)>>,
}

impl ToyProfile {
    /// A profile without calls and metrics.
    pub fn new(n_locations: u32) -> Self {
        let mut definitions = ProfileDefinitions::empty();
        for rank in 0..n_locations {
            definitions.location_groups.push(LocationGroup {
                name: Arc::from(format!("MPI Rank {rank}")),
                kind: LocationGroupKind::Process,
                system_node: None,
                creator: None,
                device: None,
                rank: Some(WorldRank(rank)),
            });
            definitions.locations.push(Location {
                name: Arc::from("Master thread"),
                kind: LocationKind::CpuThread,
                group: LocationGroupId(rank),
                rank: Some(WorldRank(rank)),
                declared_events: None,
                native_id: u64::from(rank),
            });
        }
        ToyProfile { definitions, nodes: Vec::new(), rows: BTreeMap::new() }
    }

    /// Adds a call of the region of this name; returns its number. A callee follows its caller and that one's callees.
    pub fn call(&mut self, caller: Option<u32>, region: &str) -> u32 {
        let regions = &mut self.definitions.regions;
        let known = regions.iter().position(|known| &*known.name == region);
        let id = known.unwrap_or_else(|| {
            regions.push(Region {
                name: Arc::from(region),
                canonical_name: None,
                file: None,
                line: None,
                end_line: None,
                role: RegionRole::Function,
                paradigm: Paradigm::Compiler,
            });
            regions.len() - 1
        });
        let number = self.nodes.len() as u32;
        self.nodes.push(CallNode::new(caller.map(CallPathId), RegionId::from_index(id), u64::from(number)));
        self.definitions.call_tree = CallTree::build(self.nodes.clone()).tree;
        number
    }

    /// Adds a metric; its number.
    pub fn metric(
        &mut self,
        name: &str,
        kind: MetricKind,
        value_type: MetricValueType,
        aggregation: Aggregation,
    ) -> u32 {
        self.definitions.metrics.push(ProfileMetric {
            name: Arc::from(name),
            display_name: Arc::from(name),
            unit: Arc::from("sec"),
            description: Arc::from(""),
            parent: None,
            value_type,
            kind,
            aggregation,
            hidden: false,
        });
        self.definitions.metrics.len() as u32 - 1
    }

    /// Sets the row of a call: one value for each location.
    pub fn set(&mut self, metric: u32, call: u32, values: &[f64]) {
        self.set_some(metric, call, &(0..).zip(values.iter().copied()).collect::<Vec<_>>());
    }

    /// Sets the row of a call for some locations, ascending.
    pub fn set_some(&mut self, metric: u32, call: u32, values: &[(u32, f64)]) {
        self.rows.insert((metric, call), values.to_vec());
    }

    /// Its definitions, to be changed.
    pub fn definitions_mut(&mut self) -> &mut ProfileDefinitions {
        &mut self.definitions
    }
}

impl ProfileSource for ToyProfile {
    fn definitions(&self) -> &ProfileDefinitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &[]
    }

    fn severity_bytes(&self, metric: MetricId) -> u64 {
        self.rows.range((metric.0, 0)..(metric.0 + 1, 0)).map(|(_, row)| 8 * row.len() as u64).sum()
    }

    fn open(
        &self,
        metric: MetricId,
        paths: Range<CallPathId>,
    ) -> Result<Box<dyn SeverityRows + '_>, ReadError> {
        let value_type = self.definitions.metric(metric).value_type;
        Ok(Box::new(ToyRows {
            profile: self,
            metric: metric.0,
            value_type,
            first: paths.start.0,
            next: paths.end.0,
        }))
    }
}

struct ToyRows<'a> {
    profile: &'a ToyProfile,
    metric: u32,
    value_type: MetricValueType,
    first: u32,
    next: u32,
}

impl SeverityRows for ToyRows<'_> {
    fn read(&mut self, row: &mut SeverityRow) -> Result<bool, ReadError> {
        let range = (self.metric, self.first)..(self.metric, self.next.max(self.first));
        let Some(((_, path), values)) = self.profile.rows.range(range).next_back() else { return Ok(false) };
        self.next = *path;
        row.path = CallPathId(*path);
        let n_locations = self.profile.definitions.locations.len();
        let locations: Vec<LocationId> = values.iter().map(|(at, _)| LocationId(*at)).collect();
        row.locations = (locations.len() < n_locations).then_some(locations);
        let numbers = values.iter().map(|(_, value)| *value);
        row.values = match self.value_type {
            MetricValueType::U64 => Severities::U64(numbers.map(|value| value as u64).collect()),
            MetricValueType::I64 => Severities::I64(numbers.map(|value| value as i64).collect()),
            MetricValueType::F64 => Severities::F64(numbers.collect()),
        };
        Ok(true)
    }

    fn notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}
