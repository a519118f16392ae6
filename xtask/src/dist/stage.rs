//! The folder that becomes an archive or a package: binary, recorder, manual pages, completions, licences.

use super::products::{Binary, Build};
use super::{must, sbom};
use crate::runner::output;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/ouzel"),
    ("zsh", "share/zsh/site-functions/_ouzel"),
    ("fish", "share/fish/vendor_completions.d/ouzel.fish"),
];
const DOC: &str = "share/doc/ouzel";
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Fills a new folder and returns it; an old one is removed. `here` is a binary that runs here, which writes the texts.
pub fn fill(build: &Build, version: &str, binary: &Binary, recorder: &Path, here: &Path) -> Result<PathBuf> {
    let root = &build.root;
    let folder = build.folder.join("stage").join(format!("ouzel-{version}-{}", binary.target));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    for (file, place) in [(&*binary.path, "bin/ouzel"), (recorder, "lib/ouzel/libouzel_record.so")] {
        copy(file, &folder.join(place))?;
    }
    fs::create_dir_all(folder.join("share/man"))?;
    must(Command::new(here).args(["help", "--man"]).arg(folder.join("share/man/man1")))?;
    for (shell, place) in COMPLETIONS {
        let script = output(Command::new(here).args(["completions", shell]))?;
        write(&folder.join(place), &script)?;
    }
    for name in TEXTS {
        copy(&root.join(name), &folder.join(DOC).join(name))?;
    }
    let licenses = output(Command::new(here).args(["licenses", "--texts"]))?;
    write(&folder.join(DOC).join("THIRD-PARTY"), &licenses)?;
    write(&folder.join(DOC).join(sbom::NAME), &sbom::text(root)?)?;
    Ok(folder)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
    fs::write(path, text).with_context(|| format!("{path:?} cannot be written"))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
    fs::copy(from, to).with_context(|| format!("{from:?} cannot be copied to {to:?}"))?;
    Ok(())
}
