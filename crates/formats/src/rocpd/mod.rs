//! Databases of `rocprofv3` (`rocpd`, SQLite) as a [`TraceSource`](ouzel_model::TraceSource).
//!
//! ```text
//! databases (a file, or a folder with one for each process) ──one scan of each table──► rows by place ──► as `nsight`
//! ```
//!
//! A database has a set of tables for each process, whose names end in an id of the run: `rocpd_region_0001eca_d4de…`. The
//! views without that id are not read. Two shapes of tables are known, both of schema 3: with times and places in each
//! row, and with tables of their own for times and tracks. Rows are sorted, nested and read as those of Nsight Systems.
//!
//! Laws: those of `nsight`; every row is a row of a place, or is counted by its table.

mod about;
mod scan;
mod tables;
#[cfg(test)]
mod tests;

use crate::nsight::schema;
use crate::nsight::{NsightSource, Profiler};
use crate::reader::{Format, OpenError, Opened, Reader};
use crate::siblings;
use ouzel_files::{Candidate, Inputs};
use ouzel_model::{Content, ReadError};
use std::path::{Path, PathBuf};

/// `rocprofv3` among the formats.
pub static READER: Reader = Reader {
    format: Format::Rocpd,
    writers: "rocprofv3 (ROCm 7)",
    reads: &[
        (Content::Calls, "HIP, HSA, RCCL, ROCTx"),
        (Content::Counters, "counters of kernels, memory of devices"),
        (Content::AcceleratorStreams, ""),
        (Content::Links, "launch to kernel"),
    ],
    recognise,
    open: open_path,
    add_files,
};

/// Entries of a folder that are looked at. A run has a database for each process.
const MAX_ENTRIES: usize = 65_536;

fn add_files(candidate: &Candidate, inputs: &mut Inputs) {
    if candidate.is_dir() {
        inputs.add_named(candidate.path(), "", &["db", "-wal", "-shm", "-journal"]);
    }
    for database in databases_in(candidate) {
        for beside in ["", "-wal", "-shm", "-journal"] {
            let mut name = database.clone().into_os_string();
            name.push(beside);
            inputs.add_file(name);
        }
    }
}

fn recognise(candidate: &Candidate) -> Option<String> {
    let path = candidate.path();
    if candidate.is_file() {
        return is_database(candidate, path).then(|| format!("database of rocprofv3 {}", path.display()));
    }
    let n = databases_in(candidate).len();
    (0 < n).then(|| format!("{n} databases of rocprofv3 in {}", path.display()))
}

/// Whether a file is a database with the tables of a run.
fn is_database(candidate: &Candidate, path: &Path) -> bool {
    let known = ["rocpd_string_", "rocpd_metadata_"];
    let mut seen = [false; 2];
    schema::tables(candidate, path, |table| {
        for (seen, known) in seen.iter_mut().zip(known) {
            *seen |= table.starts_with(known);
        }
        // Nothing but its own tables is in such a file; what is read of another one is missing to other formats.
        seen == [true; 2] || !(table.starts_with("rocpd_") || table.starts_with("sqlite_"))
    });
    seen == [true; 2]
}

/// The databases of a folder, in order of their names; the file itself if it is one.
fn databases_in(candidate: &Candidate) -> Vec<PathBuf> {
    let mut files = if candidate.is_file() {
        vec![candidate.path().to_owned()]
    } else {
        let mut files = candidate.paths(candidate.path(), |_| true);
        files.truncate(MAX_ENTRIES);
        files
    };
    files.retain(|path| is_database(candidate, path));
    files
}

fn open_path(candidate: &Candidate) -> Result<Opened, OpenError> {
    let databases = databases_in(candidate);
    let mut source = open(candidate.path(), &databases)?;
    source.notices.extend(siblings::left_out(candidate, &databases));
    Ok(Opened::trace(source))
}

fn open(path: &Path, databases: &[PathBuf]) -> Result<NsightSource, ReadError> {
    let profiler = Profiler {
        name: "rocprofv3",
        no_counters: "no counters were recorded (rocprofv3 --pmc, --memory-allocation-trace)",
        no_samples: "ouzel reads no samples of rocprofv3",
        no_messages: "rocprofv3 traces no MPI",
        no_collectives: "rocprofv3 traces no MPI; collectives of RCCL are kernels",
        no_kernels: "no kernels were traced (rocprofv3 --kernel-trace, --runtime-trace)",
        no_links: "no calls of HIP were traced (rocprofv3 --hip-trace, --runtime-trace)",
    };
    NsightSource::open_reports::<tables::RocpdTables>(path, databases, &profiler)
}
