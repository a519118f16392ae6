//! Events as fixed-size records, in sorted runs per track, in memory up to a budget and in a temporary file beyond.
//!
//! ```text
//! push ──► open run of the track ──full: sort──► run in memory, or in the file
//! ```
//! Each file of a trace has a store of its own, so that one thread can read it. Stores that become one share their
//! [`Scratch`] from the beginning.
//!
//! Law: within a run records are ordered by [`TrackRecord::key`], equal ones as they came.

use ouzel_files::input::SharedFile;
use ouzel_files::memory;
use ouzel_files::unfinished::of_temporary_file;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Seek, SeekFrom, Take, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a record, in memory and in the file.
const RECORD_BYTES: usize = 32;
/// Records of a run.
const RUN_RECORDS: usize = 1 << 16;
/// Records of the open runs of all stores together before a store closes its own: 32 MB.
const OPEN_RECORDS_MAX: usize = 1 << 20;
/// Records of closed runs kept in memory by all stores together: 32 MB, which leaves the answers that keep most within
/// 300 MB.
const MEMORY_RECORDS_MAX: usize = 1 << 20;
/// Records written to the file at a time.
const WRITE_RECORDS: usize = 1 << 10;
/// Records read from the runs of a track at a time, all together: 4 MB; of each run, at least and at most.
const READ_RECORDS: usize = 1 << 17;
const READ_OF_RUN: [usize; 2] = [1 << 8, 1 << 11];

/// What a record means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum RecordKind {
    /// A call begins; `what` is the region.
    Begin,
    /// The innermost call that began ends.
    End,
    /// A call with its length; `link` is its correlation plus one, or 0.
    Slice,
    /// The same; `link` is an index into the details.
    DetailedSlice,
    /// An instant; `what` is its name.
    Mark,
    /// A sample; `what` is its context.
    Sample,
    /// A value of the metric `what`; `link` has its bits.
    Counter,
    /// An end of the flow `link`, of the call around it; `what` is 0 for the start of the flow.
    FlowAround,
    /// The same, of the call that begins next.
    FlowNext,
}

const KINDS: [RecordKind; 9] = [
    RecordKind::Begin,
    RecordKind::End,
    RecordKind::Slice,
    RecordKind::DetailedSlice,
    RecordKind::Mark,
    RecordKind::Sample,
    RecordKind::Counter,
    RecordKind::FlowAround,
    RecordKind::FlowNext,
];

/// One event, or one half of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrackRecord {
    /// Nanoseconds, as the file counts them.
    pub at_ns: i64,
    /// Nanoseconds; 0 for what has no length.
    pub length_ns: i64,
    pub link: u64,
    pub what: u32,
    pub kind: RecordKind,
    /// How a kernel was launched: an index into the shapes plus one, or 0.
    pub shape: u16,
}

impl TrackRecord {
    /// The order: by time; begins and ends as they came, then calls with a length, longer ones first, then the rest.
    #[inline]
    pub fn key(&self) -> (i64, u8, Reverse<i64>) {
        let class = match self.kind {
            RecordKind::Begin | RecordKind::End => 0,
            RecordKind::Slice | RecordKind::DetailedSlice => 1,
            _ => 2,
        };
        (self.at_ns, class, Reverse(self.length_ns))
    }

    /// When it ends.
    pub fn end_ns(&self) -> i64 {
        self.at_ns + self.length_ns
    }

    fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&self.at_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.length_ns.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.link.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.what.to_le_bytes());
        bytes[28] = self.kind as u8;
        bytes[29..31].copy_from_slice(&self.shape.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let last = word(24);
        TrackRecord {
            at_ns: word(0).cast_signed(),
            length_ns: word(8).cast_signed(),
            link: word(16),
            what: (last & 0xffff_ffff) as u32,
            kind: KINDS[(last >> 32) as usize & 0xff],
            shape: (last >> 40 & 0xffff) as u16,
        }
    }
}

/// Sorted records.
#[derive(Debug)]
enum RecordRun {
    Memory(Box<[TrackRecord]>),
    File { offset: u64, n: usize },
}

/// The records of one track.
#[derive(Debug, Default)]
pub(super) struct Track {
    open: Vec<TrackRecord>,
    runs: Vec<RecordRun>,
    n: u64,
}

