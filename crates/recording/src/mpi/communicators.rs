//! Communicators, by the handle that the program holds.
//!
//! Each process numbers its own. What makes numbers of several processes one communicator is its [`Making`]:
//! all members of the parent make communicators in the same order, so the parent, the order and the first member
//! of the new one say which it is, without a message being sent. Law: members are written by the first one alone,
//! unless that one may not be recorded.

use super::interface::{Described, Handle};
use crate::journal::Entry;
use rustc_hash::FxHashMap;

/// The number of `MPI_COMM_WORLD`.
pub const WORLD: u32 = 0;
/// The number of `MPI_COMM_SELF`.
pub const SELF: u32 = 1;
/// The parent of communicators that have none.
pub const NO_PARENT: u32 = u32::MAX;

/// How a communicator was made: the same for all its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Making {
    /// As this process numbers communicators, or [`NO_PARENT`].
    pub parent: u32,
    /// Tells apart sorts of making that are counted separately.
    pub sort: u64,
    /// How many were made so before.
    pub nth: u64,
}

/// A communicator as calls need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownCommunicator {
    /// As this process numbers them.
    pub id: u32,
    /// Members, of an intercommunicator those of the other group.
    pub n_peers: u32,
    /// The own rank.
    pub rank: u32,
    /// Whether it joins two groups.
    pub is_inter: bool,
}

/// The communicators of a process.
#[derive(Debug, Default)]
pub struct Communicators {
    known: FxHashMap<Handle, KnownCommunicator>,
    made: FxHashMap<(u32, u64), u64>,
    n: u32,
    /// Whether each member writes all of them.
    writes_members: bool,
}

impl Communicators {
    /// The two that every process has.
    pub fn begin(&mut self, world: (Handle, u32, u32), itself: Handle) {
        let (handle, size, rank) = world;
        let world = KnownCommunicator { id: WORLD, n_peers: size, rank, is_inter: false };
        self.known.insert(handle, world);
        self.known.insert(itself, KnownCommunicator { id: SELF, n_peers: 1, rank: 0, is_inter: false });
        self.n = SELF + 1;
    }

    /// From now on members are written by each one, since the first one may not be recorded.
    pub fn write_members(&mut self) {
        self.writes_members = true;
    }

    /// What is known of a communicator.
    pub fn get(&self, handle: Handle) -> Option<KnownCommunicator> {
        self.known.get(&handle).copied()
    }

    /// Counts that a communicator is made, whether or not this process becomes a member.
    pub fn making(&mut self, parent: u32, sort: u64) -> Making {
        let n = self.made.entry((parent, sort)).or_default();
        *n += 1;
        Making { parent, sort, nth: *n - 1 }
    }

    /// Gives a new communicator its number, and says what has to be written of it.
    pub fn define(&mut self, handle: Handle, making: Making, described: &Described) -> (u32, Entry) {
        let Described { size, rank, members, others } = described;
        let id = self.n;
        self.n += 1;
        let n_peers = others.as_ref().map_or(*size, |others| u32::try_from(others.len()).unwrap_or(0));
        let known = KnownCommunicator { id, n_peers, rank: *rank, is_inter: others.is_some() };
        self.known.insert(handle, known);
        let writes_members = *rank == 0 || self.writes_members;
        let leader = members.first().copied().unwrap_or(0);
        let entry = Entry::Communicator {
            id,
            parent: making.parent,
            sort: making.sort,
            nth: making.nth,
            // Both groups of an intercommunicator have to say the same.
            first: match others {
                Some(others) => members.iter().chain(others).copied().min().unwrap_or(leader),
                None => leader,
            },
            rank: *rank,
            members: if writes_members { members.clone() } else { Vec::new() },
            others: match others {
                Some(others) if writes_members => Some(others.clone()),
                Some(_) => Some(Vec::new()),
                None => None,
            },
        };
        (id, entry)
    }

    /// Forgets a communicator that the program frees.
    pub fn free(&mut self, handle: Handle) {
        self.known.remove(&handle);
    }
}
