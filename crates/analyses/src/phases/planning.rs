//! Which synchronisations all peers had in common, where their calls alone do not tell.
//!
//! ```text
//! rank 0   work work work work │ work work      a sample shows a call only if it lasts
//! rank 1   work Barr Barr Barr │ work work
//! rank 2   work work Barr Barr │ work work
//! plan                     Barrier                leaves of most ranks within one sampling period
//! ```
//!
//! The n-th synchronisation of one location need not be the n-th of another if samples miss short ones, if locations end
//! early, or if they run different programs. What they have in common is the moment: nobody leaves a synchronisation
//! before all have come. So an instance is a moment T
//! - of samples: from which at least half of the peers leave calls of one region within one sampling period, and at most
//!   a quarter stay in it;
//! - of exact calls: at which the peers inside of calls of one region cease to be the majority.
//!
//! A location that shows no such call near T has an empty one between its neighbours. Losses of a short phase would be
//! noise of the samples, so loops whose iterations are shorter than `8 V √(2 ln N)` are [one stretch](PlannedAnchor::ends_stretch)
//! each; V is the sampling period and N the number of peers. The noise of an imbalance is then 5 % of an iteration.
//!
//! Law: a plan follows from the sightings and periods alone. For how a location is cut by it, see `planned`.

use super::periods::SamplePeriodsOutput;
use super::plan::{AnchorPlan, GroupPlan, PlannedAnchor, after, noise_factor};
use super::sightings::{Count, GroupSightings, SightingsOutput};
use super::state::MAX_ENTRIES;
use super::structure::{Structure, StructureItem};
use crate::peers::PeerKind;
use ouzel_model::{CallPathId, RegionId, Ticks};
use std::collections::{BTreeMap, BTreeSet};

/// Least length of an iteration that is a phase of its own, in units of `V √(2 ln N)`.
const LEAST_LENGTH: f64 = 8.0;
/// Leaves of one synchronisation are within this part of a period: periods jitter.
const BURST: (u64, u64) = (21, 20);
/// At most one location in so many may stay in calls of the region.
const STAY: u64 = 4;

impl AnchorPlan {
    /// The plan for the groups of which `is_wanted` says so, or of which members are sampled.
    pub fn new(
        sightings: &SightingsOutput,
        periods: SamplePeriodsOutput,
        is_wanted: impl Fn(PeerKind) -> bool,
    ) -> Self {
        let plan = |group: &GroupSightings| {
            let of_members = group.locations.iter().map(|&location| periods.of_samples_alone(location));
            let period = of_members.max().unwrap_or_default();
            (Ticks(0) < period || is_wanted(group.kind)).then(|| GroupPlan::new(group, period))
        };
        let groups = sightings.groups.iter().filter_map(plan).collect();
        AnchorPlan { groups, periods }
    }
}

impl GroupPlan {
    fn new(group: &GroupSightings, period: Ticks) -> Self {
        let n = group.locations.len() as u64;
        let mut found: Vec<(Ticks, RegionId)> = Vec::new();
        let regions: BTreeSet<RegionId> = group.counts.iter().map(|count| count.region).collect();
        for region in regions {
            let counts = of_region(&group.counts, region);
            let times = if period == Ticks(0) { majorities(&counts, n) } else { bursts(&counts, n, period) };
            found.extend(times.into_iter().map(|time| (time, region)));
        }
        found.sort_unstable();
        found.truncate(MAX_ENTRIES as usize - 1);
        let mut anchors: Vec<PlannedAnchor> =
            found.iter().map(|&(time, region)| PlannedAnchor { region, time, ends_stretch: true }).collect();
        if period != Ticks(0) {
            let paths = paths(&group.counts, &found, period);
            let structure = Structure::of_sequence(&paths);
            let limit = LEAST_LENGTH * noise_factor(n) * period.0 as f64;
            Stretches { anchors: &mut anchors, limit }.mark(&structure.items);
        }
        GroupPlan { kind: group.kind, anchors, period }
    }
}

/// The counts of a region over all call paths, by time.
fn of_region(counts: &[Count], region: RegionId) -> Vec<(Ticks, u64, u64)> {
    let mut sums: BTreeMap<Ticks, (u64, u64)> = BTreeMap::new();
    for count in counts.iter().filter(|count| count.region == region) {
        let sum = sums.entry(count.time).or_default();
        sum.0 += u64::from(count.n_enters);
        sum.1 += u64::from(count.n_leaves);
    }
    sums.into_iter().map(|(time, (enters, leaves))| (time, enters, leaves)).collect()
}

