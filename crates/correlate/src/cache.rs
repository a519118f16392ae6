//! The file that keeps spectra for later questions.
//!
//! ```text
//! magic, order of bytes, version, key, sizes │ for each view: coarse plane, fine plane │ portraits, notices
//! ```
//!
//! Numbers have the byte order of the machine; a file of the other order is foreign. Law: a file is complete or absent,
//! as it is written under another name, which is removed with an interrupted process. It is used only if its key is
//! that of the profile, grid and scope, and if every byte used passed a checksum. Planes are read in pieces by
//! position, so memory holds no more of it than one plane for each thread. The contents of the planes are defined
//! elsewhere.

use crate::spectra::{Plane, Portrait, checksum};
use crate::{Cache, Grid, View};
use num_complex::Complex;
use ouzel_files::input;
use ouzel_files::unfinished::{Existing, Unfinished};
use ouzel_model::{LocationId, Notice, ProfileDefinitions, ProfileSource, Scope};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"OUZELSPC";
const ORDER: u32 = 0x0102_0304;
const VERSION: u32 = 2;
/// Where the planes begin: a page.
const HEADER_BYTES: u64 = 4096;
/// Maximum number of bytes of portraits and notices: 20 kB for each of 2^16 views.
const MAX_SUMMARY_BYTES: u64 = 1 << 31;

/// The first bytes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct CacheHeader {
    key: u128,
    n_half: u64,
    n_views: u64,
    n_summary_bytes: u64,
    summary_sum: u64,
}

/// The last bytes of the file.
#[derive(Debug, Serialize, Deserialize)]
struct CacheSummary {
    portraits: Vec<Portrait>,
    notices: Vec<Notice>,
}

/// A file of spectra that matches.
#[derive(Debug)]
pub struct Kept {
    path: PathBuf,
    n_half: usize,
    /// One for each view, in the order of planes.
    pub portraits: Vec<Portrait>,
    /// What was noticed when they were computed.
    pub notices: Vec<Notice>,
}

/// How much the profile defines; spectra cover nothing else, whatever a file declares.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    n_metrics: usize,
    n_paths: usize,
    n_locations: usize,
}

impl Limits {
    /// The sizes of a profile.
    pub fn of(definitions: &ProfileDefinitions) -> Self {
        Limits {
            n_metrics: definitions.metrics.len(),
            n_paths: definitions.call_tree.len(),
            n_locations: definitions.locations.len(),
        }
    }

    fn has(self, view: View) -> bool {
        view.metric.index() < self.n_metrics && view.path.index() < self.n_paths
    }

    fn has_location(self, notice: &Notice) -> bool {
        notice.location.is_none_or(|location| location.index() < self.n_locations)
    }
}

/// One thread's access to the planes.
#[derive(Debug)]
pub struct Planes {
    file: File,
    n_half: usize,
}

/// Which of the planes of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The spectrum in single precision.
    Coarse,
    /// What the coarse plane lacks.
    Fine,
}

fn plane_offset(n_half: usize, view: usize, part: Part) -> u64 {
    let n_bytes = (n_half * size_of::<Complex<f32>>()) as u64;
    HEADER_BYTES + n_bytes * (2 * view as u64 + u64::from(part == Part::Fine))
}

/// Whether a file is of spectra, damaged or not.
pub(crate) fn is_spectra(path: &Path) -> io::Result<bool> {
    let mut magic = [0; 8];
    let mut file = input::open(path)?;
    match file.read_exact(&mut magic) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
        Ok(()) => Ok(magic == MAGIC),
    }
}

/// What distinguishes the spectra of one profile, grid and scope from all others.
pub fn key(source: &dyn ProfileSource, grid: &Grid, scope: Scope, fingerprint: u128) -> u128 {
    let definitions = source.definitions();
    let mut hash = Hash::new();
    hash.word(fingerprint as u64);
    hash.word((fingerprint >> 64) as u64);
    hash.bytes(scope.as_str().as_bytes());
    for axis in grid.axes() {
        hash.word(u64::from(axis.size));
    }
    for location in 0..definitions.locations.len() {
        hash.word(grid.place(LocationId::from_index(location)).map_or(u64::MAX, |place| place as u64));
    }
    for metric in definitions.metric_ids() {
        let of = definitions.metric(metric);
        hash.bytes(of.name.as_bytes());
        hash.bytes(format!("{:?} {:?} {:?} {}", of.kind, of.aggregation, of.parent, of.hidden).as_bytes());
        hash.word(source.severity_bytes(metric));
    }
    for node in definitions.call_tree.nodes() {
        hash.word(node.parent.map_or(u64::MAX, |parent| u64::from(parent.0)));
        hash.word(u64::from(node.region.0));
    }
    hash.finish()
}

/// FNV-1a of 128 bits, by words.
#[derive(Debug)]
pub struct Hash(u128);

impl Hash {
    /// The hash of nothing.
    pub fn new() -> Self {
        Hash(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Adds a number.
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ u128::from(word)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }

    /// Adds bytes and their number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.word(u64::from(byte));
        }
        self.word(bytes.len() as u64);
    }

    /// The hash.
    pub fn finish(&self) -> u128 {
        self.0
    }
}

