//! Structures that are kept for the next question, in the user's cache folder.
//!
//! ```text
//! ouzel/structure/<build id>   =   version, hash of the binary │ hash of the rest │ the structure
//! ```
//! Law: a file is complete or absent, and used only if the binary's bytes have the same hash. Everything in the folder
//! may be removed at any time. Kept are binaries with a build id and debug information: others take less time to
//! analyse than to read.

use crate::{Binary, Structure, StructureError};
use ouzel_files::{
    cache, input,
    unfinished::{Existing, Unfinished},
};
use rustc_hash::FxHasher;
use std::fs;
use std::hash::Hasher;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Raised when the result for a binary changes.
const VERSION: u64 = 1;
const HEAD_BYTES: usize = 24;
/// Most bytes of a kept structure: that of 100 MB of code.
const KEPT_BYTES_MAX: u64 = 1 << 30;
/// Binaries that are kept; those that were written first are removed.
const N_KEPT_MAX: usize = 64;

/// Whether a structure is kept for the next question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// In the user's cache folder.
    ForUser,
    /// Not at all.
    Nowhere,
}

/// The structure of a file, by up to `n_threads` threads; see [`Binary::structure`].
///
/// # Errors
/// As [`Binary::open`].
pub fn structure_of(
    path: &Path,
    n_threads: usize,
    only: Option<&str>,
    kept: Kept,
) -> Result<Structure, StructureError> {
    let binary = Binary::open(path)?;
    let folder = cache::user_folder().map(|folder| folder.join("structure"));
    let folder = folder.filter(|_| kept == Kept::ForUser);
    let place = folder.as_ref().zip(binary.build_id()).map(|(folder, id)| folder.join(id));
    let of_binary = hash(binary.bytes());
    if let Some(mut found) = place.as_ref().and_then(|place| read(place, of_binary)) {
        found.functions.retain(|function| only.is_none_or(|name| *function.name == *name));
        return Ok(found);
    }
    let structure = binary.structure(n_threads, only);
    let has_lines = structure.functions.iter().any(|function| 0 < function.line);
    if let (Some(folder), Some(place)) = (folder, place)
        && only.is_none()
        && has_lines
    {
        // Without a cache the next question takes longer, nothing else.
        let _ = write(&folder, &place, of_binary, &structure);
    }
    Ok(structure)
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.write_usize(bytes.len());
    hasher.finish()
}

fn read(place: &Path, of_binary: u64) -> Option<Structure> {
    let bytes = input::read_limited(place, KEPT_BYTES_MAX).ok()?;
    let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    (*head == header(of_binary, rest)).then(|| postcard::from_bytes(rest).ok())?
}

fn header(of_binary: u64, rest: &[u8]) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    for (part, number) in head.chunks_exact_mut(8).zip([VERSION, of_binary, hash(rest)]) {
        part.copy_from_slice(&number.to_le_bytes());
    }
    head
}

fn write(folder: &Path, place: &Path, of_binary: u64, structure: &Structure) -> io::Result<()> {
    let rest = postcard::to_stdvec(structure).map_err(io::Error::other)?;
    if KEPT_BYTES_MAX <= rest.len() as u64 {
        return Ok(());
    }
    cache::make_private(folder)?;
    make_room(folder)?;
    let (mut unfinished, mut file) = Unfinished::file_beside(place)?;
    file.write_all(&header(of_binary, &rest))?;
    file.write_all(&rest)?;
    unfinished.become_at(place, Existing::Replace)
}

fn make_room(folder: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    let n_too_many = (files.len() + 1).saturating_sub(N_KEPT_MAX);
    for (_, path) in &files[..n_too_many.min(files.len())] {
        fs::remove_file(path)?;
    }
    Ok(())
}