impl Track {
    /// Number of records.
    pub fn len(&self) -> u64 {
        self.n
    }
}

/// What stores have together: the budget of memory, and the temporary file.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Records of closed runs in memory.
    n_in_memory: AtomicUsize,
    file: Mutex<Option<RunFile>>,
}

/// The temporary file.
#[derive(Debug)]
struct RunFile {
    file: SharedFile,
    n_bytes: u64,
}

impl Scratch {
    fn file(&self) -> MutexGuard<'_, Option<RunFile>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether so many records may stay in memory; they count from then on.
    fn keep(&self, n_records: usize) -> bool {
        let share = memory::share((MEMORY_RECORDS_MAX * RECORD_BYTES) as u64);
        let n_max = usize::try_from(share).unwrap_or(usize::MAX) / RECORD_BYTES;
        let has_room = self.n_in_memory.fetch_add(n_records, Ordering::Relaxed) + n_records <= n_max;
        if !has_room {
            self.free(n_records);
        }
        has_room
    }

    /// So many records are in memory no more.
    fn free(&self, n_records: usize) {
        self.n_in_memory.fetch_sub(n_records, Ordering::Relaxed);
    }

    /// Writes a run; gives its offset.
    fn write(&self, records: &[TrackRecord]) -> io::Result<u64> {
        self.append(records).map_err(|error| of_temporary_file(&error))
    }

    fn append(&self, records: &[TrackRecord]) -> io::Result<u64> {
        let mut output = {
            let mut file = self.file();
            let file = match &mut *file {
                Some(file) => file,
                none => none.insert(RunFile { file: SharedFile::new(tempfile::tempfile()?), n_bytes: 0 }),
            };
            let mut output = file.file.clone();
            output.seek(SeekFrom::Start(file.n_bytes))?;
            file.n_bytes += (records.len() * RECORD_BYTES) as u64;
            output
        };
        let offset = output.stream_position()?;
        let mut bytes = Vec::with_capacity(WRITE_RECORDS * RECORD_BYTES);
        for part in records.chunks(WRITE_RECORDS) {
            bytes.clear();
            part.iter().for_each(|record| bytes.extend_from_slice(&record.to_bytes()));
            output.write_all(&bytes)?;
        }
        Ok(offset)
    }

    /// Reads so many records from an offset on.
    fn read(&self, offset: u64, n_records: usize) -> io::Result<Option<Take<SharedFile>>> {
        let Some(mut input) = self.file().as_ref().map(|file| file.file.clone()) else { return Ok(None) };
        input.seek(SeekFrom::Start(offset))?;
        Ok(Some(input.take((n_records * RECORD_BYTES) as u64)))
    }
}

/// The records of every track.
#[derive(Debug, Default)]
pub(super) struct Store {
    tracks: Vec<Track>,
    n_open: usize,
    n_open_max: usize,
    scratch: Arc<Scratch>,
}

impl Store {
    /// One of several that are filled at the same time.
    pub(crate) fn of_many(n_stores: usize, scratch: Arc<Scratch>) -> Self {
        let n_open_max = (OPEN_RECORDS_MAX / n_stores.max(1)).max(RUN_RECORDS);
        Store { tracks: Vec::new(), n_open: 0, n_open_max, scratch }
    }

    /// Adds the tracks of another store of the same scratch, all closed; gives the index of the first.
    pub(crate) fn append(&mut self, other: Store) -> usize {
        let first = self.tracks.len();
        self.scratch = other.scratch;
        self.tracks.extend(other.tracks);
        first
    }

    /// A new track, without a record.
    pub(crate) fn add_track(&mut self) -> usize {
        self.tracks.push(Track::default());
        self.tracks.len() - 1
    }

    /// The track of an index.
    pub(crate) fn track(&self, track: usize) -> &Track {
        &self.tracks[track]
    }

    /// Appends a record.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    #[inline]
    pub fn push(&mut self, track: usize, record: TrackRecord) -> io::Result<()> {
        let into = &mut self.tracks[track];
        into.open.push(record);
        into.n += 1;
        self.n_open += 1;
        if RUN_RECORDS <= into.open.len() {
            // More is to come: the memory is used again.
            let open = self.end_run(track)?;
            self.tracks[track].open = open;
        } else if self.n_open_max <= self.n_open {
            return self.close_all();
        }
        Ok(())
    }

