//! Rows of many places, put in order with a fixed amount of memory.
//!
//! ```text
//! push ──buffers──full──► sorted runs in a temporary file ──merge──► lanes ──► blocks of sorted, nested rows
//! ```
//!
//! A *place* is one sequence of rows that the tables mix with others: a thread, a stream. The tables of an export
//! have no index on time or thread, so one scan hands out all rows, and nothing is scanned twice.
//! Rows of a place that overlap without nesting go to further *lanes* of it, the first that fits.
//!
//! Laws: at most [`MAX_BUFFERED`] rows are kept while scanning; if there never were more, nothing touches a disk.
//! Blocks of a lane are in order, and calls in them nest. This module does not interpret rows.

use super::merge::Merge;
use super::rows::{ReportRow, RowKind};
use super::spill::{SortedRun, Spill};
use std::io;

/// Rows kept in memory while scanning: 28 MB. Chosen so that the reader stays small beside what analyses keep.
const MAX_BUFFERED: usize = 512 * 1024;
/// Rows of a block, the unit of reading: 224 KB.
pub(crate) const BLOCK_ROWS: usize = 4096;
/// Lanes of one place. Calls that overlap beyond this are clipped to the call they overlap, with a notice.
pub(crate) const MAX_LANES: usize = 1024;

/// What was pushed to one place.
#[derive(Debug, Default)]
struct Pushed {
    buffer: Vec<ReportRow>,
    runs: Vec<SortedRun>,
}

/// Takes rows of all places.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    places: Vec<Pushed>,
    n_buffered: usize,
    max_buffered: Option<usize>,
    spill: Option<Spill>,
    bytes: Vec<u8>,
}

impl Partition {
    /// One that keeps at most so many rows in memory.
    #[cfg(test)]
    pub(crate) fn with_limit(max_buffered: usize) -> Partition {
        Partition { max_buffered: Some(max_buffered), ..Partition::default() }
    }

    /// Adds a row to a place.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    #[inline]
    pub fn push(&mut self, place: usize, row: ReportRow) -> io::Result<()> {
        if self.places.len() <= place {
            self.places.resize_with(place + 1, Pushed::default);
        }
        self.places[place].buffer.push(row);
        self.n_buffered += 1;
        if self.max_buffered.unwrap_or(MAX_BUFFERED) <= self.n_buffered {
            self.spill_all()?;
        }
        Ok(())
    }

    fn spill_all(&mut self) -> io::Result<()> {
        let spill = match &self.spill {
            Some(spill) => spill.clone(),
            None => Spill::new()?,
        };
        self.spill = Some(spill.clone());
        for pushed in self.places.iter_mut().filter(|pushed| !pushed.buffer.is_empty()) {
            pushed.buffer.sort_unstable_by_key(ReportRow::order);
            let offset = spill.append(&pushed.buffer, &mut self.bytes)?;
            pushed.runs.push(SortedRun { offset, n_rows: pushed.buffer.len() as u64 });
            pushed.buffer = Vec::new();
        }
        self.n_buffered = 0;
        Ok(())
    }

    /// Sorts and nests everything but values of counters that begins before the end of its place, by place.
    ///
    /// # Errors
    /// If a temporary file cannot be written or read.
    pub fn finish(mut self, ends: &[Option<i64>]) -> io::Result<Store> {
        self.places.resize_with(ends.len(), Pushed::default);
        let lanes = Vec::with_capacity(ends.len());
        let mut store = Store { spill: None, lanes, n_clipped: 0, left_out: Vec::new() };
        if self.spill.is_some() {
            self.spill_all()?;
            store.spill = Some(Spill::new()?);
        }
        for (mut pushed, end) in std::mem::take(&mut self.places).into_iter().zip(ends) {
            pushed.buffer.sort_unstable_by_key(ReportRow::order);
            let mut lanes = FillingLanes::default();
            let mut merge = Merge::new(pushed.buffer, &pushed.runs, self.spill.as_ref())?;
            let mut left_out = LeftOut::default();
            while let Some(row) = merge.next()? {
                let is_after = end.is_some_and(|end| end <= row.start && end < row.end);
                if row.kind != RowKind::Value && is_after {
                    left_out.add(&row);
                    continue;
                }
                lanes.take(row, store.spill.as_ref())?;
            }
            store.left_out.push(left_out);
            store.n_clipped += lanes.n_clipped;
            store.lanes.push(lanes.finish(store.spill.as_ref())?);
        }
        Ok(store)
    }
}

