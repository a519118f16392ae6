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

/// A Debian package with the same files below `/usr`.
pub fn deb(folder: &Path, out: &Path, version: &str, epoch: u64) -> Result<PathBuf> {
    let package = folder.with_file_name("deb");
    if package.exists() {
        fs::remove_dir_all(&package)?;
    }
    fs::create_dir_all(package.join("DEBIAN"))?;
    must(Command::new("cp").arg("-R").arg(folder).arg(package.join("usr")))?;
    let doc = package.join("usr/share/doc/ouzel");
    let copyright = ["LICENSE-MIT", "LICENSE-APACHE"].map(|name| fs::read_to_string(doc.join(name)));
    let [mit, apache] = copyright;
    fs::write(doc.join("copyright"), format!("{}\n{}", mit?, apache?))?;
    let control = format!(
        "Package: ouzel\nVersion: {version}\nArchitecture: amd64\nMaintainer: The Ouzel developers <ouzel@localhost>\n\
         Section: devel\nPriority: optional\nDescription: finds where parallel programs lose time\n \
         Ouzel reads traces and profiles of parallel programs (OTF2, HPCToolkit, CUBE,\n Nsight Systems, Projections, \
         Chrome) and says where time is lost, in which\n ranks, and what a change would gain.\n"
    );
    fs::write(package.join("DEBIAN/control"), control)?;
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
    fs::write(out.join("SHA256SUMS"), &text)?;
    Ok(text)
}

fn name(path: &Path) -> Result<String> {
    Ok(path.file_name().context("a path without a name")?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
