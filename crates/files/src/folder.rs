//! Output folders: built as a whole beside their target, and moved there when they are complete.
//!
//! Laws: a new folder appears in one step. In an existing folder all entries are exchanged under a lock of its parent
//! folder, the last of the list last, and put back if one exchange fails: of two concurrent writers, one wins as a
//! whole.
//! Other entries of the folder stay; entries of the list that are not rewritten are removed. A folder is replaced only
//! if it contains nothing but such entries.

use crate::Inputs;
use crate::output::{Output, OutputError};
use crate::place::folder_of;
use crate::unfinished::{self, Existing, Unfinished};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Something that will be in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file of this name.
    File(String),
    /// A folder of this name, of files with these endings.
    Folder(String, &'static [&'static str]),
}

impl Entry {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Entry::File(name) | Entry::Folder(name, _) => name,
        }
    }
}

/// Whether other files may be in the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Only if existing files may be replaced.
    AreInTheWay,
    /// They are ignored.
    Stay,
}

/// Where entries of a folder may be written.
#[derive(Debug)]
pub struct Folder {
    /// The path as the user wrote it.
    named: PathBuf,
    /// Absolute, links resolved.
    path: PathBuf,
    entries: Vec<Entry>,
    others: Others,
    existing: Existing,
}

impl Folder {
    /// Checks that `entries` may be written in the folder `path`.
    ///
    /// # Errors
    /// If one is an input, a part of one or contains one, exists and must be kept, or is no regular file; if `path` is
    /// no folder.
    pub fn new(
        path: &Path,
        entries: Vec<Entry>,
        others: Others,
        existing: Existing,
        inputs: &Inputs,
    ) -> Result<Folder, OutputError> {
        let failed = |error| OutputError::io(path, error);
        let resolved = resolved(path).map_err(failed)?;
        let touched = |at: &Path| inputs.touched_by(at).or_else(|| inputs.within(at));
        let at_entries = entries.iter().find_map(|entry| touched(&resolved.join(entry.name())));
        if let Some(input) = at_entries.or_else(|| inputs.touched_by(&resolved)) {
            return Err(OutputError::Input { output: path.to_owned(), input: input.to_owned() });
        }
        if let Ok(metadata) = fs::metadata(&resolved) {
            if !metadata.is_dir() && existing == Existing::Keep {
                return Err(OutputError::Exists(path.to_owned()));
            }
            if !metadata.is_dir() {
                return Err(OutputError::NotRegular { path: path.to_owned(), what: "not a directory" });
            }
        }
        let folder = Folder { named: path.to_owned(), path: resolved, entries, others, existing };
        folder.check_entries()?;
        Ok(folder)
    }

    /// Begins to write.
    ///
    /// # Errors
    /// If the folder cannot be made or written.
    pub fn begin(self) -> Result<FolderOutput, OutputError> {
        let failed = |error| OutputError::io(&self.named, error);
        let is_there = self.path.is_dir();
        let parent = if is_there { &*self.path } else { folder_of(&self.path) };
        let made = Unfinished::folders_for(parent).map_err(failed)?;
        let unfinished = Unfinished::folder_in(parent, &self.path).map_err(failed)?;
        Ok(FolderOutput { unfinished, made, folder: self, is_new: !is_there })
    }

    /// Checks that existing entries may be replaced.
    fn check_entries(&self) -> Result<(), OutputError> {
        let others_matter = self.others == Others::AreInTheWay && self.existing == Existing::Keep;
        if others_matter && is_full(&self.path).map_err(|error| OutputError::io(&self.named, error))? {
            return Err(OutputError::Exists(self.named.clone()));
        }
        for entry in &self.entries {
            let path = self.path.join(entry.name());
            let named = self.named.join(entry.name());
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if self.existing == Existing::Keep {
                return Err(OutputError::Exists(named));
            }
            match entry {
                Entry::File(_) if metadata.is_file() || path.is_file() => {}
                Entry::File(_) => {
                    return Err(OutputError::NotRegular { path: named, what: "not a regular file" });
                }
                Entry::Folder(_, endings) if metadata.is_dir() => {
                    let other = other_than(&path, endings).map_err(|error| OutputError::io(&named, error))?;
                    if let Some(other) = other {
                        return Err(OutputError::Foreign { path: named, other });
                    }
                }
                Entry::Folder(..) => {
                    return Err(OutputError::NotRegular { path: named, what: "not a directory" });
                }
            }
        }
        Ok(())
    }
}

