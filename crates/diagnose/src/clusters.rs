//! Clusters of locations with names and nanoseconds.

use crate::cluster_differences::{PathDifference, cluster_differences};
use crate::findings::Ranks;
use ouzel_analyses::context_tree::{ContextTreesOutput, LocationCluster, TreeGroup};
use ouzel_analyses::peers::PeerKind;
use ouzel_model::{ColumnData, Definitions, LocationId, Table, Ticks, Unit};
use serde::Serialize;
use std::cmp::Reverse;
use std::sync::Arc;

/// What stands under `data` in JSON.
#[derive(Debug, Serialize)]
pub struct Data {
    /// By peers, then by id.
    pub clusters: Vec<ClusterEntry>,
}

/// Locations that are alike.
#[derive(Debug, Serialize)]
pub struct ClusterEntry {
    /// Among which locations it is a cluster: `main_thread`, `helper_thread` or `accelerator_stream`.
    pub peers: PeerKind,
    /// Its number among them, from 0, by the smallest member.
    pub id: u32,
    /// Number of members.
    pub size: u64,
    /// Their ranks.
    pub ranks: Ranks,
    /// The members, by their ids in the trace.
    pub locations: Vec<u64>,
    /// The member that stands for it: the first.
    pub representative_rank: Option<u32>,
    /// Its id as the trace's files write it.
    pub representative_location: u64,
    /// From its first to its last event, mean over members.
    pub duration_ns: u64,
    /// In which call paths its mean exclusive time differs from that of the largest cluster, most first; `[]` of that.
    pub differences: Vec<PathDifference>,
}

impl Data {
    /// Of the clusters of a pass.
    pub fn new(trees: &ContextTreesOutput, definitions: &Definitions) -> Self {
        Data { clusters: trees.groups.iter().flat_map(|group| of_group(group, definitions)).collect() }
    }

    /// The clusters as a table: one row for each location.
    pub fn table(&self, definitions: &Definitions, trees: &ContextTreesOutput) -> Table {
        let rows: Vec<(&TreeGroup, &LocationCluster, LocationId)> = trees
            .groups
            .iter()
            .flat_map(|group| group.clusters.iter().map(move |cluster| (group, cluster)))
            .flat_map(|(group, cluster)| cluster.members.iter().map(move |&member| (group, cluster, member)))
            .collect();
        let location = |id: LocationId| definitions.location(id);
        Table::new("clusters")
            .with(
                "peers",
                Unit::None,
                "Among which locations it is a cluster",
                ColumnData::Text(rows.iter().map(|(group, ..)| Arc::from(peers_text(group.kind))).collect()),
            )
            .with(
                "cluster",
                Unit::None,
                "Number of the cluster among them",
                ColumnData::U64(rows.iter().map(|(_, cluster, _)| u64::from(cluster.id)).collect()),
            )
            .with(
                "rank",
                Unit::None,
                "World rank of the member; missing where the trace knows none",
                ColumnData::OptionU64(
                    rows.iter().map(|&(.., id)| location(id).rank.map(|rank| u64::from(rank.0))).collect(),
                ),
            )
            .with(
                "location",
                Unit::None,
                "Id of the member as the trace's files write it",
                ColumnData::U64(rows.iter().map(|&(.., id)| location(id).native_id).collect()),
            )
            .with(
                "is_representative",
                Unit::None,
                "1 if it stands for the cluster",
                ColumnData::U64(
                    rows.iter().map(|&(_, cluster, id)| u64::from(cluster.representative == id)).collect(),
                ),
            )
    }
}

/// What the column `peers` says.
pub fn peers_text(kind: PeerKind) -> &'static str {
    match kind {
        PeerKind::MainThread => "main_thread",
        PeerKind::HelperThread => "helper_thread",
        PeerKind::AcceleratorStream => "accelerator_stream",
    }
}

/// The cluster with most members, the first among equals.
pub fn largest(group: &TreeGroup) -> Option<&LocationCluster> {
    group.clusters.iter().max_by_key(|cluster| (cluster.members.len(), Reverse(cluster.id)))
}

fn of_group(group: &TreeGroup, definitions: &Definitions) -> Vec<ClusterEntry> {
    let Some(largest) = largest(group) else { return Vec::new() };
    let rank = |id: LocationId| definitions.location(id).rank.map(|rank| rank.0);
    let native_id = |id: LocationId| definitions.location(id).native_id;
    let entry = |cluster: &LocationCluster| ClusterEntry {
        peers: group.kind,
        id: cluster.id,
        size: cluster.members.len() as u64,
        ranks: Ranks::new(cluster.members.iter().filter_map(|&id| rank(id))),
        locations: cluster.members.iter().map(|&id| native_id(id)).collect(),
        representative_rank: rank(cluster.representative),
        representative_location: native_id(cluster.representative),
        duration_ns: definitions.clock.ns_from_ticks(Ticks(cluster.tree.duration().round().max(0.0) as u64)),
        differences: if cluster.id == largest.id {
            Vec::new()
        } else {
            cluster_differences(&cluster.tree, &largest.tree, definitions)
        },
    };
    group.clusters.iter().map(entry).collect()
}

impl ClusterEntry {
    /// What its members are, one and many.
    pub fn peers_in_words(&self) -> (&'static str, &'static str) {
        match self.peers {
            PeerKind::MainThread => ("rank", "ranks"),
            PeerKind::HelperThread => ("helper thread", "helper threads"),
            PeerKind::AcceleratorStream => ("accelerator stream", "accelerator streams"),
        }
    }
}
