//! The result.

use super::state::PathIo;
use ouzel_model::{CallPathTree, LocationId};
use std::collections::BTreeMap;

/// The totals of the locations.
#[derive(Debug, Clone, Default)]
pub struct IoOutput {
    /// What the call paths are.
    pub call_paths: CallPathTree,
    /// Of each location with operations its call paths that have some, ascending.
    pub locations: BTreeMap<LocationId, Vec<PathIo>>,
}
