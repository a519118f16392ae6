//! Fine levels of the timeline, in a file: memory holds the coarse ones, however many events the run has.
//!
//! ```text
//! place of a level:  its bins, each as in `Bin::to_bytes`, from the first to the last
//! ```
//!
//! Law: what was read is what was appended, or an error: each stretch of a level has a hash, which is looked at when it
//! is read. A hash of the whole file would have to read gigabytes before the first picture.

use ouzel_files::unfinished::Unfinished;
use ouzel_tiles::{Bin, Level};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use twox_hash::XxHash3_128;

/// Bins that a hash is of: 8 kB, which cost as much to read as a part of them.
const BINS_PER_HASH: usize = 1024;

/// Where the bins of a level are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FineLevel {
    /// Bins have `1 << log2` ticks.
    pub log2: u32,
    first: u64,
    n_bins: u64,
    offset: u64,
    /// Of each [`BINS_PER_HASH`] bins.
    hashes: Vec<u64>,
}

impl FineLevel {
    /// Whether it lies in a file of so many bytes.
    pub fn is_within(&self, n_bytes: u64) -> bool {
        let end = self.n_bins.checked_mul(Bin::BYTES as u64).and_then(|n| n.checked_add(self.offset));
        self.log2 < 64
            && end.is_some_and(|end| end <= n_bytes)
            && self.n_bins.div_ceil(BINS_PER_HASH as u64) == self.hashes.len() as u64
    }
}

fn hash(bytes: &[u8]) -> u64 {
    XxHash3_128::oneshot(bytes) as u64
}

/// A file that grows.
pub(crate) struct FineFile {
    inner: Mutex<Inner>,
    /// The file of a cache, which is removed if it turns out to be damaged: the next start makes it anew.
    kept: Option<PathBuf>,
    /// Removes a temporary file in the end.
    _temporary: Option<Unfinished>,
}

struct Inner {
    file: File,
    n_bytes: u64,
}

impl std::fmt::Debug for FineFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FineFile").field("n_bytes", &self.locked().n_bytes).finish_non_exhaustive()
    }
}

impl FineFile {
    /// Appends to `file`, which has `n_bytes`.
    pub fn new(file: File, n_bytes: u64) -> FineFile {
        FineFile { inner: Mutex::new(Inner { file, n_bytes }), kept: None, _temporary: None }
    }

    /// One that an earlier server kept at `path`.
    pub fn kept(file: File, n_bytes: u64, path: PathBuf) -> FineFile {
        FineFile { kept: Some(path), ..FineFile::new(file, n_bytes) }
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
        let hashes = bytes.chunks(BINS_PER_HASH * Bin::BYTES).map(hash).collect();
        Ok(FineLevel { log2, first: level.first, n_bins: level.bins.len() as u64, offset, hashes })
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
        inner.n_bytes += bytes.len() as u64;
        Ok(offset)
    }

    /// The bins `first .. first + n` of a level; `None` for each that it does not have.
    ///
    /// # Errors
    /// If the file cannot be read, or is damaged there.
    pub fn read(&self, level: &FineLevel, first: u64, n: usize) -> io::Result<Vec<Option<Bin>>> {
        let mut bins = vec![None; n];
        let from = first.max(level.first);
        let to = first.saturating_add(n as u64).min(level.first.saturating_add(level.n_bins));
        let Some(n_there) = to.checked_sub(from).and_then(|n| usize::try_from(n).ok()) else {
            return Ok(bins);
        };
        // Whole stretches, as each has one hash.
        let (begin, end) = (from - level.first, to - level.first);
        let stretches = begin / BINS_PER_HASH as u64..end.div_ceil(BINS_PER_HASH as u64);
        let stored = stretches.start * BINS_PER_HASH as u64
            ..level.n_bins.min(stretches.end.saturating_mul(BINS_PER_HASH as u64));
        let mut bytes = vec![0; (stored.end - stored.start) as usize * Bin::BYTES];
        let mut inner = self.locked();
        inner.file.seek(SeekFrom::Start(level.offset + stored.start * Bin::BYTES as u64))?;
        inner.file.read_exact(&mut bytes)?;
        drop(inner);
        let found = bytes.chunks(BINS_PER_HASH * Bin::BYTES).map(hash);
        if !found.eq(level.hashes[stretches.start as usize..].iter().take(stretches.count()).copied()) {
            self.remove();
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file was damaged"));
        }
        let (all, _) = bytes.as_chunks::<{ Bin::BYTES }>();
        let (start, skipped) = ((from - first) as usize, (begin - stored.start) as usize);
        let wanted = &all[skipped..skipped + n_there];
        bins[start..].iter_mut().zip(wanted).for_each(|(bin, bytes)| *bin = Some(Bin::from_bytes(*bytes)));
        Ok(bins)
    }

    fn remove(&self) {
        if let Some(path) = &self.kept {
            // It may be gone, or not ours any more: the error that follows is what matters.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Writes the bytes at the beginning, and hands everything to the disk.
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
        let n_bytes = 205 * Bin::BYTES as u64;
        assert!(second.is_within(n_bytes) && !second.is_within(n_bytes - 1));
    }

    #[test]
    fn damage_is_an_error_where_it_is_and_the_kept_file_goes() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("kept");
        let options =
            || File::options().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        let n = 3 * BINS_PER_HASH + 5;
        let whole = Level { first: 7, bins: (0..n).map(|at| Bin::new(None, [at as u8, 1, 2, 3])).collect() };
        let level = FineFile::new(options(), 0).append(2, &whole).unwrap();
        for damaged in [0, BINS_PER_HASH, n - 1] {
            let mut file = options();
            file.seek(SeekFrom::Start((damaged * Bin::BYTES + 4) as u64)).unwrap();
            file.write_all(&[damaged as u8 ^ 0x55]).unwrap();
            let kept = FineFile::kept(options(), (n * Bin::BYTES) as u64, path.clone());
            let bad = damaged / BINS_PER_HASH;
            for stretch in 0..4 {
                let read = kept.read(&level, 7 + (stretch * BINS_PER_HASH) as u64, 5);
                if stretch == bad {
                    assert_eq!(read.unwrap_err().kind(), io::ErrorKind::InvalidData);
                } else {
                    let first = stretch * BINS_PER_HASH;
                    let expected: Vec<_> = whole.bins[first..first + 5].iter().copied().map(Some).collect();
                    assert_eq!(read.unwrap(), expected);
                }
            }
            assert!(!path.exists());
            FineFile::new(options(), 0).append(2, &whole).unwrap();
        }
    }
}
