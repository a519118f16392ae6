//! Segments: what leads up to each synchronisation of all ranks, what it loses, and where.
//!
//! One shape for the report, `ouzel segments`, pages and Python, computed here alone. Segments are those of the main
//! threads; without any, of the first group present. Law: the projected run time is the run time less `lost_ns` of the
//! segments that are reported. For causes see [`findings`](crate::findings).

mod table;
mod words;

use crate::epochs::{self, EpochCard};
use crate::findings::Iterations;
use crate::steps::Steps;
use ouzel_analyses::MeanTicks;
use ouzel_analyses::imbalance::Loss;
use ouzel_analyses::loss_tree::{self, Diagnosis, PathLoss, Segment, Thresholds};
use ouzel_analyses::peers::PeerKind;
use ouzel_analyses::phases::epochs::{Epoch, epochs};
use ouzel_analyses::phases::structure::Structure;
use ouzel_analyses::phases::{AlignedBy, Alignment, PhaseGroup, PhasesOutput, Stat};
use ouzel_analyses::semantics::{Category, Class};
use ouzel_efficiency::parts::OwnIterations;
use ouzel_model::units::{self, counted};
use ouzel_model::{CallPathId, CallPathTree, Clock, Definitions, LocationId};
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// Less than this part of the run is 0.0 % of it.
const ROUNDED: u64 = 2_000;

/// The segments of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SegmentsCard {
    /// What is compared: `main_thread`, `helper_thread` or `accelerator_stream`; `null` if nothing runs code.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<String>", extend("enum" = ["main_thread", "helper_thread", "accelerator_stream", null]))
    )]
    pub peers: Option<PeerKind>,
    /// How many of them.
    pub n_peers: u64,
    /// From the first event of the run to the last.
    pub run_time_ns: u64,
    /// The run time without `lost_ns` of each segment that is reported.
    pub projected_run_time_ns: u64,
    /// Half width of the band around `projected_run_time_ns`: how far samples can be off; 0 if times are exact.
    pub projected_band_ns: u64,
    /// Whether all of them synchronise alike.
    pub alignment: AlignmentCard,
    /// Segments of the run, those without a loss worth reporting counted in.
    pub n_segments: u64,
    /// Parts in which the same ranks have most to do, and others in the next, in order of time; `[]` if the same ranks
    /// have most to do in the whole run, or others in each phase.
    pub epochs: Vec<EpochCard>,
    /// In order of their first start.
    pub segments: Vec<SegmentCard>,
    /// `lost_ns` of all segments, reported or not: of those between start-up and end, and of the others.
    #[serde(skip)]
    pub lost_inside_outside_ns: (u64, u64),
    /// First and last event of those compared.
    #[serde(skip)]
    pub run_range_ns: Option<(u64, u64)>,
}

/// How far the run could be cut into segments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlignmentCard {
    /// How it is known which synchronisations of different ranks are one: `synchronisations` if all make the same ones in
    /// the same order, `context_trees` if what the ranks did was aligned in order and time, as not each shows every
    /// synchronisation.
    #[serde(serialize_with = "by")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "String", extend("enum" = ["synchronisations", "context_trees"]))
    )]
    pub by: AlignedBy,
    /// The longest sampling period of those compared, in nanoseconds; `null` if times are exact.
    pub period_ns: Option<u64>,
    /// What samples do not show; `[]` if times are exact.
    pub limits: Vec<String>,
    /// From beginning to end.
    pub complete: bool,
    /// Synchronisations of all that were used.
    pub n_synchronisations: u64,
    /// Why not further, in words.
    pub reason: Option<String>,
}

