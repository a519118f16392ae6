//! How much an answer is based on.

use ouzel::Profile;
use ouzel::engine::Coverage;
use serde::Serialize;

/// How much of a trace an answer is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceCoverage {
    /// Locations that the trace defines.
    pub locations: u64,
    /// Locations that the selection covers.
    pub locations_selected: u64,
    /// Of those: read to the end.
    pub locations_complete: u64,
    /// Of those: read only up to damage.
    pub locations_damaged: u64,
    /// Event records read.
    pub events_read: u64,
}

impl From<Coverage> for TraceCoverage {
    fn from(coverage: Coverage) -> Self {
        TraceCoverage {
            locations: coverage.locations,
            locations_selected: coverage.locations_selected,
            locations_complete: coverage.locations_complete,
            locations_damaged: coverage.locations_damaged,
            events_read: coverage.events_read,
        }
    }
}

/// How much of a profile an answer is based on: what it defines.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileCoverage {
    /// Locations.
    pub locations: u64,
    /// Call paths.
    pub call_paths: u64,
    /// Metrics.
    pub metrics: u64,
}

impl ProfileCoverage {
    /// All of `profile`.
    pub fn of(profile: &Profile) -> Self {
        let definitions = profile.definitions();
        ProfileCoverage {
            locations: definitions.locations.len() as u64,
            call_paths: definitions.call_tree.len() as u64,
            metrics: definitions.metrics.len() as u64,
        }
    }
}
