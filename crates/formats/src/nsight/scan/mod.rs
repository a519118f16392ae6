//! One scan of each table: every row goes to its place.
//!
//! ```text
//! tables of a report ──rows──► place (thread, ranges of a thread, stream) ──► Partition
//!                     └─names─► regions, processes, communicators
//! ```
//!
//! Device tables come first, so that only those calls get a link that launched something.
//! Law: each row of a table of calls is one row of a place, or is counted by the name of its table and the reason.

mod counters;
mod cuda;
mod host;
pub(crate) mod links;
mod mpi;
mod nvtx;
mod overhead;
mod samples;

use super::database::{Database, ScanError, Strings};
use super::regions::{NsightRegions, Origin};
use super::rows::ReportRow;
use super::store::Partition;
use crate::position::u32_from;
use links::{Callers, LinkedCalls};
use ouzel_files::unfinished::of_temporary_file;
use ouzel_model::{LaunchShape, Level, Notice, NoticeCode, ReadError, SampledContexts};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) use counters::CounterName;
pub(crate) use mpi::CommHandle;

/// Times that are believed, in ns from the start of the session: 104 days in both directions. What lies outside
/// comes from a damaged file.
const MAX_TIME_NS: i64 = 1 << 53;

/// Which rows belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PlaceKind {
    /// Calls and samples of a thread.
    Thread(u32),
    /// Ranges that were begun by a thread and may end elsewhere.
    Ranges(u32),
    /// Operations of a stream.
    Stream { device: i64, context: i64, stream: i64 },
    /// Values of counters.
    Counters,
}

/// A sequence of rows; the numbers of processes are those of [`ScannedReports::processes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RowPlace {
    pub process: u32,
    pub kind: PlaceKind,
}

/// A process of a report.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub report: usize,
    /// Serialised id of the process: that of a thread with zero for the thread.
    pub global_pid: u64,
}

impl Process {
    /// The process id, as far as the format keeps it (24 bits).
    pub fn pid(&self) -> u32 {
        (self.global_pid >> 24 & 0xff_ffff) as u32
    }
}

/// The process of a serialised id of a thread or process: that id with zero for the thread.
pub(crate) fn process_id(global_id: i64) -> u64 {
    global_id.cast_unsigned() & !0xff_ffff
}

/// The thread of a serialised id (24 bits).
pub(crate) fn thread_id(global_id: i64) -> u32 {
    (global_id.cast_unsigned() & 0xff_ffff) as u32
}

/// What the scans of all reports gather.
#[derive(Debug, Default)]
pub(crate) struct ScannedReports {
    pub regions: NsightRegions,
    pub contexts: SampledContexts,
    context_index: FxHashMap<(u32, u32), u32>,
    pub places: Vec<RowPlace>,
    place_index: FxHashMap<RowPlace, u32>,
    pub processes: Vec<Process>,
    process_index: FxHashMap<(usize, u64), u32>,
    pub handles: Vec<CommHandle>,
    handle_index: FxHashMap<(u32, i64), u32>,
    /// Events of streams, by process.
    pub events: FxHashMap<(u32, i64), u64>,
    /// Contexts that are waited for: process, device, context.
    pub contexts_of_devices: BTreeMap<(u32, i64, i64), u32>,
    pub partition: Partition,
    /// Names of places that no table of the format names.
    pub place_names: BTreeMap<u32, String>,
    /// Names and units of counters.
    pub metrics: Vec<CounterName>,
    /// How kernels were launched, each shape once.
    pub shapes: Vec<LaunchShape>,
    shape_ids: FxHashMap<LaunchShape, u64>,
    pub notices: Vec<Notice>,
    /// Rows with an effect on more than their place, for what the trace lacks.
    pub n_samples: u64,
    pub n_values: u64,
    pub n_links: u64,
    pub n_messages: u64,
    pub n_collectives: u64,
    /// The earliest start of a row.
    pub first: Option<i64>,
    /// When the program of each report ended.
    pub program_ends: Vec<Option<i64>>,
}

/// The scan of one report.
struct ReportScan<'a> {
    all: &'a mut ScannedReports,
    database: &'a Database,
    strings: Strings<'a>,
    report: usize,
    /// What is added to its times to compare them with those of other reports.
    offset_ns: i64,
    linked: LinkedCalls,
    callers: Callers,
    /// Event and stream of the calls that record events, by their links.
    event_records: FxHashMap<u64, (u64, u32)>,
    names: FxHashMap<(u8, i64), u32>,
    scanned: BTreeSet<String>,
    /// Rows that were left out, by the name of what they are.
    left_out: BTreeMap<String, u64>,
    n_damaged: u64,
    n_open: u64,
    last: i64,
    program: overhead::ProgramEnd,
}

