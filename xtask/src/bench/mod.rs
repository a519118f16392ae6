//! `cargo xtask bench`: our speed beside that of the reference libraries, in one table.
//!
//! Everything a ratio is made of runs in the same invocation, in turn, on the same
//! archives, and counts as a whole process from start to end; only the C library's
//! figure is its event loop alone, which is to its advantage. A figure that cannot be
//! measured is a loud line, not a guess. A full run writes `docs/speed.md`. Nothing here is a test.

mod archives;
mod causes;
mod chrome;
mod cluster;
mod correlate;
mod cube;
mod hpctoolkit;
mod hta;
pub mod machine;
mod measure;
mod nsight;
mod operations;
mod page;
mod peers;
mod ranks;
mod record;
mod scale;
mod table;
mod view;

use crate::runner::{output, run as run_command};
use crate::{setup, workspace};
use anyhow::{Context, Result};
use measure::{Contender, alternate, median};
use page::Measured;
use std::path::{Path, PathBuf};
use std::process::Command;
use table::{Row, Target};

/// How much is measured. Quick is for a look while working, full is for publishing.
struct Extent {
    /// Events of the archive that decoding and profile are measured on.
    events: &'static str,
    /// Events of the archive whose memory is measured.
    events_for_memory: &'static str,
    rounds: usize,
    rounds_of_python: usize,
}

const FULL: Extent = Extent { events: "10M", events_for_memory: "50M", rounds: 7, rounds_of_python: 3 };
const QUICK: Extent = Extent { events: "1M", events_for_memory: "1M", rounds: 5, rounds_of_python: 1 };
/// A Python loop takes seconds for this many, so it is compared per event.
const EVENTS_FOR_PYTHON: &str = "1M";
/// About 1 MB of events, to see what a start costs.
const EVENTS_FOR_START_UP: &str = "75K";
const ROUNDS_OF_START_UP: usize = 21;

/// What can be measured separately, in the order of the table.
const SECTIONS: [&str; 16] = [
    "decoding",
    "operations",
    "ranks",
    "cluster",
    "nsight",
    "hpctoolkit",
    "hpctoolkit-ranks",
    "chrome",
    "pytorch-ranks",
    "hta",
    "clustering",
    "causes",
    "correlate",
    "cube",
    "record",
    "view",
];

/// `cargo xtask bench [--quick] [SECTION …]`
pub fn run(arguments: &[String]) -> Result<()> {
    let quick = arguments.iter().any(|word| word == "--quick");
    let wanted: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| *word != "--quick").collect();
    if let Some(word) = wanted.iter().find(|word| !SECTIONS.contains(word)) {
        anyhow::bail!("bench takes --quick and any of {}, not {word:?}", SECTIONS.join(", "));
    }
    let root = workspace::root()?;
    let tools = setup::install(&root)?;
    let ours = build_ours(&root)?;
    let peers = peers::build(&root, tools.python.as_deref())?;
    let extent = if quick { QUICK } else { FULL };
    let bench = Bench { root, extent, ours, peers };
    let mut measured = Vec::new();
    for section in SECTIONS.into_iter().filter(|section| wanted.is_empty() || wanted.contains(section)) {
        let mut skipped = bench.peers.skipped.clone();
        let rows = bench.rows(section, tools.python.as_deref(), quick, &mut skipped)?;
        measured.push(Measured { section, rows, skipped });
    }
    println!("\n{}", machine::line()?);
    for Measured { section, rows, skipped } in &measured {
        println!("\n{section}\n{}", table::render(rows));
        for why in skipped {
            println!("skipped: {why}");
        }
    }
    if quick {
        return Ok(());
    }
    page::write(&bench.root, &measured)
}

struct Ours {
    ouzel: PathBuf,
    count: PathBuf,
    cluster_scale: PathBuf,
    matrix_profile: PathBuf,
    matching: PathBuf,
    cubex: cube::Programs,
    /// Where examples are built.
    examples: PathBuf,
}

fn build_ours(root: &Path) -> Result<Ours> {
    let example = ["build", "--release", "--quiet", "--package", "ouzel-otf2", "--example", "count"];
    let scale = ["build", "--release", "--quiet", "--package", "ouzel", "--example", "cluster_scale"];
    let cubex = ["build", "--release", "--quiet", "--package", "ouzel-cube", "--examples"];
    let patterns = ["build", "--release", "--quiet", "--package", "ouzel-analyses", "--examples"];
    for arguments in [["build", "--release", "--quiet"].as_slice(), &example, &scale, &cubex, &patterns] {
        let ran = run_command(Command::new(workspace::cargo()).args(arguments).current_dir(root))?;
        anyhow::ensure!(ran.status.success(), "cargo {} failed", arguments.join(" "));
    }
    let release = workspace::target(root)?.join("release");
    let cluster_scale = release.join("examples/cluster_scale");
    let cubex = cube::Programs::in_folder(&release.join("examples"));
    Ok(Ours {
        ouzel: release.join("ouzel"),
        count: release.join("examples/count"),
        cluster_scale,
        matrix_profile: release.join("examples/matrix_profile"),
        matching: release.join("examples/matching"),
        cubex,
        examples: release.join("examples"),
    })
}

