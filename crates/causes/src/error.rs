//! Why there is no answer.

use ouzel_model::SeverityError;

/// Why causes cannot be looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CausesError {
    /// There is no metric that stands for time.
    #[error("no metric is a time, CPU time or cycles: name one that adds up (--metric)")]
    NoTime,
    /// The user's metric is not there.
    #[error("no metric is named {name:?}")]
    NoSuchMetric {
        /// What was named.
        name: String,
    },
    /// The user's metric does not add up over call paths and locations.
    #[error("metric {name:?} does not add up over call paths and locations, as time does")]
    NotSummed {
        /// What was named.
        name: String,
    },
    /// The time is zero everywhere.
    #[error("metric {name:?} is zero in every call path of the compared processes: name another (--metric)")]
    AllZero {
        /// The metric.
        name: String,
    },
    /// Nobody is left to look at.
    #[error("no process is left to analyse")]
    NoProcess,
    /// Severities cannot be read.
    #[error(transparent)]
    Severities(#[from] SeverityError),
}