    /// Makes runs of what is open, and frees its memory.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub fn close_all(&mut self) -> io::Result<()> {
        (0..self.tracks.len()).try_for_each(|track| self.close(track))
    }

    /// The same of one track.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub fn close(&mut self, track: usize) -> io::Result<()> {
        self.end_run(track).map(drop)
    }

    /// Makes a run of what is open in a track; gives its memory, if the run went to the file.
    fn end_run(&mut self, track: usize) -> io::Result<Vec<TrackRecord>> {
        let mut open = std::mem::take(&mut self.tracks[track].open);
        if open.is_empty() {
            return Ok(Vec::new());
        }
        open.sort_by_key(TrackRecord::key);
        self.n_open -= open.len();
        if self.scratch.keep(open.len()) {
            let next = if open.len() < RUN_RECORDS { Vec::new() } else { Vec::with_capacity(RUN_RECORDS) };
            self.tracks[track].runs.push(RecordRun::Memory(open.into_boxed_slice()));
            return Ok(next);
        }
        let run = RecordRun::File { offset: self.scratch.write(&open)?, n: open.len() };
        self.tracks[track].runs.push(run);
        open.clear();
        Ok(open)
    }

    /// Frees the records of a track that are in memory.
    pub fn clear(&mut self, track: usize) {
        for run in std::mem::take(&mut self.tracks[track].runs) {
            if let RecordRun::Memory(records) = run {
                self.scratch.free(records.len());
            }
        }
        self.tracks[track].n = 0;
    }

    /// The records of a track in order. The track is closed before.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub fn merge(&self, track: usize) -> io::Result<Merge> {
        let mut merge = Merge { sources: Vec::new(), waiting: BinaryHeap::new(), current: None };
        let n_runs = self.tracks[track].runs.len();
        let [least, most] = READ_OF_RUN;
        let n_ahead = (READ_RECORDS / n_runs.max(1)).clamp(least, most);
        for run in 0..n_runs {
            let mut source = self.position(track, run, n_ahead)?;
            if let Some(head) = source.next(self, track)? {
                merge.waiting.push(Reverse(FirstOfRun { key: head.key(), run, head }));
            }
            merge.sources.push(source);
        }
        merge.current = merge.waiting.pop().map(|Reverse(waiting)| waiting);
        Ok(merge)
    }

    /// The beginning of a run, of which so many records are read at a time if it is in the file.
    fn position(&self, track: usize, run: usize, n_ahead: usize) -> io::Result<RunPosition> {
        let input = match self.tracks[track].runs[run] {
            RecordRun::File { offset, n } => self.scratch.read(offset, n)?,
            RecordRun::Memory(_) => None,
        };
        let bytes = vec![0; if input.is_some() { n_ahead * RECORD_BYTES } else { 0 }];
        Ok(RunPosition { run, next: 0, input, bytes, ahead: 0..0 })
    }
}

/// A position in one run.
#[derive(Debug)]
struct RunPosition {
    run: usize,
    /// The next record, of a run in memory.
    next: usize,
    /// What was not read yet of a run in the file.
    input: Option<Take<SharedFile>>,
    bytes: Vec<u8>,
    /// Bytes that were read and not given.
    ahead: Range<usize>,
}

impl RunPosition {
    #[inline]
    fn next(&mut self, store: &Store, track: usize) -> io::Result<Option<TrackRecord>> {
        if let RecordRun::Memory(records) = &store.tracks[track].runs[self.run] {
            let record = records.get(self.next).copied();
            self.next += 1;
            return Ok(record);
        }
        if self.ahead.is_empty() && !self.read()? {
            return Ok(None);
        }
        let record = TrackRecord::from_bytes(&self.bytes[self.ahead.start..self.ahead.start + RECORD_BYTES]);
        self.ahead.start += RECORD_BYTES;
        Ok(Some(record))
    }

    /// Reads more; `false` at the end of the run.
    fn read(&mut self) -> io::Result<bool> {
        let Some(input) = &mut self.input else { return Ok(false) };
        let n_bytes = self.bytes.len().min(usize::try_from(input.limit()).unwrap_or(usize::MAX));
        input.read_exact(&mut self.bytes[..n_bytes])?;
        self.ahead = 0..n_bytes;
        Ok(0 < n_bytes)
    }
}

