//! The segments of a peer group: what leads up to each synchronisation, and what is lost there.

use super::band::{self, Band};
use super::diagnosis::{Diagnosis, diagnosis, part_of, projected};
use super::node::{LossNode, significant, sums};
use super::slot::{PathKey, SlotTree, category, loss_of, range_of, stat_of};
use super::thresholds::Thresholds;
use crate::MeanTicks;
use crate::imbalance::Loss;
use crate::phases::structure::{Slot, Structure};
use crate::phases::{Alignment, AnchorRole, Cell, Phase, PhaseGroup, Uncertainty};
use crate::semantics::{Category, Class};
use ouzel_model::{CallPathId, CallPathTree, LocationId, Ticks};
use std::collections::BTreeMap;

/// The segments of a peer group, and the run time without their losses.
#[derive(Debug, Clone, PartialEq)]
pub struct Segments {
    /// From the first event of the run to the last: every share is a share of it.
    pub run_time: Ticks,
    /// Number of members; every mean is over them.
    pub n_locations: u64,
    /// The run time without the losses of all segments but those of start and end:
    /// `run − Σ (imb_sync + sum_wait)`.
    pub projected: MeanTicks,
    /// The same, subtracting only the losses of reported segments.
    pub projected_reported: MeanTicks,
    /// Half width of `projected_reported`; zero if times are exact.
    pub projected_band: Ticks,
    /// In order of their first phase.
    pub segments: Vec<Segment>,
    /// The loops that segments lie in.
    pub structure: Structure,
    /// How far the members were aligned.
    pub alignment: Alignment,
}

/// What leads up to a synchronisation of all members: in loops the same place in every iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// From 1, in order of the first phase.
    pub id: u32,
    /// Index into [`Structure::slots`].
    pub slot: u32,
    /// When the first member began its first phase.
    pub start: Ticks,
    /// When the last member ended its last phase.
    pub end: Ticks,
    /// Time in its phases, mean over members: less than from start to end if other phases lie between.
    pub length: MeanTicks,
    /// Indices into [`PhaseGroup::phases`], ascending.
    pub phases: Vec<u32>,
    /// The loops around it, outermost first; indices into [`Structure::loops`].
    pub loops: Vec<u32>,
    /// Call path of the synchronisation; `None` at the end of the run.
    pub sync: Option<CallPathId>,
    /// The member that came last to the synchronisation when most was lost.
    pub last_at: Option<LocationId>,
    /// Imbalance of the synchronisation: `Σ (mean − min)` of the time in it.
    pub imb_sync: MeanTicks,
    /// Waiting of the synchronisation: `Σ min` of the time in it, which better balance does not save.
    pub wait_sync: MeanTicks,
    /// Imbalance of [`paths`](Segment::paths).
    pub sum_imb: MeanTicks,
    /// Waiting of [`paths`](Segment::paths).
    pub sum_wait: MeanTicks,
    /// Half widths of `imb_sync` and of `sum_wait`; zero if times are exact.
    pub band: Band,
    /// The diagnosis from these values.
    pub diagnosis: Diagnosis,
    /// The significant paths before the synchronisation, in order of the call tree.
    pub paths: Vec<PathLoss>,
    /// Whether this is the start of the program, or its end without work before it: not a loss that can be repaired.
    pub start_or_end: bool,
    /// Whether something is high and can be repaired.
    pub reported: bool,
}

/// What is lost in a call path within a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathLoss {
    /// The path; the root is time outside of all regions.
    pub call_path: CallPathId,
    /// Only the time outside of callees.
    pub is_self: bool,
    /// Collectives that left some members out.
    pub subset: bool,
    /// What its time is spent on.
    pub category: Category,
    /// Visits in the segment's phases, of all members.
    pub n_visits: u64,
    /// Imbalance, added up phase by phase.
    pub imb: MeanTicks,
    /// Waiting, added up phase by phase.
    pub wait: MeanTicks,
    /// Half widths of both; zero if times are exact.
    pub band: Band,
    /// The losses of each member's time in all phases together; `None` if the path occurs in other segments, too.
    /// Where the imbalance is smaller than [`imb`](PathLoss::imb), members take turns at being slow, and make each
    /// other wait only because they synchronise in every phase.
    pub total: Option<Loss>,
    /// The member with most time when most was lost.
    pub max_at: LocationId,
    /// The member with least time when most was lost.
    pub min_at: LocationId,
}

/// What is lost in a call path in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseLoss {
    /// Index into [`PhaseGroup::phases`].
    pub phase: u32,
    /// The loss.
    pub loss: Loss,
    /// The member with most time.
    pub max_at: LocationId,
    /// The member with least time.
    pub min_at: LocationId,
}

