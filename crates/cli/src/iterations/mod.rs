//! `ouzel iterations`: the loops of the program and their iterations.

pub mod page;

use crate::args::{Common, IterationsArgs, OutputFormat};
use crate::exit::Outcome;
use crate::rules;
use crate::session::{Session, outcome, taken};
use data::Data;
use ouzel::context_tree::ContextTrees;
pub use ouzel::diagnose::iterations as data;
use ouzel::engine::AnalysisSet;

/// Runs the command.
///
/// # Errors
/// If the trace cannot be opened or the answer cannot be written.
pub fn run(common: &Common, args: &IterationsArgs) -> anyhow::Result<Outcome> {
    let semantics = rules::semantics(args.rules.file())?;
    let session = Session::open(common)?;
    let definitions = session.definitions();
    let mut set = AnalysisSet::default();
    let key = set.add(ContextTrees::with_semantics(definitions, &common.filter, &semantics));
    let mut report = session.run(&set)?;
    let trees = taken(report.outputs.take(&key), "iterations")?;
    let run = report.run_range.map(|range| range.end.since(range.start)).unwrap_or_default();
    let data = Data::new(&trees, definitions, definitions.clock.ns_from_ticks(run));
    match common.format {
        OutputFormat::Json => session.write_json("iterations", report.coverage, &report.notices, &data)?,
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&data.table())?,
        OutputFormat::Table | OutputFormat::Html => {
            session.write_page(&page::lines(&session, &data, args.top))?;
        }
    }
    session.tell(&report.notices);
    Ok(outcome(&report.notices))
}
