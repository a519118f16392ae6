//! How trees are averaged, and which are alike enough to be.
//!
//! Averaging two loops clusters their iterations, and a cluster is an average: [`merge`](crate::merge) and
//! [`cluster`](mod@crate::cluster) both follow these settings.

use crate::align::Order;
use crate::diff::Differ;
use serde::{Deserialize, Serialize};

/// When instances are alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClusterRule {
    /// Two clusters that differ by less than this fraction are one. 0.02 in the paper.
    pub ratio_min: f64,
    /// The closest pair is one cluster if it differs by less than this fraction of the difference of the
    /// farthest pair. 0.25 in the paper.
    pub ratio_relative: f64,
}

impl Default for ClusterRule {
    fn default() -> Self {
        ClusterRule { ratio_min: 0.02, ratio_relative: 0.25 }
    }
}

impl ClusterRule {
    /// The most clusters of `n` instances: `max(2, ceil(log2 n))`. The paper says O(log n);
    /// one cluster for two instances would unite the most unlike.
    pub fn k(&self, n: usize) -> usize {
        let log2 = usize::BITS - n.saturating_sub(1).leading_zeros();
        (log2 as usize).max(2)
    }
}

/// What the two trees are averages over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Different locations: a missing instance counts as a location that takes no time.
    Locations,
    /// Iterations of the same locations: statistics are averaged.
    Iterations,
}

/// How trees are averaged.
#[derive(Debug, Clone, Copy)]
pub struct Merger<'a> {
    /// How they are compared, for clusters inside of them.
    pub differ: Differ<'a>,
    /// When iterations are alike.
    pub rule: ClusterRule,
    /// What they are averages over.
    pub over: Over,
}

impl<'a> Merger<'a> {
    /// For locations with exact events.
    pub fn exact(order: &'a dyn Order, over: Over) -> Self {
        Merger { differ: Differ::exact(order), rule: ClusterRule::default(), over }
    }
}
