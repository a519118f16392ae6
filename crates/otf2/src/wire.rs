//! The primitive encodings of OTF2: bytes to numbers and back.
//!
//! A [`Cursor`] reads one record's bytes, a [`RecordBuffer`] grows them. Both
//! know the byte order of the file. "Compressed" integers are a byte `n` and
//! `n` low-order bytes; `n = 0xff` means all ones, the undefined value.
//! Law: a cursor never reads past its end and does not move when it fails, so
//! its position names the damaged field.
//! Fields of records: see [`crate::records`]. Chunks and files are not known here.

mod buffer;

use std::fmt;

use thiserror::Error;

pub use buffer::RecordBuffer;

/// The all-ones value of a compressed 32-bit number: no reference.
pub const UNDEFINED_U32: u32 = u32::MAX;
/// The all-ones value of a compressed 64-bit number: no reference.
pub const UNDEFINED_U64: u64 = u64::MAX;

/// The byte that means an all-ones number, and a long record length.
const ALL_ONES: u8 = 0xff;

/// The byte order of a file, given by its second byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Low byte first, file byte `0x42`.
    Little,
    /// High byte first, file byte `0x23`.
    Big,
}

impl Endian {
    /// The byte order that `byte` encodes, `None` if it encodes none.
    pub const fn from_byte(byte: u8) -> Option<Endian> {
        match byte {
            0x42 => Some(Endian::Little),
            0x23 => Some(Endian::Big),
            _ => None,
        }
    }

    /// The byte written after a chunk header's first byte.
    pub const fn to_byte(self) -> u8 {
        match self {
            Endian::Little => 0x42,
            Endian::Big => 0x23,
        }
    }

    /// Number in raw bytes of this order.
    #[inline]
    pub const fn u64_from(self, bytes: [u8; 8]) -> u64 {
        match self {
            Endian::Little => u64::from_le_bytes(bytes),
            Endian::Big => u64::from_be_bytes(bytes),
        }
    }

    /// Raw bytes of a number in this order.
    #[inline]
    pub const fn u64_to(self, value: u64) -> [u8; 8] {
        match self {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        }
    }
}

impl fmt::Display for Endian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Endian::Little => "little-endian",
            Endian::Big => "big-endian",
        })
    }
}

/// What broke while reading one field; small and `Copy`, text comes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Fault {
    /// The field needs more bytes than the record has.
    #[error("a field needs {needed} bytes, but only {left} are left")]
    PastEnd {
        /// Bytes the field needs.
        needed: usize,
        /// Bytes left in the record.
        left: usize,
    },
    /// A compressed number claims more bytes than its type holds.
    #[error("a number claims {n} bytes, but at most {width} are allowed")]
    TooWide {
        /// Bytes claimed.
        n: u8,
        /// Bytes of the type.
        width: u8,
    },
    /// A text without its closing zero byte.
    #[error("a string does not end inside the record")]
    OpenText,
    /// The mode byte of an id map is neither dense nor sparse.
    #[error("id map mode {mode} is neither dense (0) nor sparse (1)")]
    IdMapMode {
        /// The byte found.
        mode: u8,
    },
}

/// Why a record cannot be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A list is longer than the count field before it can say.
    #[error("a list has {n} items, but the format allows at most {max}")]
    ListTooLong {
        /// Items of the list.
        n: usize,
        /// The most that the count field holds.
        max: usize,
    },
    /// A text holds a zero byte, which would end it early.
    #[error("a string holds a zero byte at {at}")]
    ZeroInText {
        /// Index of the byte.
        at: usize,
    },
}

/// Reads fields from a slice, in the byte order of the file.
///
/// ```
/// use ouzel_otf2::wire::{Cursor, Endian};
/// let mut cursor = Cursor::new(&[2, 0x34, 0x12, 0xff], Endian::Little);
/// assert_eq!(cursor.u32(), Ok(0x1234));
/// assert_eq!(cursor.u64(), Ok(u64::MAX));
/// assert!(cursor.u8().is_err());
/// ```
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    /// May reach beyond `end`, so that wide loads near the end stay cheap.
    bytes: &'a [u8],
    pos: usize,
    end: usize,
    endian: Endian,
}

impl<'a> Cursor<'a> {
    /// A cursor over all of `bytes`.
    pub const fn new(bytes: &'a [u8], endian: Endian) -> Self {
        Cursor { bytes, pos: 0, end: bytes.len(), endian }
    }

    /// A cursor over `bytes[start..end]` that may look at, but never yields, the bytes after `end`.
    ///
    /// Bounds that do not fit are cut to what is there.
    #[inline]
    pub fn within(bytes: &'a [u8], start: usize, end: usize, endian: Endian) -> Self {
        let end = end.min(bytes.len());
        Cursor { bytes, pos: start.min(end), end, endian }
    }

