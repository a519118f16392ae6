//! From collected definitions to the model's tables.
//!
//! Sparse references become dense ids in the order of definition. Regions with equal
//! content (some tracers define a function once for each rank) become one. What a
//! definition leaves dangling gets a placeholder and a notice. Times and ranks get
//! their meaning here: the clock, and which process is which world rank.

use super::code_flows;
use super::collect::{Collected, OwnedGroup};
use super::communicators::Communicators;
use super::contexts;
use super::evidence::{Evidence, RegionUse};
use super::ranks::ranks_from_numbers;
use super::refs::GlobalRefs;
use ouzel_model::{
    CartDimension, CartMembers, CartTopology, Clock, CommId, CommRank, Definitions, Level, Location,
    LocationGroup, LocationGroupId, LocationGroupKind, LocationId, LocationKind, Metric, MetricId,
    MetricMode, MetricValueType, Notice, NoticeCode, Paradigm, ParameterId, RankGroupId, Region, RegionId,
    RegionRole, RmaWindow, RmaWindowId, SystemNode, SystemNodeId, SystemTree, Ticks, WorldRank,
};
use ouzel_otf2::records::EventKind;
use ouzel_otf2::records::definition as def;
use ouzel_otf2::records::enums::{
    self, Base, CartPeriodicity, GroupType, LocationGroupType, LocationType, Type,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

const UNDEFINED: u32 = u32::MAX;

/// The flag of a window whose creation and end are events.
const HAS_LIFE_EVENTS: u32 = 1;

/// The model's definitions, and the map from the references of event files to them.
#[derive(Debug)]
pub(super) struct Resolved {
    pub definitions: Definitions,
    pub refs: GlobalRefs,
    pub notices: Vec<Notice>,
}

/// Resolves every reference.
pub(super) fn resolve(collected: Collected, evidence: &Evidence) -> Resolved {
    let mut resolver = Resolver { collected: &collected, evidence, notices: Vec::new() };
    let clock = resolver.clock();
    let mut definitions = Definitions::empty(clock);
    let nodes = resolver.system_tree(&mut definitions);
    let groups = resolver.location_groups(&mut definitions, &nodes);
    let locations = resolver.locations(&mut definitions, &groups);
    let ranks = resolver.ranks(&mut definitions, &locations);
    let regions = resolver.regions(&mut definitions);
    let (contexts, calling_contexts) =
        contexts::contexts(&collected, &regions, definitions.unknown_region, &mut resolver.notices);
    definitions.sampled_contexts = contexts;
    definitions.code_flows = code_flows::code_flows(&collected, &regions, &mut resolver.notices);
    let (generators, interrupt_generators) = contexts::generators(&collected);
    definitions.interrupt_generators = generators;
    let (comms, notices) =
        Communicators::new(&collected, evidence, &locations, &ranks).define(&mut definitions);
    resolver.notices.extend(notices);
    let unknown_comm = CommId::from_index(definitions.communicators.len() - 1);
    let (rma_windows, rank_groups) = resolver.rma_windows(&mut definitions, &comms, unknown_comm);
    let metrics = resolver.metrics(&mut definitions);
    resolver.topologies(&mut definitions, &comms);
    definitions.records = record_names();
    definitions.parameters = collected.parameters.iter().map(|p| collected.text(p.name)).collect();
    let parameters = index(collected.parameters.iter().map(|p| p.id), ParameterId::from_index);
    let notices = resolver.notices;
    let refs = GlobalRefs {
        regions,
        unknown_region: definitions.unknown_region,
        comms,
        unknown_comm,
        rma_windows,
        rank_groups,
        metrics,
        parameters,
        calling_contexts,
        interrupt_generators,
        strings: collected.strings,
    };
    Resolved { definitions, refs, notices }
}

/// Which id each reference has, when ids follow the order of definition.
fn index<R: std::hash::Hash + Eq, I>(
    references: impl Iterator<Item = R>,
    id: fn(usize) -> I,
) -> FxHashMap<R, I> {
    references.enumerate().map(|(i, reference)| (reference, id(i))).collect()
}

struct Resolver<'c> {
    collected: &'c Collected,
    evidence: &'c Evidence,
    notices: Vec<Notice>,
}

