//! What is in a folder, so that changes are seen.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Larger files are compared by their lengths: those with holes.
const MAX_COMPARED: u64 = 4 << 20;

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Folder,
    Link(PathBuf),
    File {
        n_bytes: u64,
        bytes: Option<Vec<u8>>,
    },
    /// A FIFO and the like.
    Special,
}

/// What is in a folder, by path.
pub type Listing = BTreeMap<PathBuf, Entry>;

/// Everything below a folder.
pub fn list(folder: &Path) -> Result<Listing> {
    let mut listing = Listing::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        let within = fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
        for entry in within {
            let path = entry?.path();
            let known = fs::symlink_metadata(&path)?;
            let kind = if known.is_symlink() {
                Entry::Link(fs::read_link(&path)?)
            } else if known.is_dir() {
                pending.push(path.clone());
                Entry::Folder
            } else if known.is_file() {
                let n_bytes = known.len();
                let bytes = (n_bytes <= MAX_COMPARED).then(|| fs::read(&path)).transpose()?;
                Entry::File { n_bytes, bytes }
            } else {
                Entry::Special
            };
            listing.insert(path, kind);
        }
    }
    Ok(listing)
}

/// How two listings differ, in words.
pub fn differences(before: &Listing, after: &Listing) -> Vec<String> {
    let mut found = Vec::new();
    for (path, entry) in before {
        match after.get(path) {
            None => found.push(format!("{} is gone", path.display())),
            Some(now) if now != entry => found.push(format!("{} was changed", path.display())),
            Some(_) => {}
        }
    }
    let new = after.keys().filter(|path| !before.contains_key(*path));
    found.extend(new.map(|path| format!("{} was left behind", path.display())));
    found
}

/// The regular files of a listing.
pub fn regular(listing: &Listing) -> Vec<&Path> {
    listing
        .iter()
        .filter(|(_, entry)| matches!(entry, Entry::File { .. }))
        .map(|(path, _)| path.as_path())
        .collect()
}

/// Copies a file or a folder to `to`.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    if !fs::metadata(from)?.is_dir() {
        // Not its mode: it is to be spoilt.
        return fs::write(to, fs::read(from)?).with_context(|| format!("cannot copy {}", from.display()));
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Bytes of a file or of all files in a folder.
pub fn size(path: &Path) -> Result<u64> {
    let known = fs::metadata(path)?;
    if !known.is_dir() {
        return Ok(known.len());
    }
    let mut n_bytes = 0;
    for entry in fs::read_dir(path)? {
        n_bytes += size(&entry?.path())?;
    }
    Ok(n_bytes)
}