/// One segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SegmentCard {
    /// From 1, in order of time; the same with and without `--all`.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub id: u32,
    /// When the first rank began it for the first time.
    pub start_ns: u64,
    /// When the last rank ended it for the last time.
    pub end_ns: u64,
    /// Time in it, mean over ranks: less than from start to end if other segments lie between.
    pub duration_ns: u64,
    /// How often it came: 1 outside of loops.
    pub n_phases: u64,
    /// Number of loops around it.
    pub loop_depth: u64,
    /// Call path of the synchronisation that ends it; `null` at the end of the run.
    pub sync: Option<Vec<Arc<str>>>,
    /// The rank that came last to the synchronisation when most was lost.
    pub last_rank: Option<u32>,
    /// `Σ (mean − min)` of the time in the synchronisation.
    pub imb_sync_ns: u64,
    /// `Σ min` of the time in the synchronisation: better balance cannot save it.
    pub wait_sync_ns: u64,
    /// Imbalance of `paths`.
    pub sum_imb_ns: u64,
    /// Waiting of `paths`.
    pub sum_wait_ns: u64,
    /// `imb_sync_ns + sum_wait_ns`.
    pub lost_ns: u64,
    /// How far these can be off.
    pub band: SegmentBand,
    /// Row of the diagnosis table: 0 if nothing is high, 6 if no path explains the imbalance of the synchronisation.
    #[serde(rename = "diagnosis_row", serialize_with = "row")]
    #[cfg_attr(feature = "schema", schemars(with = "u8", range(max = 6)))]
    pub kind: Diagnosis,
    /// That row in words.
    pub diagnosis: &'static str,
    /// How many are compared.
    #[serde(skip)]
    pub n_peers: usize,
    /// Whether it is the start or the end of the parallel program.
    pub start_or_end: bool,
    /// Whether its losses are high and can be repaired.
    pub reported: bool,
    /// The significant call paths, most lost first.
    pub paths: Vec<SegmentPath>,
    /// Each time it occurred. In a report there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub iterations: Vec<SegmentIteration>,
    /// Start and end of each time it occurred.
    #[serde(skip)]
    pub parts_ns: Vec<(u64, u64)>,
    /// The synchronisation that ends it, in the call-path tree of the phases.
    #[serde(skip)]
    pub sync_path: Option<CallPathId>,
    /// Start and end of each run of neighbouring iterations.
    #[serde(skip)]
    pub stretches_ns: Vec<(u64, u64)>,
}

/// Half widths of the losses of a segment: how far samples can be off; 0 if times are exact. A loss that is not greater
/// than its band is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SegmentBand {
    /// Of `imb_sync_ns`.
    pub imb_sync_ns: u64,
    /// Of `sum_wait_ns`.
    pub sum_wait_ns: u64,
}

/// One call path of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SegmentPath {
    /// Regions from the outermost; `[]` is code outside of recorded regions.
    pub call_path: Vec<Arc<str>>,
    /// Whether only the time outside of callees is meant.
    pub is_self: bool,
    /// Whether these are collectives that leave some ranks out.
    pub subset: bool,
    /// `computation`, `wait` or `synchronization`.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "String", extend("enum" = ["computation", "wait", "synchronization"]))
    )]
    pub category: Category,
    /// `file:line`; `null` if not recorded.
    pub source: Option<String>,
    /// Visits of all ranks.
    pub n_visits: u64,
    /// Imbalance, added up over iterations.
    pub imb_ns: u64,
    /// Waiting, added up over iterations.
    pub wait_ns: u64,
    /// Half width of the band around the greater of the two: how far samples can be off; 0 if times are exact.
    pub band_ns: u64,
    /// Imbalance of the ranks' times over the whole run; `null` if the path occurs in other segments, too.
    pub imb_total_ns: Option<u64>,
    /// The rank with most time when most was lost.
    pub most_rank: Option<u32>,
    /// The rank with least time when most was lost; likewise.
    pub least_rank: Option<u32>,
    /// The call path in the tree of the phases.
    #[serde(skip)]
    pub path: CallPathId,
}

/// One time that a segment came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SegmentIteration {
    /// Its number in each loop of synchronisations around it, from 0, outermost first; `[]` outside of loops.
    pub iteration: Vec<u32>,
    /// The iterations of the program's own loop that it is in, as `ouzel iterations` numbers them; those of the outermost loop
    /// of synchronisations if none of the program's is around it; `null` outside of loops.
    pub iterations: Option<Iterations>,
    /// When the first rank began it.
    pub start_ns: u64,
    /// When the last rank ended it.
    pub end_ns: u64,
    /// `mean − min` of the time in the synchronisation.
    pub imb_sync_ns: u64,
    /// Imbalance of the call paths.
    pub sum_imb_ns: u64,
    /// Waiting of the call paths.
    pub sum_wait_ns: u64,
}

/// The source of names and nanoseconds.
struct Names<'a> {
    definitions: &'a Definitions,
    call_paths: &'a CallPathTree,
    group: &'a PhaseGroup,
    /// For each phase its iterations; empty if only sums are asked for.
    iterations: Vec<Option<OwnIterations>>,
    detail: Detail,
}

/// Which segments a card has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those whose losses are high and can be repaired.
    Reported,
    /// All.
    All,
}

