//! What is known once about a trace.
//!
//! One table per noun, indexed by the dense id of its name. Every id inside
//! points into its table: adapters resolve what a file leaves dangling.

use crate::{
    CartTopology, Clock, CodeFlow, CommId, Communicator, InterruptGenerator, Location, LocationGroup,
    LocationGroupId, LocationGroupKind, LocationId, LocationKind, Metric, Paradigm, Region, RegionId,
    RegionRole, RmaWindow, RmaWindowId, SampledContexts, SystemTree, WorldRank,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use wildmatch::WildMatch;

/// Everything a trace defines, whatever its format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definitions {
    /// Where the trace comes from.
    pub provenance: Provenance,
    /// Its clock.
    pub clock: Clock,
    /// The machine.
    pub system_tree: SystemTree,
    /// Processes and accelerator contexts.
    pub location_groups: Vec<LocationGroup>,
    /// Threads, streams and metric sources.
    pub locations: Vec<Location>,
    /// Code regions.
    pub regions: Vec<Region>,
    /// Communicators.
    pub communicators: Vec<Communicator>,
    /// Windows of one-sided communication.
    pub rma_windows: Vec<RmaWindow>,
    /// Groups of ranks that events of one-sided communication name.
    pub rank_groups: Vec<Arc<[WorldRank]>>,
    /// Metrics.
    pub metrics: Vec<Metric>,
    /// Names of call parameters.
    pub parameters: Vec<Arc<str>>,
    /// Names of records that may be [`EventKind::Other`](crate::EventKind::Other), as the format has them; those of
    /// records that do not exist are empty.
    pub records: Vec<Arc<str>>,
    /// Call paths that samples name.
    pub sampled_contexts: SampledContexts,
    /// What the code of the program says of functions and loops on these paths, by their regions.
    pub code_flows: BTreeMap<RegionId, CodeFlow>,
    /// What interrupts the program to take samples.
    pub interrupt_generators: Vec<InterruptGenerator>,
    /// Cartesian topologies.
    pub topologies: Vec<CartTopology>,
    /// The region used for every id that no definition explains.
    pub unknown_region: RegionId,
    /// The region `[filtered]`, used for everything that a region filter hides.
    pub filtered_region: RegionId,
}

/// No rank is this large: negative numbers without their sign begin here.
const NOBODY: u32 = 1 << 31;

/// Who wrote the trace, and in which format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The format, e.g. `OTF2`.
    pub format: String,
    /// Version of the format, e.g. `3.0.0`; empty if unknown.
    pub format_version: String,
    /// The tracer, e.g. `Score-P 8.4`; empty if unknown.
    pub creator: String,
    /// The machine's name as the tracer wrote it; empty if unknown.
    pub machine: String,
    /// Free text of the tracer; empty if none.
    pub description: String,
}

impl Definitions {
    /// The location of an id.
    pub fn location(&self, id: LocationId) -> &Location {
        &self.locations[id.index()]
    }

    /// The region of an id.
    pub fn region(&self, id: RegionId) -> &Region {
        &self.regions[id.index()]
    }

    /// A label for each region that no other has: its name; where several regions have the name, with `file:line` if
    /// that tells them apart, else with the region's number.
    pub fn region_labels(&self) -> Vec<Arc<str>> {
        let mut n_of_name: BTreeMap<&str, u32> = BTreeMap::new();
        let mut n_of_source: BTreeMap<(&str, String), u32> = BTreeMap::new();
        for region in &self.regions {
            *n_of_name.entry(&region.name).or_default() += 1;
            *n_of_source.entry((&region.name, region.source().unwrap_or_default())).or_default() += 1;
        }
        let label = |(i, region): (usize, &Region)| {
            if n_of_name[&*region.name] == 1 {
                return Arc::clone(&region.name);
            }
            match region.source() {
                Some(source) if n_of_source[&(&*region.name, source.clone())] == 1 => {
                    Arc::from(format!("{} ({source})", region.name))
                }
                _ => Arc::from(format!("{} (region {i})", region.name)),
            }
        };
        self.regions.iter().enumerate().map(label).collect()
    }

    /// For each region whether its name matches one of these patterns (`*` any run, `?` one character).
    pub fn regions_like<T: AsRef<str>>(&self, patterns: &[T]) -> Vec<bool> {
        let patterns: Vec<WildMatch> =
            patterns.iter().map(|pattern| WildMatch::new(pattern.as_ref())).collect();
        self.regions
            .iter()
            .map(|region| patterns.iter().any(|pattern| pattern.matches(&region.name)))
            .collect()
    }

