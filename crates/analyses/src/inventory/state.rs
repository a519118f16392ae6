//! Counts while a location is folded, and of the locations folded so far.

use ouzel_model::LocationId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of kinds of events.
pub(super) const N_KINDS: usize = 15;

/// While a location is folded.
#[derive(Debug, Default)]
pub struct InventoryLocal {
    pub(super) counts: Counts,
    /// Number of open calls.
    pub(super) depth: u64,
}

/// Counts of one location.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts {
    /// By kind.
    pub events: [u64; N_KINDS],
    /// Most calls open at once.
    pub max_depth: u64,
}

/// Counts by location.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InventoryPartial {
    pub(super) locations: BTreeMap<LocationId, Counts>,
}
