//! Where spectra are kept, and what tells one profile from another.
//!
//! Beside the profile, else in the user's folder for such (`$XDG_CACHE_HOME`, else `~/.cache`). The fingerprint is made
//! of the lengths and times of change of the profile's files, not of their paths: a folder that is moved keeps its
//! spectra. Who changes a file and sets back its time is found out by the spectrum of the reference, which is computed
//! anew for each question.

use crate::Grid;
use crate::cache::Hash;
use ouzel_model::{LocationId, Scope};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{fs, io};

/// Files of a profile that are looked at: more than any format has.
const MAX_FILES: usize = 100_000;
const SUFFIX: &str = ".spectra";

/// Where spectra may be kept, and of what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// Files to read from or write to, in this order: the first that can be. Their folders are made if need be.
    pub files: Vec<PathBuf>,
    /// What tells this profile from all others, and from itself after a change.
    pub fingerprint: u128,
}

impl Cache {
    /// The usual places for the spectra of a profile; `made_by` is whatever else its severities depend on, as a filter
    /// of events, and empty for a profile as it is stored.
    ///
    /// # Errors
    /// If the profile's files cannot be looked at.
    pub fn beside(profile: &Path, grid: &Grid, scope: Scope, made_by: &str) -> io::Result<Cache> {
        let profile = fs::canonicalize(profile)?;
        let folder = profile.parent().unwrap_or(&profile);
        let mut cache = Cache::in_folder(folder, &profile, grid, scope, made_by)?;
        if let Some(home) = user_folder() {
            let mut hash = Hash::new();
            hash.bytes(folder.as_os_str().as_encoded_bytes());
            let folder = home.join("ouzel").join(format!("{:016x}", hash.finish() as u64));
            cache.files.extend(Cache::in_folder(&folder, &profile, grid, scope, made_by)?.files);
        }
        Ok(cache)
    }

    /// The same in a folder of the user's choice.
    ///
    /// # Errors
    /// If the profile's files cannot be looked at.
    pub fn in_folder(
        folder: &Path,
        profile: &Path,
        grid: &Grid,
        scope: Scope,
        made_by: &str,
    ) -> io::Result<Cache> {
        let mut name = profile.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}-{:016x}{SUFFIX}", scope.as_str(), places(grid, made_by)));
        Ok(Cache { files: vec![folder.join(name)], fingerprint: fingerprint(profile, made_by)? })
    }
}

fn user_folder() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))
}

/// What tells the grids of one profile apart.
fn places(grid: &Grid, made_by: &str) -> u64 {
    let mut hash = Hash::new();
    hash.bytes(made_by.as_bytes());
    for axis in grid.axes() {
        hash.word(u64::from(axis.size));
    }
    for place in (0..grid.n_places()).map(|place| grid.location(place)) {
        hash.word(place.map_or(u64::MAX, |LocationId(location)| u64::from(location)));
    }
    let hash = hash.finish();
    (hash >> 64) as u64 ^ hash as u64
}

fn fingerprint(profile: &Path, made_by: &str) -> io::Result<u128> {
    let mut hash = Hash::new();
    hash.bytes(made_by.as_bytes());
    let mut pending = vec![profile.to_owned()];
    let mut n_files = 0;
    while let Some(path) = pending.pop() {
        let known = fs::metadata(&path)?;
        if known.is_dir() {
            let mut within =
                fs::read_dir(&path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
            within.retain(|path| !path.as_os_str().as_encoded_bytes().ends_with(SUFFIX.as_bytes()));
            within.sort_unstable();
            pending.extend(within);
        } else {
            let changed = known.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            hash.bytes(path.file_name().unwrap_or_default().as_encoded_bytes());
            hash.word(known.len());
            hash.word(changed.as_secs());
            hash.word(u64::from(changed.subsec_nanos()));
        }
        n_files += 1;
        if n_files > MAX_FILES {
            return Err(io::Error::other("the profile has too many files to tell whether it changed"));
        }
    }
    Ok(hash.finish())
}