impl PathLoss {
    /// The loss in each phase of `segment` in which the path occurs.
    pub fn per_phase(&self, group: &PhaseGroup, segment: &Segment) -> Vec<PhaseLoss> {
        let n_locations = group.locations.len() as u64;
        let of_phase = |&phase: &u32| {
            let cells = group.cells_of(phase);
            let key = |cell: &Cell| (cell.call_path, cell.subset);
            let at = cells.binary_search_by_key(&(self.call_path, self.subset), key).ok()?;
            let stat = stat_of(&cells[at], self.category, self.is_self);
            let loss = loss_of(self.category, stat, n_locations);
            Some(PhaseLoss { phase, loss, max_at: stat.max_at, min_at: stat.min_at })
        };
        segment.phases.iter().filter_map(of_phase).collect()
    }
}

impl Segment {
    /// How much shorter the run would be without the losses of this segment: `imb_sync + sum_wait`.
    pub fn gain(&self) -> MeanTicks {
        MeanTicks { sum: self.imb_sync.sum.saturating_add(self.sum_wait.sum), ..self.imb_sync }
    }
}

impl Segments {
    /// The loss as a fraction of the run time.
    pub fn part(&self, loss: MeanTicks) -> f64 {
        part_of(loss, self.run_time)
    }
}

/// The segments of a group. `classes` has the class of every region.
///
/// Each slot of the group's [`Structure`] is a segment. Losses of a call path are computed for each of the slot's
/// phases separately, as members wait for each other in every phase, and then added up.
pub fn segments(
    group: &PhaseGroup,
    call_paths: &CallPathTree,
    classes: &[Class],
    thresholds: &Thresholds,
) -> Segments {
    let structure = Structure::new(group);
    let cx = SegmentContext { group, call_paths, classes, thresholds, n_cells: count_cells(group) };
    let mut segments: Vec<Segment> =
        structure.slots.iter().enumerate().map(|(i, slot)| cx.segment(i as u32, slot)).collect();
    // After the end of the parallel program, members no longer wait for each other.
    let ended = segments.iter().position(|segment| cx.role(segment) == Some(AnchorRole::End));
    for segment in segments.iter_mut().skip(ended.map_or(usize::MAX, |ended| ended + 1)) {
        segment.start_or_end = true;
        segment.reported = false;
    }
    let n_locations = group.locations.len() as u64;
    let without = |is_taken: &dyn Fn(&&Segment) -> bool| {
        projected(group.run_time, n_locations, segments.iter().filter(is_taken).map(Segment::gain))
    };
    Segments {
        run_time: group.run_time,
        n_locations,
        projected: without(&|segment| !segment.start_or_end),
        projected_reported: without(&|segment| segment.reported),
        projected_band: {
            let reported = segments.iter().filter(|segment| segment.reported);
            reported.map(|segment| segment.band.imbalance + segment.band.wait).sum()
        },
        alignment: group.alignment,
        segments,
        structure,
    }
}

/// The number of phases in which each path occurs.
fn count_cells(group: &PhaseGroup) -> BTreeMap<(CallPathId, bool), u64> {
    let mut n_cells = BTreeMap::new();
    for cell in &group.cells {
        *n_cells.entry((cell.call_path, cell.subset)).or_default() += 1;
    }
    n_cells
}

struct SegmentContext<'a> {
    group: &'a PhaseGroup,
    call_paths: &'a CallPathTree,
    classes: &'a [Class],
    thresholds: &'a Thresholds,
    n_cells: BTreeMap<(CallPathId, bool), u64>,
}

