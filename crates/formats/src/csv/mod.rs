//! Tables of events in CSV, as Pipit writes them, as a [`TraceSource`].
//!
//! One row an event: time, `Enter`, `Leave` or `Instant`, the name, process and thread, and
//! attributes. One pass makes an `index` of locations and names; then every location is
//! read as a stream of its own. Time zero is the first event.
//!
//! Instants named `MpiSend` and the like, with the attributes Pipit gives them, are messages.
//! Law: no row is lost; those that cannot be read are counted, with the place of the first.

mod header;
mod index;
mod reader;
mod row;
mod runs;

use crate::heads::unpacked;
use crate::naming;
use crate::reader::{Format, OpenError, Opened, Reader};
use header::CsvHeader;
use index::{Index, RowOwner, TablePlace, csv_reader};
use ouzel_files::{Candidate, LOOK_BYTES};
use ouzel_model::{
    ChunkReader, Clock, CommRank, Communicator, Content, Definitions, Level, Location, LocationGroup,
    LocationGroupId, LocationGroupKind, LocationId, LocationKind, Notice, NoticeCode, Provenance, ReadError,
    ReadPlan, Region, RegionId, TraceSource, WorldRank,
};
use reader::{CsvLocation, Shared};
use runs::{FileStretch, RunsReader};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// CSV among the formats.
pub static READER: Reader = Reader {
    format: Format::Csv,
    writers: "Pipit, scripts",
    reads: &[(Content::Calls, ""), (Content::Messages, "instants with Pipit's attributes")],
    recognise: |candidate| {
        header_of(candidate).map(|_| format!("CSV table of events {}", candidate.path().display()))
    },
    open: |candidate| Ok(Opened::trace(CsvSource::open(candidate.path())?)),
    add_files: |candidate, inputs| inputs.add_file(candidate.path()),
};

/// Bytes in which most first lines end.
const FIRST_BYTES: usize = 4 << 10;

/// The columns of a file, if its first line is that of a table of events.
fn header_of(candidate: &Candidate) -> Option<CsvHeader> {
    let in_first = |n_bytes: usize| {
        let text = unpacked(candidate.head(candidate.path(), n_bytes), LOOK_BYTES);
        CsvHeader::of(csv_reader(&text[..], true).byte_headers().ok()?)
    };
    // A first line that is longer than a look is not that of a table of events.
    in_first(FIRST_BYTES).or_else(|| in_first(LOOK_BYTES))
}

/// An opened table of events.
#[derive(Debug)]
pub struct CsvSource {
    path: PathBuf,
    definitions: Definitions,
    notices: Vec<Notice>,
    place: TablePlace,
    locations: Vec<LocationRows>,
    shared: Shared,
    n_messages: u64,
}

/// The rows of one location.
#[derive(Debug)]
struct LocationRows {
    runs: Arc<[FileStretch]>,
    is_unsorted: bool,
}

impl CsvSource {
    /// Opens a table.
    ///
    /// # Errors
    /// If it cannot be read, or its first line is not that of a table of events.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let index = index::index(path)?;
        let file: Arc<str> = Arc::from(path.display().to_string());
        let notices = notices(&index, &file);
        let definitions = definitions(&index);
        let regions = index.regions.iter().enumerate();
        let regions = regions.map(|(i, name)| (name.clone(), RegionId::from_index(i))).collect();
        let comm_ranks = (index.comms.len() <= 1).then(|| {
            let members = definitions.communicators.first().map(|comm| comm.members.clone());
            let members = members.iter().flat_map(|members| members.iter().enumerate());
            members.map(|(i, rank)| (rank.0, CommRank::from_index(i))).collect()
        });
        let shared = Shared {
            file,
            header: index.header,
            regions,
            unknown_region: definitions.unknown_region,
            first_ns: index.first_ns.unwrap_or(0),
            comm_ranks,
        };
        let rows = index.locations.into_iter();
        let locations =
            rows.map(|rows| LocationRows { runs: rows.runs.into(), is_unsorted: rows.is_unsorted }).collect();
        let (path, place, n_messages) = (path.to_owned(), index.place, index.n_messages);
        Ok(CsvSource { path, definitions, notices, place, locations, shared, n_messages })
    }
}

fn notices(index: &Index, file: &Arc<str>) -> Vec<Notice> {
    let mut all = Vec::new();
    let mut say = |level, code, message: String, count: u64, offset: Option<u64>| {
        let notice = Notice::new(level, code, message).times(count).in_file(file.clone());
        all.push(match offset {
            Some(offset) => notice.at(offset),
            None => notice,
        });
    };
    if let Some((n, first)) = index.bad {
        let message = "rows without a readable time, type (Enter, Leave or Instant) or process were left out; the \
                       offset is that of the first";
        say(Level::High, NoticeCode::DamagedEvents, message.to_owned(), n, Some(first));
    }
    if let Some(error) = &index.error {
        let message = format!("the rest cannot be read: {}", error.reason);
        say(Level::High, NoticeCode::DamagedEvents, message, 1, Some(error.offset));
    }
    if !index.header.derived.is_empty() {
        let message = format!(
            "columns that are derived from the others were left out: {}",
            index.header.derived.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
        );
        say(Level::Low, NoticeCode::NotRepresented, message, index.header.derived.len() as u64, None);
    }
    if 1 < index.comms.len() {
        let message = "messages name several communicators whose members are not recorded; the messages are kept as instants";
        say(Level::Medium, NoticeCode::NotRepresented, message.to_owned(), index.n_messages, None);
    }
    all
}

