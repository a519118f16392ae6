//! The definitions of a synthetic archive: global ones, and what locations need to read their own ids.

use ouzel_otf2::records::definition::{
    CartCoordinate, CartDimension, CartTopology, ClockProperties, Comm, Group, Location, LocationGroup,
    MetricClass, MetricMember, ParadigmDef, Region as RegionDefinition, SystemTreeNode,
};
use ouzel_otf2::records::enums::{
    Base, CartPeriodicity, GroupType, LocationGroupType, LocationType, MetricOccurrence, MetricType,
    Paradigm, ParadigmClass, RecorderKind, RegionRole, Type,
};
use ouzel_otf2::records::local::ClockOffset;
use ouzel_otf2::records::{IdMap, List, RefKind};
use ouzel_otf2::wire::UNDEFINED_U32;
use ouzel_otf2::write::{ArchiveWriter, WriteError};

use super::clock::SkewedClock;
use super::facts::Facts;
use super::grid::Grid;
use super::regions::{N_REGIONS, REGIONS};
use super::{Counters, SynthOptions};
use crate::Rng;

/// Names of the counters, in the order of their values.
pub(super) const COUNTERS: [&str; 2] = ["PAPI_TOT_CYC", "PAPI_TOT_INS"];

/// Regions that are defined. A program instrumented by its compiler has as many, and enters few of them.
const N_DEFINED_REGIONS: usize = 1000;
const N_COMMS: usize = 3;
const COMM_WORLD: usize = 0;
const COMM_SELF: usize = 1;
const COMM_CART: usize = 2;
/// The class of the counters, and one that is never recorded.
const N_METRIC_CLASSES: usize = 2;
const COUNTER_CLASS: usize = 0;
const RANKS_PER_NODE: u32 = 16;

/// Global ids, the same for all ranks.
#[derive(Debug)]
pub(super) struct Ids {
    seed: u64,
    counters: Counters,
    /// Global id of each region: those of the program first, then those never entered.
    regions: Vec<u32>,
    comms: [u32; N_COMMS],
}

/// The ids that one location writes into its events.
#[derive(Debug)]
pub(super) struct LocalIds {
    pub(super) regions: [u32; N_REGIONS],
    pub(super) world_comm: u32,
    pub(super) cart_comm: u32,
    pub(super) counter_class: u32,
}

/// Local ids of one kind: `pairs[global] = (local, global)`.
#[derive(Debug)]
struct Permutation {
    pairs: Vec<(u64, u64)>,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Dense,
    Sparse,
}

impl Permutation {
    fn new(n: usize, form: Form, rng: &mut Rng) -> Self {
        let mut locals: Vec<u64> = (0..n as u64).collect();
        rng.shuffle(&mut locals);
        if form == Form::Sparse {
            // With gaps, as ids that were handed out to several locations have.
            locals.iter_mut().for_each(|local| *local = 3 * *local + 2);
        }
        Permutation { pairs: locals.into_iter().zip(0..).collect(), form }
    }

    fn local(&self, global: u32) -> u32 {
        u32::try_from(self.pairs[global as usize].0).expect("local ids are below three times a thousand")
    }
}

/// The permutations of one rank, made from the seed whenever they are needed.
fn permutations(ids: &Ids, rank: u32) -> [(RefKind, Permutation); 3] {
    let mut rng = Rng::new(ids.seed ^ (u64::from(rank) + 1).wrapping_mul(0xd1b5_4a32_d192_ed03));
    let form = if rank.is_multiple_of(2) { Form::Dense } else { Form::Sparse };
    [
        (RefKind::Region, Permutation::new(N_DEFINED_REGIONS, form, &mut rng)),
        (RefKind::Comm, Permutation::new(N_COMMS, form, &mut rng)),
        (RefKind::Metric, Permutation::new(N_METRIC_CLASSES, form, &mut rng)),
    ]
}

impl Ids {
    pub(super) fn new(options: &SynthOptions) -> Self {
        let mut regions: Vec<u32> = (0..).take(N_DEFINED_REGIONS).collect();
        Rng::new(options.seed ^ 0x5eed).shuffle(&mut regions);
        Ids { seed: options.seed, counters: options.counters, regions, comms: [0, 1, 2] }
    }

