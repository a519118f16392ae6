//! Every command on a run of many ranks: nothing may grow with the square of their number, or with ranks × bins.
//!
//! Each answer is requested in the most expensive form: JSON, or a picture. `calls`, `print` and `convert` are not
//! measured: their answers are as long as the trace and are written as it is read.

use super::Bench;
use super::archives;
use super::table::{Row, Target};
use crate::runner::output;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// Events and ranks of the archive: a stencil on a grid, in which each rank talks to four others.
const EVENTS: &str = "12M";
const RANKS: &str = "16384";

/// How many times the profile's time a command may take. The second pass of the diagnosis pairs all messages.
const TIMES_PROFILE_MAX: f64 = 20.0;
const MEMORY_BYTES_MAX: f64 = 300e6;
const ANSWER_BYTES_MAX: f64 = 50e6;

/// Words of the commands; a picture's name represents a file.
const COMMANDS: &[&[&str]] = &[
    &["info"],
    &["profile", "--per", "rank"],
    &["profile", "--call-paths"],
    &["report"],
    &["report", "--output", "page.html"],
    &["segments"],
    &["clusters"],
    &["iterations"],
    &["timeline"],
    &["timeline", "--plot", "timeline.svg"],
    &["time-profile"],
    &["time-profile", "--plot", "time-profile.svg"],
    &["comm-matrix"],
    &["comm-matrix", "--collectives"],
    &["comm-matrix", "--plot", "comm-matrix.svg"],
    &["messages"],
    &["comm-by-process", "--plot", "comm-by-process.svg"],
    &["comm-over-time", "--plot", "comm-over-time.svg"],
    &["counters-over-time"],
    &["breakdown", "--plot", "breakdown.svg"],
    &["imbalance", "--plot", "imbalance.svg"],
    &["idle", "--plot", "idle.svg"],
    &["kernels"],
    &["critical-path", "--plot", "critical-path.svg"],
    &["lateness", "--plot", "lateness.svg"],
    &["efficiency", "--per", "segment"],
    &["waits", "--per", "rank"],
    &["what-if", "--plot", "what-if.svg"],
    &["patterns"],
    &["call-tree"],
    &["causes"],
    &["correlate", "--metric", "time", "--plot", "correlate.svg"],
];

/// The output of `costs.py` for a run.
#[derive(Deserialize)]
struct Costs {
    seconds: f64,
    peak_bytes: f64,
    answer_bytes: f64,
}

/// The rows of the table.
pub fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let anchor = archives::anchor_of_ranks(&bench.root, EVENTS, RANKS)?;
    let folder = pictures_folder(&bench.root)?;
    println!("measuring {} commands on {EVENTS} events of {RANKS} ranks", COMMANDS.len());
    let profile = costs(bench, &anchor, &folder, &["profile"])?;
    let mut rows = vec![row("ouzel profile", &profile, None)];
    for words in COMMANDS {
        let of_command = costs(bench, &anchor, &folder, words)?;
        let what = format!("ouzel {}", words.join(" "));
        rows.push(row(&what, &of_command, Some(profile.seconds)));
    }
    Ok(rows)
}

fn row(what: &str, costs: &Costs, profile_seconds: Option<f64>) -> Row {
    let megabytes = |n_bytes: f64| format!("{:.0} MB", n_bytes / 1e6);
    let what =
        format!("{what}: answer {:.1} MB, memory {}", costs.answer_bytes / 1e6, megabytes(costs.peak_bytes));
    let on = format!("{EVENTS}, {RANKS} ranks");
    let row = Row::timed(&what, &on, costs.seconds);
    let row = match profile_seconds {
        Some(profile) => {
            row.beside("profile's time", costs.seconds / profile, Target::AtMost(TIMES_PROFILE_MAX))
        }
        None => row,
    };
    row.and("memory", Target::Below(MEMORY_BYTES_MAX), costs.peak_bytes, megabytes).and(
        "answer",
        Target::Below(ANSWER_BYTES_MAX),
        costs.answer_bytes,
        megabytes,
    )
}

/// Where pictures go, beside the archives.
fn pictures_folder(root: &Path) -> Result<std::path::PathBuf> {
    let folder = crate::workspace::cache(root).join("bench/pictures");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("cannot remove pictures of an older run")?;
    }
    std::fs::create_dir_all(&folder).context("cannot write into the cache folder")?;
    Ok(folder)
}

fn costs(bench: &Bench, anchor: &Path, folder: &Path, words: &[&str]) -> Result<Costs> {
    let mut command = Command::new("python3");
    command.arg(bench.root.join("peers/python/costs.py")).arg(&bench.ours.ouzel).arg(words[0]).arg(anchor);
    command.args(&words[1..]).args(["--jobs", "2"]).current_dir(folder);
    if !words.contains(&"--output") {
        command.args(["--format", "json"]);
    }
    let mut costs: Costs = serde_json::from_str(&output(&mut command)?).context("costs.py prints JSON")?;
    // The answer is the larger of both.
    if let Some(file) = words.iter().find(|word| word.contains('.')) {
        let n_bytes =
            std::fs::metadata(folder.join(file)).with_context(|| format!("no {file} was written"))?.len();
        costs.answer_bytes = costs.answer_bytes.max(n_bytes as f64);
    }
    Ok(costs)
}
