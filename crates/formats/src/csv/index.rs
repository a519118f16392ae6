//! One pass over the table: which locations and regions there are, and where the rows of each lie.
//!
//! Memory: names, and 16 bytes for each run of rows of one location. Where rows of the
//! locations alternate so often that this is too much, a second pass puts them in order in
//! a temporary file, [`SPILL_BYTES`] at a time.

use super::header::CsvHeader;
use super::row::{CsvRow, RowKind, message, row};
use super::runs::{FileStretch, append};
use crate::heads::GZIP_MAGIC;
use csv::{ByteRecord, Reader, ReaderBuilder, Trim};
use ouzel_files::input;
use ouzel_files::unfinished::Unfinished;
use ouzel_model::ReadError;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// More runs than this are put in order first: 1 MiB of places, and a seek for each when they are read.
const MAX_RUNS: usize = 1 << 16;

/// Bytes that wait to be written to the temporary file.
const SPILL_BYTES: usize = 32 << 20;

/// Where the bytes of the table are.
#[derive(Debug)]
pub(super) enum TablePlace {
    /// In the user's file.
    Given,
    /// In a temporary one: unpacked, or put in order.
    Temporary(Unfinished),
}

impl TablePlace {
    /// Opens the table again.
    pub fn open(&self, given: &Path) -> io::Result<File> {
        match self {
            TablePlace::Given => input::open(given),
            TablePlace::Temporary(file) => input::open(file.path()),
        }
    }
}

/// What owns rows: process and thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RowOwner {
    pub process: Option<i64>,
    pub thread: Vec<u8>,
}

/// The rows of one location.
#[derive(Debug)]
pub(super) struct OwnedRows {
    pub key: RowOwner,
    pub runs: Vec<FileStretch>,
    pub n_rows: u64,
    /// Whether its times go back somewhere.
    pub is_unsorted: bool,
    last_ns: i64,
}

/// What the pass found.
#[derive(Debug)]
pub(super) struct Index {
    pub header: CsvHeader,
    pub place: TablePlace,
    /// In the order of process and thread.
    pub locations: Vec<OwnedRows>,
    /// Names of regions, in the order of their first row.
    pub regions: Vec<Vec<u8>>,
    pub first_ns: Option<i64>,
    pub n_messages: u64,
    /// Processes that messages name, whether or not they have rows.
    pub peers: BTreeSet<u32>,
    /// Spellings of communicators.
    pub comms: FxHashSet<Vec<u8>>,
    /// Rows that cannot be read, and the offset of the first.
    pub bad: Option<(u64, u64)>,
    /// What ended the reading early.
    pub error: Option<ReadError>,
}

/// A reader of CSV as Pipit writes it.
pub(super) fn csv_reader<R: Read>(input: R, has_headers: bool) -> Reader<LimitedLines<R>> {
    ReaderBuilder::new()
        .has_headers(has_headers)
        .flexible(true)
        .trim(Trim::All)
        .buffer_capacity(64 << 10)
        .from_reader(LimitedLines { input, n_without_end: 0 })
}

/// Longest text without an end of line. The parser keeps a row of any length; a file with holes is one row.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// Text that is packed to less than this part of its size is not a table: times and names do not repeat like that.
const UNPACKED_MAX_RATIO: u64 = 250;
/// What any packed file may unpack to.
const UNPACKED_MIN_BYTES: u64 = 64 << 20;

/// Text whose lines have a limit.
#[derive(Debug)]
pub(super) struct LimitedLines<R> {
    input: R,
    n_without_end: u64,
}

impl<R: Read> Read for LimitedLines<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(bytes)?;
        self.n_without_end = match memchr::memrchr(b'\n', &bytes[..n]) {
            Some(at) => (n - at - 1) as u64,
            None => self.n_without_end + n as u64,
        };
        if LINE_BYTES_MAX < self.n_without_end {
            return Err(io::Error::other(format!("a line is longer than {LINE_BYTES_MAX} bytes")));
        }
        Ok(n)
    }
}

