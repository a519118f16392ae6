//! Where things are: the root of the repository, its cache, its build products.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository.
///
/// # Errors
/// When Cargo does not provide this crate's folder and the current folder is not in the repository.
pub fn root() -> Result<PathBuf> {
    let start = match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => std::env::current_dir()?,
    };
    let root = start.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    root.map(Path::to_path_buf).context("not inside the repository: no Cargo.lock above the current folder")
}

/// The git-ignored folder of what was installed or built for the tests and the benches.
pub fn cache(root: &Path) -> PathBuf {
    root.join(".cache")
}

/// The folder of Cargo's build products.
pub fn target(root: &Path) -> Result<PathBuf> {
    let metadata = metadata(root)?;
    let folder = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(folder))
}

/// What Cargo knows about the crates of the workspace.
pub fn metadata(root: &Path) -> Result<serde_json::Value> {
    let out = Command::new(cargo())
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .context("cannot run cargo metadata")?;
    if !out.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&out.stderr).trim());
    }
    serde_json::from_slice(&out.stdout).context("cargo metadata is not JSON")
}

/// The cargo that started this program, else the one on the path.
pub fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
