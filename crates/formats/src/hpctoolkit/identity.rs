//! Whose samples and values they are: nodes, processes, threads and streams.
//!
//! HPCToolkit names each by a tuple: node, rank, thread; or node, rank, context, stream of
//! an accelerator. Parts may be missing: a run without MPI has no ranks. Two tuples that
//! are equal belong to two processes (a fork copies everything).

use ouzel_model::{
    Definitions, Level, Location, LocationGroup, LocationGroupId, LocationGroupKind, LocationId,
    LocationKind, Notice, NoticeCode, SystemNode, SystemNodeId, SystemTree, WorldRank,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A tuple, part by part.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Identity {
    /// Rank of the process.
    pub rank: Option<u64>,
    /// Number the system gave the node.
    pub node: Option<u64>,
    /// Number of the process where there are several of one node and rank.
    pub process: u64,
    /// The device, the context and the stream of an accelerator.
    pub device: Option<u64>,
    /// See `device`.
    pub context: Option<u64>,
    /// See `device`.
    pub stream: Option<u64>,
    /// The thread.
    pub thread: Option<u64>,
    /// How many equal tuples come before this one.
    pub copy: u64,
}

impl Identity {
    /// Whether it is a stream of an accelerator.
    pub fn is_stream(&self) -> bool {
        self.stream.is_some() || self.context.is_some() || self.device.is_some()
    }

    fn location_name(&self) -> String {
        match (self.stream, self.thread) {
            (Some(stream), _) => format!("GPU stream {stream}"),
            (None, Some(thread)) => format!("Thread {thread}"),
            (None, None) if self.is_stream() => "GPU".to_owned(),
            (None, None) => "Thread".to_owned(),
        }
    }
}

/// The identities in the order of locations, equal ones counted, and the former place of each.
pub(super) fn ordered(mut identities: Vec<Identity>) -> (Vec<Identity>, Vec<usize>) {
    number_copies(&mut identities);
    let order = order(&identities);
    (order.iter().map(|&i| identities[i].clone()).collect(), order)
}

/// Counts equal tuples.
fn number_copies(identities: &mut [Identity]) {
    let mut seen: FxHashMap<Identity, u64> = FxHashMap::default();
    for identity in identities {
        let n = seen.entry(identity.clone()).or_default();
        identity.copy = *n;
        *n += 1;
    }
}

/// The order of locations: by rank, node, process, then threads before streams.
fn order(identities: &[Identity]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..identities.len()).collect();
    let key = |i: usize| {
        let identity = &identities[i];
        let process = (identity.rank.is_none(), identity.rank, identity.node, identity.process);
        let stream = (identity.device, identity.context, identity.stream);
        (process, identity.copy, identity.is_stream(), stream, identity.thread, i)
    };
    order.sort_unstable_by_key(|&i| key(i));
    order
}

/// Defines a location for each of `identities`, in this order, with its process, context and node. `native_id` and
/// `n_events` are those of the same place.
pub(super) fn define(
    identities: &[Identity],
    native_id: impl Fn(usize) -> u64,
    n_events: impl Fn(usize) -> Option<u64>,
    notices: &mut Vec<Notice>,
) -> IdentityTables {
    let mut tables = IdentityTables::default();
    let definitions = &mut tables;
    let mut groups = IdentityGroups {
        has_ranks: identities.iter().any(|i| i.rank.is_some()),
        ..IdentityGroups::default()
    };
    for (i, identity) in identities.iter().enumerate() {
        let process = groups.process(identity, definitions);
        let group =
            if identity.is_stream() { groups.context(identity, process, definitions) } else { process };
        let kind = match identity.is_stream() {
            true => LocationKind::AcceleratorStream,
            false => LocationKind::CpuThread,
        };
        definitions.locations.push(Location {
            name: Arc::from(identity.location_name()),
            kind,
            group,
            rank: definitions.location_groups[group.index()].rank,
            declared_events: n_events(i),
            native_id: native_id(i),
        });
    }
    if 0 < groups.n_huge_ranks {
        let message = "ranks are larger than the largest valid rank; their processes have no rank";
        notices.push(
            Notice::new(Level::Medium, NoticeCode::DamagedDefinitions, message).times(groups.n_huge_ranks),
        );
    }
    tables
}

