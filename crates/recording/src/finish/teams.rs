//! Teams of OpenMP as communicators of threads.
//!
//! Law: teams with the same threads in the same order are one. A thread that wrote nothing of its team, as when the process
//! was killed, is no member.

use super::piece::Piece;
use crate::journal::Entry;
use std::collections::BTreeMap;

/// The teams of a run, and for each process its numbers and those of the run.
#[derive(Debug, Default)]
pub(super) struct UnifiedTeams {
    /// The communicator that is the first team.
    pub first: u32,
    /// The process, and its threads in the order of their numbers in the team.
    pub list: Vec<(usize, Vec<usize>)>,
    /// For each piece, pairs of its own number and that of the communicator.
    pub of_pieces: Vec<Vec<(u32, u32)>>,
}

impl UnifiedTeams {
    /// With communicators from `first` on.
    pub fn new(pieces: &[Piece], first: u32) -> Self {
        let mut unified = UnifiedTeams { first, ..UnifiedTeams::default() };
        for (process, piece) in pieces.iter().enumerate() {
            let mut ids: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
            let of_run = |(team, members): (u32, BTreeMap<u32, usize>)| {
                let members: Vec<usize> = members.into_values().collect();
                let next = first + u32::try_from(unified.list.len()).unwrap_or(0);
                let id = *ids.entry(members.clone()).or_insert(next);
                if id == next {
                    unified.list.push((process, members));
                }
                (team, id)
            };
            let pairs = members(piece).into_iter().map(of_run).collect();
            unified.of_pieces.push(pairs);
        }
        unified
    }
}

/// For each team its threads by their numbers in it.
fn members(piece: &Piece) -> BTreeMap<u32, BTreeMap<u32, usize>> {
    let threads: BTreeMap<u32, usize> =
        piece.threads.iter().enumerate().map(|(nth, thread)| (thread.file, nth)).collect();
    let mut teams: BTreeMap<u32, BTreeMap<u32, usize>> = BTreeMap::new();
    for entry in &piece.entries {
        if let Entry::Team { id, number, slot } = entry
            && let Some(&thread) = threads.get(slot)
        {
            teams.entry(*id).or_default().insert(*number, thread);
        }
    }
    teams
}
