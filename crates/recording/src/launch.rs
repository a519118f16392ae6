//! Starting a program so that it is recorded.
//!
//! Law: the program gets the environment of its caller, with the library added to what is preloaded and the settings
//! of the recording; nothing else changes.

use crate::window::Window;
use crate::{elf, settings};
use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The file name of the preloaded library.
pub const LIBRARY: &str = "libouzel_record.so";

/// What the loader preloads.
pub const PRELOAD: &str = "LD_PRELOAD";

/// Why a program cannot be started so that it is recorded.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The library is in none of its places.
    #[error("{LIBRARY} is not beside this program; looked for {looked_for}")]
    NoLibrary {
        /// Its places.
        looked_for: String,
    },
    /// The loader takes spaces and colons for separators.
    #[error("{path:?} has a space or colon, which the loader takes for a separator")]
    SeparatorInPath {
        /// Of the library.
        path: String,
    },
    /// The directory is in use.
    #[error("{path:?} holds a recording already: choose another directory")]
    Exists {
        /// Of the recording.
        path: String,
    },
    /// A path cannot be used.
    #[error("{path:?}: {error}")]
    Io {
        /// Of the recording, or of this program.
        path: String,
        /// Why.
        error: io::Error,
    },
}

fn io_error(path: &Path, error: io::Error) -> LaunchError {
    LaunchError::Io { path: path.display().to_string(), error }
}

/// What the caller chooses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choices {
    /// Whether MPI is left out.
    pub without_mpi: bool,
    /// Whether OpenMP is left out.
    pub without_openmp: bool,
    /// Whether calls of files and streams are recorded.
    pub with_io: bool,
    /// Samples for each second of processor time; none are taken without.
    pub sample_hz: Option<u32>,
    /// Ranks of MPI that are recorded, as `0-3,8`; all are without.
    pub ranks: Option<String>,
    /// What threads are counted by, as names with commas between them; nothing is counted without.
    pub counters: Option<String>,
    /// Whether the memory of processes is read.
    pub with_memory: bool,
    /// Bytes of events that are mapped for each thread; the least without.
    pub buffer_bytes: Option<usize>,
    /// Bytes that each process may write.
    pub limit_bytes: Option<u64>,
    /// What is recorded, in nanoseconds after the start of the program; everything without.
    pub window: Option<Window>,
    /// When the program is started, in nanoseconds since 1970; without it, each process counts from its own start.
    pub started_ns: Option<u64>,
}

/// The library: where a package says, where cargo builds it, beside this program, or where packages put it. Cargo renews its first always.
///
/// # Errors
/// If it is in none of these places, or the loader cannot be given its path.
pub fn library() -> Result<PathBuf, LaunchError> {
    let program = env::current_exe().map_err(|error| io_error(Path::new("/proc/self/exe"), error))?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = ["deps", "", "../lib/ouzel", "../lib", ".."].map(|place| folder.join(place).join(LIBRARY));
    let places: Vec<PathBuf> =
        env::var_os(settings::LIBRARY).map(PathBuf::from).into_iter().chain(places).collect();
    let Some(found) = places.iter().find(|path| path.is_file()) else {
        let looked_for: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        return Err(LaunchError::NoLibrary { looked_for: looked_for.join(", ") });
    };
    let path = found.canonicalize().map_err(|error| io_error(found, error))?;
    let text = path.display().to_string();
    if text.contains([' ', ':', '\t', '\n']) {
        return Err(LaunchError::SeparatorInPath { path: text });
    }
    Ok(path)
}

/// Makes the directory of a recording, with its folder of pieces; its absolute path.
///
/// # Errors
/// If it has a recording, or cannot be made.
pub fn make_directory(directory: &Path) -> Result<PathBuf, LaunchError> {
    let path = || directory.display().to_string();
    if ["traces.otf2", "traces", settings::PIECES].iter().any(|name| directory.join(name).exists()) {
        return Err(LaunchError::Exists { path: path() });
    }
    let pieces = directory.join(settings::PIECES);
    std::fs::create_dir_all(&pieces).map_err(|error| io_error(&pieces, error))?;
    directory.canonicalize().map_err(|error| io_error(directory, error))
}

