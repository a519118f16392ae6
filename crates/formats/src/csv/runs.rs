//! The rows of one location, wherever they lie in a file.
//!
//! A run is a stretch of rows of one location. Reading a location is reading its runs one
//! after the other; where they would be too many, the rows were put in order in a
//! temporary file first.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

/// A stretch of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStretch {
    pub offset: u64,
    pub n_bytes: u64,
}

/// Appends a stretch; one that follows the last makes it longer. Whether it is a new run.
pub(super) fn append(runs: &mut Vec<FileStretch>, offset: u64, n_bytes: u64) -> bool {
    match runs.last_mut() {
        Some(last) if last.offset + last.n_bytes == offset => {
            last.n_bytes += n_bytes;
            false
        }
        _ => {
            runs.push(FileStretch { offset, n_bytes });
            true
        }
    }
}

/// Where a position in the runs, read one after the other, lies in the file.
pub(super) fn offset_in_file(runs: &[FileStretch], mut at: u64) -> u64 {
    for run in runs {
        if at < run.n_bytes {
            return run.offset + at;
        }
        at -= run.n_bytes;
    }
    runs.last().map_or(0, |run| run.offset + run.n_bytes)
}

/// Reads runs one after the other.
pub(super) struct RunsReader {
    file: File,
    runs: Arc<[FileStretch]>,
    next: usize,
    left: u64,
}

impl RunsReader {
    pub fn new(file: File, runs: Arc<[FileStretch]>) -> Self {
        RunsReader { file, runs, next: 0, left: 0 }
    }
}

impl Read for RunsReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.left == 0 {
            let Some(run) = self.runs.get(self.next) else { return Ok(0) };
            self.file.seek(SeekFrom::Start(run.offset))?;
            self.next += 1;
            self.left = run.n_bytes;
        }
        let n = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let n = self.file.read(&mut buffer[..n])?;
        self.left -= n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_run() {
        let mut runs = Vec::new();
        let new: Vec<bool> =
            [(10, 5), (15, 5), (30, 2)].iter().map(|&(offset, n)| append(&mut runs, offset, n)).collect();
        assert_eq!(new, [true, false, true]);
        assert_eq!(runs, [FileStretch { offset: 10, n_bytes: 10 }, FileStretch { offset: 30, n_bytes: 2 }]);
        assert_eq!([0, 9, 10, 11, 12].map(|at| offset_in_file(&runs, at)), [10, 19, 30, 31, 32]);
    }
}
