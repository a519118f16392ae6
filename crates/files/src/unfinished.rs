//! What is being written and not complete: it goes away when it is dropped, and when a signal ends the program.
//!
//! ```text
//! file_beside(OUT) ──► .OUT.x7Kd2f.part, exclusive ──write──► become(OUT) ──► OUT
//!                                      └─ error, panic, SIGINT, SIGTERM, … ─► nothing
//! ```
//!
//! Law: a name of its own, which nothing had before, so that no link is followed and two writers never meet. Names are
//! given and taken under one lock that a signal takes, too: what it finds is unfinished or complete, never both.
//! A process that is killed (`SIGKILL`, a crash) leaves its `.part`, which does not block the next one.
//! Not here: what may be replaced, see [`output`](crate::output).

pub use crate::ending::{end_process, remove_on_signals, wait_if_ending};
use crate::place::folder_of;
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{Builder, TempPath};

/// How names of unfinished files and folders end.
pub const ENDING: &str = ".part";

/// Most bytes of the name of the target in that of its unfinished file: names have 255 at most.
const MAX_NAME_BYTES: usize = 64;

/// Everything that is unfinished in this process.
static REGISTRY: Mutex<BTreeMap<PathBuf, Kind>> = Mutex::new(BTreeMap::new());

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
    /// A folder made for others: goes away if it is empty.
    EmptyFolder,
}

/// A file or folder that is not complete.
#[derive(Debug)]
#[must_use = "it is removed when dropped"]
pub struct Unfinished {
    path: PathBuf,
    kind: Kind,
    is_done: bool,
}

/// What becomes of a file that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays; the new one is refused.
    Keep,
    /// The new one takes its place.
    Replace,
}

/// The registry, locked: no unfinished file begins, ends or gets its name meanwhile.
pub(crate) struct Locked(MutexGuard<'static, BTreeMap<PathBuf, Kind>>);

pub(crate) fn lock() -> Locked {
    Locked(REGISTRY.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Locked {
    /// Removes everything that is unfinished, what is inside before what is around it.
    pub(crate) fn remove_all(&mut self) {
        for (path, kind) in std::mem::take(&mut *self.0).into_iter().rev() {
            remove(&path, kind);
        }
    }
}

impl Unfinished {
    /// Begins a file in the folder of `target`, for reading and writing, with the permissions of a new file or of
    /// the one that is at `target` already.
    ///
    /// # Errors
    /// If it cannot be made, e.g. as the folder cannot be written.
    pub fn file_beside(target: &Path) -> io::Result<(Unfinished, File)> {
        let old = fs::metadata(target).ok().filter(fs::Metadata::is_file).map(|file| file.permissions());
        let name = begin_of_name(target);
        let mut builder = Builder::new();
        builder.prefix(&name).suffix(ENDING);
        if let Some(permissions) = old.clone().or_else(|| new_permissions(0o666)) {
            builder.permissions(permissions);
        }
        let mut locked = lock();
        let (file, path) = builder.tempfile_in(folder_of(target))?.into_parts();
        let path = path.keep().map_err(|error| error.error)?;
        locked.0.insert(path.clone(), Kind::File);
        drop(locked);
        let unfinished = Unfinished { path, kind: Kind::File, is_done: false };
        if let Some(old) = old {
            // The mask of new files may have taken some away.
            file.set_permissions(old)?;
        }
        Ok((unfinished, file))
    }

    /// A file in the folder of temporary files, of this user alone, for as long as it is wanted.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn temporary() -> io::Result<(Unfinished, File)> {
        let mut locked = lock();
        let (file, path) = Builder::new().prefix("ouzel-").tempfile()?.into_parts();
        let path = path.keep().map_err(|error| error.error)?;
        locked.0.insert(path.clone(), Kind::File);
        Ok((Unfinished { path, kind: Kind::File, is_done: false }, file))
    }

    /// Begins a folder in `parent`, to become one named like `target`.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn folder_in(parent: &Path, target: &Path) -> io::Result<Unfinished> {
        let name = begin_of_name(target);
        let mut builder = Builder::new();
        builder.prefix(&name).suffix(ENDING);
        if let Some(permissions) = new_permissions(0o777) {
            builder.permissions(permissions);
        }
        let mut locked = lock();
        let path = builder.tempdir_in(parent)?.keep();
        locked.0.insert(path.clone(), Kind::Folder);
        Ok(Unfinished { path, kind: Kind::Folder, is_done: false })
    }

    /// Makes `folder` and those around it that are not there, and gives them innermost first. They go away if what
    /// they are made for is not completed and nothing else is in them.
    ///
    /// # Errors
    /// If one cannot be made.
    pub fn folders_for(folder: &Path) -> io::Result<Vec<Unfinished>> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.is_dir();
        let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
        let mut made = Vec::new();
        for path in missing.into_iter().rev() {
            let mut locked = lock();
            match fs::create_dir(path) {
                Ok(()) => {
                    locked.0.insert(path.to_owned(), Kind::EmptyFolder);
                    let (path, kind) = (path.to_owned(), Kind::EmptyFolder);
                    made.insert(0, Unfinished { path, kind, is_done: false });
                }
                // Another process was faster.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
                Err(error) => {
                    drop(locked);
                    return Err(error);
                }
            }
        }
        Ok(made)
    }

    /// Where it is until it is complete.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it the name `to`, in one step. A folder takes the place of an empty one at most.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if there is such a file and it is to be kept; if it cannot be renamed. It is
    /// unfinished then as before.
    pub fn become_at(&mut self, to: &Path, existing: Existing) -> io::Result<()> {
        let mut locked = lock();
        match (self.kind, existing) {
            (Kind::File, Existing::Keep) => rename_new(&self.path, to)?,
            _ => fs::rename(&self.path, to)?,
        }
        locked.0.remove(&self.path);
        self.is_done = true;
        Ok(())
    }

    /// Lets it stay where it is.
    pub(crate) fn stay(mut self) {
        lock().0.remove(&self.path);
        self.is_done = true;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_done {
            let mut locked = lock();
            locked.0.remove(&self.path);
            remove(&self.path, self.kind);
        }
    }
}

