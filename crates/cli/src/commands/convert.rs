//! `ouzel convert`: the trace's events, or the severities of a profile, in another format.

mod chrome;
mod cube;
mod otf2;
mod tables;

use crate::args::{Common, LowCommon, OutputFormat};
use crate::command::{Command, Question};
use crate::exit::Outcome;
use crate::output::refused;
use clap::{Args, ValueEnum};
use ouzel::model::{Borders, Filter};
use ouzel_answers::Written;
use ouzel_files::output;
use std::path::Path;
use std::path::PathBuf;

pub const COMMAND: Command = Command::about_a_run::<ConvertArgs>("convert", &[]);

/// Write the trace's events in another format
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel convert scorep-run/ events.parquet --to parquet     the table of events alone
  ouzel convert scorep-run/ out/ --to csv                   events, locations, regions and metrics
  ouzel convert scorep-run/ part/ --to otf2 --ranks 0-7 --time 10s..20s
  ouzel convert profile.cubex values.parquet --to parquet   of a profile: a row for each value
  ouzel convert scorep-run/ run.cubex --to cube --ranks 0-7

The table of events has one row for each event, ordered by location, then by time:
  time_ns, rank, location, kind                 when, where, what
  region, depth                                 the region entered or left, else the innermost open one
  partner, communicator, tag                    for messages; partner is a world rank
  bytes_sent, bytes_received                    for messages and collective operations
  collective, root, request                     for collective and non-blocking operations
  metric, metric_value, metric_value_exact      one row for each value; exact if it is a whole number
  parameter, parameter_value                    for calls
  sampled_path, frames_kept, frames_kept_at_most  for samples of the call path
Columns that do not apply are empty.

An OTF2 archive holds the selection, with corrected times and repaired calls, and gives the same answers.
OUT is a directory for traces.otf2, or the anchor file if it ends in .otf2. What is kept: docs/convert.md")]
pub struct ConvertArgs {
    /// Where to write: a file if it ends in the format's name, else a directory
    #[arg(value_name = "OUT")]
    pub out: PathBuf,

    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Target,
}

impl Question for ConvertArgs {
    fn check(&self, common: &LowCommon, format: OutputFormat) -> Result<(), &'static str> {
        match (format, &common.output) {
            (OutputFormat::Table | OutputFormat::Json, None) => Ok(()),
            _ => Err("convert writes OUT in the format of --to; --output and this --format do not apply"),
        }
    }

    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(common, self)
    }
}

/// A format that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// An OTF2 archive
    Otf2,
    /// Tables as comma-separated values
    Csv,
    /// Tables as Parquet
    Parquet,
    /// JSON for Perfetto and chrome://tracing
    Chrome,
    /// A CUBE profile (.cubex): of a profile, a copy; of a trace, everything counted in it
    Cube,
}

fn run(common: &Common, args: &ConvertArgs) -> anyhow::Result<Outcome> {
    match args.to {
        Target::Chrome => chrome::run(&cut(common), args),
        Target::Otf2 => otf2::run(&cut(common), args),
        Target::Cube => cube::run(common, args),
        Target::Csv | Target::Parquet => tables::run(common, args),
    }
}

/// Where one file goes.
fn file_target(common: &Common, out: &Path) -> anyhow::Result<output::Target> {
    output::Target::file(out, common.existing, &common.outputs.inputs).map_err(refused)
}

/// The context of a write error.
fn cannot_write(out: &Path) -> String {
    format!("cannot write {out:?}")
}

/// With calls cut to the range of time: readers of the output sum it up, and whole calls would give other sums than the
/// range. Tables are listings and keep calls whole unless `--trim` is given.
fn cut(common: &Common) -> Common {
    let filter = Filter { borders: Borders::Trim, ..common.filter.clone() };
    Common { filter, ..common.clone() }
}
