//! `ouzel clusters`: which ranks behave alike.

mod page;

use crate::args::{ClustersArgs, Common, OutputFormat};
use crate::exit::Outcome;
use crate::rules;
use crate::session::{Session, outcome, taken};
use data::Data;
use ouzel::analyses::context_tree::ContextTrees;
pub use ouzel::diagnose::clusters as data;
use ouzel::engine::AnalysisSet;

/// Answers.
///
/// # Errors
/// If the trace cannot be opened or the answer not be written.
pub fn run(common: &Common, args: &ClustersArgs) -> anyhow::Result<Outcome> {
    let semantics = rules::semantics(args.rules.file())?;
    let session = Session::open(common)?;
    let definitions = session.definitions();
    let mut set = AnalysisSet::default();
    let key = set.add(ContextTrees::with_semantics(definitions, &common.filter, &semantics));
    let mut report = session.run(&set)?;
    let trees = taken(report.outputs.take(&key), "clusters")?;
    let data = Data::new(&trees, definitions);
    match common.format {
        OutputFormat::Json => session.write_json("clusters", report.coverage, &report.notices, &data)?,
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&data.table(definitions, &trees))?,
        OutputFormat::Table | OutputFormat::Html => {
            session.write_page(&page::lines(&session, &data, args.top))?;
        }
    }
    session.tell(&report.notices);
    Ok(outcome(&report.notices))
}
