//! SQLite exports of Nsight Systems as a [`TraceSource`].
//!
//! ```text
//! reports (a file, or a folder with one for each rank) ──one scan of each table──► rows by place, sorted and nested
//!                                                                                  └─► locations ──► events
//! ```
//!
//! Threads are locations of their process; streams are locations of an accelerator context. Calls of a thread come
//! from several tables (CUDA, NVTX, MPI, operating system) and nest; what overlaps goes to a location beside it.
//! Times are nanoseconds from the start of the session that began first.
//!
//! Memory is constant: rows are sorted through temporary files (see `store`), since the tables have no index.
//! For that reason the file is scanned once when it is opened, and filters are applied to the sorted rows.
//! Reports before their export (`.nsys-rep`) are refused: their format is not published.

pub(crate) mod database;
mod definitions;
mod merge;
mod names;
mod open;
mod ranks;
mod reader;
pub(crate) mod regions;
pub(crate) mod reports;
mod requests;
pub(crate) mod rows;
pub(crate) mod scan;
pub(crate) mod schema;
mod spill;
mod store;
#[cfg(test)]
mod tests;

use crate::reader::{Format, OpenError, Opened, Reader};
use crate::siblings;
use ouzel_files::{Candidate, Inputs};
use ouzel_model::{ChunkReader, Content, Definitions, LocationId, Notice, ReadError, ReadPlan, TraceSource};
use reader::{NsightLocation, Shared};
use reports::About;
use scan::ScannedReports;
use std::path::{Path, PathBuf};
use store::{LaneBlock, Store, StoredLane};

/// Nsight Systems among the formats.
pub static READER: Reader = Reader {
    format: Format::Nsight,
    writers: "nsys export --type sqlite",
    reads: &[
        (Content::Calls, "CUDA, NVTX, MPI, OS runtime"),
        (Content::Samples, ""),
        (Content::Messages, "on MPI_COMM_WORLD"),
        (Content::Collectives, "on MPI_COMM_WORLD"),
        (Content::Counters, "metrics of GPUs, memory of CUDA"),
        (Content::AcceleratorStreams, ""),
        (Content::Links, "launch to kernel"),
    ],
    recognise,
    open: open_path,
    add_files,
};

/// An export has files of SQLite beside it while it is written to.
fn add_files(candidate: &Candidate, inputs: &mut Inputs) {
    let path = candidate.path();
    if candidate.is_dir() {
        let endings = &["sqlite", "-wal", "-shm", "-journal", "nsys-rep", "qdrep", "qdstrm"];
        inputs.add_named(path, "", endings);
    }
    for export in reports::exports_in(candidate) {
        for beside in ["", "-wal", "-shm", "-journal"] {
            let mut name = export.clone().into_os_string();
            name.push(beside);
            inputs.add_file(name);
        }
    }
}

/// Where the rows of a location are.
#[derive(Debug, Clone, Copy)]
struct PlacedRows {
    place: usize,
    lane: usize,
}

/// What is said of a profiler.
#[derive(Debug)]
pub(crate) struct Profiler {
    pub name: &'static str,
    /// Why there are no counters, and so on.
    pub no_counters: &'static str,
    pub no_samples: &'static str,
    pub no_messages: &'static str,
    pub no_collectives: &'static str,
    pub no_kernels: &'static str,
    pub no_links: &'static str,
}

/// The tables of a report: how they become rows by place.
pub(crate) trait ReportTables: Sized {
    /// The reports of a file.
    ///
    /// # Errors
    /// If it is no database.
    fn open(path: &Path) -> Result<Vec<Self>, ReadError>;
    /// What the report says of itself.
    ///
    /// # Errors
    /// If its strings cannot be read.
    fn about(&self) -> Result<About, ReadError>;
    /// A time that its times can be counted from.
    fn first_time(&self) -> i64;
    /// What is added to the times of each report, and when the first began, in ns from 1970-01-01 UTC, if that is known.
    fn align(abouts: &[About], firsts: &[i64], notices: &mut Vec<Notice>) -> (Vec<i64>, Option<i64>);
    /// Takes all rows.
    ///
    /// # Errors
    /// If the strings cannot be read or a temporary file cannot be written.
    fn take(&self, report: usize, offset_ns: i64, into: &mut ScannedReports) -> Result<(), ReadError>;
}

