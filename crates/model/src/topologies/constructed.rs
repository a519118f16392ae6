//! A topology from the system tree: compute node × process of the node × thread of the process.
//!
//! Threads of processes have a place; streams of accelerators and metric sources have none, as they exist beside the
//! threads. Nodes are numbered in the order of the tree, processes of a node by rank, threads of a process by location
//! id. Law: every thread has a place of its own. Nodes with fewer processes and processes with fewer threads than the
//! largest leave places empty.

use super::{CartDimension, CartMembers, CartTopology};
use crate::{
    LocationGroupId, LocationGroupKind, LocationId, LocationKind, ProfileDefinitions, SystemNodeId, WorldRank,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The node of processes that belong to no compute node: after all nodes.
const NO_NODE: u32 = u32::MAX;

impl ProfileDefinitions {
    /// The locations that are threads of processes, ascending; where there are none, all that run code.
    pub fn thread_locations(&self) -> Vec<LocationId> {
        let pick = |test: &dyn Fn(LocationId) -> bool| -> Vec<LocationId> {
            self.location_ids().filter(|&id| test(id)).collect()
        };
        let is_thread = |id: LocationId| {
            let location = &self.locations[id.index()];
            let on_cpu = matches!(location.kind, LocationKind::CpuThread | LocationKind::Unknown);
            on_cpu && self.location_groups[location.group.index()].kind != LocationGroupKind::Accelerator
        };
        let threads = pick(&is_thread);
        if threads.is_empty() { pick(&|id| self.locations[id.index()].kind.runs_code()) } else { threads }
    }

    /// The topologies of the profile: those that it defines, then the one from its system tree, see
    /// [`constructed_topology`](Self::constructed_topology).
    pub fn all_topologies(&self) -> Vec<CartTopology> {
        self.topologies.iter().cloned().chain(self.constructed_topology()).collect()
    }

    /// Compute node × process of the node × thread of the process. Axes along which there is only one place are left
    /// out; `None` if none is left, i.e. with one thread or none. Processes that belong to no compute node are placed
    /// together, as on a node after all others.
    pub fn constructed_topology(&self) -> Option<CartTopology> {
        let nodes = self.nodes_of_groups();
        // By node, process and thread; processes by rank.
        type Key = (u32, Option<WorldRank>, LocationGroupId);
        let mut processes: BTreeMap<Key, Vec<LocationId>> = BTreeMap::new();
        for id in self.thread_locations() {
            let group = self.locations[id.index()].group;
            let rank = self.location_groups[group.index()].rank;
            processes.entry((nodes[group.index()], rank, group)).or_default().push(id);
        }
        let mut places: Vec<(LocationId, [u32; 3])> = Vec::new();
        let (mut node_at, mut process_at) = (0, 0);
        let mut sizes = [0_u32; 3];
        let mut last_node = None;
        for ((node, ..), threads) in processes {
            match last_node {
                Some(last) if last == node => process_at += 1,
                Some(_) => (node_at, process_at) = (node_at + 1, 0),
                None => {}
            }
            last_node = Some(node);
            for (thread_at, id) in (0..).zip(threads) {
                let place = [node_at, process_at, thread_at];
                sizes = std::array::from_fn(|axis| sizes[axis].max(place[axis] + 1));
                places.push((id, place));
            }
        }
        places.sort_unstable();
        topology(&places, sizes)
    }

    /// By location group, the compute node that it runs on.
    fn nodes_of_groups(&self) -> Vec<u32> {
        let tree = &self.system_tree.nodes;
        let mut is_node = vec![false; tree.len()];
        for id in self.system_tree.compute_nodes() {
            is_node[id.index()] = true;
        }
        let node_of = |from: SystemNodeId| {
            let up = |at: &SystemNodeId| tree.get(at.index()).and_then(|node| node.parent);
            // A tree has no more levels than nodes; a circle of a corrupt file ends, too.
            let chain = std::iter::successors(Some(from), up).take(tree.len());
            chain.into_iter().find(|at| is_node.get(at.index()).copied().unwrap_or(false))
        };
        let of_group = |node: Option<SystemNodeId>| node.and_then(node_of).map_or(NO_NODE, |node| node.0);
        self.location_groups.iter().map(|group| of_group(group.system_node)).collect()
    }
}

fn topology(places: &[(LocationId, [u32; 3])], sizes: [u32; 3]) -> Option<CartTopology> {
    let axes: Vec<(usize, &str)> =
        ["node", "process", "thread"].into_iter().enumerate().filter(|(axis, _)| 1 < sizes[*axis]).collect();
    if axes.is_empty() {
        return None;
    }
    let names: Vec<&str> = axes.iter().map(|(_, name)| *name).collect();
    let dimension = |&(axis, name): &(usize, &str)| CartDimension {
        name: Arc::from(name),
        size: sizes[axis],
        periodic: false,
    };
    Some(CartTopology {
        name: Arc::from(format!("constructed: {}", names.join(" x "))),
        comm: None,
        dimensions: axes.iter().map(dimension).collect(),
        members: CartMembers::Locations(places.iter().map(|(id, _)| *id).collect()),
        coordinates: places.iter().flat_map(|(_, place)| axes.iter().map(|&(axis, _)| place[axis])).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Location, LocationGroup, SystemNode};

    /// Processes as (node in the tree, rank, number of threads); the tree as (class, parent).
    fn profile(
        tree: &[(&str, Option<u32>)],
        processes: &[(Option<u32>, Option<u32>, u32)],
    ) -> ProfileDefinitions {
        let mut definitions = ProfileDefinitions::empty();
        definitions.system_tree.nodes = tree
            .iter()
            .map(|&(class, parent)| SystemNode {
                name: Arc::from(class),
                class: Arc::from(class),
                parent: parent.map(SystemNodeId),
                shared_memory: false,
            })
            .collect();
        for &(node, rank, n_threads) in processes {
            add_group(&mut definitions, LocationGroupKind::Process, node, rank);
            (0..n_threads).for_each(|_| add_location(&mut definitions, LocationKind::CpuThread));
        }
        definitions
    }

    fn add_group(
        definitions: &mut ProfileDefinitions,
        kind: LocationGroupKind,
        node: Option<u32>,
        rank: Option<u32>,
    ) {
        definitions.location_groups.push(LocationGroup {
            name: Arc::from("group"),
            kind,
            system_node: node.map(SystemNodeId),
            creator: None,
            device: None,
            rank: rank.map(WorldRank),
        });
    }

    fn add_location(definitions: &mut ProfileDefinitions, kind: LocationKind) {
        definitions.locations.push(Location {
            name: Arc::from("location"),
            kind,
            group: LocationGroupId::from_index(definitions.location_groups.len() - 1),
            rank: None,
            declared_events: None,
            native_id: definitions.locations.len() as u64,
        });
    }

    fn check(definitions: &ProfileDefinitions, name: &str, sizes: &[u32], coordinates: &[u32]) {
        let topology = definitions.constructed_topology().expect("there is more than one place");
        assert_eq!(&*topology.name, format!("constructed: {name}"));
        assert_eq!(topology.dimensions.iter().map(|axis| axis.size).collect::<Vec<_>>(), sizes);
        assert_eq!(topology.coordinates, coordinates);
        assert_eq!(topology.n_shared(), 0, "every thread has a place of its own");
    }

    const TWO_NODES: &[(&str, Option<u32>)] = &[("machine", None), ("node", Some(0)), ("node", Some(0))];

    #[test]
    fn threads_stand_in_processes_on_nodes() {
        let even = profile(TWO_NODES, &[(Some(1), Some(0), 2), (Some(1), Some(1), 2), (Some(2), Some(2), 2)]);
        check(
            &even,
            "node x process x thread",
            &[2, 2, 2],
            &[0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1],
        );
        let topology = even.constructed_topology().unwrap();
        assert_eq!(topology.n_missing(), Some(2));
    }

    #[test]
    fn axes_of_one_place_are_left_out() {
        let ranks = profile(TWO_NODES, &[(Some(1), Some(0), 1), (Some(1), Some(1), 1)]);
        check(&ranks, "process", &[2], &[0, 1]);
        let threads = profile(&[], &[(None, None, 3)]);
        check(&threads, "thread", &[3], &[0, 1, 2]);
        assert_eq!(profile(TWO_NODES, &[(Some(1), Some(0), 1)]).constructed_topology(), None);
        assert_eq!(profile(&[], &[]).constructed_topology(), None);
    }

    #[test]
    fn processes_stand_by_rank_not_by_definition() {
        let ranks =
            profile(TWO_NODES, &[(Some(2), Some(3), 1), (Some(2), Some(1), 1), (Some(1), Some(2), 1)]);
        check(&ranks, "node x process", &[2, 2], &[1, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn processes_without_a_node_stand_behind_the_others() {
        // The second hangs below the machine, the third nowhere, the fourth at a node that is not there.
        let odd = profile(
            TWO_NODES,
            &[(Some(2), Some(0), 1), (Some(0), Some(1), 1), (None, Some(2), 1), (Some(9), Some(3), 1)],
        );
        check(&odd, "node x process", &[2, 3], &[0, 0, 1, 0, 1, 1, 1, 2]);
        let no_nodes = profile(&[("machine", None)], &[(Some(0), Some(0), 1), (Some(0), Some(1), 1)]);
        check(&no_nodes, "process", &[2], &[0, 1]);
    }

    #[test]
    fn a_circle_in_the_system_tree_ends() {
        let circle =
            profile(&[("a", Some(1)), ("b", Some(0))], &[(Some(0), Some(0), 1), (Some(1), Some(1), 1)]);
        check(&circle, "process", &[2], &[0, 1]);
    }

    #[test]
    fn accelerators_have_no_place_beside_threads() {
        let mut mixed = profile(TWO_NODES, &[(Some(1), Some(0), 1), (Some(2), Some(1), 1)]);
        add_group(&mut mixed, LocationGroupKind::Accelerator, Some(2), Some(1));
        add_location(&mut mixed, LocationKind::AcceleratorStream);
        check(&mixed, "node", &[2], &[0, 1]);
        let mut streams = profile(TWO_NODES, &[]);
        add_group(&mut streams, LocationGroupKind::Accelerator, Some(2), Some(1));
        (0..2).for_each(|_| add_location(&mut streams, LocationKind::AcceleratorStream));
        check(&streams, "thread", &[2], &[0, 1]);
    }
}
