//! Lateness of operations and ranks, and their tables.

use super::order::{Cycle, previous, sends, steps};
use crate::operations::{Operation, OperationsOutput};
use ouzel_model::{
    CallPathId, CallPathTree, Clock, ColumnData, Definitions, LocationId, Table, Ticks, Unit, WorldRank,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How late everything is.
#[derive(Debug, Clone)]
pub struct LatenessOutput {
    /// The call paths that the operations speak of.
    pub call_paths: CallPathTree,
    /// By location, those of a location in order; the same order as in
    /// [`OperationsOutput::operations`].
    pub operations: Vec<LateOperation>,
    /// By rank; operations of locations without one come last.
    pub ranks: Vec<RankLateness>,
    /// Number of logical steps.
    pub n_steps: u32,
}

/// One operation in logical time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateOperation {
    /// The operation.
    pub operation: Operation,
    /// Its rank, where the trace knows ranks.
    pub rank: Option<WorldRank>,
    /// Its logical step, from 0.
    pub step: u32,
    /// `leave − min(leave of the step)`.
    pub lateness: Ticks,
    /// `max(0, lateness − max(lateness of what comes directly before))`.
    pub differential: Ticks,
}

/// Lateness of the operations of one rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankLateness {
    /// The rank; `None` for all locations without one together.
    pub rank: Option<WorldRank>,
    /// Number of its operations.
    pub n_operations: u64,
    /// The greatest lateness.
    pub max: Ticks,
    /// Sum of lateness over its operations.
    pub sum: u128,
    /// The greatest differential lateness.
    pub differential_max: Ticks,
    /// Sum of differential lateness.
    pub differential_sum: u128,
}

/// The lateness of every operation.
///
/// # Errors
/// If operations wait for each other in a circle; the error names them.
pub fn lateness(output: &OperationsOutput, definitions: &Definitions) -> Result<LatenessOutput, Cycle> {
    let steps = steps(output, definitions)?;
    let n_steps = steps.iter().max().map_or(0, |&last| last + 1);
    let mut earliest = vec![Ticks(u64::MAX); n_steps as usize];
    for (operation, &step) in output.operations.iter().zip(&steps) {
        let earliest = &mut earliest[step as usize];
        *earliest = operation.leave.min(*earliest);
    }
    let late = |op: usize| output.operations[op].leave.since(earliest[steps[op] as usize]);
    let sends = sends(output);
    let mut ranks: BTreeMap<(bool, Option<WorldRank>), RankLateness> = BTreeMap::new();
    for line in &output.lines {
        let row = RankLateness { rank: line.rank, ..RankLateness::default() };
        ranks.insert((line.rank.is_none(), line.rank), row);
    }
    let mut operations = Vec::with_capacity(steps.len());
    for (op, &operation) in output.operations.iter().enumerate() {
        let lateness = late(op);
        let before = previous(&output.operations, op).into_iter().chain(sends[op]).map(late).max();
        let differential = lateness.since(before.unwrap_or_default());
        let rank = definitions.location(operation.location).rank;
        let row = ranks.entry((rank.is_none(), rank)).or_default();
        row.rank = rank;
        row.n_operations += 1;
        row.max = row.max.max(lateness);
        row.sum += u128::from(lateness.0);
        row.differential_max = row.differential_max.max(differential);
        row.differential_sum += u128::from(differential.0);
        operations.push(LateOperation { operation, rank, step: steps[op], lateness, differential });
    }
    Ok(LatenessOutput {
        call_paths: output.call_paths.clone(),
        operations,
        ranks: ranks.into_values().collect(),
        n_steps,
    })
}

impl LatenessOutput {
    /// One row for each rank.
    pub fn table(&self, clock: &Clock) -> Table {
        let column =
            |value: &dyn Fn(&RankLateness) -> u64| ColumnData::U64(self.ranks.iter().map(value).collect());
        let ns = |ticks: u128| clock.ns_from_ticks(Ticks(u64::try_from(ticks).unwrap_or(u64::MAX)));
        let ranks = self.ranks.iter().map(|row| row.rank.map(|rank| u64::from(rank.0))).collect();
        Table::new("ranks")
            .with("rank", Unit::None, "World rank", ColumnData::OptionU64(ranks))
            .with(
                "operations",
                Unit::Count,
                "Number of sends, receives and collectives",
                column(&|r| r.n_operations),
            )
            .with(
                "max_ns",
                Unit::Nanoseconds,
                "Greatest lateness: leave − earliest leave of the same logical step",
                column(&|r| ns(u128::from(r.max.0))),
            )
            .with("sum_ns", Unit::Nanoseconds, "Sum of lateness over all operations", column(&|r| ns(r.sum)))
            .with(
                "differential_max_ns",
                Unit::Nanoseconds,
                "Greatest lateness that was added by one operation",
                column(&|r| ns(u128::from(r.differential_max.0))),
            )
            .with(
                "differential_sum_ns",
                Unit::Nanoseconds,
                "Sum of the lateness that operations added",
                column(&|r| ns(r.differential_sum)),
            )
    }

    /// One row for each operation.
    pub fn operations_table(&self, definitions: &Definitions) -> Table {
        let clock = &definitions.clock;
        let column = |value: &dyn Fn(&LateOperation) -> u64| {
            ColumnData::U64(self.operations.iter().map(value).collect())
        };
        let ns = |value: &dyn Fn(&LateOperation) -> Ticks| column(&|row| clock.ns_from_ticks(value(row)));
        let ranks = self.operations.iter().map(|row| row.rank.map(|rank| u64::from(rank.0))).collect();
        let kinds = self.operations.iter().map(|row| Arc::from(row.operation.kind.as_str())).collect();
        let region = |path: CallPathId| {
            self.call_paths.region(path).map(|region| definitions.region(region).name.clone())
        };
        let regions = self.operations.iter().map(|row| region(row.operation.call_path)).collect();
        let location = |id: LocationId| u64::from(id.0);
        Table::new("operations")
            .with("rank", Unit::None, "World rank", ColumnData::OptionU64(ranks))
            .with("location", Unit::None, "Id of the location", column(&|r| location(r.operation.location)))
            .with("kind", Unit::None, "send, receive or collective", ColumnData::Text(kinds))
            .with(
                "region",
                Unit::None,
                "The call; none outside of every region",
                ColumnData::OptionText(regions),
            )
            .with("step", Unit::None, "Logical step, from 0", column(&|r| u64::from(r.step)))
            .with(
                "start_ns",
                Unit::Nanoseconds,
                "When the call was entered, since the trace start",
                ns(&|r| r.operation.enter),
            )
            .with(
                "end_ns",
                Unit::Nanoseconds,
                "When the call was left, since the trace start",
                ns(&|r| r.operation.leave),
            )
            .with(
                "lateness_ns",
                Unit::Nanoseconds,
                "Leave − earliest leave of the same logical step",
                ns(&|r| r.lateness),
            )
            .with(
                "differential_ns",
                Unit::Nanoseconds,
                "Lateness less the greatest lateness of what comes directly before, at least 0",
                ns(&|r| r.differential),
            )
    }
}