/// The first of `ouzel-run`, `ouzel-run-2` and so on that is not there.
pub fn free_directory() -> PathBuf {
    let name =
        |i: u32| if i == 1 { PathBuf::from("ouzel-run") } else { PathBuf::from(format!("ouzel-run-{i}")) };
    (1..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(1))
}

/// The variables that a recorded program has in its environment.
///
/// # Errors
/// As [`library`].
pub fn environment(
    directory: &Path,
    choices: &Choices,
) -> Result<Vec<(&'static str, OsString)>, LaunchError> {
    let mut preload = library()?.into_os_string();
    if let Some(before) = env::var_os(PRELOAD).filter(|before| !before.is_empty()) {
        preload.push(":");
        preload.push(before);
    }
    let mut variables = vec![(PRELOAD, preload), (settings::DIRECTORY, directory.as_os_str().to_owned())];
    if choices.without_mpi {
        variables.push((settings::MPI, "off".into()));
    }
    if choices.without_openmp {
        variables.push((settings::OPENMP, "off".into()));
    }
    if choices.with_io {
        variables.push((settings::IO, "on".into()));
    }
    if let Some(hz) = choices.sample_hz {
        variables.push((settings::SAMPLE, hz.to_string().into()));
    }
    if let Some(ranks) = &choices.ranks {
        variables.push((settings::RANKS, ranks.into()));
    }
    if let Some(counters) = choices.counters.as_ref().filter(|names| !names.is_empty()) {
        variables.push((settings::COUNTERS, counters.into()));
    }
    if choices.with_memory {
        variables.push((settings::MEMORY, "on".into()));
    }
    if let Some(buffer) = choices.buffer_bytes {
        variables.push((settings::BUFFER, buffer.to_string().into()));
    }
    if let Some(limit) = choices.limit_bytes {
        variables.push((settings::LIMIT, limit.to_string().into()));
    }
    if let Some(window) = choices.window {
        variables.push((settings::WINDOW, window.to_string().into()));
        variables.extend(choices.started_ns.map(|ns| (settings::ORIGIN, ns.to_string().into())));
    }
    Ok(variables)
}

/// Why a program cannot be recorded; none if nothing speaks against it.
pub fn obstacle(program: &Path) -> Option<String> {
    let Some(path) = find(program) else { return Some("not found".to_owned()) };
    let metadata = std::fs::metadata(&path).ok()?;
    // The loader ignores what is to be preloaded where a program gets other rights than its caller has.
    if metadata.permissions().mode() & 0o6000 != 0 {
        return Some("runs with the rights of its owner, so nothing can be preloaded".to_owned());
    }
    let mut file = ouzel_files::input::open(&path).ok()?;
    is_static(&mut file)
        .ok()
        .filter(|&is| is)
        .map(|_| "is linked statically, so nothing can be preloaded".to_owned())
}

/// As a shell finds it.
fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() != 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Whether an ELF file of 64 bits asks for no loader; false for anything else, such as a script.
fn is_static(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    let segments = elf::segments(file)?;
    Ok(segments.is_some_and(|all| all.iter().all(|segment| segment.kind != elf::INTERPRETER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_a_recording_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("run 1");
        let made = make_directory(&target).expect("it is new");
        assert!(made.is_absolute() && made.join(settings::PIECES).is_dir());
        assert!(matches!(make_directory(&target), Err(LaunchError::Exists { .. })));
    }

    #[test]
    fn programs_without_a_loader_are_recognised() {
        let mut elf = vec![0; 64 + 2 * 56];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (elf[32], elf[54], elf[56]) = (64, 56, 2);
        assert!(is_static(&mut io::Cursor::new(&elf)).expect("it is complete"));
        elf[64 + 56] = 3;
        assert!(!is_static(&mut io::Cursor::new(&elf)).expect("it is complete"));
        assert!(!is_static(&mut io::Cursor::new(b"#!/bin/sh\n")).expect("a script"));
        assert_eq!(obstacle(Path::new("no-such-program-anywhere")).as_deref(), Some("not found"));
        assert_eq!(obstacle(&env::current_exe().expect("this program")), None);
    }
}
