//! `csv` and `parquet`: the events as a table, and what they refer to in tables beside it.
//!
//! Law: an output whose name ends in the format is one file with the events alone, any other a directory. All files get
//! their names when all are complete, so that no table is partial and no two come from different conversions.

use super::{ConvertError, Outcome, Place, To, failed, listed};
use ouzel::engine::Listed;
use ouzel::model::Table;
use ouzel::{Options, Trace, catalogue};
use ouzel_answers::Written;
use ouzel_export::{CsvText, CsvWriter, EventTable, ExportError, ParquetWriter, TableWriter};
use ouzel_files::Inputs;
use ouzel_files::folder::{Entry, Folder, FolderOutput, Others};
use ouzel_files::output::{Existing, Output, OutputError, Target};
use std::path::{Path, PathBuf};

/// Writes the tables.
pub(crate) fn write(trace: &Trace, options: &Options<'_>, tables: Tables) -> Result<Outcome, ConvertError> {
    let file = tables.create("events")?;
    let writer = tables.writer(&file, &EventTable::columns())?;
    let definitions = trace.definitions();
    let Listed { sink, outcome, report, .. } = listed(trace, options, EventTable::new(definitions, writer))?;
    let n_rows = outcome.and_then(|()| sink.finish()).map_err(|error| failed(&tables.out, error))?;
    let mut files = vec![tables.written("events", file, n_rows)?];
    if matches!(tables.begun, Begun::Folder(_)) {
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
    Ok((report, Vec::new(), files))
}

/// Every table that a conversion makes, of a trace or of a profile: a new conversion replaces all of them.
const TABLES: [&str; 5] = ["events", "locations", "regions", "metrics", "severities"];

/// Where the tables go.
pub(crate) fn place(
    (to, out): (To, &Path),
    existing: Existing,
    inputs: &Inputs,
) -> Result<Place, OutputError> {
    if out.extension().is_some_and(|e| e == extension(to)) && !out.is_dir() {
        return Target::file(out, existing, inputs).map(Place::File);
    }
    let entries = TABLES.iter().map(|table| Entry::File(format!("{table}.{}", extension(to)))).collect();
    Folder::new(out, entries, Others::AreInTheWay, existing, inputs).map(Place::Folder)
}

fn extension(to: To) -> &'static str {
    if to == To::Parquet { "parquet" } else { "csv" }
}

/// Tables that are being written: one in its own file, or all in a folder that appears when it is complete.
pub(crate) struct Tables {
    to: To,
    out: PathBuf,
    begun: Begun,
    csv_text: CsvText,
}

enum Begun {
    File(Target),
    Folder(FolderOutput),
}

impl Tables {
    pub(crate) fn begin(
        (to, out): (To, PathBuf),
        place: Place,
        csv_text: CsvText,
    ) -> Result<Self, OutputError> {
        let begun = match place {
            Place::File(target) => Begun::File(target),
            Place::Folder(folder) => Begun::Folder(folder.begin()?),
            Place::Archive(_) => unreachable!("tables have a place of their own"),
        };
        Ok(Tables { to, out, begun, csv_text })
    }

    fn file_name(&self, table: &str) -> String {
        format!("{table}.{}", extension(self.to))
    }

    pub(crate) fn create(&self, table: &str) -> Result<Output, OutputError> {
        match &self.begun {
            Begun::File(target) => target.begin(),
            Begun::Folder(folder) => folder.begin(&self.file_name(table)),
        }
    }

    pub(crate) fn writer(&self, out: &Output, table: &Table) -> Result<Box<dyn TableWriter>, ExportError> {
        Ok(match self.to {
            To::Parquet => Box::new(ParquetWriter::new(out.writer(), table)?),
            _ => Box::new(CsvWriter::new(out.writer(), table, self.csv_text)?),
        })
    }

    /// Ends a file.
    pub(crate) fn written(&self, table: &str, file: Output, n_rows: u64) -> Result<Written, OutputError> {
        let size_bytes = file.complete()?;
        Ok(match &self.begun {
            Begun::File(_) => Written::new(&self.out, n_rows, size_bytes),
            Begun::Folder(_) => Written::new(&self.out.join(self.file_name(table)), n_rows, size_bytes),
        })
    }

    pub(crate) fn complete(self) -> Result<(), OutputError> {
        match self.begun {
            Begun::File(_) => Ok(()),
            Begun::Folder(folder) => folder.complete(),
        }
    }
}
