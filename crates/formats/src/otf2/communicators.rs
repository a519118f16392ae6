//! Communicators, and placeholders for those that are not defined.
//!
//! A communicator without a definition has unknown members, with one exception: the first that all ranks talk on, where
//! no other is that of all, is `MPI_COMM_WORLD` if both sides of its messages agree that its ranks are world ranks.

use super::collect::{COMM_GROUPS, Collected, Comm, OwnedGroup};
use super::evidence::{CommUse, Evidence};
use ouzel_model::{
    CommId, Communicator, Definitions, Level, LocationId, Membership, Notice, NoticeCode, WorldRank,
};
use ouzel_otf2::records::enums::{GroupType, Paradigm};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Name of the last communicator, the placeholder for references that are first met when events are read.
pub(super) const UNKNOWN_COMM: &str = "<unknown communicator>";

/// More ranks than any machine has.
const RANKS_MAX: usize = 1 << 22;

/// Ranks that a sentence names.
const RANKS_SHOWN: usize = 16;

/// Resolves communicators.
pub(super) struct Communicators<'a> {
    collected: &'a Collected,
    evidence: &'a Evidence,
    locations: &'a FxHashMap<u64, LocationId>,
    /// By world rank.
    world: &'a [Option<LocationId>],
    /// World rank of each location that has one.
    rank_of: BTreeMap<u64, u32>,
    members: SharedMembers,
    notices: Vec<Notice>,
}

/// Members of communicators by the place of their group, so that those of one group share them.
///
/// Without sharing, a file of many communicators and one large group would ask for memory by the square of its size.
#[derive(Debug, Default)]
struct SharedMembers {
    all_ranks: Option<Arc<[WorldRank]>>,
    ranks: FxHashMap<usize, Arc<[WorldRank]>>,
    locations: FxHashMap<usize, Option<Arc<[LocationId]>>>,
}

impl SharedMembers {
    fn all_ranks(&mut self, n: usize) -> Arc<[WorldRank]> {
        self.all_ranks.get_or_insert_with(|| (0..n).map(WorldRank::from_index).collect()).clone()
    }

    fn ranks(&mut self, at: usize, group: &OwnedGroup) -> Arc<[WorldRank]> {
        let rank = |&member: &u64| WorldRank(u32::try_from(member).unwrap_or(u32::MAX));
        self.ranks.entry(at).or_insert_with(|| group.members.iter().map(rank).collect()).clone()
    }
}

impl<'a> Communicators<'a> {
    pub fn new(
        collected: &'a Collected,
        evidence: &'a Evidence,
        locations: &'a FxHashMap<u64, LocationId>,
        world: &'a [Option<LocationId>],
    ) -> Self {
        let number = |id: LocationId| collected.locations.get(id.index()).map(|location| location.id);
        let ranked = (0..).zip(world).filter_map(|(rank, location)| Some((number((*location)?)?, rank)));
        let (members, notices) = (SharedMembers::default(), Vec::new());
        let rank_of = ranked.collect();
        Communicators { collected, evidence, locations, world, rank_of, members, notices }
    }

    /// Adds the communicators that are defined, those that events name, and one for all others.
    pub fn define(mut self, definitions: &mut Definitions) -> (FxHashMap<u32, CommId>, Vec<Notice>) {
        let defined = self.collected.comms.iter().map(|comm| comm.id);
        let mut ids: FxHashMap<u32, CommId> =
            defined.enumerate().map(|(i, reference)| (reference, CommId::from_index(i))).collect();
        let named = self.evidence.comms.keys().copied().filter(|reference| !ids.contains_key(reference));
        let named: Vec<u32> = named.collect();
        let first = self.collected.comms.len();
        ids.extend(named.iter().enumerate().map(|(i, &r)| (r, CommId::from_index(first + i))));
        let world = self.lost_world();
        for comm in &self.collected.comms {
            let mut communicator = self.communicator(comm);
            communicator.parent = ids.get(&comm.parent).copied();
            definitions.communicators.push(communicator);
        }
        for &reference in &named {
            let name = format!("<unknown communicator {reference}>");
            definitions.communicators.push(Communicator::unknown(name, self.participants(reference)));
        }
        if let Some((reference, n_ranks)) = world {
            self.take_for_world(reference, &mut definitions.communicators[ids[&reference].index()], n_ranks);
        }
        let unknown = definitions.communicators[first..].iter().filter(|comm| comm.is_unknown()).count();
        if 0 < unknown {
            let message = "a communicator is not defined: the processes behind its ranks are unknown";
            self.notices.push(
                Notice::new(Level::Medium, NoticeCode::UndefinedReference, message).times(unknown as u64),
            );
        }
        definitions.communicators.push(Communicator::unknown(UNKNOWN_COMM, Arc::default()));
        (ids, self.notices)
    }

    fn say(&mut self, message: String) {
        self.notices.push(Notice::new(Level::Medium, NoticeCode::UndefinedReference, message));
    }

