//! Communicators: who is rank i.

use crate::{CommId, CommRank, LocationId, WorldRank};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A group of processes with a context for messages and collectives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Communicator {
    /// The name the tracer gave, e.g. `MPI_COMM_WORLD`; empty if none.
    pub name: Arc<str>,
    /// World rank of each member, in the order of their rank in this communicator.
    /// Empty for a communicator whose only member is the caller (`MPI_COMM_SELF`).
    /// Shared by communicators of one group.
    pub members: Arc<[WorldRank]>,
    /// World ranks of the other side of an inter-communicator; peers are looked up there.
    pub remote_members: Option<Arc<[WorldRank]>>,
    /// Location of each member where the members are not processes but threads or streams.
    pub member_locations: Arc<[LocationId]>,
    /// The communicator it was made from.
    pub parent: Option<CommId>,
}

impl Communicator {
    /// The world rank of the peer `rank`: in the remote group of an inter-communicator, else here.
    pub fn world_rank_from_peer(&self, rank: CommRank) -> Option<WorldRank> {
        self.remote_members.as_ref().unwrap_or(&self.members).get(rank.index()).copied()
    }
}
