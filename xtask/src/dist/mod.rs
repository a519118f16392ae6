//! `cargo xtask dist`: what is handed to users, for the machine it runs on.
//!
//! ```text
//! products (static binary, recorder, wheel) ──stage──► ouzel-VERSION-TARGET/ ──► .tar.xz, .deb ──► SHA256SUMS
//! ```
//!
//! Law: the same commit gives the same bytes, in every folder and at every time (`products.rs` says how, `archive.rs`
//! for what is packed); what cannot be made here is said in a line `skipped: …` and left out.

mod archive;
mod products;
mod sbom;
mod stage;
mod symbols;

use crate::runner::output;
use crate::{setup, web, workspace};
use anyhow::{Context, Result, bail, ensure};
use products::Build;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const HELP: &str = "\
usage: cargo xtask dist [--out DIR] [--without-wheel]

  --out DIR         folder of what is made [default: dist in cargo's target folder]
  --without-wheel   not the Python package, which compiles most crates a second time
";

struct Arguments {
    out: Option<PathBuf>,
    with_wheel: bool,
}

fn parsed(words: &[String]) -> Result<Arguments> {
    let mut arguments = Arguments { out: None, with_wheel: true };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" => arguments.out = Some(words.next().context("--out needs a folder")?.into()),
            "--without-wheel" => arguments.with_wheel = false,
            other => bail!("dist takes no {other:?}\n\n{HELP}"),
        }
    }
    Ok(arguments)
}

/// `cargo xtask dist`
pub fn run(words: &[String]) -> Result<()> {
    if words.iter().any(|word| word == "--help") {
        print!("{HELP}");
        return Ok(());
    }
    let Arguments { out, with_wheel } = parsed(words)?;
    let root = workspace::root()?;
    let folder = workspace::target(&root)?.join("dist");
    let out = out.unwrap_or_else(|| folder.join("out"));
    fs::create_dir_all(&out).with_context(|| format!("{out:?} cannot be created"))?;
    let mut skipped = Vec::new();
    if let Err(why) = web::run(&[]) {
        skipped.push(format!("page of the viewer: {why:#}"));
    }
    let tools = setup::install_dist_tools(&root);
    let tools = tools.map_err(|why| skipped.push(format!("programs from PyPI: {why:#}"))).ok();
    let build = Build::new(&root, &folder, epoch(&root)?, tools)?;
    let binary = build.binary(&mut skipped)?;
    let recorder = build.recorder(&mut skipped)?;
    let version = version(&root)?;
    let name = format!("ouzel-{version}-{}", binary.target);
    let staged = folder.join("stage").join(&name);
    stage::fill(&root, &staged, &binary.path, &recorder)?;
    let mut made = vec![archive::tar_xz(&staged, &out, build.epoch)?];
    match archive::deb(&staged, &out, &version, build.epoch) {
        Ok(deb) => made.push(deb),
        Err(why) => skipped.push(format!("Debian package: {why:#}")),
    }
    if with_wheel {
        match build.wheel(&recorder, &out) {
            Ok(wheel) => made.push(wheel),
            Err(why) => skipped.push(format!("wheel: {why:#}")),
        }
    }
    let sums = archive::sums(&out, &made)?;
    print!("{sums}");
    for path in &made {
        println!("{}: {:.1} MB", path.display(), fs::metadata(path)?.len() as f64 / 1e6);
    }
    skipped.iter().for_each(|line| println!("skipped: {line}"));
    Ok(())
}

/// The version of all crates.
pub fn version(root: &Path) -> Result<String> {
    let metadata = workspace::metadata(root)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let cli = packages.iter().find(|package| package["name"] == "ouzel-cli").context("no crate ouzel-cli")?;
    Ok(cli["version"].as_str().context("ouzel-cli has no version")?.to_owned())
}

/// The time that all files get: `SOURCE_DATE_EPOCH`, else that of the last commit.
fn epoch(root: &Path) -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))
            .context("set SOURCE_DATE_EPOCH where there is no git")?,
    };
    text.trim().parse().with_context(|| format!("SOURCE_DATE_EPOCH is no number of seconds: {text:?}"))
}

/// Runs a tool that must succeed.
fn must(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {name}"))?;
    ensure!(status.success(), "{name} ended with {status}");
    Ok(())
}
