//! Where spectra are kept, and what distinguishes one profile from another.
//!
//! They are kept in the user's cache folder (`$XDG_CACHE_HOME/ouzel`, else `~/.cache/ouzel`), which no other user can
//! read, up to [`MAX_FOLDER_BYTES`] of it: the least recently used are removed first. Or in a file that the user names;
//! never beside the profile without a request. The fingerprint is made of the lengths and modification times of the
//! profile's files, not of their paths: a folder that is moved keeps its spectra. A file that is changed and gets its
//! old time back is detected by the spectrum of the reference, which is computed anew for each question.

use crate::cache::Hash;
use crate::{Grid, cache};
use ouzel_files::cache as cache_folder;
use ouzel_files::unfinished;
use ouzel_model::{LocationId, Scope};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum number of files of a profile that are checked: more than any format has.
const MAX_FILES: usize = 100_000;
const SUFFIX: &str = ".spectra";
/// Maximum bytes of the user's folder: 17 profiles of 65,536 locations and 850 views.
pub(crate) const MAX_FOLDER_BYTES: u64 = 8 << 30;
/// Maximum bytes of one file in it.
pub(crate) const MAX_FILE_BYTES: u64 = MAX_FOLDER_BYTES / 2;
/// Spectra that are computed in about 0.1 s are not worth a file: 16 MB.
const MIN_FILE_BYTES: u64 = 16 << 20;
/// Unfinished files of this age belong to processes that were killed.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// Where spectra are kept, and which profile they belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// The file to read from or write to. Its folder is made if necessary.
    pub file: PathBuf,
    /// Who chose the file.
    pub owner: CacheOwner,
    /// What distinguishes this profile from all others, and from itself after a change.
    pub fingerprint: u128,
}

/// Who chose the file that keeps spectra.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheOwner {
    /// One of many in the user's folder: written where that pays off, and removed when the folder is full.
    Folder,
    /// The user named it: always written.
    User,
}

impl Cache {
    /// A file in the user's folder for the spectra of a profile; `made_by` is anything else that its severities depend
    /// on, such as a filter of events, and empty for a profile as it is stored.
    ///
    /// # Errors
    /// If the profile's files cannot be looked at, or there is no such folder.
    pub fn of_user(profile: &Path, grid: &Grid, scope: Scope, made_by: &str) -> io::Result<Cache> {
        let no_folder = || io::Error::new(io::ErrorKind::NotFound, "neither XDG_CACHE_HOME nor HOME is set");
        Cache::in_folder(&cache_folder::user_folder().ok_or_else(no_folder)?, profile, grid, scope, made_by)
    }

    /// The same in another folder.
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
        let fingerprint = fingerprint(&fs::canonicalize(profile)?, made_by, None)?;
        let mut hash = Hash::new();
        hash.word(fingerprint as u64);
        hash.word((fingerprint >> 64) as u64);
        hash.bytes(scope.as_str().as_bytes());
        places(&mut hash, grid);
        let file = folder.join(format!("{:032x}{SUFFIX}", hash.finish()));
        Ok(Cache { file, owner: CacheOwner::Folder, fingerprint })
    }

    /// A file of the user's choice.
    ///
    /// # Errors
    /// If the profile's files cannot be looked at, or there is a file that does not hold spectra.
    pub fn in_file(file: &Path, profile: &Path, made_by: &str) -> io::Result<Cache> {
        if file.symlink_metadata().is_ok() && !cache::is_spectra(file)? {
            let reason = "it exists and holds no spectra; name another file";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, reason));
        }
        // It may be among the profile's files.
        let here = fs::canonicalize(file).ok();
        let fingerprint = fingerprint(&fs::canonicalize(profile)?, made_by, here.as_deref())?;
        Ok(Cache { file: file.to_owned(), owner: CacheOwner::User, fingerprint })
    }

    /// Size in bytes below which spectra are not kept.
    pub(crate) fn min_bytes(&self) -> u64 {
        if self.owner == CacheOwner::Folder { MIN_FILE_BYTES } else { 0 }
    }

    /// Size in bytes above which they are not kept.
    pub(crate) fn max_bytes(&self) -> u64 {
        if self.owner == CacheOwner::Folder { MAX_FILE_BYTES } else { u64::MAX }
    }

    /// Makes the folder; the user's own folder with access for the user alone.
    pub(crate) fn make_folder(&self) -> io::Result<()> {
        let folder =
            self.file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match self.owner {
            CacheOwner::Folder => cache_folder::make_private(folder),
            CacheOwner::User => fs::create_dir_all(folder),
        }
    }

    /// Records that the file was used.
    pub(crate) fn touch(&self) {
        if self.owner == CacheOwner::Folder
            && let Ok(file) = File::options().write(true).open(&self.file)
        {
            // If the time cannot be set, the file is removed earlier, which does no harm.
            drop(file.set_modified(SystemTime::now()));
        }
    }

    /// Removes the least recently used files of the folder, so that there is room for `n_bytes` more.
    pub(crate) fn make_room(&self, n_bytes: u64) -> io::Result<()> {
        if self.owner == CacheOwner::User {
            return Ok(());
        }
        let Some(folder) = self.file.parent() else { return Ok(()) };
        evict(folder, &self.file, MAX_FOLDER_BYTES.saturating_sub(n_bytes))
    }
}

