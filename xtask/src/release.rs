//! `cargo xtask release --dry-run`: whether everything is ready for a release of the version in `Cargo.toml`.
//!
//! A rehearsal: it looks, packs and compiles, and changes, tags and uploads nothing. Each check prints a line; all run
//! even if one fails, so that one call shows everything that is left to do.

use crate::runner::output;
use crate::{audit, dist, tidy, workspace};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

const HELP: &str = "\
usage: cargo xtask release --dry-run

  --dry-run   checks what a release of the version in Cargo.toml needs; changes and uploads nothing
";

/// The crates that stand alone for others, in the order in which they are published.
const PUBLISHED: [&str; 4] = ["ouzel-files", "ouzel-otf2", "ouzel-cube", "ouzel-hpcdb"];

/// Recipes that name the version, with the words around it.
const RECIPES: [(&str, &str, &str); 5] = [
    ("packaging/spack/spack_repo/ouzel/packages/ouzel/package.py", "version(\"", "\""),
    ("packaging/spack/spack_repo/ouzel/packages/py_ouzel/package.py", "version(\"", "\""),
    ("packaging/conda/recipe.yaml", "  version: \"", "\""),
    ("packaging/easybuild/Ouzel-VERSION.eb", "version = '", "'"),
    ("Cargo.toml", "\nversion = \"", "\""),
];

type Check = (&'static str, fn(&Path, &str) -> Result<()>);

const CHECKS: [Check; 8] = [
    ("everything is committed", everything_is_committed),
    ("the version is new", version_is_new),
    ("one version everywhere", one_version),
    ("the change log has the version", change_log_has_version),
    ("house rules, generated files", |_, _| tidy::run(&[])),
    ("licences, advisories, the list we ship", |_, _| audit::run(&[])),
    ("crates can be published", crates_can_be_published),
    ("crates keep what the last release promised", crates_are_compatible),
];

/// `cargo xtask release`
///
/// # Errors
/// If anything is missing for the release; what, is printed.
pub fn run(words: &[String]) -> Result<()> {
    match words {
        [word] if word == "--dry-run" => {}
        [word] if word == "--help" => {
            print!("{HELP}");
            return Ok(());
        }
        _ => bail!("a release is made by hand; this only rehearses it\n\n{HELP}"),
    }
    let root = workspace::root()?;
    let version = dist::version(&root)?;
    println!("rehearsing the release of {version}");
    let outcomes = CHECKS.map(|(name, check)| (name, check(&root, &version)));
    println!();
    for (name, outcome) in &outcomes {
        match outcome {
            Ok(()) => println!("ready      {name}"),
            Err(why) => println!("not ready  {name}: {why:#}"),
        }
    }
    let n_open = outcomes.iter().filter(|(_, outcome)| outcome.is_err()).count();
    ensure!(n_open == 0, "{n_open} of {} checks are not ready", outcomes.len());
    println!(
        "\nWhat is left to do by hand: cargo xtask test, cargo xtask dist, the tag v{version}, and the uploads."
    );
    Ok(())
}

fn git(root: &Path, words: &[&str]) -> Result<String> {
    output(Command::new("git").args(words).current_dir(root))
}

fn everything_is_committed(root: &Path, _: &str) -> Result<()> {
    let changed = git(root, &["status", "--porcelain"])?;
    ensure!(changed.is_empty(), "{} files differ from the last commit", changed.lines().count());
    Ok(())
}

fn version_is_new(root: &Path, version: &str) -> Result<()> {
    let tag = format!("v{version}");
    let found = git(root, &["tag", "--list", &tag])?;
    ensure!(found.is_empty(), "there is a tag {tag}: raise the version in Cargo.toml");
    Ok(())
}

/// All crates, their dependencies on each other, and all recipes.
fn one_version(root: &Path, version: &str) -> Result<()> {
    let metadata = workspace::metadata(root)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    for package in packages {
        ensure!(
            package["version"] == version,
            "crate {} has version {}",
            package["name"],
            package["version"]
        );
        let dependencies = package["dependencies"].as_array().context("a package lists dependencies")?;
        for dependency in dependencies.iter().filter(|dependency| dependency["path"].is_string()) {
            let wanted = dependency["req"].as_str().unwrap_or_default();
            // Helpers of tests are not published and have no version.
            let fits = wanted == "*" || wanted.trim_start_matches('^') == version;
            ensure!(fits, "crate {} wants {} {wanted}", package["name"], dependency["name"]);
        }
    }
    for (file, before, after) in RECIPES {
        let file = file.replace("VERSION", version);
        let text = fs::read_to_string(root.join(&file)).with_context(|| format!("{file} cannot be read"))?;
        let found = between(&text, before, after).with_context(|| format!("{file} names no version"))?;
        ensure!(found == version, "{file} has version {found}");
    }
    Ok(())
}

/// The first text between two words.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let rest = &text[text.find(before)? + before.len()..];
    Some(&rest[..rest.find(after)?])
}

