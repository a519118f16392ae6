//! The typed result.

use super::anchors::{AnchorRole, role_of};
use super::by_peer::{ByPeer, PeerRow, ProgramTimes};
use super::noise::{Noise, Uncertainty};
use super::periods::SamplePeriodsOutput;
use super::plan::AnchorPlan;
use super::state::{Aligned, CellState, PhasesPartial, Spread};
use super::stretches;
use crate::peers::{PeerGroups, PeerKind};
use ouzel_engine::FinishCx;
use ouzel_model::units::count;
use ouzel_model::{
    CallPathId, CallPathTree, Clock, Level, LocationId, Notice, NoticeCode, RegionId, Ticks, TimeRange, units,
};
use std::collections::{BTreeMap, BTreeSet};

/// Phases of every peer group.
#[derive(Debug, Clone)]
pub struct PhasesOutput {
    /// Main threads, helper threads, streams; those without calls are left out.
    pub groups: Vec<PhaseGroup>,
    /// The call paths that the cells refer to.
    pub call_paths: CallPathTree,
}

/// Phases of one peer group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseGroup {
    /// What its members are.
    pub kind: PeerKind,
    /// The members that have calls, by (rank, id).
    pub locations: Vec<LocationId>,
    /// From the first event of a member to the last.
    pub run_range: TimeRange,
    /// From the first selected event of the run to the last, other peers' included: the denominator of every share of
    /// the run.
    pub run_time: Ticks,
    /// In order of time. The last ends with the run, not in an anchor.
    pub phases: Vec<Phase>,
    /// Number of phases in each entry of `phases`: 1, or 2^s if there were too many to keep separate.
    pub phases_per_entry: u64,
    /// How far the members did the same.
    pub alignment: Alignment,
    /// How it is known which synchronisations of the members are one.
    pub aligned_by: AlignedBy,
    /// How far the times can be off; `None` if they are exact.
    pub noise: Option<Noise>,
    /// What is exact all the same.
    pub recorded: RecordedTimes,
    /// By (phase, call path, subset).
    pub cells: Vec<Cell>,
    /// The same over the whole run, by (call path, subset); `phase` is 0.
    pub totals: Vec<Cell>,
    /// Which member was busy for how long.
    pub by_peer: ByPeer,
    /// By member: when it was in the parallel program.
    pub program: Vec<ProgramTimes>,
}

/// What is exact although the members were sampled: calls that were recorded beside the samples, and the time in which
/// threads did not run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedTimes {
    /// Their regions.
    pub regions: BTreeSet<RegionId>,
    /// Their call paths; the root if all that waits is recorded, so that the rest is exact as a sum.
    pub call_paths: BTreeSet<CallPathId>,
}

/// How it is known which synchronisations of different members are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlignedBy {
    /// The members make them in the same order.
    Synchronisations,
    /// The members' calls in order and time were aligned: not each shows every synchronisation.
    ContextTrees,
}

impl AlignedBy {
    /// The term in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            AlignedBy::Synchronisations => "synchronisations",
            AlignedBy::ContextTrees => "context_trees",
        }
    }
}

/// How far the members of a group went through the same synchronisations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// From beginning to end.
    Complete,
    /// Over the first `n_anchors`; everything after them is one phase, the last.
    UpTo {
        /// Number of common synchronisations that were used.
        n_anchors: u64,
        /// Why the alignment stops there.
        reason: Misalignment,
    },
}

/// Why members cannot be aligned further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misalignment {
    /// They have different synchronisations.
    DifferentCalls,
    /// They have different numbers of synchronisations.
    DifferentCounts {
        /// The least number, and a member that has it.
        fewest: (u64, LocationId),
        /// The greatest number, and a member that has it.
        most: (u64, LocationId),
    },
}

/// From the end of one synchronisation of all members to the end of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// The synchronisation that ends it, and belongs to it; `None` for the last phase.
    pub anchor: Option<PhaseAnchor>,
    /// Number of phases in it: more than 1 for iterations that are too short for the sampling period.
    pub n_phases: u64,
    /// When the first member began it.
    pub start: Ticks,
    /// When the last member ended it.
    pub end: Ticks,
    /// When the last member entered the anchor; `end` for the last phase.
    pub last_enter: Ticks,
    /// Time in the anchor, over all call paths it is called from; of all anchors if the entry holds several phases.
    pub in_anchor: Option<Stat>,
    /// Busy time: that of the phase less the own time of calls that wait or synchronise.
    pub busy: Stat,
    /// Useful time: that of the phase less the time of calls that communicate or wait and of their callees, and less the
    /// own time of calls that wait for other threads.
    pub useful: Stat,
}

