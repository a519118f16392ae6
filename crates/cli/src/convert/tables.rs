//! `--to csv` and `--to parquet`: the events as a table, and what they refer to in tables beside it.
//!
//! Law: a name that ends in the format is one file with the events alone, any other a
//! directory. Files get their names when they are complete, so that none is half a table.

pub(super) mod severities;

use super::batch::Batch;
use super::events::EventTable;
use crate::args::{Common, ConvertArgs, OutputFormat, Target};
use crate::catalogue;
use crate::exit::Outcome;
use crate::progress;
use crate::session::{Session, coverage, outcome};
use crate::terminal::units;
use anyhow::{Context, bail};
use ouzel::engine::{AnalysisSet, Folder, Partial};
use ouzel::model::{Notice, Notices, Table};
use ouzel_export::{CsvWriter, ExportError, ParquetWriter, TableWriter};
use serde::Serialize;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// What stands under `data` in JSON.
#[derive(Debug, Serialize)]
struct Data {
    files: Vec<Written>,
}

/// One file that was written, or one archive.
#[derive(Debug, Serialize)]
pub(super) struct Written {
    pub path: String,
    pub n_rows: u64,
    pub size_bytes: u64,
}

/// Writes.
///
/// # Errors
/// If the trace cannot be opened, something is in the way, or writing fails.
pub fn run(common: &Common, args: &ConvertArgs) -> anyhow::Result<Outcome> {
    let session = match Session::open(common) {
        Ok(session) => session,
        // What holds no events may hold a profile; if not, the first trouble is the one to tell.
        Err(error) => {
            let Ok(_) = ouzel::open_profile(&common.path) else { return Err(error) };
            return severities::run(common, args);
        }
    };
    let place = Place::new(args)?;
    let mut files = Vec::new();
    let (partial, set) = write_events(&session, &place, &mut files)?;
    let definitions = session.definitions();
    if !place.is_file {
        for table in [
            catalogue::locations(definitions, partial.locations()),
            catalogue::regions(definitions),
            catalogue::metrics(definitions),
        ] {
            let mut file = place.create(table.name)?;
            let mut writer = place.writer(file.open()?, &table)?;
            writer.write(&table)?;
            writer.finish()?;
            files.push(file.complete(table.n_rows() as u64)?);
        }
    }
    let coverage = coverage(definitions, partial.locations());
    let notices = Notices::default();
    notices.extend(session.trace.notices().iter().cloned());
    set.finish(partial, definitions, &notices);
    answer(&session, coverage, &notices.to_vec(), files)
}

/// Says what was written.
pub(super) fn answer(
    session: &Session<'_>,
    coverage: ouzel::engine::Coverage,
    notices: &[Notice],
    files: Vec<Written>,
) -> anyhow::Result<Outcome> {
    if session.common.format == OutputFormat::Json {
        session.write_json("convert", coverage, notices, Data { files })?;
    } else if !session.common.quiet {
        let line = |file: &Written| {
            let rows = units::counted(file.n_rows, "row", "rows");
            format!("{}  {rows}, {}", file.path, units::bytes(file.size_bytes))
        };
        session.write_page(&files.iter().map(line).collect::<Vec<_>>())?;
    }
    session.tell(notices);
    Ok(outcome(notices))
}

/// Folds one location after the other, in the order of the trace, until there is no sense in going on.
pub(super) fn listing(session: &Session<'_>, set: &AnalysisSet, has_failed: impl Fn() -> bool) -> Partial {
    let (trace, filter) = (&session.trace, &session.common.filter);
    progress::with_bar(session.common.progress, trace.event_bytes(filter), |progress| {
        let mut folder = Folder::listing(trace.source(), set, filter);
        for location in filter.locations(trace.definitions()) {
            if has_failed() {
                break;
            }
            folder.fold(location, Some(progress));
        }
        folder.into_partial()
    })
}

fn write_events(
    session: &Session<'_>,
    place: &Place,
    files: &mut Vec<Written>,
) -> anyhow::Result<(Partial, AnalysisSet)> {
    let mut file = place.create("events")?;
    let writer = place.writer(file.open()?, &Batch::columns())?;
    let events = EventTable::new(session.definitions(), writer);
    let mut set = AnalysisSet::default();
    set.add(events.clone());
    let partial = listing(session, &set, || events.has_failed());
    let n_rows = events.finish_writing()?;
    files.push(file.complete(n_rows)?);
    Ok((partial, set))
}

/// Where the tables go.
struct Place {
    out: PathBuf,
    is_file: bool,
    is_parquet: bool,
}

impl Place {
    fn new(args: &ConvertArgs) -> anyhow::Result<Self> {
        let is_parquet = args.to == Target::Parquet;
        let out = args.out.clone();
        let is_file = out.extension().is_some_and(|e| e == Self::extension(is_parquet)) && !out.is_dir();
        if !args.force && is_in_the_way(&out)? {
            bail!("{out:?} is there already; add --force to replace it");
        }
        if !is_file {
            std::fs::create_dir_all(&out).with_context(|| format!("cannot make directory {out:?}"))?;
        }
        Ok(Place { out, is_file, is_parquet })
    }

    fn extension(is_parquet: bool) -> &'static str {
        if is_parquet { "parquet" } else { "csv" }
    }

    fn create(&self, table: &str) -> anyhow::Result<FileInWork> {
        let path = if self.is_file {
            self.out.clone()
        } else {
            self.out.join(format!("{table}.{}", Self::extension(self.is_parquet)))
        };
        Ok(FileInWork::new(path))
    }

    fn writer(&self, out: BufWriter<File>, table: &Table) -> Result<Box<dyn TableWriter>, ExportError> {
        Ok(if self.is_parquet {
            Box::new(ParquetWriter::new(out, table)?)
        } else {
            Box::new(CsvWriter::new(out, table)?)
        })
    }
}

pub(super) fn is_in_the_way(out: &Path) -> anyhow::Result<bool> {
    if !out.is_dir() {
        return Ok(out.exists());
    }
    let mut entries = std::fs::read_dir(out).with_context(|| format!("cannot read {out:?}"))?;
    Ok(entries.next().is_some())
}

/// A file that gets its name when it is complete, and goes away if that never happens.
pub(super) struct FileInWork {
    path: PathBuf,
    in_work: PathBuf,
    is_complete: bool,
}

impl FileInWork {
    pub(super) fn new(path: PathBuf) -> Self {
        let mut in_work = path.clone().into_os_string();
        in_work.push(".part");
        FileInWork { path, in_work: PathBuf::from(in_work), is_complete: false }
    }

    pub(super) fn open(&mut self) -> anyhow::Result<BufWriter<File>> {
        let file = File::create(&self.in_work).with_context(|| format!("cannot write {:?}", self.in_work))?;
        Ok(BufWriter::with_capacity(1 << 18, file))
    }

    pub(super) fn complete(mut self, n_rows: u64) -> anyhow::Result<Written> {
        let cannot = || format!("cannot write {:?}", self.path);
        std::fs::rename(&self.in_work, &self.path).with_context(cannot)?;
        let size_bytes = std::fs::metadata(&self.path).with_context(cannot)?.len();
        self.is_complete = true;
        Ok(Written { path: self.path.display().to_string(), n_rows, size_bytes })
    }
}

impl Drop for FileInWork {
    fn drop(&mut self) {
        if !self.is_complete {
            // Nothing more can be done about a file that does not go away.
            let _ = std::fs::remove_file(&self.in_work);
        }
    }
}
