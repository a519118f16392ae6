//! Communicators: who is rank i.
//!
//! Law: a peer is the rank that the trace records, or unknown; it is never invented, and never the caller unless the
//! trace says so.

use crate::{CommId, CommRank, LocationId, WorldRank};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A group of processes with a context for messages and collectives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Communicator {
    /// The name the tracer gave, e.g. `MPI_COMM_WORLD`; empty if none.
    pub name: Arc<str>,
    /// What is known of its members.
    pub membership: Membership,
    /// World rank of each member, in the order of their rank in this communicator; see [`Membership`].
    /// Shared by communicators of one group.
    pub members: Arc<[WorldRank]>,
    /// World ranks of the other side of an inter-communicator; peers are looked up there.
    pub remote_members: Option<Arc<[WorldRank]>>,
    /// Location of each member where the members are not processes but threads or streams.
    pub member_locations: Arc<[LocationId]>,
    /// The communicator it was made from.
    pub parent: Option<CommId>,
}

/// What is known of the members of a communicator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Membership {
    /// They are listed.
    #[default]
    Listed,
    /// The only member is the caller (`MPI_COMM_SELF`); no members are listed.
    Caller,
    /// The definition is lost. The members known to take part are listed, ascending; their ranks in the communicator
    /// are not known, nor is who else takes part.
    Unknown,
}

impl Communicator {
    /// The communicator of these ranks.
    pub fn of_ranks(name: impl Into<Arc<str>>, members: Arc<[WorldRank]>) -> Self {
        Communicator {
            name: name.into(),
            membership: Membership::Listed,
            members,
            remote_members: None,
            member_locations: Arc::default(),
            parent: None,
        }
    }

    /// The communicator of the caller alone.
    pub fn of_caller(name: impl Into<Arc<str>>) -> Self {
        Communicator { membership: Membership::Caller, ..Communicator::of_ranks(name, Arc::default()) }
    }

    /// A communicator whose definition is lost, and in which at least `participants` take part.
    pub fn unknown(name: impl Into<Arc<str>>, participants: Arc<[WorldRank]>) -> Self {
        Communicator { membership: Membership::Unknown, ..Communicator::of_ranks(name, participants) }
    }

    /// Whether its definition, or that of a group of its members, is lost.
    pub fn is_unknown(&self) -> bool {
        self.membership == Membership::Unknown
    }

    /// The world rank of the peer that `me` calls `rank`. In an inter-communicator each group names the other.
    /// `None` if it is not known who that is.
    pub fn peer(&self, me: Option<WorldRank>, rank: CommRank) -> Option<WorldRank> {
        let is_remote = |remote: &Arc<[WorldRank]>| me.is_some_and(|me| remote.contains(&me));
        match (self.membership, &self.remote_members) {
            (Membership::Unknown, _) => None,
            (Membership::Caller, _) => me.filter(|_| rank == CommRank(0)),
            (Membership::Listed, Some(remote)) if !is_remote(remote) => remote.get(rank.index()).copied(),
            (Membership::Listed, _) => self.members.get(rank.index()).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(ranks: &[u32]) -> Arc<[WorldRank]> {
        ranks.iter().copied().map(WorldRank).collect()
    }

    #[test]
    fn a_peer_is_the_one_recorded_or_unknown() {
        let even = Communicator::of_ranks("even", ranks(&[0, 2, 4]));
        let (own, lost) = (Communicator::of_caller("self"), Communicator::unknown("lost", ranks(&[0, 1])));
        let between = Communicator {
            remote_members: Some(ranks(&[1, 3])),
            ..Communicator::of_ranks("", ranks(&[0, 2]))
        };
        let peer =
            |comm: &Communicator, me, rank| comm.peer(Some(WorldRank(me)), CommRank(rank)).map(|rank| rank.0);
        assert_eq!([peer(&even, 0, 1), peer(&even, 0, 2), peer(&even, 0, 3)], [Some(2), Some(4), None]);
        assert_eq!([peer(&own, 7, 0), peer(&own, 7, 1)], [Some(7), None]);
        assert_eq!([peer(&lost, 0, 0), peer(&lost, 0, 1)], [None, None]);
        assert_eq!([peer(&between, 0, 1), peer(&between, 3, 1)], [Some(3), Some(2)]);
        assert_eq!(Communicator::of_ranks("empty", ranks(&[])).peer(Some(WorldRank(0)), CommRank(0)), None);
        assert_eq!(own.peer(None, CommRank(0)), None);
    }
}
