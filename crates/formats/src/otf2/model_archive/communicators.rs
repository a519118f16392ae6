//! Groups and communicators.
//!
//! Processes are members of communicators by world rank, an index into the group of
//! all MPI locations. Threads and streams are members by index into the group of all
//! locations of their paradigm, which the model does not hold: it is guessed from
//! what the regions say, so that readers find the same members.

use super::{ModelArchive, WriteError, without_zero};
use crate::position::u32_from;
use ouzel_model::{
    CommId, Communicator, Definitions, LocationGroupKind, LocationId, LocationKind, Membership, Paradigm,
    WorldRank,
};
use ouzel_otf2::records::List;
use ouzel_otf2::records::definition::{Comm, Group, InterComm};
use ouzel_otf2::records::enums::{self, GroupType};
use ouzel_otf2::wire::UNDEFINED_U32;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Programming models whose threads form communicators, the likeliest first.
const OF_THREADS: [Paradigm; 6] = [
    Paradigm::OpenMp,
    Paradigm::Pthread,
    Paradigm::OmpSs,
    Paradigm::TbbThread,
    Paradigm::QtThread,
    Paradigm::WinThread,
];
/// Programming models whose streams form communicators, the likeliest first.
const OF_STREAMS: [Paradigm; 5] =
    [Paradigm::Cuda, Paradigm::Hip, Paradigm::OpenCl, Paradigm::OpenAcc, Paradigm::OpenMpTarget];

/// The reference of the first group that events name: it stands behind that of all ranks.
pub(crate) const FIRST_RANK_GROUP: u32 = 1;

/// Type, programming model and members of a group.
type GroupContent = (GroupType, u8, Vec<u64>);

/// Groups written so far; equal ones are one.
#[derive(Default)]
struct WrittenGroups {
    by_content: FxHashMap<GroupContent, u32>,
    /// The next reference: groups are defined in their order.
    n: u32,
    /// Place of each location in the group of all locations of its paradigm.
    places: BTreeMap<u8, FxHashMap<LocationId, u64>>,
}

/// Writes groups and communicators.
pub(super) fn write(to: &mut ModelArchive) -> Result<(), WriteError> {
    let comms: Vec<CommId> = to.comms.ids().map(CommId).collect();
    let definitions = &*Arc::clone(&to.definitions);
    let mut groups = WrittenGroups::default();
    let of_processes = |&id: &CommId| definitions.communicator(id).member_locations.is_empty();
    let has_groups = !definitions.rank_groups.is_empty();
    if has_groups || comms.iter().any(of_processes) || !ranks_count_processes(to, definitions) {
        let mut world: Vec<u64> = world(definitions)
            .into_iter()
            .map(|location| location.map_or(u64::MAX, |id| to.location_refs[id.index()]))
            .collect();
        // The file of one process names the others, too: each member must have a place.
        let n_named = n_ranks_named(definitions, &comms);
        world.resize(world.len().max(n_named.min(MAX_WORLD)), u64::MAX);
        groups.define(to, GroupType::CommLocations, Paradigm::Mpi, world)?;
    }
    groups.define_rank_groups(to, definitions)?;
    groups.define_all_locations(to, definitions, &comms)?;
    for (id, comm) in (0..).zip(comms.iter().map(|&id| definitions.communicator(id))) {
        let name = to.archive.string(&without_zero(&comm.name))?;
        let group = groups.of_members(to, definitions, comm)?;
        let parent = comm.parent.and_then(|parent| comms.iter().position(|&id| id == parent));
        let parent = parent.map_or(UNDEFINED_U32, u32_from);
        match &comm.remote_members {
            None => to.archive.define(Comm { id, name, group, parent, flags: 0 })?,
            Some(remote) => {
                let group_b = groups.define(to, GroupType::CommGroup, Paradigm::Mpi, numbers(remote))?;
                let (group_a, common_communicator) = (group, parent);
                to.archive.define(InterComm { id, name, group_a, group_b, common_communicator, flags: 0 })?;
            }
        }
    }
    Ok(())
}

impl WrittenGroups {
    fn define(
        &mut self,
        to: &mut ModelArchive,
        group_type: GroupType,
        paradigm: Paradigm,
        members: Vec<u64>,
    ) -> Result<u32, WriteError> {
        let key = (group_type, paradigm.code(), members);
        match self.by_content.get(&key) {
            Some(&known) => Ok(known),
            None => self.define_next(to, key),
        }
    }

    /// Groups that events name keep their numbers, equal ones too.
    fn define_rank_groups(
        &mut self,
        to: &mut ModelArchive,
        definitions: &Definitions,
    ) -> Result<(), WriteError> {
        debug_assert!(
            definitions.rank_groups.is_empty() || self.n == FIRST_RANK_GROUP,
            "only the group of all ranks stands before them"
        );
        for members in &definitions.rank_groups {
            self.define_next(to, (GroupType::CommGroup, Paradigm::Mpi.code(), numbers(members)))?;
        }
        Ok(())
    }

