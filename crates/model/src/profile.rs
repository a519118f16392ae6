//! What a profile offers: severities v(metric, call path, location), summed over the run.

use crate::Notice;

/// An opened profile of some format.
pub trait ProfileSource: Send + Sync {
    /// What went wrong while opening.
    fn notices(&self) -> &[Notice];
}