    pub(super) fn local(&self, rank: u32) -> LocalIds {
        let [(_, regions), (_, comms), (_, metrics)] = permutations(self, rank);
        LocalIds {
            regions: std::array::from_fn(|region| regions.local(self.regions[region])),
            world_comm: comms.local(self.comms[COMM_WORLD]),
            cart_comm: comms.local(self.comms[COMM_CART]),
            counter_class: metrics.local(COUNTER_CLASS as u32),
        }
    }
}

/// The world rank of a rank of the Cartesian communicator, and the other way round: they run backwards.
pub(super) fn world_from_cart(cart_rank: u32, n_ranks: u32) -> u32 {
    n_ranks - 1 - cart_rank
}

/// The local definition file of a rank: mapping tables and clock offsets.
pub(super) fn write_local(
    archive: &ArchiveWriter,
    ids: &Ids,
    rank: u32,
    clock: &SkewedClock,
) -> Result<(), WriteError> {
    let mut local = archive.local_definitions(u64::from(rank))?;
    for (kind, mut permutation) in permutations(ids, rank) {
        permutation.pairs.sort_unstable();
        match permutation.form {
            Form::Sparse => local.map(kind, IdMap::Sparse(List::new(&permutation.pairs)))?,
            Form::Dense => {
                let globals: Vec<u64> = permutation.pairs.iter().map(|&(_, global)| global).collect();
                local.map(kind, IdMap::Dense(List::new(&globals)))?;
            }
        }
    }
    for knot in clock.knots() {
        local.clock_offset(ClockOffset { time: knot.local, offset: knot.offset, standard_deviation: 0.0 })?;
    }
    local.finish()
}

/// The global definitions; `facts` has the clock's range and the numbers of events.
pub(super) fn write(archive: &mut ArchiveWriter, ids: &Ids, facts: &Facts) -> Result<(), WriteError> {
    archive.define(ClockProperties {
        timer_resolution: facts.ticks_per_second,
        global_offset: facts.start_ticks,
        trace_length: facts.span_ticks,
        realtime_timestamp: 1_750_000_000_000_000_000,
    })?;
    for (paradigm, name, paradigm_class) in [
        (Paradigm::Mpi, "MPI", ParadigmClass::Process),
        (Paradigm::Compiler, "Compiler instrumentation", ParadigmClass::Process),
    ] {
        let name = archive.string(name)?;
        archive.define(ParadigmDef { paradigm, name, paradigm_class })?;
    }
    write_regions(archive, ids)?;
    write_system(archive, facts)?;
    write_comms(archive, ids, facts)?;
    match ids.counters {
        Counters::Off => Ok(()),
        Counters::On => write_metrics(archive),
    }
}

fn write_regions(archive: &mut ArchiveWriter, ids: &Ids) -> Result<(), WriteError> {
    let (none, file) = (archive.string("")?, archive.string("stencil.c")?);
    // In the order of ids, as the reference tools require.
    let mut in_order: Vec<(u32, usize)> = ids.regions.iter().copied().zip(0..).collect();
    in_order.sort_unstable();
    for (id, nth) in in_order {
        let (name, role, paradigm) = match REGIONS.get(nth) {
            Some(info) => (archive.string(info.name)?, info.role, info.paradigm),
            None => {
                let name = format!("library_{:03}", nth - N_REGIONS);
                (archive.string(&name)?, RegionRole::Function, Paradigm::Compiler)
            }
        };
        let line = 10 * u32::try_from(nth).expect("a thousand regions");
        archive.define(RegionDefinition {
            id,
            name,
            description: none,
            region_type: 0,
            source_file: if paradigm == Paradigm::Mpi { UNDEFINED_U32 } else { file },
            begin_line_number: line,
            end_line_number: line + 9,
            canonical_name: name,
            region_role: role,
            paradigm,
            region_flags: 0,
        })?;
    }
    Ok(())
}

