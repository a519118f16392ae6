//! What is known once about the profile of a trace, from the definitions of the trace.

use super::quantity::Quantity;
use ouzel_model::{
    CallNode, CallPathId, CallPathTree, CallTree, CartMembers, CartTopology, CommRank, Definitions,
    LocationGroupId, LocationId, MetricId, PROGRAM_REGION, Paradigm, ProfileDefinitions, ProfileMetric,
    Region, RegionId, RegionRole, WorldRank,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Of which parts of a trace a profile is made.
#[derive(Debug, Clone, Copy)]
pub struct CubeParts<'a> {
    /// The call paths, numbered as [`CallPathTree::into_canonical`] does.
    pub call_paths: &'a CallPathTree,
    /// The locations, ascending. They get new ids in this order.
    pub locations: &'a [LocationId],
    /// The quantities, ascending. Each is a metric.
    pub quantities: &'a [Quantity],
    /// Whether anything was counted outside of all calls.
    pub has_outside: bool,
}

/// The definitions of a profile, and for each call path of the pass which one it is of the profile.
///
/// Where calls have several roots, or something was counted outside of them, the root of the pass is a call path, too:
/// a region `[program]`, which calls all others. Else it is none.
pub fn profile_definitions(
    definitions: &Definitions,
    parts: CubeParts<'_>,
) -> (ProfileDefinitions, Vec<Option<CallPathId>>) {
    let CubeParts { call_paths, locations, quantities, has_outside } = parts;
    let mut regions = definitions.regions.clone();
    let n_roots = call_paths.paths().filter(|&path| call_paths.parent(path) == CallPathTree::ROOT).count();
    let program = (has_outside || 1 < n_roots).then(|| {
        regions.push(program_region());
        RegionId::from_index(regions.len() - 1)
    });
    let (call_tree, path_of) = call_tree(call_paths, program);
    let groups = groups(definitions, locations);
    let profile = ProfileDefinitions {
        provenance: definitions.provenance.clone(),
        metrics: metrics(definitions, quantities),
        regions,
        call_tree,
        system_tree: definitions.system_tree.clone(),
        location_groups: groups
            .old
            .iter()
            .map(|old| {
                let mut group = definitions.location_groups[old.index()].clone();
                group.creator = group.creator.and_then(|creator| groups.new.get(&creator).copied());
                group
            })
            .collect(),
        locations: locations
            .iter()
            .map(|&id| {
                let mut location = definitions.location(id).clone();
                location.group = groups.new[&location.group];
                location
            })
            .collect(),
        topologies: topologies(definitions, locations, &groups),
    };
    (profile, path_of)
}

/// The topology of a trace from its system tree, see [`ProfileDefinitions::constructed_topology`].
pub fn constructed_topology(definitions: &Definitions) -> Option<CartTopology> {
    let runs_code = |id: &LocationId| definitions.location(*id).kind.runs_code();
    let locations: Vec<LocationId> = definitions.location_ids().filter(runs_code).collect();
    let call_paths = CallPathTree::default();
    let parts =
        CubeParts { call_paths: &call_paths, locations: &locations, quantities: &[], has_outside: false };
    profile_definitions(definitions, parts).0.constructed_topology()
}

fn program_region() -> Region {
    Region {
        name: Arc::from(PROGRAM_REGION),
        canonical_name: None,
        file: None,
        line: None,
        end_line: None,
        role: RegionRole::Artificial,
        paradigm: Paradigm::MeasurementSystem,
    }
}

/// The metrics by unique names: a counter whose name is taken gets a number after it.
fn metrics(definitions: &Definitions, quantities: &[Quantity]) -> Vec<ProfileMetric> {
    let mut taken: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut metrics = Vec::with_capacity(quantities.len());
    for &quantity in quantities {
        let whole = quantity.whole().and_then(|whole| quantities.iter().position(|&q| q == whole));
        let mut metric = quantity.metric(definitions, whole.map(MetricId::from_index));
        if metric.name.is_empty() {
            metric.name = Arc::from("unnamed");
        }
        let name = Arc::clone(&metric.name);
        let mut n = 2;
        while !taken.insert(Arc::clone(&metric.name)) {
            metric.name = Arc::from(format!("{name}#{n}"));
            n += 1;
        }
        metrics.push(metric);
    }
    metrics
}

fn call_tree(call_paths: &CallPathTree, program: Option<RegionId>) -> (CallTree, Vec<Option<CallPathId>>) {
    let shift = u32::from(program.is_none());
    let new = |path: CallPathId| path.0.checked_sub(shift).map(CallPathId);
    let root = program.map(|region| CallNode::new(None, region, 0));
    let nodes = call_paths.paths().map(|path| {
        let region = call_paths.region(path).expect("a path that is not the root ends in a region");
        CallNode::new(new(call_paths.parent(path)), region, u64::from(path.0))
    });
    let built = CallTree::build(root.into_iter().chain(nodes).collect());
    // Canonical numbers are those of a walk in pre-order, so this maps ascending ids to ascending ids.
    let path_of = (0..call_paths.len())
        .map(|i| new(CallPathId::from_index(i)).and_then(|path| built.ids.get(path.index()).copied()))
        .collect();
    (built.tree, path_of)
}

