//! Numbers of messages by size, in steps that only get coarser.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most different sizes that are kept separate. With more, the position of an edge among them is off by less than
/// 1/32,768 of the range in the worst case: less than a pixel of any picture.
pub(super) const MAX_SIZES: usize = 1 << 16;

/// Bins by powers of two: one for size zero, one for each power.
pub(super) const LOG2_BINS: usize = 65;

/// While a location is folded.
#[derive(Debug, Default)]
pub struct MessageHistogramLocal {
    /// Number of messages by exact size; emptied into `counts` when there are too many sizes.
    pub(super) sizes: FxHashMap<u64, u64>,
    pub(super) counts: SizeCounts,
}

impl MessageHistogramLocal {
    /// Adds messages of one size.
    #[inline]
    pub(super) fn add(&mut self, size: u64, n: u64) {
        *self.sizes.entry(size).or_default() += n;
        if MAX_SIZES < self.sizes.len() {
            self.settle();
        }
    }

    /// Moves what was counted into `counts`.
    pub(super) fn settle(&mut self) {
        let mut sizes: Vec<(u64, u64)> = self.sizes.drain().collect();
        sizes.sort_unstable();
        self.counts.add_sizes(&sizes);
    }
}

/// Numbers of messages by size.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeCounts {
    /// Sizes are counted in steps of `1 << step_log2` bytes.
    pub(super) step_log2: u32,
    /// Number of messages by size, shifted right by `step_log2`.
    pub(super) steps: BTreeMap<u64, u64>,
    /// Smallest and greatest size.
    pub(super) range: Option<(u64, u64)>,
    /// Number of messages of size zero, then of those in `[2^(i − 1), 2^i)`; empty if there is none.
    pub(super) log2: Vec<u64>,
    /// Bytes of all messages.
    pub(super) bytes: u64,
    /// Messages without a receiver; they are not counted elsewhere.
    pub(super) null_peers: u64,
}

/// The logarithmic bin of a size.
pub(super) fn log2_bin(size: u64) -> usize {
    (u64::BITS - size.leading_zeros()) as usize
}

impl SizeCounts {
    /// Adds messages by exact size.
    pub(super) fn add_sizes(&mut self, sizes: &[(u64, u64)]) {
        for &(size, n) in sizes {
            let (min, max) = self.range.unwrap_or((size, size));
            self.range = Some((min.min(size), max.max(size)));
            self.log2.resize(LOG2_BINS, 0);
            self.log2[log2_bin(size)] += n;
            self.bytes = self.bytes.saturating_add(size.saturating_mul(n));
            *self.steps.entry(size >> self.step_log2).or_default() += n;
        }
        self.coarsen_to_fit();
    }

    /// Adds other messages.
    pub(super) fn add(&mut self, mut other: SizeCounts) {
        let step_log2 = self.step_log2.max(other.step_log2);
        self.coarsen(step_log2);
        other.coarsen(step_log2);
        for (step, n) in other.steps {
            *self.steps.entry(step).or_default() += n;
        }
        self.range = match (self.range, other.range) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        self.log2.resize(self.log2.len().max(other.log2.len()), 0);
        self.log2.iter_mut().zip(other.log2).for_each(|(sum, n)| *sum += n);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.null_peers += other.null_peers;
        self.coarsen_to_fit();
    }

    /// The smallest step that leaves no more than the most. Terminates: a step of 2^47 bytes leaves 2^17 and halves on.
    fn coarsen_to_fit(&mut self) {
        while MAX_SIZES < self.steps.len() {
            self.coarsen(self.step_log2 + 1);
        }
    }

    fn coarsen(&mut self, step_log2: u32) {
        let by = step_log2 - self.step_log2;
        if 0 < by {
            let steps = std::mem::take(&mut self.steps);
            for (step, n) in steps {
                *self.steps.entry(step >> by).or_default() += n;
            }
            self.step_log2 = step_log2;
        }
    }
}
