//! Why there is no answer.

use ouzel_model::SeverityError;

/// Why causes cannot be looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CausesError {
    /// No metric represents time.
    #[error("no metric is a time, CPU time or cycles: name one that adds up (--metric)")]
    NoTime,
    /// The user's metric does not exist.
    #[error("no metric is named {name:?}")]
    NoSuchMetric {
        /// The name that was given.
        name: String,
    },
    /// The user's metric does not add up over call paths and locations.
    #[error("metric {name:?} does not add up over call paths and locations, as time does")]
    NotSummed {
        /// The name that was given.
        name: String,
    },
    /// The time is zero everywhere.
    #[error("metric {name:?} is zero in every call path of the compared processes: name another (--metric)")]
    AllZero {
        /// The metric.
        name: String,
    },
    /// No process is left to look at.
    #[error("no process is left to analyse")]
    NoProcess,
    /// Severities cannot be read.
    #[error(transparent)]
    Severities(#[from] SeverityError),
}