/// How much a card says of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Sums over its iterations.
    Sums,
    /// These, and each iteration.
    Iterations,
}

impl SegmentsCard {
    /// The segments of the main threads; without any, those of the first group. `steps` knows the iterations of the program's
    /// own loops, which matter where [`names_iterations`](Self::names_iterations) says so.
    pub fn new(
        phases: &PhasesOutput,
        steps: &Steps,
        (definitions, classes): (&Definitions, &[Class]),
        what: (Which, Detail),
    ) -> Self {
        let epochs = phases.main_group().map(epochs).unwrap_or_default();
        SegmentsCard::with_epochs(phases, (&epochs, steps), (definitions, classes), what)
    }

    /// Whether a card would name iterations: those of epochs, or of segments in loops.
    pub fn names_iterations(phases: &PhasesOutput, detail: Detail) -> bool {
        phases.main_group().is_some_and(|group| {
            let has_loops = || !Structure::new(group).loops.is_empty();
            !epochs(group).is_empty() || detail == Detail::Iterations && has_loops()
        })
    }

    /// The same with the epochs of the main group.
    pub(crate) fn with_epochs(
        phases: &PhasesOutput,
        (epochs, steps): (&[Epoch], &Steps),
        (definitions, classes): (&Definitions, &[Class]),
        (which, detail): (Which, Detail),
    ) -> Self {
        let Some(group) = phases.main_group() else { return SegmentsCard::empty() };
        let call_paths = &phases.call_paths;
        let segments = loss_tree::segments(group, call_paths, classes, &Thresholds::default());
        let iterations = match detail {
            Detail::Sums => Vec::new(),
            Detail::Iterations => steps.of_phases(&segments.structure, group),
        };
        let names = Names { definitions, call_paths, group, iterations, detail };
        let clock = &definitions.clock;
        let kept = segments.segments.iter().filter(|segment| which == Which::All || segment.reported);
        let (start, end) = (group.run_range.start, group.run_range.end);
        let lost = |start_or_end: bool| {
            let of = segments.segments.iter().filter(|segment| segment.start_or_end == start_or_end);
            of.map(|segment| segment.gain().ns(clock)).sum()
        };
        SegmentsCard {
            peers: Some(group.kind),
            n_peers: segments.n_locations,
            run_time_ns: clock.ns_from_ticks(segments.run_time),
            projected_run_time_ns: segments.projected_reported.ns(clock),
            projected_band_ns: clock.ns_from_ticks(segments.projected_band),
            alignment: alignment(group, clock),
            n_segments: segments.segments.len() as u64,
            epochs: epochs::cards(epochs, steps, group, definitions),
            segments: kept.map(|segment| names.segment(segment, &segments)).collect(),
            lost_inside_outside_ns: (lost(false), lost(true)),
            run_range_ns: Some((clock.ns_from_ticks(start), clock.ns_from_ticks(end))),
        }
    }

    /// The same with only those call paths of segments that are wanted, by path of the phases.
    #[must_use]
    pub fn with_paths_of(mut self, wanted: &[bool]) -> Self {
        for segment in &mut self.segments {
            segment.paths.retain(|of| wanted[of.path.index()]);
        }
        self
    }

    /// Those that a page shows as losing time: what rounds to 0.0 % of the run, or evens out, is none.
    pub fn losing(&self) -> impl Iterator<Item = &SegmentCard> {
        self.segments.iter().filter(|segment| self.run_time_ns <= segment.lost_ns.saturating_mul(ROUNDED))
    }

    /// The same where what segments lose is no loss of the run.
    pub(crate) fn without_segments(self) -> Self {
        SegmentsCard {
            projected_run_time_ns: self.run_time_ns,
            projected_band_ns: 0,
            segments: Vec::new(),
            lost_inside_outside_ns: (0, 0),
            ..self
        }
    }

    /// The data of a selection that runs no code.
    pub fn empty() -> Self {
        SegmentsCard {
            peers: None,
            n_peers: 0,
            run_time_ns: 0,
            projected_run_time_ns: 0,
            projected_band_ns: 0,
            alignment: AlignmentCard {
                by: AlignedBy::Synchronisations,
                period_ns: None,
                limits: Vec::new(),
                complete: true,
                n_synchronisations: 0,
                reason: None,
            },
            n_segments: 0,
            epochs: Vec::new(),
            segments: Vec::new(),
            lost_inside_outside_ns: (0, 0),
            run_range_ns: None,
        }
    }

