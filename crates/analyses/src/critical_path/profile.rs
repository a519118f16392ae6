//! The critical path by call path, region and rank.

use super::activity::{Activity, PathTime, activities};
use super::bounds::{Bound, PathBounds};
use super::calls::PathCallsOutput;
use super::waits::SegmentKind;
use super::walk::{CriticalPathOutput, Segment};
use crate::callers::{CallPathRows, Callers};
use crate::semantics::Class;
use ouzel_model::{
    CallPathId, CallPathTree, Clock, ColumnData, Definitions, RegionId, Table, Ticks, Unit, WorldRank,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The part of the critical path in one call path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRow {
    /// The call path; the root for time outside of every region.
    pub call_path: CallPathId,
    /// Over all ranks.
    pub time: PathTime,
    /// By rank, ascending; those without one last.
    pub by_rank: Vec<(Option<WorldRank>, PathTime)>,
}

/// The part of the critical path in one region, from all callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionTime {
    /// The region; `None` for time outside of every region.
    pub region: Option<RegionId>,
    /// Over all ranks.
    pub time: PathTime,
    /// By rank, ascending; those without one last.
    pub by_rank: Vec<(Option<WorldRank>, PathTime)>,
}

/// The critical path with its calls.
#[derive(Debug, Clone)]
pub struct PathProfile {
    /// The call paths that segments and rows refer to.
    pub call_paths: CallPathTree,
    /// The segments, local ones with the call path that takes most of their time.
    pub segments: Vec<Segment>,
    /// By call path, most time first. The times of all add up to the length of the path.
    pub rows: Vec<PathRow>,
    /// By rank, ascending; locations without a rank last. Ranks that the path does not visit have no entry.
    pub by_rank: Vec<(Option<WorldRank>, PathTime)>,
    /// What the path is bound by.
    pub bounds: PathBounds,
    /// What the rank does in each segment; in a local one, what the call path does that takes most of its time.
    activities: Vec<Activity>,
}

type ActivitySums<K> = BTreeMap<K, BTreeMap<(bool, Option<WorldRank>), PathTime>>;
type ByRank = Vec<(Option<WorldRank>, PathTime)>;

/// The path by call path: `calls` is the result of the second pass; `classes` has the class of every region.
pub fn profile(
    path: &CriticalPathOutput,
    calls: &PathCallsOutput,
    classes: &[Class],
    definitions: &Definitions,
) -> PathProfile {
    // What a hidden call does tells what the path is bound by.
    let of_calls = activities(&calls.call_paths, classes);
    let (mut call_paths, shown) = calls.call_paths.shown(definitions.filtered_region);
    let remap = call_paths.absorb(&path.call_paths);
    let mut segments = path.segments.clone();
    let mut sums: ActivitySums<CallPathId> = ActivitySums::new();
    let mut bounds = PathBounds::default();
    let mut activities = Vec::with_capacity(segments.len());
    for (number, segment) in (0..).zip(&mut segments) {
        let rank = (segment.rank.is_none(), segment.rank);
        let (kind, location) = (segment.kind, definitions.location(segment.location).kind);
        let mut add = |path: CallPathId, of_path: Activity, ticks: Ticks| {
            bounds.add(Bound::of(kind, of_path, location), ticks);
            let time = sums.entry(path).or_default().entry(rank).or_default();
            time.add(Activity::of_segment(kind, of_path), ticks);
        };
        if kind != SegmentKind::Local {
            segment.call_path = remap.path(segment.call_path);
            let of_wait = Activity::of_segment(kind, Activity::Waiting);
            add(segment.call_path, of_wait, segment.ticks());
            activities.push(of_wait);
            continue;
        }
        let shares = calls.of_segment(number);
        for share in shares {
            add(shown.path(share.call_path), of_calls[share.call_path.index()], share.time);
        }
        // A location without enters and leaves has no calls.
        let known: Ticks = shares.iter().map(|share| share.time).sum();
        if known < segment.ticks() {
            add(CallPathTree::ROOT, Activity::Working, segment.ticks().since(known));
        }
        let most = shares.iter().max_by_key(|share| (share.time, Reverse(share.call_path)));
        let most = most.map_or(CallPathTree::ROOT, |share| share.call_path);
        segment.call_path = shown.path(most);
        activities.push(of_calls[most.index()]);
    }
    let mut ranks: ActivitySums<()> = ActivitySums::new();
    for (&rank, &time) in sums.values().flatten() {
        ranks.entry(()).or_default().entry(rank).or_default().merge(time);
    }
    let by_rank = ranks.remove(&()).map(|ranks| split(ranks).1).unwrap_or_default();
    let rows = rows_of(sums);
    PathProfile { call_paths, segments, rows, by_rank, bounds, activities }
}

