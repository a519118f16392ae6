//! What a path contains, examined before its format is known.
//!
//! Every format checks the same few things about a path: its kind, the beginning of a file, the contents of a
//! directory. A [`Candidate`] answers them from one cache.
//!
//! Laws: a file is opened once, however many formats check it; at most [`LOOK_BYTES`] of it are read; a directory is
//! listed once; only regular files are opened. The bytes are not interpreted here.

use crate::input::{self, Kind};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a file that are read to recognise it: enough for the first words of every format.
pub const LOOK_BYTES: usize = 64 << 10;

/// Most bytes of a file's head, so that single places can still be read, whatever other formats read.
const HEAD_BYTES_MAX: usize = LOOK_BYTES / 4 * 3;

/// Bytes that are read first from a file: a page of the operating system.
const FIRST_BYTES: usize = 4 << 10;

/// Files that are kept open, so that more of them can be read. Directories may hold a file for each rank.
const FILES_OPEN_MAX: usize = 128;

/// Bytes that are kept of a file that had to be closed.
const CLOSED_BYTES: usize = 1 << 10;

/// Names of a directory that are listed. Traces of a million locations have two files for each.
const NAMES_MAX: usize = 4 << 20;

/// A path whose format is to be recognised.
#[derive(Debug)]
pub struct Candidate {
    path: PathBuf,
    kind: Kind,
    cache: RefCell<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    files: BTreeMap<PathBuf, Look>,
    /// Files that are open, the oldest first.
    open: VecDeque<PathBuf>,
    folders: BTreeMap<PathBuf, Arc<[OsString]>>,
}

/// The cached contents of one file.
#[derive(Debug, Default)]
struct Look {
    file: Option<File>,
    head: Vec<u8>,
    n_bytes: u64,
    /// Bytes that were read, of the head and other places.
    n_read: usize,
}

impl Candidate {
    /// Determines the kind of `path`; nothing is opened.
    pub fn at(path: &Path) -> Self {
        Candidate { path: path.to_owned(), kind: input::kind(path), cache: RefCell::default() }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == Kind::File
    }

    /// Whether it is a directory.
    pub fn is_dir(&self) -> bool {
        self.kind == Kind::Directory
    }

    /// The first `n_bytes` of a file, at most three quarters of [`LOOK_BYTES`]; none if it cannot be read.
    pub fn head(&self, path: &Path, n_bytes: usize) -> Vec<u8> {
        let mut cache = self.cache.borrow_mut();
        let look = cache.look(path);
        look.extend_head(n_bytes.min(HEAD_BYTES_MAX));
        look.head[..look.head.len().min(n_bytes)].to_vec()
    }

    /// Size of a file in bytes; 0 if it cannot be read.
    pub fn n_bytes(&self, path: &Path) -> u64 {
        self.cache.borrow_mut().look(path).n_bytes
    }

    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    /// If the file ends before that, cannot be read, or this would exceed [`LOOK_BYTES`].
    pub fn read_at(&self, path: &Path, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.cache.borrow_mut().look(path).read_at(offset, bytes)
    }

    /// A reader of single places of a file, with the bounds of [`read_at`](Self::read_at).
    pub fn reader<'a>(&'a self, path: &'a Path) -> Places<'a> {
        Places { candidate: self, path, offset: 0 }
    }

    /// The names in a directory, sorted; none if it cannot be listed.
    pub fn names(&self, folder: &Path) -> Arc<[OsString]> {
        if let Some(names) = self.cache.borrow().folders.get(folder) {
            return names.clone();
        }
        let names: Arc<[OsString]> = list(folder).into();
        self.cache.borrow_mut().folders.insert(folder.to_owned(), names.clone());
        names
    }

    /// The names in a directory that are text, sorted.
    pub fn text_names(&self, folder: &Path) -> Vec<String> {
        self.names(folder).iter().filter_map(|name| name.to_str().map(str::to_owned)).collect()
    }

    /// The entries of a directory whose names pass `is_wanted`, with their paths, by name.
    pub fn paths(&self, folder: &Path, is_wanted: impl Fn(&OsStr) -> bool) -> Vec<PathBuf> {
        self.names(folder).iter().filter(|name| is_wanted(name)).map(|name| folder.join(name)).collect()
    }

    /// Bytes that were read of each file that was opened.
    pub fn bytes_read(&self) -> Vec<(PathBuf, usize)> {
        let cache = self.cache.borrow();
        cache.files.iter().map(|(path, look)| (path.clone(), look.n_read)).collect()
    }
}

impl Cache {
    fn look(&mut self, path: &Path) -> &mut Look {
        if !self.files.contains_key(path) {
            let mut look = Look::default();
            if let Ok(file) = input::open(path) {
                look.n_bytes = file.metadata().map_or(0, |metadata| metadata.len());
                look.file = Some(file);
                look.extend_head(FIRST_BYTES);
                self.open.push_back(path.to_owned());
            }
            self.files.insert(path.to_owned(), look);
            if FILES_OPEN_MAX < self.open.len() {
                let oldest = self.open.pop_front().and_then(|oldest| self.files.get_mut(&oldest));
                oldest.into_iter().for_each(Look::close);
            }
        }
        self.files.get_mut(path).expect("it was inserted")
    }
}