/// When the locations inside cease to be the majority.
fn majorities(counts: &[(Ticks, u64, u64)], n_locations: u64) -> Vec<Ticks> {
    let mut times = Vec::new();
    let (mut inside, mut is_majority) = (0, false);
    for &(time, enters, leaves) in counts {
        // Who leaves one call and enters the next at one time was in two.
        inside -= leaves.min(inside);
        let still = n_locations < 2 * inside;
        if is_majority && !still {
            times.push(time);
        }
        inside += enters;
        is_majority = n_locations < 2 * inside;
    }
    times
}

/// From when enough locations leave within one period.
fn bursts(counts: &[(Ticks, u64, u64)], n_locations: u64, period: Ticks) -> Vec<Ticks> {
    let width = Ticks((period.0.saturating_mul(BURST.0) / BURST.1).max(1));
    // Sums over all times before.
    let (mut enters, mut leaves) = (vec![0], vec![0]);
    for &(_, n_enters, n_leaves) in counts {
        enters.push(enters[enters.len() - 1] + n_enters);
        leaves.push(leaves[leaves.len() - 1] + n_leaves);
    }
    let until = |time: Ticks| counts.partition_point(|count| count.0 <= time);
    let mut found: Vec<(u64, usize)> = Vec::new();
    for (i, &(time, ..)) in counts.iter().enumerate().filter(|(_, count)| 0 < count.2) {
        let end = until(after(time, width));
        let n_leave = leaves[end] - leaves[i];
        // Who has entered before and has not left until then stays.
        let n_stay = enters[i].saturating_sub(leaves[end]);
        if n_locations <= 2 * n_leave && STAY * n_stay <= n_locations {
            found.push((n_leave, i));
        }
    }
    found.sort_unstable_by_key(|&(n_leave, i)| (std::cmp::Reverse(n_leave), i));
    let mut times: BTreeSet<Ticks> = BTreeSet::new();
    for (_, i) in found {
        let time = counts[i].0;
        let from = Ticks(time.0.saturating_sub(width.0));
        if times.range(from..=after(time, width)).next().is_none() {
            times.insert(time);
        }
    }
    times.into_iter().collect()
}

/// For each synchronisation the call path that most leave at about its time, the least among equals.
fn paths(counts: &[Count], found: &[(Ticks, RegionId)], period: Ticks) -> Vec<u32> {
    let mut n_leaves: Vec<BTreeMap<CallPathId, u64>> = vec![BTreeMap::new(); found.len()];
    for count in counts.iter().filter(|count| 0 < count.n_leaves) {
        let from = found.partition_point(|it| after(it.0, after(period, period)) < count.time);
        let near = found[from..].iter().take_while(|it| it.0 <= count.time).enumerate();
        for (i, _) in near.filter(|(_, it)| it.1 == count.region) {
            *n_leaves[from + i].entry(count.call_path).or_default() += u64::from(count.n_leaves);
        }
    }
    let most = |leaves: &BTreeMap<CallPathId, u64>| {
        leaves
            .iter()
            .max_by_key(|&(path, n)| (n, std::cmp::Reverse(path)))
            .map_or(u32::MAX, |(path, _)| path.0)
    };
    n_leaves.iter().map(most).collect()
}

/// Marks the synchronisations inside of loops with short iterations.
struct Stretches<'a> {
    anchors: &'a mut [PlannedAnchor],
    /// Least length of an iteration.
    limit: f64,
}

impl Stretches<'_> {
    fn mark(&mut self, items: &[StructureItem]) {
        for item in items {
            let StructureItem::Loop(iterations) = item else { continue };
            iterations.iter().for_each(|iteration| self.mark(iteration));
            let (Some(first), Some(last)) = (first_phase(item), last_phase(item)) else { continue };
            let start = first.checked_sub(1).map_or(Ticks(0), |before| self.anchors[before].time);
            let length = self.anchors[last].time.since(start).0 as f64 / iterations.len() as f64;
            if length < self.limit {
                self.anchors[first..last].iter_mut().for_each(|anchor| anchor.ends_stretch = false);
            }
        }
    }
}

fn first_phase(item: &StructureItem) -> Option<usize> {
    match item {
        StructureItem::One(phase) => Some(*phase as usize),
        StructureItem::Loop(iterations) => first_phase(iterations.first()?.first()?),
    }
}

fn last_phase(item: &StructureItem) -> Option<usize> {
    match item {
        StructureItem::One(phase) => Some(*phase as usize),
        StructureItem::Loop(iterations) => last_phase(iterations.last()?.last()?),
    }
}