impl CallPathRows for PathProfile {
    fn call_paths(&self) -> &CallPathTree {
        &self.call_paths
    }

    /// What a hidden call does stays known: it works, waits or is in MPI as in the whole run.
    fn with_callers(self, callers: &Callers) -> Self {
        let mut sums: ActivitySums<CallPathId> = ActivitySums::new();
        for row in &self.rows {
            let ranks = sums.entry(callers.at(row.call_path)).or_default();
            row.by_rank
                .iter()
                .for_each(|&(rank, time)| ranks.entry((rank.is_none(), rank)).or_default().merge(time));
        }
        let mut segments = self.segments;
        segments.iter_mut().for_each(|segment| segment.call_path = callers.at(segment.call_path));
        PathProfile { call_paths: callers.call_paths().clone(), segments, rows: rows_of(sums), ..self }
    }
}

/// Most time first.
fn rows_of(sums: ActivitySums<CallPathId>) -> Vec<PathRow> {
    let row = |(call_path, ranks)| {
        let (time, by_rank) = split(ranks);
        PathRow { call_path, time, by_rank }
    };
    let mut rows: Vec<PathRow> = sums.into_iter().map(row).collect();
    rows.sort_by_key(|row| Reverse(row.time.total()));
    rows
}

/// The sum, and the parts by rank.
fn split(ranks: BTreeMap<(bool, Option<WorldRank>), PathTime>) -> (PathTime, ByRank) {
    let mut sum = PathTime::default();
    ranks.values().for_each(|&time| sum.merge(time));
    (sum, ranks.into_iter().map(|((_, rank), time)| (rank, time)).collect())
}

impl PathProfile {
    /// Length of the path.
    pub fn length(&self) -> Ticks {
        self.segments.iter().map(Segment::ticks).sum()
    }

    /// The segments, and what the rank does in each; in a local one, what the call path does that takes most of its time.
    pub fn with_activity(&self) -> impl Iterator<Item = (&Segment, Activity)> {
        self.segments.iter().zip(self.activities.iter().copied())
    }

    /// By region, most time first; ties by id.
    pub fn by_region(&self) -> Vec<RegionTime> {
        let mut sums: ActivitySums<Option<RegionId>> = ActivitySums::new();
        for row in &self.rows {
            let region = sums.entry(self.call_paths.region(row.call_path)).or_default();
            for &(rank, time) in &row.by_rank {
                region.entry((rank.is_none(), rank)).or_default().merge(time);
            }
        }
        let mut rows: Vec<RegionTime> = sums
            .into_iter()
            .map(|(region, ranks)| {
                let (time, by_rank) = split(ranks);
                RegionTime { region, time, by_rank }
            })
            .collect();
        rows.sort_by_key(|row| Reverse(row.time.total()));
        rows
    }

    /// One row for each segment, in the order of time.
    pub fn segments_table(&self, definitions: &Definitions) -> Table {
        let clock = &definitions.clock;
        let ns = |value: &dyn Fn(&Segment) -> Ticks| {
            ColumnData::U64(self.segments.iter().map(|s| clock.ns_from_ticks(value(s))).collect())
        };
        let kinds = self.segments.iter().map(|s| Arc::from(s.kind.as_str())).collect();
        let activities = self.activities.iter().map(|it| Arc::from(it.as_str())).collect();
        let rank = |rank: Option<WorldRank>| rank.map(|rank| u64::from(rank.0));
        let ranks = self.segments.iter().map(|s| rank(s.rank)).collect();
        let from = |s: &Segment| rank(s.from.and_then(|from| definitions.location(from).rank));
        let from = self.segments.iter().map(from).collect();
        let paths = self.segments.iter().map(|s| self.names(definitions, s.call_path)).collect();
        Table::new("segments")
            .with(
                "rank",
                Unit::None,
                "World rank; for a wait, the rank that waits",
                ColumnData::OptionU64(ranks),
            )
            .with("from_rank", Unit::None, "World rank that is waited for", ColumnData::OptionU64(from))
            .with(
                "kind",
                Unit::None,
                "local, message, collective, launch or synchronization",
                ColumnData::Text(kinds),
            )
            .with(
                "activity",
                Unit::None,
                "What the rank mostly does: working, in_mpi, waiting, message, collective or launch",
                ColumnData::Text(activities),
            )
            .with("start_ns", Unit::Nanoseconds, "Start, since the trace start", ns(&|s| s.range.start))
            .with("end_ns", Unit::Nanoseconds, "End, since the trace start", ns(&|s| s.range.end))
            .with(
                "call_path",
                Unit::None,
                "The call that waits; for a local segment, the call that takes most of its time",
                ColumnData::TextList(paths),
            )
    }

