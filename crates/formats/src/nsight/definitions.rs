//! From places to locations: processes with their threads, accelerator contexts with their streams.
//!
//! Law: order is by report, rank, process, then threads before contexts, each by number; the first lane of a place
//! comes before its others. Names come from the export where it has them.

use super::PlacedRows;
use super::reports::About;
use super::scan::{CommHandle, PlaceKind, Process, RowPlace};
use super::store::StoredLane;
use ouzel_model::{
    CommId, Communicator, Definitions, Location, LocationGroup, LocationGroupId, LocationGroupKind,
    LocationKind, SystemNode, SystemNodeId, WorldRank,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Ranks that a communicator may name: what lies above comes from damaged data.
const MAX_RANKS: u32 = 1 << 20;
/// The handle of `MPI_COMM_WORLD` in MPICH and its kin. Others use addresses.
const MPICH_WORLD: i64 = 0x4400_0000;

/// What the export says of its places.
pub(super) struct Known<'a> {
    pub places: &'a [RowPlace],
    pub processes: &'a [Process],
    pub abouts: &'a [About],
    /// Rank of each process.
    pub ranks: &'a [Option<u32>],
    /// Names of places that no table names.
    pub place_names: &'a BTreeMap<u32, String>,
}

/// Fills groups and locations, and returns where the rows of each location are.
pub(super) fn add_locations(
    definitions: &mut Definitions,
    known: &Known<'_>,
    lanes: &[Vec<StoredLane>],
) -> Vec<PlacedRows> {
    let nodes = add_nodes(definitions, known.abouts);
    let mut order: Vec<usize> = (0..known.places.len()).filter(|&place| !lanes[place].is_empty()).collect();
    order.sort_by_key(|&place| {
        let RowPlace { process, kind } = known.places[place];
        let of = &known.processes[process as usize];
        let rank = known.ranks[process as usize];
        (of.report, rank.is_none(), rank, of.global_pid, kind)
    });
    let mut groups: BTreeMap<(u32, Option<(i64, i64)>), LocationGroupId> = BTreeMap::new();
    let mut placed = Vec::new();
    for place in order {
        let RowPlace { process, kind } = known.places[place];
        let of = &known.processes[process as usize];
        let about = &known.abouts[of.report];
        let rank = known.ranks[process as usize].map(WorldRank);
        let node = nodes[of.report];
        let owner = *groups.entry((process, None)).or_insert_with(|| {
            add_group(
                definitions,
                process_name(of, about, rank),
                LocationGroupKind::Process,
                node,
                None,
                rank,
            )
        });
        let (group, location_kind) = match kind {
            PlaceKind::Thread(_) | PlaceKind::Ranges(_) => (owner, LocationKind::CpuThread),
            PlaceKind::Counters => (owner, LocationKind::Metric),
            PlaceKind::Stream { device, context, .. } => {
                let group = *groups.entry((process, Some((device, context)))).or_insert_with(|| {
                    let name = context_name(of, about, device, context);
                    let kind = LocationGroupKind::Accelerator;
                    let group = add_group(definitions, name, kind, node, Some(owner), rank);
                    let known = about.device(of.pid(), device).map(|it| Arc::from(it.uuid.as_str()));
                    definitions.location_groups[group.index()].device = known;
                    group
                });
                (group, LocationKind::AcceleratorStream)
            }
        };
        for lane in 0..lanes[place].len() {
            let named = u32::try_from(place).ok().and_then(|place| known.place_names.get(&place).cloned());
            let name = named.unwrap_or_else(|| place_name(of, about, kind));
            let name = if lane == 0 { name } else { format!("{name} ({})", lane + 1) };
            definitions.locations.push(Location {
                name: Arc::from(name),
                kind: location_kind,
                group,
                rank,
                declared_events: None,
                native_id: native_id(of, kind),
            });
            placed.push(PlacedRows { place, lane });
        }
    }
    placed
}

/// A node for each host, and that of each report.
fn add_nodes(definitions: &mut Definitions, abouts: &[About]) -> Vec<Option<SystemNodeId>> {
    let mut by_host: BTreeMap<&str, SystemNodeId> = BTreeMap::new();
    let mut node_of = |about: &'_ About| {
        if about.host.is_empty() {
            return None;
        }
        let known = abouts.iter().find(|known| known.host == about.host)?;
        Some(*by_host.entry(&known.host).or_insert_with(|| {
            let nodes = &mut definitions.system_tree.nodes;
            nodes.push(SystemNode {
                name: Arc::from(about.host.as_str()),
                class: Arc::from("node"),
                parent: None,
                shared_memory: true,
            });
            SystemNodeId::from_index(nodes.len() - 1)
        }))
    };
    abouts.iter().map(&mut node_of).collect()
}

