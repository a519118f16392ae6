//! The folder for what is kept for later questions and may be removed at any time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Ouzel's folder inside that of the user: `$XDG_CACHE_HOME/ouzel`, else `~/.cache/ouzel`; none if neither is set.
pub fn user_folder() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    Some(folder.join("ouzel"))
}

/// Makes a folder with access for the user alone.
///
/// # Errors
/// If it cannot be made, or others may write to it.
#[cfg(unix)]
pub fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let others_write = fs::metadata(folder)?.mode() & 0o022 != 0;
    match others_write {
        true => {
            let reason = format!("others may write to {folder:?}: remove that permission with chmod go-w");
            Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
        }
        false => Ok(()),
    }
}

/// Makes a folder with access for the user alone.
///
/// # Errors
/// If it cannot be made, or others may write to it.
#[cfg(not(unix))]
pub fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}