/// A synchronisation of all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhaseAnchor {
    /// The region that was called.
    pub region: RegionId,
    /// Its call path at the member with the smallest id.
    pub call_path: CallPathId,
    /// Whether the program begins or ends here.
    pub role: AnchorRole,
}

/// Times of one call path in one phase, over all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Index into [`PhaseGroup::phases`].
    pub phase: u32,
    /// The call path; the root has the time of the phase itself, and as exclusive time that outside of all regions.
    pub call_path: CallPathId,
    /// Whether these are collectives that left some members out: they count as waiting.
    pub subset: bool,
    /// Visits that ended in the phase, of all members.
    pub n_visits: u64,
    /// Visits that do not begin where one of the same path ended, and parts of visits in the phase.
    pub n_stays: u64,
    /// Time from enter to leave within the phase.
    pub inclusive: Stat,
    /// The same less the time in callees. Calls inside of calls that wait or synchronise are ignored.
    pub exclusive: Stat,
    /// Inclusive time less the own time of calls that wait or synchronise.
    pub busy: Stat,
}

/// Ticks over all members; a member without a visit counts as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Members with a visit.
    pub n_seen: u32,
    /// Ticks of all members.
    pub sum: Ticks,
    /// Ticks of the member with most.
    pub max: Ticks,
    /// That member, the smallest id among equals of those with a visit.
    pub max_at: LocationId,
    /// Ticks of the member with least.
    pub min: Ticks,
    /// That member, the smallest id among equals. If some have no visit, `min` is zero and this is the one
    /// with least among those that have one.
    pub min_at: LocationId,
}

impl Stat {
    /// `n_seen` of `n_locations` have a visit.
    fn new(spread: &Spread, n_seen: u32, n_locations: usize) -> Self {
        let Spread { sum, max, min, max_at, min_at } = *spread;
        let all_seen = n_seen as usize == n_locations;
        Stat { n_seen, sum, max, max_at, min: if all_seen { min } else { Ticks(0) }, min_at }
    }
}

impl Stat {
    /// How far these times can be off; `n_stays` are those of all members.
    pub fn uncertainty(&self, noise: &Noise, n_stays: u64) -> Uncertainty {
        noise.of(u64::from(self.n_seen), u128::from(self.sum.0), self.max, n_stays)
    }
}

impl PhasesOutput {
    pub(super) fn new(
        mut partial: PhasesPartial,
        peers: &PeerGroups,
        plan: &AnchorPlan,
        cx: &FinishCx<'_>,
    ) -> Self {
        let (call_paths, shown) = cx.call_paths.shown(cx.definitions.filtered_region);
        partial.remap(&shown);
        let mut by_group: BTreeMap<u8, Vec<(u8, Aligned)>> = BTreeMap::new();
        for ((group, log_phases), aligned) in partial.groups {
            by_group.entry(group).or_default().push((log_phases, aligned));
        }
        let mut coarse = partial.coarse;
        let groups = by_group.into_iter().map(|(group, parts)| {
            let kind = peers.groups()[usize::from(group)].kind;
            let group = match (coarse.remove(&group), plan.group(kind)) {
                (Some(coarse), Some(plan)) => {
                    let run = cx.run_range().map_or(Ticks(0), |run| run.end.since(run.start));
                    let fine = parts.into_iter().next().expect("a group has locations").1;
                    let n_synchronisations = plan.anchors.len() as u64;
                    let n_peers = fine.locations.len() as u64;
                    let (aligned, n_phases) = stretches::divided(fine, coarse, plan, run);
                    let noise = Noise { period: plan.period, n_peers, n_synchronisations };
                    let noise = (plan.period != Ticks(0)).then_some(noise);
                    let made = PhaseGroup::new(kind, (aligned, 0), &n_phases, cx);
                    PhaseGroup { aligned_by: AlignedBy::ContextTrees, noise, ..made }
                }
                _ => PhaseGroup::new(kind, of_one_length(parts), &[], cx),
            };
            group.report(cx);
            group
        });
        PhasesOutput { groups: groups.collect(), call_paths }
    }

