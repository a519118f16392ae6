//! An opened profile.

use crate::workers::BUILD;
use crate::{Found, Trace};
use ouzel_analyses::severities::{self, Grouping, SeverityProfile};
use ouzel_engine::in_order;
use ouzel_formats::{Format, OpenError};
use ouzel_model::{
    CartTopology, Filter, MetricId, Notice, ProfileDefinitions, ProfileSource, Scope, SeverityError,
    has_values, near_names,
};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use twox_hash::XxHash3_128;

/// An opened profile: severities of metrics for each call path and location, summed over the run.
#[derive(Clone)]
pub struct Profile {
    path: PathBuf,
    format: Format,
    source: Arc<dyn ProfileSource>,
    made_by: String,
}

impl std::fmt::Debug for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Profile")
            .field("path", &self.path)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

/// Opens a profile: a file, or a directory that holds one.
///
/// # Errors
/// If there is nothing, nothing that is recognised, or nothing that can be read.
pub fn open_profile(path: &Path) -> Result<Profile, OpenError> {
    Found::at(path).profile()
}

/// The totals of a metric, `None` without a value, and the problems found.
pub type Total = (Option<f64>, Vec<Notice>);

impl Profile {
    /// A profile as it is stored.
    pub(crate) fn stored(path: &Path, (format, source): (Format, Box<dyn ProfileSource>)) -> Self {
        Profile { path: path.to_owned(), format, source: source.into(), made_by: String::new() }
    }

    /// The profile made from what `filter` selects of a trace.
    pub(crate) fn of_trace(trace: &Trace, filter: &Filter, source: Box<dyn ProfileSource>) -> Self {
        let made_by = format!("{BUILD} of {} with {filter:?}", trace.fingerprint());
        Profile { path: trace.path().to_owned(), format: trace.format(), source: source.into(), made_by }
    }

    /// What its severities depend on besides the files at its path: the selection, if made from a trace. Empty for a
    /// profile as it is stored. For caches.
    pub fn made_by(&self) -> &str {
        &self.made_by
    }

    /// Identifies the profile in 128 bits: its definitions, how many bytes the severities of each metric take, and what
    /// made it. Equal for equal files; changed severities of the same size go unnoticed, so a cache also checks file
    /// times.
    pub fn fingerprint(&self) -> u128 {
        let definitions = self.definitions();
        let bytes: Vec<u64> = definitions.metric_ids().map(|id| self.source.severity_bytes(id)).collect();
        let all = (BUILD, self.format.as_str(), &self.made_by, definitions, bytes);
        XxHash3_128::oneshot(&postcard::to_stdvec(&all).expect("definitions are plain data"))
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What is known once.
    pub fn definitions(&self) -> &ProfileDefinitions {
        self.source.definitions()
    }

    /// Problems found while opening.
    pub fn notices(&self) -> &[Notice] {
        self.source.notices()
    }

    /// The source, for reading row by row.
    pub fn source(&self) -> &dyn ProfileSource {
        &*self.source
    }

    /// The topologies: those that the profile defines, then the one from its system tree (compute node × process of the
    /// node × thread of the process) if it has more than one place. By hand: see [`ouzel_model::TopologyShape`].
    pub fn topologies(&self) -> Vec<CartTopology> {
        self.definitions().all_topologies()
    }

    /// The metric used for time: `time`, else the first measured in seconds, else the first; metrics with values are
    /// preferred.
    pub fn default_metric(&self) -> Option<MetricId> {
        let definitions = self.definitions();
        let is_time = |&id: &MetricId| matches!(definitions.metric(id).unit.trim(), "sec" | "s" | "seconds");
        let in_seconds = || definitions.metric_ids().filter(is_time);
        // Read errors are reported when the metric is requested.
        let with_values = |&id: &MetricId| has_values(&*self.source, id).unwrap_or(true);
        let in_seconds = || in_seconds().find(with_values).or_else(|| in_seconds().next());
        definitions.metric_by_name("time").or_else(in_seconds).or_else(|| definitions.metric_ids().next())
    }

    /// Names of metrics that are similar to `name` or contain it, the most similar first; all names if there are none.
    pub fn near_metrics(&self, name: &str) -> Vec<&str> {
        let names = || self.definitions().metrics.iter().map(|metric| &*metric.name);
        let near = near_names(name, names(), usize::MAX);
        if near.is_empty() { names().collect() } else { near }
    }

    /// One metric, for each call path or region.
    ///
    /// # Errors
    /// If the metric has no values in this scope, or they cannot be read.
    pub fn severities(
        &self,
        metric: MetricId,
        scope: Scope,
        grouping: Grouping,
    ) -> Result<SeverityProfile, SeverityError> {
        severities::severity_profile(&*self.source, metric, scope, grouping)
    }

    /// The whole of a metric, over all call paths and locations.
    ///
    /// # Errors
    /// If its severities cannot be read.
    pub fn total(&self, metric: MetricId) -> Result<Total, SeverityError> {
        severities::metric_total(&*self.source, metric)
    }

    /// The whole of every metric, on several threads.
    pub fn totals(&self, jobs: NonZeroUsize) -> Vec<Result<Total, SeverityError>> {
        in_order(jobs, self.definitions().metrics.len(), |metric| self.total(MetricId::from_index(metric)))
    }
}
