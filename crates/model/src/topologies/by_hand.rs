//! A topology as a user writes it: `16x8x4`, or with names `x=16,y=8,z=4`.
//!
//! Members take the places in order, the last axis running fastest. Members are the threads of the profile, or its
//! processes if there are as many of those as places and not of threads.

use super::{CartDimension, CartMembers, CartTopology};
use crate::{LocationGroupId, ProfileDefinitions};
use std::str::FromStr;
use std::sync::Arc;

/// Names and sizes of axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyShape {
    axes: Vec<(Arc<str>, u32)>,
}

/// Why a shape makes no topology.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// It is not written so.
    #[error("{text:?} is not a topology: {reason}; write 16x8x4, or with names x=16,y=8,z=4")]
    Syntax {
        /// What was written.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There are more locations than places.
    #[error(
        "the topology has {n_places} places, too few for the {n_threads} threads of the profile and not one for each \
         of its {n_processes} processes"
    )]
    TooSmall {
        /// Places of the topology.
        n_places: u64,
        /// Threads of the profile.
        n_threads: u64,
        /// Processes of the profile.
        n_processes: u64,
    },
    /// There is nothing to be arranged.
    #[error("the profile has no location that runs code")]
    NoMembers,
}

/// Most places of a topology by hand: 4 GB of numbers, 100 times the largest machine that was ever built.
const MAX_PLACES: u64 = 1 << 29;

impl FromStr for TopologyShape {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Self, TopologyError> {
        let wrong = |reason: String| TopologyError::Syntax { text: text.to_owned(), reason };
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(wrong("it has no axis".to_owned()));
        }
        let is_named = trimmed.contains('=');
        let parts: Vec<&str> = if is_named {
            trimmed.split(',').collect()
        } else {
            trimmed.split(['x', 'X', '×', '*']).collect()
        };
        let mut axes: Vec<(Arc<str>, u32)> = Vec::new();
        for part in parts {
            let (name, size) = if is_named {
                let named = part.split_once('=').map(|(name, size)| (name.trim(), size));
                named
                    .filter(|(name, _)| !name.is_empty())
                    .ok_or_else(|| wrong(format!("{part:?} has no name and size")))?
            } else {
                ("", part)
            };
            let size = match size.trim().parse::<u32>() {
                Ok(0) | Err(_) => return Err(wrong(format!("{:?} is not the size of an axis", size.trim()))),
                Ok(size) => size,
            };
            if is_named && axes.iter().any(|(other, _)| **other == *name) {
                return Err(wrong(format!("two axes are called {name:?}")));
            }
            axes.push((Arc::from(name), size));
        }
        let n_places = axes.iter().try_fold(1_u64, |n, (_, size)| n.checked_mul(u64::from(*size)));
        match n_places {
            Some(n) if n <= MAX_PLACES => Ok(TopologyShape { axes }),
            _ => Err(wrong(format!("it has more than {MAX_PLACES} places"))),
        }
    }
}

impl std::fmt::Display for TopologyShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_named = self.axes.iter().any(|(name, _)| !name.is_empty());
        for (i, (name, size)) in self.axes.iter().enumerate() {
            match (i, is_named) {
                (0, false) => write!(f, "{size}")?,
                (_, false) => write!(f, "x{size}")?,
                (0, true) => write!(f, "{name}={size}")?,
                (_, true) => write!(f, ",{name}={size}")?,
            }
        }
        Ok(())
    }
}

impl TopologyShape {
    /// Number of places.
    pub fn n_places(&self) -> u64 {
        self.axes.iter().map(|(_, size)| u64::from(*size)).product()
    }

    /// The topology of this shape over the threads of a profile, in the order of their ids, or over its processes, by
    /// rank. Places behind the last member stay empty.
    ///
    /// # Errors
    /// If there are more threads than places, and not one process for each place.
    pub fn topology(&self, definitions: &ProfileDefinitions) -> Result<CartTopology, TopologyError> {
        let threads = definitions.thread_locations();
        let mut processes: Vec<LocationGroupId> =
            threads.iter().map(|id| definitions.locations[id.index()].group).collect();
        processes.sort_unstable();
        processes.dedup();
        processes.sort_by_key(|id| definitions.location_groups[id.index()].rank);
        let (n_places, n_threads, n_processes) =
            (self.n_places(), threads.len() as u64, processes.len() as u64);
        if n_threads == 0 {
            return Err(TopologyError::NoMembers);
        }
        let (members, order) = if n_places != n_threads && n_places == n_processes {
            let mut order: Vec<(LocationGroupId, u64)> = processes.into_iter().zip(0..).collect();
            order.sort_unstable();
            let (members, order): (_, Vec<u64>) = order.into_iter().unzip();
            (CartMembers::Groups(members), order)
        } else if n_threads <= n_places {
            let order = (0..n_threads).collect();
            (CartMembers::Locations(threads), order)
        } else {
            return Err(TopologyError::TooSmall { n_places, n_threads, n_processes });
        };
        let dimension = |(name, size): &(Arc<str>, u32)| CartDimension {
            name: name.clone(),
            size: *size,
            periodic: false,
        };
        Ok(CartTopology {
            name: Arc::from(format!("by hand: {self}")),
            comm: None,
            dimensions: self.axes.iter().map(dimension).collect(),
            members,
            coordinates: order.into_iter().flat_map(|place| self.coordinate(place)).collect(),
        })
    }

