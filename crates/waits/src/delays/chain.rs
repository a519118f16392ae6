//! A chain of waiting: code that takes longer than elsewhere, and the waits that follow from it, from rank to rank.

use crate::class::WaitClass;
use crate::wait::Culprit;
use ouzel_model::{CallPathId, LocationId, Ticks};

/// Code that takes longer than elsewhere, and the waits that follow from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitChain {
    /// Where it begins.
    pub delay: ChainDelay,
    /// From rank to rank, in the order of time; the first ones, if there are many.
    pub waits: Vec<ChainWait>,
    /// Number of waits, kept or not.
    pub n_waits: u64,
}

/// The code that makes the first rank of a chain wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainDelay {
    /// Who runs it.
    pub location: LocationId,
    /// The code.
    pub call_path: CallPathId,
    /// When the two were last together.
    pub start: Ticks,
    /// When its location arrived where the first wait is.
    pub end: Ticks,
    /// How much longer it took there than at the one that waits.
    pub longer: Ticks,
    /// All waits of those who wait for this location because of this code, in this chain or not.
    pub short_term: Ticks,
    /// All waits of others that follow from these.
    pub long_term: Ticks,
}

/// A wait of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainWait {
    /// What for.
    pub class: WaitClass,
    /// Who waits.
    pub location: LocationId,
    /// The call that waits.
    pub call_path: CallPathId,
    /// When it began to wait.
    pub start: Ticks,
    /// When it could go on.
    pub end: Ticks,
    /// For whom.
    pub culprit: Culprit,
    /// The part of the wait that the one before it causes; of the first, the delay.
    pub caused: Ticks,
}
