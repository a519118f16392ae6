//! Incomplete outputs: removed when they are dropped, and when a signal ends the program.
//!
//! ```text
//! file_beside(OUT) ──► .OUT.x7Kd2f.part, exclusive ──write──► become(OUT) ──► OUT
//!                                      └─ error, panic, SIGINT, SIGTERM, … ─► nothing
//! ```
//!
//! Law: an unfinished file has a new name of its own, so that no link is followed and two writers never meet. Names are
//! given and removed under one lock that signals take, too: what a signal finds is unfinished or complete, never both.
//! A process that is killed (`SIGKILL`, a crash) leaves its `.part`, which does not block the next one. What may be
//! replaced is decided in [`output`](crate::output).

use crate::place::folder_of;
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{Builder, TempPath};

/// The ending of names of unfinished files and folders.
pub const ENDING: &str = ".part";

/// Most bytes of the target's name in that of its unfinished file: names have at most 255.
const MAX_NAME_BYTES: usize = 64;

/// Everything that is unfinished in this process.
static REGISTRY: Mutex<BTreeMap<PathBuf, UnfinishedKind>> = Mutex::new(BTreeMap::new());

/// An error of a temporary file, which says where that is: it is often reported beside a place in another file.
pub fn of_temporary_file(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the temporary file in {:?}: {error}", std::env::temp_dir()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnfinishedKind {
    File,
    Folder,
    /// A folder made for other files: removed if it is empty.
    EmptyFolder,
}

/// A file or folder that is not complete.
#[derive(Debug)]
#[must_use = "it is removed when dropped"]
pub struct Unfinished {
    path: PathBuf,
    kind: UnfinishedKind,
    is_done: bool,
}

/// What happens to an existing file of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays; the new one is refused.
    Keep,
    /// The new one takes its place.
    Replace,
}

/// The registry, locked: no unfinished file begins, ends or gets its name meanwhile.
pub(crate) struct Locked(MutexGuard<'static, BTreeMap<PathBuf, UnfinishedKind>>);

pub(crate) fn lock() -> Locked {
    Locked(REGISTRY.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Locked {
    /// Removes everything that is unfinished, contents before their folder.
    pub(crate) fn remove_all(&mut self) {
        for (path, kind) in std::mem::take(&mut *self.0).into_iter().rev() {
            remove(&path, kind);
        }
    }
}

impl Unfinished {
    /// Begins a file in the folder of `target`, for reading and writing, with the permissions of a new file or of the
    /// existing one at `target`.
    ///
    /// # Errors
    /// If it cannot be made, e.g. because the folder cannot be written.
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
        locked.0.insert(path.clone(), UnfinishedKind::File);
        drop(locked);
        let unfinished = Unfinished { path, kind: UnfinishedKind::File, is_done: false };
        if let Some(old) = old {
            // The file mode mask may have removed some permissions.
            file.set_permissions(old)?;
        }
        Ok((unfinished, file))
    }

    /// A file in the folder for temporary files, accessible to this user only, which exists until it is dropped.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn temporary() -> io::Result<(Unfinished, File)> {
        Unfinished::temporary_named("")
    }

    /// The same with a name that ends in `ending`.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn temporary_named(ending: &str) -> io::Result<(Unfinished, File)> {
        let mut locked = lock();
        let (file, path) = Builder::new().prefix("ouzel-").suffix(ending).tempfile()?.into_parts();
        let path = path.keep().map_err(|error| error.error)?;
        locked.0.insert(path.clone(), UnfinishedKind::File);
        Ok((Unfinished { path, kind: UnfinishedKind::File, is_done: false }, file))
    }

    /// A file that was made in another way, such as a socket: it exists until this is dropped.
    pub fn of_file(path: PathBuf) -> Unfinished {
        lock().0.insert(path.clone(), UnfinishedKind::File);
        Unfinished { path, kind: UnfinishedKind::File, is_done: false }
    }

    /// Begins a folder in `parent`, to become one named like `target`.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(crate) fn folder_in(parent: &Path, target: &Path) -> io::Result<Unfinished> {
        let name = begin_of_name(target);
        let mut builder = Builder::new();
        builder.prefix(&name).suffix(ENDING);
        if let Some(permissions) = new_permissions(0o777) {
            builder.permissions(permissions);
        }
        let mut locked = lock();
        let path = builder.tempdir_in(parent)?.keep();
        locked.0.insert(path.clone(), UnfinishedKind::Folder);
        Ok(Unfinished { path, kind: UnfinishedKind::Folder, is_done: false })
    }

    /// Makes `folder` and its missing parents, and returns them innermost first. They are removed if the output is not
    /// completed and nothing else is in them.
    ///
    /// # Errors
    /// If one cannot be made.
    pub(crate) fn folders_for(folder: &Path) -> io::Result<Vec<Unfinished>> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.is_dir();
        let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
        let mut made = Vec::new();
        for path in missing.into_iter().rev() {
            let mut locked = lock();
            match fs::create_dir(path) {
                Ok(()) => {
                    locked.0.insert(path.to_owned(), UnfinishedKind::EmptyFolder);
                    let (path, kind) = (path.to_owned(), UnfinishedKind::EmptyFolder);
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

    /// Its path until it is complete.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it the name `to`, in one step. A folder replaces at most an empty one.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if there is such a file and it must be kept; if it cannot be renamed. It stays
    /// unfinished then.
    pub fn become_at(&mut self, to: &Path, existing: Existing) -> io::Result<()> {
        let mut locked = lock();
        match (self.kind, existing) {
            (UnfinishedKind::File, Existing::Keep) => rename_new(&self.path, to)?,
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

/// Renames a file unless the new name exists.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let Err(failed) = TempPath::try_from_path(from)?.persist_noclobber(to) else { return Ok(()) };
    let (error, path) = (failed.error, failed.path);
    // It is ours to remove.
    let from = path.keep().map_err(|failed| failed.error)?;
    if error.kind() == ErrorKind::AlreadyExists || to.symlink_metadata().is_ok() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "it already exists"));
    }
    // Some file systems support neither this rename nor hard links.
    fs::rename(from, to)
}

/// How often removing a folder is tried while other threads still write to it.
const N_TRIES: usize = 100;

fn remove(path: &Path, kind: UnfinishedKind) {
    // If removing fails, nothing more can be done.
    match kind {
        UnfinishedKind::File => drop(fs::remove_file(path)),
        UnfinishedKind::EmptyFolder => drop(fs::remove_dir(path)),
        UnfinishedKind::Folder => {
            // Threads that create files by the old name fail from now on.
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

/// The beginning of a hidden name, with as much of the target's name as fits.
fn begin_of_name(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=name.len().min(MAX_NAME_BYTES)).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    format!(".{}.", &name[..end])
}

/// Whether `name` is that of something unfinished.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name.starts_with('.') && (name.ends_with(ENDING) || name.ends_with(".part-gone"))
}

/// Permissions for everybody as far as the mask of the process allows.
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

    #[test]
    fn an_error_of_a_temporary_file_says_where_it_is() {
        let error = of_temporary_file(&ErrorKind::StorageFull.into());
        let folder = format!("{:?}", std::env::temp_dir());
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(error.to_string().contains(&folder), "{error}");
    }
}