fn write_system(archive: &mut ArchiveWriter, facts: &Facts) -> Result<(), WriteError> {
    let (machine, machine_class) = (archive.string("synthetic cluster")?, archive.string("machine")?);
    let node_class = archive.string("node")?;
    archive.define(SystemTreeNode {
        id: 0,
        name: machine,
        class_name: machine_class,
        parent: UNDEFINED_U32,
    })?;
    for node in 0..facts.n_ranks.div_ceil(RANKS_PER_NODE) {
        let name = archive.string(&format!("node{node:03}"))?;
        archive.define(SystemTreeNode { id: node + 1, name, class_name: node_class, parent: 0 })?;
    }
    for rank in 0..facts.n_ranks {
        let name = archive.string(&format!("MPI Rank {rank}"))?;
        archive.define(LocationGroup {
            id: rank,
            name,
            location_group_type: LocationGroupType::Process,
            system_tree_parent: rank / RANKS_PER_NODE + 1,
            creating_location_group: UNDEFINED_U32,
        })?;
    }
    let name = archive.string("Master thread")?;
    for rank in &facts.ranks {
        archive.define(Location {
            id: rank.location,
            name,
            location_type: LocationType::CpuThread,
            number_of_events: rank.n_events,
            location_group: rank.rank,
        })?;
    }
    Ok(())
}

fn write_comms(archive: &mut ArchiveWriter, ids: &Ids, facts: &Facts) -> Result<(), WriteError> {
    let none = archive.string("")?;
    let n_ranks = facts.n_ranks;
    let ranks: Vec<u64> = (0..u64::from(n_ranks)).collect();
    let cart_ranks: Vec<u64> = (0..n_ranks).map(|rank| u64::from(world_from_cart(rank, n_ranks))).collect();
    let groups: [(u32, u8, &[u64], GroupType); 4] = [
        (0, 6, &ranks, GroupType::CommLocations),
        (1, 4, &ranks, GroupType::CommGroup),
        (2, 5, &[], GroupType::CommSelf),
        (3, 4, &cart_ranks, GroupType::CommGroup),
    ];
    for (id, group_type_pre12, members, group_type) in groups {
        archive.define(Group {
            id,
            name: none,
            group_type_pre12,
            members: List::new(members),
            group_type,
            paradigm: Paradigm::Mpi,
            group_flags: 0,
        })?;
    }
    let [world, itself, cart] = [COMM_WORLD, COMM_SELF, COMM_CART].map(|comm| ids.comms[comm]);
    for (id, name, group, parent) in [
        (world, "MPI_COMM_WORLD", 1, UNDEFINED_U32),
        (itself, "MPI_COMM_SELF", 2, UNDEFINED_U32),
        (cart, "grid", 3, world),
    ] {
        let name = archive.string(name)?;
        archive.define(Comm { id, name, group, parent, flags: 0 })?;
    }
    let grid = Grid { sizes: facts.grid };
    for (id, name) in [(0, "x"), (1, "y")] {
        let name = archive.string(name)?;
        let periodic = grid.is_periodic(id as usize);
        let cart_periodicity = if periodic { CartPeriodicity::True } else { CartPeriodicity::False };
        archive.define(CartDimension { id, name, size: grid.sizes[id as usize], cart_periodicity })?;
    }
    let name = archive.string("grid")?;
    archive.define(CartTopology { id: 0, name, communicator: cart, cart_dimensions: List::new(&[0, 1]) })?;
    for rank in 0..n_ranks {
        let coordinates = grid.coordinates(rank);
        archive.define(CartCoordinate { cart_topology: 0, rank, coordinates: List::new(&coordinates) })?;
    }
    Ok(())
}

fn write_metrics(archive: &mut ArchiveWriter) -> Result<(), WriteError> {
    let unit = archive.string("#")?;
    let descriptions = ["total cycles", "instructions completed"];
    for ((id, name), description) in (0..).zip(COUNTERS).zip(descriptions) {
        let (name, description) = (archive.string(name)?, archive.string(description)?);
        archive.define(MetricMember {
            id,
            name,
            description,
            metric_type: MetricType::Papi,
            // Accumulated since the start of the measurement.
            metric_mode: 0,
            value_type: Type::Uint64,
            base: Base::Decimal,
            exponent: 0,
            unit,
        })?;
    }
    for (id, members) in [(COUNTER_CLASS as u32, &[0, 1][..]), (1, &[1])] {
        archive.define(MetricClass {
            id,
            metric_members: List::new(members),
            metric_occurrence: MetricOccurrence::SynchronousStrict,
            recorder_kind: RecorderKind::Cpu,
        })?;
    }
    Ok(())
}
