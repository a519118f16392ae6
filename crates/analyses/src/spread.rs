//! How time is spread over processes: sum, extremes, and exact means.
//!
//! Law: nothing is divided before it is shown; a process without a value counts as zero.

use crate::call_path_profile::{LocationProfile, PathTimes, ProfileOutput};
use ouzel_model::{Clock, Definitions, LocationGroupId, LocationGroupKind, LocationId, Ticks, WorldRank};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::hash::Hash;

/// An exact fraction of ticks: a sum over processes, divided by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeanTicks {
    /// The sum, in ticks.
    pub sum: u128,
    /// The number of processes. Never zero.
    pub n_processes: u64,
}

impl MeanTicks {
    /// The mean in nanoseconds, rounded half up.
    pub fn ns(&self, clock: &Clock) -> u64 {
        let divisor = u128::from(clock.ticks_per_second) * u128::from(self.n_processes);
        let ns = (self.sum.saturating_mul(1_000_000_000).saturating_add(divisor / 2)) / divisor;
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// The mean of a sum of something else than ticks, in its own unit, rounded half up.
    pub fn rounded(&self) -> u64 {
        let n = u128::from(self.n_processes);
        u64::try_from(self.sum.saturating_add(n / 2) / n).unwrap_or(u64::MAX)
    }

    /// The mean as a part of `whole`; zero if `whole` is.
    pub fn ratio_to(&self, whole: Ticks) -> f64 {
        ratio(self.sum, u128::from(whole.0) * u128::from(self.n_processes)).unwrap_or(0.0)
    }
}

/// `part / whole`; `None` if `whole` is zero.
#[expect(clippy::cast_precision_loss, reason = "the only division, of exact sums")]
pub fn ratio(part: u128, whole: u128) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

/// A process that takes part in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its location group.
    pub group: LocationGroupId,
    /// Its world rank, if the trace has ranks.
    pub rank: Option<WorldRank>,
}

/// Time of something, over all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// Number of processes, those included that have none of it. Never zero.
    pub n_processes: u64,
    /// Number of processes that have a value, zero or not.
    pub n_seen: u64,
    /// Ticks of all processes together.
    pub sum: u128,
    /// Ticks of the process that has most.
    pub max: Ticks,
    /// That process; the first of equals.
    pub max_process: Process,
    /// Ticks of the process that has least.
    pub min: Ticks,
    /// That process; the first of equals.
    pub min_process: Process,
}

impl Spread {
    /// The mean over all processes.
    pub fn mean(&self) -> MeanTicks {
        MeanTicks { sum: self.sum, n_processes: self.n_processes }
    }

    /// `max − mean`.
    pub fn max_less_mean(&self) -> MeanTicks {
        let max = u128::from(self.max.0) * u128::from(self.n_processes);
        MeanTicks { sum: max.saturating_sub(self.sum), n_processes: self.n_processes }
    }

    /// `max / mean`; 1 if the mean is zero: nothing is spread evenly.
    pub fn imbalance(&self) -> f64 {
        ratio(u128::from(self.max.0) * u128::from(self.n_processes), self.sum).unwrap_or(1.0)
    }
}

/// A [`Spread`] that grows process by process, in ascending order.
#[derive(Debug, Clone, Copy, Default)]
struct Growing {
    n_seen: u64,
    sum: u128,
    max: (Ticks, usize),
    min: (Ticks, usize),
    /// The first process that was passed over, or the next one.
    first_absent: usize,
}

impl Growing {
    fn add(&mut self, process: usize, ticks: Ticks) {
        let is_first = self.n_seen == 0;
        if is_first || self.max.0 < ticks {
            self.max = (ticks, process);
        }
        if is_first || ticks < self.min.0 {
            self.min = (ticks, process);
        }
        self.first_absent += usize::from(self.first_absent == process);
        self.n_seen += 1;
        self.sum += u128::from(ticks.0);
    }

    fn finish(self, processes: &[Process]) -> Spread {
        let Growing { n_seen, sum, mut max, mut min, first_absent } = self;
        if first_absent < processes.len() {
            min = min.min((Ticks(0), first_absent));
            if max.0 == Ticks(0) {
                max.1 = max.1.min(first_absent);
            }
        }
        Spread {
            n_processes: processes.len() as u64,
            n_seen,
            sum,
            max: max.0,
            max_process: processes[max.1],
            min: min.0,
            min_process: processes[min.1],
        }
    }
}