struct Bench {
    root: PathBuf,
    extent: Extent,
    ours: Ours,
    peers: peers::Peers,
}

impl Bench {
    /// The rows of one of [`SECTIONS`].
    fn rows(
        &self,
        section: &str,
        python: Option<&Path>,
        quick: bool,
        skipped: &mut Vec<String>,
    ) -> Result<Vec<Row>> {
        let (root, ouzel, rounds) = (&self.root, &self.ours.ouzel, self.extent.rounds);
        match section {
            "decoding" => Ok([self.speed()?, self.start_up()?, self.memory()?].concat()),
            "operations" => operations::rows(self, python, skipped),
            "ranks" => ranks::rows(self),
            "cluster" => cluster::rows(self, python, skipped),
            "nsight" => nsight::rows(root, ouzel, quick, rounds),
            "hpctoolkit" => hpctoolkit::rows(root, ouzel, quick, rounds),
            "hpctoolkit-ranks" => hpctoolkit::many_locations(root, ouzel, quick),
            "chrome" => chrome::rows(root, ouzel, quick, rounds, skipped),
            "pytorch-ranks" => chrome::job(root, ouzel, quick),
            "hta" => hta::rows(root, ouzel, skipped),
            "clustering" => scale::rows(&self.ours.cluster_scale, &root.join("peers/python/peak_memory.py")),
            "causes" => causes::rows(root, ouzel, &self.ours.examples),
            "correlate" => correlate::rows(root, quick, rounds, skipped),
            "cube" => cube::rows(root, ouzel, python, &self.ours.cubex),
            "record" => record::rows(root, ouzel, 3 * rounds, skipped),
            "view" => view::rows(root, ouzel, quick, skipped),
            _ => anyhow::bail!("no section {section:?}"),
        }
    }

    fn archive(&self, events: &str) -> Result<PathBuf> {
        archives::anchor(&self.root, events)
    }

    fn profile(&self, anchor: &Path, jobs: &'static str) -> Contender {
        let arguments =
            ["profile".into(), anchor.into(), "--jobs".into(), jobs.into(), "--format".into(), "json".into()];
        Contender::whole_process(&self.ours.ouzel, arguments)
    }

    fn report(&self, anchor: &Path, jobs: &'static str) -> Contender {
        let arguments =
            ["report".into(), anchor.into(), "--jobs".into(), jobs.into(), "--format".into(), "json".into()];
        Contender::whole_process(&self.ours.ouzel, arguments)
    }

    /// Decoding and profile, beside the C library and the Python loop.
    fn speed(&self) -> Result<Vec<Row>> {
        let anchor = self.archive(self.extent.events)?;
        let on = self.extent.events;
        let mut contenders = vec![
            Contender::whole_process(&self.ours.count, [anchor.clone()]),
            self.profile(&anchor, "1"),
            self.profile(&anchor, "2"),
            self.report(&anchor, "1"),
        ];
        let c_programs = [self.peers.c_published.as_ref(), self.peers.c_debian.as_ref()];
        contenders
            .extend(c_programs.into_iter().flatten().map(|program| Contender::c_loop(program, &anchor)));
        println!("measuring {} contenders on {on} events", contenders.len());
        let runs = alternate(&contenders, self.extent.rounds)?;
        let mut medians = runs.iter().map(|seconds| median(seconds));
        let mut next = || medians.next().context("as many medians as contenders");
        let (count, jobs_1, jobs_2, report) = (next()?, next()?, next()?, next()?);
        let published = self.peers.c_published.is_some().then(&mut next).transpose()?;
        let debian = self.peers.c_debian.is_some().then(next).transpose()?;

        let n_events = self.n_events(&anchor)?;
        self.check_count(&anchor, n_events)?;
        let row = |what, seconds| Row::speed(what, on, seconds, n_events);
        let mut rows = Vec::new();
        rows.extend(published.map(|seconds| row("OTF2 C library 3.2 (cc -O2), empty Enter/Leave", seconds)));
        rows.extend(debian.map(|seconds| row("OTF2 C library of Debian, empty Enter/Leave", seconds)));
        let (decode, profile) = ("ouzel-otf2 decoding, 1 thread", "ouzel profile --jobs 1");
        let c = [("C 3.2", published, 7.0, 5.0), ("C Debian", debian, 7.0, 5.0)];
        let c = c
            .into_iter()
            .filter_map(|(name, seconds, decode, profile)| Some((name, seconds?, decode, profile)));
        for (name, seconds, wanted, _) in c.clone() {
            rows.push(row(decode, count).beside(name, seconds / count, Target::AtLeast(wanted)));
        }
        for (name, seconds, _, wanted) in c {
            rows.push(row(profile, jobs_1).beside(name, seconds / jobs_1, Target::AtLeast(wanted)));
        }
        rows.push(row("ouzel profile --jobs 2", jobs_2).beside(
            "--jobs 1",
            jobs_1 / jobs_2,
            Target::AtLeast(1.8),
        ));
        rows.push(row("ouzel report --jobs 1", report).beside(
            "profile's time",
            report / jobs_1,
            Target::AtMost(3.0),
        ));
        rows.extend(self.beside_python(n_events as f64 / jobs_1)?);
        Ok(rows)
    }

