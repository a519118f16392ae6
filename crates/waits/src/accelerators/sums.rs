//! Sums over what processes hold: of queues, delays and steps; and sums by key, merged.

use super::steps::StepSpan;
use ouzel_model::{Ticks, WorldRank};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Ranks in order; what has none comes last.
pub(super) type RankKey = (bool, Option<WorldRank>);

/// The queue of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QueueSums {
    pub longest: u64,
    /// For how long it has which length.
    pub times: BTreeMap<u64, Ticks>,
}

/// Launch delays of a rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DelaySums {
    pub n: u64,
    pub sum_ns: u128,
    pub max_ns: u64,
    /// By the binary digits of the delay.
    pub ranges: BTreeMap<u32, u64>,
}

impl DelaySums {
    pub fn add(&mut self, ns: u64) {
        self.n += 1;
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
        *self.ranges.entry(u64::BITS - ns.leading_zeros()).or_default() += 1;
    }

    pub fn merge(&mut self, from: &DelaySums) {
        self.n += from.n;
        self.sum_ns += from.sum_ns;
        self.max_ns = self.max_ns.max(from.max_ns);
        from.ranges.iter().for_each(|(&digits, n)| *self.ranges.entry(digits).or_default() += n);
    }
}

/// What one step has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StepSums {
    pub span: StepSpan,
    pub launches: u64,
    pub device_ns: u64,
    pub causes: [Ticks; 8],
}

impl StepSums {
    pub fn merge(&mut self, from: &StepSums) {
        self.span.merge(&from.span);
        self.launches += from.launches;
        self.device_ns = self.device_ns.saturating_add(from.device_ns);
        self.causes.iter_mut().zip(from.causes).for_each(|(sum, ticks)| *sum += ticks);
    }
}

/// Adds the entries of `from`; `merge` adds one to another of the same key.
pub(super) fn merge_maps<K: Ord, T>(
    into: &mut BTreeMap<K, T>,
    from: BTreeMap<K, T>,
    mut merge: impl FnMut(&mut T, T),
) {
    if into.is_empty() {
        *into = from;
        return;
    }
    for (key, it) in from {
        match into.get_mut(&key) {
            Some(sum) => merge(sum, it),
            None => drop(into.insert(key, it)),
        }
    }
}