fn add_group(
    definitions: &mut Definitions,
    name: String,
    kind: LocationGroupKind,
    system_node: Option<SystemNodeId>,
    creator: Option<LocationGroupId>,
    rank: Option<WorldRank>,
) -> LocationGroupId {
    definitions.location_groups.push(LocationGroup {
        name: Arc::from(name),
        kind,
        system_node,
        creator,
        device: None,
        rank,
    });
    LocationGroupId::from_index(definitions.location_groups.len() - 1)
}

fn process_name(process: &Process, about: &About, rank: Option<WorldRank>) -> String {
    let name = about.process_names.get(&process.global_pid);
    let pid = process.pid();
    let name = name.map_or_else(|| format!("process {pid}"), |name| format!("{name} (process {pid})"));
    rank.map_or(name.clone(), |rank| format!("rank {rank}: {name}"))
}

fn context_name(process: &Process, about: &About, device: i64, context: i64) -> String {
    let known = about.device(process.pid(), device).map(|it| it.name);
    // Without more, a device has CUDA's number or that of the list.
    let name = known.or_else(|| about.devices.get(&device).map(|it| it.name.clone()));
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    // Only CUDA has several contexts of a device in a process.
    let context = if context < 0 { String::new() } else { format!(", context {context}") };
    format!("GPU {device}{name}{context}")
}

fn place_name(process: &Process, about: &About, kind: PlaceKind) -> String {
    let of_thread = |tid: u32| {
        let name = about.thread_names.get(&(process.global_pid | u64::from(tid)));
        match name.filter(|name| !name.is_empty()) {
            Some(name) => format!("thread {tid} {name}"),
            None => format!("thread {tid}"),
        }
    };
    match kind {
        PlaceKind::Thread(tid) => of_thread(tid),
        PlaceKind::Ranges(tid) => format!("{}, ranges", of_thread(tid)),
        PlaceKind::Counters => "counters".to_owned(),
        PlaceKind::Stream { context, stream, .. } => {
            let is_default = about.null_streams.contains(&(i64::from(process.pid()), context, stream));
            format!("stream {stream}{}", if is_default { " (default)" } else { "" })
        }
    }
}

fn native_id(process: &Process, kind: PlaceKind) -> u64 {
    match kind {
        PlaceKind::Thread(tid) | PlaceKind::Ranges(tid) => process.global_pid | u64::from(tid),
        PlaceKind::Stream { stream, .. } => stream.cast_unsigned(),
        PlaceKind::Counters => process.global_pid,
    }
}

/// What became of the communicators of an export.
#[derive(Debug, Default)]
pub(super) struct Comms {
    /// The communicator of each handle; `None` where its members are not known.
    pub of_handle: Vec<Option<CommId>>,
    /// Whether some handle is taken for the world because it is the first that is used.
    pub guessed: bool,
}

/// Defines the world communicator, the only one whose members an export lists, and finds its handles: that of MPICH,
/// else the one that a process uses first.
pub(super) fn add_world(
    definitions: &mut Definitions,
    handles: &[CommHandle],
    ranks: &[Option<u32>],
) -> Comms {
    let mut world_of: BTreeMap<u32, usize> = BTreeMap::new();
    for (i, handle) in handles.iter().enumerate() {
        let best = world_of.entry(handle.process).or_insert(i);
        let key = |handle: &CommHandle| (handle.handle != MPICH_WORLD, handle.first, handle.handle);
        if key(handle) < key(&handles[*best]) {
            *best = i;
        }
    }
    world_of.retain(|&process, _| ranks[process as usize].is_some());
    let mut comms = Comms { of_handle: vec![None; handles.len()], guessed: false };
    let named = world_of.values().map(|&i| handles[i].rank_max);
    let Some(rank_max) = ranks.iter().flatten().copied().chain(named).filter(|&rank| rank < MAX_RANKS).max()
    else {
        return comms;
    };
    if world_of.is_empty() {
        return comms;
    }
    let members = (0..=rank_max).map(WorldRank).collect();
    definitions.communicators.push(Communicator::of_ranks("MPI_COMM_WORLD", members));
    for i in world_of.into_values() {
        comms.of_handle[i] = Some(CommId(0));
        comms.guessed |= handles[i].handle != MPICH_WORLD;
    }
    comms
}
