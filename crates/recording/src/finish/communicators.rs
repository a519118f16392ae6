//! Communicators of all processes as one list: which of them are the same.
//!
//! Law: two processes mean the same communicator if parent, order of making and first member are the same; see
//! [`Making`](crate::mpi::communicators::Making). Parents come before children in each journal.

use super::piece::Piece;
use crate::journal::Entry;
use crate::mpi::communicators::{NO_PARENT, SELF, WORLD};
use std::collections::BTreeMap;

/// A communicator of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunCommunicator {
    pub name: Option<String>,
    pub parent: Option<u32>,
    /// World ranks, in the order of its ranks.
    pub members: Vec<u32>,
    /// World ranks of the other group of an intercommunicator.
    pub others: Option<Vec<u32>>,
    /// Sizes and periods of its dimensions.
    pub dimensions: Vec<(u32, bool)>,
    /// Coordinates by rank.
    pub coordinates: BTreeMap<u32, Vec<u32>>,
}

/// What makes two communicators one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    parent: u32,
    sort: u64,
    nth: u64,
    first: u32,
    is_inter: bool,
}

/// The communicators of a run, and for each process its numbers and those of the run.
#[derive(Debug, Default)]
pub(super) struct Unified {
    /// Without the first two, which every run has.
    pub list: Vec<RunCommunicator>,
    /// For each piece, pairs of its own number and that of the run.
    pub of_pieces: Vec<Vec<(u32, u32)>>,
}

/// The number of the first communicator of the list.
pub(super) const FIRST: u32 = SELF + 1;

impl Unified {
    pub fn new(pieces: &[Piece]) -> Self {
        let mut unified = Unified::default();
        let mut ids: BTreeMap<Key, u32> = BTreeMap::new();
        for piece in pieces {
            let pairs = unified.add(piece, &mut ids);
            unified.of_pieces.push(pairs);
        }
        unified
    }

    fn add(&mut self, piece: &Piece, ids: &mut BTreeMap<Key, u32>) -> Vec<(u32, u32)> {
        let mut known = BTreeMap::from([(WORLD, WORLD), (SELF, SELF)]);
        let mut ranks = BTreeMap::new();
        let world_rank = piece.rank.as_ref().map_or(0, |(rank, ..)| *rank);
        for entry in &piece.entries {
            match entry {
                Entry::Communicator { id, parent, sort, nth, first, rank, members, others } => {
                    let parent = known.get(parent).copied().unwrap_or(NO_PARENT);
                    let key =
                        Key { parent, sort: *sort, nth: *nth, first: *first, is_inter: others.is_some() };
                    let next = FIRST + u32::try_from(self.list.len()).unwrap_or(0);
                    let of_run = *ids.entry(key).or_insert(next);
                    if of_run == next {
                        self.list.push(RunCommunicator::empty(parent, others.is_some()));
                    }
                    known.insert(*id, of_run);
                    ranks.insert(*id, *rank);
                    if let Some(communicator) = self.get_mut(of_run) {
                        communicator.add_members((*rank, world_rank), members, others.as_deref());
                    }
                }
                Entry::CommunicatorName { id, name } => {
                    let found = known.get(id).copied().and_then(|of_run| self.get_mut(of_run));
                    if let Some(communicator) = found {
                        communicator.name.get_or_insert_with(|| name.clone());
                    }
                }
                Entry::Topology { communicator, dimensions, periods, coordinates } => {
                    let of_run = known.get(communicator).copied();
                    let rank = ranks.get(communicator).copied();
                    if let Some((found, rank)) = of_run.and_then(|of_run| self.get_mut(of_run)).zip(rank) {
                        let periods = periods.iter().map(|&period| period != 0);
                        found.dimensions = dimensions.iter().copied().zip(periods).collect();
                        found.coordinates.insert(rank, coordinates.clone());
                    }
                }
                _ => {}
            }
        }
        known.into_iter().collect()
    }

