//! Sorted runs of one place as one sorted sequence.
//!
//! Runs that follow each other in time, the common case, are read one after the other. Memory: one small buffer for
//! each run. Law: every row comes once; rows that are equal in order come in the order of their runs.

use super::rows::ReportRow;
use super::spill::{SortedRun, Spill, SpillReader};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

/// Rows read at once of each run: 56 KB.
const READ_ROWS: usize = 1024;

/// One run while it is read.
#[derive(Debug)]
struct RunReader {
    rest: SortedRun,
    rows: Vec<ReportRow>,
    next: usize,
}

type RunKey = (i64, Reverse<i64>, super::rows::RowKind, u32, u64);

/// The merge of all runs of a place, or of the rows of one that was never spilled.
#[derive(Debug)]
pub(super) struct Merge {
    in_memory: std::vec::IntoIter<ReportRow>,
    sources: Vec<RunReader>,
    heap: BinaryHeap<Reverse<(RunKey, usize)>>,
    reader: Option<SpillReader>,
}

impl Merge {
    /// `in_memory` is sorted; if there are runs, it is empty.
    pub fn new(in_memory: Vec<ReportRow>, runs: &[SortedRun], spill: Option<&Spill>) -> io::Result<Merge> {
        let reader = match spill {
            Some(spill) if !runs.is_empty() => Some(spill.reader()?),
            _ => None,
        };
        let mut merge =
            Merge { in_memory: in_memory.into_iter(), sources: Vec::new(), heap: BinaryHeap::new(), reader };
        for &rest in runs {
            merge.sources.push(RunReader { rest, rows: Vec::new(), next: 0 });
            merge.advance(merge.sources.len() - 1)?;
        }
        Ok(merge)
    }

    /// Puts the next row of a run on the heap.
    fn advance(&mut self, source: usize) -> io::Result<()> {
        let from = &mut self.sources[source];
        if from.next == from.rows.len() {
            let n_rows = usize::try_from(from.rest.n_rows).unwrap_or(usize::MAX).min(READ_ROWS);
            let Some(reader) = self.reader.as_mut().filter(|_| 0 < n_rows) else {
                from.rows = Vec::new();
                from.next = 0;
                return Ok(());
            };
            reader.read(from.rest.offset, n_rows, &mut from.rows)?;
            from.rest.offset += (n_rows * super::rows::ROW_BYTES) as u64;
            from.rest.n_rows -= n_rows as u64;
            from.next = 0;
        }
        self.heap.push(Reverse((from.rows[from.next].order(), source)));
        Ok(())
    }

    /// The next row in order.
    pub fn next(&mut self) -> io::Result<Option<ReportRow>> {
        let Some(Reverse((_, source))) = self.heap.pop() else { return Ok(self.in_memory.next()) };
        let from = &mut self.sources[source];
        let row = from.rows[from.next];
        from.next += 1;
        self.advance(source)?;
        Ok(Some(row))
    }
}
