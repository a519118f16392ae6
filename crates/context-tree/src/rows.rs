//! When the iterations of a loop began and ended.
//!
//! Law: rows are in order, and each begins where the one before it ends. At most
//! [`ROWS_MAX`] rows: with more iterations, neighbours share a row, always a power of two.

use crate::run_length::Runs;
use serde::{Deserialize, Serialize};

/// Rows kept of one loop: as many as a screen has columns, and enough to see single iterations of most programs.
pub(crate) const ROWS_MAX: usize = 4096;

/// Neighbouring iterations of a loop of one location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopRow {
    /// End of the last of them, in ticks.
    pub end: u64,
    /// Index of the longest.
    pub longest: u32,
    /// Its duration, in ticks.
    pub longest_ticks: u64,
    /// Its cluster.
    pub cluster: u32,
}

/// The iterations of a loop of one location.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopRows {
    /// Start of the first iteration, in ticks.
    pub start: u64,
    /// In order.
    pub rows: Vec<LoopRow>,
    /// Number of iterations.
    pub n: u64,
    /// Iterations in a row, but for the last: `2^shift`.
    shift: u32,
}

impl LoopRows {
    /// Appends an iteration.
    pub fn push(&mut self, end: u64, duration_ticks: u64) {
        let index = self.n as u32;
        if self.n == 0 {
            self.start = end - duration_ticks.min(end);
        }
        let is_next = (self.n >> self.shift) as usize == self.rows.len();
        self.n += 1;
        let row = LoopRow { end, longest: index, longest_ticks: duration_ticks, cluster: 0 };
        match self.rows.last_mut() {
            Some(last) if !is_next => *last = last.with(row),
            _ => {
                if self.rows.len() == ROWS_MAX {
                    self.rows = self.rows.chunks(2).map(|pair| pair[0].with(pair[pair.len() - 1])).collect();
                    self.shift += 1;
                }
                self.rows.push(row);
            }
        }
    }

    /// Iterations in each row but the last.
    pub fn iterations_per_row(&self) -> u64 {
        1 << self.shift
    }

    /// Says which cluster each iteration is in; of a row, the cluster of its longest.
    pub(crate) fn set_clusters(&mut self, map: &Runs) {
        let map = map.accepted();
        let (mut runs, mut end, mut cluster) = (map.runs().iter(), 0_u64, 0);
        for row in &mut self.rows {
            while end <= u64::from(row.longest) {
                let Some(run) = runs.next() else { return };
                end += u64::from(run.n);
                cluster = run.value;
            }
            row.cluster = cluster;
        }
    }
}

impl LoopRow {
    /// This and the row after it.
    fn with(self, next: LoopRow) -> LoopRow {
        let longer = if self.longest_ticks < next.longest_ticks { next } else { self };
        LoopRow { end: next.end, ..longer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_iterations_share_rows() {
        let mut rows = LoopRows::default();
        for i in 0..10_000_u64 {
            rows.push(100 + 10 * (i + 1) + u64::from(5_000 <= i) * 7, if i == 5_000 { 17 } else { 10 });
        }
        assert_eq!((rows.start, rows.n, rows.iterations_per_row()), (100, 10_000, 4));
        assert_eq!(rows.rows.len(), 2500);
        let slow = rows.rows[1250];
        assert_eq!((slow.longest, slow.longest_ticks, slow.end), (5_000, 17, 100 + 50_040 + 7));
        rows.set_clusters(&Runs::from_values((0..10_000).map(|i| u32::from(i == 5_000))));
        assert_eq!(rows.rows.iter().map(|row| row.cluster).sum::<u32>(), 1);
        assert_eq!(rows.rows[1250].cluster, 1);
    }
}