/// One run of rows of a lane, to be read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaneBlock {
    /// Start of the first row.
    pub start: i64,
    /// Latest end of a row.
    pub end: i64,
    /// Whether a row belongs to a request: its events may then come much later.
    pub has_requests: bool,
    pub n_rows: usize,
    /// Offset in the temporary file, or index in the memory of the lane.
    pub offset: u64,
}

/// The rows of a lane.
#[derive(Debug, Default)]
pub(crate) struct StoredLane {
    pub blocks: Vec<LaneBlock>,
    /// The rows themselves where there is no temporary file.
    pub rows: Vec<ReportRow>,
    pub n_rows: u64,
    /// Whether there is nothing but samples.
    pub only_samples: bool,
}

/// All rows, in order.
#[derive(Debug)]
pub(crate) struct Store {
    pub spill: Option<Spill>,
    /// The lanes of each place.
    pub lanes: Vec<Vec<StoredLane>>,
    /// Rows that were cut off because there were too many lanes.
    pub n_clipped: u64,
    /// What was left out of each place.
    pub left_out: Vec<LeftOut>,
}

/// Rows after the end of a place.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeftOut {
    pub n: u64,
    pub longest: Option<ReportRow>,
    /// The latest end.
    pub until: i64,
}

impl LeftOut {
    fn add(&mut self, row: &ReportRow) {
        let length = |row: &ReportRow| row.end - row.start;
        if self.longest.is_none_or(|longest| length(&longest) < length(row)) {
            self.longest = Some(*row);
        }
        self.until = if self.n == 0 { row.end } else { self.until.max(row.end) };
        self.n += 1;
    }
}

/// A lane that is being filled.
#[derive(Debug)]
struct Filling {
    lane: StoredLane,
    /// Ends of the open calls, the innermost last.
    open: Vec<i64>,
    /// Rows of the block that is being filled.
    block: Vec<ReportRow>,
}

#[derive(Debug, Default)]
struct FillingLanes {
    filling: Vec<Filling>,
    n_clipped: u64,
    bytes: Vec<u8>,
}

impl FillingLanes {
    /// Puts a row into the first lane where it nests.
    fn take(&mut self, mut row: ReportRow, spill: Option<&Spill>) -> io::Result<()> {
        let fits = |filling: &mut Filling| {
            if row.kind.is_instant() {
                return true;
            }
            while filling.open.last().is_some_and(|&end| end <= row.start) {
                filling.open.pop();
            }
            filling.open.last().is_none_or(|&end| row.end <= end)
        };
        let lane = match self.filling.iter_mut().position(fits) {
            Some(lane) => lane,
            None if self.filling.len() < MAX_LANES => {
                let lane = StoredLane { only_samples: true, ..StoredLane::default() };
                self.filling.push(Filling { lane, open: Vec::new(), block: Vec::new() });
                self.filling.len() - 1
            }
            None => {
                self.n_clipped += 1;
                row.end = self.filling[MAX_LANES - 1].open.last().copied().unwrap_or(row.end);
                MAX_LANES - 1
            }
        };
        let filling = &mut self.filling[lane];
        if !row.kind.is_instant() {
            filling.open.push(row.end);
        }
        filling.lane.only_samples &= row.kind == RowKind::Sample;
        filling.block.push(row);
        if filling.block.len() == BLOCK_ROWS {
            filling.close_block(spill, &mut self.bytes)?;
        }
        Ok(())
    }

    fn finish(mut self, spill: Option<&Spill>) -> io::Result<Vec<StoredLane>> {
        for filling in &mut self.filling {
            filling.close_block(spill, &mut self.bytes)?;
        }
        Ok(self.filling.into_iter().map(|filling| filling.lane).collect())
    }
}

impl Filling {
    fn close_block(&mut self, spill: Option<&Spill>, bytes: &mut Vec<u8>) -> io::Result<()> {
        let Some(first) = self.block.first() else { return Ok(()) };
        let offset = match spill {
            Some(spill) => spill.append(&self.block, bytes)?,
            None => self.lane.rows.len() as u64,
        };
        self.lane.blocks.push(LaneBlock {
            start: first.start,
            end: self.block.iter().map(|row| row.end).max().unwrap_or(first.end),
            has_requests: self.block.iter().any(|row| row.kind.has_request()),
            n_rows: self.block.len(),
            offset,
        });
        self.lane.n_rows += self.block.len() as u64;
        if spill.is_none() {
            self.lane.rows.extend_from_slice(&self.block);
        }
        self.block.clear();
        Ok(())
    }
}
