//! What `ouzel record` costs the program it records, in turn with the bare program and with other tools.
//!
//! The figure is the processor time that the program itself measures between its first and its last step, over all ranks:
//! start-up of the launcher and making of the archive are not in it, and waiting for a processor that others have is not.

use super::measure::median;
use super::table::{Row, Target};
use crate::{runner, workspace};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Longer than one run takes.
const SECONDS: u32 = 300;
/// Steps and work of each; a step takes about 0.1 ms, so that a rank makes about 10⁴ calls a second.
const STEPS: &str = "30000";
const WORK: &str = "55000";
const RANKS: &str = "2";
/// Threads of the run that says what a thread takes.
const THREADS: usize = 65;
const STEPS_OF_THREADS: &str = "200";

/// What the program prints.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Cost {
    processor_seconds: f64,
    peak_bytes: f64,
    calls_per_second: f64,
}

/// A way to run the program.
struct Tool {
    name: String,
    /// What comes before the launcher.
    before: Vec<PathBuf>,
    /// What the program is asked for beside its usual work.
    after: Option<&'static str>,
    /// What it may cost of the bare program's time.
    target: Option<Target>,
    is_ouzel: bool,
}

impl Tool {
    fn is_bare(&self) -> bool {
        self.before.is_empty() && self.after.is_none()
    }
}

/// The rows of the table; what is skipped goes to `skipped`.
pub fn rows(root: &Path, ouzel: &Path, rounds: usize, skipped: &mut Vec<String>) -> Result<Vec<Row>> {
    let starts = |program: &str| runner::answers(Command::new(program).arg("--version"));
    if !starts("mpicc") || !starts("mpirun") {
        println!("skipped: the recorder: no mpicc or mpirun");
        skipped.push("the recorder: no mpicc or mpirun".to_owned());
        return Ok(Vec::new());
    }
    let folder = workspace::cache(root).join("bench/record");
    fs::create_dir_all(&folder)?;
    let program = folder.join("overhead");
    let source = root.join("zoo/record/overhead.c");
    let compiled =
        Command::new("mpicc").args(["-O2", "-pthread"]).arg(&source).arg("-o").arg(&program).status();
    anyhow::ensure!(compiled.context("cannot start mpicc")?.success(), "cannot compile {}", source.display());
    let tools = tools(ouzel, &folder, skipped);
    let bench = RecordBench { program, folder };
    let rows = [bench.processor_time(&tools, rounds)?, bench.memory(&tools)?].concat();
    fs::remove_dir_all(&bench.folder)?;
    Ok(rows)
}

fn tools(ouzel: &Path, folder: &Path, skipped: &mut Vec<String>) -> Vec<Tool> {
    let words = |words: &[&str]| words.iter().map(PathBuf::from).collect::<Vec<_>>();
    let record = |rate: &str, target: f64| Tool {
        name: match rate {
            "off" => "ouzel record --sample off: MPI alone".to_owned(),
            rate => format!("ouzel record --sample {rate}"),
        },
        before: [
            vec![ouzel.to_owned()],
            words(&["record", "--quiet", "--sample", rate, "-o"]),
            vec![folder.join("run")],
            words(&["--"]),
        ]
        .concat(),
        after: None,
        target: Some(Target::AtMost(target)),
        is_ouzel: true,
    };
    let itself = |name: &str, after: Option<&'static str>| {
        let name = name.to_owned();
        Tool { name, before: Vec::new(), after, target: None, is_ouzel: false }
    };
    let bare = itself("the bare program", None);
    let mut tools = vec![bare, record("off", 0.01), record("200", 0.01), record("1000", 0.03)];
    // What no sampler by signals can be below.
    tools.push(itself(
        "the program with 1,000 signals a second, and a handler that does nothing",
        Some("1000"),
    ));
    if runner::answers(
        Command::new("perf").args(["record", "-o"]).arg(folder.join("try")).args(["--", "true"]),
    ) {
        tools.extend(["200", "1000"].map(|rate| {
            Tool {
                name: format!("perf record -F {rate} --call-graph fp"),
                before: [
                    words(&["perf", "record", "-q", "-F", rate, "--call-graph", "fp", "-o"]),
                    vec![folder.join("perf.data")],
                    words(&["--"]),
                ]
                .concat(),
                after: None,
                target: None,
                is_ouzel: false,
            }
        }));
    } else {
        skipped.push("perf record: it is not there, or may not record here".to_owned());
    }
    if runner::answers(Command::new("eztrace").arg("-h")) {
        let before = [words(&["eztrace", "-t", "mpi", "-o"]), vec![folder.join("eztrace")]].concat();
        let name = "eztrace -t mpi".to_owned();
        tools.push(Tool { name, before, after: None, target: None, is_ouzel: false });
    } else {
        skipped.push("eztrace: it is not there".to_owned());
    }
    tools
}

