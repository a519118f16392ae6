//! Databases of HPCToolkit: samples per second, from the file to columns, to a profile and to a report.

use super::measure::{Contender, alternate, median};
use super::table::{Row, Target};
use crate::runner::run;
use crate::workspace;
use anyhow::{Context, Result};
use ouzel_testkit::hpctoolkit::{DatabaseShape, write_database};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A database of 60 M samples, or a tenth of it.
fn database(root: &Path, quick: bool) -> Result<(PathBuf, u64, &'static str)> {
    let (n_samples, size) = if quick { (1_500_000, "6M samples") } else { (15_000_000, "60M samples") };
    let folder = workspace::cache(root).join("bench");
    fs::create_dir_all(&folder).context("cannot write into the cache folder")?;
    let path = folder.join(format!("hpctoolkit-{n_samples}.d"));
    let shape = DatabaseShape { n_ranks: 4, n_samples, n_phases: 200 };
    if !path.exists() {
        println!("writing a database of {size}");
        let half = path.with_extension("half");
        drop(fs::remove_dir_all(&half));
        write_database(&half, shape)?;
        fs::rename(&half, &path)?;
    }
    Ok((path, u64::from(shape.n_ranks) * n_samples, size))
}

/// The rows of the table.
pub fn rows(root: &Path, ouzel: &Path, quick: bool, rounds: usize) -> Result<Vec<Row>> {
    let example =
        ["build", "--release", "--quiet", "--package", "ouzel-formats", "--example", "count_samples"];
    let ran = run(Command::new(workspace::cargo()).current_dir(root).args(example))?;
    anyhow::ensure!(ran.status.success(), "cargo {} failed", example.join(" "));
    let count = workspace::target(root)?.join("release/examples/count_samples");
    let (path, n_samples, size) = database(root, quick)?;
    let ask = |command: &str| {
        [command.into(), path.clone(), "--jobs".into(), "1".into(), "--format".into(), "json".into()]
    };
    let contenders = [
        Contender::whole_process(&count, [path.clone()]),
        Contender::whole_process(ouzel, ask("profile")),
        Contender::whole_process(ouzel, ask("report")),
    ];
    println!("measuring {} contenders on {size}", contenders.len());
    let runs = alternate(&contenders, rounds)?;
    let [read, profile, report] = [0, 1, 2].map(|i| median(&runs[i]));
    Ok(vec![
        Row::speed("samples of HPCToolkit into columns, one core", size, read, n_samples)
            .at_rate(n_samples as f64 / read, Target::AtLeast(50e6)),
        Row::speed("ouzel profile --jobs 1, HPCToolkit", size, profile, n_samples),
        Row::speed("ouzel report --jobs 1, HPCToolkit", size, report, n_samples).beside(
            "profile's time",
            report / profile,
            Target::AtMost(6.0),
        ),
    ])
}
