//! Which locations are compared with each other.
//!
//! Threads that do the same kind of work are peers: the first CPU thread of each process,
//! all further CPU threads, the accelerator streams. A helper thread that always waits
//! says nothing about the balance of the main threads, nor does a stream about either.
//! What a profiler draws beside a process ([`drawn_beside`](ouzel_model::Definitions::drawn_beside)) is no peer.
//! Law: a location is in one peer group at most, and members are in order of (rank, id).
//! This module does not compare anything.

use crate::spread::{Owner, owner};
use ouzel_engine::SelectionCx;
use ouzel_model::{LocationId, LocationKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What the members of a peer group have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerKind {
    /// The first CPU thread of each process, which is a rank where the trace has ranks; where there is none, its first location of unknown kind.
    MainThread,
    /// Every other CPU thread.
    HelperThread,
    /// Streams of accelerators.
    AcceleratorStream,
}

impl PeerKind {
    /// What one and several members are called; processes that `are_ranked` are known by their ranks.
    pub fn in_words(self, are_ranked: bool) -> (&'static str, &'static str) {
        match self {
            PeerKind::MainThread if are_ranked => ("rank", "ranks"),
            PeerKind::MainThread => ("process", "processes"),
            PeerKind::HelperThread => ("helper thread", "helper threads"),
            PeerKind::AcceleratorStream => ("accelerator stream", "accelerator streams"),
        }
    }
}

/// Locations that are compared with each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerGroup {
    /// The kind of its members.
    pub kind: PeerKind,
    /// The members by (rank, id); never empty.
    pub members: Vec<LocationId>,
}

/// The peer groups of a selection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerGroups {
    groups: Vec<PeerGroup>,
    /// For each location of the trace, its group and its index there.
    place: Vec<Option<(u8, u32)>>,
}

impl PeerGroups {
    /// The peer groups among the selected locations.
    pub fn new(cx: &SelectionCx<'_>) -> Self {
        let definitions = cx.definitions;
        let mut selected = cx.selection.locations.clone();
        let is_beside = definitions.drawn_beside();
        selected.retain(|id| !is_beside[id.index()]);
        selected.sort_unstable_by_key(|&id| (definitions.location(id).rank, id));
        // Profilers write groups of their own beside a process, under its rank.
        let mut seen: BTreeSet<Owner> = BTreeSet::new();
        let mut by_kind = [
            (PeerKind::MainThread, Vec::new()),
            (PeerKind::HelperThread, Vec::new()),
            (PeerKind::AcceleratorStream, Vec::new()),
        ];
        for id in selected {
            let location = definitions.location(id);
            let slot = match location.kind {
                LocationKind::Metric => continue,
                LocationKind::AcceleratorStream => 2,
                LocationKind::CpuThread | LocationKind::Unknown => {
                    usize::from(!seen.insert(owner(definitions, id)))
                }
            };
            by_kind[slot].1.push(id);
        }
        let mut place = vec![None; definitions.locations.len()];
        let mut groups = Vec::new();
        for (_, members) in &mut by_kind {
            members.sort_unstable_by_key(|&id| (definitions.location(id).rank, id));
        }
        for (kind, members) in by_kind.into_iter().filter(|(_, members)| !members.is_empty()) {
            for (i, member) in members.iter().enumerate() {
                place[member.index()] = Some((groups.len() as u8, i as u32));
            }
            groups.push(PeerGroup { kind, members });
        }
        PeerGroups { groups, place }
    }

    /// The groups: main threads, helper threads, streams; those without a member are left out.
    pub fn groups(&self) -> &[PeerGroup] {
        &self.groups
    }

    /// The group of a location, and its index among the members; `None` if it runs no code, is drawn beside a process, or is not
    /// selected.
    pub fn place(&self, location: LocationId) -> Option<(usize, usize)> {
        let (group, member) = (*self.place.get(location.index())?)?;
        Some((usize::from(group), member as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_model::{Filter, TraceSource};
    use ouzel_testkit::ToyTrace;

    #[test]
    fn every_process_of_a_plain_mpi_run_is_a_main_thread() {
        let toy = ToyTrace::new("0: enter a @1, leave @2\n1: enter a @1, leave @2");
        let definitions = toy.definitions();
        let selection = Filter::default().resolve(definitions);
        let peers = PeerGroups::new(&SelectionCx { definitions, selection: &selection });
        assert_eq!(peers.groups().len(), 1);
        assert_eq!(peers.groups()[0].kind, PeerKind::MainThread);
        assert_eq!(peers.place(LocationId(1)), Some((0, 1)));
        assert_eq!(peers.place(LocationId(9)), None);
    }

    #[test]
    fn what_a_profiler_draws_beside_a_process_is_no_peer() {
        let toy = ToyTrace::new("0: enter a @1, leave @2\n1: enter a @1, leave @2\n2: enter a @1, leave @2");
        let mut definitions = toy.definitions().clone();
        definitions.locations[1].rank = definitions.location(LocationId(0)).rank;
        definitions.locations[1].kind = LocationKind::Unknown;
        // Where there is no thread, it is all that is known of the process.
        definitions.locations[2].kind = LocationKind::Unknown;
        assert_eq!(definitions.drawn_beside(), [false, true, false]);
        let selection = Filter::default().resolve(&definitions);
        let peers = PeerGroups::new(&SelectionCx { definitions: &definitions, selection: &selection });
        let expected = PeerGroup { kind: PeerKind::MainThread, members: vec![LocationId(0), LocationId(2)] };
        assert_eq!(peers.groups(), [expected]);
        assert_eq!(peers.place(LocationId(1)), None);
    }

    #[test]
    fn a_rank_has_one_main_thread_though_it_has_several_groups() {
        let toy = ToyTrace::new("0: enter a @1, leave @2\n1: enter a @1, leave @2");
        let mut definitions = toy.definitions().clone();
        let rank = definitions.location(LocationId(0)).rank;
        definitions.locations[1].rank = rank;
        let selection = Filter::default().resolve(&definitions);
        let peers = PeerGroups::new(&SelectionCx { definitions: &definitions, selection: &selection });
        let kinds: Vec<PeerKind> = peers.groups().iter().map(|group| group.kind).collect();
        assert_eq!(kinds, [PeerKind::MainThread, PeerKind::HelperThread]);
    }
}
