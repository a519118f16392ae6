//! What the system says of the files at a path, as one number: whether a trace changed since its tiles were made.
//!
//! The files at the path of a trace are those in its folder; of a file or a stem, all in its folder whose names begin
//! like it. Tiles themselves do not count: the folder that keeps them may be that of the trace.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::UNIX_EPOCH;
use twox_hash::XxHash3_128;

/// Files that are looked at: more than any trace has.
const MAX_FILES: usize = 1 << 20;

/// A hash of them: the sum of one of each file, as a folder lists 100,000 of them in any order.
///
/// # Errors
/// If the files cannot be listed, or are too many.
pub(crate) fn file_times(path: &Path) -> io::Result<u128> {
    let (folder, stem) = if path.is_dir() {
        (path, &[][..])
    } else {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        (folder, path.file_stem().unwrap_or_default().as_encoded_bytes())
    };
    let mut entries = entries_in(folder)?;
    entries.retain(|entry| entry.file_name().as_encoded_bytes().starts_with(stem));
    let mut pending = vec![(0, entries)];
    let (mut sum, mut n_files) = (0_u128, 0);
    while let Some((within, entries)) = pending.pop() {
        n_files += entries.len();
        if MAX_FILES < n_files {
            return Err(io::Error::other("the trace has too many files to tell whether it changed"));
        }
        // Asking the system for so many files takes longer than everything else at a start.
        let half = if entries.len() < 1000 { entries.len() } else { entries.len() / 2 };
        let (first, second) = entries.split_at(half);
        let (first, second) = thread::scope(|scope| {
            let second = scope.spawn(|| of_entries(within, second));
            (of_entries(within, first), second.join())
        });
        let second = second.unwrap_or_else(|_| Err(io::Error::other("the files cannot be listed")));
        for (hash, folders) in [first?, second?] {
            sum = sum.wrapping_add(hash);
            for (within, folder) in folders {
                pending.push((within, entries_in(&folder)?));
            }
        }
    }
    Ok(sum)
}

/// The sum of the hashes of files in a folder, which has the hash `within`, and the folders among them.
fn of_entries(within: u128, entries: &[fs::DirEntry]) -> io::Result<(u128, Vec<(u128, PathBuf)>)> {
    let (mut sum, mut folders, mut facts) = (0_u128, Vec::new(), Vec::new());
    for entry in entries {
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        // Of what a link leads to, not of the link.
        let known = if kind.is_symlink() { fs::metadata(entry.path())? } else { entry.metadata()? };
        facts.clear();
        facts.extend(name.as_encoded_bytes());
        if known.is_dir() {
            folders.push((XxHash3_128::oneshot_with_seed(within as u64, &facts), entry.path()));
        } else if Path::new(&name).extension().is_none_or(|ending| ending != "tiles") {
            let changed = known.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            facts.extend(known.len().to_le_bytes());
            facts.extend(changed.as_nanos().to_le_bytes());
            sum = sum.wrapping_add(XxHash3_128::oneshot_with_seed(within as u64, &facts));
        }
    }
    Ok((sum, folders))
}

fn entries_in(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    fs::read_dir(folder)?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn now(path: &Path) -> u128 {
        file_times(path).unwrap()
    }

    #[test]
    fn what_is_written_or_added_changes_the_hash_and_neighbours_and_tiles_do_not() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir(at("traces")).unwrap();
        for name in ["traces.otf2", "traces.def", "traces/0.evt"] {
            fs::write(at(name), name).unwrap();
        }
        let (anchor, whole) = (at("traces.otf2"), scratch.path());
        let (of_anchor, of_whole) = (now(&anchor), now(whole));
        fs::write(at("0123.tiles"), "tiles").unwrap();
        assert_eq!((now(&anchor), now(whole)), (of_anchor, of_whole));
        fs::write(at("other.otf2"), "other").unwrap();
        assert_eq!(now(&anchor), of_anchor);
        assert_ne!(now(whole), of_whole);
        File::options().write(true).open(at("traces/0.evt")).unwrap().set_modified(UNIX_EPOCH).unwrap();
        assert_ne!(now(&anchor), of_anchor);
        fs::remove_dir_all(at("traces")).unwrap();
        fs::remove_file(&anchor).unwrap();
        assert_ne!(now(&anchor), of_anchor);
        assert!(file_times(&at("nowhere/run")).is_err());
    }
}
