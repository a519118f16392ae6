//! Global definitions as the file has them, by reference, each kind in its own table.
//!
//! Definitions may come late or twice: nothing is resolved here, the last of equal
//! references wins; the decoder counts the others. Groups are the exception: some tracers
//! give one reference to the group of all locations and to a group of ranks, and both
//! are wanted.

use ouzel_otf2::records::{
    Definition, DefinitionKind, definition as def, enums::GroupType, enums::Paradigm, enums::RegionRole,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Every definition that the model has a place for.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// Whether definitions are known to be lost, so that references without one are no fault of the tracer.
    pub is_incomplete: bool,
    pub strings: FxHashMap<u32, Arc<str>>,
    pub clock: Option<def::ClockProperties>,
    pub system_nodes: Vec<def::SystemTreeNode>,
    pub shared_memory_nodes: FxHashSet<u32>,
    pub location_groups: Vec<def::LocationGroup>,
    pub locations: Vec<def::Location>,
    pub regions: Vec<def::Region>,
    pub groups: Vec<OwnedGroup>,
    pub comms: Vec<Comm>,
    pub rma_windows: Vec<def::RmaWin>,
    pub metric_members: Vec<def::MetricMember>,
    pub metric_classes: Vec<(u32, Vec<u32>)>,
    pub metric_instances: Vec<def::MetricInstance>,
    pub parameters: Vec<def::Parameter>,
    pub calling_contexts: Vec<def::CallingContext>,
    pub context_properties: Vec<def::CallingContextProperty>,
    pub source_code_locations: Vec<def::SourceCodeLocation>,
    pub interrupt_generators: Vec<def::InterruptGenerator>,
    pub cart_dimensions: Vec<def::CartDimension>,
    pub cart_topologies: Vec<CartTopology>,
    pub cart_coordinates: Vec<CartCoordinate>,
    /// Whether no reference is defined twice. Then none is looked for, which would need a map of all references.
    pub are_unique: bool,
    seen: FxHashMap<(DefinitionKind, u64), usize>,
    groups_by_id: FxHashMap<u32, Vec<usize>>,
}

/// A group, owned.
#[derive(Debug, Clone)]
pub(super) struct OwnedGroup {
    pub id: u32,
    pub group_type: GroupType,
    pub paradigm: Paradigm,
    pub members: Vec<u64>,
}

/// A communicator or inter-communicator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comm {
    pub id: u32,
    pub name: u32,
    pub group: u32,
    pub remote_group: Option<u32>,
    pub parent: u32,
}

/// A Cartesian topology, owned.
#[derive(Debug, Clone)]
pub(super) struct CartTopology {
    pub id: u32,
    pub name: u32,
    pub communicator: u32,
    pub dimensions: Vec<u32>,
}

/// A place in a Cartesian topology, owned.
#[derive(Debug, Clone)]
pub(super) struct CartCoordinate {
    pub topology: u32,
    pub rank: u32,
    pub coordinates: Vec<u32>,
}

/// What a communicator can be made of, in the order of preference.
pub(super) const COMM_GROUPS: [GroupType; 4] =
    [GroupType::CommGroup, GroupType::CommLocations, GroupType::CommLocationGroups, GroupType::CommSelf];

impl Collected {
    /// Takes one definition.
    pub fn take(&mut self, definition: &Definition<'_>) {
        match definition {
            Definition::String(d) => {
                let text = String::from_utf8_lossy(d.string.bytes());
                self.strings.insert(d.id, Arc::from(text));
            }
            Definition::ClockProperties(d) => self.clock = Some(*d),
            Definition::SystemTreeNode(d) => {
                self.keep(|c| &mut c.system_nodes, DefinitionKind::SystemTreeNode, d.id, *d);
            }
            Definition::SystemTreeNodeDomain(d) => {
                if d.system_tree_domain == ouzel_otf2::records::enums::SystemTreeDomain::SharedMemory {
                    self.shared_memory_nodes.insert(d.system_tree_node);
                }
            }
            Definition::LocationGroup(d) => {
                self.keep(|c| &mut c.location_groups, DefinitionKind::LocationGroup, d.id, *d);
            }
            Definition::Location(d) => self.keep(|c| &mut c.locations, DefinitionKind::Location, d.id, *d),
            Definition::Region(d) => self.keep(|c| &mut c.regions, DefinitionKind::Region, d.id, *d),
            Definition::MetricMember(d) => {
                self.keep(|c| &mut c.metric_members, DefinitionKind::MetricMember, d.id, *d);
            }
            Definition::MetricInstance(d) => {
                self.keep(|c| &mut c.metric_instances, DefinitionKind::MetricInstance, d.id, *d);
            }
            Definition::Parameter(d) => self.keep(|c| &mut c.parameters, DefinitionKind::Parameter, d.id, *d),
            Definition::CallingContext(d) => {
                self.keep(|c| &mut c.calling_contexts, DefinitionKind::CallingContext, d.id, *d);
            }
            Definition::CallingContextProperty(d) => self.context_properties.push(*d),
            Definition::SourceCodeLocation(d) => {
                self.keep(|c| &mut c.source_code_locations, DefinitionKind::SourceCodeLocation, d.id, *d);
            }
            Definition::InterruptGenerator(d) => {
                self.keep(|c| &mut c.interrupt_generators, DefinitionKind::InterruptGenerator, d.id, *d);
            }
            Definition::RmaWin(d) => self.keep(|c| &mut c.rma_windows, DefinitionKind::RmaWin, d.id, *d),
            Definition::CartDimension(d) => {
                self.keep(|c| &mut c.cart_dimensions, DefinitionKind::CartDimension, d.id, *d);
            }
            other => self.take_lists(other),
        }
    }