/// Makes the index of the table at `path`, which is unpacked first if need be.
///
/// # Errors
/// If it cannot be read, or is no table of events.
pub(super) fn index(path: &Path) -> Result<Index, ReadError> {
    let file: Arc<str> = Arc::from(path.display().to_string());
    let failed =
        |error: io::Error| ReadError { file: file.clone(), offset: 0, record: 0, reason: error.to_string() };
    let place = unpacked(path).map_err(failed)?;
    let mut reader = csv_reader(place.open(path).map_err(failed)?, true);
    let header = reader.byte_headers().ok().and_then(CsvHeader::of);
    let Some(header) = header else {
        let reason = "the first line is not the header of an event table: it needs columns Timestamp (ns), Event Type \
                      and Name";
        return Err(ReadError { file, offset: 0, record: 0, reason: reason.to_owned() });
    };
    let mut index = Index {
        header,
        place,
        locations: Vec::new(),
        regions: Vec::new(),
        first_ns: None,
        n_messages: 0,
        peers: BTreeSet::new(),
        comms: FxHashSet::default(),
        bad: None,
        error: None,
    };
    let n_runs = index.scan(&mut reader, &file);
    if MAX_RUNS < n_runs {
        index.put_in_order(path).map_err(failed)?;
    }
    index.locations.sort_by(|a, b| order(&a.key).cmp(&order(&b.key)));
    Ok(index)
}

/// Threads that are numbers come in the order of numbers.
fn order(key: &RowOwner) -> (bool, Option<i64>, Option<u64>, &[u8]) {
    let number = std::str::from_utf8(&key.thread).ok().and_then(|text| text.parse().ok());
    (key.process.is_none(), key.process, number, &key.thread)
}