    /// The same with the call paths numbered as in `tree`; missing paths are added to it.
    #[must_use]
    pub fn numbered_like(mut self, tree: &mut CallPathTree) -> Self {
        let remap = tree.absorb(&self.call_paths);
        for group in &mut self.groups {
            for cell in group.cells.iter_mut().chain(&mut group.totals) {
                cell.call_path = remap.path(cell.call_path);
            }
            group.cells.sort_unstable_by_key(|cell| (cell.phase, cell.call_path, cell.subset));
            group.totals.sort_unstable_by_key(|cell| (cell.call_path, cell.subset));
            let exact = std::mem::take(&mut group.recorded.call_paths);
            group.recorded.call_paths = exact.into_iter().map(|path| remap.path(path)).collect();
            for anchor in group.phases.iter_mut().filter_map(|phase| phase.anchor.as_mut()) {
                anchor.call_path = remap.path(anchor.call_path);
            }
        }
        self.call_paths = tree.clone();
        self
    }

    /// The same by a plan without any synchronisation, where no peer shows a call that may be one: what a second pass with
    /// the plan would find, and its notices. `None` if there are such calls.
    pub fn as_planned(&self, plan: &AnchorPlan, clock: &Clock) -> Option<(Self, Vec<Notice>)> {
        let of_plan = |group: &PhaseGroup| plan.group(group.kind);
        let is_one_phase = |group: &PhaseGroup| {
            let has_anchors = of_plan(group).is_some_and(|plan| !plan.anchors.is_empty());
            !has_anchors && group.phases.len() == 1 && group.alignment == Alignment::Complete
        };
        let planned = || self.groups.iter().filter(|group| of_plan(group).is_some());
        if planned().count() != plan.groups.len() || !planned().all(is_one_phase) {
            return None;
        }
        let mut output = self.clone();
        let mut notices = Vec::new();
        for group in &mut output.groups {
            let Some(plan) = plan.group(group.kind) else { continue };
            let n_peers = group.locations.len() as u64;
            let noise = Noise { period: plan.period, n_peers, n_synchronisations: 0 };
            group.noise = (plan.period != Ticks(0)).then_some(noise);
            group.aligned_by = AlignedBy::ContextTrees;
            notices.extend(group.noise_notice(clock));
        }
        Some((output, notices))
    }

    /// The same of groups whose members were sampled beside recorded calls, which are exact; `waits` says which regions
    /// wait or synchronise. `None` if there are no such groups.
    pub fn beside_samples(
        &self,
        periods: &SamplePeriodsOutput,
        waits: impl Fn(RegionId) -> bool,
    ) -> Option<Self> {
        let period = |group: &PhaseGroup| {
            let members = group.locations.iter().filter_map(|location| periods.locations.get(location));
            members.filter(|member| member.beside_calls).map(|member| member.period).max()
        };
        let is_of_calls = |group: &&PhaseGroup| group.noise.is_none();
        self.groups.iter().filter(is_of_calls).find_map(period)?;
        let mut output = self.clone();
        for group in output.groups.iter_mut().filter(|group| group.noise.is_none()) {
            let Some(period) = period(group) else { continue };
            let n_synchronisations =
                group.phases.iter().filter(|phase| phase.anchor.is_some()).count() as u64;
            group.noise = Some(Noise { period, n_peers: group.locations.len() as u64, n_synchronisations });
            group.recorded = RecordedTimes::new(group, &self.call_paths, periods, &waits);
        }
        Some(output)
    }

    /// The peers whose losses are those of the run: the main threads; if there are none, the first group.
    pub fn main_group(&self) -> Option<&PhaseGroup> {
        self.groups.iter().find(|group| group.kind == PeerKind::MainThread).or(self.groups.first())
    }
}

impl RecordedTimes {
    fn new(
        group: &PhaseGroup,
        call_paths: &CallPathTree,
        periods: &SamplePeriodsOutput,
        waits: impl Fn(RegionId) -> bool,
    ) -> Self {
        let of_totals = group.totals.iter().map(|cell| cell.call_path);
        let regions = of_totals.filter_map(|path| Some((path, call_paths.region(path)?)));
        let (mut exact, mut all_waits) = (BTreeSet::new(), true);
        for (path, region) in regions {
            if periods.recorded.contains(&region) {
                exact.insert(path);
            } else {
                all_waits &= !waits(region);
            }
        }
        if all_waits {
            exact.insert(CallPathTree::ROOT);
        }
        RecordedTimes { regions: periods.recorded.clone(), call_paths: exact }
    }
}