    /// One row for each bound.
    pub fn bounds_table(&self, definitions: &Definitions) -> Table {
        let rows = self.bounds.ns(&definitions.clock);
        let names = rows.iter().map(|(bound, _)| Arc::from(bound.as_str())).collect();
        let ns = rows.iter().map(|(_, ns)| *ns).collect();
        Table::new("bounds")
            .with("bound", Unit::None, "cpu, gpu, launch or communication", ColumnData::Text(names))
            .with("total_ns", Unit::Nanoseconds, "Time on the path", ColumnData::U64(ns))
    }

    /// One row for each call path, most time first.
    pub fn table(&self, definitions: &Definitions) -> Table {
        let paths = self.rows.iter().map(|row| self.names(definitions, row.call_path)).collect();
        let rows: Vec<(PathTime, &ByRank)> = self.rows.iter().map(|row| (row.time, &row.by_rank)).collect();
        let table = Table::new("call paths").with(
            "call_path",
            Unit::None,
            "Names of the regions from the root; empty outside all regions",
            ColumnData::TextList(paths),
        );
        self.with_times(table, &rows, &definitions.clock)
    }

    /// One row for each region, most time first.
    pub fn by_region_table(&self, definitions: &Definitions) -> Table {
        let by_region = self.by_region();
        let name = |row: &RegionTime| row.region.map(|region| definitions.region(region).name.clone());
        let table = Table::new("regions").with(
            "region",
            Unit::None,
            "Name of the region; missing outside all regions",
            ColumnData::OptionText(by_region.iter().map(name).collect()),
        );
        let rows: Vec<(PathTime, &ByRank)> = by_region.iter().map(|row| (row.time, &row.by_rank)).collect();
        self.with_times(table, &rows, &definitions.clock)
    }

    fn with_times(&self, table: Table, rows: &[(PathTime, &ByRank)], clock: &Clock) -> Table {
        let length = self.length().0;
        let ns = |value: &dyn Fn(&PathTime) -> Ticks| {
            ColumnData::U64(rows.iter().map(|(time, _)| clock.ns_from_ticks(value(time))).collect())
        };
        let ratio = |part: Ticks, of: u64| (0 < of).then(|| part.0 as f64 / of as f64);
        let shares = rows.iter().map(|(time, _)| ratio(time.total(), length)).collect();
        let top: Vec<Option<&(Option<WorldRank>, PathTime)>> =
            rows.iter().map(|(_, ranks)| ranks.iter().rev().max_by_key(|(_, time)| time.total())).collect();
        let top_ranks =
            top.iter().map(|top| top.and_then(|(rank, _)| rank.map(|r| u64::from(r.0)))).collect();
        let top_shares = rows
            .iter()
            .zip(&top)
            .map(|((time, _), top)| top.and_then(|(_, of_rank)| ratio(of_rank.total(), time.total().0)))
            .collect();
        table
            .with(
                "total_ns",
                Unit::Nanoseconds,
                "Time on the path: the sum of the next six columns",
                ns(&PathTime::total),
            )
            .with(
                "working_ns",
                Unit::Nanoseconds,
                "Exclusive time in the program's own code",
                ns(&|t| t.working),
            )
            .with(
                "in_mpi_ns",
                Unit::Nanoseconds,
                "Exclusive time in MPI, SHMEM or NCCL calls where the path stays on the rank",
                ns(&|t| t.in_mpi),
            )
            .with(
                "waiting_ns",
                Unit::Nanoseconds,
                "Exclusive time in calls that wait for threads, locks or an accelerator",
                ns(&|t| t.waiting),
            )
            .with("message_ns", Unit::Nanoseconds, "Time in messages that ranks wait for", ns(&|t| t.message))
            .with(
                "collective_ns",
                Unit::Nanoseconds,
                "Time in collectives after the last arrival",
                ns(&|t| t.collective),
            )
            .with(
                "launch_ns",
                Unit::Nanoseconds,
                "Time from launches until operations of accelerators begin",
                ns(&|t| t.launch),
            )
            .with("share", Unit::Ratio, "total / length of the path", ColumnData::OptionF64(shares))
            .with("top_rank", Unit::None, "The rank with the largest part", ColumnData::OptionU64(top_ranks))
            .with("top_share", Unit::Ratio, "That rank's total / total", ColumnData::OptionF64(top_shares))
    }

    fn names(&self, definitions: &Definitions, path: CallPathId) -> Vec<Arc<str>> {
        self.call_paths.regions(path).iter().map(|&region| definitions.region(region).name.clone()).collect()
    }
}
