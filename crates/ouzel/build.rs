//! Names the build: the version, and a hash of the sources that decide what a partial is.
//!
//! Processes that work together must be of one build; a version alone does not tell two checkouts apart.

use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

/// The crates of the workspace that folding goes through. Taken from a registry each has its version, and is not here.
const CRATES: [&str; 7] = ["analyses", "diagnose", "engine", "formats", "model", "otf2", "ouzel"];

fn main() {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("Cargo says where the crate is"));
    let version = std::env::var("CARGO_PKG_VERSION").expect("Cargo says the version");
    let mut files = Vec::new();
    for folder in CRATES.map(|name| here.join("..").join(name).join("src")) {
        if folder.is_dir() {
            println!("cargo::rerun-if-changed={}", folder.display());
            list(&folder, &mut files);
        }
    }
    files.sort_unstable();
    let mut hash = XxHash3_128::new();
    for file in files {
        let name = file.strip_prefix(&here).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let text = std::fs::read(&file).unwrap_or_default();
        hash.write(name.as_bytes());
        hash.write(&(text.len() as u64).to_le_bytes());
        hash.write(&text);
    }
    println!("cargo::rustc-env=OUZEL_BUILD={version}+{:032x}", hash.finish_128());
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            list(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