    /// `8 ranks`, or what else is compared.
    pub fn compared(&self) -> String {
        let n = self.n_peers;
        match self.peers {
            None => "nothing that runs code".to_owned(),
            Some(PeerKind::MainThread) => counted(n, "rank", "ranks"),
            Some(PeerKind::HelperThread) => counted(n, "helper thread", "helper threads"),
            Some(PeerKind::AcceleratorStream) => counted(n, "accelerator stream", "accelerator streams"),
        }
    }

    /// Why there is no segment to show.
    pub fn why_none(&self) -> String {
        match (self.n_peers, self.n_segments) {
            (0, _) => "No segments: no selected location runs code.".to_owned(),
            (1, _) => "No segments: there is only one rank, and no rank waits for it.".to_owned(),
            (_, 0 | 1) if self.alignment.n_synchronisations == 0 => {
                "No segments: no call that synchronises all ranks was found. If your own library does so, name it \
                 with --rules; see docs/rules.md."
                    .to_owned()
            }
            (_, n) => format!(
                "Nothing significant: none of {} loses more than 1 % of the run to uneven work or waiting. \
                 --all shows them.",
                counted(n, "segment", "segments")
            ),
        }
    }
}

impl SegmentCard {
    /// The diagnosis in a few words, and what it means.
    pub fn words(&self) -> (&'static str, &'static str) {
        words::of(self.kind, self.sync.is_none(), self.n_peers)
    }
}

/// The row of the paper's table.
fn row<S: Serializer>(kind: &Diagnosis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(kind.row())
}

fn alignment(group: &PhaseGroup, clock: &Clock) -> AlignmentCard {
    let n_phases: u64 = group.phases.iter().map(|phase| phase.n_phases).sum();
    let n_anchors = n_phases.saturating_sub(1) * group.phases_per_entry;
    let (complete, n_synchronisations, reason) = match group.alignment {
        Alignment::Complete => (true, n_anchors, None),
        Alignment::UpTo { n_anchors, .. } => {
            let reason = format!(
                "Only the first {} synchronisations are the same on all ranks; the rest is one segment.",
                units::count(n_anchors)
            );
            (false, n_anchors, Some(reason))
        }
    };
    let period_ns = group.noise.map(|noise| clock.ns_from_ticks(noise.period));
    AlignmentCard {
        by: group.aligned_by,
        period_ns,
        limits: period_ns.map(|period_ns| limits(group.aligned_by, period_ns)).unwrap_or_default(),
        complete,
        n_synchronisations,
        reason,
    }
}

/// What samples do not show.
fn limits(by: AlignedBy, period_ns: u64) -> Vec<String> {
    let period = units::time(period_ns);
    if by == AlignedBy::Synchronisations {
        return vec![format!(
            "Recorded calls are exact. The code between them was sampled every {period}: its losses have bands, and what \
             is not greater than its band is no loss."
        )];
    }
    vec![
        format!(
            "The ranks were sampled every {period}: each loss has a band, and what is not greater than its band is no \
             loss."
        ),
        format!(
            "Synchronisations in which fewer than half of the ranks wait longer than about {period} are not seen; what \
             lies around them is one segment."
        ),
        "Numbers of visits are lower bounds, and what is not recorded of messages is not known.".to_owned(),
    ]
}

/// How ranks were aligned, as a word.
fn by<S: Serializer>(by: &AlignedBy, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(by.as_str())
}

