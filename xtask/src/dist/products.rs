//! Compiling what is handed on, so that it runs on old systems and does not depend on where it was compiled.
//!
//! The binary is linked statically: with musl if the toolchain has this target, else with glibc's own static library.
//! Recorder and Python module are loaded into programs of the system, so they are linked dynamically, with Zig against
//! a glibc as old as the oldest that the Rust compiler supports.

use super::{archive, must, symbols};
use crate::runner::{answers, output};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MUSL: &str = "x86_64-unknown-linux-musl";
const GNU: &str = "x86_64-unknown-linux-gnu";
/// That of CentOS 7: the oldest that Rust's standard library runs with.
const GLIBC: (u32, u32) = (2, 17);
const RECORDER: &str = "libouzel_record.so";
/// Cargo takes crates from the folder `vendor`, not from a registry.
const VENDORED: &str =
    "[source.crates-io]\nreplace-with = \"vendored\"\n\n[source.vendored]\ndirectory = \"vendor\"\n";

/// How things are compiled.
#[derive(Debug)]
pub struct Build {
    pub root: PathBuf,
    /// Of products of the compiler.
    pub folder: PathBuf,
    /// Seconds since 1970 that stand for now.
    pub epoch: u64,
    /// Where programs are looked for: those from PyPI first.
    path: OsString,
    /// Options that keep paths of this machine out of what is compiled.
    remap: Vec<String>,
}

/// The binary and what it runs on.
#[derive(Debug)]
pub struct Binary {
    pub path: PathBuf,
    pub target: &'static str,
}

impl Build {
    /// With paths of the repository and of Cargo's cache replaced, and with the programs of a folder.
    pub fn new(root: &Path, folder: &Path, epoch: u64, tools: Option<PathBuf>) -> Result<Self> {
        let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
        let cargo_home = cargo_home.or_else(home).context("neither CARGO_HOME nor HOME is set")?;
        let remap = [(root, "/ouzel"), (&cargo_home, "/cargo")]
            .map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(tools.into_iter().chain(std::env::split_paths(&path)))?;
        Ok(Build { root: root.to_owned(), folder: folder.to_owned(), epoch, path, remap: remap.to_vec() })
    }

    /// The statically linked binary.
    pub fn binary(&self, skipped: &mut Vec<String>) -> Result<Binary> {
        let target = if has_target(MUSL)? {
            MUSL
        } else {
            skipped
                .push(format!("musl: this toolchain has no {MUSL}; the binary has glibc's static library"));
            GNU
        };
        let mut cargo = self.command(workspace::cargo(), "static", &["-Ctarget-feature=+crt-static"]);
        cargo.args(["build", "--locked", "--profile", "dist", "--target", target]);
        must(cargo.args(["-p", "ouzel-cli", "--bin", "ouzel"]))?;
        let path = self.folder.join("static").join(target).join("dist/ouzel");
        symbols::check_static(&path)?;
        Ok(Binary { path, target })
    }

    /// The library that `ouzel record` preloads.
    pub fn recorder(&self, skipped: &mut Vec<String>) -> Result<PathBuf> {
        let mut cargo = self.command(workspace::cargo(), "old-glibc", &[]);
        let has_zig = answers(Command::new("cargo-zigbuild").env("PATH", &self.path).arg("--version"));
        let target = match has_zig {
            true => format!("{GNU}.{}.{}", GLIBC.0, GLIBC.1),
            false => {
                skipped.push("old glibc: no cargo-zigbuild; recorder for this machine's glibc".to_owned());
                GNU.to_owned()
            }
        };
        cargo.args([if has_zig { "zigbuild" } else { "build" }, "--locked", "--profile", "dist"]);
        must(cargo.args(["--target", &target, "-p", "ouzel-preload"]))?;
        let path = self.folder.join("old-glibc").join(GNU).join("dist").join(RECORDER);
        if has_zig {
            symbols::check_glibc(&path, GLIBC)?;
        }
        Ok(path)
    }

