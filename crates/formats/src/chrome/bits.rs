//! A set of numbers that lie close together: one bit each.

use crate::position::u32_from;
use rustc_hash::FxHashMap;

/// Numbers in blocks of 4096.
#[derive(Debug, Default)]
pub(super) struct Bits {
    blocks: FxHashMap<u64, u32>,
    words: Vec<[u64; 64]>,
    last: Option<(u64, u32)>,
}

impl Bits {
    pub fn insert(&mut self, number: u64) {
        let block = number >> 12;
        let index = match self.last {
            Some((last, index)) if last == block => index,
            _ => {
                let words = &mut self.words;
                let index = *self.blocks.entry(block).or_insert_with(|| {
                    words.push([0; 64]);
                    u32_from(words.len() - 1)
                });
                self.last = Some((block, index));
                index
            }
        };
        self.words[index as usize][(number >> 6) as usize & 63] |= 1 << (number & 63);
    }

    pub fn contains(&self, number: u64) -> bool {
        self.blocks.get(&(number >> 12)).is_some_and(|&index| {
            self.words[index as usize][(number >> 6) as usize & 63] >> (number & 63) & 1 == 1
        })
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_again() {
        let mut bits = Bits::default();
        let numbers = [0, 1, 63, 64, 4095, 4096, 1 << 40, u64::MAX];
        numbers.into_iter().for_each(|number| bits.insert(number));
        assert!(numbers.into_iter().all(|number| bits.contains(number)));
        assert!([2, 65, 4097, 1 << 41].into_iter().all(|number| !bits.contains(number)));
    }
}
