//! Idle time: how long each location was in regions that mean waiting, or did nothing at all.
//!
//! ```text
//! profile ──inclusive time of outermost idle calls──► idle time by location ──sum──► by rank
//! ```
//!
//! The idle regions are the caller's choice. Calls on one location are nested, so the union of their intervals is
//! that of the outermost idle calls, and its length is the sum of the inclusive time of the call paths that end
//! in an idle region and have none above: the profile has it, so no extra pass is needed. An accelerator stream
//! is idle in the gaps between its kernels, too: its span less its outermost calls.
//! After Pipit's `idle_time` (Bhatele et al., SC 2023), with nested calls counted once and nothing remembered from one
//! question to the next. For why a location waits, see `message_waits`.

use crate::call_path_profile::{LocationProfile, ProfileOutput};
use crate::view::Per;
use ouzel_model::{
    CallPathTree, ColumnData, Definitions, LocationId, LocationKind, RegionId, Table, Ticks, Unit, WorldRank,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Regions that are always idle: Charm++ and V8 name them so.
pub const IDLE: &[&str] = &["Idle", "(idle)"];

/// Calls of MPI that wait for one message; those in brackets have lost their name, and their records say what they are.
pub const MPI_WAITS: &[&str] = &["MPI_Recv", "MPI_Wait", "MPI_Waitall", "<*> (receive)", "<*> (wait)"];

/// Further calls of MPI that wait for messages or for all members.
pub const MPI_MORE_WAITS: &[&str] = &[
    "MPI_Waitany",
    "MPI_Waitsome",
    "MPI_Probe",
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Gather*",
    "MPI_Scatter*",
    "MPI_Allgather*",
    "MPI_Alltoall*",
    "MPI_Allreduce",
    "MPI_Reduce*",
    "MPI_Scan",
    "MPI_Exscan",
    "<*> (barrier)",
    "<*> (bcast)",
    "<*> (gather*)",
    "<*> (scatter*)",
    "<*> (allgather*)",
    "<*> (alltoall*)",
    "<*> (allreduce)",
    "<*> (reduce*)",
    "<*> (scan)",
    "<*> (exscan)",
];

/// The regions in which a location is idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleRegions {
    /// For each region whether it is idle.
    is_idle: Vec<bool>,
}

impl IdleRegions {
    /// Regions whose name matches one of these patterns (`*` any run, `?` one character); none for no pattern.
    pub fn named<T: AsRef<str>>(definitions: &Definitions, patterns: &[T]) -> Self {
        IdleRegions { is_idle: definitions.regions_like(patterns) }
    }

    /// Regions whose names are known to mean waiting.
    pub fn known(definitions: &Definitions) -> Self {
        IdleRegions::named(definitions, &[IDLE, MPI_WAITS, MPI_MORE_WAITS].concat())
    }

    /// The union of both.
    #[must_use]
    pub fn or(mut self, other: &IdleRegions) -> Self {
        self.is_idle.iter_mut().zip(&other.is_idle).for_each(|(is_idle, other)| *is_idle |= other);
        self
    }

    /// Whether a region is idle.
    pub fn contains(&self, region: RegionId) -> bool {
        self.is_idle.get(region.index()).copied().unwrap_or(false)
    }

    /// The regions, ascending. If there is none, only streams can be idle; front ends report that.
    pub fn regions(&self) -> impl Iterator<Item = RegionId> + '_ {
        (0..self.is_idle.len()).filter(|&i| self.is_idle[i]).map(RegionId::from_index)
    }

    /// Their names, ascending, each once.
    pub fn names(&self, definitions: &Definitions) -> Vec<Arc<str>> {
        let mut names: Vec<_> = self.regions().map(|id| definitions.region(id).name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Idle time of locations and ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleOutput {
    /// By rank, then by location; metric sources and locations without events have no row.
    pub locations: Vec<LocationIdle>,
}

/// Idle time of one location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocationIdle {
    /// Its rank, if the trace has ranks.
    pub rank: Option<WorldRank>,
    /// The location.
    pub location: LocationId,
    /// Ticks from its first event to its last.
    pub span: Ticks,
    /// Ticks in idle regions, nested ones counted once.
    pub in_regions: Ticks,
    /// Ticks of a stream's span outside of every region; zero for threads, as tracers may not record all they do.
    pub in_gaps: Ticks,
}

impl LocationIdle {
    /// `in_regions + in_gaps`.
    pub fn idle(&self) -> Ticks {
        Ticks(self.in_regions.0.saturating_add(self.in_gaps.0))
    }
}

/// Idle time of one rank: sums over its locations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankIdle {
    /// The rank; `None` for all locations without one together.
    pub rank: Option<WorldRank>,
    /// Ticks its locations were idle.
    pub idle: Ticks,
    /// The part of `idle` on threads.
    pub threads: Ticks,
    /// The part of `idle` on accelerator streams.
    pub streams: Ticks,
    /// Ticks from the first event to the last of each location.
    pub span: Ticks,
}

/// Idle time of every location of the profile.
pub fn idle_time(profile: &ProfileOutput, definitions: &Definitions, idle: &IdleRegions) -> IdleOutput {
    let outermost = outermost(&profile.call_paths, idle);
    let mut locations: Vec<LocationIdle> = profile
        .locations
        .iter()
        .filter(|location| definitions.location(location.location).kind.runs_code())
        .filter_map(|location| of_location(location, definitions, &outermost))
        .collect();
    locations.sort_unstable_by_key(|row| (row.rank.is_none(), row.rank, row.location));
    IdleOutput { locations }
}

