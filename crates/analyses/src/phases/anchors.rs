//! Which calls synchronise all peers, decided once per region and communicator.
//!
//! A call is an anchor if its region synchronises, its family can reach every member of the peer
//! group, and no record says that only some of them took part. Law: the decision depends on the
//! definitions and on the record inside the call, never on what other locations do.
//! For whether the peers really reach the same anchors, see [`state`](super::state).

use crate::peers::{PeerGroup, PeerKind};
use crate::semantics::{Category, Class, Family};
use ouzel_engine::SelectionCx;
use ouzel_model::{
    CommId, Communicator, LocationId, Membership, Paradigm, Region, RegionId, WorldRank, mpi_function,
};
use serde::{Deserialize, Serialize};

/// What a synchronisation of all members is in the life of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnchorRole {
    /// It starts the parallel program, such as `MPI_Init`.
    Start,
    /// It is between start and end.
    Inner,
    /// It ends the parallel program, such as `MPI_Finalize`.
    End,
}

/// How calls of a region are treated, as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Flags(u16);

impl Flags {
    /// Calls inside are ignored: their time counts as the call's own.
    pub const LEAF: Flags = Flags(1);
    /// It synchronises.
    pub const SYNC: Flags = Flags(2);
    /// It synchronises all members unless its record says otherwise.
    pub const ANCHOR: Flags = Flags(4);
    /// It synchronises all members only if its record says so.
    pub(crate) const ANCHOR_IF_RECORDED: Flags = Flags(8);
    /// The record inside this call says that all members took part.
    pub(crate) const RECORDED_ALL: Flags = Flags(16);
    /// The record inside this call says that some members did not take part.
    pub(crate) const RECORDED_SUBSET: Flags = Flags(32);

    /// It waits or synchronises: its own time is not busy time.
    pub const WAITS: Flags = Flags(64);
    /// Neither its own time nor that of its callees is useful: it communicates, waits for anything but other threads, or
    /// belongs to the measurement system.
    pub const IDLE: Flags = Flags(128);
    /// It starts the parallel program.
    pub const STARTS: Flags = Flags(256);
    /// It ends the parallel program.
    pub const ENDS: Flags = Flags(512);

    pub const fn union(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it is an anchor, and nothing else.
    pub(crate) fn of_anchor(self) -> Flags {
        Flags(self.0 & Flags::SYNC.union(Flags::ANCHOR).union(Flags::ANCHOR_IF_RECORDED).0)
    }

    /// Whether a call with these flags synchronised all members.
    #[inline]
    pub fn is_anchor(self) -> bool {
        let expected =
            self.has(Flags::ANCHOR) || (self.has(Flags::ANCHOR_IF_RECORDED) && self.has(Flags::RECORDED_ALL));
        expected && !self.has(Flags::RECORDED_SUBSET)
    }

    /// Whether a call with these flags may synchronise all members, as far as its region tells.
    #[inline]
    pub fn may_be_anchor(self) -> bool {
        self.has(Flags::ANCHOR.union(Flags::ANCHOR_IF_RECORDED))
    }

    /// Whether a call with these flags synchronised some members only.
    #[inline]
    pub(crate) fn is_subset(self) -> bool {
        self.has(Flags::SYNC) && self.has(Flags::RECORDED_SUBSET)
    }
}

/// The decisions for one peer group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AnchorRules {
    /// By region.
    flags: Vec<Flags>,
    /// By communicator: whether every member of the peer group belongs to it, if that is known.
    reaches_all: Vec<Option<bool>>,
    /// Whether some members may hide their call of an anchor and others may not.
    hides_unevenly: bool,
}

