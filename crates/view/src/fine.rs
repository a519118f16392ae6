//! Fine levels of the timeline, in a file: memory holds the coarse ones, however many events the run has.
//!
//! ```text
//! place of a level:  its bins, each as in `Bin::to_bytes`, from the first to the last
//! ```
//!
//! Law: what was read is what was appended. The hash covers everything that was appended, in order.

use ouzel_files::unfinished::Unfinished;
use ouzel_tiles::{Bin, Level};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use twox_hash::XxHash3_128;

/// Where the bins of a level are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FineLevel {
    /// Bins have `1 << log2` ticks.
    pub log2: u32,
    first: u64,
    n_bins: u64,
    offset: u64,
}

impl FineLevel {
    /// Whether it lies in a file of so many bytes.
    pub fn is_within(&self, n_bytes: u64) -> bool {
        let end = self.n_bins.checked_mul(Bin::BYTES as u64).and_then(|n| n.checked_add(self.offset));
        self.log2 < 64 && end.is_some_and(|end| end <= n_bytes)
    }
}

/// A file that grows.
pub(crate) struct FineFile {
    inner: Mutex<Inner>,
    /// Removes a temporary file in the end.
    _temporary: Option<Unfinished>,
}

struct Inner {
    file: File,
    n_bytes: u64,
    hash: XxHash3_128,
}

impl std::fmt::Debug for FineFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FineFile").field("n_bytes", &self.locked().n_bytes).finish_non_exhaustive()
    }
}

impl FineFile {
    /// Appends to `file`, which has `n_bytes`.
    pub fn new(file: File, n_bytes: u64) -> FineFile {
        let inner = Inner { file, n_bytes, hash: XxHash3_128::new() };
        FineFile { inner: Mutex::new(inner), _temporary: None }
    }

    /// In the folder for temporary files, for as long as the server lives.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn temporary() -> io::Result<FineFile> {
        let (temporary, file) = Unfinished::temporary()?;
        Ok(FineFile { _temporary: Some(temporary), ..FineFile::new(file, 0) })
    }

    fn locked(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a level.
    ///
    /// # Errors
    /// If it cannot be written: the disk may be full.
    pub fn append(&self, log2: u32, level: &Level) -> io::Result<FineLevel> {
        let bytes: Vec<u8> = level.bins.iter().flat_map(|bin| bin.to_bytes()).collect();
        let offset = self.append_bytes(&bytes)?;
        Ok(FineLevel { log2, first: level.first, n_bins: level.bins.len() as u64, offset })
    }

    /// Appends bytes, and says where they are.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn append_bytes(&self, bytes: &[u8]) -> io::Result<u64> {
        let mut inner = self.locked();
        let offset = inner.n_bytes;
        inner.file.seek(SeekFrom::Start(offset))?;
        inner.file.write_all(bytes)?;
        inner.hash.write(bytes);
        inner.n_bytes += bytes.len() as u64;
        Ok(offset)
    }

    /// The bins `first .. first + n` of a level; `None` for each that it does not have.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self, level: &FineLevel, first: u64, n: usize) -> io::Result<Vec<Option<Bin>>> {
        let mut bins = vec![None; n];
        let from = first.max(level.first);
        let to = first.saturating_add(n as u64).min(level.first.saturating_add(level.n_bins));
        let Some(n_there) = to.checked_sub(from).and_then(|n| usize::try_from(n).ok()) else {
            return Ok(bins);
        };
        let mut bytes = vec![0; n_there * Bin::BYTES];
        let offset = level.offset + (from - level.first) * Bin::BYTES as u64;
        let mut inner = self.locked();
        inner.file.seek(SeekFrom::Start(offset))?;
        inner.file.read_exact(&mut bytes)?;
        drop(inner);
        let (all, _) = bytes.as_chunks::<{ Bin::BYTES }>();
        let start = (from - first) as usize;
        bins[start..].iter_mut().zip(all).for_each(|(bin, bytes)| *bin = Some(Bin::from_bytes(*bytes)));
        Ok(bins)
    }

    /// The file as it is: bytes in all, the hash of what was appended.
    pub fn state(&self) -> (u64, XxHash3_128) {
        let inner = self.locked();
        (inner.n_bytes, inner.hash.clone())
    }

    /// Writes the bytes at the beginning, which the hash does not cover, and hands everything to the disk.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn begin_with(&self, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.locked();
        inner.file.seek(SeekFrom::Start(0))?;
        inner.file.write_all(bytes)?;
        inner.file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(first: u64, n: u8) -> Level {
        Level { first, bins: (0..n).map(|share| Bin::new(None, [share, 0, 0, 7])).collect() }
    }

    #[test]
    fn any_part_of_a_level_is_read_as_it_was_appended() {
        let file = FineFile::temporary().unwrap();
        let (one, two) = (level(3, 5), level(0, 200));
        let (first, second) = (file.append(4, &one).unwrap(), file.append(3, &two).unwrap());
        for from in 0..10_u64 {
            for n in 0..10_usize {
                let expected: Vec<_> = (from..from + n as u64)
                    .map(|at| at.checked_sub(3).and_then(|at| one.bins.get(at as usize)).copied())
                    .collect();
                assert_eq!(file.read(&first, from, n).unwrap(), expected);
            }
        }
        let all: Vec<_> = two.bins.iter().copied().map(Some).collect();
        assert_eq!(file.read(&second, 0, 200).unwrap(), all);
        let n_bytes = file.state().0;
        assert_eq!(n_bytes, 205 * Bin::BYTES as u64);
        assert!(second.is_within(n_bytes) && !second.is_within(n_bytes - 1));
    }
}