    /// The communicator of an id.
    pub fn communicator(&self, id: CommId) -> &Communicator {
        &self.communicators[id.index()]
    }

    /// The communicator of a window.
    pub fn communicator_of_window(&self, id: RmaWindowId) -> &Communicator {
        self.communicator(self.rma_windows[id.index()].comm)
    }

    /// A trace that defines nothing but its clock and the `[filtered]` region.
    pub fn empty(clock: Clock) -> Self {
        let mut definitions = Definitions {
            provenance: Provenance::default(),
            clock,
            system_tree: SystemTree::default(),
            location_groups: Vec::new(),
            locations: Vec::new(),
            regions: Vec::new(),
            communicators: Vec::new(),
            rma_windows: Vec::new(),
            rank_groups: Vec::new(),
            metrics: Vec::new(),
            parameters: Vec::new(),
            records: Vec::new(),
            sampled_contexts: SampledContexts::default(),
            code_flows: BTreeMap::new(),
            interrupt_generators: Vec::new(),
            topologies: Vec::new(),
            unknown_region: RegionId(0),
            filtered_region: RegionId(0),
        };
        definitions.set_regions(Vec::new());
        definitions
    }

    /// Replaces the regions; the two placeholders are added after them.
    pub fn set_regions(&mut self, mut regions: Vec<Region>) {
        let mut placeholder = |name: &str| {
            let id = RegionId::from_index(regions.len());
            regions.push(Region {
                name: Arc::from(name),
                canonical_name: None,
                file: None,
                line: None,
                end_line: None,
                role: RegionRole::Artificial,
                paradigm: Paradigm::MeasurementSystem,
            });
            id
        };
        self.unknown_region = placeholder("<unknown region>");
        self.filtered_region = placeholder("[filtered]");
        self.regions = regions;
    }

    /// Number of regions the trace defines: the table without the placeholders at its end.
    pub fn n_regions(&self) -> usize {
        self.unknown_region.index()
    }

    /// Number of communicators the trace defines, without those added for lost ones.
    pub fn n_communicators(&self) -> usize {
        self.communicators.iter().filter(|comm| !comm.is_unknown()).count()
    }

    /// Every location id.
    pub fn location_ids(&self) -> impl Iterator<Item = LocationId> + use<> {
        (0..self.locations.len()).map(LocationId::from_index)
    }

    /// Groups that are processes: those with at least one location that runs code on a CPU.
    /// Groups of metric sources and accelerator contexts are not processes.
    pub fn processes(&self) -> Vec<LocationGroupId> {
        let mut is_process = vec![false; self.location_groups.len()];
        for location in &self.locations {
            let kind = self.location_groups[location.group.index()].kind;
            let on_cpu = matches!(location.kind, LocationKind::CpuThread | LocationKind::Unknown);
            is_process[location.group.index()] |= on_cpu && kind != LocationGroupKind::Accelerator;
        }
        (0..is_process.len()).filter(|&i| is_process[i]).map(LocationGroupId::from_index).collect()
    }

    /// By location group: the process that drives it, for a context on an accelerator; the group itself for all others,
    /// and where it is not known. It is the process that made the context, else the first of its rank, else the only one
    /// of a run without ranks.
    pub fn drivers(&self) -> Vec<LocationGroupId> {
        let groups = || self.location_groups.iter().enumerate();
        // The first process of each rank, and whether it is the only one.
        let mut of_ranks: BTreeMap<Option<WorldRank>, (LocationGroupId, bool)> = BTreeMap::new();
        for (i, process) in groups().filter(|(_, it)| it.kind == LocationGroupKind::Process) {
            let first = of_ranks.entry(process.rank);
            first.and_modify(|it| it.1 = false).or_insert((LocationGroupId::from_index(i), true));
        }
        let driver = |(i, group): (usize, &LocationGroup)| {
            let is_device = group.kind == LocationGroupKind::Accelerator;
            let of_rank = of_ranks.get(&group.rank).filter(|it| is_device && (group.rank.is_some() || it.1));
            let creator = group.creator.filter(|it| it.index() < self.location_groups.len());
            creator.or(of_rank.map(|it| it.0)).unwrap_or_else(|| LocationGroupId::from_index(i))
        };
        groups().map(driver).collect()
    }

