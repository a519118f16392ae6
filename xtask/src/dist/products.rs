//! Compiling what is handed on, so that it runs on old systems and does not depend on where it was compiled.
//!
//! The binary is linked statically: with musl if the toolchain has the standard library for it or its sources, else
//! with glibc's own static library. Recorder and Python module are loaded into programs of the system, so they are
//! linked dynamically, with Zig against a glibc as old as the oldest that the Rust compiler supports.

use super::{archive, must, sbom, symbols};
use crate::runner::{answers, output};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// That of CentOS 7: the oldest that Rust's standard library runs with.
const GLIBC: (u32, u32) = (2, 17);
const RECORDER: &str = "libouzel_record.so";
/// The crates of the standard library that are compiled where a toolchain has only their sources.
const BUILD_STD: &str = "build-std=std,panic_unwind";
/// Cargo takes crates from the folder `vendor`, not from a registry.
const VENDORED: &str =
    "[source.crates-io]\nreplace-with = \"vendored\"\n\n[source.vendored]\ndirectory = \"vendor\"\n";

/// The files of a wheel that hold a text.
const HOLDING: &str = "import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
print(*(name for name in wheel.namelist() if sys.argv[2].encode() in wheel.read(name)))";

/// Processors that are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    X86_64,
    Aarch64,
}

impl Arch {
    fn musl(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-musl",
            Self::Aarch64 => "aarch64-unknown-linux-musl",
        }
    }

    fn gnu(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }
}

