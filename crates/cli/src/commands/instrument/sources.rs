//! What is recorded of sources: options of `instrument`.

use crate::terminal::style::clean;
use crate::terminal::units;
use anyhow::{Context, bail};
use clap::Args;
use ouzel::analyses::{By, Per};
use ouzel::model::Table;
use ouzel::{Options, ProfileQuery};
use ouzel_instrument::distortion::{FrequentRegions, RecordedRegion};
use ouzel_instrument::filter::SourceFilter;
use ouzel_instrument::source::SourceOptions;
use ouzel_recording::{launch, settings};
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

#[derive(Debug, Args)]
pub struct SourceArgs {
    /// File with rules (include or exclude, function or file, pattern); the last match decides
    #[arg(long, value_name = "FILE")]
    pub filter: Option<PathBuf>,

    /// Leave out what this recorded run calls so often that recording distorts it
    #[arg(long, value_name = "RUN")]
    pub from: Option<PathBuf>,

    /// Record functions only
    #[arg(long)]
    pub no_loops: bool,
}

impl SourceArgs {
    /// Reads filter and run.
    ///
    /// # Errors
    /// If one of them cannot be read or understood.
    pub fn options(&self) -> anyhow::Result<SourceOptions> {
        Ok(SourceOptions {
            loops: !self.no_loops,
            filter: self.filter.as_deref().map(filter).transpose()?.unwrap_or_default(),
            frequent: self.from.as_deref().map(frequent).transpose()?.unwrap_or_default(),
        })
    }
}

fn filter(path: &Path) -> anyhow::Result<SourceFilter> {
    /// A filter for each function of the largest programs has a few megabytes.
    const BYTES_MAX: u64 = 64 << 20;
    let text = ouzel_files::input::read_text(path, BYTES_MAX).with_context(|| path.display().to_string())?;
    SourceFilter::parse(&text).with_context(|| path.display().to_string())
}

fn frequent(path: &Path) -> anyhow::Result<FrequentRegions> {
    let trace = ouzel::open(path)?;
    let query = ProfileQuery { by: By::Region, per: Per::Total, messages: false, counters: &[] };
    let answer = trace.profile_table(&query, &Options::default())?;
    for notice in &answer.notices {
        say(&notice.message);
    }
    let table: Table = answer.output;
    let numbers = |name: &str| table.values::<u64>(name);
    let (visits, inclusive) = (numbers("visits"), numbers("inclusive_ns"));
    if visits.iter().all(|n| *n == 0) {
        bail!("{}: samples do not count visits; record a program that is instrumented", path.display());
    }
    let names = table.values::<Arc<str>>("region");
    let files = table.values::<Option<Arc<str>>>("file");
    let regions = (0..table.n_rows()).map(|i| RecordedRegion {
        name: &names[i],
        file: files[i].as_deref(),
        visits: visits[i],
        inclusive_ns: inclusive[i],
    });
    let visit_ns = visit_ns().context("what recording a visit costs here cannot be measured")?;
    let frequent = FrequentRegions::of(regions, numbers("exclusive_ns").iter().sum(), visit_ns);
    say(&format!(
        "{}: {} called too often and left out; recording a visit takes {visit_ns} ns here, as measured now",
        path.display(),
        units::counted(frequent.len() as u64, "function or loop is", "functions and loops are"),
    ));
    Ok(frequent)
}

/// What recording a visit costs on this machine, in nanoseconds: the least of several recordings of a program that does
/// nothing, in which the recorder visits a region of its own.
fn visit_ns() -> anyhow::Result<u64> {
    const N_RECORDINGS: usize = 3;
    const N_VISITS: u32 = 20_000;
    let mut least = u64::MAX;
    for _ in 0..N_RECORDINGS {
        let folder = tempfile::Builder::new().prefix("ouzel-visits-").tempdir()?;
        let directory = launch::make_directory(&folder.path().join("run"))?;
        let mut program = process::Command::new("true");
        program.envs(launch::environment(&directory, &launch::Choices::default())?);
        let status =
            program.env(settings::REHEARSED, N_VISITS.to_string()).status().context("cannot run true")?;
        if !status.success() {
            bail!("cannot record true: {status}");
        }
        ouzel_recording::finish::finish(&directory, None)?;
        let query = ProfileQuery { by: By::Region, per: Per::Total, messages: false, counters: &[] };
        let table: Table = ouzel::open(&directory)?.profile_table(&query, &Options::default())?.output;
        let names = table.values::<Arc<str>>("region");
        let all = names.iter().position(|name| **name == *settings::REHEARSAL);
        let around_ns =
            all.map(|at| table.values::<u64>("inclusive_ns")[at]).context("nothing was recorded")?;
        least = least.min(around_ns.div_ceil(u64::from(N_VISITS)));
    }
    Ok(least)
}

/// A line on standard error.
pub fn say(line: &str) {
    // Nothing is left to be done if standard error is closed.
    let _ = writeln!(stderr(), "ouzel: {}", clean(line));
}