/// The groups that own a location of the profile, or made one that does.
struct OwnerGroups {
    old: Vec<LocationGroupId>,
    new: FxHashMap<LocationGroupId, LocationGroupId>,
}

fn groups(definitions: &Definitions, locations: &[LocationId]) -> OwnerGroups {
    let of_locations = locations.iter().map(|&id| definitions.location(id).group);
    let mut old: BTreeSet<LocationGroupId> = of_locations.collect();
    let creators: Vec<LocationGroupId> =
        old.iter().filter_map(|id| definitions.location_groups[id.index()].creator).collect();
    old.extend(creators);
    let old: Vec<LocationGroupId> = old.into_iter().collect();
    let new = old.iter().enumerate().map(|(i, &id)| (id, LocationGroupId::from_index(i))).collect();
    OwnerGroups { old, new }
}

/// The topologies, with members that the profile has: ranks of a communicator become processes, as a profile has no
/// communicators.
fn topologies(
    definitions: &Definitions,
    locations: &[LocationId],
    groups: &OwnerGroups,
) -> Vec<CartTopology> {
    let new_location: FxHashMap<LocationId, LocationId> =
        locations.iter().enumerate().map(|(i, &id)| (id, LocationId::from_index(i))).collect();
    let processes = processes(definitions, locations, groups);
    let place = |topology: &CartTopology| {
        let coordinate = |i: usize| topology.coordinate(i).to_vec();
        let members: Vec<(TopologyMember, Vec<u32>)> = match &topology.members {
            CartMembers::Ranks(ranks) => {
                let of_rank = |(i, &rank): (usize, &CommRank)| {
                    let member = member_of_rank(definitions, topology, rank, &new_location, &processes)?;
                    Some((member, coordinate(i)))
                };
                ranks.iter().enumerate().filter_map(of_rank).collect()
            }
            CartMembers::Locations(ids) => {
                let of = |(i, id): (usize, &LocationId)| {
                    Some((TopologyMember::Location(*new_location.get(id)?), coordinate(i)))
                };
                ids.iter().enumerate().filter_map(of).collect()
            }
            CartMembers::Groups(ids) => {
                let of = |(i, id): (usize, &LocationGroupId)| {
                    Some((TopologyMember::Group(*groups.new.get(id)?), coordinate(i)))
                };
                ids.iter().enumerate().filter_map(of).collect()
            }
            CartMembers::SystemNodes(_) => return topology.clone(),
        };
        with_members(topology, members)
    };
    definitions.topologies.iter().map(place).collect()
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TopologyMember {
    Location(LocationId),
    Group(LocationGroupId),
}

/// The topology with other members, sorted. Those of one kind only: a communicator has processes or locations.
fn with_members(topology: &CartTopology, mut members: Vec<(TopologyMember, Vec<u32>)>) -> CartTopology {
    members.sort_unstable();
    members.dedup_by_key(|(member, _)| *member);
    let location = |(member, _): &(TopologyMember, Vec<u32>)| match member {
        TopologyMember::Location(id) => Some(*id),
        TopologyMember::Group(_) => None,
    };
    let group = |(member, _): &(TopologyMember, Vec<u32>)| match member {
        TopologyMember::Group(id) => Some(*id),
        TopologyMember::Location(_) => None,
    };
    let all_locations = !members.is_empty() && members.iter().all(|member| location(member).is_some());
    if !all_locations {
        members.retain(|member| group(member).is_some());
    }
    CartTopology {
        comm: None,
        members: if all_locations {
            CartMembers::Locations(members.iter().filter_map(location).collect())
        } else {
            CartMembers::Groups(members.iter().filter_map(group).collect())
        },
        coordinates: members.into_iter().flat_map(|(_, coordinate)| coordinate).collect(),
        ..topology.clone()
    }
}

/// The process of each world rank.
fn processes(
    definitions: &Definitions,
    locations: &[LocationId],
    groups: &OwnerGroups,
) -> FxHashMap<WorldRank, LocationGroupId> {
    let is_process: BTreeSet<LocationGroupId> = definitions.processes().into_iter().collect();
    let mut processes = FxHashMap::default();
    for &id in locations {
        let group = definitions.location(id).group;
        if let Some(rank) =
            definitions.location_groups[group.index()].rank.filter(|_| is_process.contains(&group))
        {
            processes.entry(rank).or_insert(groups.new[&group]);
        }
    }
    processes
}

/// What a rank of the topology's communicator is. Without a communicator ranks are those of the world.
fn member_of_rank(
    definitions: &Definitions,
    topology: &CartTopology,
    rank: CommRank,
    new_location: &FxHashMap<LocationId, LocationId>,
    processes: &FxHashMap<WorldRank, LocationGroupId>,
) -> Option<TopologyMember> {
    let Some(comm) = topology.comm else {
        return processes.get(&WorldRank(rank.0)).map(|&group| TopologyMember::Group(group));
    };
    let comm = definitions.communicator(comm);
    if !comm.member_locations.is_empty() {
        let location = comm.member_locations.get(rank.index())?;
        return new_location.get(location).map(|&location| TopologyMember::Location(location));
    }
    let world = comm.members.get(rank.index())?;
    processes.get(world).map(|&group| TopologyMember::Group(group))
}