    fn get_mut(&mut self, of_run: u32) -> Option<&mut RunCommunicator> {
        self.list.get_mut(of_run.checked_sub(FIRST)? as usize)
    }
}

/// In the place of a member that wrote nothing.
const UNKNOWN_MEMBER: u32 = u32::MAX;

impl RunCommunicator {
    fn empty(parent: u32, is_inter: bool) -> Self {
        RunCommunicator {
            name: None,
            parent: (parent != NO_PARENT).then_some(parent),
            members: Vec::new(),
            others: is_inter.then(Vec::new),
            dimensions: Vec::new(),
            coordinates: BTreeMap::new(),
        }
    }

    /// Adds what one member knows: rank 0 all members, others themselves.
    fn add_members(&mut self, (rank, world_rank): (u32, u32), members: &[u32], others: Option<&[u32]>) {
        if let (Some(own), Some(others)) = (&mut self.others, others) {
            // Both groups write both; the one with the smaller first member is the first.
            if !members.is_empty() {
                let (first, second) = if members <= others { (members, others) } else { (others, members) };
                (self.members, *own) = (first.to_vec(), second.to_vec());
            }
            return;
        }
        if !members.is_empty() {
            self.members = members.to_vec();
            return;
        }
        let at = rank as usize;
        if self.members.len() <= at {
            self.members.resize(at + 1, UNKNOWN_MEMBER);
        }
        self.members[at] = world_rank;
    }

    /// Whether all members are known.
    pub fn is_complete(&self) -> bool {
        let all = self.members.iter().chain(self.others.iter().flatten());
        !self.members.is_empty() && all.into_iter().all(|&member| member != UNKNOWN_MEMBER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::Slot;

    fn piece(rank: u32, entries: Vec<Entry>) -> Piece {
        let _ = Slot::default();
        Piece {
            folder: "p".into(),
            pid: rank,
            host: String::new(),
            boot: String::new(),
            program: "a".into(),
            processors: String::new(),
            rank: Some((rank, 4, String::new())),
            realtime_less_monotonic_ns: 0,
            n_unknown_lines: 0,
            threads: Vec::new(),
            end: None,
            is_left_out: false,
            entries,
        }
    }

    fn made(id: u32, parent: u32, nth: u64, first: u32, rank: u32, members: &[u32]) -> Entry {
        let members = members.to_vec();
        Entry::Communicator { id, parent, sort: 0, nth, first, rank, members, others: None }
    }

    /// World 0..4 is split into even and odd ranks, the odd ones are duplicated.
    #[test]
    fn a_split_gives_as_many_as_there_are_first_members() {
        let pieces = [
            piece(0, vec![made(2, 0, 0, 0, 0, &[0, 2])]),
            piece(1, vec![made(2, 0, 0, 1, 0, &[1, 3]), made(3, 2, 0, 1, 0, &[1, 3])]),
            piece(2, vec![made(2, 0, 0, 0, 1, &[])]),
            piece(3, vec![made(2, 0, 0, 1, 1, &[]), made(3, 2, 0, 1, 1, &[])]),
        ];
        let unified = Unified::new(&pieces);
        let members: Vec<&[u32]> = unified.list.iter().map(|c| c.members.as_slice()).collect();
        assert_eq!(members, [&[0, 2][..], &[1, 3], &[1, 3]]);
        assert_eq!(unified.list[2].parent, Some(3));
        assert_eq!(unified.of_pieces[2], [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(unified.of_pieces[3], [(0, 0), (1, 1), (2, 3), (3, 4)]);
        assert!(unified.list.iter().all(RunCommunicator::is_complete));
    }

    #[test]
    fn members_are_known_without_the_first_one_if_all_others_wrote() {
        let all = [piece(0, vec![made(2, 0, 0, 0, 0, &[])]), piece(2, vec![made(2, 0, 0, 0, 1, &[])])];
        assert_eq!(Unified::new(&all).list[0].members, [0, 2]);
        let unified = Unified::new(&all[1..]);
        assert!(!unified.list[0].is_complete());
    }
}