/// The tables that traces and profiles have in common.
#[derive(Debug, Default)]
pub(super) struct IdentityTables {
    pub system_tree: SystemTree,
    pub location_groups: Vec<LocationGroup>,
    pub locations: Vec<Location>,
}

/// The process of an identity: rank, node, process, copy.
type ProcessKey = (Option<u64>, Option<u64>, u64, u64);

#[derive(Debug, Default)]
struct IdentityGroups {
    has_ranks: bool,
    nodes: FxHashMap<u64, SystemNodeId>,
    processes: FxHashMap<ProcessKey, LocationGroupId>,
    contexts: FxHashMap<(LocationGroupId, Option<u64>, Option<u64>), LocationGroupId>,
    n_huge_ranks: u64,
}

impl IdentityGroups {
    fn node(&mut self, node: u64, definitions: &mut IdentityTables) -> SystemNodeId {
        *self.nodes.entry(node).or_insert_with(|| {
            let nodes = &mut definitions.system_tree.nodes;
            nodes.push(SystemNode {
                name: Arc::from(format!("{node:08x}")),
                class: Arc::from("node"),
                parent: None,
                shared_memory: true,
            });
            SystemNodeId::from_index(nodes.len() - 1)
        })
    }

    fn process(&mut self, identity: &Identity, definitions: &mut IdentityTables) -> LocationGroupId {
        let key = (identity.rank, identity.node, identity.process, identity.copy);
        if let Some(&id) = self.processes.get(&key) {
            return id;
        }
        let number = self.processes.len();
        let rank = match identity.rank {
            Some(rank) => {
                let rank = u32::try_from(rank).ok().filter(|&rank| rank <= MAX_RANK);
                self.n_huge_ranks += u64::from(rank.is_none());
                rank.map(WorldRank)
            }
            // A run without MPI: processes are numbered.
            None if !self.has_ranks => Some(WorldRank::from_index(number)),
            None => None,
        };
        let name = match (identity.rank, rank) {
            (Some(_), Some(rank)) => format!("MPI Rank {rank}"),
            _ => format!("Process {number}"),
        };
        let group = LocationGroup {
            name: Arc::from(name),
            kind: LocationGroupKind::Process,
            system_node: identity.node.map(|node| self.node(node, definitions)),
            creator: None,
            device: None,
            rank,
        };
        let id = push(group, definitions);
        self.processes.insert(key, id);
        id
    }

    fn context(
        &mut self,
        identity: &Identity,
        process: LocationGroupId,
        definitions: &mut IdentityTables,
    ) -> LocationGroupId {
        let key = (process, identity.device, identity.context);
        if let Some(&id) = self.contexts.get(&key) {
            return id;
        }
        let LocationGroup { system_node, rank, .. } = definitions.location_groups[process.index()];
        let name = match (identity.device, identity.context) {
            (Some(device), Some(context)) => format!("GPU {device} context {context}"),
            (Some(device), None) => format!("GPU {device}"),
            (None, Some(context)) => format!("GPU context {context}"),
            (None, None) => "GPU".to_owned(),
        };
        let group = LocationGroup {
            name: Arc::from(name),
            kind: LocationGroupKind::Accelerator,
            system_node,
            creator: Some(process),
            device: None,
            rank,
        };
        let id = push(group, definitions);
        self.contexts.insert(key, id);
        id
    }
}

/// The largest rank that is believed: no machine has so many cores, and tables are indexed by ranks.
const MAX_RANK: u32 = 1 << 26;

fn push(group: LocationGroup, definitions: &mut IdentityTables) -> LocationGroupId {
    definitions.location_groups.push(group);
    LocationGroupId::from_index(definitions.location_groups.len() - 1)
}

/// The locations that are streams of accelerators.
pub(super) fn has_streams(definitions: &Definitions) -> bool {
    definitions
        .location_ids()
        .any(|id: LocationId| definitions.location(id).kind == LocationKind::AcceleratorStream)
}