/// For each call path whether it ends in an idle region and has none above.
fn outermost(paths: &CallPathTree, idle: &IdleRegions) -> Vec<bool> {
    let mut is_inside = vec![false; paths.len()];
    let mut outermost = vec![false; paths.len()];
    for path in paths.paths() {
        let above = is_inside[paths.parent(path).index()];
        let here = paths.region(path).is_some_and(|region| idle.contains(region));
        outermost[path.index()] = here && !above;
        is_inside[path.index()] = here || above;
    }
    outermost
}

fn of_location(
    profile: &LocationProfile,
    definitions: &Definitions,
    outermost: &[bool],
) -> Option<LocationIdle> {
    let (start, end) = profile.span?;
    let location = definitions.location(profile.location);
    let rows = profile.rows.iter().filter(|row| outermost[row.call_path.index()]);
    let in_regions = rows.fold(0, |sum: u64, row| sum.saturating_add(row.times.inclusive.0));
    let is_stream = location.kind == LocationKind::AcceleratorStream;
    Some(LocationIdle {
        rank: location.rank,
        location: profile.location,
        span: end.since(start),
        in_regions: Ticks(in_regions),
        in_gaps: if is_stream { profile.outside } else { Ticks(0) },
    })
}

impl IdleOutput {
    /// Sums by rank, ascending; locations without a rank last.
    pub fn ranks(&self, definitions: &Definitions) -> Vec<RankIdle> {
        let mut ranks: BTreeMap<(bool, Option<WorldRank>), RankIdle> = BTreeMap::new();
        let add = |sum: &mut Ticks, ticks: Ticks| sum.0 = sum.0.saturating_add(ticks.0);
        for row in &self.locations {
            let empty = RankIdle { rank: row.rank, ..RankIdle::default() };
            let sums = ranks.entry((row.rank.is_none(), row.rank)).or_insert(empty);
            let is_stream = definitions.location(row.location).kind == LocationKind::AcceleratorStream;
            add(if is_stream { &mut sums.streams } else { &mut sums.threads }, row.idle());
            add(&mut sums.idle, row.idle());
            add(&mut sums.span, row.span);
        }
        ranks.into_values().collect()
    }

    /// One row for each rank, or for each location; `Per::Total` gives one row of sums.
    pub fn table(&self, definitions: &Definitions, per: Per) -> Table {
        match per {
            Per::Location => self.locations_table(definitions),
            Per::Rank => ranks_table(definitions, &self.ranks(definitions)),
            Per::Total => {
                let total = self.ranks(definitions).into_iter().reduce(|a, b| {
                    let sum = |a: Ticks, b: Ticks| Ticks(a.0.saturating_add(b.0));
                    RankIdle {
                        rank: None,
                        idle: sum(a.idle, b.idle),
                        threads: sum(a.threads, b.threads),
                        streams: sum(a.streams, b.streams),
                        span: sum(a.span, b.span),
                    }
                });
                ranks_table(definitions, &[RankIdle { rank: None, ..total.unwrap_or_default() }])
            }
        }
    }

    fn locations_table(&self, definitions: &Definitions) -> Table {
        let rows = &self.locations;
        let column = |value: &dyn Fn(&LocationIdle) -> u64| ColumnData::U64(rows.iter().map(value).collect());
        let ns = |ticks: Ticks| definitions.clock.ns_from_ticks(ticks);
        let gaps_doc = "Time in a stream's span between its outermost calls";
        let native = "Id of the location in the trace's files";
        Table::new("idle time")
            .with("rank", Unit::None, RANK_DOC, rank_column(rows.iter().map(|row| row.rank)))
            .with("location", Unit::None, native, column(&|r| definitions.location(r.location).native_id))
            .with("idle_ns", Unit::Nanoseconds, IDLE_DOC, column(&|r| ns(r.idle())))
            .with("in_regions_ns", Unit::Nanoseconds, "Time in idle regions", column(&|r| ns(r.in_regions)))
            .with("in_gaps_ns", Unit::Nanoseconds, gaps_doc, column(&|r| ns(r.in_gaps)))
            .with("span_ns", Unit::Nanoseconds, "From the first event to the last", column(&|r| ns(r.span)))
    }
}

const RANK_DOC: &str = "World rank of the process; missing if unknown";
const IDLE_DOC: &str =
    "Time in idle regions (nested ones counted once) and in gaps between kernels on streams";

fn rank_column(ranks: impl Iterator<Item = Option<WorldRank>>) -> ColumnData {
    ColumnData::OptionU64(ranks.map(|rank| rank.map(|rank| u64::from(rank.0))).collect())
}

fn ranks_table(definitions: &Definitions, rows: &[RankIdle]) -> Table {
    let ns = |value: &dyn Fn(&RankIdle) -> Ticks| {
        ColumnData::U64(rows.iter().map(|row| definitions.clock.ns_from_ticks(value(row))).collect())
    };
    let span_doc = "From the first event to the last, summed over locations";
    Table::new("idle time")
        .with("rank", Unit::None, RANK_DOC, rank_column(rows.iter().map(|row| row.rank)))
        .with("idle_ns", Unit::Nanoseconds, IDLE_DOC, ns(&|row| row.idle))
        .with("threads_ns", Unit::Nanoseconds, "Idle time of threads", ns(&|row| row.threads))
        .with("streams_ns", Unit::Nanoseconds, "Idle time of accelerator streams", ns(&|row| row.streams))
        .with("span_ns", Unit::Nanoseconds, span_doc, ns(&|row| row.span))
}

#[cfg(test)]
mod tests;
