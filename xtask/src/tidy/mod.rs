//! Checks that no compiler makes: dependency edges, circles of files, how inputs are opened, links, sizes, words, the list of third-party
//! licenses, and whether what is generated is up to date.
//!
//! One file per concern, each a function from the project's files to flaws. A flaw
//! fails the tests; a remark is only shown. Looked at are the files that git tracks
//! and new ones that it does not ignore.

mod circles;
mod edges;
mod inputs;
mod links;
mod sizes;
mod words;

use crate::{audit, docs, workspace};
use anyhow::{Context, Result};
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Larger files are not read as text; `sizes` reports them.
const TEXT_BYTES_MAX: u64 = 1024 * 1024;

/// A file of the project.
#[derive(Debug)]
struct Source {
    /// Relative to the root of the repository, with `/`.
    path: String,
    n_bytes: u64,
    /// `None` when it is no UTF-8 text, as most traces are.
    text: Option<String>,
}

impl Source {
    /// The text, with line numbers from 1. Empty for what is no text.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.as_deref().unwrap_or_default().lines().enumerate().map(|(i, line)| (i + 1, line))
    }

    fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

/// Something that has to be mended before a change can be taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flaw {
    path: String,
    line: usize,
    what: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// What was found, in the order of paths and lines.
#[derive(Debug, Default)]
pub struct Findings {
    pub flaws: Vec<Flaw>,
    pub remarks: Vec<Flaw>,
}

impl Findings {
    /// One line each, remarks first, so that the flaws are at the end.
    pub fn print(&self) {
        for remark in &self.remarks {
            println!("remark: {remark}");
        }
        for flaw in &self.flaws {
            println!("flaw: {flaw}");
        }
    }
}

/// `cargo xtask tidy`
pub fn run(arguments: &[String]) -> Result<()> {
    anyhow::ensure!(arguments.is_empty(), "tidy takes no arguments");
    let found = check(&workspace::root()?)?;
    found.print();
    anyhow::ensure!(found.flaws.is_empty(), "{} flaws", found.flaws.len());
    docs::run(&[])?;
    println!("tidy: no flaws, {} remarks", found.remarks.len());
    Ok(())
}

/// Runs all checks.
///
/// # Errors
/// When git or cargo fails, or a file cannot be read.
pub fn check(root: &Path) -> Result<Findings> {
    let sources = sources(root)?;
    let mut flaws = edges::check(&workspace::metadata(root)?, &sources);
    flaws.extend(circles::check(&sources));
    flaws.extend(inputs::check(&sources));
    flaws.extend(links::check(&sources));
    flaws.extend(words::check(&sources));
    let third_party = audit::third_party_flaws(root)?.into_iter();
    flaws.extend(third_party.map(|what| Flaw { path: "Cargo.lock".into(), line: 1, what }));
    let (too_large, mut remarks) = sizes::check(&sources);
    flaws.extend(too_large);
    flaws.sort();
    remarks.sort();
    Ok(Findings { flaws, remarks })
}

fn sources(root: &Path) -> Result<Vec<Source>> {
    let out = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])
        .current_dir(root)
        .output()
        .context("cannot run git")?;
    anyhow::ensure!(out.status.success(), "git ls-files: {}", String::from_utf8_lossy(&out.stderr).trim());
    let listed = String::from_utf8(out.stdout).context("a file name is not UTF-8")?;
    let mut sources = Vec::new();
    for path in listed.split_terminator('\0') {
        let file = root.join(path);
        // A file deleted in the working tree is still listed.
        let Ok(metadata) = fs::metadata(&file) else { continue };
        if !metadata.is_file() {
            continue;
        }
        let n_bytes = metadata.len();
        let bytes = if n_bytes <= TEXT_BYTES_MAX { fs::read(&file)? } else { vec![] };
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        sources.push(Source { path: path.to_owned(), n_bytes, text });
    }
    Ok(sources)
}

/// The lines before the tests at the end of a file.
fn shipped_lines(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let mut is_behind_attribute = false;
    source.lines().take_while(move |(_, line)| {
        let begins_tests = is_behind_attribute && line.starts_with("mod ") && line.ends_with('{');
        is_behind_attribute = line.trim_end() == "#[cfg(test)]";
        !begins_tests
    })
}

#[cfg(test)]
fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), n_bytes: text.len() as u64, text: Some(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_tidy() {
        let root = workspace::root().expect("the tests run inside the repository");
        let found = check(&root).expect("git and cargo are there");
        let flaws: Vec<String> = found.flaws.iter().map(ToString::to_string).collect();
        assert!(flaws.is_empty(), "{} flaws:\n{}", flaws.len(), flaws.join("\n"));
    }
}
