//! Fine levels of the timeline, in a file: memory holds the coarse ones, however many events the run has.
//!
//! ```text
//! place of a row:  the bins of its fine levels, the finest level first, each as in `Bin::write`
//! ```
//!
//! Law: what was read is what was appended, or an error: each stretch of a row has a hash, which is looked at when it
//! is read. A hash of the whole file would have to read gigabytes before the first picture.

use ouzel_files::unfinished::Unfinished;
use ouzel_tiles::{Bin, N_SHARES, Shape};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use twox_hash::XxHash3_128;

/// Bins that a hash is of: 5 to 8 kB, which cost as much to read as a part of them.
const BINS_PER_HASH: u64 = 1024;

/// Where the fine levels of a row are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FineRow {
    /// Of the whole pyramid.
    shape: Shape,
    /// So many levels are here, from the finest on.
    n_levels: u32,
    /// Bytes of a call path.
    path_bytes: u8,
    offset: u64,
    /// Of each [`BINS_PER_HASH`] bins.
    hashes: Box<[u64]>,
}

impl FineRow {
    /// The finest level.
    pub fn finest(&self) -> u32 {
        self.shape.log2
    }

    fn bin_bytes(&self) -> u64 {
        u64::from(self.path_bytes) + N_SHARES as u64
    }

    fn n_bins(&self) -> u64 {
        self.shape.n_bins_of_levels(self.n_levels)
    }