    /// The byte order read in.
    pub const fn endian(&self) -> Endian {
        self.endian
    }

    /// Index of the next byte, from the start of the slice given to `new` or `within`.
    #[inline]
    pub const fn position(&self) -> usize {
        self.pos
    }

    /// Bytes not read yet.
    #[inline]
    pub const fn left(&self) -> usize {
        self.end - self.pos
    }

    /// Whether everything is read.
    #[inline]
    pub const fn is_at_end(&self) -> bool {
        self.pos == self.end
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// [`Fault::PastEnd`] if fewer are left.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        if n > self.left() {
            return Err(self.past_end(n));
        }
        let taken = &self.bytes[self.pos..self.pos + n];
        self.pos += n;
        Ok(taken)
    }

    #[cold]
    fn past_end(&self, needed: usize) -> Fault {
        Fault::PastEnd { needed, left: self.left() }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        match self.bytes[self.pos..self.end].first_chunk::<N>() {
            Some(found) => {
                self.pos += N;
                Ok(*found)
            }
            None => Err(self.past_end(N)),
        }
    }

    /// One raw byte.
    ///
    /// # Errors
    /// [`Fault::PastEnd`] at the end.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Fault> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A raw 16-bit number.
    ///
    /// # Errors
    /// [`Fault::PastEnd`] if fewer than two bytes are left.
    pub fn u16_full(&mut self) -> Result<u16, Fault> {
        let bytes = self.array::<2>()?;
        Ok(match self.endian {
            Endian::Little => u16::from_le_bytes(bytes),
            Endian::Big => u16::from_be_bytes(bytes),
        })
    }

    /// A raw 32-bit number.
    ///
    /// # Errors
    /// [`Fault::PastEnd`] if fewer than four bytes are left.
    pub fn u32_full(&mut self) -> Result<u32, Fault> {
        let bytes = self.array::<4>()?;
        Ok(match self.endian {
            Endian::Little => u32::from_le_bytes(bytes),
            Endian::Big => u32::from_be_bytes(bytes),
        })
    }

    /// A raw 64-bit number.
    ///
    /// # Errors
    /// [`Fault::PastEnd`] if fewer than eight bytes are left.
    #[inline]
    pub fn u64_full(&mut self) -> Result<u64, Fault> {
        self.array::<8>().map(|bytes| self.endian.u64_from(bytes))
    }

    /// A raw 32-bit float.
    ///
    /// # Errors
    /// [`Fault::PastEnd`] if fewer than four bytes are left.
    pub fn f32(&mut self) -> Result<f32, Fault> {
        self.u32_full().map(f32::from_bits)
    }

    /// A raw 64-bit float.
    ///
    /// # Errors
    /// [`Fault::PastEnd`] if fewer than eight bytes are left.
    pub fn f64(&mut self) -> Result<f64, Fault> {
        self.u64_full().map(f64::from_bits)
    }

    /// A compressed 32-bit number; all ones is [`UNDEFINED_U32`].
    ///
    /// # Errors
    /// [`Fault::TooWide`] for more than four bytes, [`Fault::PastEnd`] if they are not there.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Fault> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "`compressed` gives four bytes at most, or all ones"
        )]
        self.compressed(4).map(|value| value as u32)
    }

    /// A compressed 64-bit number; all ones is [`UNDEFINED_U64`].
    ///
    /// # Errors
    /// [`Fault::TooWide`] for more than eight bytes, [`Fault::PastEnd`] if they are not there.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Fault> {
        self.compressed(8)
    }

    /// A compressed signed 32-bit number.
    ///
    /// # Errors
    /// As [`Cursor::u32`].
    pub fn i32(&mut self) -> Result<i32, Fault> {
        self.u32().map(u32::cast_signed)
    }

    /// A compressed signed 64-bit number.
    ///
    /// # Errors
    /// As [`Cursor::u64`].
    #[inline]
    pub fn i64(&mut self) -> Result<i64, Fault> {
        self.u64().map(u64::cast_signed)
    }

    // Without this attribute the compiler calls it once for each field of a message.
    #[inline(always)]
    fn compressed(&mut self, width: u8) -> Result<u64, Fault> {
        let rest = &self.bytes[self.pos..];
        if let (Endian::Little, Some(&[n, low @ ..])) = (self.endian, rest.first_chunk::<9>())
            && n <= width
            && usize::from(n) < self.left()
        {
            self.pos += 1 + usize::from(n);
            return Ok(u64::from_le_bytes(low) & low_bytes_mask(n));
        }
        self.compressed_slowly(width)
    }

    /// All ones, big-endian files, the last bytes of a slice, and everything broken.
    #[inline(never)]
    fn compressed_slowly(&mut self, width: u8) -> Result<u64, Fault> {
        let Some((&n, rest)) = self.bytes[self.pos..self.end].split_first() else {
            return Err(self.past_end(1));
        };
        if n == ALL_ONES {
            self.pos += 1;
            return Ok(u64::MAX);
        }
        if n > width {
            return Err(Fault::TooWide { n, width });
        }
        let Some(digits) = rest.get(..usize::from(n)) else {
            return Err(self.past_end(1 + usize::from(n)));
        };
        self.pos += 1 + usize::from(n);
        let push = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        Ok(match self.endian {
            Endian::Little => digits.iter().rev().fold(0, push),
            Endian::Big => digits.iter().fold(0, push),
        })
    }

    /// The bytes of a zero-terminated text, without the zero.
    ///
    /// # Errors
    /// [`Fault::OpenText`] if there is no zero byte before the end.
    pub fn text(&mut self) -> Result<&'a [u8], Fault> {
        let rest = &self.bytes[self.pos..self.end];
        let Some(n) = rest.iter().position(|&byte| byte == 0) else {
            return Err(Fault::OpenText);
        };
        self.pos += n + 1;
        Ok(&rest[..n])
    }
}

