//! Finds the characters a scanner looks for, sixteen bytes at a time.
//!
//! Answers are words in which bit `i` is for byte `i`; [`first`] gives the place of the first set bit. Answers are
//! exact for every byte, not only for the first.

use wide::u8x16;

/// Bytes of a block.
pub(super) const BYTES: usize = 16;
/// The answer if all bytes are as asked.
pub(super) const ALL: u32 = 0xffff;

/// Sixteen bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ByteBlock(u8x16);

impl ByteBlock {
    /// These bytes.
    pub fn new(bytes: [u8; BYTES]) -> Self {
        ByteBlock(u8x16::new(bytes))
    }

    /// Which bytes are those of another block.
    #[inline]
    pub fn equal_to(self, other: ByteBlock) -> u32 {
        self.0.simd_eq(other.0).to_bitmask()
    }

    #[inline]
    fn is(self, byte: u8) -> u8x16 {
        self.0.simd_eq(u8x16::splat(byte))
    }

    /// Which bytes are `byte`.
    #[inline]
    pub fn equal(self, byte: u8) -> u32 {
        self.is(byte).to_bitmask()
    }

    /// Which bytes are opening brackets or braces.
    #[inline]
    pub fn opening(self) -> u32 {
        (self.0 | u8x16::splat(0x20)).simd_eq(u8x16::splat(b'{')).to_bitmask()
    }

    /// Which bytes are closing brackets or braces.
    #[inline]
    pub fn closing(self) -> u32 {
        (self.0 | u8x16::splat(0x20)).simd_eq(u8x16::splat(b'}')).to_bitmask()
    }

    /// Which bytes are not white space.
    #[inline]
    pub fn dark(self) -> u32 {
        (!(self.is(b' ') | self.is(b'\n') | self.is(b'\r') | self.is(b'\t'))).to_bitmask()
    }

    /// Which bytes may come before a key: commas, spaces and line feeds.
    #[inline]
    pub fn leads(self) -> u32 {
        (self.is(b',') | self.is(b' ') | self.is(b'\n')).to_bitmask()
    }

    /// Which bytes cannot be part of a number or a word.
    #[inline]
    pub(crate) fn not_bare(self) -> u32 {
        let is_among = |bytes: u8x16, first: u8, last: u8| {
            (bytes - u8x16::splat(first)).saturating_sub(u8x16::splat(last - first)).simd_eq(u8x16::splat(0))
        };
        let letters = is_among(self.0 | u8x16::splat(0x20), b'a', b'z');
        // From `+` to `9` there are two that are in no number.
        let others = self.is(b',') | self.is(b'/');
        let digits_and_signs = is_among(self.0, b'+', b'9') & !others;
        (!(letters | digits_and_signs)).to_bitmask()
    }
}

/// The block at a place; `None` if fewer bytes follow.
#[inline]
pub(super) fn at(bytes: &[u8], at: usize) -> Option<ByteBlock> {
    bytes.get(at..)?.first_chunk::<BYTES>().map(|block| ByteBlock(u8x16::new(*block)))
}

/// From each first of two set bits up to the other: with quotes, what is in strings. The last may have no other.
#[inline]
pub(super) fn between(answer: u32) -> u32 {
    let mut sums = answer;
    for by in [1, 2, 4, 8] {
        sums ^= sums << by;
    }
    sums & ALL
}

/// The place of the first byte whose bit is set.
#[inline]
pub(super) fn first(answer: u32) -> usize {
    answer.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_exact_for_every_byte_beside_any_other() {
        for byte in 0..=255_u8 {
            for other in [0, 1, b' ', b'9', b'Z', 0x7f, 0x80, 0xff, byte ^ 1] {
                let text: [u8; BYTES] = std::array::from_fn(|i| if i % 3 == 1 { byte } else { other });
                let wanted = |is: fn(u8) -> bool| -> u32 {
                    text.iter().enumerate().map(|(i, &byte)| u32::from(is(byte)) << i).sum()
                };
                let block = at(&text, 0).unwrap();
                let others = ByteBlock::new([other; BYTES]);
                assert_eq!(block.equal_to(others), block.equal(other));
                assert_eq!(block.equal(b'"'), wanted(|b| b == b'"'), "{text:?}");
                assert_eq!(block.opening(), wanted(|b| b"[{".contains(&b)), "{text:?}");
                assert_eq!(block.closing(), wanted(|b| b"]}".contains(&b)), "{text:?}");
                assert_eq!(block.dark(), wanted(|b| !b" \n\r\t".contains(&b)), "{text:?}");
                let is_bare = |b: u8| b.is_ascii_alphanumeric() || b"-+.".contains(&b);
                assert_eq!(block.leads(), wanted(|b| b", \n".contains(&b)), "{text:?}");
                assert_eq!(block.not_bare(), 0xffff & !wanted(is_bare), "{text:?}");
            }
        }
        assert_eq!([0b10_0100_0100, 0, 1].map(between), [0xfe3c, 0, ALL]);
        assert!(at(&[0; 15], 0).is_none() && at(&[0; 17], 18).is_none());
        assert_eq!(first(at(b"abc\"\"fghijklmnop", 0).unwrap().equal(b'"')), 3);
    }
}
