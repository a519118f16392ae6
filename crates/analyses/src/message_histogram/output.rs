//! Bins over sizes.

use super::state::{LOG2_BINS, SizeCounts};
use ouzel_model::{ColumnData, Table, Unit};
use std::num::NonZeroU16;

/// Number of messages by size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageHistogramOutput {
    /// Smallest and greatest size in bytes; `None` if there is no message.
    pub range: Option<(u64, u64)>,
    /// Number of messages.
    pub n_messages: u64,
    /// Bytes of all messages.
    pub bytes: u64,
    /// Resolution of sizes in bytes: 1 (exact), unless there are more than 65,536 sizes.
    pub step_bytes: u64,
    /// Size (the first of its step) and number of messages, ascending.
    pub sizes: Vec<(u64, u64)>,
    /// Number of messages without a receiver (`MPI_PROC_NULL`), counted nowhere else.
    pub null_peers: u64,
    /// Number of messages of size zero, then of those in `[2^(i − 1), 2^i)`.
    log2: Vec<u64>,
}

/// Numbers of messages in bins of sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Edges in bytes, one more than bins. Bin `i` is `[edges[i], edges[i + 1])`; the last one has its end, too.
    pub edges: Vec<f64>,
    /// Number of messages in each bin.
    pub counts: Vec<u64>,
}

impl MessageHistogramOutput {
    pub(super) fn new(counts: SizeCounts) -> Self {
        let SizeCounts { step_log2, steps, range, log2, bytes, null_peers } = counts;
        // The first of a step may be less than any size in it; no size is less than the smallest.
        let smallest = range.map_or(0, |(min, _)| min);
        MessageHistogramOutput {
            range,
            n_messages: steps.values().sum(),
            bytes,
            null_peers,
            step_bytes: 1 << step_log2,
            sizes: steps.into_iter().map(|(step, n)| ((step << step_log2).max(smallest), n)).collect(),
            log2,
        }
    }

    /// Bins of equal width over `[smallest, greatest]`: size `x` is in bin `⌊(x − min) · N / (max − min)⌋`, the
    /// greatest in the last. If all sizes are one, the range is half a byte to either side of it, and `[0, 1]` if
    /// there is no message.
    pub fn linear(&self, n_bins: NonZeroU16) -> Histogram {
        let n = usize::from(n_bins.get());
        let (first, length) = match self.range {
            None => (0.0, 1.0),
            Some((min, max)) if min == max => (approximate(min) - 0.5, 1.0),
            Some((min, max)) => (approximate(min), approximate(max - min)),
        };
        let mut counts = vec![0; n];
        for &(size, messages) in &self.sizes {
            counts[self.linear_bin(size, n)] += messages;
        }
        let edge = |k: u16| first + length * f64::from(k) / f64::from(n_bins.get());
        Histogram { edges: (0..=n_bins.get()).map(edge).collect(), counts }
    }

    fn linear_bin(&self, size: u64, n: usize) -> usize {
        match self.range {
            Some((min, max)) if min < max => {
                let bin = u128::from(size - min) * n as u128 / u128::from(max - min);
                (n - 1).min(bin as usize)
            }
            _ => n / 2,
        }
    }

    /// Bins by powers of two, from the one of the smallest size to the one of the greatest: edges are 0, 1, 2, 4, ….
    /// Always exact. Without a message there is no bin and one edge.
    pub fn log2(&self) -> Histogram {
        let used = self.log2.iter().enumerate().filter(|(_, n)| 0 < **n).map(|(bin, _)| bin);
        let (Some(first), Some(last)) = (used.clone().min(), used.max()) else {
            return Histogram { edges: vec![0.0], counts: Vec::new() };
        };
        let edge = |bin: usize| if bin == 0 { 0.0 } else { 2_f64.powi(bin as i32 - 1) };
        debug_assert!(last < LOG2_BINS);
        Histogram { edges: (first..=last + 1).map(edge).collect(), counts: self.log2[first..=last].to_vec() }
    }
}

#[expect(clippy::cast_precision_loss, reason = "edges are shown, not counted with")]
fn approximate(bytes: u64) -> f64 {
    bytes as f64
}

impl Histogram {
    /// One row for each bin.
    pub fn table(&self) -> Table {
        let edges = |from: usize| {
            ColumnData::F64(self.edges.iter().skip(from).take(self.counts.len()).copied().collect())
        };
        Table::new("message sizes")
            .with("bin_start_bytes", Unit::Bytes, "Smallest size of the bin", edges(0))
            .with(
                "bin_end_bytes",
                Unit::Bytes,
                "First size after the bin; the last bin includes it",
                edges(1),
            )
            .with("messages", Unit::Count, "Number of messages sent", ColumnData::U64(self.counts.clone()))
    }
}