impl Resolver<'_> {
    fn say(&mut self, level: Level, code: NoticeCode, message: impl Into<String>) {
        self.notices.push(Notice::new(level, code, message));
    }

    fn clock(&mut self) -> Clock {
        let Some(clock) = self.collected.clock else {
            self.say(
                Level::High,
                NoticeCode::MissingDefinitions,
                "the clock is not defined; one tick is taken as one nanosecond, and times count from the clock's own zero",
            );
            return Clock {
                ticks_per_second: 1_000_000_000,
                offset_ticks: 0,
                realtime_ns: None,
                declared_length: None,
            };
        };
        if clock.timer_resolution == 0 {
            self.say(
                Level::High,
                NoticeCode::DamagedDefinitions,
                "the clock is defined with zero ticks per second; one tick is taken as one nanosecond",
            );
        }
        Clock {
            ticks_per_second: if clock.timer_resolution == 0 {
                1_000_000_000
            } else {
                clock.timer_resolution
            },
            offset_ticks: clock.global_offset,
            realtime_ns: Some(clock.realtime_timestamp).filter(|&ns| ns != u64::MAX && ns != 0),
            declared_length: Some(Ticks(clock.trace_length)),
        }
    }

    fn system_tree(&mut self, definitions: &mut Definitions) -> FxHashMap<u32, SystemNodeId> {
        let nodes = &self.collected.system_nodes;
        let ids = index(nodes.iter().map(|n| n.id), SystemNodeId::from_index);
        let nodes = nodes.iter().map(|node| SystemNode {
            name: self.collected.text(node.name),
            class: self.collected.text(node.class_name),
            parent: ids.get(&node.parent).copied().filter(|_| node.parent != node.id),
            shared_memory: self.collected.shared_memory_nodes.contains(&node.id),
        });
        definitions.system_tree = SystemTree { nodes: nodes.collect() };
        ids
    }

    fn location_groups(
        &mut self,
        definitions: &mut Definitions,
        nodes: &FxHashMap<u32, SystemNodeId>,
    ) -> FxHashMap<u32, LocationGroupId> {
        let groups = &self.collected.location_groups;
        let ids = index(groups.iter().map(|g| g.id), LocationGroupId::from_index);
        let groups = groups.iter().map(|group| LocationGroup {
            name: self.collected.text(group.name),
            kind: match group.location_group_type {
                LocationGroupType::Process => LocationGroupKind::Process,
                LocationGroupType::Accelerator => LocationGroupKind::Accelerator,
                _ => LocationGroupKind::Unknown,
            },
            system_node: nodes.get(&group.system_tree_parent).copied(),
            creator: ids.get(&group.creating_location_group).copied(),
            device: None,
            rank: None,
        });
        definitions.location_groups = groups.collect();
        ids
    }

    fn locations(
        &mut self,
        definitions: &mut Definitions,
        groups: &FxHashMap<u32, LocationGroupId>,
    ) -> FxHashMap<u64, LocationId> {
        let ids = index(self.collected.locations.iter().map(|l| l.id), LocationId::from_index);
        // By the number of a group that is not defined, and where there is none by the number of the process.
        let mut placeholders: FxHashMap<(u32, u32), LocationGroupId> = FxHashMap::default();
        for location in &self.collected.locations {
            let group = groups.get(&location.location_group).copied();
            if group.is_none() && !self.collected.is_incomplete {
                let message = format!(
                    "location {} belongs to location group {}, which is not defined",
                    location.id, location.location_group
                );
                self.say(Level::Medium, NoticeCode::UndefinedReference, message);
            }
            let kind = match location.location_type {
                LocationType::CpuThread => LocationKind::CpuThread,
                LocationType::AcceleratorStream => LocationKind::AcceleratorStream,
                LocationType::Metric => LocationKind::Metric,
                _ => LocationKind::Unknown,
            };
            let name = self.collected.some_text(location.name);
            let name = name.unwrap_or_else(|| Arc::from(format!("location {}", location.id)));
            // A location that was made up from its file declares nothing.
            let made_up = self.collected.is_incomplete && location.number_of_events == 0;
            let declared = Some(location.number_of_events).filter(|&n| n != u64::MAX && !made_up);
            // Score-P has the process in the low half of a location's number.
            let process = (location.id & 0xffff_ffff) as u32;
            let process = if location.location_group == UNDEFINED { process } else { UNDEFINED };
            let key = (location.location_group, process);
            let known = group.or_else(|| placeholders.get(&key).copied());
            let used = push_location(definitions, location.id, name, kind, known, declared);
            if group.is_none() {
                placeholders.insert(key, used);
            }
        }
        ids
    }

    /// Gives processes their world ranks, and returns the locations by rank.
    fn ranks(
        &mut self,
        definitions: &mut Definitions,
        locations: &FxHashMap<u64, LocationId>,
    ) -> Vec<Option<LocationId>> {
        let of_mpi =
            |g: &&OwnedGroup| g.group_type == GroupType::CommLocations && g.paradigm == enums::Paradigm::Mpi;
        let world: Vec<Option<LocationId>> = match self.collected.groups.iter().find(of_mpi) {
            Some(group) => group.members.iter().map(|member| locations.get(member).copied()).collect(),
            None if self.loses_ranks() => self.world_by_numbers(locations),
            None => {
                let mut first_of = FxHashMap::default();
                for id in definitions.location_ids() {
                    let location = definitions.location(id);
                    if location.kind != LocationKind::Metric {
                        first_of.entry(location.group).or_insert(id);
                    }
                }
                let processes = definitions.processes().into_iter();
                processes.map(|group| first_of.get(&group).copied()).collect()
            }
        };
        for (rank, location) in world.iter().enumerate() {
            if let Some(location) = location {
                let group = definitions.locations[location.index()].group;
                definitions.location_groups[group.index()].rank = Some(WorldRank::from_index(rank));
            }
        }
        // A context belongs to the process that made it; contexts may be nested, but not deeply.
        for _ in 0..3 {
            for group in 0..definitions.location_groups.len() {
                let LocationGroup { rank, creator, .. } = definitions.location_groups[group];
                let inherited = creator.and_then(|c| definitions.location_groups[c.index()].rank);
                definitions.location_groups[group].rank = rank.or(inherited);
            }
        }
        for location in &mut definitions.locations {
            location.rank = definitions.location_groups[location.group.index()].rank;
        }
        world
    }

    /// Whether a trace of MPI lacks the definition of who is which rank.
    fn loses_ranks(&self) -> bool {
        let of_mpi = |group: &OwnedGroup| group.paradigm == enums::Paradigm::Mpi;
        self.collected.is_incomplete || self.collected.groups.iter().any(of_mpi)
    }

    /// The locations by rank as tracers number them.
    fn world_by_numbers(&mut self, locations: &FxHashMap<u64, LocationId>) -> Vec<Option<LocationId>> {
        let numbers: Vec<u64> = self.collected.locations.iter().map(|location| location.id).collect();
        let Some(ranks) = ranks_from_numbers(&numbers) else {
            let message =
                "the ranks of locations are not defined, and cannot be inferred from the location numbers";
            self.say(Level::Medium, NoticeCode::UndefinedReference, message);
            return Vec::new();
        };
        let message = "the ranks of locations are not defined; they are inferred from the location numbers";
        self.say(Level::Medium, NoticeCode::UndefinedReference, message);
        let n_ranks = ranks.values().max().map_or(0, |&rank| rank as usize + 1);
        let mut world = vec![None; n_ranks];
        for (number, rank) in ranks {
            world[rank as usize] = locations.get(&number).copied();
        }
        world
    }

    /// Windows, and the groups of ranks that events on them may name.
    fn rma_windows(
        &mut self,
        definitions: &mut Definitions,
        comms: &FxHashMap<u32, CommId>,
        unknown_comm: CommId,
    ) -> (FxHashMap<u32, RmaWindowId>, FxHashMap<u32, RankGroupId>) {
        let windows = &self.collected.rma_windows;
        if windows.is_empty() {
            return (FxHashMap::default(), FxHashMap::default());
        }
        let window = |window: &def::RmaWin| RmaWindow {
            name: self.collected.text(window.name),
            comm: comms.get(&window.comm).copied().unwrap_or(unknown_comm),
            has_life_events: window.flags & HAS_LIFE_EVENTS != 0,
        };
        definitions.rma_windows = windows.iter().map(window).collect();
        let n_lost = windows.iter().filter(|window| !comms.contains_key(&window.comm)).count();
        if 0 < n_lost {
            let message =
                "the communicator of a window is not defined: the ranks behind its targets are unknown";
            let notice = Notice::new(Level::Medium, NoticeCode::UndefinedReference, message);
            self.notices.push(notice.times(n_lost as u64));
        }
        let of_ranks = |group: &&OwnedGroup| {
            let is_of_ranks = matches!(group.paradigm, enums::Paradigm::Mpi | enums::Paradigm::Unknown);
            group.group_type == GroupType::CommGroup && is_of_ranks
        };
        let groups: Vec<&OwnedGroup> = self.collected.groups.iter().filter(of_ranks).collect();
        let rank = |&member: &u64| WorldRank(u32::try_from(member).unwrap_or(u32::MAX));
        definitions.rank_groups =
            groups.iter().map(|group| group.members.iter().map(rank).collect()).collect();
        let ids = index(windows.iter().map(|window| window.id), RmaWindowId::from_index);
        (ids, index(groups.iter().map(|group| group.id), RankGroupId::from_index))
    }

    fn regions(&mut self, definitions: &mut Definitions) -> FxHashMap<u32, RegionId> {
        let mut unique: FxHashMap<Region, RegionId> = FxHashMap::default();
        let mut regions: Vec<Region> = Vec::new();
        let mut ids = FxHashMap::default();
        for d in &self.collected.regions {
            let region = self.region(d);
            let id = *unique.entry(region).or_insert_with_key(|region| {
                regions.push(region.clone());
                RegionId::from_index(regions.len() - 1)
            });
            ids.insert(d.id, id);
        }
        definitions.set_regions(regions);
        self.add_unknown_regions(definitions, &mut ids);
        ids
    }

    /// Gives each reference that events name and no definition explains a region of its own, so that different
    /// functions stay separate. Its role comes from what its calls hold.
    fn add_unknown_regions(&mut self, definitions: &mut Definitions, ids: &mut FxHashMap<u32, RegionId>) {
        let unknown = definitions.region(definitions.unknown_region).clone();
        let mut n_lost = 0;
        for (&reference, held) in &self.evidence.regions {
            ids.entry(reference).or_insert_with(|| {
                let (name, paradigm) = (format!("<unknown region {reference}>"), Paradigm::Unknown);
                definitions
                    .regions
                    .push(by_records(Region { name: Arc::from(name), paradigm, ..unknown.clone() }, held));
                n_lost += 1;
                RegionId::from_index(definitions.regions.len() - 1)
            });
        }
        if 0 < n_lost {
            let message =
                "a region is not defined: its name is unknown, and its meaning is taken from its records";
            self.notices
                .push(Notice::new(Level::Medium, NoticeCode::UndefinedReference, message).times(n_lost));
        }
    }

    fn region(&self, d: &def::Region) -> Region {
        let line = |n: u32| Some(n).filter(|&n| n != 0 && n != UNDEFINED);
        let name = self.collected.some_text(d.name).or_else(|| self.collected.some_text(d.canonical_name));
        let name = name.unwrap_or_else(|| Arc::from(format!("<region {} without a name>", d.id)));
        let region = Region {
            canonical_name: self.collected.some_text(d.canonical_name).filter(|canonical| *canonical != name),
            name,
            file: self.collected.some_text(d.source_file),
            line: line(d.begin_line_number),
            end_line: line(d.end_line_number),
            role: RegionRole::from_code(d.region_role.to_u8()),
            paradigm: Paradigm::from_code(d.paradigm.to_u8()),
        };
        match self.evidence.regions.get(&d.id).filter(|_| !self.collected.has_meaning(d)) {
            Some(held) => by_records(region, held),
            None => region,
        }
    }

    fn metrics(&mut self, definitions: &mut Definitions) -> FxHashMap<u32, Arc<[MetricId]>> {
        let members = index(self.collected.metric_members.iter().map(|m| m.id), MetricId::from_index);
        definitions.metrics = self.collected.metric_members.iter().map(|m| self.metric(m)).collect();
        let mut classes: FxHashMap<u32, Arc<[MetricId]>> = FxHashMap::default();
        for (class, references) in &self.collected.metric_classes {
            let ids = references.iter().map(|reference| members.get(reference).copied());
            match ids.collect::<Option<Arc<[MetricId]>>>() {
                Some(ids) => {
                    classes.insert(*class, ids);
                }
                None => {
                    let message = format!(
                        "metric class {class} has a member that is not defined; its values are left out"
                    );
                    self.say(Level::High, NoticeCode::UndefinedReference, message);
                }
            }
        }
        for instance in &self.collected.metric_instances {
            if let Some(ids) = classes.get(&instance.metric_class).cloned() {
                classes.insert(instance.id, ids);
            }
        }
        classes
    }

    fn metric(&self, d: &def::MetricMember) -> Metric {
        let unit = self.collected.text(d.unit);
        let unit = match (d.exponent, d.base) {
            (0, _) => unit,
            (exponent, Base::Binary) => Arc::from(format!("2^{exponent} {unit}")),
            (exponent, _) => Arc::from(format!("10^{exponent} {unit}")),
        };
        Metric {
            name: self.collected.text(d.name),
            description: self.collected.text(d.description),
            unit,
            mode: match d.metric_mode & 0x0F {
                0 => MetricMode::Accumulated,
                2 => MetricMode::Relative,
                _ => MetricMode::Absolute,
            },
            value_type: match d.value_type {
                Type::Int64 => MetricValueType::I64,
                Type::Double => MetricValueType::F64,
                _ => MetricValueType::U64,
            },
        }
    }

    fn topologies(&mut self, definitions: &mut Definitions, comms: &FxHashMap<u32, CommId>) {
        let mut dimension_of = FxHashMap::default();
        for dimension in &self.collected.cart_dimensions {
            dimension_of.entry(dimension.id).or_insert(dimension);
        }
        let dimension = |id: &u32| dimension_of.get(id).copied();
        let mut places_of: FxHashMap<u32, Vec<_>> = FxHashMap::default();
        for place in &self.collected.cart_coordinates {
            places_of.entry(place.topology).or_default().push(place);
        }
        for topology in &self.collected.cart_topologies {
            let dimensions: Option<Vec<_>> = topology.dimensions.iter().map(dimension).collect();
            let Some(dimensions) = dimensions else {
                self.notices.push(Notice::new(
                    Level::Medium,
                    NoticeCode::UndefinedReference,
                    format!("topology {} has a dimension that is not defined; it is left out", topology.id),
                ));
                continue;
            };
            let places = places_of.get(&topology.id).into_iter().flatten();
            let mut places: Vec<(CommRank, &[u32])> =
                places.map(|place| (CommRank(place.rank), &*place.coordinates)).collect();
            places.sort_unstable();
            let n_before = places.len();
            places.dedup_by_key(|(rank, _)| *rank);
            places.retain(|(_, place)| place.len() == dimensions.len());
            let n_lost = (n_before - places.len()) as u64;
            if n_lost > 0 {
                let message = format!(
                    "coordinates of topology {} are left out: a rank has two places, or a place has the wrong number \
                     of dimensions",
                    topology.id
                );
                self.notices
                    .push(Notice::new(Level::Medium, NoticeCode::UndefinedReference, message).times(n_lost));
            }
            definitions.topologies.push(CartTopology {
                name: self.collected.text(topology.name),
                comm: comms.get(&topology.communicator).copied(),
                dimensions: dimensions
                    .into_iter()
                    .map(|d| CartDimension {
                        name: self.collected.text(d.name),
                        size: d.size,
                        periodic: d.cart_periodicity == CartPeriodicity::True,
                    })
                    .collect(),
                members: CartMembers::Ranks(places.iter().map(|(rank, _)| *rank).collect()),
                coordinates: places.iter().flat_map(|(_, place)| *place).copied().collect(),
            });
        }
    }
}