    /// Definitions with lists of members, and the rest.
    fn take_lists(&mut self, definition: &Definition<'_>) {
        match definition {
            Definition::Group(d) => self.take_group(d),
            Definition::Comm(d) => {
                let comm =
                    Comm { id: d.id, name: d.name, group: d.group, remote_group: None, parent: d.parent };
                self.keep(|c| &mut c.comms, DefinitionKind::Comm, d.id, comm);
            }
            Definition::InterComm(d) => {
                let comm = Comm {
                    id: d.id,
                    name: d.name,
                    group: d.group_a,
                    remote_group: Some(d.group_b),
                    parent: d.common_communicator,
                };
                self.keep(|c| &mut c.comms, DefinitionKind::Comm, d.id, comm);
            }
            Definition::MetricClass(d) => {
                let members = d.metric_members.iter().collect();
                self.keep(|c| &mut c.metric_classes, DefinitionKind::MetricClass, d.id, (d.id, members));
            }
            Definition::CartTopology(d) => {
                let topology = CartTopology {
                    id: d.id,
                    name: d.name,
                    communicator: d.communicator,
                    dimensions: d.cart_dimensions.iter().collect(),
                };
                self.keep(|c| &mut c.cart_topologies, DefinitionKind::CartTopology, d.id, topology);
            }
            Definition::CartCoordinate(d) => {
                let coordinates = d.coordinates.iter().collect();
                self.cart_coordinates.push(CartCoordinate {
                    topology: d.cart_topology,
                    rank: d.rank,
                    coordinates,
                });
            }
            // Properties, call sites, I/O handles and the like: the model has no place for them yet.
            _ => {}
        }
    }

    fn take_group(&mut self, d: &def::Group<'_>) {
        let members = d.members.iter().collect();
        let group = OwnedGroup { id: d.id, group_type: d.group_type, paradigm: d.paradigm, members };
        let same_id = self.groups_by_id.entry(d.id).or_default();
        match same_id.iter().find(|&&at| self.groups[at].group_type == group.group_type) {
            Some(&at) => self.groups[at] = group,
            None => {
                same_id.push(self.groups.len());
                self.groups.push(group);
            }
        }
    }

    /// Keeps `value` in its table, in the place of an earlier one of the same reference.
    fn keep<T>(
        &mut self,
        table: fn(&mut Self) -> &mut Vec<T>,
        kind: DefinitionKind,
        id: impl Into<u64>,
        value: T,
    ) {
        if self.are_unique {
            return table(self).push(value);
        }
        let next = table(self).len();
        let at = *self.seen.entry((kind, id.into())).or_insert(next);
        match table(self).get_mut(at) {
            Some(earlier) => *earlier = value,
            None => table(self).push(value),
        }
    }

    /// The text of a reference; empty if undefined.
    pub fn text(&self, reference: u32) -> Arc<str> {
        self.strings.get(&reference).cloned().unwrap_or_else(|| Arc::from(""))
    }

    /// The text of a reference, if there is one and it says something.
    pub(crate) fn some_text(&self, reference: u32) -> Option<Arc<str>> {
        self.strings.get(&reference).filter(|text| !text.is_empty()).cloned()
    }

    /// Whether a region says by name or role what it is.
    pub(crate) fn has_meaning(&self, region: &def::Region) -> bool {
        let has_role = region.region_role != RegionRole::Unknown && region.paradigm != Paradigm::Unknown;
        has_role || [region.name, region.canonical_name].iter().any(|&name| self.some_text(name).is_some())
    }

    /// Whether the groups of a communicator are defined.
    pub(crate) fn has_members(&self, comm: &Comm) -> bool {
        std::iter::once(comm.group).chain(comm.remote_group).all(|id| self.group(id, &COMM_GROUPS).is_some())
    }

    /// Whether definitions have a hole: events may name what no definition explains. Archives number regions and
    /// communicators without gaps, those of communicators from zero.
    pub(crate) fn has_holes(&self) -> bool {
        let n_missing = |ids: &mut dyn Iterator<Item = u32>, first: Option<u32>| {
            let ids: Vec<u32> = ids.collect();
            let (min, max) = (ids.iter().copied().min()?, ids.iter().copied().max()?);
            let n = ids.len() as u64;
            // References that are far apart are no numbers of a sequence.
            Some(u64::from(max - first.unwrap_or(min)) + 1 - n).filter(|&missing| missing <= n)
        };
        let regions = n_missing(&mut self.regions.iter().map(|region| region.id), None);
        let comms = n_missing(&mut self.comms.iter().map(|comm| comm.id), Some(0));
        let is_mpi = self.groups.iter().any(|group| group.paradigm == Paradigm::Mpi)
            || self.regions.iter().any(|region| region.paradigm == Paradigm::Mpi);
        self.is_incomplete
            || regions.is_some_and(|n| 0 < n)
            || comms.is_some_and(|n| 0 < n)
            || self.comms.is_empty() && is_mpi
            || self.regions.is_empty() && self.calling_contexts.is_empty()
            || self.regions.iter().any(|region| !self.has_meaning(region))
            || self.comms.iter().any(|comm| !self.has_members(comm))
    }

    /// The group of a reference that has one of these types, in the order of preference.
    /// Gives back its place in `groups`.
    pub fn group(&self, id: u32, types: &[GroupType]) -> Option<usize> {
        let same_id = self.groups_by_id.get(&id)?;
        types.iter().find_map(|&t| same_id.iter().copied().find(|&at| self.groups[at].group_type == t))
    }
}
