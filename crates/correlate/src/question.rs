//! Possible questions, and how to compute an answer.

use crate::{AxisSet, Cache};
use ouzel_model::{CallPathId, MetricId, Scope};
use std::num::NonZeroUsize;

/// A severity view: one metric of one call path, over all locations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct View {
    /// The metric.
    pub metric: MetricId,
    /// The call path.
    pub path: CallPathId,
}

/// One question: which views vary like this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The view all others are compared with.
    pub reference: View,
    /// Whether values are those of a call path without or with its callees.
    pub scope: Scope,
    /// The axes whose variation counts; at least one.
    pub axes: AxisSet,
    /// The number of views to return, those of the greatest |r_f|; `None`: all.
    pub top: Option<NonZeroUsize>,
    /// How a frequency is split among the axes.
    pub weights: Weights,
    /// Which extreme of the correlation counts.
    pub peak: Peak,
}

impl Question {
    /// The question with the usual options: exclusive values, the twenty nearest, weights of the poster, greatest |R|.
    pub fn new(reference: View, axes: AxisSet) -> Self {
        Question {
            reference,
            scope: Scope::Exclusive,
            axes,
            top: NonZeroUsize::new(20),
            weights: Weights::Poster,
            peak: Peak::Absolute,
        }
    }
}

/// How the frequency k, of signed components −d/2 < k_i ≤ d/2, is split among the axes: the share of axis i is
/// W_i² = u_i² / Σ u_j², and 0 at k = 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Weights {
    /// u_i = k_i, waves over the whole axis: cosine weighting as in the poster.
    #[default]
    Poster,
    /// u_i = k_i / d_i, waves per place: for axes of very different length.
    Physical,
}

impl Weights {
    /// In lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Weights::Poster => "poster",
            Weights::Physical => "physical",
        }
    }
}

/// Which extreme of R over all shifts is r_f.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Peak {
    /// The one of greatest |R|, with its sign.
    #[default]
    Absolute,
    /// The greatest R, as in the poster's formula; never negative, as R sums up to zero.
    Greatest,
}

impl Peak {
    /// In lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Peak::Absolute => "absolute",
            Peak::Greatest => "max",
        }
    }
}

/// How to compute an answer. It does not change the answer, only the time it takes.
#[derive(Clone)]
pub struct Run<'a> {
    /// Number of threads.
    pub jobs: NonZeroUsize,
    /// Where spectra are kept for later questions; `None`: nowhere.
    pub cache: Option<&'a Cache>,
    /// Called with the number of views done and the maximum number; returns whether to go on.
    pub progress: Option<&'a (dyn Fn(u64, u64) -> bool + Sync)>,
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("jobs", &self.jobs).field("cache", &self.cache).finish_non_exhaustive()
    }
}

impl Run<'_> {
    /// This many threads, no cache, no progress.
    pub fn new(jobs: NonZeroUsize) -> Self {
        Run { jobs, cache: None, progress: None }
    }
}
