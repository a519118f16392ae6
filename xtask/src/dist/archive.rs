//! Packing a folder so that the bytes depend on its files alone: sorted names, one time, no owner.

use super::must;
use crate::runner::output;
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `NAME.tar.xz` of the folder `NAME`.
pub fn tar_xz(folder: &Path, out: &Path, epoch: u64) -> Result<PathBuf> {
    let tar = tar(folder, out, epoch)?;
    // One thread: the blocks of several depend on the machine.
    must(Command::new("xz").args(["-9", "--threads=1", "--force"]).arg(&tar))?;
    Ok(out.join(format!("{}.xz", name(&tar)?)))
}

/// `NAME.tar.gz` of the folder `NAME`, which is what Python's installers read.
pub fn tar_gz(folder: &Path, out: &Path, epoch: u64) -> Result<PathBuf> {
    let tar = tar(folder, out, epoch)?;
    must(Command::new("gzip").args(["-9", "--no-name", "--force"]).arg(&tar))?;
    Ok(out.join(format!("{}.gz", name(&tar)?)))
}

fn tar(folder: &Path, out: &Path, epoch: u64) -> Result<PathBuf> {
    let (parent, name) = (folder.parent().context("no folder above")?, name(folder)?);
    let tar = out.join(format!("{name}.tar"));
    let mut command = Command::new("tar");
    command
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"])
        .args([format!("--mtime=@{epoch}"), "--mode=u=rwX,go=rX".into(), "-cf".into()])
        .arg(&tar)
        .arg("-C")
        .arg(parent)
        .arg(&name);
    must(&mut command)?;
    Ok(tar)
}

/// The recorder needs the C library of Debian 8 or newer; the binary needs none.
const CONTROL: &str = "\
Package: ouzel
Version: VERSION
Architecture: amd64
Maintainer: The Ouzel developers <ouzel@localhost>
Section: devel
Priority: optional
Depends: libc6 (>= 2.17), libgcc-s1 | libgcc1
Recommends: sensible-utils
Description: finds where parallel programs lose time
 Ouzel reads traces and profiles of parallel programs (OTF2, HPCToolkit, CUBE,
 Nsight Systems, Projections, Chrome) and says where time is lost, in which
 ranks, and what a change would gain.
";

const COPYRIGHT: &str = "\
Ouzel is licensed under the Apache License, Version 2.0, or the MIT license, at your choice.
The text of the Apache License is in /usr/share/common-licenses/Apache-2.0.
The licenses of the libraries in the binary are in THIRD-PARTY beside this file.
";

/// Debian's own log has the package's version; what changed is in the project's log.
const LOG: &str = "\
ouzel (VERSION) unstable; urgency=medium

  * Version VERSION; see CHANGELOG.md.gz beside this file.

 -- The Ouzel developers <ouzel@localhost>  DATE
";

/// What is meant as it is, for Debian's checker of packages.
const OVERRIDES: &str = "\
# No list of mail is run for the project yet.
ouzel: bogus-mail-host
# Runs on systems whose C library is older than that of the compiler.
ouzel: statically-linked-binary
# The viewer starts a browser if there is one.
ouzel: missing-depends-on-sensible-utils
";

