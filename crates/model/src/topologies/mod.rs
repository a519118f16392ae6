//! Cartesian arrangements of ranks, locations, processes or nodes of the machine.
//!
//! A topology of n axes gives each of its members one coordinate on each axis. Law: members are sorted and each
//! occurs once; `coordinates` holds `dimensions.len()` numbers for each of them, one below the size of its axis.
//! Places may stay empty, and several members may share one. This module counts members without a place and empty
//! places; callers that use the places report them.

mod by_hand;
mod constructed;

pub use by_hand::{TopologyError, TopologyShape};

use crate::{CommId, CommRank, LocationGroupId, LocationId, SystemNodeId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A Cartesian topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CartTopology {
    /// Its name; may be empty.
    pub name: Arc<str>,
    /// The communicator whose ranks it arranges; `None` if its members are not ranks, or this is not recorded.
    pub comm: Option<CommId>,
    /// Its axes, as the tool orders them; MPI's slowest first.
    pub dimensions: Vec<CartDimension>,
    /// The members that have a place.
    pub members: CartMembers,
    /// The places, member by member; one coordinate for each dimension.
    pub coordinates: Vec<u32>,
}

/// One axis of a Cartesian topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CartDimension {
    /// Its name; may be empty.
    pub name: Arc<str>,
    /// Number of places along it.
    pub size: u32,
    /// Whether its ends meet.
    pub periodic: bool,
}

/// The members that have a place in a topology, ascending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CartMembers {
    /// Ranks of the topology's communicator.
    Ranks(Vec<CommRank>),
    /// Locations.
    Locations(Vec<LocationId>),
    /// Processes and accelerator contexts: all locations of one share its place.
    Groups(Vec<LocationGroupId>),
    /// Nodes of the system tree: all locations below one share its place.
    SystemNodes(Vec<SystemNodeId>),
}

impl CartMembers {
    /// Number of members.
    pub fn len(&self) -> usize {
        match self {
            CartMembers::Ranks(v) => v.len(),
            CartMembers::Locations(v) => v.len(),
            CartMembers::Groups(v) => v.len(),
            CartMembers::SystemNodes(v) => v.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What they are, in the plural, for tables and sentences.
    pub fn as_str(&self) -> &'static str {
        match self {
            CartMembers::Ranks(_) => "ranks",
            CartMembers::Locations(_) => "locations",
            CartMembers::Groups(_) => "location groups",
            CartMembers::SystemNodes(_) => "system nodes",
        }
    }
}

impl CartTopology {
    /// The coordinates of the member at position `member`.
    pub fn coordinate(&self, member: usize) -> &[u32] {
        let n = self.dimensions.len();
        &self.coordinates[member * n..(member + 1) * n]
    }

    /// Number of places: the product of the sizes; `None` if it does not fit into 64 bits.
    pub fn n_places(&self) -> Option<u64> {
        self.dimensions.iter().try_fold(1_u64, |n, dimension| n.checked_mul(u64::from(dimension.size)))
    }

    /// The place of a coordinate as one number, the last axis running fastest; `None` if it lies outside.
    pub fn place(&self, coordinate: &[u32]) -> Option<u64> {
        self.n_places()?;
        let inside = |(&at, axis): (&u32, &CartDimension)| at < axis.size;
        let all_inside =
            coordinate.len() == self.dimensions.len() && coordinate.iter().zip(&self.dimensions).all(inside);
        let step =
            |place: u64, (&at, axis): (&u32, &CartDimension)| place * u64::from(axis.size) + u64::from(at);
        all_inside.then(|| coordinate.iter().zip(&self.dimensions).fold(0, step))
    }

    /// Number of different places that are taken, at most the number of members.
    pub fn n_taken(&self) -> u64 {
        let n = self.dimensions.len().max(1);
        let mut places: Vec<&[u32]> = self.coordinates.chunks_exact(n).collect();
        places.sort_unstable();
        places.dedup();
        places.len() as u64
    }

    /// Number of places that are empty; `None` if there are too many to number.
    pub fn n_missing(&self) -> Option<u64> {
        Some(self.n_places()?.saturating_sub(self.n_taken()))
    }

    /// Number of members in a place that another member already has.
    pub fn n_shared(&self) -> u64 {
        (self.members.len() as u64).saturating_sub(self.n_taken())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> CartTopology {
        let axis = |name: &str, size| CartDimension { name: Arc::from(name), size, periodic: false };
        CartTopology {
            name: Arc::from("grid"),
            comm: None,
            dimensions: vec![axis("x", 2), axis("y", 3)],
            members: CartMembers::Locations([0, 1, 4].map(LocationId).to_vec()),
            coordinates: vec![0, 0, 1, 2, 1, 2],
        }
    }

    #[test]
    fn places_are_numbered_with_the_last_axis_fastest() {
        let grid = grid();
        assert_eq!(grid.n_places(), Some(6));
        assert_eq!(grid.place(grid.coordinate(1)), Some(5));
        assert_eq!(grid.place(&[1, 0]), Some(3));
        assert_eq!(grid.place(&[2, 0]), None);
        assert_eq!(grid.place(&[0]), None);
        assert_eq!((grid.members.len(), grid.n_taken()), (3, 2));
    }

    #[test]
    fn a_topology_too_large_to_number_says_so() {
        let mut grid = grid();
        for axis in &mut grid.dimensions {
            axis.size = u32::MAX;
        }
        grid.dimensions.push(grid.dimensions[0].clone());
        assert_eq!((grid.n_places(), grid.place(&[0, 0, 0])), (None, None));
    }
}
