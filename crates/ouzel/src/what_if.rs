//! What changes of a program would gain, by replay.

use crate::{Answer, AskError, Options, Trace};
use ouzel_model::{ColumnData, Definitions, Filter, Table, Ticks, Unit, near_names};
use ouzel_replay::{Change, ChangeError, Graph, PathGain, Projection, RankProjection, Replay};
use ouzel_waits::Waits;

/// Call paths whose changes are replayed.
const N_REPLAYED: usize = 10;
/// Names that are listed beside an unknown one.
const N_NEAR: usize = 3;

/// A run with changes.
#[derive(Debug, Clone)]
pub struct WhatIf {
    /// The run.
    pub replay: Replay,
    /// What is changed, one after the other.
    pub changes: Vec<Change>,
    /// The run with the changes.
    pub projection: Projection,
    /// Without changes: what those of each call path would gain.
    pub ranking: Vec<PathGain>,
    /// What the replay leaves out, in words.
    pub limits: Vec<String>,
}

impl WhatIf {
    /// What the changes gain in ticks; below zero if they make the run longer.
    pub fn gain(&self) -> i64 {
        let Ticks(recorded) = self.projection.run_time;
        recorded.cast_signed().wrapping_sub(self.projection.projected.0.cast_signed())
    }

    /// With changes a row for each rank, else one for each call path that could be changed.
    pub fn table(&self, definitions: &Definitions) -> Table {
        if self.changes.is_empty() { self.ranking_table(definitions) } else { self.ranks_table(definitions) }
    }

    fn ranking_table(&self, definitions: &Definitions) -> Table {
        let rows = &self.ranking;
        let ns = |value: &dyn Fn(&PathGain) -> Ticks| {
            ColumnData::U64(rows.iter().map(|row| definitions.clock.ns_from_ticks(value(row))).collect())
        };
        let balanced =
            rows.iter().map(|row| row.gains.balanced().map(|gain| signed_ns(gain, definitions) as f64));
        let paths = rows.iter().map(|row| self.replay.names(row.call_path)).collect();
        let exact = rows.iter().map(|row| u64::from(row.gains.balanced().is_some()));
        Table::new("what_if")
            .with(
                "call_path",
                Unit::None,
                "The code, from the root; empty outside all regions",
                ColumnData::TextList(paths),
            )
            .with(
                "critical_ns",
                Unit::Nanoseconds,
                "Its exclusive time on the critical path",
                ns(&|row| row.critical),
            )
            .with(
                "gain_halved_ns",
                Unit::Nanoseconds,
                "If it took half its time on every rank",
                ns(&|row| row.gains.halved()),
            )
            .with("gain_removed_ns", Unit::Nanoseconds, "If it took no time", ns(&|row| row.gains.removed()))
            .with(
                "gain_balanced_ns",
                Unit::Nanoseconds,
                "If every rank that runs it took the mean in each phase; missing if it was not replayed",
                ColumnData::OptionF64(balanced.collect()),
            )
            .with(
                "exact",
                Unit::None,
                "1 if the gains were replayed; 0 if they are upper bounds",
                ColumnData::U64(exact.collect()),
            )
    }

    fn ranks_table(&self, definitions: &Definitions) -> Table {
        let rows = &self.projection.ranks;
        let ns = |value: &dyn Fn(&RankProjection) -> Ticks| {
            ColumnData::U64(rows.iter().map(|row| definitions.clock.ns_from_ticks(value(row))).collect())
        };
        let ranks = rows.iter().map(|row| row.rank.map(|rank| u64::from(rank.0))).collect();
        Table::new("what_if")
            .with(
                "rank",
                Unit::None,
                "World rank; missing for a location without one",
                ColumnData::OptionU64(ranks),
            )
            .with(
                "end_ns",
                Unit::Nanoseconds,
                "From the start of the run to its last event",
                ns(&|row| row.end),
            )
            .with(
                "projected_end_ns",
                Unit::Nanoseconds,
                "The same with the changes",
                ns(&|row| row.projected_end),
            )
            .with("wait_ns", Unit::Nanoseconds, "Time waited for other ranks", ns(&|row| row.wait))
            .with(
                "projected_wait_ns",
                Unit::Nanoseconds,
                "The same with the changes",
                ns(&|row| row.projected_wait),
            )
    }
}

/// Nanoseconds of ticks that may be below zero.
pub fn signed_ns(ticks: i64, definitions: &Definitions) -> i64 {
    let ns = definitions.clock.ns_from_ticks(Ticks(ticks.unsigned_abs())).cast_signed();
    if ticks < 0 { -ns } else { ns }
}

impl Trace {
    /// The run, ready to be replayed with changes. Two passes over the whole run, whatever is selected.
    ///
    /// # Errors
    /// If a pass was cancelled, or an analysis cannot answer.
    pub fn replay(&self, options: &Options<'_>) -> Result<Answer<Replay>, AskError> {
        let definitions = self.definitions();
        let unmatched = options.filter.resolve(definitions).unmatched;
        let options = &Options { filter: Filter::default(), ..options.clone() };
        let mut answer = self.ask(Waits::with_edges(definitions), options)?;
        answer.notices.extend(unmatched);
        answer.notices.sort_by_key(|notice| std::cmp::Reverse(notice.level));
        let edges = answer.output.edges.take().expect("they were asked for");
        let graph = Graph::new(&edges, definitions);
        drop(edges);
        let calls = self.ask(graph.second_pass(), options)?.output;
        Ok(answer.map(|_| Replay::new(graph, calls, definitions)))
    }

    /// How long the run would take with `changes`; without any, what those of each call path would gain.
    ///
    /// # Errors
    /// As for [`Trace::replay`], and if a change names code that the run does not have.
    pub fn what_if(&self, changes: Vec<Change>, options: &Options<'_>) -> Result<Answer<WhatIf>, AskError> {
        self.replay(options)?.try_map(|replay| {
            let projection = replay.what_if(&changes).map_err(|error| self.with_near_names(error))?;
            let ranking = if changes.is_empty() { replay.ranking(N_REPLAYED) } else { Vec::new() };
            let mut limits = replay.limits(&changes, &projection);
            if !options.filter.is_everything() {
                limits.insert(0, "the whole run is replayed, whatever is selected".to_owned());
            }
            Ok(WhatIf { replay, changes, projection, ranking, limits })
        })
    }

    /// An unknown name with regions that are spelled much like it.
    fn with_near_names(&self, error: ChangeError) -> AskError {
        let ChangeError::Unknown(name) = error else { return error.into() };
        let wanted = name.rsplit('/').next().unwrap_or_default();
        let regions = self.definitions().regions.iter().map(|region| &*region.name);
        let near = near_names(wanted, regions, N_NEAR).into_iter().map(str::to_owned).collect();
        AskError::NoSuchCode { name, near }
    }
}
