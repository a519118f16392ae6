//! `ouzel convert`: the trace's events, or the severities of a profile, in another format.

use crate::args::{Common, LowCommon, OutputFormat};
use crate::command::{Command, Question};
use crate::exit::Outcome;
use crate::found::{Either, Found};
use crate::output::refused;
use crate::profile_session::ProfileSession;
use crate::session::{Session, outcome};
use crate::terminal::style::clean;
use crate::terminal::units;
use clap::{Args, ValueEnum};
use ouzel_answers::{ConvertAnswer, Written};
use ouzel_convert::{Conversion, ConvertError, To};
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
  thread_step, lock, acquisition                for events of threads, tasks and locks
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
    let to = match args.to {
        Target::Otf2 => To::Otf2,
        Target::Csv => To::Csv,
        Target::Parquet => To::Parquet,
        Target::Chrome => To::Chrome,
        Target::Cube => To::Cube,
    };
    let out = (to, &*args.out);
    let conversion =
        Conversion::new(out, common.existing, &common.outputs.inputs, common.csv_text).map_err(said)?;
    let common = &Common { filter: conversion.filter(&common.filter), ..common.clone() };
    let mut found = Found::new(common);
    match to {
        To::Otf2 | To::Chrome => of_trace(&found.trace()?, conversion),
        To::Cube => of_profile(&found.profile_or_made()?, conversion),
        To::Csv | To::Parquet => match found.either()? {
            Either::Trace(session) => of_trace(&session, conversion),
            Either::Profile(session) => of_profile(&session, conversion),
        },
    }
}

fn of_trace(session: &Session<'_>, conversion: Conversion) -> anyhow::Result<Outcome> {
    let written = session.with_bar(|options| conversion.trace(&session.trace, options).map_err(said))?;
    if session.common.format == OutputFormat::Json {
        let data = ConvertAnswer { files: written.output };
        session.write_json(written.coverage, &written.notices, data)?;
    } else if !session.common.quiet {
        session.write_page(&lines(&written.output))?;
    }
    session.tell(&written.notices);
    Ok(outcome(&written.notices))
}

fn of_profile(session: &ProfileSession<'_>, conversion: Conversion) -> anyhow::Result<Outcome> {
    let (files, notices) = conversion.profile(&session.profile).map_err(said)?;
    let notices = session.notices(notices);
    if session.common.format == OutputFormat::Json {
        session.write_json(session.common.command, &notices, ConvertAnswer { files })?;
    } else if !session.common.quiet {
        session.write_page(&lines(&files))?;
    }
    Ok(session.end(&notices))
}

fn lines(files: &[Written]) -> Vec<String> {
    let line = |file: &Written| {
        let rows = units::counted(file.n_rows, "row", "rows");
        format!("{}  {rows}, {}", clean(&file.path), units::bytes(file.size_bytes))
    };
    files.iter().map(line).collect()
}

fn said(error: ConvertError) -> anyhow::Error {
    match error {
        ConvertError::Output(error) => refused(error),
        error => error.into(),
    }
}
