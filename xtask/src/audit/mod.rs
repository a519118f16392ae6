//! `cargo xtask audit`: what we build on, and what of it we distribute.
//!
//! ```text
//! cargo metadata ──► packages ──► licenses against an allow list
//!                             ├─► several versions of one crate
//!                             ├─► the list of third-party licenses that the binary and the wheel hold
//!                             ├─► the list of crates in the recipe of EasyBuild
//!                             └─► advisories, where cargo-audit is installed and its database can be had
//! ```
//!
//! Law: each check that is left out has a line `skipped: …`. A flaw fails the chore.

mod expression;
pub mod packages;
mod recipe;
mod third_party;

use crate::runner::answers;
use crate::workspace;
use anyhow::{Result, bail, ensure};
use packages::{Package, Packages};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

pub use third_party::flaws as third_party_flaws;

const HELP: &str = "\
usage: cargo xtask audit [--write]

Licenses of all crates against an allow list, crates in several versions, the list of third-party
licenses, the crates in the recipe of EasyBuild, and advisories where cargo-audit is installed and
reaches its database.

  --write   write the list of third-party licenses and that of the recipe anew
";

/// Licenses of what is in the binary and the wheel: they require that their text is distributed, and nothing from users
/// of the program.
const SHIPPED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];
/// Additional licenses for what only builds and tests use. MPL requires that changed files are published; none is
/// changed or distributed.
const TOOLS: &[&str] = &["MPL-2.0", "NCSA"];

/// Crates that are in the binary or the wheel in several versions, and why that is so.
const SEVERAL_VERSIONS: &[(&str, &str)] = &[
    ("embedded-io", "postcard asks for both"),
    ("getrandom", "tempfile and ahash are one step ahead of the others"),
    ("gimli", "framehop is one step behind addr2line"),
    ("miniz_oxide", "png and flate2 ask for different ones"),
    ("r-efi", "comes with getrandom, on UEFI only"),
    ("syn", "procedural macros, at build time only"),
];

/// `cargo xtask audit`
pub fn run(arguments: &[String]) -> Result<()> {
    let root = workspace::root()?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--help" | "-h"] => print!("{HELP}"),
        ["--write"] => {
            for written in [third_party::write(&root)?, recipe::write(&root)?] {
                println!("audit: {written}");
            }
        }
        [] => {
            let Audit { passed, skipped, flaws } = audit(&root)?;
            passed.iter().for_each(|line| println!("audit: {line}"));
            skipped.iter().for_each(|line| println!("skipped: {line}"));
            flaws.iter().for_each(|line| println!("flaw: {line}"));
            ensure!(flaws.is_empty(), "{} flaws", flaws.len());
        }
        _ => bail!("no such option; see below\n\n{HELP}"),
    }
    Ok(())
}

/// What came out.
pub struct Audit {
    pub passed: Vec<String>,
    pub skipped: Vec<String>,
    pub flaws: Vec<String>,
}

/// Runs all checks.
///
/// # Errors
/// If cargo cannot list the crates of the project.
pub fn audit(root: &Path) -> Result<Audit> {
    let mut audit = Audit { passed: Vec::new(), skipped: Vec::new(), flaws: Vec::new() };
    let all = Packages::all(root)?;
    licenses(&all, &mut audit);
    match Packages::of_fuzzing(root) {
        Ok(fuzzing) => licenses(&fuzzing, &mut audit),
        Err(error) => {
            // Without a network nothing can be said; a lock file that the workspace has outgrown is a fault.
            let line = format!("licenses of the fuzz targets: {error:#}");
            let is_outgrown = line.contains("cannot update the lock file");
            if is_outgrown { audit.flaws.push(line) } else { audit.skipped.push(line) }
        }
    }
    versions(&all, &mut audit);
    let flaws = third_party::flaws(root)?;
    match flaws.len() {
        0 => audit.passed.push("the list of third-party licenses is current".to_owned()),
        _ => audit.flaws.extend(flaws),
    }
    match recipe::is_current(root)? {
        true => audit.passed.push("the recipe of EasyBuild has the crates of Cargo.lock".to_owned()),
        false => {
            let stale = "the recipe of EasyBuild lacks crates of Cargo.lock: cargo xtask audit --write";
            audit.flaws.push(stale.to_owned());
        }
    }
    advisories(root, &mut audit)?;
    Ok(audit)
}

fn licenses(all: &Packages, audit: &mut Audit) {
    let before = audit.flaws.len();
    for package in all.foreign() {
        let is_shipped = all.is_shipped(package);
        let is_allowed =
            |license: &str| SHIPPED.contains(&license) || !is_shipped && TOOLS.contains(&license);
        let why = match expression::allows(&package.license, &is_allowed) {
            Ok(true) => continue,
            Ok(false) if is_shipped => "is not among those that may be handed on",
            Ok(false) => "is not among those that may be used",
            Err(why) => why,
        };
        let Package { name, version, license, .. } = package;
        audit.flaws.push(format!(
            "{name} {version}: license {license:?} {why}; see SHIPPED and TOOLS in {}",
            file!()
        ));
    }
    if audit.flaws.len() == before {
        let (n, n_shipped) = (all.foreign().count(), all.foreign().filter(|of| all.is_shipped(of)).count());
        audit.passed.push(format!("licenses of {n} crates of others are allowed; {n_shipped} are handed on"));
    }
}

/// Crates in several versions: more to build, to hand on and to watch.
fn versions(all: &Packages, audit: &mut Audit) {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in all.foreign().filter(|package| all.is_shipped(package)) {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    for (name, versions) in versions.into_iter().filter(|(_, versions)| 1 < versions.len()) {
        let list = versions.into_iter().collect::<Vec<_>>().join(" and ");
        match SEVERAL_VERSIONS.iter().find(|(known, _)| *known == name) {
            Some((_, why)) => audit.passed.push(format!("{name} {list}: {why}")),
            None => audit.flaws.push(format!(
                "{name} {list}: two versions of one crate; ask cargo tree --duplicates, or say why in {}",
                file!()
            )),
        }
    }
}

/// Known advisories against the crates in the lock file.
fn advisories(root: &Path, audit: &mut Audit) -> Result<()> {
    let tool = || Command::new(workspace::cargo());
    if !answers(tool().args(["audit", "--version"])) {
        let remedy = "cargo-audit is not installed (cargo install cargo-audit)";
        audit.skipped.push(format!("advisories: {remedy}"));
        return Ok(());
    }
    let out = tool().args(["audit", "--json"]).current_dir(root).output()?;
    let Ok(said) = serde_json::from_slice::<serde_json::Value>(&out.stdout) else {
        let why = String::from_utf8_lossy(&out.stderr);
        let why = why.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
        audit.skipped.push(format!("advisories: the database cannot be had: {}", why.trim()));
        return Ok(());
    };
    let list = said["vulnerabilities"]["list"].as_array().map_or(&[][..], Vec::as_slice);
    for found in list {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or("?").to_owned();
        audit.flaws.push(format!(
            "{} {}: {} {}",
            text(&found["package"]["name"]),
            text(&found["package"]["version"]),
            text(&found["advisory"]["id"]),
            text(&found["advisory"]["title"]),
        ));
    }
    if list.is_empty() {
        let n = &said["database"]["advisory-count"];
        audit.passed.push(format!("none of {n} advisories is about a crate that we use"));
    }
    Ok(())
}
