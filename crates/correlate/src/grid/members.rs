//! Members of a topology and their locations.

use ouzel_model::{CartMembers, LocationId, ProfileDefinitions};
use std::collections::BTreeMap;

/// For each member its locations, ascending; none of them is in two lists.
pub(crate) fn locations_of_members(
    definitions: &ProfileDefinitions,
    members: &CartMembers,
) -> Vec<Vec<LocationId>> {
    let mut owned = vec![Vec::new(); members.len()];
    let mut gather = |member_of: &dyn Fn(LocationId) -> Option<usize>| {
        for location in definitions.location_ids() {
            let runs_code = definitions.locations[location.index()].kind.runs_code();
            if let Some(member) = member_of(location).filter(|_| runs_code) {
                owned[member].push(location);
            }
        }
    };
    let of = |location: LocationId| &definitions.locations[location.index()];
    match members {
        CartMembers::Locations(locations) => {
            let at: BTreeMap<_, _> = locations.iter().enumerate().map(|(at, &id)| (id, at)).collect();
            gather(&|location| at.get(&location).copied());
        }
        CartMembers::Ranks(ranks) => {
            let at: BTreeMap<_, _> = ranks.iter().enumerate().map(|(at, rank)| (rank.0, at)).collect();
            gather(&|location| at.get(&of(location).rank?.0).copied());
        }
        CartMembers::Groups(groups) => {
            let at: BTreeMap<_, _> = groups.iter().enumerate().map(|(at, &id)| (id, at)).collect();
            gather(&|location| at.get(&of(location).group).copied());
        }
        CartMembers::SystemNodes(nodes) => {
            let at: BTreeMap<_, _> = nodes.iter().enumerate().map(|(at, &id)| (id, at)).collect();
            let nodes = &definitions.system_tree.nodes;
            gather(&|location| {
                let group = definitions.location_groups.get(of(location).group.index())?;
                let up = |&id: &ouzel_model::SystemNodeId| nodes.get(id.index()).and_then(|node| node.parent);
                let above = std::iter::successors(group.system_node, up).take(nodes.len());
                above.filter_map(|node| at.get(&node).copied()).next()
            });
        }
    }
    owned
}

/// What the axis of locations within their member is called.
pub(crate) fn within_name(members: &CartMembers) -> &'static str {
    match members {
        CartMembers::SystemNodes(_) => "location",
        CartMembers::Ranks(_) | CartMembers::Locations(_) | CartMembers::Groups(_) => "thread",
    }
}

/// A member by its id.
pub(crate) fn member_name(members: &CartMembers, at: usize) -> String {
    match members {
        CartMembers::Ranks(v) => format!("rank {}", v[at].0),
        CartMembers::Locations(v) => format!("location {}", v[at].0),
        CartMembers::Groups(v) => format!("location group {}", v[at].0),
        CartMembers::SystemNodes(v) => format!("system node {}", v[at].0),
    }
}

/// A location, as people know it.
pub fn location_name(definitions: &ProfileDefinitions, id: LocationId) -> String {
    let location = &definitions.locations[id.index()];
    match definitions.location_groups.get(location.group.index()) {
        Some(group) => format!("{} of {} (location {})", location.name, group.name, id.0),
        None => format!("{} (location {})", location.name, id.0),
    }
}
