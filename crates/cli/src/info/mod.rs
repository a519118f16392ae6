//! `ouzel info`: what is in the trace, and what is missing.

mod data;
mod page;

use crate::args::{Common, InfoArgs, OutputFormat};
use crate::catalogue;
use crate::exit::Outcome;
use crate::session::{Session, outcome, taken};
use data::Data;
use ouzel::analyses::inventory::Inventory;
use ouzel::engine::AnalysisSet;

/// Answers.
///
/// # Errors
/// If the trace cannot be opened or the answer not be written.
pub fn run(common: &Common, _args: &InfoArgs) -> anyhow::Result<Outcome> {
    let session = Session::open(common)?;
    let mut set = AnalysisSet::default();
    let inventory = set.add(Inventory);
    let mut report = session.run(&set)?;
    let inventory = taken(report.outputs.take(&inventory), "inventory")?;
    let definitions = session.definitions();
    match common.format {
        OutputFormat::Table | OutputFormat::Html => {
            let data = Data::new(&session, &report, &inventory);
            session.write_page(&page::lines(&session, &data, &report.notices))?;
        }
        OutputFormat::Json => {
            let data = Data::new(&session, &report, &inventory);
            session.write_json("info", report.coverage, &report.notices, data)?;
        }
        OutputFormat::Csv | OutputFormat::Parquet => {
            session.write_table(&catalogue::locations(definitions, &report.locations))?;
            session.tell(&report.notices);
        }
    }
    Ok(outcome(&report.notices))
}
