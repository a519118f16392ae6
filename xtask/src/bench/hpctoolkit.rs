//! Databases of HPCToolkit: samples per second, from the file to columns, to a profile and to a report; and which of very
//! many locations are alike, and where they lose time.

use super::measure::{Contender, RunCost, alternate, cost, median};
use super::table::{Row, Target};
use crate::runner::run;
use crate::workspace;
use anyhow::{Context, Result};
use ouzel_testkit::hpctoolkit::{DatabaseShape, write_database};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The database of a shape, written unless it is there.
fn database(root: &Path, shape: DatabaseShape, size: &str) -> Result<PathBuf> {
    let folder = workspace::cache(root).join("bench");
    fs::create_dir_all(&folder).context("cannot write into the cache folder")?;
    let DatabaseShape { n_ranks, n_samples, n_phases, n_iterations } = shape;
    let path = folder.join(format!("hpctoolkit-{n_ranks}-{n_samples}-{n_phases}-{n_iterations}.d"));
    if !path.exists() {
        println!("writing a database of {size}");
        let half = path.with_extension("half");
        drop(fs::remove_dir_all(&half));
        write_database(&half, shape)?;
        fs::rename(&half, &path)?;
    }
    Ok(path)
}

/// Seconds that `clusters` and `segments` may take together, with two threads, and bytes that each may take.
const MANY_SECONDS: f64 = 40.0;
const MANY_BYTES: f64 = 1e9;

/// Rows for 100,000 locations of 1,000 samples, or a hundredth of the locations: phases in order and in any order.
pub fn many_locations(root: &Path, ouzel: &Path, quick: bool) -> Result<Vec<Row>> {
    let (n_ranks, size) = if quick { (1_000, "1,000 x 1,000") } else { (100_000, "100,000 x 1,000") };
    let mut rows = Vec::new();
    for (n_phases, n_iterations, order) in [(10, 20, "in order"), (200, 0, "in any order")] {
        let shape = DatabaseShape { n_ranks, n_samples: 1_000, n_phases, n_iterations };
        let path = database(root, shape, size)?;
        println!("measuring clusters and segments of {size} samples");
        let run = |command: &str, format: &str| {
            let arguments = [command.as_ref(), path.as_os_str(), "--jobs".as_ref(), "2".as_ref()];
            cost(root, ouzel, &[&arguments[..], &["--format".as_ref(), format.as_ref()]].concat())
        };
        let [profile, clusters, segments] =
            [run("profile", "table")?, run("clusters", "table")?, run("segments", "table")?];
        // As JSON, segments also name iterations, for which the trace is read once more.
        let as_json = run("segments", "json")?;
        for (command, taken) in
            [("clusters", &clusters), ("segments", &segments), ("segments --format json", &as_json)]
        {
            let RunCost { cpu_seconds, wall_seconds, .. } = taken;
            let what = format!("ouzel {command} --jobs 2, phases {order}: {cpu_seconds:.1} s of processors");
            let ratio = cpu_seconds / profile.cpu_seconds;
            rows.push(Row::timed(&what, size, *wall_seconds).compared("profile's processors", ratio));
        }
        let seconds = clusters.wall_seconds + segments.wall_seconds;
        rows.push(Row::duration("both together", size, seconds, Target::Below(MANY_SECONDS)));
        let peak = clusters.peak_bytes.max(segments.peak_bytes);
        rows.push(Row::memory("the greater peak memory", size, peak, Target::Below(MANY_BYTES)));
    }
    Ok(rows)
}

/// The rows of the table.
pub fn rows(root: &Path, ouzel: &Path, quick: bool, rounds: usize) -> Result<Vec<Row>> {
    let example =
        ["build", "--release", "--quiet", "--package", "ouzel-formats", "--example", "count_samples"];
    let ran = run(Command::new(workspace::cargo()).current_dir(root).args(example))?;
    anyhow::ensure!(ran.status.success(), "cargo {} failed", example.join(" "));
    let count = workspace::target(root)?.join("release/examples/count_samples");
    let (n_each, size) = if quick { (1_500_000, "6M samples") } else { (15_000_000, "60M samples") };
    let shape = DatabaseShape { n_ranks: 4, n_samples: n_each, n_phases: 200, n_iterations: 0 };
    let path = database(root, shape, size)?;
    let n_samples = u64::from(shape.n_ranks) * n_each;
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
