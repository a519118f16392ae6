//! What `cargo xtask dist` makes, installed into empty systems and used as a new user would.
//!
//! ```text
//! debootstrap ──► root of a release of Debian ──copy──► one root for each artifact ──chroot──► report, record, view
//! ```
//!
//! Law: nothing is installed into such a root but the artifact and, for the wheel, Python.

use crate::runner::{answers, bounded};
use crate::steps::{Context, Outcome};
use crate::stopwatch::Stopwatch;
use crate::{dist, workspace};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Releases of Debian, oldest first, and whether their Python is new enough for the wheel.
const RELEASES: [(&str, bool); 3] = [("bullseye", false), ("bookworm", true), ("trixie", true)];
/// What every user does first. Perl is the one program with a loop that the smallest system has.
const USE: &str = "\
set -e
ouzel report /trace > /report.txt
ouzel view /trace -o /view.html
ouzel record -o /run --sample 1000 -- perl -e 'my $s = 0; $s += $_ * $_ for 1 .. 6000000; print \"done\\n\"' > /said.txt 2> /record.txt
grep -q '^done$' /said.txt
ouzel profile /run > /profile.txt
";

/// The blocks of the tutorial, from top to bottom, by the Python that is first on the path.
pub const TUTORIAL: &str = "\
cd / && python -c '
import re
text = open(\"/docs/tutorial.md\").read()
blocks, names = re.findall(r\"^```python\\n(.*?)^```$\", text, re.M | re.S), {}
assert len(blocks) > 5
for block in blocks:
    exec(block, names)
' > /tutorial.txt
";

/// Installs each artifact into each system.
pub fn install_and_use(context: &Context) -> Result<Outcome> {
    if let Some(why) = lacks() {
        return Ok(Outcome::Skipped(why));
    }
    let place = workspace::target(&context.root)?.join("trials/roots");
    fs::create_dir_all(&place)?;
    let artifacts = dist::made(&context.root)?;
    let (mut lines, mut failed) = (Vec::new(), false);
    for (release, has_python) in RELEASES {
        let packages = has_python.then_some("python3-venv");
        let base = match empty_system(&place, release, release, packages) {
            Ok(base) => base,
            Err(why) => {
                lines.push(format!("skipped: {release}: {why:#}"));
                continue;
            }
        };
        for artifact in &artifacts {
            let Some(trial) = Trial::of(artifact, has_python) else { continue };
            let name = artifact.file_name().unwrap_or_default().to_string_lossy();
            match trial.run(context, &base, artifact) {
                Ok(line) => lines.push(format!("{release}: {name}: {line}")),
                Err(why) => {
                    failed = true;
                    lines.push(format!("{release}: {name}: FAILED: {why:#}"));
                }
            }
        }
    }
    Ok(if failed { Outcome::Failed(lines) } else { Outcome::Passed(lines) })
}

/// Why no root can be made here.
pub fn lacks() -> Option<String> {
    if !answers(Command::new("debootstrap").arg("--version")) {
        return Some("no debootstrap".to_owned());
    }
    let may_mount = answers(Command::new("unshare").args(["--mount", "true"]));
    (!may_mount).then(|| "not root, who alone may change the root of a program".to_owned())
}

/// How one kind of artifact is installed.
enum Trial {
    Archive,
    Package,
    Wheel,
}

impl Trial {
    fn of(artifact: &Path, has_python: bool) -> Option<Self> {
        // That of another processor has a trial of its own; what needs musl finds none in Debian.
        let name = artifact.file_name()?.to_str()?;
        if name.contains("aarch64") || name.contains("musllinux") {
            return None;
        }
        match artifact.extension()?.to_str()? {
            "xz" => Some(Self::Archive),
            "deb" => Some(Self::Package),
            "whl" if has_python => Some(Self::Wheel),
            _ => None,
        }
    }

    /// Installs into a copy of the empty system, uses it, and says how long it took to the first finding.
    fn run(&self, context: &Context, base: &Path, artifact: &Path) -> Result<String> {
        let root = base.with_extension("tried");
        let _ = fs::remove_dir_all(&root);
        command("cp", &["-a", "--reflink=auto"], &[base, &root])?;
        command("cp", &["-R"], &[&context.root.join("testdata/pmpi-masterio"), &root.join("trace")])?;
        let name = artifact.file_name().context("an artifact has a name")?;
        fs::copy(artifact, root.join(name))?;
        let name = name.to_string_lossy();
        let clock = Stopwatch::start();
        let path = match self {
            Self::Archive => {
                // The smallest systems have tar, but no xz.
                command("tar", &["-xJf"], &[artifact, Path::new("-C"), &root.join("opt")])?;
                format!("/opt/{}/bin", name.trim_end_matches(".tar.xz"))
            }
            Self::Package => {
                inside(&root, "/usr/bin", &format!("dpkg --install /{name}"))?;
                "/usr/bin".to_owned()
            }
            Self::Wheel => {
                let install =
                    format!("python3 -m venv /venv && /venv/bin/pip install --quiet --no-index /{name}");
                inside(&root, "/usr/bin", &install)?;
                "/venv/bin".to_owned()
            }
        };
        inside(&root, &path, "ouzel report /trace > /first.txt")?;
        let to_first_finding = clock.elapsed();
        inside(&root, &path, USE)?;
        self.check(context, &root, &path)?;
        fs::remove_dir_all(&root)?;
        Ok(format!("first finding {:.1} s after the download", to_first_finding.as_secs_f64()))
    }

    /// What was written says something, and each kind holds what it promises.
    fn check(&self, context: &Context, root: &Path, path: &str) -> Result<()> {
        let read = |name: &str| fs::read_to_string(root.join(name)).with_context(|| name.to_owned());
        let report = read("report.txt")?;
        ensure!(report.contains("can be recovered"), "the report has no finding:\n{report}");
        ensure!(read("view.html")?.contains("</html>"), "the view is no page");
        let profile = read("profile.txt")?;
        ensure!(
            profile.contains("perl"),
            "the recorded run shows no program:\n{profile}{}",
            read("record.txt")?
        );
        match self {
            Self::Archive => Ok(()),
            Self::Package => {
                let leaves = "test -s /usr/share/man/man1/ouzel.1.gz && dpkg --purge ouzel && ! test -e /usr/bin/ouzel \
                              && ! test -e /usr/lib/ouzel";
                inside(root, path, leaves).map(drop)
            }
            Self::Wheel => {
                bring_tutorial(&context.root, root)?;
                inside(root, path, TUTORIAL).map(drop)
            }
        }
    }
}

/// The page and the trace that it opens, where a checkout has them.
pub fn bring_tutorial(repository: &Path, root: &Path) -> Result<()> {
    for (name, folder) in [("docs/tutorial.md", "docs"), ("testdata/zoo/serialised_output", "testdata/zoo")] {
        fs::create_dir_all(root.join(folder))?;
        command("cp", &["-R"], &[&repository.join(name), &root.join(folder)])?;
    }
    Ok(())
}

/// The root of a system with nothing in it but these packages, kept for the next run.
pub fn empty_system(place: &Path, name: &str, release: &str, packages: Option<&str>) -> Result<PathBuf> {
    /// For releases that this system's debootstrap does not know yet.
    const OF_ANY_RELEASE: &str = "/usr/share/debootstrap/scripts/sid";
    let base = place.join(name);
    if base.join("complete").exists() {
        return Ok(base);
    }
    let _ = fs::remove_dir_all(&base);
    let mut debootstrap = bounded(1800, Path::new("debootstrap"));
    debootstrap.arg("--variant=minbase");
    debootstrap.args(packages.map(|names| format!("--include={names}")));
    debootstrap.arg(release).arg(&base);
    let is_known = Path::new("/usr/share/debootstrap/scripts").join(release).exists();
    match mirror() {
        Some(mirror) if is_known => drop(debootstrap.arg(mirror)),
        Some(mirror) => drop(debootstrap.args([&mirror, OF_ANY_RELEASE])),
        None => ensure!(is_known, "debootstrap does not know {release}, and no mirror of Debian is set here"),
    }
    let made = debootstrap.output()?;
    succeeded(&made, "debootstrap")?;
    fs::write(base.join("complete"), "")?;
    Ok(base)
}

/// Where this system gets its packages, if it is a Debian.
pub fn mirror() -> Option<String> {
    let folder =
        fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten().map(|entry| entry.path());
    let texts = folder
        .chain([PathBuf::from("/etc/apt/sources.list")])
        .filter_map(|path| fs::read_to_string(path).ok());
    let words = texts.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    words.into_iter().find(|word| word.starts_with("http") && word.trim_end_matches('/').ends_with("/debian"))
}

/// Runs a script with this root and this path; a failure has what it said.
fn inside(root: &Path, path: &str, script: &str) -> Result<String> {
    inside_for(600, root, path, script)
}

/// As [`inside`], with a time after which it is ended.
pub fn inside_for(seconds: u32, root: &Path, path: &str, script: &str) -> Result<String> {
    let chroot = format!(
        "mount -t proc proc {root}/proc && exec chroot {root} /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 \
         PATH={path}:/usr/sbin:/usr/bin:/sbin:/bin sh -c \"$1\"",
        root = root.display()
    );
    let mut unshare = bounded(seconds, Path::new("unshare"));
    unshare.args(["--mount", "--propagation", "private", "sh", "-c", &chroot, "sh", script]);
    let ran = unshare.output().context("cannot start unshare")?;
    succeeded(&ran, script)?;
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// Runs a program that must succeed, with paths after its options.
pub fn command(program: &str, options: &[&str], paths: &[&Path]) -> Result<()> {
    let ran = Command::new(program).args(options).args(paths).output()?;
    succeeded(&ran, program)
}

fn succeeded(ran: &Output, what: &str) -> Result<()> {
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    ensure!(
        ran.status.success(),
        "{what} ended with {}: {} {}",
        ran.status,
        said(&ran.stdout),
        said(&ran.stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_systems_get_no_wheel() {
        assert!(Trial::of(Path::new("ouzel-1.0-cp310-abi3-x.whl"), false).is_none());
        assert!(matches!(Trial::of(Path::new("ouzel-1.0-cp310-abi3-x.whl"), true), Some(Trial::Wheel)));
        assert!(matches!(Trial::of(Path::new("ouzel-1.0-x86_64.tar.xz"), false), Some(Trial::Archive)));
        assert!(Trial::of(Path::new("ouzel-1.0.tar.gz"), true).is_none());
        assert!(Trial::of(Path::new("ouzel-1.0-aarch64.tar.xz"), true).is_none());
        assert!(Trial::of(Path::new("ouzel-1.0-cp310-abi3-musllinux_1_2_x86_64.whl"), true).is_none());
        assert!(Trial::of(Path::new("SHA256SUMS"), true).is_none());
    }
}
