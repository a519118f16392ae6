//! Clusters of locations with names and nanoseconds.
//!
//! Law: every time is a mean over the members of the times that the profile of the same pass has.

use crate::cluster_differences::{ClusterTimes, PathDifference};
use crate::findings::Ranks;
use ouzel_analyses::call_path_profile::ProfileOutput;
use ouzel_analyses::peers::PeerKind;
use ouzel_context_tree::{ContextTreesOutput, LocationCluster, TreeGroup};
use ouzel_model::{ColumnData, Definitions, LocationId, Table, Unit};
use serde::Serialize;
use std::cmp::Reverse;
use std::sync::Arc;

/// The contents of `data` in JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Data {
    /// By peers, then by id.
    pub clusters: Vec<ClusterEntry>,
}

/// Locations that are alike.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClusterEntry {
    /// The group of locations that it is a cluster of: `main_thread`, `helper_thread` or `accelerator_stream`.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "String", extend("enum" = ["main_thread", "helper_thread", "accelerator_stream"]))
    )]
    pub peers: PeerKind,
    /// Its number among them, from 0, by the smallest member.
    pub id: u32,
    /// Number of members.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub size: u64,
    /// Their ranks.
    pub ranks: Ranks,
    /// The members, by their ids in the trace.
    pub locations: Vec<u64>,
    /// The member that represents it: the first.
    pub representative_rank: Option<u32>,
    /// Its id as the trace's files write it.
    pub representative_location: u64,
    /// From its first to its last event, mean over members.
    pub duration_ns: u64,
    /// Of samples, the longest time between two of one location of `peers`; 0 of exact events.
    pub sampling_period_ns: u64,
    /// Times of two calls that differ by no more than this count as equal; 0 of exact events.
    pub tolerance_ns: u64,
    /// Call paths whose mean exclusive time differs from the largest cluster's, most first; `[]` for that.
    pub differences: Vec<PathDifference>,
    /// The members; the first represents it.
    #[serde(skip)]
    members: Vec<LocationId>,
}

impl Data {
    /// From the clusters of a pass and its profile.
    pub fn new(trees: &ContextTreesOutput, profile: &ProfileOutput, definitions: &Definitions) -> Self {
        Data {
            clusters: trees.groups.iter().flat_map(|group| of_group(group, profile, definitions)).collect(),
        }
    }

    /// The clusters as a table: one row for each location.
    pub fn table(&self, definitions: &Definitions) -> Table {
        let rows: Vec<(&ClusterEntry, LocationId)> = self
            .clusters
            .iter()
            .flat_map(|cluster| cluster.members.iter().map(move |&member| (cluster, member)))
            .collect();
        let location = |id: LocationId| definitions.location(id);
        let numbers = |value: &dyn Fn(&ClusterEntry, LocationId) -> u64| {
            ColumnData::U64(rows.iter().map(|&(cluster, id)| value(cluster, id)).collect())
        };
        Table::new("clusters")
            .with(
                "peers",
                Unit::None,
                "Kind of location that the cluster groups",
                ColumnData::Text(
                    rows.iter().map(|(cluster, _)| Arc::from(peers_text(cluster.peers))).collect(),
                ),
            )
            .with(
                "cluster",
                Unit::None,
                "Number of the cluster within its kind",
                numbers(&|cluster, _| u64::from(cluster.id)),
            )
            .with(
                "rank",
                Unit::None,
                "World rank of the member; missing if unknown",
                ColumnData::OptionU64(
                    rows.iter().map(|&(_, id)| location(id).rank.map(|rank| u64::from(rank.0))).collect(),
                ),
            )
            .with(
                "location",
                Unit::None,
                "Id of the member in the trace's files",
                numbers(&|_, id| location(id).native_id),
            )
            .with(
                "is_representative",
                Unit::None,
                "1 if the member represents the cluster",
                numbers(&|cluster, id| u64::from(cluster.members.first() == Some(&id))),
            )
    }
}

/// The kind of peers as keys and columns name it.
pub fn peers_text(kind: PeerKind) -> &'static str {
    match kind {
        PeerKind::MainThread => "main_thread",
        PeerKind::HelperThread => "helper_thread",
        PeerKind::AcceleratorStream => "accelerator_stream",
    }
}

/// The cluster with the most members, the first among equals.
pub fn largest(group: &TreeGroup) -> Option<&LocationCluster> {
    group.clusters.iter().max_by_key(|cluster| (cluster.members.len(), Reverse(cluster.id)))
}

fn of_group(group: &TreeGroup, profile: &ProfileOutput, definitions: &Definitions) -> Vec<ClusterEntry> {
    let Some(largest) = largest(group) else { return Vec::new() };
    let rank = |id: LocationId| definitions.location(id).rank.map(|rank| rank.0);
    let native_id = |id: LocationId| definitions.location(id).native_id;
    let sampling_period_ns = definitions.clock.ns_from_ticks(group.period);
    let reference = ClusterTimes::new(profile, &largest.members);
    let entry = |cluster: &LocationCluster| {
        let times = ClusterTimes::new(profile, &cluster.members);
        let is_largest = cluster.id == largest.id;
        let differences = || times.differences(&reference, &profile.call_paths, definitions);
        ClusterEntry {
            peers: group.kind,
            id: cluster.id,
            size: cluster.members.len() as u64,
            ranks: Ranks::new(cluster.members.iter().filter_map(|&id| rank(id))),
            locations: cluster.members.iter().map(|&id| native_id(id)).collect(),
            representative_rank: rank(cluster.representative),
            representative_location: native_id(cluster.representative),
            duration_ns: times.duration_ns(definitions),
            sampling_period_ns,
            tolerance_ns: sampling_period_ns.saturating_mul(2),
            differences: if is_largest { Vec::new() } else { differences() },
            members: cluster.members.clone(),
        }
    };
    group.clusters.iter().map(entry).collect()
}

impl ClusterEntry {
    /// What its members are called, singular and plural.
    pub fn peers_in_words(&self) -> (&'static str, &'static str) {
        self.peers.in_words(self.representative_rank.is_some())
    }
}