    fn define_next(&mut self, to: &mut ModelArchive, key: GroupContent) -> Result<u32, WriteError> {
        let id = self.n;
        self.n += 1;
        let group_type = key.0;
        let paradigm = Paradigm::from_code(key.1);
        let name = to.archive.string("")?;
        to.archive.define(Group {
            id,
            name,
            group_type_pre12: match (group_type, paradigm) {
                (GroupType::CommGroup, Paradigm::Mpi) => 4,
                (GroupType::CommSelf, Paradigm::Mpi) => 5,
                (GroupType::CommLocations, Paradigm::Mpi) => 6,
                _ => 0,
            },
            members: List::new(&key.2),
            group_type,
            paradigm: enums::Paradigm::from_u8(paradigm.code()),
            group_flags: 0,
        })?;
        self.by_content.entry(key).or_insert(id);
        Ok(id)
    }

    /// The groups of all threads and of all streams that are members of a communicator.
    fn define_all_locations(
        &mut self,
        to: &mut ModelArchive,
        definitions: &Definitions,
        comms: &[CommId],
    ) -> Result<(), WriteError> {
        let mut all: BTreeMap<u8, (Paradigm, Vec<u64>)> = BTreeMap::new();
        for comm in comms.iter().map(|&id| definitions.communicator(id)) {
            let paradigm = paradigm_of_members(definitions, comm);
            for &member in comm.member_locations.iter() {
                let (_, members) = all.entry(paradigm.code()).or_insert((paradigm, Vec::new()));
                let places = self.places.entry(paradigm.code()).or_default();
                places.entry(member).or_insert_with(|| {
                    members.push(to.location_refs[member.index()]);
                    members.len() as u64 - 1
                });
            }
        }
        for (paradigm, members) in all.into_values() {
            self.define(to, GroupType::CommLocations, paradigm, members)?;
        }
        Ok(())
    }

    fn of_members(
        &mut self,
        to: &mut ModelArchive,
        definitions: &Definitions,
        comm: &Communicator,
    ) -> Result<u32, WriteError> {
        if !comm.member_locations.is_empty() {
            let paradigm = paradigm_of_members(definitions, comm);
            let places = self.places.get(&paradigm.code());
            let place = |member| places.and_then(|places| places.get(member)).copied();
            let members = comm.member_locations.iter().filter_map(place).collect();
            return self.define(to, GroupType::CommGroup, paradigm, members);
        }
        match comm.membership {
            Membership::Listed => {
                self.define(to, GroupType::CommGroup, Paradigm::Mpi, numbers(&comm.members))
            }
            Membership::Caller => self.define(to, GroupType::CommSelf, Paradigm::Mpi, Vec::new()),
            Membership::Unknown => Ok(UNDEFINED_U32),
        }
    }
}

/// Places of ranks without a location: more than any machine has processes, and 128 MB in the file.
const MAX_WORLD: usize = 1 << 24;

/// One more than the greatest rank that is a member of a communicator or group.
fn n_ranks_named(definitions: &Definitions, comms: &[CommId]) -> usize {
    let members = comms.iter().flat_map(|&id| {
        let comm = definitions.communicator(id);
        comm.members.iter().chain(comm.remote_members.as_deref().unwrap_or_default())
    });
    let of_groups = definitions.rank_groups.iter().flat_map(|group| group.iter());
    members.chain(of_groups).map(|rank| rank.index() + 1).max().unwrap_or(0)
}

fn numbers(ranks: &[WorldRank]) -> Vec<u64> {
    ranks.iter().map(|rank| u64::from(rank.0)).collect()
}

/// The programming model that the members of a communicator of threads or streams belong to.
fn paradigm_of_members(definitions: &Definitions, comm: &Communicator) -> Paradigm {
    let first = comm.member_locations.first().map(|&id| definitions.location(id).kind);
    let candidates: &[Paradigm] =
        if first == Some(LocationKind::AcceleratorStream) { &OF_STREAMS } else { &OF_THREADS };
    let has_regions = |paradigm: &Paradigm| definitions.regions.iter().any(|r| r.paradigm == *paradigm);
    candidates.iter().copied().find(has_regions).unwrap_or(candidates[0])
}

/// The location of each world rank: the first thread of its process.
fn world(definitions: &Definitions) -> Vec<Option<LocationId>> {
    let n_ranks = definitions.ranks().last().map_or(0, |last| last.index() + 1);
    let mut world: Vec<Option<(u8, LocationId)>> = vec![None; n_ranks];
    for id in definitions.location_ids() {
        let location = definitions.location(id);
        let on_accelerator =
            definitions.location_groups[location.group.index()].kind == LocationGroupKind::Accelerator;
        let order = match location.kind {
            _ if on_accelerator => 2,
            LocationKind::CpuThread | LocationKind::Unknown => 0,
            LocationKind::AcceleratorStream => 1,
            LocationKind::Metric => continue,
        };
        if let Some(place) = location.rank.and_then(|rank| world.get_mut(rank.index()))
            && place.is_none_or(|(best, _)| order < best)
        {
            *place = Some((order, id));
        }
    }
    world.into_iter().map(|place| place.map(|(_, id)| id)).collect()
}

/// Whether counting the processes that are written gives their ranks, as readers do where no group says otherwise.
fn ranks_count_processes(to: &ModelArchive, definitions: &Definitions) -> bool {
    let is_written = |group| to.written.keys().any(|&id| definitions.location(id).group == group);
    let written = definitions.processes().into_iter().filter(|&group| is_written(group));
    (0..).zip(written).all(|(nth, id)| definitions.location_groups[id.index()].rank == Some(WorldRank(nth)))
}
