//! Traffic of a location while it is folded, and between pairs of ranks over the locations folded so far.

use super::collectives::Receivers;
use super::traffic::Traffic;
use ouzel_model::{CommId, CommRank, WorldRank};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// While a location is folded.
#[derive(Debug, Default)]
pub struct CommMatrixLocal {
    /// What was sent to each peer.
    pub(super) sent: FxHashMap<(CommId, CommRank), Traffic>,
    /// What was received, from all peers.
    pub(super) received: Traffic,
    /// Message ends without another side.
    pub(super) null_peers: u64,
    /// What was sent in collectives.
    pub(super) collectives: FxHashMap<(CommId, Receivers), Traffic>,
    /// Bytes sent in collectives that have no formula.
    pub(super) not_expanded: Traffic,
}

/// Traffic between pairs of ranks.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommMatrixPartial {
    /// By sender and receiver, from sends.
    pub(super) sent: BTreeMap<(WorldRank, WorldRank), Traffic>,
    /// By receiver, from receives.
    pub(super) received: BTreeMap<WorldRank, Traffic>,
    /// By sender, communicator and receivers.
    pub(super) collectives: BTreeMap<(WorldRank, CommId, Receivers), Traffic>,
    /// By sender, sends to unknown peers.
    pub(super) to_unknown: BTreeMap<WorldRank, Traffic>,
    /// All traffic of locations without a rank.
    pub(super) without_rank: Traffic,
    /// Message ends without another side.
    pub(super) null_peers: u64,
    /// Collectives that have no formula.
    pub(super) not_expanded: Traffic,
}
