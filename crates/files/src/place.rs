//! Which file a path refers to, whatever it is called.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// One file or folder of the file system, links followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id(#[cfg(unix)] (u64, u64), #[cfg(not(unix))] PathBuf);

impl Id {
    /// What is at `path`; `None` if nothing is.
    pub fn of(path: &Path) -> Option<Id> {
        let metadata = fs::metadata(path).ok()?;
        Id::new(path, &metadata)
    }

    #[cfg(unix)]
    fn new(_: &Path, metadata: &Metadata) -> Option<Id> {
        use std::os::unix::fs::MetadataExt as _;
        Some(Id((metadata.dev(), metadata.ino())))
    }

    #[cfg(not(unix))]
    fn new(path: &Path, _: &Metadata) -> Option<Id> {
        path.canonicalize().ok().map(Id)
    }
}

/// Where a path leads: to an existing file, or to a name in a folder.
#[derive(Debug, Clone)]
pub struct Place {
    id: Option<Id>,
    folder: Option<Id>,
    name: Option<OsString>,
}

impl Place {
    /// Where `path` leads.
    pub fn of(path: &Path) -> Place {
        Place {
            id: Id::of(path),
            folder: Id::of(folder_of(path)),
            name: path.file_name().map(ToOwned::to_owned),
        }
    }

    /// What is there.
    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// The folder of the name.
    pub fn folder(&self) -> Option<&Id> {
        self.folder.as_ref()
    }

    /// The name in the folder.
    pub fn name(&self) -> Option<&str> {
        self.name.as_ref()?.to_str()
    }

    /// Whether both lead to the same file, or to the same name in the same folder.
    pub fn is(&self, other: &Place) -> bool {
        let same_file = self.id.is_some() && self.id == other.id;
        same_file || (self.folder.is_some() && self.folder == other.folder && self.name == other.name)
    }
}

/// The folder that the last part of `path` is in.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

/// The folders that `path` is in, innermost first, links resolved. Folders that do not exist are left out.
pub(crate) fn folders_around(path: &Path) -> impl Iterator<Item = Id> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let innermost = path.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
    let all: Vec<PathBuf> = innermost.iter().flat_map(|path| path.ancestors()).map(Path::to_owned).collect();
    all.into_iter().filter_map(|folder| Id::of(&folder))
}
