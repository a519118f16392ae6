//! Traces of Charm++ (Projections) as a [`TraceSource`].
//!
//! `NAME.sts` names things, `NAME.<pe>.log` holds the events of a PE: one location, one
//! process and one world rank each. Logs are text and are read as a stream; the receivers of a
//! message are known only from the logs of all PEs (see `messages`).
//!
//! | record | in the model |
//! |---|---|
//! | `BEGIN/END_COMPUTATION` | between them, region `Charm++ runtime` where nothing else is open: the overhead |
//! | `BEGIN/END_PROCESSING` | a region for each entry method; a receive if a message was sent to it |
//! | `CREATION*` | a send to each PE that processes the message |
//! | idle, pack, unpack, interrupt | regions of these names |
//! | user brackets, functions | regions; user events, values, notes, phases: parameters |
//! | processor time, PAPI counters, memory, statistics | metrics |
//! | other fields of a record | parameters |
//!
//! Summaries (`.sum`), which hold sums over intervals, are not read.

mod brackets;
mod calls;
mod definitions;
mod files;
mod lines;
mod messages;
mod reader;
mod record;
mod scan;
mod sts;

use crate::reader::{Format, OpenError, Opened, Reader};
use definitions::Refs;
use files::Files;
use lines::LogLines;
use messages::Messages;
use ouzel_files::Candidate;
use ouzel_model::{
    ChunkReader, Content, Definitions, Level, LocationId, Needs, Notice, NoticeCode, ReadError, ReadPlan,
    TraceSource,
};
use record::RecordLayout;
use scan::{Log, LogReader};
use std::path::Path;
use std::sync::Arc;
use sts::Sts;

/// Projections among the formats.
pub static READER: Reader = Reader {
    format: Format::Projections,
    writers: "Charm++",
    reads: &[
        (Content::Calls, "entry methods, idle, packing, user brackets"),
        (Content::Messages, "creation to processing"),
        (Content::Counters, "PAPI, processor time, memory"),
    ],
    recognise: |candidate| {
        let found = files::find(candidate);
        (!found.is_empty()).then(|| format!("Projections trace {}", candidate.path().display()))
    },
    open: |candidate| Ok(Opened::trace(ProjectionsSource::of(candidate)?)),
    add_files: files::add_files,
};

/// An opened Projections trace.
#[derive(Debug)]
pub struct ProjectionsSource {
    definitions: Definitions,
    refs: Refs,
    /// The log of each location, and its PE.
    logs: Vec<Log>,
    pes: Vec<u32>,
    sizes: Vec<u64>,
    /// Whether logs may hold brackets that are written once they are over.
    has_user_events: bool,
    messages: Messages,
    notices: Vec<Notice>,
}

impl ProjectionsSource {
    /// Opens a folder, an `.sts` file, or any log of a trace.
    ///
    /// # Errors
    /// If there is no log, or logs of several traces.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        ProjectionsSource::of(&Candidate::at(path))
    }

    fn of(candidate: &Candidate) -> Result<Self, OpenError> {
        let path = candidate.path();
        let refused = |reason: String| Err(OpenError::Refused { path: path.to_owned(), reason });
        let mut found = files::find(candidate);
        if found.iter().any(|files| !files.logs.is_empty()) {
            found.retain(|files| !files.logs.is_empty());
        }
        match &found[..] {
            [] => refused("not a Projections trace: there is neither an .sts file nor a log".to_owned()),
            [files] if files.logs.is_empty() && 0 < files.n_summaries => refused(
                "this Projections data is a summary (.sum) without events; record logs with -tracemode projections"
                    .to_owned(),
            ),
            [files] if files.logs.is_empty() => refused(
                "the logs of this Projections trace are missing: NAME.<pe>.log[.gz] must lie beside NAME.sts"
                    .to_owned(),
            ),
            [files] => Ok(Self::of_files(files)?),
            several => Err(OpenError::Ambiguous {
                path: path.to_owned(),
                candidates: several
                    .iter()
                    .filter_map(|files| files.sts.as_ref().or(files.logs.values().next()))
                    .map(|path| path.display().to_string())
                    .collect(),
            }),
        }
    }

    fn of_files(files: &Files) -> Result<Self, ReadError> {
        let mut notices = Vec::new();
        let sts = read_sts(files, &mut notices)?;
        let pes: Vec<u32> = files.logs.keys().copied().collect();
        let n_missing = sts.n_pes.saturating_sub(pes.len() as u64);
        if 0 < n_missing {
            let message = format!("the run had {} PEs, but there are {} logs", sts.n_pes, pes.len());
            notices.push(Notice::new(Level::High, NoticeCode::MissingEvents, message).times(n_missing));
        }
        if 0 < files.n_summaries {
            let message = "summaries (.sum) hold only sums of the logs and are not read";
            let n = files.n_summaries as u64;
            notices.push(Notice::new(Level::Low, NoticeCode::NotRepresented, message).times(n));
        }
        let layout = RecordLayout { version: sts.version, n_counters: sts.n_counters() };
        let log = |path: &std::path::PathBuf| Log {
            path: path.clone(),
            file: Arc::from(path.display().to_string()),
            layout,
        };
        let logs: Vec<Log> = files.logs.values().map(log).collect();
        let sizes =
            logs.iter().map(|log| std::fs::metadata(&log.path).map_or(0, |meta| meta.len())).collect();
        let (definitions, refs) = definitions::resolve(&sts, &pes);
        let has_user_events = !sts.events.is_empty() || files.sts.is_none();
        let messages = Messages::default();
        Ok(ProjectionsSource { definitions, refs, logs, pes, sizes, has_user_events, messages, notices })
    }
}

