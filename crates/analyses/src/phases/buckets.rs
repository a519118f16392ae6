//! Busy and useful times of consecutive parts of the run, in few bytes.
//!
//! Numbers are written as in LEB128: seven bits a byte, the lowest first; all bytes but the last have the eighth bit set.
//! Times of a fraction of a second take half of what two words would.

use serde::{Deserialize, Serialize};

/// A busy and a useful time, in ticks.
pub(super) type Times = (u64, u64);

/// Pairs of times.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Buckets {
    n: u32,
    bytes: Box<[u8]>,
}

/// A pair whose times are below a quarter of a second of nanoseconds takes no more.
const PAIR_BYTES: usize = 8;

impl Buckets {
    pub fn new(times: impl IntoIterator<Item = Times>) -> Self {
        let times = times.into_iter();
        // Threads that make many of these would wait for each other's allocations.
        let (mut n, mut bytes) = (0, Vec::with_capacity(PAIR_BYTES * times.size_hint().0));
        for (busy, useful) in times {
            n += 1;
            push(&mut bytes, busy);
            push(&mut bytes, useful);
        }
        Buckets { n, bytes: bytes.into() }
    }

    pub fn len(&self) -> usize {
        self.n as usize
    }

    pub fn iter(&self) -> impl Iterator<Item = Times> + '_ {
        let mut bytes = self.bytes.iter();
        (0..self.n).map(move |_| (next(&mut bytes), next(&mut bytes)))
    }
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while 0x80 <= number {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn next<'b>(bytes: &mut impl Iterator<Item = &'b u8>) -> u64 {
    let mut number = 0;
    for (i, &byte) in bytes.enumerate() {
        // A partial that another process wrote may hold anything.
        number |= u64::from(byte & 0x7F).checked_shl(7 * i as u32).unwrap_or(0);
        if byte < 0x80 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_testkit::Rng;

    #[test]
    fn times_come_back_as_they_were() {
        let mut rng = Rng::new(3);
        let mut number = || rng.next_u64() >> rng.below(64);
        let mut times: Vec<Times> = (0..500).map(|_| (number(), number())).collect();
        times.extend([(0, u64::MAX), (0x7F, 0x80), (u64::MAX, 0)]);
        let buckets = Buckets::new(times.iter().copied());
        assert_eq!((buckets.len(), buckets.iter().collect::<Vec<_>>()), (times.len(), times));
        assert_eq!(Buckets::new([(5, 300)]).bytes.len(), 3);
        assert_eq!(Buckets::new([]), Buckets::default());
    }
}
