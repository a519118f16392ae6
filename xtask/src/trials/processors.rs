//! `cargo xtask dist --aarch64` where the toolchain has nothing but its own target and the sources of the standard
//! library: all that a release hands on. What it makes for 64-bit ARM is used under QEMU, the rest by other trials.
//!
//! ```text
//! debootstrap ──► root with Debian's Rust ──dist──► archives ──► ouzel of x86-64: static, runs
//!                                             │              └─► ouzel of aarch64: static, runs under qemu-aarch64
//!                                             └──► package, wheels, sources: for the other trials, by OUZEL_DIST
//! ```
//!
//! Law: nothing of this machine takes part but the sources of the commit and the page of the viewer.

use super::artifacts::{command, empty_system, inside_for, lacks};
use crate::steps::{Context, Outcome};
use crate::{dist, web, workspace};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The release of Debian whose Rust is new enough; its packages of today are those of the next stable release.
const RELEASE: &str = "forky";
const PACKAGES: &str =
    "ca-certificates,binutils,cargo,gcc,git,libc6-dev,python3-venv,qemu-user,rust-src,rustc,xz-utils";
/// Two processors and two wheels, three of them with a standard library: more than two hours of CPU time.
const SECONDS: u32 = 4 * 3600;
/// What this machine knows about its network, for this root alone.
const OF_THE_NETWORK: [&str; 3] = ["etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt", "etc/pip.conf"];
const X86_64: &str = "x86_64-unknown-linux-musl";
const AARCH64: &str = "aarch64-unknown-linux-musl";
/// What is asked; `OUZEL` is the binary with what starts it.
const USE: &str = "\
set -e
cd /src
$OUZEL report testdata/pmpi-masterio | grep -q 'can be recovered'
$OUZEL profile testdata/pmpi-masterio | grep -q MPI_
$OUZEL view testdata/pmpi-masterio --force -o /view.html
grep -q '</html>' /view.html
";

/// Builds and uses.
pub fn build_and_use(context: &Context) -> Result<Outcome> {
    if let Some(why) = lacks() {
        return Ok(Outcome::Skipped(why));
    }
    let place = workspace::target(&context.root)?.join("trials/roots");
    fs::create_dir_all(&place)?;
    let root = match empty_system(&place, &format!("{RELEASE}-rust"), RELEASE, Some(PACKAGES)) {
        Ok(root) => root,
        Err(why) => return Ok(Outcome::Skipped(format!("{RELEASE}: {why:#}"))),
    };
    prepare(&context.root, &root)?;
    let dist = "cd /src && cargo xtask dist --aarch64 --out /out";
    let said = inside_for(SECONDS, &root, "/usr/bin", dist)?;
    let mut lines: Vec<String> =
        said.lines().filter(|line| line.contains(" MB") || is_notice(line)).map(str::to_owned).collect();
    for (target, runner) in [(X86_64, ""), (AARCH64, "qemu-aarch64 ")] {
        let name = archive(&root, target)?;
        inside_for(600, &root, "/usr/bin", &format!("rm -rf /opt/* && tar -xJf /out/{name}.tar.xz -C /opt"))?;
        let ouzel = format!("OUZEL='{runner}/opt/{name}/bin/ouzel'\n");
        inside_for(600, &root, "/usr/bin", &format!("{ouzel}{USE}"))?;
        lines.push(format!("{name}: report, profile and view answer"));
    }
    lines.push(format!("OUZEL_DIST={} gives them to other trials", root.join("out").display()));
    Ok(Outcome::Passed(lines))
}

/// The archive with musl and the package once more.
pub fn archive_again(context: &Context) -> Result<Outcome> {
    again(context, "--without-wheel")
}

/// The wheels and the sources once more.
pub fn wheels_again(context: &Context) -> Result<Outcome> {
    again(context, "--only-wheels")
}

/// A part of what [`build_and_use`] made, which must have run, from a second clone in its root.
fn again(context: &Context, part: &str) -> Result<Outcome> {
    if let Some(why) = lacks() {
        return Ok(Outcome::Skipped(why));
    }
    let root = workspace::target(&context.root)?.join("trials/roots").join(format!("{RELEASE}-rust"));
    let sums = |folder: &str| {
        let list = root.join(folder).join(dist::SUMS);
        fs::read_to_string(&list).with_context(|| format!("no {list:?}: the trial processors comes before"))
    };
    let first = sums("out")?;
    let dist = format!(
        "rm -rf /again /out-again && git clone --quiet /src /again && cp -R /src/web/dist /again/web \
         && cd /again && cargo xtask dist {part} --out /out-again"
    );
    inside_for(SECONDS, &root, "/usr/bin", &dist)?;
    let second = sums("out-again")?;
    // The first time made more.
    let of_both = |line: &&str| {
        line.split_whitespace().nth(1).is_some_and(|name| second.lines().any(|other| other.ends_with(name)))
    };
    let first = first.lines().filter(of_both).map(|line| format!("{line}\n")).collect::<String>();
    ensure!(first.lines().count() == second.lines().count(), "there are other files: {second}");
    Ok(super::compared(&first, &second))
}

fn is_notice(line: &str) -> bool {
    line.starts_with("skipped:") || line.contains("is compiled from")
}

/// The sources of the commit, the page of the viewer (npm is not in this root), and the settings of the network.
fn prepare(repository: &Path, root: &Path) -> Result<()> {
    bring_network(root)?;
    let sources = root.join("src");
    let _ = fs::remove_dir_all(&sources);
    let cloned = Command::new("git").args(["clone", "--quiet"]).arg(repository).arg(&sources).status()?;
    ensure!(cloned.success(), "git clone ended with {cloned}");
    web::run(&[]).context("the page of the viewer")?;
    command("cp", &["-R"], &[&repository.join("web/dist"), &sources.join("web")])
}

/// The settings of the network.
pub fn bring_network(root: &Path) -> Result<()> {
    for name in OF_THE_NETWORK {
        let (from, to) = (Path::new("/").join(name), root.join(name));
        if from.exists() {
            fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
            fs::copy(&from, &to).with_context(|| format!("{from:?} cannot be copied"))?;
        }
    }
    Ok(())
}

/// The name of the archive for a target.
fn archive(root: &Path, target: &str) -> Result<String> {
    let names = fs::read_dir(root.join("out"))?.flatten().map(|entry| entry.file_name());
    let mut names = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".tar.xz")?.to_owned()));
    names.find(|name| name.ends_with(target)).with_context(|| format!("dist made no archive for {target}"))
}
