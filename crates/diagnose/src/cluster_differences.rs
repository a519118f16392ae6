//! How one cluster of locations differs from another: the call paths in which their mean time differs most.
//!
//! ```text
//! profile of the members ──► mean exclusive time by call path ──┐
//! profile of the others  ──► mean exclusive time by call path ──┴──► differences, largest first
//! ```
//!
//! Laws: call paths are those of the profile and each time is the mean of its rows over the members, zero for a member
//! that never reaches the path; the differences add up to that of the mean spans. How clusters are made
//! (`ouzel_context_tree`) and what differences cost is computed elsewhere.

use ouzel_analyses::MeanTicks;
use ouzel_analyses::call_path_profile::{LocationProfile, ProfileOutput};
use ouzel_model::{CallPathId, CallPathTree, Definitions, LocationId};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Exclusive time in one call path, in two clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathDifference {
    /// Regions from the outermost to the one that differs; empty for code outside recorded regions.
    pub call_path: Vec<Arc<str>>,
    /// Exclusive time, mean over the members of the cluster, in nanoseconds.
    pub time_ns: u64,
    /// Exclusive time, mean over the members of the other cluster, in nanoseconds.
    pub reference_ns: u64,
}

impl PathDifference {
    /// `|time − reference|`, in nanoseconds.
    pub fn size_ns(&self) -> u64 {
        self.time_ns.abs_diff(self.reference_ns)
    }
}

/// Times of a cluster, summed over its members.
#[derive(Debug)]
pub(crate) struct ClusterTimes {
    n_members: u64,
    /// From the first to the last event.
    span: u128,
    /// Exclusive; the root is code outside recorded regions.
    exclusive: BTreeMap<CallPathId, u128>,
}

impl ClusterTimes {
    /// Sums the rows of the members.
    pub fn new(profile: &ProfileOutput, members: &[LocationId]) -> Self {
        let mut times =
            ClusterTimes { n_members: (members.len() as u64).max(1), span: 0, exclusive: BTreeMap::new() };
        let of_member = |id: &LocationId| {
            let at = profile.locations.binary_search_by_key(id, |profile| profile.location).ok()?;
            Some(&profile.locations[at])
        };
        for LocationProfile { span, outside, rows, .. } in members.iter().filter_map(of_member) {
            times.span += span.map_or(0, |(first, last)| u128::from(last.since(first).0));
            *times.exclusive.entry(CallPathTree::ROOT).or_default() += u128::from(outside.0);
            for row in rows {
                *times.exclusive.entry(row.call_path).or_default() += u128::from(row.times.exclusive.0);
            }
        }
        times
    }

    fn ns(&self, sum: u128, definitions: &Definitions) -> u64 {
        MeanTicks { sum, n_processes: self.n_members }.ns(&definitions.clock)
    }

    /// From its first to its last event, mean over the members.
    pub fn duration_ns(&self, definitions: &Definitions) -> u64 {
        self.ns(self.span, definitions)
    }

    /// The call paths in which it differs from `reference`, largest first; equal differences in order of the path.
    pub fn differences(
        &self,
        reference: &ClusterTimes,
        call_paths: &CallPathTree,
        definitions: &Definitions,
    ) -> Vec<PathDifference> {
        let mut sums: BTreeMap<Vec<Arc<str>>, [u128; 2]> = BTreeMap::new();
        for (side, times) in [self, reference].into_iter().enumerate() {
            for (&path, ticks) in &times.exclusive {
                let regions = call_paths.regions(path).into_iter();
                // Some tracers define a function once for each rank: equal names mean one call path.
                let names = regions.map(|region| definitions.region(region).name.clone()).collect();
                sums.entry(names).or_default()[side] += ticks;
            }
        }
        let difference = |(call_path, [time, other]): (Vec<Arc<str>>, [u128; 2])| PathDifference {
            call_path,
            time_ns: self.ns(time, definitions),
            reference_ns: reference.ns(other, definitions),
        };
        let mut all: Vec<PathDifference> = sums.into_iter().map(difference).collect();
        all.retain(|difference| 0 < difference.size_ns());
        // Stable: those of equal size stay in order of the path.
        all.sort_by_key(|difference| Reverse(difference.size_ns()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_analyses::call_path_profile::CallPathProfile;
    use ouzel_model::TraceSource;
    use ouzel_testkit::{ToyTrace, run};

    /// Rank 0 writes, the others work longer; rank 3 begins outside every region.
    const TEXT: &str = "
        0: enter main @0, enter work @5, leave @35, enter output @35, leave @39, leave @40
        1: enter main @0, enter work @5, leave @41, leave @50
        2: enter main @0, enter work @5, leave @40, leave @50
        3: other @0, enter main @10, enter work @15, leave @52, leave @60";

    fn times(trace: &ToyTrace, members: &[u32]) -> (ClusterTimes, ProfileOutput) {
        let profile = run(trace, CallPathProfile);
        let members: Vec<LocationId> = members.iter().copied().map(LocationId).collect();
        (ClusterTimes::new(&profile, &members), profile)
    }

    #[test]
    fn differences_are_of_means_over_the_members() {
        let trace = ToyTrace::new(TEXT);
        let definitions = trace.definitions();
        let (one, profile) = times(&trace, &[0]);
        let (others, _) = times(&trace, &[1, 2, 3]);
        let found = one.differences(&others, &profile.call_paths, definitions);
        let path = |names: &[&str]| names.iter().map(|&name| Arc::from(name)).collect::<Vec<Arc<str>>>();
        let row = |names: &[&str], time_ns, reference_ns| PathDifference {
            call_path: path(names),
            time_ns,
            reference_ns,
        };
        // (14 + 15 + 13) / 3, (36 + 35 + 37) / 3 and 10 / 3.
        let expected = [
            row(&["main"], 6, 14),
            row(&["main", "work"], 30, 36),
            row(&["main", "output"], 4, 0),
            row(&[], 0, 3),
        ];
        assert_eq!(found, expected);
        assert_eq!((one.duration_ns(definitions), others.duration_ns(definitions)), (40, 53));
        assert_eq!(one.differences(&one, &profile.call_paths, definitions), []);
    }

    #[test]
    fn regions_of_one_name_are_one() {
        let mut trace = ToyTrace::new("0: enter send @0, leave @7\n1: enter send_ @0, leave @7");
        let other = trace.region("send_");
        trace.definitions_mut().regions[other.index()].name = "send".into();
        let ((one, profile), (two, _)) = (times(&trace, &[0]), times(&trace, &[1]));
        assert_eq!(one.differences(&two, &profile.call_paths, trace.definitions()), []);
    }
}
