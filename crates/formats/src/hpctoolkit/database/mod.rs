//! Databases of format 4: `meta.db`, with `trace.db` and `profile.db` where they exist.

mod severities;
mod tree;

use super::contexts::ContextIds;
use super::ends::{self, LineEnds};
use super::identity::{self, Identity};
use super::source::{LineFile, SampleFile, SampledTrace};
use super::{damage_notice, io_error, period, read_error};
use crate::reader::{OpenError, Opened};
use ouzel_hpcdb::{FileKind, Line, Meta, Profile, ProfileDb, ReadErrorKind, TraceDb};
use ouzel_model::{
    Clock, Definitions, Level, LocationId, LocationKind, Notice, NoticeCode, Provenance, ReadError, Ticks,
};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use tree::DatabaseTree;

/// Opens the database in `folder`.
pub(super) fn open(folder: &Path) -> Result<Opened, OpenError> {
    let meta = read_meta(folder)?;
    let mut notices = Vec::new();
    notices.extend(meta.damages.iter().map(|damage| damage_notice(NoticeCode::DamagedDefinitions, damage)));
    let profiles = match read_part(folder, FileKind::Profile, ProfileDb::read)? {
        Some(db) => {
            let damage = |damage| damage_notice(NoticeCode::DamagedDefinitions, damage);
            notices.extend(db.damages.iter().map(damage));
            Some(db)
        }
        None => {
            let message = "profile.db is missing: the rank and thread of each trace line are unknown";
            notices.push(Notice::new(Level::Medium, NoticeCode::MissingDefinitions, message));
            None
        }
    };
    let tree = tree::build(&meta, &mut notices);
    let mut opened = Opened::default();
    let trace = match read_part(folder, FileKind::Trace, TraceDb::read) {
        Ok(trace) => trace,
        // The profile is useful alone.
        Err(error) if profiles.is_some() => {
            let reason = format!("no trace: {}", error.reason);
            let notice = Notice::new(Level::High, NoticeCode::MissingEvents, reason);
            notices.push(notice.in_file(error.file).at(error.offset));
            None
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(db) = &profiles {
        opened.profile = Some(Box::new(severities::profile(folder, &meta, db, &tree, notices.clone())));
    }
    match trace {
        Some(trace) => {
            let damage = |damage| damage_notice(NoticeCode::DamagedEvents, damage);
            notices.extend(trace.damages.iter().map(damage));
            let trace = sampled_trace(folder, &meta, profiles.as_ref(), &trace, tree, notices);
            opened.trace = Some(Box::new(trace));
        }
        None if opened.profile.is_none() => {
            return Err(OpenError::NotATrace {
                path: folder.to_owned(),
                reason: "this HPCToolkit database has neither trace.db nor profile.db".to_owned(),
            });
        }
        None => {}
    }
    Ok(opened)
}

/// `meta.db` is read as a whole: names and the tree of call paths, some 20 bytes for each.
const META_BYTES_MAX: u64 = 2 << 30;

fn read_meta(folder: &Path) -> Result<Meta, OpenError> {
    let path = folder.join(FileKind::Meta.file_name());
    let name: Arc<str> = Arc::from(path.display().to_string());
    let bytes =
        ouzel_files::input::read_limited(&path, META_BYTES_MAX).map_err(|error| io_error(&name, &error))?;
    Meta::read(&name, &bytes).map_err(|error| match error.kind {
        ReadErrorKind::PreRelease => {
            OpenError::Refused { path: folder.to_owned(), reason: error.kind.to_string() }
        }
        _ => OpenError::Read(read_error(&error)),
    })
}

/// Reads what precedes the data of a file; `None` if the database has no such file.
fn read_part<T>(
    folder: &Path,
    kind: FileKind,
    read: impl Fn(&Arc<str>, File) -> Result<T, ouzel_hpcdb::ReadError>,
) -> Result<Option<T>, ReadError> {
    let path = folder.join(kind.file_name());
    let name: Arc<str> = Arc::from(path.display().to_string());
    match ouzel_files::input::open(&path) {
        Ok(file) => read(&name, file).map(Some).map_err(|error| read_error(&error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(&name, &error)),
    }
}

fn sampled_trace(
    folder: &Path,
    meta: &Meta,
    profiles: Option<&ProfileDb>,
    trace: &TraceDb,
    tree: DatabaseTree,
    mut notices: Vec<Notice>,
) -> SampledTrace {
    let mut definitions = Definitions::empty(Clock {
        ticks_per_second: 1_000_000_000,
        offset_ticks: trace.min_time_ns,
        realtime_ns: Some(trace.min_time_ns).filter(|&ns| ns != 0),
        declared_length: Some(Ticks(trace.max_time_ns.saturating_sub(trace.min_time_ns))),
    });
    definitions.provenance = provenance(meta);
    definitions.sampled_contexts = tree.contexts;
    definitions.set_regions(tree.regions);
    let identities =
        trace.lines.iter().map(|line| line_identity(meta, profiles, line, &mut notices)).collect();
    let (identities, order) = identity::ordered(identities);
    let line = |i: usize| trace.lines[order[i]];
    let native_id = |i| u64::from(line(i).profile);
    let tables = identity::define(&identities, native_id, |i| Some(line(i).n_samples), &mut notices);
    definitions.system_tree = tables.system_tree;
    definitions.location_groups = tables.location_groups;
    definitions.locations = tables.locations;
    let file = Arc::new(SampleFile::of_all(folder.join(FileKind::Trace.file_name())));
    let ids: Arc<ContextIds> = Arc::new(tree.ids);
    let lines: Vec<LineFile> = (0..order.len())
        .map(|i| LineFile { file: Arc::clone(&file), line: line(i), ids: Arc::clone(&ids) })
        .collect();
    let is_thread =
        |i: &usize| definitions.location(LocationId::from_index(*i)).kind == LocationKind::CpuThread;
    if let Some(period_ns) = period::median_ns((0..lines.len()).filter(is_thread).map(|i| &lines[i])) {
        let (generator, notice) = period::generator(period_ns, only_metric(meta));
        definitions.interrupt_generators.push(generator);
        notices.push(notice);
    }
    let ends: Vec<Option<LineEnds>> = lines.iter().map(ends::ends).collect();
    notices.extend(ends::notices(&definitions, &lines, &ends, &vec![None; lines.len()]));
    SampledTrace { definitions, notices, lines, has_profile: profiles.is_some() }
}

/// The name of what was sampled, if it is one thing.
fn only_metric(meta: &Meta) -> Option<&str> {
    match &meta.metrics[..] {
        [metric] => Some(&metric.name),
        _ => None,
    }
}

fn provenance(meta: &Meta) -> Provenance {
    Provenance {
        format: "HPCToolkit".to_owned(),
        format_version: meta.version.to_string(),
        creator: "HPCToolkit".to_owned(),
        machine: String::new(),
        description: meta.title.to_string(),
    }
}

/// The thread or stream of a line's samples.
fn line_identity(
    meta: &Meta,
    profiles: Option<&ProfileDb>,
    line: &Line,
    notices: &mut Vec<Notice>,
) -> Identity {
    match profiles.and_then(|db| db.profiles.get(line.profile as usize)) {
        Some(profile) => identity_of(meta, profile, notices),
        None => {
            if profiles.is_some() {
                let message = format!("a trace line belongs to profile {}, which is missing", line.profile);
                notices.push(Notice::new(Level::Medium, NoticeCode::UndefinedReference, message));
            }
            Identity { thread: Some(u64::from(line.profile)), ..Identity::default() }
        }
    }
}

/// The thread or stream of a profile's values. Cores that threads were bound to are left out.
fn identity_of(meta: &Meta, profile: &Profile, notices: &mut Vec<Notice>) -> Identity {
    let mut identity = Identity::default();
    for part in &profile.id {
        let kind = meta.kinds.get(usize::from(part.kind));
        match kind.map(|kind| &**kind) {
            Some("NODE") => identity.node = Some(part.physical),
            Some("RANK") => identity.rank = Some(part.physical),
            Some("THREAD") => identity.thread = Some(part.physical),
            Some("GPUDEVICE") => identity.device = Some(part.physical),
            Some("GPUCONTEXT") => identity.context = Some(part.physical),
            Some("GPUSTREAM") => identity.stream = Some(part.physical),
            kind => {
                let name = kind.map_or_else(|| format!("of unknown kind {}", part.kind), str::to_owned);
                let message = format!("parts {name} of thread and stream names are left out");
                notices.push(Notice::new(Level::Low, NoticeCode::NotRepresented, message));
            }
        }
    }
    identity
}