/// One or several opened exports.
#[derive(Debug)]
pub struct NsightSource {
    definitions: Definitions,
    pub(crate) notices: Vec<Notice>,
    placed: Vec<PlacedRows>,
    store: Store,
    shared: Shared,
    lacking: Vec<(Content, &'static str)>,
}

/// An export, a folder of exports, or reports that are not exported yet.
fn recognise(candidate: &Candidate) -> Option<String> {
    let path = candidate.path();
    if candidate.is_file() {
        let what = match (recognise_file(candidate, path), reports::is_unexported(candidate, path)) {
            (true, _) => "Nsight Systems export",
            (false, true) => "Nsight Systems report",
            (false, false) => return None,
        };
        return Some(format!("{what} {}", path.display()));
    }
    let files = reports::files_in(candidate);
    let is_one = |file: &&PathBuf| recognise_file(candidate, file) || reports::is_unexported(candidate, file);
    let n_files = files.iter().filter(is_one).count();
    (0 < n_files).then(|| format!("{n_files} Nsight Systems reports in {}", path.display()))
}

/// Whether a file is an export: a database with its table of strings and one of its others.
fn recognise_file(candidate: &Candidate, path: &Path) -> bool {
    let known =
        ["ANALYSIS_DETAILS", "TARGET_INFO_", "CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS", "OSRT_API", "MPI_"];
    let (mut has_strings, mut has_known) = (false, false);
    let is_all = schema::tables(candidate, path, |table| {
        has_strings |= table == "StringIds";
        has_known |= known.iter().any(|known| table.starts_with(known));
        has_strings && has_known
    });
    // Of a schema that is longer than a look, one of both is enough.
    (has_strings && has_known) || (!is_all && (has_strings || has_known))
}

fn open_path(candidate: &Candidate) -> Result<Opened, OpenError> {
    let path = candidate.path();
    let exports = reports::exports_in(candidate);
    if exports.is_empty() {
        let reason = "ouzel reads an Nsight Systems report only after export: nsys export --type sqlite --output \
                      REPORT.sqlite REPORT.nsys-rep";
        return Err(OpenError::Refused { path: path.to_owned(), reason: reason.to_owned() });
    }
    let mut source = NsightSource::open(path, &exports)?;
    source.notices.extend(siblings::left_out(candidate, &exports));
    source.notices.extend(reports::not_exported(candidate, &exports));
    Ok(Opened::trace(source))
}

impl NsightSource {
    fn lane(&self, location: LocationId) -> &StoredLane {
        let PlacedRows { place, lane } = self.placed[location.index()];
        &self.store.lanes[place][lane]
    }
}

impl TraceSource for NsightSource {
    fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn location_bytes(&self, location: LocationId) -> u64 {
        self.lane(location).n_rows * rows::ROW_BYTES as u64
    }

    fn is_sampled(&self, location: LocationId) -> bool {
        self.lane(location).only_samples
    }

    fn lacks(&self, content: Content) -> Option<String> {
        let (_, reason) = self.lacking.iter().find(|(lacking, _)| *lacking == content)?;
        Some((*reason).to_owned())
    }

    /// Blocks of rows outside of the time range are not read.
    fn open(&self, location: LocationId, plan: &ReadPlan) -> Result<Box<dyn ChunkReader + '_>, ReadError> {
        let lane = self.lane(location);
        let is_wanted = |block: &&LaneBlock| {
            let Some(range) = plan.time_range else { return true };
            let ticks = |time: i64| time.wrapping_sub(self.shared.origin).cast_unsigned();
            let overlaps = ticks(block.start) < range.end.0 && range.start.0 <= ticks(block.end);
            overlaps || block.has_requests
        };
        let blocks = lane.blocks.iter().filter(is_wanted).copied().collect();
        let spill = match &self.store.spill {
            Some(spill) => {
                let reader = spill.reader();
                Some(reader.map_err(|error| scan::temporary_error(&self.shared.file, &error))?)
            }
            None => None,
        };
        Ok(Box::new(NsightLocation::new(&self.shared, lane, location, plan.needs, blocks, spill)))
    }
}