    fn coordinate(&self, place: u64) -> Vec<u32> {
        let mut rest = place;
        let mut coordinate: Vec<u32> = Vec::with_capacity(self.axes.len());
        for (_, size) in self.axes.iter().rev() {
            coordinate.push((rest % u64::from(*size)) as u32);
            rest /= u64::from(*size);
        }
        coordinate.reverse();
        coordinate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Location, LocationGroup, LocationGroupKind, LocationKind, WorldRank};

    /// Processes by rank, each of so many threads.
    fn profile(ranks: &[u32], n_threads: u32) -> ProfileDefinitions {
        let mut definitions = ProfileDefinitions::empty();
        for &rank in ranks {
            definitions.location_groups.push(LocationGroup {
                name: Arc::from("process"),
                kind: LocationGroupKind::Process,
                system_node: None,
                creator: None,
                device: None,
                rank: Some(WorldRank(rank)),
            });
            for _ in 0..n_threads {
                definitions.locations.push(Location {
                    name: Arc::from("thread"),
                    kind: LocationKind::CpuThread,
                    group: LocationGroupId::from_index(definitions.location_groups.len() - 1),
                    rank: Some(WorldRank(rank)),
                    declared_events: None,
                    native_id: definitions.locations.len() as u64,
                });
            }
        }
        definitions
    }

    fn shape(text: &str) -> TopologyShape {
        text.parse().expect("a shape")
    }

    #[test]
    fn a_shape_reads_and_shows_as_written() {
        for (text, shown, n_places) in
            [("16x8x4", "16x8x4", 512), (" 3 ", "3", 3), ("2X3", "2x3", 6), ("x=16, y=8", "x=16,y=8", 128)]
        {
            assert_eq!((shape(text).to_string().as_str(), shape(text).n_places()), (shown, n_places));
        }
    }

    #[test]
    fn what_is_no_shape_is_told() {
        for (text, why) in [
            ("", "it has no axis"),
            ("16x", "\"\" is not the size of an axis"),
            ("16x0", "\"0\" is not the size of an axis"),
            ("-3", "\"-3\" is not the size of an axis"),
            ("4294967296", "\"4294967296\" is not the size of an axis"),
            ("65536x65536", "it has more than 536870912 places"),
            ("65536x65536x65536x65536x65536", "it has more than 536870912 places"),
            ("x=4,8", "\"8\" has no name and size"),
            ("x=4,x=8", "two axes are called \"x\""),
        ] {
            let error = text.parse::<TopologyShape>().expect_err(text);
            assert_eq!(
                error.to_string(),
                format!("{text:?} is not a topology: {why}; write 16x8x4, or with names x=16,y=8,z=4")
            );
        }
    }

    #[test]
    fn threads_take_the_places_in_order() {
        let topology = shape("2x3").topology(&profile(&[0, 1, 2, 3, 4], 1)).unwrap();
        assert_eq!(topology.coordinates, [0, 0, 0, 1, 0, 2, 1, 0, 1, 1]);
        assert_eq!(topology.n_missing(), Some(1));
        assert_eq!(topology.members.as_str(), "locations");
    }

    #[test]
    fn processes_take_the_places_by_rank_if_there_are_as_many() {
        let topology = shape("a=2,b=2").topology(&profile(&[3, 1, 0, 2], 2)).unwrap();
        assert_eq!(topology.members, CartMembers::Groups((0..4).map(LocationGroupId).collect()));
        assert_eq!(topology.coordinates, [1, 1, 0, 1, 0, 0, 1, 0]);
        assert_eq!((&*topology.name, &*topology.dimensions[1].name), ("by hand: a=2,b=2", "b"));
        let threads = shape("4x2").topology(&profile(&[3, 1, 0, 2], 2)).unwrap();
        assert_eq!(threads.members.as_str(), "locations");
    }

    #[test]
    fn too_few_places_are_an_error() {
        let error = shape("2x3").topology(&profile(&[0, 1, 2, 3], 2)).unwrap_err();
        assert_eq!(error, TopologyError::TooSmall { n_places: 6, n_threads: 8, n_processes: 4 });
        assert_eq!(shape("2").topology(&profile(&[], 1)).unwrap_err(), TopologyError::NoMembers);
    }
}
