//! Clusters that wait for the others of their part of a group: in memory as long as they are small, else put aside.
//!
//! ```text
//! put ──► memory ──too many nodes──► shelf, the first of the group first
//! take ◄── memory or shelf
//! ```
//!
//! Neighbours are folded together, in order: those at the front wait the longest. Law: what is taken is what was put.

use crate::alike_locations::Alike;
use ouzel_engine::{Shelf, ShelfPlace};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

/// Nodes of trees that are kept in memory: some 4 MB.
const MOST_NODES: usize = if cfg!(test) { 4 } else { 1 << 15 };

/// Members from the first to before the second.
pub(crate) type MemberRange = (u32, u32);

/// Clusters by their range of members.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    places: BTreeMap<MemberRange, Place>,
    /// Of those in memory.
    n_nodes: usize,
    shelf: Shelf,
}

#[derive(Debug)]
enum Place {
    Memory(Vec<Alike>),
    Shelf(ShelfPlace),
}

fn n_nodes(clusters: &[Alike]) -> usize {
    clusters.iter().map(|it| it.average.tree.n_nodes()).sum()
}

impl Parked {
    /// Whether there are clusters of a range.
    pub fn contains(&self, range: MemberRange) -> bool {
        self.places.contains_key(&range)
    }

    /// Puts clusters, of whose range there are none.
    pub fn put(&mut self, range: MemberRange, clusters: Vec<Alike>) {
        self.n_nodes += n_nodes(&clusters);
        self.places.insert(range, Place::Memory(clusters));
    }

    /// Takes the clusters of a range; none if there are none.
    ///
    /// # Errors
    /// If what was put aside cannot be read.
    pub fn take(&mut self, range: MemberRange) -> io::Result<Vec<Alike>> {
        match self.places.remove(&range) {
            Some(Place::Memory(clusters)) => {
                self.n_nodes -= n_nodes(&clusters);
                Ok(clusters)
            }
            Some(Place::Shelf(place)) => self.shelf.get(&place),
            None => Ok(Vec::new()),
        }
    }

    /// Puts aside what memory has too many of.
    pub fn make_room(&mut self) {
        for place in self.places.values_mut() {
            if self.n_nodes <= MOST_NODES {
                return;
            }
            if let Place::Memory(clusters) = place
                && let Ok(shelved) = self.shelf.put(clusters)
            {
                self.n_nodes -= n_nodes(clusters);
                *place = Place::Shelf(shelved);
            }
        }
    }

    /// The ranges, ascending.
    pub fn ranges(&self) -> Vec<MemberRange> {
        self.places.keys().copied().collect()
    }

    /// All clusters, read from where they are.
    fn all(&self) -> impl Iterator<Item = io::Result<(MemberRange, Cow<'_, [Alike]>)>> {
        self.places.iter().map(|(&range, place)| match place {
            Place::Memory(clusters) => Ok((range, Cow::Borrowed(&clusters[..]))),
            Place::Shelf(place) => Ok((range, Cow::Owned(self.shelf.get(place)?))),
        })
    }

    /// Number of trees.
    #[cfg(test)]
    pub fn n_trees(&self) -> usize {
        self.all().map(|it| it.expect("what was put aside can be read").1.len()).sum()
    }
}

impl PartialEq for Parked {
    fn eq(&self, other: &Parked) -> bool {
        self.all().map(Result::ok).eq(other.all().map(Result::ok))
    }
}

impl Serialize for Parked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.places.len()))?;
        for it in self.all() {
            let (range, clusters) = it.map_err(serde::ser::Error::custom)?;
            map.serialize_entry(&range, &clusters)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Parked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut parked = Parked::default();
        for (range, clusters) in BTreeMap::deserialize(deserializer)? {
            parked.put(range, clusters);
        }
        Ok(parked)
    }
}
