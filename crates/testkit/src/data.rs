//! The location of real traces and golden values.

use crate::skips;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the workspace.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate lies two directories below the root").to_owned()
}

/// The golden values of `testdata/golden/NAME.json`.
///
/// # Panics
/// If there are none.
pub fn golden(name: &str) -> serde_json::Value {
    let path = workspace_root().join("testdata/golden").join(name).with_extension("json");
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The directory of shared data: the environment variable `OUZEL_SHARED`, else `../shared` beside the workspace.
///
/// If there is none, the caller leaves out its test or a part of it, and the test is counted as one without data: see
/// [`skips`](crate::skips).
pub fn shared_data() -> Option<PathBuf> {
    let named = std::env::var_os("OUZEL_SHARED").map(PathBuf::from);
    let path = named.or_else(|| Some(workspace_root().parent()?.join("shared")))?;
    match path.is_dir() {
        true => Some(path),
        false => skips::note(&format!("no shared data at {}", path.display())),
    }
}

/// A file or folder of the shared data; `None` as for [`shared_data`].
pub fn shared_path(path: &str) -> Option<PathBuf> {
    let path = shared_data()?.join(path);
    match path.exists() {
        true => Some(path),
        false => skips::note(&format!("no {}", path.display())),
    }
}

/// Whether these programs are installed, MPI's compilers of C with the header; `false` as for [`shared_data`].
pub fn has_programs(names: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| {
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
            && (!name.starts_with("mpicc") || compiles_mpi(name))
    };
    let absent: Vec<&str> = names.iter().copied().filter(|name| !is_there(name)).collect();
    absent.is_empty() || skips::note::<()>(&format!("not installed: {}", absent.join(", "))).is_some()
}

/// Whether this compiler of C makes programs with OpenMP; `false` as for [`shared_data`].
pub fn has_openmp(compiler: &str) -> bool {
    compiles_openmp(compiler)
        || skips::note::<()>(&format!("not installed: {compiler} with a runtime of OpenMP")).is_some()
}

/// The same without a word.
pub fn compiles_openmp(compiler: &str) -> bool {
    makes_program(compiler, &["-fopenmp"])
}

/// Whether this compiler of C, one of MPI's, makes programs: Debian has its header in a package of its own.
pub fn compiles_mpi(compiler: &str) -> bool {
    makes_program(compiler, &["-include", "mpi.h"])
}

/// Whether a compiler of C makes a program with these arguments.
fn makes_program(compiler: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(compiler);
    // A program without code, whose `main` the linker makes up.
    command.args(arguments);
    command.args(["-x", "c", "-o", "/dev/null", "/dev/null", "-Wl,--defsym,main=0"]);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// The folders with an OTF2 archive: those of `testdata`, and of the shared data. Of two with one name, the first.
pub fn archives() -> Vec<PathBuf> {
    let holds_anchor = |path: &PathBuf| {
        let mut entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.any(|entry| entry.path().extension().is_some_and(|extension| extension == "otf2"))
    };
    let mut by_name = BTreeMap::new();
    for folder in [Some(workspace_root().join("testdata")), shared_path("data/otf2")].into_iter().flatten() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        for path in entries.filter(holds_anchor) {
            by_name.entry(path.file_name().map(OsStr::to_owned)).or_insert(path);
        }
    }
    by_name.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace_manifest() {
        let manifest = std::fs::read_to_string(workspace_root().join("Cargo.toml")).unwrap();
        assert!(manifest.starts_with("[workspace]"), "{manifest}");
    }
}
