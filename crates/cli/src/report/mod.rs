//! `ouzel report`: one page about the run.

mod page;

use crate::args::{Common, OutputFormat, ReportArgs};
use crate::exit::Outcome;
use crate::rules;
use crate::session::{Session, outcome, taken};
use ouzel::diagnose::ReportAnalyses;
use ouzel::engine::AnalysisSet;

/// Answers.
///
/// # Errors
/// If the trace cannot be opened or the answer not be written.
pub fn run(common: &Common, args: &ReportArgs) -> anyhow::Result<Outcome> {
    let semantics = rules::semantics(args.rules.file())?;
    let session = Session::open(common)?;
    let mut set = AnalysisSet::default();
    let analyses = ReportAnalyses::add_to(&mut set, session.definitions(), &common.filter, &semantics);
    let mut pass = session.run(&set)?;
    let report = taken(analyses.finish(&mut pass, session.definitions()), "report")?;
    match common.format {
        // The page has a card for the notices; standard error would say them twice.
        OutputFormat::Table => session.write_page(&page::lines(&session, &report))?,
        OutputFormat::Json => session.write_json("report", pass.coverage, &pass.notices, &report)?,
        OutputFormat::Csv | OutputFormat::Parquet => {
            session.write_table(&report.losses_table())?;
            session.tell(&pass.notices);
        }
    }
    Ok(outcome(&pass.notices))
}
