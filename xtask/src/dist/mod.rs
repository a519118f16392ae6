//! `cargo xtask dist`: what is handed to users, for the machine it runs on.
//!
//! ```text
//! products (static binary, recorder, wheels, sources) ──stage──► ouzel-VERSION-TARGET/ ──► .tar.xz, .deb ──► SHA256SUMS
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
use products::{Arch, Build};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const HELP: &str = "\
usage: cargo xtask dist [--out DIR] [--aarch64] [--without-wheel | --only-wheels | --only-sources]

  --out DIR         folder of what is made [default: dist in cargo's target folder]
  --aarch64         an archive for 64-bit ARM, too
  --without-wheel   not the Python package: its wheels compile most crates twice more
  --only-wheels     only the Python package: its wheels and its sources
  --only-sources    only the sources of the Python package, which compiles nothing
";

struct Arguments {
    out: Option<PathBuf>,
    with_aarch64: bool,
    with_archives: bool,
    with_wheels: bool,
    with_sources: bool,
}

fn parsed(words: &[String]) -> Result<Arguments> {
    let mut arguments = Arguments {
        out: None,
        with_aarch64: false,
        with_archives: true,
        with_wheels: true,
        with_sources: true,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" => arguments.out = Some(words.next().context("--out needs a folder")?.into()),
            "--aarch64" => arguments.with_aarch64 = true,
            "--without-wheel" => (arguments.with_wheels, arguments.with_sources) = (false, false),
            "--only-wheels" => arguments.with_archives = false,
            "--only-sources" => (arguments.with_archives, arguments.with_wheels) = (false, false),
            other => bail!("dist takes no {other:?}\n\n{HELP}"),
        }
    }
    let is_something = arguments.with_archives || arguments.with_wheels || arguments.with_sources;
    ensure!(is_something, "nothing is left to make\n\n{HELP}");
    ensure!(arguments.with_archives || !arguments.with_aarch64, "--aarch64 is an archive\n\n{HELP}");
    Ok(arguments)
}

/// A wheel is downloaded by whoever installs, on slow lines, too.
const MAX_WHEEL_BYTES: u64 = 15_000_000;

/// The list of checksums beside what was made.
pub const SUMS: &str = "SHA256SUMS";

/// Where everything has been made: by this call, or before in the folder that `OUZEL_DIST` names.
fn out(root: &Path) -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("OUZEL_DIST") {
        return Ok(folder.into());
    }
    run(&[])?;
    Ok(workspace::target(root)?.join("dist/out"))
}

/// The list of checksums of everything that [`run`] makes.
pub fn sums(root: &Path) -> Result<String> {
    let list = out(root)?.join(SUMS);
    fs::read_to_string(&list).with_context(|| format!("{list:?} cannot be read"))
}

/// The files that [`run`] makes, as the list of checksums names them.
pub fn made(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = out(root)?;
    let list = fs::read_to_string(folder.join(SUMS)).with_context(|| format!("no {SUMS} in {folder:?}"))?;
    Ok(list.lines().filter_map(|line| Some(folder.join(line.split_whitespace().nth(1)?))).collect())
}

/// `cargo xtask dist`
pub fn run(words: &[String]) -> Result<()> {
    if words.iter().any(|word| word == "--help") {
        print!("{HELP}");
        return Ok(());
    }
    let arguments = parsed(words)?;
    let root = workspace::root()?;
    let folder = workspace::target(&root)?.join("dist");
    let out = arguments.out.clone().unwrap_or_else(|| folder.join("out"));
    fs::create_dir_all(&out).with_context(|| format!("{out:?} cannot be created"))?;
    // Programs that run in another folder write there, too.
    let out = fs::canonicalize(out)?;
    // What is missing from the network shows now, not after an hour of compiling.
    must(Command::new(workspace::cargo()).args(["fetch", "--locked"]).current_dir(&root))?;
    let mut said = Vec::new();
    if let Err(why) = web::run(&[]) {
        said.push(format!("skipped: page of the viewer: {why:#}"));
    }
    let tools = setup::install_dist_tools(&root);
    let tools = tools.map_err(|why| said.push(format!("skipped: programs from PyPI: {why:#}"))).ok();
    let build = Build::new(&root, &folder, epoch(&root)?, tools)?;
    let version = version(&root)?;
    let mut made = compiled(&build, &version, &out, &arguments, &mut said)?;
    if arguments.with_sources {
        keep(build.sdist(&version, &out), "source distribution", &mut made, &mut said);
    }
    ensure!(!made.is_empty(), "nothing could be made: {}", said.join("; "));
    let sums = archive::sums(&out, &made)?;
    print!("{sums}");
    let mut large = Vec::new();
    for path in &made {
        let n_bytes = fs::metadata(path)?.len();
        println!("{}: {:.1} MB", path.display(), n_bytes as f64 / 1e6);
        if path.extension().is_some_and(|ending| ending == "whl") && MAX_WHEEL_BYTES < n_bytes {
            large.push(path.display().to_string());
        }
    }
    said.iter().for_each(|line| println!("{line}"));
    ensure!(large.is_empty(), "wheels above {:.0} MB: {}", MAX_WHEEL_BYTES as f64 / 1e6, large.join(", "));
    Ok(())
}

/// Everything that is compiled: the archives, the Debian package and the wheels.
fn compiled(
    build: &Build,
    version: &str,
    out: &Path,
    arguments: &Arguments,
    said: &mut Vec<String>,
) -> Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    if !arguments.with_archives && !arguments.with_wheels {
        return Ok(made);
    }
    let recorder = build.recorder(Arch::X86_64, said)?;
    if arguments.with_archives {
        let binary = build.binary(Arch::X86_64, said)?;
        let staged = stage::fill(build, version, &binary, &recorder, &binary.path)?;
        made.push(archive::tar_xz(&staged, out, build.epoch)?);
        keep(archive::deb(&staged, out, version, build.epoch), "Debian package", &mut made, said);
        if arguments.with_aarch64 {
            let archive = aarch64(build, version, out, &binary.path, said);
            keep(archive, "archive for 64-bit ARM", &mut made, said);
        }
    }
    if arguments.with_wheels {
        keep(build.musl_wheel(out), "wheel for systems with musl", &mut made, said);
        keep(build.wheel(&recorder, out), "wheel", &mut made, said);
    }
    Ok(made)
}

/// The archive for another processor, with what the binary of this one says about itself.
fn aarch64(build: &Build, version: &str, out: &Path, here: &Path, said: &mut Vec<String>) -> Result<PathBuf> {
    let binary = build.binary(Arch::Aarch64, said)?;
    let recorder = build.recorder(Arch::Aarch64, said)?;
    let staged = stage::fill(build, version, &binary, &recorder, here)?;
    archive::tar_xz(&staged, out, build.epoch)
}

/// Notes a file that was made, or why it was not.
fn keep(file: Result<PathBuf>, what: &str, made: &mut Vec<PathBuf>, said: &mut Vec<String>) {
    match file {
        Ok(path) => made.push(path),
        Err(why) => said.push(format!("skipped: {what}: {why:#}")),
    }
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
