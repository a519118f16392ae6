//! The static binary and the recorder on a kernel that knows no system call which came after Linux 3.10.
//!
//! ```text
//! archive ──unpack──► ouzel ──old_kernel.py──► report, profile, view, record: each newer call answers ENOSYS
//! ```

use crate::runner::answers;
use crate::steps::{Context, Outcome};
use crate::{dist, workspace};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The first word is the program.
const USES: [&[&str]; 5] = [
    &["ouzel", "report", "testdata/pmpi-masterio"],
    &["ouzel", "profile", "testdata/pmpi-masterio", "--format", "json"],
    &["ouzel", "view", "testdata/pmpi-masterio", "-o", "OUT/view.html"],
    &[
        "ouzel",
        "record",
        "-o",
        "OUT/run",
        "--sample",
        "1000",
        "--",
        "perl",
        "-e",
        "$s += $_ for 1 .. 6000000",
    ],
    &["ouzel", "report", "OUT/run"],
];

/// Uses what `cargo xtask dist` makes for this processor.
pub fn use_all(context: &Context) -> Result<Outcome> {
    if std::env::consts::ARCH != "x86_64" {
        return Ok(Outcome::Skipped("the list of system calls is that of x86-64".to_owned()));
    }
    let filter = context.root.join("xtask/src/trials/old_kernel.py");
    if !answers(Command::new("python3").arg(&filter).arg("true")) {
        return Ok(Outcome::Skipped("no Python, or a kernel without filters of system calls".to_owned()));
    }
    let place = workspace::target(&context.root)?.join("trials/old-kernel");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let made = dist::made(&context.root)?;
    let is_archive = |path: &&std::path::PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".tar.xz") && name.contains("x86_64")
    };
    let archive = made.iter().find(is_archive).context("dist made no archive for x86-64")?;
    let mut tar = Command::new("tar");
    let status = tar.arg("-xJf").arg(archive).args(["--strip-components=1", "-C"]).arg(&place).status()?;
    ensure!(status.success(), "tar ended with {status}");
    for words in USES {
        run(context, &filter, &place, words)?;
    }
    let page = fs::read_to_string(place.join("view.html"))?;
    ensure!(page.contains("</html>"), "the view is no page");
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    Ok(Outcome::Passed(vec![format!("{name}: report, profile, view and record")]))
}

fn run(context: &Context, filter: &Path, place: &Path, words: &[&str]) -> Result<()> {
    let (program, words) = words.split_first().context("a use names a program")?;
    let mut command = Command::new("timeout");
    command.args(["120", "python3"]).arg(filter).arg(place.join("bin").join(program));
    command.args(words.iter().map(|word| word.replace("OUT", &place.display().to_string())));
    let ran = command.current_dir(&context.root).output()?;
    let said = String::from_utf8_lossy(&ran.stderr);
    ensure!(ran.status.success(), "{command:?} ended with {}\n{said}", ran.status);
    Ok(())
}
