//! HPCToolkit's databases as traces and profiles.
//!
//! HPCToolkit takes samples of the call path: a trace of it is a list of moments, each with
//! the functions and loops that ran ([`EventKind::Sample`](ouzel_model::EventKind::Sample)),
//! and a profile holds sums of metrics over the same tree of call paths.
//! The engine, not this module, makes calls of samples.

mod contexts;
mod database;
mod ends;
mod experiment;
mod files;
mod gathered;
mod identity;
mod lines;
mod measurements;
mod metric_db;
mod period;
mod regions;
mod source;
mod xml_tree;

use crate::reader::{Format, OpenError, Opened, Reader};
use ouzel_files::{Candidate, Inputs};
use ouzel_hpcdb::FileKind;
use ouzel_hpcdb::experiment::is_experiment;
use ouzel_hpcdb::measurement::is_measurement;
use ouzel_model::{Content, Level, Notice, NoticeCode, ReadError};
pub use source::SampledTrace;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// HPCToolkit among the formats.
pub static READER: Reader = Reader {
    format: Format::HpcToolkit,
    writers: "HPCToolkit",
    reads: &[
        (Content::Calls, "from samples"),
        (Content::Samples, "with loops"),
        (Content::AcceleratorStreams, ""),
        (Content::Severities, ""),
    ],
    recognise,
    open,
    add_files,
};

/// What a path holds.
enum HpctoolkitPath {
    /// The folder of a database of format 4.
    Database(PathBuf),
    /// The `experiment.xml` of an older database.
    Experiment(PathBuf),
    /// A folder of measurements, or one of them.
    Measurements(PathBuf),
}

fn find(candidate: &Candidate) -> Option<HpctoolkitPath> {
    if let Some(folder) = database_folder(candidate) {
        return Some(HpctoolkitPath::Database(folder));
    }
    let path = candidate.path();
    let file = if candidate.is_dir() { path.join("experiment.xml") } else { path.to_owned() };
    let first = candidate.head(&file, EXPERIMENT_BYTES);
    if is_experiment(&first) {
        return Some(HpctoolkitPath::Experiment(file));
    }
    if candidate.is_dir() {
        let named =
            |ending: &str| candidate.paths(path, |name| Path::new(name).extension() == Some(ending.as_ref()));
        let first = ["hpctrace", "hpcrun"].into_iter().flat_map(named).next()?;
        return is_measurement(&candidate.head(&first, 24))
            .then(|| HpctoolkitPath::Measurements(path.to_owned()));
    }
    is_measurement(&first).then_some(HpctoolkitPath::Measurements(file))
}

/// Bytes of an `experiment.xml` that hold its outermost element, which follows a document type of 6 KiB.
const EXPERIMENT_BYTES: usize = 16 * 1024;

fn recognise(candidate: &Candidate) -> Option<String> {
    Some(match find(candidate)? {
        HpctoolkitPath::Database(folder) => format!("HPCToolkit database {}", folder.display()),
        HpctoolkitPath::Experiment(file) => format!("HPCToolkit database {}", file.display()),
        HpctoolkitPath::Measurements(path) => format!("HPCToolkit measurements {}", path.display()),
    })
}

/// Databases and folders of measurements belong to HPCToolkit, with everything in them.
fn add_files(candidate: &Candidate, inputs: &mut Inputs) {
    match find(candidate) {
        Some(HpctoolkitPath::Database(folder)) => inputs.add_folder(folder),
        Some(HpctoolkitPath::Experiment(file)) => inputs.add_folder(folder_of(&file)),
        Some(HpctoolkitPath::Measurements(path)) if path.is_dir() => inputs.add_folder(path),
        Some(HpctoolkitPath::Measurements(file)) => {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            inputs.add_named(folder_of(&file), &format!("{stem}."), &["hpctrace", "hpcrun"]);
        }
        None => {}
    }
}

/// The folder that a file is in.
fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn open(candidate: &Candidate) -> Result<Opened, OpenError> {
    match find(candidate) {
        Some(HpctoolkitPath::Database(folder)) => database::open(&folder),
        Some(HpctoolkitPath::Experiment(file)) => experiment::open(&file),
        Some(HpctoolkitPath::Measurements(path)) => measurements::open(&path),
        None => Err(OpenError::NotATrace {
            path: candidate.path().to_owned(),
            reason: "looked for meta.db, experiment.xml and *.hpctrace of HPCToolkit".to_owned(),
        }),
    }
}

/// The folder of a database of format 4: it holds a `meta.db` with a valid beginning.
fn database_folder(candidate: &Candidate) -> Option<PathBuf> {
    let path = candidate.path();
    let begins = |path: &Path, kinds: &[FileKind]| {
        let (kind, _) = ouzel_hpcdb::recognise(&candidate.head(path, 16))?;
        kinds.contains(&kind).then_some(())
    };
    if candidate.is_dir() {
        begins(&path.join(FileKind::Meta.file_name()), &[FileKind::Meta])?;
        return Some(path.to_owned());
    }
    begins(path, &[FileKind::Meta, FileKind::Profile, FileKind::Cct, FileKind::Trace])?;
    let folder = folder_of(path);
    begins(&folder.join(FileKind::Meta.file_name()), &[FileKind::Meta])?;
    Some(folder.to_owned())
}

fn io_error(name: &Arc<str>, error: &std::io::Error) -> ReadError {
    ReadError { file: Arc::clone(name), offset: 0, record: 0, reason: format!("cannot be read: {error}") }
}

fn read_error(error: &ouzel_hpcdb::ReadError) -> ReadError {
    ReadError { file: error.file.clone(), offset: error.offset, record: 0, reason: error.kind.to_string() }
}

/// The notice for a part of the database that is lost.
fn damage_notice(code: NoticeCode, damage: &ouzel_hpcdb::Damage) -> Notice {
    Notice::new(Level::High, code, damage.reason.clone())
        .times(damage.count)
        .in_file(damage.file.clone())
        .at(damage.offset)
}
