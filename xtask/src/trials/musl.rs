//! The wheel for systems with musl, installed and used in one that has no other C library.
//!
//! ```text
//! debootstrap ──► root with musl's compiler ──Debian's sources──► CPython linked with musl ─┐
//!                                          BusyBox, musl's loader ──► empty root ◄──────────┴── wheel, a trace
//! ```
//!
//! Law: the root holds neither glibc nor a compiler.

use super::artifacts::{TUTORIAL, bring_tutorial, command, empty_system, inside_for, lacks, mirror};
use super::processors::bring_network;
use crate::steps::{Context, Outcome};
use crate::stopwatch::Stopwatch;
use crate::{dist, workspace};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const RELEASE: &str = "trixie";
const PACKAGES: &str =
    "busybox-static,ca-certificates,dpkg-dev,gcc,libc6-dev,make,musl-tools,python3-pip-whl,xz-utils";
/// CPython and zlib, which pip unpacks wheels with, from the sources of the release. GCC is asked for the name of
/// the system, and would say that of glibc.
const BUILD: &str = "\
set -e
mkdir -p /build && cd /build
echo \"deb-src $MIRROR trixie main\" > /etc/apt/sources.list.d/sources.list
apt-get update --quiet && apt-get source --quiet --tar-only --download-only python3.13 zlib
for sources in *.orig.tar.[gx]z; do tar -xf $sources; done
cd /build/zlib-*/ && CC=musl-gcc CFLAGS='-O2 -fPIC' ./configure --static --prefix=/build/zlib && make -s install
printf '#!/bin/sh\\ncase \"$*\" in *print-multiarch*) echo x86_64-linux-musl;; *) exec musl-gcc \"$@\";; esac\\n' > /build/cc
chmod +x /build/cc
cd /build/Python-3*/
CC=/build/cc CFLAGS='-O1 -I/build/zlib/include' LDFLAGS=-L/build/zlib/lib ./configure -q --prefix=/opt/python \\
    --disable-test-modules --without-ensurepip ZLIB_CFLAGS=-I/build/zlib/include ZLIB_LIBS=/build/zlib/lib/libz.a
make -s -j2 install
/opt/python/bin/python3 -c 'import zlib'
rm -rf /build
";
/// A program that a system with musl has.
const INSTALL: &str = "\
set -e
python3 -m venv --without-pip /venv
PYTHONPATH=$(echo /pip/pip-*.whl) /venv/bin/python -m pip install --quiet --no-index /wheel/*.whl
ouzel report /trace > /first.txt
";
const USE: &str = "\
set -e
ouzel view /trace -o /view.html
ouzel record -o /run -- true 2> /record.txt && exit 1
grep -q libouzel_record.so /record.txt
";

/// Builds CPython, unless an earlier run has, and uses the wheel.
pub fn install_and_use(context: &Context) -> Result<Outcome> {
    if let Some(why) = lacks() {
        return Ok(Outcome::Skipped(why));
    }
    let wheels = dist::made(&context.root)?;
    let Some(wheel) = wheels.iter().find(|path| path.to_string_lossy().contains("musllinux")) else {
        return Ok(Outcome::Skipped("cargo xtask dist made no wheel for musl".to_owned()));
    };
    let place = workspace::target(&context.root)?.join("trials/roots");
    fs::create_dir_all(&place)?;
    let tools = match empty_system(&place, "musl-tools", RELEASE, Some(PACKAGES)) {
        Ok(tools) => tools,
        Err(why) => return Ok(Outcome::Skipped(format!("{RELEASE}: {why:#}"))),
    };
    if !tools.join("opt/python").exists() {
        let Some(mirror) = mirror() else {
            return Ok(Outcome::Skipped(
                "no mirror of Debian is set here, for the sources of CPython".to_owned(),
            ));
        };
        bring_network(&tools)?;
        inside_for(3600, &tools, "/usr/bin", &format!("MIRROR={mirror}\n{BUILD}"))?;
    }
    let root = system(&tools, &place.join("musl.tried"))?;
    command("cp", &["-R"], &[&context.root.join("testdata/pmpi-masterio"), &root.join("trace")])?;
    command("cp", &[], &[wheel, &root.join("wheel")])?;
    let path = "/venv/bin:/opt/python/bin";
    let clock = Stopwatch::start();
    inside_for(600, &root, path, INSTALL)?;
    let to_first_finding = clock.elapsed();
    inside_for(600, &root, path, USE)?;
    bring_tutorial(&context.root, &root)?;
    inside_for(600, &root, path, TUTORIAL)?;
    let read = |name: &str| fs::read_to_string(root.join(name)).with_context(|| name.to_owned());
    ensure!(read("first.txt")?.contains("can be recovered"), "the report has no finding");
    ensure!(read("view.html")?.contains("</html>"), "the view is no page");
    ensure!(read("tutorial.txt")?.lines().count() > 5, "the tutorial prints nothing");
    fs::remove_dir_all(&root)?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Outcome::Passed(vec![format!(
        "musl and BusyBox: {name}: first finding {:.1} s after the download",
        to_first_finding.as_secs_f64()
    )]))
}

/// A root with BusyBox, musl and Python.
fn system(tools: &Path, root: &Path) -> Result<PathBuf> {
    let _ = fs::remove_dir_all(root);
    for folder in ["bin", "dev", "lib", "opt", "pip", "proc", "tmp", "root", "usr/bin", "wheel"] {
        fs::create_dir_all(root.join(folder))?;
    }
    command("cp", &["-a"], &[Path::new("/dev/null"), Path::new("/dev/urandom"), &root.join("dev")])?;
    fs::copy(tools.join("bin/busybox"), root.join("bin/busybox"))?;
    fs::copy(tools.join("lib/x86_64-linux-musl/libc.so"), root.join("lib/ld-musl-x86_64.so.1"))?;
    command("cp", &["-R"], &[&tools.join("opt/python"), &root.join("opt")])?;
    for wheel in fs::read_dir(tools.join("usr/share/python-wheels"))? {
        let wheel = wheel?;
        if wheel.file_name().to_string_lossy().starts_with("pip-") {
            fs::copy(wheel.path(), root.join("pip").join(wheel.file_name()))?;
        }
    }
    for name in ["sh", "grep", "echo", "true"] {
        symlink("busybox", root.join("bin").join(name))?;
    }
    symlink("/bin/busybox", root.join("usr/bin/env"))?;
    Ok(root.to_owned())
}