impl ScannedReports {
    /// The number of a process of a report, by its serialised id.
    pub(crate) fn process(&mut self, report: usize, global_pid: u64) -> u32 {
        *self.process_index.entry((report, global_pid)).or_insert_with(|| {
            self.processes.push(Process { report, global_pid });
            u32_from(self.processes.len() - 1)
        })
    }

    /// The number of a place.
    pub(crate) fn place(&mut self, process: u32, kind: PlaceKind) -> u32 {
        let place = RowPlace { process, kind };
        *self.place_index.entry(place).or_insert_with(|| {
            self.places.push(place);
            u32_from(self.places.len() - 1)
        })
    }

    /// The number of a counter.
    pub(crate) fn counter(&mut self, name: String, unit: &'static str) -> u32 {
        let known = self.metrics.iter().position(|it| it.name == name);
        u32_from(known.unwrap_or_else(|| {
            self.metrics.push(CounterName { name, unit });
            self.metrics.len() - 1
        }))
    }

    /// The number of a shape.
    pub(crate) fn shape(&mut self, shape: LaunchShape) -> u64 {
        let next = self.shapes.len() as u64;
        let number = *self.shape_ids.entry(shape).or_insert(next);
        if number == next {
            self.shapes.push(shape);
        }
        number
    }

    /// Takes all rows of a report. Damage is a notice; what was read before it is kept.
    ///
    /// # Errors
    /// If the strings cannot be read or a temporary file cannot be written.
    pub fn take(&mut self, database: &Database, report: usize, offset_ns: i64) -> Result<(), ReadError> {
        let mut scan = ReportScan {
            strings: database.strings()?,
            all: self,
            database,
            report,
            offset_ns,
            linked: LinkedCalls::default(),
            callers: Callers::default(),
            event_records: FxHashMap::default(),
            names: FxHashMap::default(),
            scanned: BTreeSet::new(),
            left_out: BTreeMap::new(),
            n_damaged: 0,
            n_open: 0,
            last: session_end(database),
            program: overhead::ProgramEnd::default(),
        };
        scan.overhead()?;
        scan.devices()?;
        scan.host_calls()?;
        scan.mpi()?;
        scan.nvtx()?;
        scan.samples()?;
        scan.counters()?;
        scan.other_ranges()?;
        let end = scan.program.end.map(|end| end + offset_ns);
        scan.all.program_ends.push(end);
        scan.finish();
        Ok(())
    }
}

/// Where the session ends, in its own time: the end of what was still open. Zero if the export does not say.
fn session_end(database: &Database) -> i64 {
    let mut end = 0;
    let read = database.scan("ANALYSIS_DETAILS", &["duration"], None, |row| {
        end = end.max(row.int(0).unwrap_or(0));
        Ok(())
    });
    if read.is_ok() { end.min(MAX_TIME_NS) } else { 0 }
}

