//! `cargo xtask web`: the page of the viewer, built by npm from the versions in its lock file.
//!
//! No script of a package runs. The folder `web/dist` is not in git; the next build of Ouzel embeds it.

use crate::{runner, workspace};
use anyhow::{Result, bail, ensure};
use std::path::Path;

const SECONDS: u32 = 600;
const SECONDS_OF_BROWSER: u32 = 3600;

/// Builds the page; with `--browser`, also runs its tests in Chromium; with `--pictures`, makes those of `docs/view.md`.
///
/// # Errors
/// When npm is missing or fails, or a test fails.
pub fn run(arguments: &[String]) -> Result<()> {
    let root = workspace::root()?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let script = match words[..] {
        [] => "build",
        ["--browser"] => "test:browser",
        ["--pictures"] => "pictures",
        _ => bail!("web takes --browser or --pictures, not {:?}", words.join(" ")),
    };
    install(&root)?;
    // Chromium takes minutes for all tests, and more on a busy machine.
    npm(&root, &["run", script], if words.is_empty() { SECONDS } else { SECONDS_OF_BROWSER })
}

/// Builds the page from what is installed.
///
/// # Errors
/// When the build fails.
pub fn build(root: &Path) -> Result<()> {
    npm(root, &["run", "build"], SECONDS)
}

/// Installs what the page is built with.
///
/// # Errors
/// When npm is missing, or a package cannot be had.
pub fn install(root: &Path) -> Result<()> {
    npm(root, &["ci", "--ignore-scripts", "--no-audit", "--no-fund"], SECONDS)
}

/// Builds the page from what is installed, and runs its tests that need no browser.
///
/// # Errors
/// When one of them fails.
pub fn build_and_test(root: &Path) -> Result<()> {
    build(root)?;
    npm(root, &["test"], SECONDS)
}

/// Makes the pictures of `docs/view.md` with a binary of Ouzel.
///
/// # Errors
/// When npm is missing or fails.
pub fn pictures(root: &Path, binary: &Path) -> Result<()> {
    install(root)?;
    npm_with(root, &["run", "pictures"], SECONDS_OF_BROWSER, Some(binary))
}

fn npm(root: &Path, words: &[&str], seconds: u32) -> Result<()> {
    npm_with(root, words, seconds, None)
}

fn npm_with(root: &Path, words: &[&str], seconds: u32, binary: Option<&Path>) -> Result<()> {
    let mut npm = runner::bounded(seconds, Path::new("npm"));
    npm.args(words).current_dir(root.join("web")).envs(binary.map(|path| ("OUZEL", path)));
    let ran = runner::run(&mut npm)?;
    ensure!(ran.status.success(), "npm {} ended with {}", words.join(" "), ran.status);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// npm leaves out what it could not ask for when it writes the lock file; `npm ci` then refuses it everywhere.
    #[test]
    fn the_lock_file_has_the_packages_of_all_platforms() {
        let path = workspace::root().unwrap().join("web/package-lock.json");
        let lock: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let packages = lock["packages"].as_object().unwrap();
        let optional = packages.values().filter_map(|package| package["optionalDependencies"].as_object());
        let names: Vec<&String> = optional.flat_map(|optional| optional.keys()).collect();
        let missing: Vec<_> =
            names.iter().filter(|name| !packages.contains_key(&format!("node_modules/{name}"))).collect();
        assert!(!names.is_empty());
        assert!(missing.is_empty(), "not in the lock file: {missing:?}");
    }
}
