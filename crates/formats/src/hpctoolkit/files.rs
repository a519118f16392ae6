//! `.hpctrace` files: one for each thread or stream, which its name identifies.
//!
//! `PROGRAM-RRRRRR-TTT-HOST-PID-N.hpctrace`: rank, thread, host and process. Threads from 500
//! on are streams of accelerators.

use super::contexts::ContextIds;
use super::ends::{self, LineEnds};
use super::identity::{self, Identity};
use super::source::{LineFile, SampleFile, SampledTrace};
use super::{io_error, period, read_error};
use ouzel_hpcdb::Line;
use ouzel_hpcdb::measurement::{MergedLine, trace_line};
use ouzel_model::{
    Clock, Definitions, Level, LocationId, LocationKind, Notice, NoticeCode, Provenance, ReadError, Region,
    SampledContexts, Ticks,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The first number that means a stream instead of a thread.
const FIRST_STREAM: u64 = 500;

/// A trace before it is known which call paths its numbers name.
#[derive(Debug, Clone)]
pub(super) struct TraceFile {
    pub file: Arc<SampleFile>,
    pub line: Line,
    pub identity: Identity,
    pub ids: Option<Arc<ContextIds>>,
    /// When its last sample was taken, if another file gives the time.
    pub declared_last_ns: Option<u64>,
}

impl TraceFile {
    /// One of an `experiment.mt`.
    pub fn merged(file: Arc<SampleFile>, merged: &MergedLine, has_ranks: bool) -> Self {
        let process = u64::from(merged.process);
        let identity = Identity {
            rank: has_ranks.then_some(process),
            process,
            ..thread_or_stream(u64::from(merged.thread))
        };
        TraceFile { file, line: merged.line, identity, ids: None, declared_last_ns: None }
    }
}

fn thread_or_stream(number: u64) -> Identity {
    match number.checked_sub(FIRST_STREAM) {
        Some(stream) => Identity { stream: Some(stream), ..Identity::default() },
        None => Identity { thread: Some(number), ..Identity::default() },
    }
}

/// The files of a folder with the ending `ending`, by name.
pub(super) fn files_with_ending(folder: &Path, ending: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == ending) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The traces of a folder, by name. One that cannot be read is reported and left out.
pub(super) fn trace_files(folder: &Path, notices: &mut Vec<Notice>) -> Result<Vec<TraceFile>, ReadError> {
    let paths = files_with_ending(folder, "hpctrace").map_err(|error| ReadError {
        file: Arc::from(folder.display().to_string()),
        offset: 0,
        record: 0,
        reason: format!("cannot be read: {error}"),
    })?;
    let mut files = Vec::new();
    for path in paths {
        match trace_file(&path) {
            Ok(file) => files.push(file),
            Err(error) => {
                let notice = Notice::new(Level::High, NoticeCode::MissingEvents, error.reason);
                notices.push(notice.in_file(error.file).at(error.offset));
            }
        }
    }
    let paths: Vec<PathBuf> = files.iter().map(|file: &TraceFile| file.file.path.clone()).collect();
    for (file, identity) in files.iter_mut().zip(identities_of_names(&paths)) {
        file.identity = identity;
    }
    Ok(files)
}

/// The identities of the files, by their names.
pub(super) fn identities_of_names(paths: &[PathBuf]) -> Vec<Identity> {
    let names: Vec<Option<Named>> = paths.iter().map(|path| named(path)).collect();
    // A run without MPI has rank 0 in every name.
    let has_ranks = names.iter().flatten().any(|name| 0 < name.rank);
    let identity = |name: Named| Identity {
        rank: has_ranks.then_some(name.rank),
        node: Some(name.host),
        process: if has_ranks { 0 } else { name.process },
        ..thread_or_stream(name.thread)
    };
    names.into_iter().map(|name| name.map(identity).unwrap_or_default()).collect()
}

/// One trace, not yet named.
pub(super) fn trace_file(path: &Path) -> Result<TraceFile, ReadError> {
    let name: Arc<str> = Arc::from(path.display().to_string());
    let opened = ouzel_files::input::open(path).map_err(|error| io_error(&name, &error))?;
    let line = trace_line(&name, opened, 0, None).map_err(|error| read_error(&error))?;
    let file = Arc::new(SampleFile::of_one(path.to_owned()));
    Ok(TraceFile { file, line, identity: Identity::default(), ids: None, declared_last_ns: None })
}

struct Named {
    rank: u64,
    thread: u64,
    host: u64,
    process: u64,
}

fn named(path: &Path) -> Option<Named> {
    let mut parts = path.file_stem()?.to_str()?.rsplit('-');
    let _generation = parts.next()?;
    let process = parts.next()?.parse().ok()?;
    let host = u64::from_str_radix(parts.next()?, 16).ok()?;
    let thread = parts.next()?.parse().ok()?;
    let rank = parts.next()?.parse().ok()?;
    Some(Named { rank, thread, host, process })
}

/// The trace of these files.
pub(super) fn sampled_trace(
    files: &[TraceFile],
    (contexts, regions): (SampledContexts, Vec<Region>),
    provenance: Provenance,
    metric: Option<&str>,
    has_profile: bool,
    mut notices: Vec<Notice>,
) -> SampledTrace {
    let (identities, order) = identity::ordered(files.iter().map(|file| file.identity.clone()).collect());
    let no_ids = Arc::new(ContextIds::new(&[], &mut notices));
    let lines: Vec<LineFile> = order
        .iter()
        .map(|&i| LineFile {
            file: Arc::clone(&files[i].file),
            line: files[i].line,
            ids: files[i].ids.clone().unwrap_or_else(|| Arc::clone(&no_ids)),
        })
        .collect();
    let ends: Vec<Option<LineEnds>> = lines.iter().map(ends::ends).collect();
    let start = ends.iter().flatten().map(|ends| ends.first_ns).min().unwrap_or_default();
    let end = ends.iter().flatten().map(|ends| ends.last_ns).max().unwrap_or_default();
    let mut definitions = Definitions::empty(Clock {
        ticks_per_second: 1_000_000_000,
        offset_ticks: start,
        realtime_ns: Some(start).filter(|&ns| ns != 0),
        declared_length: Some(Ticks(end.saturating_sub(start))),
    });
    definitions.provenance = provenance;
    definitions.sampled_contexts = contexts;
    definitions.set_regions(regions);
    let tables =
        identity::define(&identities, |i| order[i] as u64, |i| Some(lines[i].line.n_samples), &mut notices);
    definitions.system_tree = tables.system_tree;
    definitions.location_groups = tables.location_groups;
    definitions.locations = tables.locations;
    let is_thread =
        |i: &usize| definitions.location(LocationId::from_index(*i)).kind == LocationKind::CpuThread;
    if let Some(period_ns) = period::median_ns((0..lines.len()).filter(is_thread).map(|i| &lines[i])) {
        let (generator, notice) = period::generator(period_ns, metric);
        definitions.interrupt_generators.push(generator);
        notices.push(notice);
    }
    let declared: Vec<Option<u64>> = order.iter().map(|&i| files[i].declared_last_ns).collect();
    notices.extend(ends::notices(&definitions, &lines, &ends, &declared));
    SampledTrace { definitions, notices, lines, has_profile }
}
