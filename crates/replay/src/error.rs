//! Why a change cannot be made.

/// A change that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// Nothing has this name.
    #[error("no region or call path is named {0:?}")]
    Unknown(String),
    /// It is not of the form `CODE=FACTOR`.
    #[error("{0:?} is not of the form CODE=FACTOR, e.g. solve=2")]
    Form(String),
    /// The factor is no number above zero.
    #[error(
        "{0:?} is no factor; a factor is a number from 0.001 to 1,000,000 with at most nine digits after the point"
    )]
    Factor(String),
    /// It is no network.
    #[error("{0:?} is no network; a network is ideal, or e.g. latency=5us,bandwidth=12GB/s")]
    Network(String),
}