impl Kept {
    /// The file at `path`, if it has these spectra; else the reason why not.
    pub fn open(
        path: &Path,
        key: u128,
        n_half: usize,
        limits: Limits,
    ) -> io::Result<Result<Kept, &'static str>> {
        let mut file = input::open(path)?;
        let n_bytes = file.metadata()?.len();
        let mut head = vec![0; HEADER_BYTES as usize];
        if n_bytes < HEADER_BYTES {
            return Ok(Err("it is too short"));
        }
        file.read_exact(&mut head)?;
        if head[..8] != MAGIC {
            return Ok(Err("it is not a spectra file"));
        }
        if head[8..12] != ORDER.to_ne_bytes() || head[12..16] != VERSION.to_ne_bytes() {
            return Ok(Err("it comes from another version or machine"));
        }
        let Ok(header) = postcard::from_bytes::<CacheHeader>(&head[16..]) else {
            return Ok(Err("its header is damaged"));
        };
        if header.key != key || header.n_half != n_half as u64 {
            return Ok(Err("it belongs to another profile, topology or scope, or to an earlier state"));
        }
        let at = header
            .n_views
            .checked_mul(2 * header.n_half * size_of::<Complex<f32>>() as u64)
            .and_then(|n| n.checked_add(HEADER_BYTES));
        let end = at.and_then(|at| at.checked_add(header.n_summary_bytes));
        let Some(at) = at.filter(|_| end == Some(n_bytes) && header.n_summary_bytes <= MAX_SUMMARY_BYTES)
        else {
            return Ok(Err("its length is wrong"));
        };
        let mut summary = Vec::new();
        if summary.try_reserve_exact(header.n_summary_bytes as usize).is_err() {
            return Ok(Err("its end does not fit into memory"));
        }
        summary.resize(header.n_summary_bytes as usize, 0);
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut summary)?;
        if checksum_of_bytes(&summary) != header.summary_sum {
            return Ok(Err("its end is damaged"));
        }
        let Ok(CacheSummary { portraits, notices }) = postcard::from_bytes(&summary) else {
            return Ok(Err("its end is damaged"));
        };
        let is_ours = portraits.len() as u64 == header.n_views
            && portraits.iter().all(|portrait| limits.has(portrait.view()))
            && notices.iter().all(|notice| limits.has_location(notice));
        if !is_ours {
            return Ok(Err("its end is damaged"));
        }
        Ok(Ok(Kept { path: path.to_owned(), n_half, portraits, notices }))
    }

    /// Access for one thread.
    pub fn planes(&self) -> io::Result<Planes> {
        Ok(Planes { file: input::open(&self.path)?, n_half: self.n_half })
    }
}

impl Planes {
    /// Reads a plane of a view; fails if it is damaged.
    pub fn read(
        &mut self,
        view: usize,
        portrait: &Portrait,
        part: Part,
        plane: &mut Plane,
    ) -> io::Result<()> {
        plane.resize(self.n_half, Complex::default());
        self.file.seek(SeekFrom::Start(plane_offset(self.n_half, view, part)))?;
        self.file.read_exact(bytemuck::cast_slice_mut(plane))?;
        if checksum(plane) == portrait.sums[usize::from(part == Part::Fine)] {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "a spectrum is damaged"))
        }
    }
}

/// A file that is being written, under another name; removed unless finished.
#[derive(Debug)]
pub struct Writing<'a> {
    cache: &'a Cache,
    half: Unfinished,
    n_half: usize,
}

impl<'a> Writing<'a> {
    /// Begins the file.
    pub fn begin(cache: &'a Cache, n_half: usize) -> io::Result<Writing<'a>> {
        cache.make_folder()?;
        let (half, _) = Unfinished::file_beside(&cache.file)?;
        Ok(Writing { cache, half, n_half })
    }

    /// Access for one thread.
    pub fn file(&self) -> io::Result<File> {
        File::options().write(true).open(self.half.path())
    }

    /// Writes the planes of a view.
    pub fn write(&self, file: &mut File, view: usize, coarse: &Plane, fine: &Plane) -> io::Result<()> {
        if self.cache.max_bytes() < plane_offset(self.n_half, view + 1, Part::Coarse) {
            let limit = self.cache.max_bytes();
            return Err(io::Error::other(format!(
                "they take more than the {limit} bytes allowed for a kept file; name a file with --spectra to keep them"
            )));
        }
        file.seek(SeekFrom::Start(plane_offset(self.n_half, view, Part::Coarse)))?;
        file.write_all(bytemuck::cast_slice(coarse))?;
        file.write_all(bytemuck::cast_slice(fine))
    }

    /// Completes the file and gives it its name; returns its size.
    pub fn finish(mut self, key: u128, portraits: Vec<Portrait>, notices: Vec<Notice>) -> io::Result<u64> {
        let n_views = portraits.len();
        let invalid = |error: postcard::Error| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        let summary = postcard::to_stdvec(&CacheSummary { portraits, notices }).map_err(invalid)?;
        let header = CacheHeader {
            key,
            n_half: self.n_half as u64,
            n_views: n_views as u64,
            n_summary_bytes: summary.len() as u64,
            summary_sum: checksum_of_bytes(&summary),
        };
        let mut head = Vec::from(MAGIC);
        head.extend(ORDER.to_ne_bytes());
        head.extend(VERSION.to_ne_bytes());
        head.extend(postcard::to_stdvec(&header).map_err(invalid)?);
        head.resize(HEADER_BYTES as usize, 0);
        let at = plane_offset(self.n_half, n_views, Part::Coarse);
        let mut file = self.file()?;
        file.set_len(at)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&summary)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&head)?;
        drop(file);
        let n_bytes = at + summary.len() as u64;
        self.cache.make_room(n_bytes)?;
        // A file that exists holds spectra, see `Cache::in_file`.
        self.half.become_at(&self.cache.file, Existing::Replace)?;
        Ok(n_bytes)
    }

    /// The final name.
    pub fn path(&self) -> &Path {
        &self.cache.file
    }
}

fn checksum_of_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().fold(bytes.len() as u64, |sum, &byte| {
        (sum.rotate_left(23) ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    })
}
