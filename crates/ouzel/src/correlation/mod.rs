//! Which views of a profile vary like one of them, asked by the names people use.
//!
//! ```text
//! names (metric, call path, axes, topology) ──found──► Question on a Grid ──correlate──► Correlated ──► table, picture
//! ```
//!
//! Law: what was not named is chosen by a rule that depends only on the profile: the metric used for time, the call
//! path with the largest total that is not a root, the first topology that matches the locations, all axes. For the
//! method see `ouzel_correlate`.

mod placed;
mod table;
pub(crate) mod topology;

pub use placed::Placed;

use crate::Profile;
use crate::call_paths::{CallPathError, call_path};
use ouzel_analyses::severities::Grouping;
use ouzel_correlate::{
    AxisError, AxisSet, Cache, CacheUse, CorrelateError, Correlations, Grid, GridError, Peak, Question, Run,
    View, Weights, correlate, kept_totals, view_on_grid,
};
use ouzel_model::{
    CallPathId, CallTree, Level, MetricId, Notice, NoticeCode, Notices, Scope, SeverityError, TopologyError,
};
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// A question by names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorrelationQuery {
    /// The metric, by its name; `None`: the one used for time.
    pub metric: Option<String>,
    /// The call path; `None`: the one with the largest total that is not a root. For its syntax see
    /// [`Profile::call_path`].
    pub path: Option<String>,
    /// Names of the axes along which variation counts; empty: all.
    pub axes: Vec<String>,
    /// A topology of the profile by its name or its number from 0, or sizes of axes by hand (`16x8x4`); `None`: the
    /// first that matches the locations.
    pub topology: Option<String>,
    /// Number of best views to return; `None`: all views.
    pub top: Option<NonZeroUsize>,
    /// Values without or with callees.
    pub scope: Scope,
    /// How a wave is split among the axes.
    pub weights: Weights,
    /// Which extreme of R determines the rank.
    pub peak: Peak,
}

impl Default for CorrelationQuery {
    fn default() -> Self {
        CorrelationQuery {
            metric: None,
            path: None,
            axes: Vec::new(),
            topology: None,
            top: NonZeroUsize::new(20),
            scope: Scope::Exclusive,
            weights: Weights::Poster,
            peak: Peak::Absolute,
        }
    }
}

/// Where spectra are kept for the next question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spectra {
    /// In the user's folder for caches, where that pays off.
    Keep,
    /// In this file, always.
    In(PathBuf),
    /// Neither read nor written.
    Forget,
}

/// How to compute an answer. It does not change the answer.
#[derive(Clone)]
pub struct CorrelationRun<'a> {
    /// Number of threads.
    pub jobs: NonZeroUsize,
    /// Where spectra are kept.
    pub spectra: &'a Spectra,
    /// Called with the number of views done and the maximum number; returns whether to go on.
    pub progress: Option<&'a (dyn Fn(u64, u64) -> bool + Sync)>,
}

impl std::fmt::Debug for CorrelationRun<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CorrelationRun")
            .field("jobs", &self.jobs)
            .field("spectra", &self.spectra)
            .finish_non_exhaustive()
    }
}