/// Renames a file unless there is one of the name.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let Err(failed) = TempPath::try_from_path(from)?.persist_noclobber(to) else { return Ok(()) };
    let (error, path) = (failed.error, failed.path);
    // It is ours to remove.
    let from = path.keep().map_err(|failed| failed.error)?;
    if error.kind() == ErrorKind::AlreadyExists || to.symlink_metadata().is_ok() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "it already exists"));
    }
    // Some file systems can neither rename so nor have hard links.
    fs::rename(from, to)
}

/// How often a folder is emptied that other threads still write to.
const N_TRIES: usize = 100;

fn remove(path: &Path, kind: Kind) {
    // Nothing more can be done about what does not go away.
    match kind {
        Kind::File => drop(fs::remove_file(path)),
        Kind::EmptyFolder => drop(fs::remove_dir(path)),
        Kind::Folder => {
            // Threads that make files by the old name fail from now on.
            let mut gone = path.as_os_str().to_owned();
            gone.push("-gone");
            let gone = PathBuf::from(gone);
            let path = if fs::rename(path, &gone).is_ok() { &gone } else { path };
            let is_there = |_: &usize| match fs::remove_dir_all(path) {
                Err(error) => error.kind() != ErrorKind::NotFound,
                Ok(()) => false,
            };
            let _ = (0..N_TRIES).take_while(is_there).count();
        }
    }
}

/// Hidden, and with the name of the target as far as names may be long.
fn begin_of_name(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=name.len().min(MAX_NAME_BYTES)).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    format!(".{}.", &name[..end])
}

/// Whether `name` is that of something unfinished.
pub fn is_unfinished(name: &str) -> bool {
    name.starts_with('.') && (name.ends_with(ENDING) || name.ends_with(".part-gone"))
}

/// What everybody may do as far as the mask of the process lets them.
#[cfg(unix)]
fn new_permissions(mode: u32) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn new_permissions(_: u32) -> Option<Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_dropped_leaves_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let target = scratch.path().join("a".repeat(250));
        let (file, _) = Unfinished::file_beside(&target).unwrap();
        let folder = Unfinished::folder_in(scratch.path(), &target).unwrap();
        fs::write(folder.path().join("table"), "half").unwrap();
        let made = Unfinished::folders_for(&scratch.path().join("deep/er")).unwrap();
        assert_eq!(names(scratch.path()).len(), 3);
        assert!(names(scratch.path()).iter().filter(|name| *name != "deep").all(|name| is_unfinished(name)));
        drop((file, folder, made));
        assert_eq!(names(scratch.path()), [""; 0]);
        assert!(
            lock().0.keys().all(|path| !path.starts_with(scratch.path())),
            "nothing is registered any more"
        );
    }

    #[test]
    fn a_name_is_given_once_unless_it_is_to_be_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let target = scratch.path().join("out");
        let written = |text: &str, existing| {
            let (mut unfinished, mut file) = Unfinished::file_beside(&target).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            unfinished.become_at(&target, existing).map_err(|error| error.kind())
        };
        assert_eq!(written("first", Existing::Keep), Ok(()));
        assert_eq!(written("second", Existing::Keep), Err(ErrorKind::AlreadyExists));
        assert_eq!(fs::read_to_string(&target).unwrap(), "first");
        assert_eq!(written("third", Existing::Replace), Ok(()));
        assert_eq!(fs::read_to_string(&target).unwrap(), "third");
        assert_eq!(names(scratch.path()), ["out"]);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_a_new_file_or_of_the_old_one() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::write(scratch.path().join("usual"), "").unwrap();
        let (new, _) = Unfinished::file_beside(&scratch.path().join("new")).unwrap();
        assert_eq!(mode(new.path()), mode(&scratch.path().join("usual")));
        for old_mode in [0o600, 0o666, 0o640] {
            let old = scratch.path().join("old");
            fs::write(&old, "").unwrap();
            fs::set_permissions(&old, Permissions::from_mode(old_mode)).unwrap();
            let (mut new, _) = Unfinished::file_beside(&old).unwrap();
            assert_eq!(mode(new.path()), old_mode);
            new.become_at(&old, Existing::Replace).unwrap();
            assert_eq!(mode(&old), old_mode);
        }
    }
}
