//! Eight bytes at a time in one machine word: where are the signs that a scanner looks for?
//!
//! Answers are words in which the highest bit of each byte says yes; [`first`] gives the place of the first. Exact for
//! every byte, not for the first alone.

/// Bytes of a word.
pub(super) const BYTES: usize = 8;

const LOW: u64 = u64::from_le_bytes([0x7f; BYTES]);
const HIGH: u64 = u64::from_le_bytes([0x80; BYTES]);

/// The word at a place; `None` if fewer bytes follow.
#[inline]
pub(super) fn at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

/// Which bytes are zero.
#[inline]
fn zero(word: u64) -> u64 {
    !(((word & LOW) + LOW) | word) & HIGH
}

/// Which bytes are `byte`.
#[inline]
pub(super) fn equal(word: u64, byte: u8) -> u64 {
    zero(word ^ u64::from_le_bytes([byte; BYTES]))
}

/// Which bytes are brackets or braces, or one of the four others (`Y`, `y`, `_` and DEL) that differ from them in the
/// same bits.
#[inline]
pub(super) fn brackets(word: u64) -> u64 {
    equal(word | u64::from_le_bytes([0x26; BYTES]), 0x7f)
}

/// The place of the first byte of which an answer says yes.
#[inline]
pub(super) fn first(answer: u64) -> usize {
    (answer.trailing_zeros() / 8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_exact_for_every_byte_beside_any_other() {
        for byte in 0..=255_u8 {
            for other in [0, 1, 0x7f, 0x80, 0xff, byte ^ 1] {
                let word = [byte, other, byte, byte, other, other, other, byte];
                let places = |answer: u64| -> Vec<bool> { answer.to_le_bytes().map(|b| b == 0x80).to_vec() };
                let wanted = |is: fn(u8) -> bool| word.map(is).to_vec();
                let found = at(&word, 0).unwrap();
                assert_eq!(places(equal(found, b'"')), wanted(|b| b == b'"'));
                assert_eq!(places(brackets(found)), wanted(|b| b"[]{}Yy_\x7f".contains(&b)), "{word:?}");
            }
        }
        assert_eq!(at(&[0; 7], 0), None);
        assert_eq!(at(&[0; 7], 9), None);
        assert_eq!(first(equal(u64::from_le_bytes(*b"abc\"\"fgh"), b'"')), 3);
    }
}