/// Removes the oldest files of spectra until the rest, except `replaced`, has at most `limit` bytes.
fn evict(folder: &Path, replaced: &Path, limit: u64) -> io::Result<()> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, known) = (entry.path(), entry.metadata()?);
        let name = entry.file_name();
        let (name, used) = (name.as_encoded_bytes(), known.modified()?);
        if !known.is_file() || path == replaced {
            continue;
        }
        if name.ends_with(SUFFIX.as_bytes()) {
            kept.push((used, known.len(), path));
        } else if name.ends_with(unfinished::ENDING.as_bytes())
            && used.elapsed().is_ok_and(|age| ABANDONED < age)
        {
            remove(&path)?;
        }
    }
    kept.sort_unstable();
    let mut n_bytes: u64 = kept.iter().map(|(_, n, _)| n).sum();
    for (_, n, path) in kept {
        if n_bytes <= limit {
            break;
        }
        remove(&path)?;
        n_bytes -= n;
    }
    Ok(())
}

/// Removes a file that another process may remove at the same time.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What distinguishes the grids of one profile.
fn places(hash: &mut Hash, grid: &Grid) {
    for axis in grid.axes() {
        hash.word(u64::from(axis.size));
    }
    for place in (0..grid.n_places()).map(|place| grid.location(place)) {
        hash.word(place.map_or(u64::MAX, |LocationId(location)| u64::from(location)));
    }
}

fn fingerprint(profile: &Path, made_by: &str, but: Option<&Path>) -> io::Result<u128> {
    let mut hash = Hash::new();
    hash.bytes(made_by.as_bytes());
    let mut pending = vec![profile.to_owned()];
    let mut n_files = 0;
    while let Some(path) = pending.pop() {
        let known = fs::metadata(&path)?;
        if known.is_dir() {
            let mut within =
                fs::read_dir(&path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
            within.retain(|path| {
                let is_spectra = path.as_os_str().as_encoded_bytes().ends_with(SUFFIX.as_bytes());
                !is_spectra && Some(path.as_path()) != but
            });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_the_longest_goes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, n_bytes: usize, age: u64| {
            let path = folder.path().join(name);
            fs::write(&path, vec![0; n_bytes]).expect("a file");
            let file = File::options().write(true).open(&path).expect("it is there");
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).expect("its time is set");
        };
        write("old.spectra", 10, 300);
        write("used.spectra", 10, 5);
        write("mid.spectra", 10, 200);
        write("mine.spectra", 100, 400);
        write("foreign", 1000, 500);
        write(&format!("dead{}", unfinished::ENDING), 1000, 2 * ABANDONED.as_secs());
        write(&format!("live{}", unfinished::ENDING), 1000, 60);
        evict(folder.path(), &folder.path().join("mine.spectra"), 20).expect("it is ours");
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .expect("it is there")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        left.sort();
        let live = format!("live{}", unfinished::ENDING);
        assert_eq!(left, ["foreign", live.as_str(), "mid.spectra", "mine.spectra", "used.spectra"]);
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_the_users_alone() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let folder = tempfile::tempdir().expect("a folder");
        let made = folder.path().join("cache").join("ouzel");
        cache_folder::make_private(&made).expect("it can be made");
        assert_eq!(fs::metadata(&made).expect("it is there").mode() & 0o777, 0o700);
        fs::set_permissions(&made, fs::Permissions::from_mode(0o777)).expect("it is ours");
        let error = cache_folder::make_private(&made).expect_err("others may write into it");
        assert!(error.to_string().starts_with("others may write to"), "{error}");
    }
}