impl AnchorRules {
    /// The rules for `group`; `classes` has the class of every region.
    pub fn new(cx: &SelectionCx<'_>, group: &PeerGroup, classes: &[Class]) -> Self {
        let definitions = cx.definitions;
        let mut ranks: Vec<Option<WorldRank>> =
            group.members.iter().map(|&member| definitions.location(member).rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let reaches_all = |comm: &Communicator| reaches_all(comm, &group.members, &ranks);
        let reaches_all: Vec<Option<bool>> = definitions.communicators.iter().map(reaches_all).collect();
        let comms = definitions.communicators.iter().zip(&reaches_all);
        let some_reach_fewer =
            comms.clone().any(|(comm, &all)| all == Some(false) && !comm.members.is_empty());
        let flag = |(region, class): (&Region, &Class)| flags(region, *class, group, some_reach_fewer);
        let flags = definitions.regions.iter().zip(classes).map(flag).collect();
        AnchorRules { flags, reaches_all, hides_unevenly: cx.selection.tests.is_some() }
    }

    /// The remaining flags of a hidden call. A hidden region is hidden at all members, so its calls are no
    /// anchors; if calls are hidden one by one, the other members must still find their own anchor.
    pub(crate) fn of_hidden(&self, flags: Flags) -> Flags {
        if self.hides_unevenly { flags.of_anchor() } else { Flags::default() }
    }

    /// How calls of `region` are treated; nothing special if the region is not defined.
    #[inline]
    pub fn flags(&self, region: RegionId) -> Flags {
        self.flags.get(region.index()).copied().unwrap_or_default()
    }

    /// What the record of a collective over `comm` implies.
    pub fn recorded(&self, comm: CommId) -> Flags {
        match self.reaches_all.get(comm.index()).copied().flatten() {
            Some(true) => Flags::RECORDED_ALL,
            Some(false) => Flags::RECORDED_SUBSET,
            None => Flags::default(),
        }
    }
}

/// Whether every peer belongs to `comm`; `None` if its members are unknown.
fn reaches_all(comm: &Communicator, peers: &[LocationId], ranks: &[Option<WorldRank>]) -> Option<bool> {
    if !comm.member_locations.is_empty() {
        return Some(contains_all(&comm.member_locations, peers));
    }
    let mut members: Vec<Option<WorldRank>> = comm.members.iter().copied().map(Some).collect();
    members.extend(comm.remote_members.iter().flat_map(|remote| remote.iter().copied().map(Some)));
    match comm.membership {
        Membership::Caller => Some(ranks.len() == 1),
        Membership::Unknown if members.is_empty() => None,
        Membership::Listed | Membership::Unknown => Some(contains_all(&members, ranks)),
    }
}

fn contains_all<T: Ord + Copy>(set: &[T], wanted: &[T]) -> bool {
    let mut set = set.to_vec();
    set.sort_unstable();
    wanted.iter().all(|item| set.binary_search(item).is_ok())
}

fn flags(region: &Region, class: Class, group: &PeerGroup, some_reach_fewer: bool) -> Flags {
    // Tasks run inside of OpenMP barriers: calls there are work of their own.
    let leaf = match (class.category, class.family) {
        (Category::Computation, _) | (_, Family::OpenMp) => Flags::default(),
        (Category::Wait | Category::Synchronization, _) => Flags::LEAF,
    };
    let leaf = if class.category == Category::Computation { leaf } else { leaf.union(Flags::WAITS) };
    let communicates = matches!(class.family, Family::Mpi | Family::Shmem | Family::Nccl);
    let is_idle = communicates || leaf.has(Flags::LEAF) || region.paradigm == Paradigm::MeasurementSystem;
    let leaf = if is_idle { leaf.union(Flags::IDLE) } else { leaf };
    let leaf = match role_of(&region.name) {
        AnchorRole::Start => leaf.union(Flags::STARTS),
        AnchorRole::End => leaf.union(Flags::ENDS),
        AnchorRole::Inner => leaf,
    };
    if class.category != Category::Synchronization {
        return leaf;
    }
    let flags = leaf.union(Flags::SYNC);
    if !reaches_the_group(class.family, group) || is_non_blocking(&region.name) {
        return flags;
    }
    // If some communicators leave peers out, a call that creates another object may be over any of them.
    let by_record_only = some_reach_fewer && class.family == Family::Mpi && is_over_an_object(&region.name);
    flags.union(if by_record_only { Flags::ANCHOR_IF_RECORDED } else { Flags::ANCHOR })
}

/// Whether a synchronisation of `family` can be one of all members of `group`. Threads synchronise within their
/// process; messages and device collectives reach all processes.
fn reaches_the_group(family: Family, group: &PeerGroup) -> bool {
    match (group.kind, family) {
        (PeerKind::MainThread, Family::OpenMp | Family::Pthread) => group.members.len() == 1,
        (PeerKind::MainThread, _) => true,
        (PeerKind::HelperThread, family) => matches!(family, Family::OpenMp | Family::Pthread | Family::User),
        (PeerKind::AcceleratorStream, family) => matches!(family, Family::Nccl | Family::User),
    }
}

/// Whether the call only posts a collective: it returns at once, and all wait elsewhere.
fn is_non_blocking(name: &str) -> bool {
    mpi_function(name).is_some_and(|name| {
        name.starts_with('i') && !name.starts_with("init") && !name.starts_with("intercomm")
            || name.starts_with("file_i")
    })
}

/// Whether the call is over an object whose name does not reveal its communicator: a file, a window, a topology.
fn is_over_an_object(name: &str) -> bool {
    const OBJECTS: [&str; 7] = ["comm_", "win_", "file_", "cart_", "graph_", "dist_graph_", "intercomm_"];
    mpi_function(name).is_some_and(|name| OBJECTS.iter().any(|object| name.starts_with(object)))
}

/// The role of a synchronisation of this name in the life of the program.
pub(super) fn role_of(name: &str) -> AnchorRole {
    let shmem = || {
        name.trim_start_matches(['p', 'P'])
            .strip_prefix("shmem_")
            .map(|it| it.trim_end_matches('_').to_owned())
    };
    match mpi_function(name).or_else(shmem).unwrap_or_default().as_str() {
        "init" | "init_thread" => AnchorRole::Start,
        "finalize" => AnchorRole::End,
        _ => AnchorRole::Inner,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_calls_that_only_post_and_calls_over_objects() {
        assert!(
            ["MPI_Ibarrier", "mpi_iallreduce_", "PMPI_Ialltoall", "MPI_File_iread_all"].map(is_non_blocking)
                == [true; 4]
        );
        assert!(
            ["MPI_Init", "MPI_Init_thread", "MPI_Intercomm_merge", "MPI_Barrier", "idle"]
                .map(is_non_blocking)
                == [false; 5]
        );
        assert!(["MPI_Comm_dup", "mpi_win_fence_", "MPI_File_open"].map(is_over_an_object) == [true; 3]);
        assert!(["MPI_Barrier", "MPI_Finalize", "file_open"].map(is_over_an_object) == [false; 3]);
    }
}
