//! Times of a call path, of a location while it is folded, and of the locations folded so far.

use ouzel_model::{CallPathId, LocationId, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Times of some visits. The default is that of no visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitTimes {
    /// Number of visits.
    pub visits: u64,
    /// Ticks from enter to leave, summed.
    pub inclusive: Ticks,
    /// Ticks from enter to leave without those in callees, summed.
    pub exclusive: Ticks,
    /// Ticks from enter to leave of the shortest visit; the greatest number if there is none.
    pub min: Ticks,
    /// Ticks from enter to leave of the longest visit; zero if there is none.
    pub max: Ticks,
}

impl Default for VisitTimes {
    fn default() -> Self {
        VisitTimes {
            visits: 0,
            inclusive: Ticks(0),
            exclusive: Ticks(0),
            min: Ticks(u64::MAX),
            max: Ticks(0),
        }
    }
}

impl VisitTimes {
    /// Adds other visits. Sums stop at the greatest number, which only corrupt time stamps reach.
    pub fn add(&mut self, other: &VisitTimes) {
        self.inclusive = sum(self.inclusive, other.inclusive);
        self.add_all_but_inclusive(other);
    }

    /// Adds visits whose inclusive time is part of the inclusive time here already.
    pub(crate) fn add_all_but_inclusive(&mut self, other: &VisitTimes) {
        self.visits += other.visits;
        self.exclusive = sum(self.exclusive, other.exclusive);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

fn sum(a: Ticks, b: Ticks) -> Ticks {
    Ticks(a.0.saturating_add(b.0))
}

/// Times of one call path at one location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathTimes {
    /// The call path.
    pub call_path: CallPathId,
    /// Its times.
    pub times: VisitTimes,
}

/// While a location is folded: times by call path; no visit where it was not seen.
#[derive(Debug, Default)]
pub struct ProfileLocal {
    pub(super) paths: Vec<VisitTimes>,
}

impl ProfileLocal {
    /// The call paths with a visit, ascending.
    pub(super) fn rows(&self) -> impl Iterator<Item = PathTimes> {
        let visited = self.paths.iter().enumerate().filter(|(_, times)| 0 < times.visits);
        visited.map(|(i, &times)| PathTimes { call_path: CallPathId::from_index(i), times })
    }
}

/// For each location the call paths it visited, sorted.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfilePartial {
    pub(super) locations: BTreeMap<LocationId, Vec<PathTimes>>,
}