/// The first record of a run that has not been given, ordered by key and run.
#[derive(Debug)]
struct FirstOfRun {
    key: (i64, u8, Reverse<i64>),
    run: usize,
    head: TrackRecord,
}

impl PartialEq for FirstOfRun {
    fn eq(&self, other: &Self) -> bool {
        (self.key, self.run) == (other.key, other.run)
    }
}

impl Eq for FirstOfRun {}

impl PartialOrd for FirstOfRun {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for FirstOfRun {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.key, self.run).cmp(&(other.key, other.run))
    }
}

/// The runs of a track, merged: earlier runs first among equals.
#[derive(Debug)]
pub(super) struct Merge {
    sources: Vec<RunPosition>,
    waiting: BinaryHeap<Reverse<FirstOfRun>>,
    current: Option<FirstOfRun>,
}

impl Merge {
    /// The next record.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    #[inline]
    pub fn next(&mut self, store: &Store, track: usize) -> io::Result<Option<TrackRecord>> {
        let Some(current) = &mut self.current else { return Ok(None) };
        let record = current.head;
        match self.sources[current.run].next(store, track)? {
            Some(head) => {
                (current.head, current.key) = (head, head.key());
                if let Some(mut first) = self.waiting.peek_mut()
                    && first.0 < *current
                {
                    std::mem::swap(&mut first.0, current);
                }
            }
            None => self.current = self.waiting.pop().map(|Reverse(waiting)| waiting),
        }
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_testkit::Rng;

    fn record(at_ns: i64, length_ns: i64, what: u32) -> TrackRecord {
        let kind = KINDS[what as usize % KINDS.len()];
        TrackRecord { at_ns, length_ns, link: u64::MAX - 7, what, kind, shape: (what % 65_521) as u16 }
    }

    fn drained(store: &Store, track: usize) -> Vec<TrackRecord> {
        let mut merge = store.merge(track).unwrap();
        std::iter::from_fn(|| merge.next(store, track).unwrap()).collect()
    }

    #[test]
    fn records_come_back_sorted_from_memory_and_file() {
        let mut store = Store::of_many(1, Arc::default());
        assert!(store.scratch.keep(MEMORY_RECORDS_MAX - 3 * RUN_RECORDS), "three runs stay in memory");
        let (a, b) = (store.add_track(), store.add_track());
        let mut rng = Rng::new(7);
        let mut all = Vec::new();
        for i in 0..(5 * RUN_RECORDS + 17) {
            let at = rng.below(1 << 20) as i64 - 1000;
            let record = record(at, rng.below(3) as i64, i as u32);
            all.push(record);
            store.push(a, record).unwrap();
            if i % 1000 == 0 {
                store.push(b, record).unwrap();
            }
        }
        store.close(a).unwrap();
        store.close(b).unwrap();
        let n_of_b = (5 * RUN_RECORDS).div_ceil(1000);
        let n_bytes = store.scratch.file().as_ref().map(|file| file.n_bytes);
        let n_in_file = 2 * RUN_RECORDS + 17 + n_of_b;
        assert_eq!(n_bytes, Some((n_in_file * RECORD_BYTES) as u64), "what is beyond three runs is there");
        all.sort_by_key(TrackRecord::key);
        assert!(drained(&store, a) == all);
        assert_eq!(drained(&store, b).len(), n_of_b);
    }

    #[test]
    fn stores_that_are_filled_together_become_one() {
        let scratch = Arc::new(Scratch::default());
        assert!(scratch.keep(MEMORY_RECORDS_MAX), "nothing more stays in memory");
        let filled = |what: u32| {
            let mut store = Store::of_many(2, scratch.clone());
            let track = store.add_track();
            for i in 0..(2 * RUN_RECORDS + 5) {
                store.push(track, record(i as i64, 0, what)).unwrap();
            }
            store.close_all().unwrap();
            store
        };
        let [a, b] = std::thread::scope(|scope| {
            [4, 5].map(|what| scope.spawn(move || filled(what))).map(|it| it.join().unwrap())
        });
        let mut all = Store::default();
        assert_eq!((all.append(a), all.append(b)), (0, 1));
        for (track, what) in [(0, 4), (1, 5)] {
            let found = drained(&all, track);
            assert!(found.len() == 2 * RUN_RECORDS + 5 && found.iter().all(|it| it.what == what));
        }
    }
}
