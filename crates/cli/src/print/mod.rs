//! `ouzel print`: every record as a line.
//!
//! Each format makes its own lines; this module only writes them. They do not use the
//! envelope of other commands, so that notices always go to standard error.

use crate::args::{Common, OutputFormat, PrintArgs};
use crate::exit::Outcome;
use crate::output::Output;
use crate::session::outcome;
use crate::terminal::style::Style;
use anyhow::Context;
use ouzel::formats::otf2::print::{Layout, PrintOptions, Printer};

/// Runs the command.
///
/// # Errors
/// If the trace cannot be opened or the answer cannot be written.
pub fn run(common: &Common, args: &PrintArgs) -> anyhow::Result<Outcome> {
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
    let mut out = Output::open(common)?;
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
