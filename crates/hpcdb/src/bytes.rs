//! Numbers and strings at absolute offsets of a file in memory.
//!
//! Law: an offset outside of the bytes is an error that names the structure, never a panic.

use crate::{ReadError, ReadErrorKind};
use std::sync::Arc;

/// A part of a file: bytes, and where in the file they begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes<'a> {
    pub file: &'a Arc<str>,
    pub bytes: &'a [u8],
    /// Offset of `bytes[0]` in the file.
    pub base: u64,
}

impl<'a> Bytes<'a> {
    pub fn new(file: &'a Arc<str>, bytes: &'a [u8]) -> Self {
        Bytes { file, bytes, base: 0 }
    }

    pub fn error(&self, offset: u64, kind: ReadErrorKind) -> ReadError {
        ReadError { file: Arc::clone(self.file), offset, kind }
    }

    pub fn broken(&self, offset: u64, reason: impl Into<String>) -> ReadError {
        self.error(offset, ReadErrorKind::Broken(reason.into()))
    }

    /// The `n_bytes` bytes at `at`.
    pub fn slice(&self, at: u64, n_bytes: u64, what: &'static str) -> Result<&'a [u8], ReadError> {
        let slice = || self.tail(at)?.get(..usize::try_from(n_bytes).ok()?);
        slice().ok_or_else(|| self.error(at, ReadErrorKind::OutOfFile { what, n_bytes }))
    }

    /// The bytes from `at` on; `None` if that is outside.
    pub fn tail(&self, at: u64) -> Option<&'a [u8]> {
        self.bytes.get(usize::try_from(at.checked_sub(self.base)?).ok()?..)
    }

    fn array<const N: usize>(&self, at: u64, what: &'static str) -> Result<[u8; N], ReadError> {
        let slice = self.slice(at, N as u64, what)?;
        Ok(slice.try_into().expect("the slice has the length asked for"))
    }

    pub fn u8(&self, at: u64, what: &'static str) -> Result<u8, ReadError> {
        Ok(self.array::<1>(at, what)?[0])
    }

    pub fn u16(&self, at: u64, what: &'static str) -> Result<u16, ReadError> {
        self.array(at, what).map(u16::from_le_bytes)
    }

    pub fn u32(&self, at: u64, what: &'static str) -> Result<u32, ReadError> {
        self.array(at, what).map(u32::from_le_bytes)
    }

    pub fn u64(&self, at: u64, what: &'static str) -> Result<u64, ReadError> {
        self.array(at, what).map(u64::from_le_bytes)
    }

    /// An array of `n` structures of `stride` bytes each, as their offsets. All lie in the file.
    pub(crate) fn array_of(
        &self,
        at: u64,
        n: u64,
        stride: u64,
        what: &'static str,
    ) -> Result<impl ExactSizeIterator<Item = u64> + use<>, ReadError> {
        let n_bytes = n.checked_mul(stride).filter(|_| 0 < stride || n == 0);
        let n_bytes =
            n_bytes.ok_or_else(|| self.broken(at, format!("{n} {what}s of {stride} bytes each")))?;
        self.slice(at, n_bytes, what)?;
        let n = usize::try_from(n).expect("the array is in memory");
        Ok((0..n).map(move |i| at + i as u64 * stride))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Texts;

    #[test]
    fn what_lies_outside_is_an_error_with_its_place() {
        let file: Arc<str> = Arc::from("meta.db");
        let bytes = Bytes { file: &file, bytes: b"abcdefgh\0", base: 16 };
        assert_eq!(bytes.u64(16, "number").unwrap(), u64::from_le_bytes(*b"abcdefgh"));
        assert_eq!(&*Texts::new(9).read(bytes, 20).unwrap(), "efgh");
        for (at, n) in [(15, 1), (0, 0), (24, 2), (u64::MAX, 1), (16, u64::MAX), (26, 0)] {
            let error = bytes.slice(at, n, "thing").unwrap_err();
            assert_eq!(error.offset, at);
            assert!(error.to_string().contains("thing"), "{error}");
        }
        assert!(bytes.array_of(16, u64::MAX, 2, "thing").is_err());
        assert!(bytes.array_of(16, 3, 0, "thing").is_err(), "no array of nothing");
        assert_eq!(bytes.array_of(16, 3, 3, "thing").unwrap().collect::<Vec<_>>(), [16, 19, 22]);
    }
}
