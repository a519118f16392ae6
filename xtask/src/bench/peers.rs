//! The third-party programs that we are compared with.
//!
//! There are two builds of the C library: compiled here from the sources in the Python
//! package (the newest release), and as Debian ships it. Missing ones are skipped.

use crate::runner::{answers, bounded, run};
use crate::{setup, workspace};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release that is compared with; also named in `tests/python/requirements.txt`.
const PACKAGE: &str = "otf2==3.2";
const DEBIAN_PACKAGE: &str = "libotf2-trace-dev";
const DOWNLOAD_SECONDS: u32 = 120;
/// Twelve seconds on two idle cores.
const BUILD_SECONDS: u32 = 300;

/// The peers that are there.
#[derive(Debug, Default)]
pub struct Peers {
    pub c_published: Option<PathBuf>,
    pub c_debian: Option<PathBuf>,
    /// An interpreter with the `otf2` package.
    pub python: Option<PathBuf>,
    pub skipped: Vec<String>,
}

/// Builds what can be built.
///
/// # Errors
/// Only when the cache cannot be written.
pub fn build(root: &Path, python: Option<&Path>) -> Result<Peers> {
    let folder = workspace::cache(root).join("peers");
    fs::create_dir_all(&folder).context("cannot write into the cache folder")?;
    let mut peers = Peers::default();
    match python {
        None => peers.skipped.push("C and Python peers: no Python environment".into()),
        Some(python) => {
            if answers(Command::new(python).args(["-c", "import otf2"])) {
                peers.python = Some(python.into());
            } else {
                peers.skipped.push("Python peer: its package otf2 is not installed".into());
            }
            if let Err(error) = build_c(root, &folder, python) {
                peers.skipped.push(format!("C peer: {error:#}"));
            }
        }
    }
    let existing = |name: &str| Some(folder.join(name)).filter(|program| program.is_file());
    peers.c_published = existing("read_enter_leave");
    peers.c_debian = existing("read_enter_leave_debian");
    if peers.c_debian.is_none() {
        peers
            .skipped
            .push(format!("C library of Debian: {DEBIAN_PACKAGE} is not installed or does not link"));
    }
    Ok(peers)
}

/// Built once for each text of the peer and its build script.
fn build_c(root: &Path, folder: &Path, python: &Path) -> Result<()> {
    let script = root.join("peers/c/build.sh");
    let recipe = fs::read_to_string(&script)? + &fs::read_to_string(root.join("peers/c/read_enter_leave.c"))?;
    let built_from = folder.join("built-from.txt");
    if fs::read_to_string(&built_from).is_ok_and(|text| text == recipe) {
        return Ok(());
    }
    if !answers(Command::new("otf2-config").arg("--version"))
        && let Err(error) = setup::install_debian_package(DEBIAN_PACKAGE)
    {
        println!("{DEBIAN_PACKAGE}: {error:#}");
    }
    println!("building the OTF2 C library");
    let mut download = bounded(DOWNLOAD_SECONDS, python);
    download.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    download.args(["--no-binary", ":all:", PACKAGE, "--dest"]).arg(folder);
    anyhow::ensure!(run(&mut download)?.status.success(), "pip could not download the sources of {PACKAGE}");
    let archive = folder.join(PACKAGE.replace("==", "-") + ".tar.gz");
    let unpacked = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(folder).status();
    anyhow::ensure!(unpacked.is_ok_and(|status| status.success()), "cannot unpack {}", archive.display());
    let mut build = bounded(BUILD_SECONDS, Path::new("sh"));
    build.arg(script).arg(folder.join(PACKAGE.replace("==", "-"))).arg(folder);
    anyhow::ensure!(run(&mut build)?.status.success(), "peers/c/build.sh failed (see above)");
    fs::write(built_from, recipe).context("cannot write into the cache folder")
}