/// The region with the meaning that its calls have by their records, if they have one.
fn by_records(region: Region, held: &RegionUse) -> Region {
    match held.meaning() {
        Some((role, word)) => Region {
            name: Arc::from(format!("{} ({word})", region.name)),
            role,
            paradigm: Paradigm::Mpi,
            ..region
        },
        None => region,
    }
}

fn push_location(
    definitions: &mut Definitions,
    native_id: u64,
    name: Arc<str>,
    kind: LocationKind,
    group: Option<LocationGroupId>,
    declared_events: Option<u64>,
) -> LocationGroupId {
    let group = group.unwrap_or_else(|| {
        let kind = match kind {
            LocationKind::AcceleratorStream => LocationGroupKind::Accelerator,
            _ => LocationGroupKind::Unknown,
        };
        let group = LocationGroup {
            name: name.clone(),
            kind,
            system_node: None,
            creator: None,
            device: None,
            rank: None,
        };
        definitions.location_groups.push(group);
        LocationGroupId::from_index(definitions.location_groups.len() - 1)
    });
    definitions.locations.push(Location { name, kind, group, rank: None, declared_events, native_id });
    group
}

/// The names of event records by their ids in the file; ids that no record has are empty.
fn record_names() -> Vec<Arc<str>> {
    let n_ids = EventKind::ALL.iter().map(|kind| usize::from(kind.id()) + 1).max().unwrap_or(0);
    let mut names: Vec<Arc<str>> = vec![Arc::from(""); n_ids];
    for kind in EventKind::ALL {
        names[usize::from(kind.id())] = Arc::from(kind.name());
    }
    names
}