fn definitions(index: &Index) -> Definitions {
    let clock =
        Clock { ticks_per_second: 1_000_000_000, offset_ticks: 0, realtime_ns: None, declared_length: None };
    let mut definitions = Definitions::empty(clock);
    definitions.provenance = Provenance { format: "CSV".to_owned(), ..Provenance::default() };
    let attributes = index.header.attributes.iter().map(|(_, name)| Arc::from(name.as_str()));
    definitions.parameters = std::iter::once(Arc::from("instant")).chain(attributes).collect();
    let region = |(i, name): (usize, &Vec<u8>)| {
        let name = match &name[..] {
            [] => format!("<region {i} without a name>"),
            name => String::from_utf8_lossy(name).into_owned(),
        };
        let (role, paradigm) = naming::of_function(&name);
        let name = Arc::from(name);
        Region { name, canonical_name: None, file: None, line: None, end_line: None, role, paradigm }
    };
    definitions.set_regions(index.regions.iter().enumerate().map(region).collect());
    let mut groups: FxHashMap<Option<i64>, LocationGroupId> = FxHashMap::default();
    for rows in &index.locations {
        let RowOwner { process, thread } = &rows.key;
        let rank = process.and_then(|process| u32::try_from(process).ok()).map(WorldRank);
        let group = *groups.entry(*process).or_insert_with(|| {
            let name = process.map_or("no process".to_owned(), |process| format!("process {process}"));
            let (name, kind) = (Arc::from(name), LocationGroupKind::Process);
            definitions.location_groups.push(LocationGroup {
                name,
                kind,
                system_node: None,
                creator: None,
                device: None,
                rank,
            });
            LocationGroupId::from_index(definitions.location_groups.len() - 1)
        });
        let thread = String::from_utf8_lossy(thread);
        definitions.locations.push(Location {
            name: if thread.is_empty() { "main thread".into() } else { format!("thread {thread}").into() },
            kind: LocationKind::CpuThread,
            group,
            rank,
            declared_events: None,
            native_id: definitions.locations.len() as u64,
        });
    }
    if 0 < index.n_messages {
        // The table may hold some of the processes, and name the others as peers.
        let peers = index.peers.iter().copied().map(WorldRank);
        let members: BTreeSet<WorldRank> = definitions.ranks().into_iter().chain(peers).collect();
        let members = members.into_iter().collect();
        definitions.communicators = vec![Communicator::of_ranks("all processes", members)];
    }
    definitions
}

impl TraceSource for CsvSource {
    fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn location_bytes(&self, location: LocationId) -> u64 {
        self.locations[location.index()].runs.iter().map(|run| run.n_bytes).sum()
    }

    fn lacks(&self, content: Content) -> Option<String> {
        let reason = match content {
            Content::Calls => return None,
            Content::Messages if 0 < self.n_messages && self.shared.comm_ranks.is_some() => return None,
            Content::Messages => "the table has no instants MpiSend and MpiRecv with their attributes",
            Content::Samples => "an event table has no samples",
            Content::Collectives => "an event table records calls of collective operations, not their sizes",
            Content::Rma => "an event table records calls of one-sided communication, not their targets",
            Content::Threads => "an event table records neither teams of threads nor locks",
            Content::Counters => "attribute columns are parameters, not counters",
            Content::AcceleratorStreams => "an event table records only processes and threads",
            Content::Links => "an event table has no links",
            Content::Topologies => "an event table has no topology",
            Content::Severities => "an event table is a trace without a profile",
        };
        Some(reason.to_owned())
    }

    /// Rows have no index by time: a range only ends the reading early.
    fn open(&self, location: LocationId, plan: &ReadPlan) -> Result<Box<dyn ChunkReader + '_>, ReadError> {
        let LocationRows { runs, is_unsorted } = &self.locations[location.index()];
        let file = self.place.open(&self.path).map_err(|error| ReadError {
            file: self.shared.file.clone(),
            offset: 0,
            record: 0,
            reason: error.to_string(),
        })?;
        let reader = csv_reader(RunsReader::new(file, runs.clone()), false);
        let mut reader = CsvLocation::new(&self.shared, reader, runs.clone(), plan.needs, location);
        if *is_unsorted {
            reader.sort()?;
        }
        Ok(Box::new(reader))
    }
}