/// Why a question by names has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CorrelationError {
    /// No metric has this name.
    #[error("the profile has no metric {name:?}; it has: {}", .near.join(", "))]
    UnknownMetric {
        /// The name that was given.
        name: String,
        /// Metrics with similar names, or all.
        near: Vec<String>,
    },
    /// The profile has nothing to ask about.
    #[error("the profile has no {0}")]
    Empty(&'static str),
    /// No call path has a value.
    #[error(
        "metric {metric:?} has no {scope} value in any call path: choose another metric or the other scope"
    )]
    NoValues {
        /// The metric.
        metric: String,
        /// The scope.
        scope: &'static str,
    },
    /// No call path matches, or several do.
    #[error(transparent)]
    CallPath(#[from] CallPathError),
    /// The profile has no arrangement of its locations.
    #[error(
        "the profile defines no topology, and its system tree gives none because it has {n_threads}: give one by hand \
         as sizes of axes, e.g. 4x2"
    )]
    NoTopology {
        /// How many threads, in words.
        n_threads: String,
    },
    /// No topology has this name.
    #[error("the profile has no topology {name:?}; it has: {known}; by hand, write sizes like 16x8x4")]
    UnknownTopology {
        /// The name that was given.
        name: String,
        /// The existing ones, in words.
        known: String,
    },
    /// The shape does not match the profile.
    #[error(transparent)]
    Shape(#[from] TopologyError),
    /// The topology does not match the locations.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The axes are invalid.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// There is no correlation.
    #[error(transparent)]
    Correlate(#[from] CorrelateError),
    /// Severities cannot be read.
    #[error(transparent)]
    Severity(#[from] SeverityError),
    /// Spectra cannot be kept in the file that was named.
    #[error("{}: {error}", .file.display())]
    Spectra {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Where the topology of an answer is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopologyOrigin {
    /// The profile defines it.
    Defined,
    /// It follows from the system tree.
    SystemTree,
    /// The user gave it.
    ByHand,
}

impl TopologyOrigin {
    /// In lower case, for JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            TopologyOrigin::Defined => "defined",
            TopologyOrigin::SystemTree => "system_tree",
            TopologyOrigin::ByHand => "by_hand",
        }
    }
}

/// An answer with what it is about.
#[derive(Debug, Clone)]
pub struct Correlated {
    /// The question.
    pub question: Question,
    /// The places.
    pub grid: Grid,
    /// Where the topology is from.
    pub origin: TopologyOrigin,
    /// The ranked views.
    pub answer: Correlations,
    /// What to know before trusting it, worst first; without the notices from opening the profile.
    pub notices: Vec<Notice>,
}

impl Profile {
    /// The call path that is meant by an id, a region, or regions one below the other with `/` between them (`*`
    /// stands for anything, a leading `/` for the outermost region).
    ///
    /// # Errors
    /// If there is none, or there are several: the error names them.
    pub fn call_path(&self, pattern: &str) -> Result<CallPathId, CallPathError> {
        call_path(self.definitions(), pattern)
    }

    /// The metric of a name.
    ///
    /// # Errors
    /// If there is none; the error names metrics with similar names.
    pub fn metric(&self, name: &str) -> Result<MetricId, CorrelationError> {
        self.definitions().metric_by_name(name).ok_or_else(|| CorrelationError::UnknownMetric {
            name: name.to_owned(),
            near: self.near_metrics(name).into_iter().map(str::to_owned).collect(),
        })
    }

    /// The views that vary like the named one, over the topology.
    ///
    /// # Errors
    /// If a name means nothing, there is no topology, nothing varies, or severities cannot be read.
    pub fn correlate(
        &self,
        query: &CorrelationQuery,
        run: &CorrelationRun<'_>,
    ) -> Result<Correlated, CorrelationError> {
        let metric = match &query.metric {
            Some(name) => self.metric(name)?,
            None => self.default_metric().ok_or(CorrelationError::Empty("metric"))?,
        };
        let (grid, origin, notices) = topology::grid(self.definitions(), query.topology.as_deref())?;
        let all = Notices::default();
        all.extend(notices);
        let cache = self.spectra_cache(run.spectra, &grid, query.scope, &all)?;
        let run = Run { jobs: run.jobs, cache: cache.as_ref(), progress: run.progress };
        let ask = |path| {
            let question = question(query, View { metric, path }, &grid)?;
            let answer = correlate(self.source(), &grid, &question, &run)?;
            Ok::<_, CorrelationError>((question, answer))
        };
        let kept = match (&query.path, &cache) {
            (None, Some(cache)) => self.kept_heaviest_path(metric, &grid, query.scope, cache),
            _ => None,
        };
        // Spectra that an answer was read from are those of the profile, and so is their heaviest call path.
        let from_kept = kept
            .and_then(|path| ask(path).ok())
            .filter(|(_, answer)| matches!(answer.cache, CacheUse::Read { .. }));
        let (question, answer) = match (from_kept, &query.path) {
            (Some(found), _) => found,
            (None, Some(pattern)) => ask(self.call_path(pattern)?)?,
            (None, None) => ask(self.heaviest_path(metric, query.scope)?)?,
        };
        all.extend(answer.notices.iter().cloned());
        Ok(Correlated { question, grid, origin, answer, notices: all.to_vec() })
    }

    /// Where spectra are kept, if they are.
    fn spectra_cache(
        &self,
        spectra: &Spectra,
        grid: &Grid,
        scope: Scope,
        notices: &Notices,
    ) -> Result<Option<Cache>, CorrelationError> {
        let made_by = self.made_by();
        match spectra {
            Spectra::Forget => Ok(None),
            Spectra::In(file) => match Cache::in_file(file, self.path(), made_by) {
                Ok(cache) => Ok(Some(cache)),
                Err(error) => Err(CorrelationError::Spectra { file: file.clone(), error }),
            },
            Spectra::Keep => {
                let cache = Cache::of_user(self.path(), grid, scope, made_by);
                let tell = |error: &io::Error| {
                    let message = format!("spectra are not kept for the next question: {error}");
                    notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, message));
                };
                Ok(cache.inspect_err(tell).ok())
            }
        }
    }

    /// The values of a view on the places of an answer; not a number where there is none.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn on_grid(&self, of: &Correlated, view: View) -> Result<Vec<f64>, CorrelateError> {
        view_on_grid(self.source(), &of.grid, view, of.question.scope)
    }

    /// The call path with the largest total; roots only if there is nothing else.
    fn heaviest_path(&self, metric: MetricId, scope: Scope) -> Result<CallPathId, CorrelationError> {
        let profile = self.severities(metric, scope, Grouping::CallPath)?;
        let name = || self.definitions().metric(metric).name.to_string();
        heaviest(
            &self.definitions().call_tree,
            profile.entries.iter().filter_map(|entry| Some((entry.path?, entry.total?))),
        )
        .map(|(path, _)| path)
        .ok_or_else(|| CorrelationError::NoValues { metric: name(), scope: scope.as_str() })
    }

    /// The same from kept spectra; `None` if they do not tell. They leave out what is zero everywhere.
    fn kept_heaviest_path(
        &self,
        metric: MetricId,
        grid: &Grid,
        scope: Scope,
        cache: &Cache,
    ) -> Option<CallPathId> {
        let tree = &self.definitions().call_tree;
        let totals = kept_totals(self.source(), grid, metric, scope, cache)?;
        let (path, total) = heaviest(tree, totals.into_iter())?;
        (total > 0.0 && tree.depth(path) != 0).then_some(path)
    }
}