/// Where the standard library of a target comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Std {
    Installed,
    /// Its sources are compiled with the program.
    Compiled,
}

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

    /// The statically linked binary; `said` gets what it was linked with where there was a choice.
    pub fn binary(&self, arch: Arch, said: &mut Vec<String>) -> Result<Binary> {
        let musl = self.std_of(arch.musl());
        let (target, std) = match (musl, arch) {
            (Ok(std), _) => (arch.musl(), std),
            (Err(why), Arch::X86_64) => {
                said.push(format!("skipped: musl: {why:#}; the binary has glibc's static library"));
                (arch.gnu(), Std::Installed)
            }
            (Err(why), Arch::Aarch64) => return Err(why),
        };
        if std == Std::Compiled {
            said.push(format!("{target}: the standard library is compiled from the toolchain's sources"));
        }
        // Zig brings what the sources of the standard library do not: the C library, and a linker for other processors.
        let with_zig = std == Std::Compiled || arch != Arch::X86_64;
        let flags = flags(target, std, &["-Ctarget-feature=+crt-static"]);
        let mut cargo = self.cargo("static", std, &flags, with_zig);
        must(cargo.args(["--target", target, "-p", "ouzel-cli", "--bin", "ouzel"]))?;
        let path = self.folder.join("static").join(target).join("dist/ouzel");
        symbols::check_static(&path)?;
        Ok(Binary { path, target })
    }

    /// The library that `ouzel record` preloads.
    pub fn recorder(&self, arch: Arch, said: &mut Vec<String>) -> Result<PathBuf> {
        let with_zig = self.has_zig();
        let gnu = arch.gnu();
        let target = match with_zig {
            true => format!("{gnu}.{}.{}", GLIBC.0, GLIBC.1),
            false => {
                let why = "skipped: old glibc: no cargo-zigbuild; recorder for this machine's glibc";
                said.push(why.to_owned());
                gnu.to_owned()
            }
        };
        let std = self.std_of(gnu)?;
        let mut cargo = self.cargo("old-glibc", std, &flags(gnu, std, &[]), with_zig);
        must(cargo.args(["--target", &target, "-p", "ouzel-preload"]))?;
        let path = self.folder.join("old-glibc").join(gnu).join("dist").join(RECORDER);
        if with_zig {
            symbols::check_glibc(&path, GLIBC)?;
        }
        Ok(path)
    }

    fn has_zig(&self) -> bool {
        answers(Command::new("cargo-zigbuild").env("PATH", &self.path).arg("--version"))
    }

    /// Where the standard library comes from; an error if there is none.
    fn std_of(&self, target: &str) -> Result<Std> {
        let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
        let libraries = Path::new(sysroot.trim()).join("lib/rustlib");
        if libraries.join(target).join("lib").is_dir() {
            return Ok(Std::Installed);
        }
        let has_sources = libraries.join("src/rust/library/Cargo.lock").is_file();
        ensure!(has_sources, "this toolchain has neither {target} nor the sources of the standard library");
        ensure!(self.has_zig(), "no cargo-zigbuild to link {target} with");
        Ok(Std::Compiled)
    }

    /// Cargo's command that builds the profile for distribution.
    fn cargo(&self, folder: &str, std: Std, flags: &[&str], with_zig: bool) -> Command {
        let mut cargo = self.command(workspace::cargo(), folder, flags);
        cargo.args([if with_zig { "zigbuild" } else { "build" }, "--locked", "--profile", "dist"]);
        compile_std(&mut cargo, std, &[&format!("-Z{BUILD_STD}")]);
        cargo
    }

    /// The Python package for systems with glibc, with the recorder in it.
    pub fn wheel(&self, recorder: &Path, out: &Path) -> Result<PathBuf> {
        let to = self.recorder_of_package();
        fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        fs::copy(recorder, to).context("the recorder cannot be copied")?;
        let maturin = self.maturin("old-glibc", &[]);
        self.packed(maturin, Arch::X86_64.gnu(), "manylinux2014", out)
    }

    /// The Python package for systems with musl. It has no recorder, which is for programs that run with glibc.
    pub fn musl_wheel(&self, out: &Path) -> Result<PathBuf> {
        let target = Arch::X86_64.musl();
        let std = self.std_of(target)?;
        let recorder = self.recorder_of_package();
        if recorder.exists() {
            fs::remove_file(recorder)?;
        }
        // A module is loaded by a Python that brings the C library.
        let mut maturin = self.maturin("musl", &flags(target, std, &["-Ctarget-feature=-crt-static"]));
        compile_std(&mut maturin, std, &["-Z", BUILD_STD]);
        let wheel = self.packed(maturin, target, "musllinux_1_2", out)?;
        symbols::check_musl(&self.folder.join("musl").join(target).join("dist/lib_core.so"))?;
        Ok(wheel)
    }

    /// Where the Python package has the recorder.
    fn recorder_of_package(&self) -> PathBuf {
        self.root.join("python/package/ouzel/lib").join(RECORDER)
    }

    fn maturin(&self, folder: &str, flags: &[&str]) -> Command {
        let mut maturin = self.command("maturin".into(), folder, flags);
        maturin.args(["build", "--zig", "--profile", "dist", "--locked"]);
        maturin.args(["--manifest-path", "python/Cargo.toml"]);
        maturin
    }

    /// Runs maturin; it fails if the module needs more than systems of this kind have.
    fn packed(&self, mut maturin: Command, target: &str, systems: &str, out: &Path) -> Result<PathBuf> {
        let has_maturin = answers(Command::new("maturin").env("PATH", &self.path).arg("--version"));
        ensure!(has_maturin, "no maturin");
        let made = self.folder.join("wheels");
        if made.exists() {
            fs::remove_dir_all(&made)?;
        }
        let bill = self.folder.join(sbom::NAME);
        fs::write(&bill, sbom::text(&self.root)?)?;
        maturin.arg("--sbom-include").arg(&bill);
        maturin.args(["--target", target, "--compatibility", systems, "--out"]).arg(&made);
        must(&mut maturin)?;
        let wheel = fs::read_dir(&made)?.next().context("maturin made no wheel")??.path();
        self.check_addresses(&wheel)?;
        let to = out.join(wheel.file_name().context("a wheel has a name")?);
        fs::copy(&wheel, &to)?;
        Ok(to)
    }

    /// Refuses a wheel that has the address of a crate on this machine, as maturin's own bill of materials has.
    fn check_addresses(&self, wheel: &Path) -> Result<()> {
        let address = format!("file://{}/", self.root.display());
        let mut python = Command::new("python3");
        let named = output(python.env("PATH", &self.path).args(["-c", HOLDING]).arg(wheel).arg(&address))?;
        ensure!(named.trim().is_empty(), "{wheel:?} names {address} in {}", named.trim());
        Ok(())
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

/// Options for the compiler.
fn flags<'a>(target: &str, std: Std, extra: &[&'a str]) -> Vec<&'a str> {
    // A compiler without a musl target has not its start files either: Zig's are linked. Those of glibc never come with it.
    let own_start_files =
        (std == Std::Compiled && target.ends_with("musl")).then_some("-Clink-self-contained=no");
    extra.iter().copied().chain(own_start_files).collect()
}

/// A stable compiler compiles its standard library only if it is told to be the one of its makers.
fn compile_std(command: &mut Command, std: Std, words: &[&str]) {
    if std == Std::Compiled {
        command.args(words).env("RUSTC_BOOTSTRAP", "1");
    }
}
