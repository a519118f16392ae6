//! Which locations of a profile are compared: CPU threads, in their processes.
//!
//! Law: each timed location is in one lane; the lanes of a process are neighbours, processes are in ascending order of
//! rank, those without a rank behind. Threads without any time are left out, as nothing ran there, and threads that help a
//! library beside others of their process.

use ouzel_model::{LocationId, LocationKind, ProfileDefinitions};
use std::collections::BTreeMap;
use std::ops::Range;

/// A process: a rank, or what the profile calls a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessLanes {
    pub rank: Option<u32>,
    pub lanes: Range<usize>,
}

/// The threads that are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lanes {
    pub processes: Vec<ProcessLanes>,
    /// The lane of each location.
    pub of_location: Vec<Option<usize>>,
    pub n: usize,
    /// Threads that are left out because they have (next to) no time.
    pub n_left_out: u64,
    /// Threads that are left out because they only help a library.
    pub n_helping: u64,
}

impl Lanes {
    /// The lanes of the locations of `definitions` for which `runs` says that they have time, and not `only_waits` that
    /// they have nothing to do.
    pub fn new(
        definitions: &ProfileDefinitions,
        runs: &dyn Fn(LocationId) -> bool,
        only_waits: &dyn Fn(LocationId) -> bool,
    ) -> Self {
        let is_timed = timed(definitions);
        // Ranks first; `None` is less than `Some`, so the key of a process without rank begins with `true`.
        let mut of: BTreeMap<(bool, u32), Vec<LocationId>> = BTreeMap::new();
        let mut n_left_out = 0;
        for id in definitions.location_ids().filter(|id| is_timed[id.index()]) {
            let location = &definitions.locations[id.index()];
            if !runs(id) {
                n_left_out += 1;
                continue;
            }
            let key = location.rank.map_or((true, location.group.0), |rank| (false, rank.0));
            of.entry(key).or_default().push(id);
        }
        let mut lanes = Lanes {
            processes: Vec::with_capacity(of.len()),
            of_location: vec![None; definitions.locations.len()],
            n: 0,
            n_left_out,
            n_helping: 0,
        };
        for ((without_rank, number), mut locations) in of {
            let start = lanes.n;
            let n = locations.len();
            if locations.iter().any(|&id| !only_waits(id)) {
                locations.retain(|&id| !only_waits(id));
            }
            lanes.n_helping += (n - locations.len()) as u64;
            for id in locations {
                lanes.of_location[id.index()] = Some(lanes.n);
                lanes.n += 1;
            }
            let rank = (!without_rank).then_some(number);
            lanes.processes.push(ProcessLanes { rank, lanes: start..lanes.n });
        }
        lanes
    }

    /// Whether some process has more than one thread.
    pub fn is_multithreaded(&self) -> bool {
        self.processes.iter().any(|process| 1 < process.lanes.len())
    }
}

/// For each location whether its time is that of a CPU thread; where there are none, whether code runs there.
pub(super) fn timed(definitions: &ProfileDefinitions) -> Vec<bool> {
    let is_thread = |kind| matches!(kind, LocationKind::CpuThread | LocationKind::Unknown);
    let has_threads = definitions.locations.iter().any(|location| is_thread(location.kind));
    let kinds = definitions.locations.iter().map(|location| location.kind);
    kinds.map(|kind| if has_threads { is_thread(kind) } else { kind.runs_code() }).collect()
}
