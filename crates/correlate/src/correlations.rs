//! Answers.

use crate::View;
use ouzel_model::{Notice, SeverityError};
use std::path::PathBuf;

/// One view compared with the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Correlation {
    /// The view.
    pub view: View,
    /// r_f in [−1, 1]: R at the peak, with its sign; 0 if either view does not vary along the axes.
    pub r: f64,
    /// Δ of the peak, one number below the size for each axis of the grid: the reference's value at x corresponds to
    /// this view's value at x + Δ, around the ends.
    pub shift: Vec<u32>,
    /// The greatest R.
    pub r_max: f64,
    /// Its Δ.
    pub shift_max: Vec<u32>,
    /// The least R.
    pub r_min: f64,
    /// Its Δ.
    pub shift_min: Vec<u32>,
    /// Share of the places of the grid where this view has a value, in [0, 1].
    pub coverage: f64,
}

/// The views, most similar to the reference first.
#[derive(Debug, Clone, PartialEq)]
pub struct Correlations {
    /// By descending |r| (by descending r for [`Peak::Greatest`](crate::Peak::Greatest)) in steps of 1e-9; equal ones
    /// in the order of metrics, then call paths. Without the reference.
    pub rows: Vec<Correlation>,
    /// Number of views that have any value other than zero, without the reference.
    pub n_views: u64,
    /// For how many of them R was computed; bounds excluded the others.
    pub n_transformed: u64,
    /// Share of places where the reference has a value, in [0, 1].
    pub coverage: f64,
    /// Share of the reference's variance, the mean aside, that the filter kept, in [0, 1].
    pub kept: f64,
    /// Whether spectra were kept.
    pub cache: CacheUse,
    /// What was left out or is doubtful.
    pub notices: Vec<Notice>,
}

/// What became of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheUse {
    /// Not requested.
    Off,
    /// Keeping them is not worth it: computing the spectra again takes less time.
    NotWorth,
    /// Spectra were read from it.
    Read {
        /// The file.
        file: PathBuf,
    },
    /// Spectra were computed and written.
    Written {
        /// The file.
        file: PathBuf,
        /// Its size.
        n_bytes: u64,
    },
    /// Spectra were computed and could not be written; a notice says why.
    Failed,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CorrelateError {
    /// The filter keeps nothing.
    #[error("no axis is selected")]
    NoAxes,
    /// The filter names an axis that the grid does not have.
    #[error("axis {axis} is selected, but the topology has {n_axes}")]
    UnknownAxis {
        /// Its position.
        axis: usize,
        /// Number of axes.
        n_axes: usize,
    },
    /// The reference names a metric or call path that the profile does not have.
    #[error("the profile has no such view: metric {}, call path {}", .0.metric.0, .0.path.0)]
    UnknownView(View),
    /// There is only one place.
    #[error("the topology has only one place: nothing can vary over it")]
    OnePlace,
    /// There is not enough memory for so many places.
    #[error(
        "the {n_places} places of topology {topology:?} need {n_megabytes} MB of memory with {n_threads} threads, \
         which is not available: use fewer threads (--jobs) or a smaller topology (--topology)"
    )]
    Memory {
        /// The topology.
        topology: String,
        /// Its places.
        n_places: usize,
        /// Roughly how much is needed.
        n_megabytes: u64,
        /// The number of threads this is for.
        n_threads: usize,
    },
    /// At most one location has a place.
    #[error("{n_located} location has a place in the topology: nothing can vary over it")]
    OneLocation {
        /// Number of locations with a place.
        n_located: usize,
    },
    /// The whole metric is zero or without values.
    #[error("metric {metric:?} has no nonzero value in any call path")]
    EmptyMetric {
        /// Its name.
        metric: String,
    },
    /// The reference is zero, or without a value, in all places.
    #[error("metric {metric:?} has no nonzero value in call path {path} at any place of the topology")]
    EmptyReference {
        /// Name of the metric.
        metric: String,
        /// The call path, by its regions from the root.
        path: String,
    },
    /// Severities cannot be provided or read.
    #[error(transparent)]
    Severity(#[from] SeverityError),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}
