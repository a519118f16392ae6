//! Counters where times are expected, for functions over profiles that only compare and sum.

use super::MetricProfileOutput;
use crate::call_path_profile::{LocationProfile, PathTimes, ProfileOutput, VisitTimes};
use ouzel_model::{CallPathId, LocationId, MetricId, Ticks};
use std::collections::BTreeMap;

impl MetricProfileOutput {
    /// `profile` with the gains of `metric` in place of every time: a tick is one of the metric's unit.
    ///
    /// Both outputs are from one pass. Paths that were visited while the counter did not change have zero; shortest and
    /// longest visits, spans and the time outside are unknown for a counter and are zero.
    pub fn in_place_of_time(&self, profile: &ProfileOutput, metric: MetricId) -> ProfileOutput {
        let mut gains: BTreeMap<(LocationId, CallPathId), (u64, u64)> = BTreeMap::new();
        for location in &self.locations {
            for row in location.rows.iter().filter(|row| row.metric == metric) {
                gains.insert((location.location, row.call_path), (row.inclusive, row.exclusive));
            }
        }
        let location = |from: &LocationProfile| {
            let row = |row: &PathTimes| {
                let (inclusive, exclusive) =
                    gains.get(&(from.location, row.call_path)).copied().unwrap_or_default();
                let visits = row.times.visits;
                let (inclusive, exclusive) = (Ticks(inclusive), Ticks(exclusive));
                let times = VisitTimes { visits, inclusive, exclusive, min: Ticks(0), max: Ticks(0) };
                PathTimes { call_path: row.call_path, times }
            };
            LocationProfile {
                location: from.location,
                span: None,
                outside: Ticks(0),
                rows: from.rows.iter().map(row).collect(),
            }
        };
        ProfileOutput {
            call_paths: profile.call_paths.clone(),
            locations: profile.locations.iter().map(location).collect(),
            run_range: None,
        }
    }
}
