//! A growing buffer of encoded fields and records.
//!
//! Law: what is put here reads back with a [`Cursor`](super::Cursor) of the
//! same byte order; compressed numbers take the fewest bytes, as the reference
//! library writes them, and negative ones all bytes.

use super::{ALL_ONES, EncodeError, Endian};

/// Bytes of records to come, in the byte order of the file.
///
/// ```
/// use ouzel_otf2::wire::{Endian, RecordBuffer};
/// let mut buffer = RecordBuffer::new(Endian::Little);
/// buffer.put_u32(0x1234);
/// assert_eq!(buffer.bytes(), [2, 0x34, 0x12]);
/// ```
#[derive(Debug, Clone)]
pub struct RecordBuffer {
    bytes: Vec<u8>,
    endian: Endian,
}

/// Where the length byte of an open record lies; see [`RecordBuffer::begin_record`].
#[derive(Debug)]
#[must_use = "a record that was begun must be ended"]
pub struct OpenRecord {
    length_at: usize,
}

impl RecordBuffer {
    /// An empty buffer.
    pub const fn new(endian: Endian) -> Self {
        RecordBuffer { bytes: Vec::new(), endian }
    }

    /// The byte order written in.
    pub const fn endian(&self) -> Endian {
        self.endian
    }

    /// What was put so far.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of bytes put so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was put yet.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Forgets the bytes, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Forgets the bytes after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Bytes as they are.
    #[inline]
    pub fn put_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// One raw byte.
    #[inline]
    pub fn put_u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// A raw 16-bit number.
    pub fn put_u16_full(&mut self, value: u16) {
        match self.endian {
            Endian::Little => self.put_bytes(&value.to_le_bytes()),
            Endian::Big => self.put_bytes(&value.to_be_bytes()),
        }
    }

    /// A raw 32-bit number.
    pub fn put_u32_full(&mut self, value: u32) {
        match self.endian {
            Endian::Little => self.put_bytes(&value.to_le_bytes()),
            Endian::Big => self.put_bytes(&value.to_be_bytes()),
        }
    }

    /// A raw 64-bit number.
    #[inline]
    pub fn put_u64_full(&mut self, value: u64) {
        self.put_bytes(&self.endian.u64_to(value));
    }

    /// A raw 32-bit float.
    pub fn put_f32(&mut self, value: f32) {
        self.put_u32_full(value.to_bits());
    }

    /// A raw 64-bit float.
    pub fn put_f64(&mut self, value: f64) {
        self.put_u64_full(value.to_bits());
    }

    /// A compressed 32-bit number.
    #[inline]
    pub fn put_u32(&mut self, value: u32) {
        if value == u32::MAX {
            self.put_u8(ALL_ONES);
        } else {
            self.put_compressed(u64::from(value));
        }
    }

    /// A compressed 64-bit number.
    #[inline]
    pub fn put_u64(&mut self, value: u64) {
        if value == u64::MAX {
            self.put_u8(ALL_ONES);
        } else {
            self.put_compressed(value);
        }
    }

    /// A compressed signed 32-bit number.
    pub fn put_i32(&mut self, value: i32) {
        if value < 0 {
            self.put_u8(4);
            self.put_u32_full(value.cast_unsigned());
        } else {
            self.put_compressed(u64::from(value.cast_unsigned()));
        }
    }

    /// A compressed signed 64-bit number.
    pub fn put_i64(&mut self, value: i64) {
        if value < 0 {
            self.put_u8(8);
            self.put_u64_full(value.cast_unsigned());
        } else {
            self.put_compressed(value.cast_unsigned());
        }
    }

    #[inline]
    fn put_compressed(&mut self, value: u64) {
        let n = 8 - value.leading_zeros() / 8;
        let mut digits = [0; 9];
        // At most 8: the first byte holds it.
        digits[0] = n.to_le_bytes()[0];
        let n = n as usize;
        match self.endian {
            Endian::Little => digits[1..].copy_from_slice(&value.to_le_bytes()),
            Endian::Big => digits[1..=n].copy_from_slice(&value.to_be_bytes()[8 - n..]),
        }
        // A length that is known copies in place.
        self.put_bytes(&digits);
        self.truncate(self.bytes.len() - (8 - n));
    }

    /// A text and its closing zero byte.
    ///
    /// # Errors
    /// [`EncodeError::ZeroInText`] if the text holds a zero byte; nothing is put then.
    pub fn put_text(&mut self, text: &[u8]) -> Result<(), EncodeError> {
        if let Some(at) = text.iter().position(|&byte| byte == 0) {
            return Err(EncodeError::ZeroInText { at });
        }
        self.put_bytes(text);
        self.put_u8(0);
        Ok(())
    }

    /// Puts the id of a record and room for its length; fields follow, then [`RecordBuffer::end_record`].
    #[inline]
    pub fn begin_record(&mut self, id: u8) -> OpenRecord {
        self.put_u8(id);
        self.put_u8(0);
        OpenRecord { length_at: self.bytes.len() - 1 }
    }

    /// Fills in the length of a record: one byte below 255, nine above.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "an open record can be ended once")]
    pub fn end_record(&mut self, open: OpenRecord) {
        let OpenRecord { length_at } = open;
        let len = self.bytes.len() - length_at - 1;
        match u8::try_from(len) {
            Ok(short) if short != ALL_ONES => self.bytes[length_at] = short,
            _ => self.put_long_length(length_at, len),
        }
    }

    #[cold]
    fn put_long_length(&mut self, length_at: usize, len: usize) {
        self.bytes[length_at] = ALL_ONES;
        let long = self.endian.u64_to(len as u64);
        self.bytes.splice(length_at + 1..length_at + 1, long);
    }
}