    /// Whether it can be, and lies in a file of so many bytes.
    pub fn is_sound(&self, n_bytes: u64) -> bool {
        let is_inside = || {
            let end = self.n_bins().checked_mul(self.bin_bytes()).and_then(|n| n.checked_add(self.offset));
            end.is_some_and(|end| end <= n_bytes)
                && self.n_bins().div_ceil(BINS_PER_HASH) == self.hashes.len() as u64
        };
        self.shape.is_sound()
            && self.n_levels < self.shape.n_levels()
            && (1..=4).contains(&self.path_bytes)
            && is_inside()
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

    /// Appends the `n_levels` finest levels of a pyramid.
    ///
    /// # Errors
    /// If they cannot be written: the disk may be full.
    pub fn append(&self, shape: Shape, n_levels: u32, bins: &[Bin]) -> io::Result<FineRow> {
        let path_bytes = Bin::path_bytes(bins.iter().filter_map(|bin| bin.call_path()).max());
        let mut row = FineRow { shape, n_levels, path_bytes, offset: 0, hashes: Box::default() };
        let mut bytes = Vec::with_capacity(bins.len() * row.bin_bytes() as usize);
        bins.iter().for_each(|bin| bin.write(path_bytes, &mut bytes));
        row.hashes = bytes.chunks((BINS_PER_HASH * row.bin_bytes()) as usize).map(hash).collect();
        row.offset = self.append_bytes(&bytes)?;
        Ok(row)
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

    /// The bins `first .. first + n` of the level of `1 << log2` ticks.
    ///
    /// # Errors
    /// If the file cannot be read, or is damaged there.
    pub fn read(&self, row: &FineRow, log2: u32, first: u64, n: usize) -> io::Result<Vec<Bin>> {
        let mut bins = vec![Bin::NOTHING; n];
        let level = log2.saturating_sub(row.shape.log2).min(row.n_levels);
        let shape = row.shape.above(level);
        let from = first.max(shape.first);
        let to = first.saturating_add(n as u64).min(shape.last.saturating_add(1));
        if to <= from {
            return Ok(bins);
        }
        // Whole stretches, as each has one hash.
        let before = row.shape.n_bins_of_levels(level);
        let (begin, end) = (before + from - shape.first, before + to - shape.first);
        let stretches = begin / BINS_PER_HASH..end.div_ceil(BINS_PER_HASH);
        let stored = stretches.start * BINS_PER_HASH..row.n_bins().min(stretches.end * BINS_PER_HASH);
        let mut bytes = vec![0; ((stored.end - stored.start) * row.bin_bytes()) as usize];
        let mut inner = self.locked();
        inner.file.seek(SeekFrom::Start(row.offset + stored.start * row.bin_bytes()))?;
        inner.file.read_exact(&mut bytes)?;
        drop(inner);
        let found = bytes.chunks((BINS_PER_HASH * row.bin_bytes()) as usize).map(hash);
        let hashes = row.hashes.get(stretches.start as usize..).unwrap_or_default();
        if !found.eq(hashes.iter().take((stretches.end - stretches.start) as usize).copied()) {
            self.remove();
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file was damaged"));
        }
        let wanted = bytes.chunks(row.bin_bytes() as usize).skip((begin - stored.start) as usize);
        let wanted = wanted.take((to - from) as usize);
        bins[(from - first) as usize..]
            .iter_mut()
            .zip(wanted)
            .for_each(|(bin, bytes)| *bin = Bin::read(bytes));
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
    use ouzel::model::CallPathId;

    /// Bins of the `n_levels` finest levels of a pyramid that are all different.
    fn bins(shape: Shape, n_levels: u32, highest: u32) -> Vec<Bin> {
        let bin = |at: u64| {
            let path = (!at.is_multiple_of(7)).then(|| CallPathId((at as u32 * 13) % (highest + 1)));
            Bin::new(path, [at as u8, (at >> 8) as u8, 0, 7])
        };
        (0..shape.n_bins_of_levels(n_levels)).map(bin).collect()
    }

    #[test]
    fn any_part_of_a_level_is_read_as_it_was_appended() {
        let file = FineFile::temporary().unwrap();
        for highest in [3, 254, 255, 65_534, 65_535, 1 << 24] {
            let shape = Shape { log2: 4, first: 3, last: 40 };
            let all = bins(shape, 3, highest);
            let row = file.append(shape, 3, &all).unwrap();
            let end = row.offset + row.n_bins() * row.bin_bytes();
            assert!(row.is_sound(end) && !row.is_sound(end - 1));
            for level in 0..3_u32 {
                let (of, before) = (shape.above(level), shape.n_bins_of_levels(level));
                for (first, n) in (0..45_u64).flat_map(|first| [1, 2, 45_usize].map(|n| (first, n))) {
                    let expected =
                        (first..first + n as u64).map(|at| match of.first <= at && at <= of.last {
                            true => all[(before + at - of.first) as usize],
                            false => Bin::NOTHING,
                        });
                    let read = file.read(&row, 4 + level, first, n).unwrap();
                    assert_eq!(read, expected.collect::<Vec<_>>(), "{highest}: level {level}, {first} + {n}");
                }
            }
        }
    }

    #[test]
    fn damage_is_an_error_where_it_is_and_the_kept_file_goes() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("kept");
        let options =
            || File::options().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        let n = 3 * BINS_PER_HASH + 5;
        let shape = Shape { log2: 2, first: 7, last: 7 + n - 1 };
        let whole = bins(shape, 1, 100);
        let row = FineFile::new(options(), 0).append(shape, 1, &whole).unwrap();
        for damaged in [0, BINS_PER_HASH, n - 1] {
            let mut file = options();
            file.seek(SeekFrom::Start(damaged * row.bin_bytes() + 4)).unwrap();
            file.write_all(&[0x55]).unwrap();
            let kept = FineFile::kept(options(), n * row.bin_bytes(), path.clone());
            let bad = damaged / BINS_PER_HASH;
            for stretch in 0..4 {
                let read = kept.read(&row, 2, 7 + stretch * BINS_PER_HASH, 5);
                if stretch == bad {
                    assert_eq!(read.unwrap_err().kind(), io::ErrorKind::InvalidData);
                } else {
                    let first = (stretch * BINS_PER_HASH) as usize;
                    assert_eq!(read.unwrap(), whole[first..first + 5]);
                }
            }
            assert!(!path.exists());
            FineFile::new(options(), 0).append(shape, 1, &whole).unwrap();
        }
    }
}
