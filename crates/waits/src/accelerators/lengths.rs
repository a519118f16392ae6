//! How often each length occurs, exactly and in few bytes.
//!
//! Law: equal multisets of lengths have equal bytes. Lengths ascend; each is stored as its distance from the one before
//! and its count, in seven bits a byte. Memory is that of the different lengths, 2 to 4 bytes each where they are dense,
//! not that of all operations.

use serde::{Deserialize, Serialize};
use std::iter::Peekable;

/// Lengths in nanoseconds, each with its count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LengthCounts(Vec<u8>);

impl LengthCounts {
    /// Those of a list, in any order.
    pub fn of(mut lengths: Vec<u64>) -> Self {
        lengths.sort_unstable();
        LengthCounts::of_pairs(lengths.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as u64)))
    }

    /// Those of pairs of length and count, whose lengths ascend.
    fn of_pairs(pairs: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut bytes = Vec::new();
        let mut last = 0;
        for (ns, n) in pairs {
            push(&mut bytes, ns - last);
            push(&mut bytes, n);
            last = ns;
        }
        bytes.shrink_to_fit();
        LengthCounts(bytes)
    }

    /// Length and count, lengths ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut rest = &self.0[..];
        let mut last = 0_u64;
        std::iter::from_fn(move || {
            let (distance, n) = (pop(&mut rest)?, pop(&mut rest)?);
            last = last.saturating_add(distance);
            Some((last, n))
        })
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &LengthCounts) {
        *self = LengthCounts::of_pairs(Merged { a: self.iter().peekable(), b: other.iter().peekable() });
    }

    /// The length at a place, counted from 0 in ascending order.
    pub fn at(&self, place: u64) -> Option<u64> {
        let mut before = 0_u64;
        self.iter().find_map(|(ns, n)| {
            before = before.saturating_add(n);
            (place < before).then_some(ns)
        })
    }
}

/// Two ascending lists as one.
struct Merged<A: Iterator, B: Iterator> {
    a: Peekable<A>,
    b: Peekable<B>,
}

impl<A: Iterator<Item = (u64, u64)>, B: Iterator<Item = (u64, u64)>> Iterator for Merged<A, B> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        match (self.a.peek().copied(), self.b.peek().copied()) {
            (Some((a, n)), Some((b, m))) if a == b => {
                self.a.next();
                self.b.next();
                Some((a, n.saturating_add(m)))
            }
            (Some((a, _)), Some((b, _))) if b < a => self.b.next(),
            (None, _) => self.b.next(),
            _ => self.a.next(),
        }
    }
}

fn push(bytes: &mut Vec<u8>, mut value: u64) {
    while 0x7f < value {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes a number from the front; `None` at the end.
fn pop(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    let mut shift = 0;
    while let [byte, rest @ ..] = *bytes {
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_testkit::Rng;

    #[test]
    fn merged_lengths_are_those_of_both_and_have_the_same_bytes() {
        let mut rng = Rng::new(1);
        for round in 0..200 {
            let mut some = |n| -> Vec<u64> {
                let n = rng.below(n);
                (0..n)
                    .map(|_| if rng.below(9) == 0 { u64::MAX - rng.below(3) } else { rng.below(300) })
                    .collect()
            };
            let (a, b) = (some(40), some(900));
            let mut all = [a.clone(), b.clone()].concat();
            let mut merged = LengthCounts::of(a);
            merged.merge(&LengthCounts::of(b));
            assert_eq!(merged, LengthCounts::of(all.clone()), "round {round}");
            all.sort_unstable();
            let found: Vec<u64> =
                merged.iter().flat_map(|(ns, n)| std::iter::repeat_n(ns, n as usize)).collect();
            assert_eq!(found, all, "round {round}");
            for place in [0, all.len() / 2, all.len()] {
                assert_eq!(merged.at(place as u64), all.get(place).copied());
            }
        }
    }
}