/// A Debian package with the same files below `/usr`.
pub fn deb(folder: &Path, out: &Path, version: &str, epoch: u64) -> Result<PathBuf> {
    let package = folder.with_file_name("deb");
    if package.exists() {
        fs::remove_dir_all(&package)?;
    }
    fs::create_dir_all(package.join("DEBIAN"))?;
    must(Command::new("cp").arg("-R").arg(folder).arg(package.join("usr")))?;
    let doc = package.join("usr/share/doc/ouzel");
    let mit = fs::read_to_string(doc.join("LICENSE-MIT"))?;
    fs::write(doc.join("copyright"), format!("{COPYRIGHT}\n{mit}"))?;
    // Debian's packages refer to the text that every system has.
    fs::remove_file(doc.join("LICENSE-APACHE"))?;
    let date = output(Command::new("date").args(["-u", "-R", "-d"]).arg(format!("@{epoch}")))?;
    let log = LOG.replace("VERSION", version).replace("DATE", date.trim());
    fs::write(doc.join("changelog"), log)?;
    must(Command::new("gzip").args(["-9", "-n"]).args([doc.join("changelog"), doc.join("CHANGELOG.md")]))?;
    let overrides = package.join("usr/share/lintian/overrides");
    fs::create_dir_all(&overrides)?;
    fs::write(overrides.join("ouzel"), OVERRIDES)?;
    fs::write(package.join("DEBIAN/control"), CONTROL.replace("VERSION", version))?;
    must(Command::new("gzip").args(["-9", "-n", "-r"]).arg(package.join("usr/share/man")))?;
    let plain = fs::Permissions::from_mode(0o644);
    fs::set_permissions(package.join("usr/lib/ouzel/libouzel_record.so"), plain)?;
    must(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&package))?;
    let deb = out.join(format!("ouzel_{version}_amd64.deb"));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--threads-max=1", "--build"]).arg(&package).arg(&deb);
    output(build.env("SOURCE_DATE_EPOCH", epoch.to_string()))?;
    Ok(deb)
}

/// Writes `SHA256SUMS` of these files; its text.
pub fn sums(out: &Path, made: &[PathBuf]) -> Result<String> {
    let names = made.iter().map(|path| name(path)).collect::<Result<Vec<_>>>()?;
    let text = output(Command::new("sha256sum").args(names).current_dir(out))?;
    fs::write(out.join(super::SUMS), &text)?;
    Ok(text)
}

fn name(path: &Path) -> Result<String> {
    Ok(path.file_name().context("a path without a name")?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::answers;

    #[test]
    fn the_bytes_depend_on_names_and_contents_alone() {
        let base = std::env::temp_dir().join(format!("ouzel-dist-{}", std::process::id()));
        let packed = [["b", "a"], ["a", "b"]].map(|order| {
            let folder = base.join(order[0]).join("n");
            fs::create_dir_all(&folder).unwrap();
            for name in order {
                fs::write(folder.join(name), name).unwrap();
            }
            let mode = if order[0] == "a" { 0o600 } else { 0o664 };
            fs::set_permissions(folder.join("a"), fs::Permissions::from_mode(mode)).unwrap();
            fs::read(tar_xz(&folder, folder.parent().unwrap(), 1_700_000_000).unwrap()).unwrap()
        });
        fs::remove_dir_all(&base).unwrap();
        assert_eq!(packed[0], packed[1]);
    }

    #[test]
    fn a_debian_package_has_what_policy_asks_for() {
        if !answers(Command::new("dpkg-deb").arg("--version")) {
            println!("skipped: no dpkg-deb");
            return;
        }
        let base = std::env::temp_dir().join(format!("ouzel-deb-{}", std::process::id()));
        let staged = base.join("staged");
        let files = [
            ("bin/ouzel", "#!/bin/sh\n"),
            ("lib/ouzel/libouzel_record.so", "library"),
            ("share/man/man1/ouzel.1", ".TH OUZEL 1\n"),
            ("share/doc/ouzel/LICENSE-MIT", "the MIT license"),
            ("share/doc/ouzel/LICENSE-APACHE", "the Apache license"),
            ("share/doc/ouzel/CHANGELOG.md", "changes"),
        ];
        for (name, text) in files {
            let path = staged.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let made = deb(&staged, &base, "1.2.3", 1_700_000_000).unwrap();
        let field =
            |name: &str| output(Command::new("dpkg-deb").arg("--field").arg(&made).arg(name)).unwrap();
        assert_eq!(field("Version").trim(), "1.2.3");
        assert!(field("Depends").contains("libc6 (>= 2.17)"));
        let contents = output(Command::new("dpkg-deb").arg("--contents").arg(&made)).unwrap();
        for name in [
            "man1/ouzel.1.gz",
            "doc/ouzel/changelog.gz",
            "doc/ouzel/CHANGELOG.md.gz",
            "doc/ouzel/copyright",
            "overrides/ouzel",
        ] {
            assert!(contents.contains(name), "{name} in {contents}");
        }
        assert!(!contents.contains("LICENSE-APACHE"), "{contents}");
        fs::remove_dir_all(base).unwrap();
    }
}