fn program_times(rows: &[PeerRow], locations: &[LocationId]) -> Vec<ProgramTimes> {
    // Rows are in order of their locations.
    let of = |location| rows.binary_search_by_key(location, |row: &PeerRow| row.location).ok();
    locations
        .iter()
        .map(|location| of(location).map_or_else(ProgramTimes::default, |row| rows[row].program))
        .collect()
}

/// All locations of a group with entries of 2^s phases, and s. `parts` are in ascending order of it, and not empty.
fn of_one_length(parts: Vec<(u8, Aligned)>) -> (Aligned, u8) {
    let log_phases = parts.iter().map(|(log_phases, _)| *log_phases).max().unwrap_or_default();
    let same_length = parts.into_iter().map(|(own, mut aligned)| {
        (own..log_phases).for_each(|_| aligned = aligned.coarsened());
        aligned
    });
    let aligned = same_length.reduce(|mut a, b| {
        a.merge(b);
        a
    });
    (aligned.expect("a group has at least one location"), log_phases)
}

impl PhaseGroup {
    /// How far the times of a call path can be off; `None` if they are exact.
    pub fn noise_of(&self, call_path: CallPathId) -> Option<&Noise> {
        self.noise.as_ref().filter(|_| !self.recorded.call_paths.contains(&call_path))
    }

    /// How far the times of a call path in a phase can be off; `None` if they are exact. `stat` says which of its times.
    pub fn uncertainty(&self, phase: u32, cell: &Cell, stat: &Stat) -> Option<Uncertainty> {
        let noise = self.noise_of(cell.call_path)?;
        let anchor = self.phases.get(phase as usize).and_then(|phase| phase.anchor.as_ref());
        let recorded = &self.recorded.regions;
        // What is open at both ends of a phase was taken for exact, as other calls are recorded.
        let is_sampled = |anchor: &PhaseAnchor| !recorded.is_empty() && !recorded.contains(&anchor.region);
        let borders = if anchor.is_some_and(is_sampled) { u64::from(stat.n_seen) } else { 0 };
        Some(stat.uncertainty(noise, cell.n_stays + borders))
    }

    /// How far the times of the synchronisation that ends a phase can be off.
    pub fn noise_of_anchor(&self, phase: &Phase) -> Option<&Noise> {
        let is_recorded = |anchor: &PhaseAnchor| self.recorded.regions.contains(&anchor.region);
        self.noise.as_ref().filter(|_| !phase.anchor.as_ref().is_some_and(is_recorded))
    }

    /// `n_phases` are those of each entry, if not 1.
    fn new(
        kind: PeerKind,
        (mut aligned, log_phases): (Aligned, u8),
        n_phases: &[u64],
        cx: &FinishCx<'_>,
    ) -> Self {
        let first = cx.window.map_or(0, |window| aligned.choose(window));
        let Aligned { mut locations, span, n_anchors, is_complete, entries, cells, tails, rows } = aligned;
        locations.sort_by_key(|&id| (cx.definitions.location(id).rank, id));
        let program = program_times(&rows, &locations);
        let by_peer = ByPeer::new(rows, &locations, (first, first + entries.len() - 1));
        let n_common = (entries.len() - 1) as u64;
        let n_locations = locations.len();
        // Busy and useful time are passed as a second cell of the root.
        let is_busy = |cell: &&CellState| cell.key.1 == CallPathTree::ROOT && cell.key.2;
        let of_phases = cells.iter().filter(is_busy);
        let phases = entries.iter().zip(of_phases).enumerate().map(|(i, (entry, times))| Phase {
            n_phases: n_phases.get(first + i).copied().unwrap_or(1),
            busy: Stat::new(&times.inclusive, times.n_seen, n_locations),
            useful: Stat::new(&times.exclusive, times.n_seen, n_locations),
            anchor: entry.anchor.map(|(region, call_path, _)| PhaseAnchor {
                region,
                call_path,
                role: role_of(&cx.definitions.region(region).name),
            }),
            in_anchor: entry
                .in_anchors
                .map(|spread| Stat::new(&spread, locations.len() as u32, locations.len())),
            start: entry.start,
            end: entry.end,
            last_enter: if entry.anchor.is_some() { entry.last_enter } else { entry.end },
        });
        let alignment = if is_complete {
            Alignment::Complete
        } else {
            let (fewest, most) = n_anchors;
            let reason = if n_common << log_phases <= fewest.0 && fewest.0 == most.0 {
                Misalignment::DifferentCalls
            } else {
                Misalignment::DifferentCounts { fewest, most }
            };
            Alignment::UpTo { n_anchors: n_common << log_phases, reason }
        };
        let cell = |state: &CellState| Cell {
            phase: state.key.0,
            call_path: state.key.1,
            subset: state.key.2,
            n_visits: state.n_visits,
            n_stays: state.n_stays,
            inclusive: Stat::new(&state.inclusive, state.n_seen, locations.len()),
            exclusive: Stat::new(&state.exclusive, state.n_seen, locations.len()),
            busy: Stat::new(&state.busy, state.n_seen, locations.len()),
        };
        PhaseGroup {
            kind,
            run_range: TimeRange { start: span.0, end: span.1 },
            run_time: cx.run_range().map_or(Ticks(0), |run| run.end.since(run.start)),
            phases: phases.collect(),
            phases_per_entry: 1 << log_phases,
            alignment,
            aligned_by: AlignedBy::Synchronisations,
            noise: None,
            recorded: RecordedTimes::default(),
            cells: cells.iter().filter(|cell| !is_busy(cell)).map(cell).collect(),
            totals: tails
                .iter()
                .take_while(|tail| tail.key.0 == 0)
                .filter(|cell| !is_busy(cell))
                .map(cell)
                .collect(),
            program,
            locations,
            by_peer,
        }
    }

