//! The commands of the binary, in this process: a panic is a panic of the target.

use crate::archive::{FILES, dir, unpack};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// Runs a command, with paths in the place of words. Returns whether there was an answer.
pub fn ask(words: &[&str], paths: &[(&str, &Path)]) -> bool {
    let path = |word: &&str| paths.iter().find(|(name, _)| name == word).map(|(_, path)| path.as_os_str().to_owned());
    let word = |word: &&str| path(word).unwrap_or_else(|| OsString::from(*word));
    let program = [OsString::from("ouzel")];
    let words = program.into_iter().chain(words.iter().map(word));
    // One thread, so that findings are reproducible.
    ouzel_cli::answer(words.chain(["--jobs", "1", "--quiet"].map(OsString::from))).is_ok()
}

/// Converts the archive in the bytes to the format that the first byte chooses. A failure leaves nothing behind.
pub fn convert(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let files = unpack::<{ FILES.len() }>(rest);
    let trace = dir("convert");
    for (name, bytes) in FILES.iter().zip(files) {
        let path = trace.join(name);
        match bytes {
            Some(bytes) => fs::write(&path, bytes).expect("the directory is ours"),
            None => drop(fs::remove_file(&path)),
        }
    }
    let (target, name) = [
        ("csv", "tables"),
        ("parquet", "table.parquet"),
        ("otf2", "archive"),
        ("chrome", "trace.json"),
        ("cube", "profile.cubex"),
    ][usize::from(first) % 5];
    let place = dir("converted");
    let out = place.join(name);
    let is_there = || fs::symlink_metadata(&out).is_ok();
    let remove = || match out.is_dir() {
        true => fs::remove_dir_all(&out),
        false => fs::remove_file(&out),
    };
    if is_there() {
        remove().expect("the directory is ours");
    }
    let answered = ask(&["convert", "TRACE", "OUT", "--to", target], &[("TRACE", &trace), ("OUT", &out)]);
    assert!(answered || !is_there(), "convert --to {target} failed and left its output");
}
