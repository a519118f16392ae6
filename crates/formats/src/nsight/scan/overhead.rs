//! The profiler's own work, and where the program ends beside it.
//!
//! The program ends with the last row that is neither the profiler's own, nor lies within such a row of its thread. What
//! begins from then on is left out: the profiler writes its data, which takes seconds after some runs. Values of counters
//! do not count, as they are taken while the session lasts.

use super::ReportScan;
use crate::nsight::rows::{ReportRow, RowKind};
use ouzel_model::ReadError;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The table of the profiler's own work.
pub(super) const OVERHEAD: &str = "PROFILER_OVERHEAD";

/// When the profiler worked on each thread, and when the program ended.
#[derive(Debug, Default)]
pub(super) struct ProgramEnd {
    /// Ranges by place, in order and without overlap.
    ranges: FxHashMap<u32, Vec<(i64, i64)>>,
    /// Whether the rows that come now are the profiler's own.
    pub is_overhead: bool,
    /// In the time of the session.
    pub end: Option<i64>,
}

impl ProgramEnd {
    /// A row of a place, in the time of the session.
    #[inline]
    pub fn see(&mut self, place: u32, row: &ReportRow) {
        if self.end.is_none_or(|end| end < row.end)
            && row.kind != RowKind::Value
            && !self.is_overhead
            && !self.is_profilers(place, row)
        {
            self.end = Some(row.end);
        }
    }

    fn is_profilers(&self, place: u32, row: &ReportRow) -> bool {
        let Some(ranges) = self.ranges.get(&place) else { return false };
        let n = ranges.partition_point(|range| range.0 <= row.start);
        ranges[..n].last().is_some_and(|range| row.end <= range.1)
    }
}

impl ReportScan<'_> {
    /// When the profiler worked; before all other tables.
    pub(super) fn overhead(&mut self) -> Result<(), ReadError> {
        let mut ranges: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
        let database = self.database;
        // Damage is said when the rows themselves are read.
        let read = database.scan(OVERHEAD, &["start", "end", "globalTid"], None, |row| {
            if let (Some(start), Some(end), Some(thread)) = (row.int(0), row.int(1), row.int(2)) {
                let place = self.thread(thread);
                ranges.entry(place).or_default().push((start, end));
            }
            Ok(())
        });
        if let Err(super::ScanError::Fatal(error)) = read {
            return Err(error);
        }
        for of in ranges.values_mut() {
            of.sort_unstable();
            of.dedup_by(|next, last| {
                let joins = next.0 <= last.1;
                last.1 = if joins { last.1.max(next.1) } else { last.1 };
                joins
            });
        }
        self.program.ranges = ranges.into_iter().collect();
        Ok(())
    }
}
