//! `ouzel report`: one page about the run.

mod cards;
mod findings;
mod losses;
mod page;
mod shape;

use crate::args::{Common, LowCommon, OutputFormat, RuleArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::{Session, outcome};
use clap::Args;
use ouzel::Beside;

pub const COMMAND: Command = Command::about_a_run::<ReportArgs>("report", &[Need::Calls.always()]);

/// One page: what costs time, why, and what could be recovered
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel report scorep-run/
  ouzel report scorep-run/ -o report.html      the same with pictures, for a browser
  ouzel report scorep-run/ --time 10s..20s     only this part of the run
  ouzel report scorep-run/ --rules rules.toml  with your own words on which regions wait
  ouzel report scorep-run/ --format json

The page begins with the findings, largest gain first: what costs time, on which ranks and where, the
evidence, and what is usually done. Then it shows how efficient the run is, which segments lose time, which
ranks behave alike, which loops there are, and how far to trust it all.")]
pub struct ReportArgs {
    #[command(flatten)]
    pub rules: RuleArgs,
}

impl Question for ReportArgs {
    fn check(&self, _common: &LowCommon, _format: OutputFormat) -> Result<(), &'static str> {
        Ok(())
    }

    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(common, self)
    }
}

fn run(common: &Common, args: &ReportArgs) -> anyhow::Result<Outcome> {
    let semantics = ouzel::rules::semantics(args.rules.file())?;
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
        OutputFormat::Json => session.write_json(answer.coverage, notices, report)?,
        OutputFormat::Csv | OutputFormat::Parquet => {
            session.write_table(&findings::table(&report.findings))?;
            session.tell(notices);
        }
    }
    Ok(outcome(notices))
}