/// The processes of a profile, in the order of their ranks, and the locations of each.
#[derive(Debug)]
pub struct Processes<'a> {
    /// In the order of ranks.
    pub list: Vec<Process>,
    /// For each process its locations, threads and streams.
    locations: Vec<Vec<&'a LocationProfile>>,
}

impl<'a> Processes<'a> {
    /// Processes with at least one location in the profile that runs code on a CPU; others have nothing to compare.
    pub fn new(profile: &'a ProfileOutput, definitions: &Definitions) -> Self {
        let mut processes: BTreeMap<Owner, (Process, Vec<&LocationProfile>)> = BTreeMap::new();
        for location in profile.locations.iter().filter(|l| runs_on_cpu(definitions, l.location)) {
            let group = definitions.location(location.location).group;
            let process = Process { group, rank: definitions.location(location.location).rank };
            processes.entry(owner(definitions, location.location)).or_insert((process, Vec::new()));
        }
        for location in &profile.locations {
            if let Some((_, locations)) = processes.get_mut(&owner(definitions, location.location)) {
                locations.push(location);
            }
        }
        let (list, locations) = processes.into_values().unzip();
        Processes { list, locations }
    }

    /// Each location with the index of its process.
    pub fn members(&self) -> impl Iterator<Item = (usize, &'a LocationProfile)> + use<'a, '_> {
        let of_process = |(process, locations): (usize, &'_ Vec<&'a LocationProfile>)| {
            locations.iter().map(|&location| (process, location)).collect::<Vec<_>>()
        };
        self.locations.iter().enumerate().flat_map(of_process)
    }

    /// Spreads what `value` gives for each row, summed within each process. Sorted by nothing: the caller sorts.
    pub(crate) fn spread_unsorted<K: Copy + Eq + Hash>(
        &self,
        value: impl Fn(LocationId, &PathTimes) -> Option<(K, Ticks)>,
    ) -> Vec<(K, Spread)> {
        let mut all: FxHashMap<K, Growing> = FxHashMap::default();
        for (process, locations) in self.locations.iter().enumerate() {
            let mut own: FxHashMap<K, u64> = FxHashMap::default();
            for location in locations {
                for (key, ticks) in location.rows.iter().filter_map(|row| value(location.location, row)) {
                    let sum = own.entry(key).or_default();
                    *sum = sum.saturating_add(ticks.0);
                }
            }
            own.into_iter().for_each(|(key, ticks)| all.entry(key).or_default().add(process, Ticks(ticks)));
        }
        all.into_iter().map(|(key, growing)| (key, growing.finish(&self.list))).collect()
    }
}

/// What makes two locations belong to one process: the rank, else the group.
pub type Owner = (Option<WorldRank>, Option<LocationGroupId>);

/// The process that a location belongs to.
pub fn owner(definitions: &Definitions, location: LocationId) -> Owner {
    let location = definitions.location(location);
    if let Some(rank) = location.rank {
        return (Some(rank), None);
    }
    let group = &definitions.location_groups[location.group.index()];
    (None, Some(group.creator.unwrap_or(location.group)))
}

/// Whether a location is a CPU thread.
pub fn runs_on_cpu(definitions: &Definitions, location: LocationId) -> bool {
    let location = definitions.location(location);
    let group = &definitions.location_groups[location.group.index()];
    let streams = matches!(
        location.kind,
        ouzel_model::LocationKind::AcceleratorStream | ouzel_model::LocationKind::Metric
    );
    !streams && group.kind != LocationGroupKind::Accelerator
}

/// Spreads plain durations, one for each process; `None` if there is none.
pub(crate) fn spread_durations(durations: &[Ticks]) -> Option<Spread> {
    let process = |i| Process { group: LocationGroupId::from_index(i), rank: None };
    let processes: Vec<Process> = (0..durations.len()).map(process).collect();
    let mut growing = Growing::default();
    durations.iter().enumerate().for_each(|(i, &ticks)| growing.add(i, ticks));
    (!durations.is_empty()).then(|| growing.finish(&processes))
}
