//! Folders that the user alone can enter.

use std::io;
use std::path::Path;

/// Makes a folder for the user alone, or makes sure that the one that is there is.
///
/// # Errors
/// If it cannot be made, or others can enter it.
#[cfg(unix)]
pub(crate) fn folder(folder: &Path) -> io::Result<()> {
    use ouzel_files::unfinished::Unfinished;
    use std::fs::{self, DirBuilder};
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
    if let Err(error) = DirBuilder::new().mode(0o700).create(folder)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    let (_probe, file) = Unfinished::temporary()?;
    let (found, user) = (fs::symlink_metadata(folder)?, file.metadata()?.uid());
    if !found.is_dir() || found.mode() & 0o077 != 0 || found.uid() != user {
        let message = format!("others can enter {folder:?}: name a new folder, or one of mode 0700");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(())
}

/// Makes a folder.
///
/// # Errors
/// If it cannot be made.
#[cfg(not(unix))]
pub(crate) fn folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}