impl Names<'_> {
    fn clock(&self) -> &Clock {
        &self.definitions.clock
    }

    fn path(&self, path: CallPathId) -> Vec<Arc<str>> {
        let regions = self.call_paths.regions(path);
        regions.into_iter().map(|region| self.definitions.region(region).name.clone()).collect()
    }

    fn rank(&self, location: LocationId) -> Option<u32> {
        self.definitions.location(location).rank.map(|rank| rank.0)
    }

    fn segment(&self, segment: &Segment, segments: &loss_tree::Segments) -> SegmentCard {
        let clock = self.clock();
        let n_peers = self.group.locations.len();
        let mut paths: Vec<SegmentPath> = segment.paths.iter().map(|path| self.path_loss(path)).collect();
        paths.sort_by_key(|path| std::cmp::Reverse(path.imb_ns + path.wait_ns));
        SegmentCard {
            id: segment.id,
            start_ns: clock.ns_from_ticks(segment.start),
            end_ns: clock.ns_from_ticks(segment.end),
            duration_ns: segment.length.ns(clock),
            n_phases: self.n_phases(&segment.phases),
            loop_depth: segment.loops.len() as u64,
            sync: segment.sync.map(|sync| self.path(sync)),
            sync_path: segment.sync,
            last_rank: segment.last_at.and_then(|location| self.rank(location)),
            imb_sync_ns: segment.imb_sync.ns(clock),
            wait_sync_ns: segment.wait_sync.ns(clock),
            sum_imb_ns: segment.sum_imb.ns(clock),
            sum_wait_ns: segment.sum_wait.ns(clock),
            lost_ns: segment.gain().ns(clock),
            band: SegmentBand {
                imb_sync_ns: clock.ns_from_ticks(segment.band.imbalance),
                sum_wait_ns: clock.ns_from_ticks(segment.band.wait),
            },
            kind: segment.diagnosis,
            diagnosis: words::of(segment.diagnosis, segment.sync.is_none(), n_peers).0,
            n_peers,
            start_or_end: segment.start_or_end,
            reported: segment.reported,
            paths,
            iterations: match self.detail {
                Detail::Sums => Vec::new(),
                Detail::Iterations => self.iterations(segment, segments),
            },
            parts_ns: segment.phases.iter().map(|&phase| self.phase(phase)).collect(),
            stretches_ns: self.stretches(&segment.phases),
        }
    }

    fn n_phases(&self, phases: &[u32]) -> u64 {
        let n_phases: u64 = phases.iter().map(|&phase| self.group.phases[phase as usize].n_phases).sum();
        n_phases * self.group.phases_per_entry
    }

    fn path_loss(&self, path: &PathLoss) -> SegmentPath {
        let clock = self.clock();
        let region = self.call_paths.region(path.call_path);
        SegmentPath {
            call_path: self.path(path.call_path),
            path: path.call_path,
            is_self: path.is_self,
            subset: path.subset,
            category: path.category,
            source: region.and_then(|region| self.definitions.region(region).source()),
            n_visits: path.n_visits,
            imb_ns: path.imb.ns(clock),
            wait_ns: path.wait.ns(clock),
            band_ns: clock.ns_from_ticks(path.band.imbalance.max(path.band.wait)),
            imb_total_ns: path.total.map(|Loss { imbalance, .. }| imbalance.ns(clock)),
            most_rank: self.rank(path.max_at),
            least_rank: self.rank(path.min_at),
        }
    }

    fn iterations(&self, segment: &Segment, segments: &loss_tree::Segments) -> Vec<SegmentIteration> {
        let clock = self.clock();
        let n = segments.n_locations;
        let mut sums = vec![Loss::none(n); segment.phases.len()];
        for path in &segment.paths {
            for of_phase in path.per_phase(self.group, segment) {
                if let Ok(at) = segment.phases.binary_search(&of_phase.phase) {
                    sums[at].add(&of_phase.loss);
                }
            }
        }
        let entry = |(&phase, sum): (&u32, &Loss)| {
            let (start_ns, end_ns) = self.phase(phase);
            let in_anchor = &self.group.phases[phase as usize].in_anchor;
            SegmentIteration {
                iteration: segments.structure.iterations_of[phase as usize].clone(),
                iterations: self.iterations[phase as usize].map(Iterations::from),
                start_ns,
                end_ns,
                imb_sync_ns: in_anchor.as_ref().map_or(0, |stat| mean_less_min(stat, n).ns(clock)),
                sum_imb_ns: sum.imbalance.ns(clock),
                sum_wait_ns: sum.wait.ns(clock),
            }
        };
        segment.phases.iter().zip(&sums).map(entry).collect()
    }

    fn phase(&self, phase: u32) -> (u64, u64) {
        let of_phase = &self.group.phases[phase as usize];
        (self.clock().ns_from_ticks(of_phase.start), self.clock().ns_from_ticks(of_phase.end))
    }

    fn stretches(&self, phases: &[u32]) -> Vec<(u64, u64)> {
        let range = |run: &[u32]| (self.phase(run[0]).0, self.phase(run[run.len() - 1]).1);
        phases.chunk_by(|a, b| a + 1 == *b).map(range).collect()
    }
}

/// `Σ / n − min`: what a synchronisation loses.
fn mean_less_min(stat: &Stat, n: u64) -> MeanTicks {
    let least = u128::from(stat.min.0) * u128::from(n);
    MeanTicks { sum: u128::from(stat.sum.0).saturating_sub(least), n_processes: n }
}
