//! Names the build: the version, and a hash of the sources that determine the form of a partial.
//!
//! Processes that work together must be of one build; a version number alone does not distinguish two checkouts.

use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

fn main() {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("Cargo says where the crate is"));
    let version = std::env::var("CARGO_PKG_VERSION").expect("Cargo says the version");
    let all = here.parent().expect("a crate is in a folder of crates").to_owned();
    let mut files = Vec::new();
    let mut crates = vec![here.clone()];
    add_dependencies(&here, &mut crates);
    for folder in crates {
        println!("cargo::rerun-if-changed={}", folder.join("Cargo.toml").display());
        println!("cargo::rerun-if-changed={}", folder.join("src").display());
        list(&folder.join("src"), &mut files);
    }
    files.sort_unstable();
    let mut hash = XxHash3_128::new();
    for file in files {
        // Below the folder of all crates: the same sources are one build wherever they are.
        let name = file.strip_prefix(&all).expect("every crate is in this folder");
        let name = name.to_string_lossy().replace('\\', "/");
        let text = std::fs::read(&file).unwrap_or_default();
        hash.write(name.as_bytes());
        hash.write(&(text.len() as u64).to_le_bytes());
        hash.write(&text);
    }
    println!("cargo::rustc-env=OUZEL_BUILD={version}+{:032x}", hash.finish_128());
}

/// Adds the crates of the workspace that one depends on. Taken from a registry each has its version, and is not here.
fn add_dependencies(folder: &Path, crates: &mut Vec<PathBuf>) {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let section = manifest.split("\n[").find_map(|section| section.strip_prefix("dependencies]"));
    for line in section.unwrap_or_default().lines() {
        let Some(name) = line.strip_prefix("ouzel-").and_then(|rest| rest.split(['.', ' ', '=']).next())
        else {
            continue;
        };
        let dependency = folder.with_file_name(name);
        if dependency.join("Cargo.toml").is_file() && !crates.contains(&dependency) {
            crates.push(dependency.clone());
            add_dependencies(&dependency, crates);
        }
    }
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
