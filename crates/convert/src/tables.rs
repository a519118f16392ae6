//! `--to csv` and `--to parquet`: the events as a table, and what they refer to in tables beside it.
//!
//! Law: an output whose name ends in the format is one file with the events alone, any other a directory. All files get
//! their names when all are complete, so that no table is partial and no two come from different conversions.

pub(super) mod severities;

use super::ConvertArgs;
use super::{Written, cannot_write, file_target};
use crate::args::{Common, OutputFormat};
use crate::exit::Outcome;
use crate::found::{Either, Found};
use crate::output::refused;
use crate::progress;
use crate::session::{Session, outcome};
use crate::terminal::style::clean;
use crate::terminal::units;
use anyhow::Context;
use ouzel::catalogue;
use ouzel::engine::{Listed, Report, list};
use ouzel::model::{EventSink, Notice, Notices, Table};
use ouzel_answers::ConvertAnswer;
use ouzel_export::{CsvText, CsvWriter, EventTable, ExportError, ParquetWriter, TableWriter};
use ouzel_files::folder::{self, Entry, FolderOutput, Others};
use ouzel_files::output::{Output, Target};
use std::path::PathBuf;

/// Runs the command.
///
/// # Errors
/// If the trace cannot be opened, something is in the way, or writing fails.
pub fn run(common: &Common, args: &ConvertArgs) -> anyhow::Result<Outcome> {
    let place = Place::new(common, args)?;
    let session = match Found::new(common).either()? {
        Either::Trace(session) => session,
        Either::Profile(session) => return severities::run(&session, place),
    };
    let tables = place.begin()?;
    let mut files = Vec::new();
    let report = write_events(&session, &tables, &mut files)?;
    let definitions = session.definitions();
    if matches!(tables.out, Begun::Folder(_)) {
        for table in [
            catalogue::locations(definitions, &report.locations),
            catalogue::regions(definitions),
            catalogue::metrics(definitions),
        ] {
            let file = tables.create(table.name)?;
            let mut writer = tables.writer(&file, &table)?;
            writer.write(&table)?;
            writer.finish()?;
            files.push(tables.written(table.name, file, table.n_rows() as u64)?);
        }
    }
    tables.complete()?;
    answer(&session, report, Vec::new(), files)
}

/// Reports what was written, and what could not be.
pub(super) fn answer(
    session: &Session<'_>,
    report: Report,
    unsaid: Vec<Notice>,
    files: Vec<Written>,
) -> anyhow::Result<Outcome> {
    let notices = Notices::default();
    notices.extend(report.notices.into_iter().chain(unsaid));
    let notices = &notices.to_vec();
    if session.common.format == OutputFormat::Json {
        session.write_json("convert", report.coverage, notices, ConvertAnswer { files })?;
    } else if !session.common.quiet {
        let line = |file: &Written| {
            let rows = units::counted(file.n_rows, "row", "rows");
            format!("{}  {rows}, {}", clean(&file.path), units::bytes(file.size_bytes))
        };
        session.write_page(&files.iter().map(line).collect::<Vec<_>>())?;
    }
    session.tell(notices);
    Ok(outcome(notices))
}

/// Hands what is selected to `sink`, in the order of the trace, with a progress bar if enabled.
pub(super) fn listed<S: EventSink>(session: &Session<'_>, sink: S) -> anyhow::Result<Listed<S>> {
    let (trace, filter) = (&session.trace, &session.common.filter);
    let locations = filter.resolve(trace.definitions()).locations;
    let listed = progress::with_bar(session.common.progress, trace.event_bytes(filter), |progress| {
        list(trace.source(), filter, locations, sink, Some(progress))
    })?;
    Ok(listed)
}

fn write_events(session: &Session<'_>, tables: &Tables, files: &mut Vec<Written>) -> anyhow::Result<Report> {
    let file = tables.create("events")?;
    let writer = tables.writer(&file, &EventTable::columns())?;
    let Listed { sink, outcome, report, .. } =
        listed(session, EventTable::new(session.definitions(), writer))?;
    let n_rows = outcome.and_then(|()| sink.finish()).with_context(|| cannot_write(&tables.path))?;
    files.push(tables.written("events", file, n_rows)?);
    Ok(report)
}

/// Every table that a conversion makes, of a trace or of a profile: a new conversion replaces all of them.
const TABLES: [&str; 5] = ["events", "locations", "regions", "metrics", "severities"];

/// Where the tables go.
pub(super) struct Place {
    out: PathBuf,
    target: Destination,
    is_parquet: bool,
    csv_text: CsvText,
}

enum Destination {
    File(Target),
    Folder(folder::Folder),
}

impl Place {
    fn new(common: &Common, args: &ConvertArgs) -> anyhow::Result<Self> {
        let is_parquet = args.to == super::Target::Parquet;
        let out = args.out.clone();
        let is_file = out.extension().is_some_and(|e| e == extension(is_parquet)) && !out.is_dir();
        let target = if is_file {
            Destination::File(file_target(common, &out)?)
        } else {
            let file = |table: &&str| Entry::File(format!("{table}.{}", extension(is_parquet)));
            let entries = TABLES.iter().map(file).collect();
            let (others, inputs) = (Others::AreInTheWay, &common.outputs.inputs);
            let folder = folder::Folder::new(&out, entries, others, common.existing, inputs);
            Destination::Folder(folder.map_err(refused)?)
        };
        Ok(Place { out, target, is_parquet, csv_text: common.csv_text })
    }

    fn begin(self) -> anyhow::Result<Tables> {
        let out = match self.target {
            Destination::File(target) => Begun::File(target),
            Destination::Folder(folder) => Begun::Folder(folder.begin()?),
        };
        Ok(Tables { path: self.out, out, is_parquet: self.is_parquet, csv_text: self.csv_text })
    }
}

fn extension(is_parquet: bool) -> &'static str {
    if is_parquet { "parquet" } else { "csv" }
}

/// Tables that are being written: one in its own file, or all in a folder that appears when it is complete.
struct Tables {
    path: PathBuf,
    out: Begun,
    is_parquet: bool,
    csv_text: CsvText,
}

enum Begun {
    File(Target),
    Folder(FolderOutput),
}

impl Tables {
    fn file_name(&self, table: &str) -> String {
        format!("{table}.{}", extension(self.is_parquet))
    }

    fn create(&self, table: &str) -> anyhow::Result<Output> {
        Ok(match &self.out {
            Begun::File(target) => target.begin()?,
            Begun::Folder(folder) => folder.begin(&self.file_name(table))?,
        })
    }

    fn writer(&self, out: &Output, table: &Table) -> Result<Box<dyn TableWriter>, ExportError> {
        Ok(if self.is_parquet {
            Box::new(ParquetWriter::new(out.writer(), table)?)
        } else {
            Box::new(CsvWriter::new(out.writer(), table, self.csv_text)?)
        })
    }

    /// Ends a file.
    fn written(&self, table: &str, file: Output, n_rows: u64) -> anyhow::Result<Written> {
        let size_bytes = file.complete().map_err(refused)?;
        Ok(match &self.out {
            Begun::File(_) => Written::new(&self.path, n_rows, size_bytes),
            Begun::Folder(_) => Written::new(&self.path.join(self.file_name(table)), n_rows, size_bytes),
        })
    }

    fn complete(self) -> anyhow::Result<()> {
        match self.out {
            Begun::File(_) => Ok(()),
            Begun::Folder(folder) => folder.complete().map_err(refused),
        }
    }
}
