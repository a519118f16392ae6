//! Parts of a file that is not in memory, read at their offsets.
//!
//! Law: memory is taken for bytes that are in the file, never for a length that the file claims.

use crate::bytes::Bytes;
use crate::{ReadError, ReadErrorKind};
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

/// Largest part that is read as a whole, for files that claim much and consist of holes: values of one profile.
const PART_BYTES_MAX: u64 = 2 << 30;

/// A file that can be read anywhere.
#[derive(Debug)]
pub(crate) struct Source<R> {
    pub file: Arc<str>,
    from: R,
    /// Bytes of the file when it was opened.
    pub n_bytes: u64,
}

impl<R: Read + Seek> Source<R> {
    pub fn new(file: Arc<str>, mut from: R) -> Result<Self, ReadError> {
        let n_bytes = from.seek(SeekFrom::End(0)).map_err(|error| ReadError {
            file: Arc::clone(&file),
            offset: 0,
            kind: error.into(),
        })?;
        Ok(Source { file, from, n_bytes })
    }

    pub fn broken(&self, offset: u64, reason: impl Into<String>) -> ReadError {
        ReadError { file: Arc::clone(&self.file), offset, kind: ReadErrorKind::Broken(reason.into()) }
    }

    /// Replaces `bytes` by the `n_bytes` at `at`.
    pub fn read(
        &mut self,
        at: u64,
        n_bytes: u64,
        what: &'static str,
        bytes: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let error = |kind| ReadError { file: Arc::clone(&self.file), offset: at, kind };
        let is_inside = at.checked_add(n_bytes).is_some_and(|end| end <= self.n_bytes);
        let outside = || error(ReadErrorKind::OutOfFile { what, n_bytes });
        let len = usize::try_from(n_bytes).ok().filter(|_| is_inside).ok_or_else(outside)?;
        let has_room =
            n_bytes <= PART_BYTES_MAX && bytes.try_reserve(len.saturating_sub(bytes.len())).is_ok();
        if !has_room {
            let reason =
                format!("{what} have {n_bytes} bytes, and at most {PART_BYTES_MAX} are read at a time");
            return Err(error(ReadErrorKind::Broken(reason)));
        }
        bytes.resize(len, 0);
        let mut read = || self.from.seek(SeekFrom::Start(at)).and_then(|_| self.from.read_exact(bytes));
        read().map_err(|cause| error(cause.into()))
    }

    /// The first `n_bytes`, or all if the file has fewer.
    pub fn beginning(&mut self, n_bytes: u64) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        self.read(0, n_bytes.min(self.n_bytes), "header", &mut bytes)?;
        Ok(bytes)
    }

    /// The last eight bytes, or all if the file has fewer.
    pub fn ending(&mut self) -> Result<Vec<u8>, ReadError> {
        let n_bytes = self.n_bytes.min(8);
        let mut bytes = Vec::new();
        self.read(self.n_bytes - n_bytes, n_bytes, "footer", &mut bytes)?;
        Ok(bytes)
    }

    /// `bytes`, which were read at `base`, with checked access.
    pub fn view<'a>(&'a self, base: u64, bytes: &'a [u8]) -> Bytes<'a> {
        Bytes { file: &self.file, bytes, base }
    }
}
