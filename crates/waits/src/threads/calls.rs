//! Which calls wait for other threads of their process.
//!
//! Law: depends on the definitions alone. A process of one thread waits for none, so that its events are not looked at.

use ouzel_analyses::semantics::{Category, Family, Semantics};
use ouzel_model::{Definitions, Location, LocationKind, Region, RegionRole};
use serde::{Deserialize, Serialize};

/// How calls of a region wait for other threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ThreadCall {
    /// They do something else.
    Works,
    /// They are what a team runs.
    Parallel,
    /// For all threads of the team.
    Barrier,
    /// For a lock that is recorded inside.
    Locks,
    /// For what else is recorded inside: the end of a thread.
    Blocks,
}

impl ThreadCall {
    fn of(region: &Region, semantics: &Semantics) -> Self {
        let class = semantics.class(region);
        let is_barrier = matches!(region.role, RegionRole::Barrier | RegionRole::ImplicitBarrier);
        let name = region.name.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let is_of_threads = matches!(class.family, Family::OpenMp | Family::Pthread);
        match class.category {
            _ if !is_of_threads => ThreadCall::Works,
            _ if is_barrier && class.family == Family::OpenMp => ThreadCall::Barrier,
            _ if region.role == RegionRole::Parallel => ThreadCall::Parallel,
            Category::Computation => ThreadCall::Works,
            // Calls that only ask.
            _ if has(&["_test", " test ", "_try", "::try_"]) => ThreadCall::Works,
            Category::Synchronization if class.family == Family::OpenMp && has(&["barrier"]) => {
                ThreadCall::Barrier
            }
            _ if has(&["lock", "critical", "cond_", "condition_variable", "mutex"]) => ThreadCall::Locks,
            _ => ThreadCall::Blocks,
        }
    }
}

/// The calls of a run that may wait for other threads.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ThreadCalls {
    /// By region; empty if no process has several threads.
    of_regions: Vec<ThreadCall>,
    /// Whether each location group has several threads.
    are_several: Vec<bool>,
}

impl ThreadCalls {
    pub fn new(definitions: &Definitions, semantics: &Semantics) -> Self {
        let mut n_threads = vec![0_u32; definitions.location_groups.len()];
        for location in definitions.locations.iter().filter(|it| is_thread(it)) {
            n_threads[location.group.index()] += 1;
        }
        if n_threads.iter().all(|n| *n < 2) {
            return ThreadCalls::default();
        }
        let regions = definitions.regions.iter();
        ThreadCalls {
            of_regions: regions.map(|region| ThreadCall::of(region, semantics)).collect(),
            are_several: n_threads.iter().map(|n| 2 <= *n).collect(),
        }
    }

    /// Whether no process has several threads.
    pub fn is_empty(&self) -> bool {
        self.of_regions.is_empty()
    }

    /// How calls of each region wait.
    pub fn of_regions(&self) -> &[ThreadCall] {
        &self.of_regions
    }

    /// Whether a location is one of several threads of a process.
    pub fn has(&self, location: &Location) -> bool {
        is_thread(location) && self.are_several.get(location.group.index()).copied().unwrap_or(false)
    }
}

/// Whether a location is a thread of a process.
pub(crate) fn is_thread(location: &Location) -> bool {
    matches!(location.kind, LocationKind::CpuThread | LocationKind::Unknown)
}