fn change_log_has_version(root: &Path, version: &str) -> Result<()> {
    let text = fs::read_to_string(root.join("CHANGELOG.md")).context("CHANGELOG.md cannot be read")?;
    ensure!(
        has_section(&text, version),
        "no section \"## {version}\" with an entry: rename \"Unreleased\" and add the date"
    );
    Ok(())
}

/// Whether there is a section of a version with at least one entry.
fn has_section(text: &str, version: &str) -> bool {
    let mut sections = text.split("\n## ").skip(1);
    sections.any(|section| {
        let (title, body) = section.split_once('\n').unwrap_or((section, ""));
        title.split_whitespace().next() == Some(version) && body.lines().any(|line| line.starts_with("- "))
    })
}

/// Packs each as it would be uploaded, and compiles what was packed.
fn crates_can_be_published(root: &Path, _: &str) -> Result<()> {
    let mut cargo = Command::new(workspace::cargo());
    cargo.args(["publish", "--dry-run", "--locked"]).current_dir(root);
    cargo.args(PUBLISHED.iter().flat_map(|name| ["--package", name]));
    let status = cargo.status().context("cannot start cargo")?;
    ensure!(status.success(), "cargo publish --dry-run ended with {status}");
    for name in PUBLISHED {
        let folder = root.join("crates").join(name.trim_start_matches("ouzel-"));
        for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
            ensure!(folder.join(file).exists(), "{name} is packed without {file}");
        }
    }
    Ok(())
}

/// Compares the public interfaces of the crates with those of the last tag; before the first release there is none.
fn crates_are_compatible(root: &Path, _: &str) -> Result<()> {
    let tags = git(root, &["tag", "--list", "v*", "--sort=-version:refname"])?;
    let Some(last) = tags.lines().next() else { return Ok(()) };
    let mut cargo = Command::new(workspace::cargo());
    cargo.args(["semver-checks", "--baseline-rev", last]).current_dir(root);
    cargo.args(PUBLISHED.iter().flat_map(|name| ["--package", name]));
    let status = cargo.status().context("cannot start cargo")?;
    ensure!(status.success(), "cargo semver-checks ended with {status} (cargo install cargo-semver-checks)");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_of_the_change_log_has_its_version_and_an_entry() {
        let log =
            "# Changelog\n\n## 0.2.0 - 2026-12-01\n\n### Added\n\n- Something.\n\n## 0.1.0\n\nNothing.\n";
        assert!(has_section(log, "0.2.0"));
        assert!(!has_section(log, "0.1.0"), "a section without entries");
        assert!(!has_section(log, "0.2"), "the beginning of a version");
    }

    #[test]
    fn all_recipes_have_the_version_of_the_crates() {
        let root = workspace::root().expect("the repository");
        let version = dist::version(&root).expect("a version");
        one_version(&root, &version).expect("one version");
        let other = one_version(&root, "9.9.9").expect_err("another version");
        assert!(format!("{other:#}").contains("has version"), "{other:#}");
    }
}
