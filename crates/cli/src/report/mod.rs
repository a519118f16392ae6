//! `ouzel report`: one page about the run.

mod cards;
mod findings;
mod losses;
mod page;
mod shape;

use crate::args::{Common, OutputFormat, ReportArgs};
use crate::exit::Outcome;
use crate::rules;
use crate::session::{Session, outcome};
use ouzel::Beside;

/// Runs the command.
///
/// # Errors
/// If the trace cannot be opened or the answer cannot be written.
pub fn run(common: &Common, args: &ReportArgs) -> anyhow::Result<Outcome> {
    let semantics = rules::semantics(args.rules.file())?;
    let session = Session::open(common)?;
    if common.format == OutputFormat::Html {
        let asked = session.asked();
        let answer =
            session.answer(|trace, options| ouzel_page::of_trace(trace, &semantics, &asked, options))?;
        session.write_text(&answer.output)?;
        return Ok(outcome(&answer.notices));
    }
    let answer = session.answer(|trace, options| trace.diagnose(&semantics, Beside::Trees, options))?;
    let (report, notices) = (&answer.output.report, &answer.notices);
    match common.format {
        // The page has a card for the notices; standard error would repeat them.
        OutputFormat::Table | OutputFormat::Html => {
            session.write_page(&page::lines(&session, &answer.output))?;
        }
        OutputFormat::Json => session.write_json("report", answer.coverage, notices, report)?,
        OutputFormat::Csv | OutputFormat::Parquet => {
            session.write_table(&findings::table(&report.findings))?;
            session.tell(notices);
        }
    }
    Ok(outcome(notices))
}