impl SegmentContext<'_> {
    fn first_phase(&self, phases: &[u32]) -> Option<&Phase> {
        self.group.phases.get(*phases.first()? as usize)
    }

    fn role(&self, segment: &Segment) -> Option<AnchorRole> {
        Some(self.first_phase(&segment.phases)?.anchor?.role)
    }

    fn segment(&self, slot_id: u32, slot: &Slot) -> Segment {
        let SegmentContext { group, call_paths, classes, thresholds, .. } = *self;
        let n_locations = group.locations.len() as u64;
        let tree = SlotTree::new(group, &slot.phases, call_paths, classes, thresholds.self_time);
        let chosen = significant(&tree.nodes, &sums(&tree.nodes), group.run_time, thresholds);
        let anchor = self.first_phase(&slot.phases).and_then(|phase| phase.anchor);
        let mut sum = Loss::none(n_locations);
        let (mut uncertain, mut wait_band) = (Uncertainty::default(), Ticks(0));
        let has_many = self.has_many(&slot.phases);
        let mut paths = Vec::new();
        for i in (0..chosen.len()).filter(|&i| chosen[i]) {
            let (call_path, subset, is_self) = tree.keys[i];
            if self.is_sync(anchor.map(|anchor| anchor.region), has_many, tree.keys[i]) {
                continue;
            }
            let LossNode { category, loss, .. } = tree.nodes[i];
            let facts = &tree.facts[i];
            let (Some(max_at), Some(min_at)) = (facts.max_at, facts.min_at) else { continue };
            let of_path = band::of_path(group, &slot.phases, (call_path, subset), |cell| {
                stat_of(cell, category, is_self)
            });
            let band = Band::of(category, &of_path);
            let (loss, hidden) = band.above(loss);
            wait_band.0 += hidden.wait.0;
            if loss == Loss::none(n_locations) {
                continue;
            }
            match category {
                _ if loss.wait.sum == 0 => {}
                Category::Synchronization => wait_band.0 += band.wait.0,
                _ => uncertain.add(&of_path),
            }
            sum.add(&loss);
            paths.push(PathLoss {
                call_path,
                is_self,
                subset,
                category,
                n_visits: facts.n_visits,
                imb: loss.imbalance,
                wait: loss.wait,
                band,
                total: self.total(tree.keys[i], category, facts.n_cells),
                max_at,
                min_at,
            });
        }
        let (sync, last_at) = self.sync_loss(&slot.phases);
        let of_sync = Band::of(Category::Synchronization, &band::of_sync(group, &slot.phases));
        let (sync, hidden) = of_sync.above(sync);
        let part = |loss| part_of(loss, group.run_time);
        let diagnosis = diagnosis(part(sync.imbalance), part(sum.imbalance), part(sum.wait), thresholds);
        let start_or_end = match anchor.map(|anchor| anchor.role) {
            Some(AnchorRole::Start) => true,
            Some(AnchorRole::End) => paths.is_empty(),
            Some(AnchorRole::Inner) | None => false,
        };
        let (start, end) = range_of(group, &slot.phases);
        Segment {
            id: slot_id + 1,
            slot: slot_id,
            start,
            end,
            length: MeanTicks { sum: SlotTree::length(group, &slot.phases), n_processes: n_locations },
            phases: slot.phases.clone(),
            loops: slot.loops.clone(),
            sync: anchor.map(|anchor| anchor.call_path),
            last_at,
            imb_sync: sync.imbalance,
            wait_sync: sync.wait,
            sum_imb: sum.imbalance,
            sum_wait: sum.wait,
            band: Band {
                imbalance: of_sync.imbalance.max(hidden.imbalance),
                wait: Ticks(wait_band.0 + uncertain.of_mean().0),
            },
            diagnosis,
            paths,
            start_or_end,
            reported: !start_or_end && diagnosis != Diagnosis::Nothing,
        }
    }

    /// Whether entries are several phases, which end in several synchronisations.
    fn has_many(&self, phases: &[u32]) -> bool {
        let is_many = |&phase: &u32| 1 < self.group.phases[phase as usize].n_phases;
        1 < self.group.phases_per_entry || phases.iter().any(is_many)
    }

    /// Whether a node is the synchronisation that ends the phase. It may be called from several call paths, and an
    /// entry of several phases has several.
    fn is_sync(
        &self,
        anchor: Option<ouzel_model::RegionId>,
        has_many: bool,
        (call_path, subset, _): PathKey,
    ) -> bool {
        let of_anchor = anchor.is_some() && self.call_paths.region(call_path) == anchor;
        let is_one_of_many = has_many
            && category(self.call_paths, self.classes, call_path, subset) == Category::Synchronization;
        !subset && (of_anchor || is_one_of_many)
    }

    /// The loss in the synchronisations that end the phases, and who came last when most was lost.
    fn sync_loss(&self, phases: &[u32]) -> (Loss, Option<LocationId>) {
        let n_locations = self.group.locations.len() as u64;
        let mut sum = Loss::none(n_locations);
        let mut last: BTreeMap<LocationId, u128> = BTreeMap::new();
        for stat in phases.iter().filter_map(|&phase| self.group.phases[phase as usize].in_anchor.as_ref()) {
            let loss = loss_of(Category::Synchronization, stat, n_locations);
            sum.add(&loss);
            *last.entry(stat.min_at).or_default() += loss.imbalance.sum;
        }
        let heaviest = last.iter().max_by_key(|&(&at, &weight)| (weight, std::cmp::Reverse(at)));
        (sum, heaviest.map(|(&at, _)| at))
    }

    /// The loss of each member's time in all phases, if the path occurs in no other segment.
    fn total(&self, key: PathKey, category: Category, n_cells: u64) -> Option<Loss> {
        let (call_path, subset, is_self) = key;
        if self.n_cells.get(&(call_path, subset)) != Some(&n_cells) {
            return None;
        }
        let totals = &self.group.totals;
        let at =
            totals.binary_search_by_key(&(call_path, subset), |cell| (cell.call_path, cell.subset)).ok()?;
        let n_locations = self.group.locations.len() as u64;
        Some(loss_of(category, stat_of(&totals[at], category, is_self), n_locations))
    }
}
