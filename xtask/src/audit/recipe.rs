//! The crates in EasyBuild's recipe that compiles: those of `Cargo.lock`, with their checksums.
//!
//! EasyBuild downloads what a recipe names and compiles without a network. It needs all crates of the lock file, those of
//! tests too, because cargo looks for each before it leaves any out.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

const FOLDER: &str = "packaging/easybuild";
/// What is written begins with this line.
const BEGIN: &str = "crates = [\n";

/// A crate of the lock file that comes from the registry of cargo.
struct Locked<'l> {
    name: &'l str,
    version: &'l str,
    checksum: &'l str,
}

/// Writes the list; returns a summary.
///
/// # Errors
/// If the recipe or the lock file cannot be read, or the recipe cannot be written.
pub fn write(root: &Path) -> Result<String> {
    let file = file(root)?;
    let (_, wanted) = texts(root)?;
    let n_crates = wanted.matches(".tar.gz': '").count() - 1;
    fs::write(&file, wanted).with_context(|| format!("cannot write {file:?}"))?;
    Ok(format!("{}: {n_crates} crates", file.display()))
}

/// Whether the recipe has the crates of the lock file.
///
/// # Errors
/// If either cannot be read.
pub fn is_current(root: &Path) -> Result<bool> {
    let (there, wanted) = texts(root)?;
    Ok(there == wanted)
}

/// The recipe that compiles; the other one is for an archive.
fn file(root: &Path) -> Result<PathBuf> {
    let version = crate::dist::version(root)?;
    let start = format!("Ouzel-{version}-");
    let entries = fs::read_dir(root.join(FOLDER)).with_context(|| format!("cannot list {FOLDER}"))?;
    let mut names = entries.flatten().map(|entry| entry.path());
    let is_it =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start));
    names.find(is_it).with_context(|| format!("{FOLDER} has no recipe {start}…"))
}

/// The recipe as it is, and as it should be.
fn texts(root: &Path) -> Result<(String, String)> {
    let file = file(root)?;
    let there = fs::read_to_string(&file).with_context(|| format!("cannot read {file:?}"))?;
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let by_hand = there.split(BEGIN).next().unwrap_or_default();
    let wanted = format!("{by_hand}{}", lists(&locked(&lock)?));
    Ok((there, wanted))
}

fn locked(lock: &str) -> Result<Vec<Locked<'_>>> {
    let packages = lock.split("[[package]]\n").skip(1);
    let foreign = packages.filter(|package| field(package, "source").is_some());
    foreign
        .map(|package| {
            let needed =
                |name: &str| field(package, name).with_context(|| format!("no {name} in {package:?}"));
            let source = needed("source")?;
            ensure!(source.starts_with("registry+"), "{source}: only the registry is expected");
            Ok(Locked { name: needed("name")?, version: needed("version")?, checksum: needed("checksum")? })
        })
        .collect()
}

fn field<'p>(package: &'p str, name: &str) -> Option<&'p str> {
    let mut values = package.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
    values.next()?.strip_suffix('"')
}

/// As Python has them. A release puts the checksum of its source.
fn lists(crates: &[Locked<'_>]) -> String {
    let mut text = BEGIN.to_owned();
    for Locked { name, version, .. } in crates {
        text += &format!("    ('{name}', '{version}'),\n");
    }
    text += "]\n\nchecksums = [\n    {'ouzel-%(version)s-source.tar.gz': 'SHA256'},\n";
    for Locked { name, version, checksum } in crates {
        text += &format!("    {{'{name}-{version}.tar.gz': '{checksum}'}},\n");
    }
    text + "]\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_ours_are_left_out_and_others_have_their_checksums() {
        let lock = "version = 4\n\n[[package]]\nname = \"itoa\"\nversion = \"1.0.1\"\n\
                    source = \"registry+https://index\"\nchecksum = \"ab\"\n\n\
                    [[package]]\nname = \"ouzel\"\nversion = \"0.1.0\"\ndependencies = [\n \"itoa\",\n]\n";
        let text = lists(&locked(lock).unwrap());
        assert!(text.contains("crates = [\n    ('itoa', '1.0.1'),\n]\n"), "{text}");
        assert!(text.ends_with("'SHA256'},\n    {'itoa-1.0.1.tar.gz': 'ab'},\n]\n"), "{text}");
        let elsewhere = lock.replace("registry+", "git+");
        assert!(locked(&elsewhere).is_err());
    }
}
