//! `ouzel print`: every record as a line.
//!
//! Each format makes its own lines; this module only writes them. They do not use the
//! envelope of other commands, so that notices always go to standard error.

use crate::args::{Common, LowCommon, OutputFormat};
use crate::command::{Command, Question};
use crate::exit::Outcome;
use crate::output::Output;
use crate::session::outcome;
use crate::terminal::style::Style;
use anyhow::Context;
use clap::Args;
use ouzel::formats::otf2::print::{Layout, PrintOptions, Printer};

pub const COMMAND: Command = Command::about_a_run::<PrintArgs>("print", &[]);

/// Every record of the files, as text or JSON lines
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel print scorep-run/ | head -50
  ouzel print scorep-run/ --ranks 3 --time 1s..1.1s
  ouzel print scorep-run/ --region 'MPI_*' --merged     what the ranks did in MPI, in order of time
  ouzel print scorep-run/ --definitions --local         regions, communicators; id mapping, clock offsets
  ouzel print scorep-run/ --raw --offsets               what the files hold, and where
  ouzel print scorep-run/ --format json | jq -c 'select(.record == \"MpiSend\")'

Events are printed unless you ask for other records. Each line has the location, the time in ticks of the
trace's clock, the seconds since the trace start, the record and its fields. \"main\" <3> is a reference to
definition 3 of that name; ranks are those in the communicator.
Events are listed by location, or in order of time with --merged.
With --region, the enters and leaves of matching regions are printed, and what is recorded directly in them.
--ranks, --location, --time and --region select events; definitions are never filtered.
With --format json, each line is one object, without an envelope; see docs/records.md.
If a file is damaged, the records before the damage are printed; standard error says what was lost.")]
pub struct PrintArgs {
    /// Show the file offset of each record and its number in the file
    #[arg(long)]
    pub offsets: bool,

    /// Show times and ids of events as in the file, before clock correction and id mapping
    #[arg(long)]
    pub raw: bool,

    /// Merge the locations by time; at equal times, order by location
    #[arg(long)]
    pub merged: bool,

    /// Print the events; the default unless you ask for other records
    #[arg(long, help_heading = "Records")]
    pub events: bool,

    /// Print the global definitions
    #[arg(long, help_heading = "Records")]
    pub definitions: bool,

    /// Print the local definitions: id mapping and clock offsets of each location
    #[arg(long, help_heading = "Records")]
    pub local: bool,

    /// Print the markers
    #[arg(long, help_heading = "Records")]
    pub markers: bool,

    /// Print all of these
    #[arg(long, help_heading = "Records")]
    pub all: bool,

    /// Only this location, by its id in the trace (may be repeated)
    #[arg(long, value_name = "ID", help_heading = "Selection")]
    pub location: Vec<u64>,
}

impl Question for PrintArgs {
    fn check(&self, common: &LowCommon, format: OutputFormat) -> Result<(), &'static str> {
        if common.predicate.is_some() || common.trim {
            return Err(
                "print shows records as they are: use --ranks, --time and --region, or ouzel calls --where",
            );
        }
        if common.repair_clocks {
            return Err("print shows records as they are: --repair-clocks does not apply");
        }
        match format {
            OutputFormat::Table | OutputFormat::Json => Ok(()),
            OutputFormat::Csv | OutputFormat::Parquet | OutputFormat::Html => {
                Err("print writes lines: use --format table or json; ouzel convert writes tables of events")
            }
        }
    }

    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(common, self)
    }
}

fn run(common: &Common, args: &PrintArgs) -> anyhow::Result<Outcome> {
    let path = &common.path;
    let printer =
        Printer::open(path, options(common, args)).map_err(|error| match path.symlink_metadata() {
            // Input that is no trace at all is refused with the same message as in all commands.
            Ok(_) => match ouzel::open(path) {
                Err(none @ ouzel::OpenError::NotATrace { .. }) => anyhow::Error::new(none),
                _ => anyhow::Error::new(error),
            },
            // A stem need not exist, so this is checked last.
            Err(_) => anyhow::anyhow!("no trace at {path:?}: there is no such file or directory"),
        })?;
    let mut out = Output::of(&common.outputs)?;
    let notices = printer.print(&mut out).context("cannot write")?;
    out.close()?;
    if !common.quiet {
        crate::notices::print(&notices, path, Style::new(common.notice_colour));
    }
    Ok(outcome(&notices))
}

fn options(common: &Common, args: &PrintArgs) -> PrintOptions {
    let PrintArgs { events, definitions, local, markers, all, .. } = *args;
    let nothing_named = !(events || definitions || local || markers);
    PrintOptions {
        layout: match common.format {
            OutputFormat::Json => Layout::JsonLines,
            OutputFormat::Table | OutputFormat::Csv | OutputFormat::Parquet | OutputFormat::Html => {
                Layout::Text
            }
        },
        definitions: definitions || all,
        local_definitions: local || all,
        markers: markers || all,
        events: events || all || nothing_named,
        filter: common.filter.clone(),
        locations: args.location.clone(),
        merged: args.merged,
        raw: args.raw,
        offsets: args.offsets,
    }
}