impl Look {
    fn extend_head(&mut self, n_bytes: usize) {
        let wanted = n_bytes.min(self.head.len() + (LOOK_BYTES - self.n_read));
        let Some(file) = self.file.as_mut().filter(|_| self.head.len() < wanted) else { return };
        let from = self.head.len();
        let n_more = (wanted - from) as u64;
        // An unreadable file is treated as absent: a format that needs it does not recognise the input.
        let seek = file.seek(SeekFrom::Start(from as u64));
        let _ = seek.and_then(|_| file.take(n_more).read_to_end(&mut self.head));
        self.n_read += self.head.len() - from;
    }

    fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= self.n_bytes);
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        if offset <= self.head.len() as u64 {
            self.extend_head(usize::try_from(end).unwrap_or(usize::MAX));
        }
        let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
        if let Some(there) = range.and_then(|(offset, end)| self.head.get(offset..end)) {
            bytes.copy_from_slice(there);
            return Ok(());
        }
        if LOOK_BYTES - self.n_read < bytes.len() {
            return Err(io::Error::new(
                io::ErrorKind::QuotaExceeded,
                "more than is read to recognise a file",
            ));
        }
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        self.n_read += bytes.len();
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }

    fn close(&mut self) {
        self.file = None;
        self.head.truncate(CLOSED_BYTES);
        self.head.shrink_to_fit();
    }
}

/// Reads single places of a candidate's file.
#[derive(Debug)]
pub struct Places<'a> {
    candidate: &'a Candidate,
    path: &'a Path,
    offset: u64,
}

impl Read for Places<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n_left = self.candidate.n_bytes(self.path).saturating_sub(self.offset);
        let n = bytes.len().min(usize::try_from(n_left).unwrap_or(usize::MAX));
        self.candidate.read_at(self.path, self.offset, &mut bytes[..n])?;
        self.offset += n as u64;
        Ok(n)
    }
}

impl Seek for Places<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let moved = |from: u64, by: i64| from.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput);
        self.offset = match to {
            SeekFrom::Start(offset) => offset,
            SeekFrom::End(by) => moved(self.candidate.n_bytes(self.path), by)?,
            SeekFrom::Current(by) => moved(self.offset, by)?,
        };
        Ok(self.offset)
    }
}

fn list(folder: &Path) -> Vec<OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().take(NAMES_MAX);
    let mut names: Vec<OsString> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    #[test]
    fn a_file_is_read_up_to_the_bound_however_often_it_is_asked_for() {
        let bytes: Vec<u8> = (0..3 * LOOK_BYTES).map(|i| (i % 251) as u8).collect();
        let (_folder, path) = folder_with("a", &bytes);
        let candidate = Candidate::at(&path);
        for n in [16, 1000, 5000, 5000, 16] {
            assert_eq!(candidate.head(&path, n), bytes[..n]);
        }
        assert_eq!(candidate.bytes_read(), [(path.clone(), 5000)]);
        let mut far = [0; 512];
        candidate.read_at(&path, 100_000, &mut far).unwrap();
        assert_eq!(far, bytes[100_000..100_512]);
        assert_eq!(candidate.bytes_read(), [(path.clone(), 5512)]);
        assert_eq!(candidate.head(&path, usize::MAX), bytes[..HEAD_BYTES_MAX]);
        let n_places = (0..1000).filter(|_| candidate.read_at(&path, 150_000, &mut far).is_ok()).count();
        assert_eq!(n_places, (LOOK_BYTES - HEAD_BYTES_MAX) / 512 - 1, "nothing more is read");
        assert_eq!(candidate.bytes_read(), [(path.clone(), LOOK_BYTES)]);
    }

    #[test]
    fn many_files_are_opened_once_each_and_closed() {
        let folder = tempfile::tempdir().unwrap();
        let n_files = 2 * FILES_OPEN_MAX;
        for i in 0..n_files {
            std::fs::write(folder.path().join(format!("{i:04}")), vec![i as u8; 3 * FIRST_BYTES]).unwrap();
        }
        let candidate = Candidate::at(folder.path());
        let paths = candidate.paths(folder.path(), |_| true);
        assert_eq!(paths.len(), n_files);
        for round in 0..2 {
            for (i, path) in paths.iter().enumerate() {
                assert_eq!(candidate.head(path, 16), [i as u8; 16], "round {round}");
            }
        }
        // The first was closed: its beginning is cached, and it is not opened again.
        assert_eq!(candidate.head(&paths[0], LOOK_BYTES).len(), CLOSED_BYTES);
        assert_eq!(candidate.head(&paths[n_files - 1], LOOK_BYTES).len(), 3 * FIRST_BYTES);
        assert!(candidate.bytes_read().iter().all(|&(_, n)| n <= LOOK_BYTES));
    }

    #[test]
    fn what_cannot_be_read_is_empty() {
        let (folder, path) = folder_with("a", b"abc");
        for missing in [folder.path(), &folder.path().join("b"), Path::new("/dev/zero")] {
            assert!(Candidate::at(missing).head(missing, 10).is_empty(), "{missing:?}");
            assert!(Candidate::at(missing).read_at(missing, 0, &mut [0]).is_err());
        }
        let candidate = Candidate::at(&path);
        assert!(candidate.names(&path).is_empty(), "a file has no entries");
        assert!(candidate.read_at(&path, u64::MAX, &mut [0; 4]).is_err());
        let mut places = candidate.reader(&path);
        let mut text = String::new();
        places.seek(SeekFrom::End(-2)).unwrap();
        places.read_to_string(&mut text).unwrap();
        assert_eq!(text, "bc");
    }
}