    /// Physical devices that several processes drive, each with its contexts and their drivers, in the order of groups.
    pub fn shared_devices(&self) -> Vec<Vec<(LocationGroupId, LocationGroupId)>> {
        let drivers = self.drivers();
        let mut devices: BTreeMap<&str, Vec<(LocationGroupId, LocationGroupId)>> = BTreeMap::new();
        let streams = self.locations.iter().filter(|it| it.kind == LocationKind::AcceleratorStream);
        let mut contexts: Vec<LocationGroupId> = streams.map(|stream| stream.group).collect();
        contexts.sort_unstable();
        contexts.dedup();
        for context in contexts {
            if let Some(device) = &self.location_groups[context.index()].device {
                devices.entry(device).or_default().push((context, drivers[context.index()]));
            }
        }
        let is_shared = |of: &Vec<(LocationGroupId, LocationGroupId)>| of.iter().any(|it| it.1 != of[0].1);
        let mut shared: Vec<_> = devices.into_values().filter(is_shared).collect();
        shared.sort_unstable();
        shared
    }

    /// Makes ranks of the processes that drive accelerators, in the order of their groups, if no process has a rank.
    /// Returns how many these are.
    pub fn number_drivers(&mut self) -> u32 {
        if self.location_groups.iter().any(|group| group.rank.is_some()) {
            return 0;
        }
        let (drivers, processes) = (self.drivers(), self.processes());
        let streams = self.locations.iter().filter(|it| it.kind == LocationKind::AcceleratorStream);
        let mut drive: Vec<LocationGroupId> =
            streams.map(|stream| drivers[stream.group.index()]).filter(|it| processes.contains(it)).collect();
        drive.sort_unstable();
        drive.dedup();
        for (group, driver) in self.location_groups.iter_mut().zip(&drivers) {
            let nth = drive.binary_search(driver).ok();
            group.rank = nth.map(WorldRank::from_index);
        }
        for location in &mut self.locations {
            location.rank = self.location_groups[location.group.index()].rank;
        }
        u32::try_from(drive.len()).unwrap_or(u32::MAX)
    }

    /// By location: whether it is drawn beside a process: its kind is unknown, and a CPU thread has its rank or, where it
    /// has none, its group. Profilers draw their own spans, ranges, and asynchronous operations so; nothing runs there.
    pub fn drawn_beside(&self) -> Vec<bool> {
        let owner = |location: &Location| match location.rank {
            Some(rank) => (Some(rank), None),
            None => (None, Some(location.group)),
        };
        let threads = self.locations.iter().filter(|location| location.kind == LocationKind::CpuThread);
        let with_threads: std::collections::BTreeSet<_> = threads.map(owner).collect();
        let is_beside = |location: &Location| {
            location.kind == LocationKind::Unknown && with_threads.contains(&owner(location))
        };
        self.locations.iter().map(is_beside).collect()
    }

    /// Number of CPU threads, and of locations of unknown kind where no thread is beside them.
    pub fn n_threads(&self) -> usize {
        let is_thread = |(location, is_beside): (&Location, bool)| {
            matches!(location.kind, LocationKind::CpuThread | LocationKind::Unknown) && !is_beside
        };
        self.locations.iter().zip(self.drawn_beside()).filter(|&it| is_thread(it)).count()
    }

    /// By location: its number among those of its group that run code, in the order of the trace; `None` for the
    /// others. The first thread of a process is 0.
    pub fn threads(&self) -> Vec<Option<u32>> {
        let mut n_seen = vec![0_u32; self.location_groups.len()];
        let number = |location: &Location| {
            let n = n_seen.get_mut(location.group.index()).filter(|_| location.kind.runs_code())?;
            *n += 1;
            Some(*n - 1)
        };
        self.locations.iter().map(number).collect()
    }

    /// World ranks that are known, ascending: those of processes, and members of communicators whether or not they have
    /// locations.
    pub fn known_ranks(&self) -> Vec<WorldRank> {
        let members = |comm: &Communicator| {
            let remote = comm.remote_members.clone().unwrap_or_default();
            comm.members.iter().chain(&*remote).copied().collect::<Vec<_>>()
        };
        // Communicators share the members of their group: each list is visited once.
        let mut seen = std::collections::BTreeSet::new();
        let lists = self.communicators.iter().filter(|comm| {
            seen.insert((comm.members.as_ptr() as usize, comm.members.len(), comm.remote_members.is_some()))
        });
        let mut ranks: Vec<WorldRank> = lists.flat_map(members).filter(|rank| rank.0 < NOBODY).collect();
        ranks.extend(self.ranks());
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// World ranks that occur, ascending.
    pub fn ranks(&self) -> Vec<WorldRank> {
        let mut ranks: Vec<WorldRank> = self.location_groups.iter().filter_map(|group| group.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }
}