impl ReportScan<'_> {
    /// Scans a table with `take`, which gets the scan and the row. Damage ends the table with a notice.
    fn table(
        &mut self,
        table: &str,
        columns: &[&str],
        condition: Option<&str>,
        mut take: impl FnMut(&mut Self, &super::database::QueryRow<'_, '_>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.scanned.insert(table.to_owned());
        let database = self.database;
        match database.scan(table, columns, condition, |row| take(self, row)) {
            Ok(_) => Ok(()),
            Err(ScanError::Fatal(error)) => Err(error),
            Err(ScanError::Damaged(error)) => {
                let message = format!("{}; its first {} rows were read", error.reason, error.record);
                self.all
                    .notices
                    .push(Notice::new(Level::High, NoticeCode::DamagedEvents, message).in_file(error.file));
                Ok(())
            }
        }
    }

    /// Puts a row, in the time of its session, to its place.
    #[inline]
    fn push(&mut self, place: u32, mut row: ReportRow) -> Result<(), ReadError> {
        let is_sane = |time: i64| (-MAX_TIME_NS..=MAX_TIME_NS).contains(&time);
        if !is_sane(row.start) || !is_sane(row.end) || row.end < row.start {
            self.n_damaged += 1;
            return Ok(());
        }
        self.last = self.last.max(row.end);
        self.program.see(place, &row);
        row.start += self.offset_ns;
        row.end += self.offset_ns;
        self.all.first = Some(self.all.first.map_or(row.start, |first| first.min(row.start)));
        let file = &self.database.file;
        self.all.partition.push(place as usize, row).map_err(|error| temporary_error(file, &error))
    }

    /// Where a row ends, in its second column; the end of what was read if it is open.
    fn end(&mut self, row: &super::database::QueryRow<'_, '_>, start: i64) -> i64 {
        row.int(1).unwrap_or_else(|| {
            self.n_open += 1;
            self.last.max(start)
        })
    }

    /// The process of a serialised id of a thread or process.
    fn process(&mut self, global_id: i64) -> u32 {
        self.all.process(self.report, process_id(global_id))
    }

    /// The number of a place.
    fn place(&mut self, process: u32, kind: PlaceKind) -> u32 {
        self.all.place(process, kind)
    }

    /// The place of the calls of a thread.
    #[inline]
    fn thread(&mut self, global_tid: i64) -> u32 {
        let process = self.process(global_tid);
        self.place(process, PlaceKind::Thread(thread_id(global_tid)))
    }

    /// The region of the string of an id; `shown` makes the name of the string.
    fn region(&mut self, origin: &Origin, cache: u8, id: i64, shown: impl Fn(&str) -> &str) -> u32 {
        if let Some(&region) = self.names.get(&(cache, id)) {
            return region;
        }
        let name = self.strings.get(id).unwrap_or_else(|| Arc::from(format!("<string {id} is missing>")));
        let region = self.all.regions.get(origin.clone(), &Arc::from(shown(&name)));
        self.names.insert((cache, id), region);
        region
    }

    /// Counts a row that is left out.
    fn leave_out(&mut self, what: &str) {
        match self.left_out.get_mut(what) {
            Some(n) => *n += 1,
            None => {
                self.left_out.insert(what.to_owned(), 1);
            }
        }
    }

    /// What was left out, as notices.
    fn finish(mut self) {
        let about = |table: &str| {
            let known = ["TARGET_INFO_", "META_DATA_", "ANALYSIS_", "ENUM_", "EXPORT_META_DATA", "StringIds"];
            known.iter().any(|known| table.starts_with(known))
                || ["PROCESSES", "ThreadNames", "MPI_RANKS"].contains(&table)
        };
        for view in self.database.view_names() {
            let is_wanted = self.scanned.contains(view) || about(view);
            let level = if is_wanted { Level::High } else { Level::Low };
            let message = format!(
                "{view:?} is a view, not a table: a view runs statements from the file, so it is not read, and its \
                 rows are missing"
            );
            let notice = Notice::new(level, NoticeCode::MissingEvents, message);
            self.all.notices.push(notice.in_file(Arc::clone(&self.database.file)));
        }
        for table in self.database.table_names() {
            if self.scanned.contains(table) || about(table) {
                continue;
            }
            match self.database.n_rows(table) {
                Some(0) => {}
                Some(n) => *self.left_out.entry(format!("rows of table {table}")).or_default() += n,
                None => {
                    let message = format!("table {table} is damaged; ouzel would not have read it anyway");
                    let notice = Notice::new(Level::Low, NoticeCode::DamagedEvents, message);
                    self.all.notices.push(notice.in_file(Arc::clone(&self.database.file)));
                }
            }
        }
        let file = &self.database.file;
        let mut say = |level, code, count, message: String| {
            if 0 < count {
                self.all
                    .notices
                    .push(Notice::new(level, code, message).times(count).in_file(Arc::clone(file)));
            }
        };
        for (what, count) in self.left_out {
            say(Level::Low, NoticeCode::NotRepresented, count, format!("{what} were counted and left out"));
        }
        let message = "rows that end before they start, or whose times lie months away, were left out";
        say(Level::High, NoticeCode::DamagedEvents, self.n_damaged, message.to_owned());
        let message = "ranges were still open at the end and were closed at the end of the session";
        say(Level::Low, NoticeCode::OpenCalls, self.n_open, message.to_owned());
    }
}

/// An error of a temporary file.
pub(crate) fn temporary_error(file: &Arc<str>, error: &std::io::Error) -> ReadError {
    let reason = of_temporary_file(error).to_string();
    ReadError { file: Arc::clone(file), offset: 0, record: 0, reason }
}
