//! Cartesian arrangements of ranks.

use crate::{CommId, CommRank};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A Cartesian topology over the ranks of a communicator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CartTopology {
    /// Its name.
    pub name: Arc<str>,
    /// Whose ranks it arranges.
    pub comm: Option<CommId>,
    /// Its axes, slowest first.
    pub dimensions: Vec<CartDimension>,
    /// Place of each rank, sorted by rank; one coordinate for each dimension.
    pub coordinates: Vec<(CommRank, Vec<u32>)>,
}

/// One axis of a Cartesian topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CartDimension {
    /// Its name.
    pub name: Arc<str>,
    /// Number of places along it.
    pub size: u32,
    /// Whether its ends meet.
    pub periodic: bool,
}