/// The call path with the largest total and that total; a root only if there is nothing else.
fn heaviest(tree: &CallTree, totals: impl Iterator<Item = (CallPathId, f64)>) -> Option<(CallPathId, f64)> {
    let weight = |(path, total): (CallPathId, f64)| (tree.depth(path) != 0, total);
    totals.filter(|(_, total)| total.is_finite()).max_by(|&a, &b| {
        let (a_weight, b_weight) = (weight(a), weight(b));
        // Among equal ones, the first.
        a_weight.0.cmp(&b_weight.0).then(a_weight.1.total_cmp(&b_weight.1)).then(b.0.cmp(&a.0))
    })
}

/// The question about a view.
fn question(query: &CorrelationQuery, reference: View, grid: &Grid) -> Result<Question, AxisError> {
    let axes = axes(query, grid)?;
    let &CorrelationQuery { top, scope, weights, peak, .. } = query;
    Ok(Question { reference, scope, axes, top, weights, peak })
}

/// The axes that were named, or all.
fn axes(query: &CorrelationQuery, grid: &Grid) -> Result<AxisSet, AxisError> {
    if query.axes.is_empty() {
        return Ok(AxisSet::all(grid.axes().len()));
    }
    AxisSet::from_names(grid, query.axes.iter().map(String::as_str))
}
