//! `ouzel segments`: where time is lost between one synchronisation and the next.

pub mod data;
pub mod diagnosis;
pub mod page;
mod table;

use crate::args::{Common, OutputFormat, SegmentsArgs};
use crate::exit::Outcome;
use crate::rules;
use crate::session::{Session, outcome, taken};
use anyhow::bail;
use data::of_phases;
use ouzel::analyses::phases::Phases;
use ouzel::engine::AnalysisSet;

/// Runs the command.
///
/// # Errors
/// If the trace cannot be opened, there is no such segment, or the answer cannot be written.
pub fn run(common: &Common, args: &SegmentsArgs) -> anyhow::Result<Outcome> {
    let semantics = rules::semantics(args.rules.file())?;
    let session = Session::open(common)?;
    let definitions = session.definitions();
    let mut set = AnalysisSet::default();
    let key = set.add(Phases::with_semantics(definitions, &common.filter, &semantics));
    let mut report = session.run(&set)?;
    let phases = taken(report.outputs.take(&key), "segments")?;
    let wanted_all = args.all || args.id.is_some();
    let mut data = of_phases(&phases, definitions, &semantics.classes(definitions), wanted_all);
    if let Some(id) = args.id {
        let n = data.n_segments;
        data.segments.retain(|segment| segment.id == id);
        if data.segments.is_empty() {
            bail!(
                "there is no segment {id}: the run has {n}, see ouzel segments {} --all",
                common.path.display()
            );
        }
    }
    match (common.format, args.id, data.segments.first()) {
        (OutputFormat::Json, ..) => {
            session.write_json("segments", report.coverage, &report.notices, &data)?;
        }
        (OutputFormat::Csv | OutputFormat::Parquet, Some(_), Some(segment)) => {
            session.write_table(&segment.paths_table())?;
        }
        (OutputFormat::Csv | OutputFormat::Parquet, ..) => session.write_table(&data.table())?,
        (_, Some(_), Some(segment)) => session.write_page(&page::one(&session, &data, segment))?,
        _ => session.write_page(&page::all(&session, &data, args.top.unwrap_or(0)))?,
    }
    session.tell(&report.notices);
    Ok(outcome(&report.notices))
}