    /// The Python package with the recorder in it.
    pub fn wheel(&self, recorder: &Path, out: &Path) -> Result<PathBuf> {
        let has_maturin = answers(Command::new("maturin").env("PATH", &self.path).arg("--version"));
        ensure!(has_maturin, "no maturin");
        let library = self.root.join("python/package/ouzel/lib");
        fs::create_dir_all(&library)?;
        fs::copy(recorder, library.join(RECORDER)).context("the recorder cannot be copied")?;
        let made = self.folder.join("wheels");
        if made.exists() {
            fs::remove_dir_all(&made)?;
        }
        let mut maturin = self.command("maturin".into(), "old-glibc", &[]);
        maturin.args(["build", "--zig", "--compatibility", "manylinux2014", "--profile", "dist", "--locked"]);
        maturin.args(["--target", GNU, "--manifest-path", "python/Cargo.toml", "--out"]).arg(&made);
        must(&mut maturin)?;
        let wheel = fs::read_dir(&made)?.next().context("maturin made no wheel")??.path();
        let to = out.join(wheel.file_name().context("a wheel has a name")?);
        fs::copy(&wheel, &to)?;
        Ok(to)
    }

    /// The sources of the Python package with all crates it needs and the page of the viewer: builds without a network.
    pub fn sdist(&self, version: &str, out: &Path) -> Result<PathBuf> {
        let folder = self.folder.join("sdist");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let mut maturin = self.command("maturin".into(), "sdist", &[]);
        must(maturin.args(["sdist", "--manifest-path", "python/Cargo.toml", "--out"]).arg(&folder))?;
        let name = format!("ouzel-{version}");
        let packed = folder.join(format!("{name}.tar.gz"));
        must(Command::new("tar").arg("-xzf").arg(&packed).arg("-C").arg(&folder))?;
        let tree = folder.join(&name);
        let page = self.root.join("web/dist");
        if page.join("index.html").exists() {
            fs::create_dir_all(tree.join("web"))?;
            must(Command::new("cp").arg("-R").arg(page).arg(tree.join("web")))?;
        }
        let mut vendor = self.command(workspace::cargo(), "sdist", &[]);
        output(vendor.args(["vendor", "--quiet", "--locked", "vendor"]).current_dir(&tree))?;
        let settings = fs::read_to_string(self.root.join(".cargo/config.toml"))?;
        fs::create_dir_all(tree.join(".cargo"))?;
        fs::write(tree.join(".cargo/config.toml"), format!("{settings}\n{VENDORED}"))?;
        self.check_complete(&tree)?;
        archive::tar_gz(&tree, out, self.epoch)
    }

    /// That Cargo finds every crate in the folder itself, with an empty cache and without a network.
    fn check_complete(&self, tree: &Path) -> Result<()> {
        let mut cargo = self.command(workspace::cargo(), "sdist", &[]);
        cargo.args(["metadata", "--format-version=1", "--offline", "--locked"]).current_dir(tree);
        output(cargo.env("CARGO_HOME", self.folder.join("empty-cargo-home")))
            .context("the source distribution lacks crates")?;
        Ok(())
    }

    fn command(&self, program: OsString, folder: &str, flags: &[&str]) -> Command {
        let mut command = Command::new(program);
        let flags: Vec<&str> = flags.iter().copied().chain(self.remap.iter().map(String::as_str)).collect();
        command
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
            .env_remove("RUSTFLAGS")
            .env("PATH", &self.path)
            .env("CARGO_TARGET_DIR", self.folder.join(folder))
            .env("SOURCE_DATE_EPOCH", self.epoch.to_string())
            .current_dir(&self.root);
        command
    }
}

/// Whether the standard library is there for a target.
fn has_target(target: &str) -> Result<bool> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    Ok(Path::new(sysroot.trim()).join("lib/rustlib").join(target).join("lib").is_dir())
}
