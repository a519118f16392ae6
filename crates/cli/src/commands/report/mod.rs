//! `ouzel report`: one page about the run.

mod cards;
mod findings;
mod losses;
mod page;
mod profile;
mod shape;

use crate::args::{Common, LowCommon, OutputFormat, PeriodArgs, RuleArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::found::{Either, Found};
use crate::profile_session::ProfileSession;
use crate::session::outcome;
use clap::Args;
use ouzel::engine::AnalysisSet;

pub const COMMAND: Command = Command::about_a_run::<ReportArgs>("report", &[Need::Calls.always()]);

/// One page: what costs time, why, and what could be recovered
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel report scorep-run/
  ouzel report scorep-run/ -o report.html      the same with pictures, for a browser
  ouzel report scorep-run/ --time 10s..20s     only this part of the run
  ouzel report scorep-run/ --region solve      only findings in solve and what it calls
  ouzel report scorep-run/ --rules rules.toml  with your own words on which regions wait
  ouzel report scorep-run/ --format json
  ouzel report profile.cubex                   what the sums of a profile tell

The page begins with the findings, largest gain first: what costs time, on which ranks and where, the
evidence, and what is usually done. Then it shows how efficient the run is, which segments lose time, which
ranks behave alike, which loops there are, and how far to trust it all.")]
pub struct ReportArgs {
    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub period: PeriodArgs,
}

impl Question for ReportArgs {
    fn check(&self, _common: &LowCommon, _format: OutputFormat) -> Result<(), &'static str> {
        Ok(())
    }

    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&common.sampled(&self.period), self)
    }
}

fn run(common: &Common, args: &ReportArgs) -> anyhow::Result<Outcome> {
    let mut found = Found::new(common);
    let session = match found.either()? {
        Either::Trace(session) => session,
        Either::Profile(session) => return profile::run(&session, &args.rules),
    };
    let semantics = ouzel::rules::semantics(args.rules.file())?;
    if common.format == OutputFormat::Html {
        let asked = session.asked();
        let answer =
            session.answer(|trace, options| ouzel_page::of_trace(trace, &semantics, &asked, options))?;
        if let Some(session) = instead(&mut found, common, answer.coverage.events_read) {
            return profile::run(&session, &args.rules);
        }
        session.write_text(&answer.output)?;
        return Ok(outcome(&answer.notices));
    }
    let answer =
        session.answer(|trace, options| trace.diagnose(&semantics, AnalysisSet::default(), options))?;
    if let Some(session) = instead(&mut found, common, answer.coverage.events_read) {
        return profile::run(&session, &args.rules);
    }
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

/// The profile beside a trace without events, if there is one.
fn instead<'a>(found: &mut Found<'a>, common: &'a Common, n_events: u64) -> Option<ProfileSession<'a>> {
    if n_events != 0 || !common.filter.is_everything() || common.repair_clocks {
        return None;
    }
    ProfileSession::of(common, found.profile().ok()?).ok()
}