fn unpacked(path: &Path) -> io::Result<TablePlace> {
    let mut magic = [0; 2];
    let mut file = input::open(path)?;
    if file.read(&mut magic)? < 2 || magic != GZIP_MAGIC {
        return Ok(TablePlace::Given);
    }
    file.seek(SeekFrom::Start(0))?;
    let limit_bytes = UNPACKED_MIN_BYTES.max(file.metadata()?.len().saturating_mul(UNPACKED_MAX_RATIO));
    let (unpacked, mut out) = Unfinished::temporary()?;
    let text = flate2::read::MultiGzDecoder::new(file).take(limit_bytes + 1);
    // A stream that was cut gives what comes before the cut; the lack of an end of line shows.
    match io::copy(&mut LimitedLines { input: text, n_without_end: 0 }, &mut out) {
        Ok(n) if limit_bytes < n => {
            let reason = format!("it unpacks to more than {limit_bytes} bytes, more than any event table");
            return Err(io::Error::other(reason));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
        Err(error) => return Err(error),
    }
    out.flush()?;
    Ok(TablePlace::Temporary(unpacked))
}

impl Index {
    /// Takes every row and returns the number of runs.
    fn scan(&mut self, reader: &mut Reader<LimitedLines<File>>, file: &Arc<str>) -> usize {
        let mut places: FxHashMap<RowOwner, usize> = FxHashMap::default();
        let mut names: FxHashSet<Vec<u8>> = FxHashSet::default();
        let mut record = ByteRecord::new();
        let (mut n_runs, mut n_rows) = (0, 0);
        let header = self.header.clone();
        loop {
            let start = reader.position().byte();
            match reader.read_byte_record(&mut record) {
                Ok(true) => {}
                Ok(false) => return n_runs,
                Err(error) => {
                    let reason = error.to_string();
                    self.error =
                        Some(ReadError { file: file.clone(), offset: start, record: n_rows, reason });
                    return n_runs;
                }
            }
            n_rows += 1;
            let n_bytes = reader.position().byte() - start;
            let Some(row) = row(&header, &record) else {
                let (n, first) = self.bad.unwrap_or((0, start));
                self.bad = Some((n + 1, first));
                continue;
            };
            if !matches!(row.kind, RowKind::Instant) && !names.contains(row.name) {
                names.insert(row.name.to_vec());
                self.regions.push(row.name.to_vec());
            }
            if let Some(message) = message(&header, &record, &row) {
                self.n_messages += 1;
                self.peers.insert(message.peer);
                if !self.comms.contains(message.comm) {
                    self.comms.insert(message.comm.to_vec());
                }
            }
            self.first_ns = Some(self.first_ns.map_or(row.time_ns, |first| first.min(row.time_ns)));
            let place = self.place_of(&row, &mut places);
            let rows = &mut self.locations[place];
            rows.is_unsorted |= row.time_ns < rows.last_ns;
            rows.last_ns = row.time_ns;
            rows.n_rows += 1;
            // Beyond the limit the places are of no use: the rows will be put in order.
            if n_runs <= MAX_RUNS {
                n_runs += usize::from(append(&mut rows.runs, start, n_bytes));
            }
        }
    }

    fn place_of(&mut self, row: &CsvRow<'_>, places: &mut FxHashMap<RowOwner, usize>) -> usize {
        let key = RowOwner { process: row.process, thread: row.thread.to_vec() };
        *places.entry(key.clone()).or_insert_with(|| {
            let last_ns = i64::MIN;
            self.locations.push(OwnedRows { key, runs: Vec::new(), n_rows: 0, is_unsorted: false, last_ns });
            self.locations.len() - 1
        })
    }

    /// Writes the rows of each location contiguously, as far as memory allows.
    fn put_in_order(&mut self, path: &Path) -> io::Result<()> {
        let (ordered, mut out) = Unfinished::temporary()?;
        let mut places: FxHashMap<RowOwner, usize> = FxHashMap::default();
        for (place, rows) in self.locations.iter_mut().enumerate() {
            places.insert(rows.key.clone(), place);
            rows.runs = Vec::new();
        }
        let mut waiting: Vec<UnwrittenRows> = self.locations.iter().map(|_| writer()).collect();
        let mut reader = csv_reader(self.place.open(path)?, true);
        let mut record = ByteRecord::new();
        let (mut n_waiting, mut at) = (0, 0);
        while reader.read_byte_record(&mut record).unwrap_or(false) {
            let Some(row) = row(&self.header, &record) else { continue };
            let place = places[&RowOwner { process: row.process, thread: row.thread.to_vec() }];
            waiting[place].write_byte_record(&record).map_err(io::Error::other)?;
            n_waiting += record.as_slice().len() + record.len();
            if SPILL_BYTES < n_waiting {
                spill(&mut self.locations, &mut waiting, &mut out, &mut at)?;
                n_waiting = 0;
            }
        }
        spill(&mut self.locations, &mut waiting, &mut out, &mut at)?;
        out.flush()?;
        self.place = TablePlace::Temporary(ordered);
        Ok(())
    }
}

/// Rows of one location that wait to be written.
type UnwrittenRows = csv::Writer<Vec<u8>>;

fn writer() -> UnwrittenRows {
    csv::WriterBuilder::new().flexible(true).from_writer(Vec::new())
}

/// Writes all rows that wait, those of each location contiguously, and notes where.
fn spill(
    locations: &mut [OwnedRows],
    waiting: &mut [UnwrittenRows],
    out: &mut File,
    at: &mut u64,
) -> io::Result<()> {
    for (rows, waiting) in locations.iter_mut().zip(waiting) {
        let full = std::mem::replace(waiting, writer());
        let bytes = full.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
        out.write_all(&bytes)?;
        if !bytes.is_empty() {
            append(&mut rows.runs, *at, bytes.len() as u64);
        }
        *at += bytes.len() as u64;
    }
    Ok(())
}
