//! Records which ends are one message: all that is kept of settled message ends.
//!
//! ```text
//! (location of the send, location of the receive) ──► (nth send there, nth receive there), ascending
//! ```
//!
//! Laws: merging is the union, so the order of merging does not matter; call paths play no part. Memory is 8 bytes per
//! message; encoded, as differences from the previous message, mostly two. For which ends belong together, see
//! `pairs`.

use super::ends::MatchedEnd;
use super::pairs::Pair;
use ouzel_model::LocationId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Messages, each end named by its location and its place in the order of posting there.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Matched {
    pairs: BTreeMap<(LocationId, LocationId), Nths>,
}

/// The nth send of one location is the nth receive of another.
#[derive(Debug, Default, PartialEq, Eq)]
struct Nths(Vec<(u32, u32)>);

impl Matched {
    /// Adds messages that are not there yet, in any order.
    pub fn extend<'a>(&mut self, pairs: impl IntoIterator<Item = Pair<'a>>) {
        let mut of: BTreeMap<(LocationId, LocationId), Vec<(u32, u32)>> = BTreeMap::new();
        for Pair { send, receive, .. } in pairs {
            of.entry((send.location, receive.location)).or_default().push((send.nth(), receive.nth()));
        }
        for (locations, nths) in of {
            self.pairs.entry(locations).or_default().add(nths);
        }
    }

    pub fn merge(&mut self, from: Matched) {
        for (locations, Nths(nths)) in from.pairs {
            self.pairs.entry(locations).or_default().add(nths);
        }
    }

    /// Passes on the send and receive of each message, by their locations, then by the send.
    pub fn for_each(&self, mut each: impl FnMut(MatchedEnd, MatchedEnd)) {
        for (&(from, to), Nths(nths)) in &self.pairs {
            let place = |location, nth| MatchedEnd { location, nth };
            nths.iter().for_each(|&(send, receive)| each(place(from, send), place(to, receive)));
        }
    }

    /// For each location an exclusive upper bound of the places there.
    pub(crate) fn n_posted(&self) -> BTreeMap<LocationId, usize> {
        let mut n: BTreeMap<LocationId, usize> = BTreeMap::new();
        self.for_each(|send, receive| {
            for place in [send, receive] {
                let of = n.entry(place.location).or_default();
                *of = (*of).max(place.nth as usize + 1);
            }
        });
        n
    }
}

impl Nths {
    fn add(&mut self, mut nths: Vec<(u32, u32)>) {
        self.0.append(&mut nths);
        if !self.0.is_sorted() {
            self.0.sort_unstable();
        }
    }
}

impl Serialize for Nths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut before = (0_u32, 0_u32);
        serializer.collect_seq(self.0.iter().map(|&(send, receive)| {
            let step = (send - before.0, i64::from(receive) - i64::from(before.1));
            before = (send, receive);
            step
        }))
    }
}

impl<'de> Deserialize<'de> for Nths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let steps = Vec::<(u32, i64)>::deserialize(deserializer)?;
        let mut at = (0_u32, 0_u32);
        let nth = |(send, receive): (u32, i64)| {
            // Wraps only on corrupt data, which no build of ours writes.
            at = (at.0.wrapping_add(send), (i64::from(at.1).wrapping_add(receive)) as u32);
            at
        };
        Ok(Nths(steps.into_iter().map(nth).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_survive_the_differences() {
        let mut one = Nths::default();
        one.add(vec![(7, 3), (0, 9), (u32::MAX, 0)]);
        one.add(vec![(2, u32::MAX)]);
        assert_eq!(one.0, [(0, 9), (2, u32::MAX), (7, 3), (u32::MAX, 0)]);
        let bytes = postcard::to_stdvec(&one).unwrap();
        assert_eq!(postcard::from_bytes::<Nths>(&bytes).unwrap(), one);
        let dense = Nths((0..100).map(|i| (i, i)).collect());
        assert!(postcard::to_stdvec(&dense).unwrap().len() <= 202);
    }
}