/// Ones in the low `n` bytes, for `n <= 8`.
#[inline]
fn low_bytes_mask(n: u8) -> u64 {
    u64::MAX.checked_shr(64 - 8 * u32::from(n)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

    /// A padded copy goes the fast way, an exact one the careful way.
    fn both_ways(bytes: &[u8], endian: Endian) -> [Result<u64, Fault>; 2] {
        let mut padded = bytes.to_vec();
        padded.extend([0xee; 16]);
        let mut fast = Cursor::within(&padded, 0, bytes.len(), endian);
        let mut careful = Cursor::new(bytes, endian);
        let both = [fast.u64(), careful.u64()];
        assert_eq!(fast.position(), careful.position());
        both
    }

    #[test]
    fn compressed_numbers_by_hand() {
        let little = Endian::Little;
        assert_eq!(both_ways(&[0], little), [Ok(0); 2]);
        assert_eq!(both_ways(&[0xff], little), [Ok(u64::MAX); 2]);
        assert_eq!(both_ways(&[3, 1, 2, 3], little), [Ok(0x03_0201); 2]);
        assert_eq!(both_ways(&[3, 1, 2, 3], Endian::Big), [Ok(0x01_0203); 2]);
        assert_eq!(both_ways(&[8, 1, 2, 3, 4, 5, 6, 7, 8], little), [Ok(0x0807_0605_0403_0201); 2]);
        assert_eq!(both_ways(&[9, 1], little), [Err(Fault::TooWide { n: 9, width: 8 }); 2]);
        assert_eq!(both_ways(&[2, 1], little), [Err(Fault::PastEnd { needed: 3, left: 2 }); 2]);
        assert_eq!(both_ways(&[], little), [Err(Fault::PastEnd { needed: 1, left: 0 }); 2]);
    }

    #[test]
    fn a_32_bit_number_has_at_most_four_bytes() {
        for endian in ORDERS {
            let mut cursor = Cursor::new(&[5, 1, 2, 3, 4, 5, 0, 0, 0, 0, 0], endian);
            assert_eq!(cursor.u32(), Err(Fault::TooWide { n: 5, width: 4 }));
            assert_eq!(cursor.position(), 0, "a cursor that fails stays where it is");
        }
    }

    #[test]
    fn numbers_survive_the_round_trip() {
        for endian in ORDERS {
            let mut buffer = RecordBuffer::new(endian);
            let numbers: Vec<u64> =
                (0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1]).chain([u64::MAX]).collect();
            for &number in &numbers {
                buffer.put_u64(number);
                buffer.put_i64(number.cast_signed());
            }
            let mut cursor = Cursor::new(buffer.bytes(), endian);
            for &number in &numbers {
                assert_eq!(cursor.u64(), Ok(number));
                assert_eq!(cursor.i64(), Ok(number.cast_signed()));
            }
            assert!(cursor.is_at_end());
        }
    }

    #[test]
    fn a_text_needs_its_zero() {
        let mut cursor = Cursor::within(b"ab\0c\0", 0, 4, Endian::Little);
        assert_eq!(cursor.text(), Ok(&b"ab"[..]));
        assert_eq!(cursor.text(), Err(Fault::OpenText));
    }
}
