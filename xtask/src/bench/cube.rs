//! Every severity of a generated CUBE profile, beside `pycubexr`.

use super::measure::{Contender, alternate, median, peak_bytes};
use super::table::{Row, Target};
use crate::runner::{output, run};
use crate::workspace;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A profile that is generated: its name, its call paths, locations and metrics, and what the table calls it.
struct Generated {
    name: &'static str,
    size: [&'static str; 3],
    what: &'static str,
}

const SMALL: Generated =
    Generated { name: "generated", size: ["200", "256", "40"], what: "2M values, 16 MB" };
const MIDDLE: Generated =
    Generated { name: "middle", size: ["400", "1024", "40"], what: "16M values, 131 MB" };
const LARGE: Generated = Generated { name: "large", size: ["400", "3600", "40"], what: "460 MB" };
const ROUNDS: usize = 5;
/// How many times as fast we are to be.
const RATIO: f64 = 20.0;

/// Our programs: one writes a profile, one reads it.
pub struct Programs {
    make: PathBuf,
    sum: PathBuf,
}

impl Programs {
    /// The examples of `ouzel-cube`, as they are built.
    pub fn in_folder(examples: &Path) -> Self {
        Programs { make: examples.join("make_cubex"), sum: examples.join("sum_cubex") }
    }
}

/// What `ouzel info` of a large profile may take.
const INFO_SECONDS: f64 = 0.3;
const INFO_BYTES: f64 = 60e6;

impl Generated {
    /// The file in a folder; it is made once.
    fn file(&self, ours: &Programs, folder: &Path) -> Result<PathBuf> {
        let profile = folder.join(self.name).with_extension("cubex");
        if !profile.exists() {
            let half = profile.with_extension("half");
            let made = run(Command::new(&ours.make).arg(&half).args(self.size))?;
            anyhow::ensure!(made.status.success(), "make_cubex failed");
            std::fs::rename(&half, &profile)?;
        }
        Ok(profile)
    }
}

/// `ouzel info` of a large profile, from start to end.
fn info(root: &Path, ouzel: &Path, profile: &Path) -> Result<[Row; 2]> {
    println!("measuring ouzel info of a large CUBE profile");
    let runs = alternate(&[Contender::whole_process(ouzel, ["info".into(), profile.into()])], ROUNDS)?;
    let n_bytes = peak_bytes(root, ouzel, &["info".as_ref(), profile.as_os_str()])?;
    Ok([
        Row::duration("ouzel info, CUBE profile", LARGE.what, median(&runs[0]), Target::AtMost(INFO_SECONDS)),
        Row::memory("the same, peak memory", LARGE.what, n_bytes, Target::Below(INFO_BYTES)),
    ])
}

/// The rows; those beside pycubexr need Python.
pub fn rows(root: &Path, ouzel: &Path, python: Option<&Path>, ours: &Programs) -> Result<Vec<Row>> {
    let folder = workspace::cache(root).join("bench");
    std::fs::create_dir_all(&folder).context("cannot make the folder of generated profiles")?;
    let mut rows = Vec::from(info(root, ouzel, &LARGE.file(ours, &folder)?)?);
    if python.is_none() {
        println!("skipped: pycubexr, for there is no Python environment");
    }
    let script = root.join("peers/python/read_cubex.py");
    let n_cores = std::thread::available_parallelism()?.to_string();
    for (generated, n_threads) in [(&SMALL, "1"), (&MIDDLE, "1"), (&MIDDLE, n_cores.as_str())] {
        let profile = generated.file(ours, &folder)?;
        let peer = python.map(|python| (python, script.as_path()));
        rows.extend(every_severity(peer, &ours.sum, (&profile, generated.what), n_threads)?);
    }
    Ok(rows)
}

/// Every severity of a profile on so many threads, beside pycubexr if it is there.
fn every_severity(
    peer: Option<(&Path, &Path)>,
    ours: &Path,
    (profile, of): (&Path, &'static str),
    n_threads: &str,
) -> Result<Vec<Row>> {
    let said =
        |command: &mut Command| -> Result<serde_json::Value> { Ok(serde_json::from_str(&output(command)?)?) };
    let our_answer = said(Command::new(ours).arg(profile).arg(n_threads))?;
    let n_values = our_answer["n_values"].as_u64().context("sum_cubex says how many values there are")?;
    let what = format!("ouzel-cube, every severity, threads: {n_threads}");
    let mine = Contender::whole_process(ours, [profile.into(), PathBuf::from(n_threads)]);
    let Some((python, script)) = peer else {
        let seconds = median(&alternate(&[mine], ROUNDS)?[0]);
        return Ok(vec![Row::speed(&what, of, seconds, n_values)]);
    };
    let their_answer = said(Command::new(python).arg(script).arg(profile))?;
    let sums = [&our_answer, &their_answer].map(|answer| answer["sum"].as_f64().unwrap_or(f64::NAN));
    let agree =
        our_answer["n_values"] == their_answer["n_values"] && (sums[0] - sums[1]).abs() <= 1e-9 * sums[0];
    anyhow::ensure!(agree, "ouzel-cube and pycubexr read different things: {our_answer} and {their_answer}");
    let runs = alternate(&[mine, Contender::whole_process(python, [script.into(), profile.into()])], ROUNDS)?;
    let (mine, theirs) = (median(&runs[0]), median(&runs[1]));
    Ok(vec![
        Row::speed("pycubexr 2.1.1, every severity", of, theirs, n_values),
        Row::speed(&what, of, mine, n_values).beside("pycubexr", theirs / mine, Target::AtLeast(RATIO)),
    ])
}