struct RecordBench {
    program: PathBuf,
    folder: PathBuf,
}

impl RecordBench {
    fn cost(&self, tool: &Tool, ranks: &str, arguments: &[&str]) -> Result<Cost> {
        let launch = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", ranks].map(PathBuf::from);
        let words = tool.before.iter().chain(&launch).chain([&self.program]).map(|word| word.as_os_str());
        let words: Vec<&OsStr> =
            words.chain(arguments.iter().copied().chain(tool.after).map(OsStr::new)).collect();
        let mut command = runner::bounded(SECONDS, Path::new(words[0]));
        let said = runner::output(command.args(&words[1..]))?;
        // Others write to standard output, too.
        let line = said.lines().find(|line| line.starts_with('{'));
        let _ = fs::remove_dir_all(self.folder.join("run"));
        let _ = fs::remove_dir_all(self.folder.join("eztrace"));
        serde_json::from_str(line.context("the program prints what it took")?).context("it prints JSON")
    }

    /// Of each tool, the median of what it takes beyond the bare program, which runs before and after it in each round.
    fn processor_time(&self, tools: &[Tool], rounds: usize) -> Result<Vec<Row>> {
        println!("measuring {} ways to record", tools.len());
        let mut rates = Vec::new();
        let mut times = vec![Vec::with_capacity(rounds); tools.len()];
        let mut parts = times.clone();
        let mut run = |tool: &Tool| -> Result<f64> {
            let cost = self.cost(tool, RANKS, &["1", STEPS, WORK])?;
            rates.extend(tool.is_bare().then_some(cost.calls_per_second));
            Ok(cost.processor_seconds)
        };
        // The first round warms up.
        for round in 0..=rounds {
            let mut before = run(&tools[0])?;
            for (nth, tool) in tools.iter().enumerate().skip(1) {
                let own = run(tool)?;
                let after = run(&tools[0])?;
                if 0 < round {
                    times[nth].push(own);
                    parts[nth].push(own / before.midpoint(after) - 1.0);
                    times[0].push(after);
                }
                before = after;
            }
        }
        let on = format!("{RANKS} ranks, {:.1} · 10³ calls/s each", median(&rates) / 1e3);
        let row = |(tool, (times, parts)): (&Tool, (&Vec<f64>, &Vec<f64>))| {
            let row = Row::timed(&tool.name, &on, median(times));
            if tool.is_bare() { row } else { row.beyond("bare", median(parts), tool.target) }
        };
        Ok(tools.iter().zip(times.iter().zip(&parts)).map(row).collect())
    }

    /// What a process and each of its threads take beyond the bare program, at the usual rate.
    fn memory(&self, tools: &[Tool]) -> Result<Vec<Row>> {
        let peak = |tool: &Tool, n_threads: usize| -> Result<f64> {
            Ok(self.cost(tool, "1", &[&n_threads.to_string(), STEPS_OF_THREADS, WORK])?.peak_bytes)
        };
        let mut rows = Vec::new();
        for tool in tools.iter().filter(|tool| tool.is_ouzel) {
            let one = peak(tool, 1)? - peak(&tools[0], 1)?;
            let more = peak(tool, THREADS)? - peak(&tools[0], THREADS)?;
            let of_thread = (more - one) / (THREADS - 1) as f64;
            let what = |of: &str| format!("{}: memory of {of}", tool.name);
            let on = format!("1 rank, 1 and {THREADS} threads");
            rows.push(Row::memory(&what("a process"), &on, one, Target::Below(20e6)));
            let megabytes = |bytes: f64| format!("{:.2} MB", bytes / 1e6);
            let row = Row::said(&format!("{}: {}", what("each further thread"), megabytes(of_thread)), &on);
            rows.push(row.and("a thread", Target::Below(1e6), of_thread, megabytes));
        }
        Ok(rows)
    }
}