/// A folder that is being written, under another name. It is removed if it is never completed.
#[derive(Debug)]
#[must_use = "it must be completed"]
pub struct FolderOutput {
    // Dropped in this order: contents before their folder.
    unfinished: Unfinished,
    made: Vec<Unfinished>,
    folder: Folder,
    is_new: bool,
}

impl FolderOutput {
    /// Where the entries are to be made.
    pub fn path(&self) -> &Path {
        self.unfinished.path()
    }

    /// Begins a file of the folder.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn begin(&self, name: &str) -> Result<Output, OutputError> {
        let file = File::create_new(self.path().join(name));
        let named = self.folder.named.join(name);
        match file {
            Ok(file) => Ok(Output::within(named, file)),
            Err(error) => Err(OutputError::io(&named, error)),
        }
    }

    /// Moves everything to its place.
    ///
    /// # Errors
    /// If something appeared that must be kept, or cannot be replaced. Then everything is restored.
    pub fn complete(self) -> Result<(), OutputError> {
        let FolderOutput { mut unfinished, made, folder, is_new } = self;
        let failed = |error| OutputError::io(&folder.named, error);
        // Not every system has such locks. Without one, two writers at the same instant may interfere.
        let around = File::open(folder_of(&folder.path)).ok();
        let _is_locked = around.as_ref().map(File::lock);
        match is_new.then(|| unfinished.become_at(&folder.path, Existing::Keep)) {
            Some(Ok(())) => {}
            // If it is a folder, it appeared meanwhile and belongs to another process.
            Some(Err(error)) if !folder.path.is_dir() => return Err(failed(error)),
            Some(Err(_)) | None => {
                folder.check_entries()?;
                exchange(unfinished.path(), &folder).map_err(failed)?;
            }
        }
        made.into_iter().for_each(Unfinished::stay);
        Ok(())
    }
}

/// Moves the entries of `from` into the folder and the old ones out of it; all or none.
fn exchange(from: &Path, folder: &Folder) -> io::Result<()> {
    let old = from.join(".old");
    fs::create_dir(&old)?;
    let names: Vec<&str> = folder.entries.iter().map(Entry::name).collect();
    // No signal ends the program in the middle.
    let _locked = unfinished::lock();
    let mut moved: Vec<(PathBuf, PathBuf)> = Vec::new();
    // The last entry completes the others: it leaves first and arrives last.
    let outwards = names.iter().rev().map(|name| (folder.path.join(name), old.join(name)));
    let outwards = outwards.filter(|(there, _)| there.symlink_metadata().is_ok());
    let inwards = names.iter().map(|name| (from.join(name), folder.path.join(name)));
    let inwards = inwards.filter(|(here, _)| here.symlink_metadata().is_ok());
    for (here, there) in outwards.collect::<Vec<_>>().into_iter().chain(inwards) {
        if let Err(error) = fs::rename(&here, &there) {
            for (here, there) in moved.iter().rev() {
                // If one cannot be put back, the rest is still restored.
                let _ = fs::rename(there, here);
            }
            return Err(error);
        }
        moved.push((here, there));
    }
    Ok(())
}

/// Whether a folder contains more than what other writers are about to write or left behind when they were killed.
fn is_full(folder: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let name = entry?.file_name();
        if !name.to_str().is_some_and(unfinished::is_unfinished) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Something in the folder that is no regular file (or link) with one of these endings. Another writer may move the
/// folder away meanwhile.
fn other_than(folder: &Path, endings: &[&str]) -> io::Result<Option<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let is_ours = !entry.file_type()?.is_dir()
            && name.to_str().is_some_and(|name| endings.iter().any(|ending| name.ends_with(ending)));
        if !is_ours {
            return Ok(Some(PathBuf::from(name)));
        }
    }
    Ok(None)
}

/// The absolute path of a folder that exists, or can be made.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut missing = Vec::new();
    for folder in path.ancestors() {
        let found = match folder.canonicalize() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if folder.symlink_metadata().is_err() {
                    missing.push(folder.file_name().unwrap_or_default());
                    continue;
                }
                // A link to nothing, or another writer has made it in the meantime.
                folder.canonicalize()
            }
            found => found,
        };
        return Ok(missing.into_iter().rev().fold(found?, |path, name| path.join(name)));
    }
    Err(io::Error::new(ErrorKind::NotFound, "it is in no folder"))
}