    /// The Python loop, and our profile (in events per second) beside it.
    fn beside_python(&self, ours_per_second: f64) -> Result<Vec<Row>> {
        let Some(python) = &self.peers.python else { return Ok(vec![]) };
        let anchor = self.archive(EVENTS_FOR_PYTHON)?;
        let program = self.root.join("peers/python/profile_otf2.py");
        println!("measuring the Python loop on {EVENTS_FOR_PYTHON} events");
        let contender = Contender::whole_process(python, [program, anchor.clone()]);
        let seconds = median(&alternate(&[contender], self.extent.rounds_of_python)?[0]);
        let n_events = self.n_events(&anchor)?;
        let theirs = Row::speed("Python otf2 loop, flat profile", EVENTS_FOR_PYTHON, seconds, n_events);
        let ratio = ours_per_second * seconds / n_events as f64;
        let ours = Row::rate("ouzel profile --jobs 1", self.extent.events, ours_per_second);
        Ok(vec![theirs, ours.beside("Python, per event", ratio, Target::AtLeast(500.0))])
    }

    fn start_up(&self) -> Result<Vec<Row>> {
        let anchor = self.archive(EVENTS_FOR_START_UP)?;
        let info = [PathBuf::from("info"), anchor.clone()];
        let contenders = [Contender::whole_process(&self.ours.ouzel, info), self.profile(&anchor, "1")];
        let runs = alternate(&contenders, ROUNDS_OF_START_UP)?;
        let names = ["ouzel info, 1 MB archive", "ouzel profile --jobs 1, 1 MB archive"];
        let row = |(what, runs): (&str, &Vec<f64>)| {
            Row::duration(what, EVENTS_FOR_START_UP, median(runs), Target::Below(0.020))
        };
        Ok(names.into_iter().zip(&runs).map(row).collect())
    }

    fn memory(&self) -> Result<Vec<Row>> {
        let anchor = self.archive(self.extent.events_for_memory)?;
        let mut rows = Vec::new();
        for (jobs, what) in
            [("1", "ouzel profile --jobs 1, peak memory"), ("2", "ouzel profile --jobs 2, peak memory")]
        {
            let mut command = Command::new("python3");
            command.arg(self.root.join("peers/python/peak_memory.py")).arg(&self.ours.ouzel);
            command.args(["profile".as_ref(), anchor.as_os_str()]).args(["--jobs", jobs, "--format", "json"]);
            let n_bytes: f64 =
                output(&mut command)?.trim().parse().context("peak_memory.py prints a number")?;
            rows.push(Row::memory(what, self.extent.events_for_memory, n_bytes, Target::Below(100e6)));
        }
        Ok(rows)
    }

    /// Events of an archive as the C library counts them, else as reported by `ouzel info`.
    fn n_events(&self, anchor: &Path) -> Result<u64> {
        if let Some(program) = self.peers.c_published.as_ref().or(self.peers.c_debian.as_ref()) {
            let said: serde_json::Value = serde_json::from_str(&output(Command::new(program).arg(anchor))?)?;
            return said["events"].as_u64().context("the C peer says how many events it read");
        }
        let info = output(Command::new(&self.ours.ouzel).arg("info").arg(anchor).args(["--format", "json"]))?;
        let info: serde_json::Value = serde_json::from_str(&info)?;
        info["data"]["n_events"].as_u64().context("ouzel info has n_events")
    }

    /// A decoder that skips events is fast for the wrong reason.
    fn check_count(&self, anchor: &Path, n_events: u64) -> Result<()> {
        let said = output(Command::new(&self.ours.count).arg(anchor))?;
        let counted = said.split(|c: char| !c.is_ascii_digit()).any(|word| word == n_events.to_string());
        anyhow::ensure!(counted, "the decoder did not count {n_events} events; it said: {said}");
        Ok(())
    }
}