    /// From the end of the phase before the first one, or the start of the run, to the end of the last one.
    pub fn range_of(&self, (first, last): (u32, u32)) -> TimeRange {
        let before = first.checked_sub(1);
        let start = before.map_or(self.run_range.start, |before| self.phases[before as usize].end);
        TimeRange { start, end: self.phases[last as usize].end.max(start) }
    }

    /// The cells of a phase.
    pub fn cells_of(&self, phase: u32) -> &[Cell] {
        let start = self.cells.partition_point(|cell| cell.phase < phase);
        let end = self.cells.partition_point(|cell| cell.phase <= phase);
        &self.cells[start..end]
    }

    /// What samples do not show, if the members were sampled.
    fn noise_notice(&self, clock: &Clock) -> Option<Notice> {
        let noise = self.noise?;
        let message = format!(
            "the {} were sampled, every {} or more often: synchronisations in which most of them wait for less are not \
             seen, and losses are given with a band",
            self.kind.members_as_str(),
            units::time(clock.ns_from_ticks(noise.period))
        );
        Some(Notice::new(Level::Low, NoticeCode::UncertainInstances, message))
    }

    fn report(&self, cx: &FinishCx<'_>) {
        let members = self.kind.members_as_str();
        if let Alignment::UpTo { n_anchors, reason } = self.alignment {
            let level = if self.kind == PeerKind::MainThread { Level::Medium } else { Level::Low };
            let name = |location: LocationId| &cx.definitions.location(location).name;
            let why = match reason {
                Misalignment::DifferentCalls => "after these they do different things".to_owned(),
                Misalignment::DifferentCounts { fewest, most } => format!(
                    "{:?} synchronises {} times and {:?} {} times",
                    name(fewest.1),
                    count(fewest.0),
                    name(most.1),
                    count(most.0)
                ),
            };
            let message = format!(
                "the {members} have {} synchronisations in common ({why}); the rest is one phase",
                count(n_anchors)
            );
            cx.notices.push(Notice::new(level, NoticeCode::UnalignedSynchronisations, message));
        }
        if let Some(notice) = self.noise_notice(cx.clock()) {
            cx.notices.push(notice);
        }
        if 1 < self.phases_per_entry {
            let message = format!(
                "the {members} synchronise very often; every {} phases were merged into one",
                self.phases_per_entry
            );
            cx.notices.push(Notice::new(Level::Low, NoticeCode::CoarsePhases, message));
        }
    }
}

impl PeerKind {
    /// The members in words.
    pub(crate) fn members_as_str(self) -> &'static str {
        match self {
            PeerKind::MainThread => "main threads",
            PeerKind::HelperThread => "helper threads",
            PeerKind::AcceleratorStream => "accelerator streams",
        }
    }
}