    fn communicator(&mut self, comm: &Comm) -> Communicator {
        let name = self.collected.text(comm.name);
        let groups = [Some(comm.group), comm.remote_group].into_iter().flatten();
        let lost = groups.clone().find(|&id| self.collected.group(id, &COMM_GROUPS).is_none());
        if let Some(group) = lost {
            let id = comm.id;
            self.say(format!("communicator {id} consists of group {group}, which is not defined"));
            return Communicator::unknown(name, self.participants(id));
        }
        let mut places = groups.filter_map(|id| self.collected.group(id, &COMM_GROUPS));
        let Some(at) = places.next() else { return Communicator::unknown(name, Arc::default()) };
        let group = &self.collected.groups[at];
        let remote = places.next().map(|at| self.members.ranks(at, &self.collected.groups[at]));
        let communicator = match (group.group_type, group.paradigm) {
            (GroupType::CommSelf, _) => Communicator::of_caller(name),
            (GroupType::CommLocations, Paradigm::Mpi) => {
                Communicator::of_ranks(name, self.members.all_ranks(self.world.len()))
            }
            (GroupType::CommGroup, Paradigm::Mpi | Paradigm::Unknown) => {
                Communicator::of_ranks(name, self.members.ranks(at, group))
            }
            _ => match self.member_locations(at, group) {
                Some(member_locations) => {
                    Communicator { member_locations, ..Communicator::of_ranks(name, Arc::default()) }
                }
                None => {
                    let id = comm.id;
                    self.say(format!("communicator {id} has members whose locations are not defined"));
                    Communicator::unknown(name, Arc::default())
                }
            },
        };
        Communicator { remote_members: remote, ..communicator }
    }

    /// Locations of the members of a group of a paradigm other than MPI: indices into the paradigm's group of all
    /// its locations. `None` if one of them is not defined.
    fn member_locations(&mut self, at: usize, group: &OwnedGroup) -> Option<Arc<[LocationId]>> {
        if let Some(members) = self.members.locations.get(&at) {
            return members.clone();
        }
        let all = |g: &&OwnedGroup| g.group_type == GroupType::CommLocations && g.paradigm == group.paradigm;
        let all = self.collected.groups.iter().find(all).map(|g| g.members.as_slice()).unwrap_or_default();
        let native = |&member: &u64| match group.group_type {
            GroupType::CommGroup => all.get(usize::try_from(member).ok()?).copied(),
            _ => Some(member),
        };
        let location = |member| self.locations.get(&native(member)?).copied();
        let members = group.members.iter().map(location).collect();
        self.members.locations.entry(at).or_insert(members).clone()
    }

    /// The ranks that have records on a communicator, ascending.
    fn participants(&self, reference: u32) -> Arc<[WorldRank]> {
        let locations = self.evidence.comms.get(&reference).map(|of_comm| &of_comm.locations);
        let ranks = locations.into_iter().flatten().filter_map(|location| self.rank_of.get(location));
        ranks.copied().map(WorldRank).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The communicator without members that can only be that of all ranks, and its number of ranks.
    fn lost_world(&self) -> Option<(u32, usize)> {
        let has_world = self.collected.comms.iter().any(|comm| self.is_of_all(comm));
        if has_world || self.rank_of.is_empty() {
            return None;
        }
        let is_named_world = |reference: &&u32| {
            let of = |comm: &&Comm| comm.id == **reference;
            let comm = self.collected.comms.iter().find(of);
            comm.is_some_and(|comm| &*self.collected.text(comm.name) == "MPI_COMM_WORLD")
        };
        let references = || self.evidence.comms.keys();
        let reference = *references().find(is_named_world).or_else(|| references().next())?;
        let CommUse { locations, rank_max, .. } = &self.evidence.comms[&reference];
        let rank_of = self.rank_of.iter().filter(|(location, _)| self.evidence.whole.contains(location));
        let rank_of: BTreeMap<u64, u32> = rank_of.map(|(&location, &rank)| (location, rank)).collect();
        let n_ranks = self.world.len().max(*rank_max as usize + 1);
        let all_take_part = *locations == self.evidence.communicating;
        let agrees = self.evidence.comms[&reference].agrees(&rank_of);
        (all_take_part && agrees && n_ranks <= RANKS_MAX).then_some((reference, n_ranks))
    }

    /// Whether a communicator is defined as that of all processes in the order of their ranks.
    fn is_of_all(&self, comm: &Comm) -> bool {
        let group = self.collected.group(comm.group, &COMM_GROUPS).map(|at| &self.collected.groups[at]);
        group.filter(|_| comm.remote_group.is_none()).is_some_and(|group| {
            let in_order = || (0..).zip(&group.members).all(|(rank, &member)| rank == member);
            match (group.group_type, group.paradigm) {
                (GroupType::CommLocations, Paradigm::Mpi) => true,
                (GroupType::CommGroup, Paradigm::Mpi | Paradigm::Unknown) => {
                    self.world.len() <= group.members.len() && in_order()
                }
                _ => false,
            }
        })
    }

    fn take_for_world(&mut self, reference: u32, communicator: &mut Communicator, n_ranks: usize) {
        communicator.membership = Membership::Listed;
        communicator.members = self.members.all_ranks(n_ranks);
        self.say(format!(
            "the members of communicator {reference} are not defined; because all ranks communicate on it first, it \
             is taken as MPI_COMM_WORLD of {n_ranks} ranks"
        ));
        let has_no_file = |rank: &usize| self.world.get(*rank).copied().flatten().is_none();
        let missing: Vec<usize> = (0..n_ranks).filter(has_no_file).collect();
        if !missing.is_empty() {
            let shown: Vec<String> = missing.iter().take(RANKS_SHOWN).map(ToString::to_string).collect();
            let more = if shown.len() < missing.len() { ", …" } else { "" };
            let message = format!(
                "{} of {n_ranks} ranks have events; records also name {} {}{more}",
                n_ranks - missing.len(),
                if missing.len() == 1 { "rank" } else { "ranks" },
                shown.join(", ")
            );
            self.notices.push(Notice::new(Level::High, NoticeCode::MissingEvents, message));
        }
    }
}