fn read_sts(files: &Files, notices: &mut Vec<Notice>) -> Result<Sts, ReadError> {
    let mut sts = Sts::default();
    let Some(path) = &files.sts else {
        let message =
            "the .sts file is missing: entry methods have no names, and the newest version is assumed";
        notices.push(Notice::new(Level::High, NoticeCode::MissingDefinitions, message));
        return Ok(sts);
    };
    let file: Arc<str> = Arc::from(path.display().to_string());
    let failed = |error: std::io::Error, offset| ReadError {
        file: file.clone(),
        offset,
        record: 0,
        reason: error.to_string(),
    };
    let mut lines = LogLines::open(path).map_err(|error| failed(error, 0))?;
    let damaged = |message: String| {
        Notice::new(Level::High, NoticeCode::DamagedDefinitions, message).in_file(file.clone())
    };
    if let Err(error) = sts.read(&mut lines) {
        notices.push(damaged(error.to_string()).at(lines.offset));
    } else if !sts.is_complete {
        notices.push(damaged("the file ends without END: names may be missing".to_owned()));
    }
    if !sts.has_version {
        notices.push(damaged("the file does not state its version; the newest is assumed".to_owned()));
    }
    if let Some((n, first)) = sts.bad_lines {
        let message = "a line cannot be read; the offset is that of the first".to_owned();
        notices.push(damaged(message).times(n).at(first));
    }
    Ok(sts)
}

impl TraceSource for ProjectionsSource {
    fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn location_bytes(&self, location: LocationId) -> u64 {
        self.sizes[location.index()]
    }

    fn lacks(&self, content: Content) -> Option<String> {
        let reason = match content {
            Content::Calls | Content::Messages | Content::Counters => return None,
            Content::Samples => "Projections records events, not samples",
            Content::Collectives => {
                "Charm++ has no collective operations: reductions and broadcasts are messages"
            }
            Content::Rma => "Projections records messages, no accesses to the memory of other PEs",
            Content::Threads => "Projections records PEs, not the threads and locks inside of them",
            Content::AcceleratorStreams => "Projections records only PEs",
            Content::Links => "Projections records messages, no other links",
            Content::Topologies => "Projections records no Cartesian topology",
            Content::Severities => "Projections logs are a trace without a profile",
        };
        Some(reason.to_owned())
    }

    /// A log is text without an index: a time range only ends the reading early.
    fn open(&self, location: LocationId, plan: &ReadPlan) -> Result<Box<dyn ChunkReader + '_>, ReadError> {
        let place = location.index();
        let log = &self.logs[place];
        let reader = LogReader::open(log)?;
        let messages =
            plan.needs.contains(Needs::MESSAGES).then(|| self.messages.of(place, &self.logs, &self.pes));
        let brackets = if self.has_user_events { brackets::brackets(log) } else { (Vec::new(), 0) };
        let opened = reader::OpenedLog {
            location,
            file: log.file.clone(),
            refs: &self.refs,
            needs: plan.needs,
            messages,
            brackets,
            pes: &self.pes,
        };
        Ok(Box::new(reader::ProjectionsLocation::new(reader, opened)))
    }
}
