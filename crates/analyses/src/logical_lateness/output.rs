//! Lateness of operations and ranks, and their tables.

use super::order::{Cycle, Order, before, order};
use crate::paired_operations::{LocationSpan, Operation, OperationKind, OperationsOutput};
use ouzel_model::{
    CallPathId, CallPathTree, Clock, ColumnData, Definitions, LocationId, Table, Ticks, Unit, WorldRank,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a batch of [`LatenessOutput::operation_batches`]: their columns stay in the second-level cache.
const BATCH_ROWS: usize = 2048;

/// How late everything is.
#[derive(Debug, Clone)]
pub struct LatenessOutput {
    /// The call paths that the operations refer to.
    pub call_paths: CallPathTree,
    /// By rank; operations of locations without one come last.
    pub ranks: Vec<RankLateness>,
    /// Number of logical steps of the whole run.
    pub n_steps: u32,
    /// By location, those of a location in order: of the whole run.
    operations: Vec<Operation>,
    /// Indices of those that are selected, ascending; `None` if all are.
    selected: Option<Vec<u32>>,
    /// The step of each operation, and its send or receive.
    steps: Vec<u32>,
    partner: Vec<u32>,
    /// The earliest leave of each step.
    earliest: Vec<Ticks>,
    /// The rank of each location of the trace.
    rank_of: Vec<Option<WorldRank>>,
}

/// One operation in logical time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateOperation {
    /// The operation.
    pub operation: Operation,
    /// Its rank, if the trace has ranks.
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

impl RankLateness {
    fn add_operation(&mut self, late: &LateOperation) {
        self.n_operations += 1;
        self.max = self.max.max(late.lateness);
        self.sum += u128::from(late.lateness.0);
        self.differential_max = self.differential_max.max(late.differential);
        self.differential_sum += u128::from(late.differential.0);
    }

    /// Adds another location of the rank.
    fn add(&mut self, other: &RankLateness) {
        self.n_operations += other.n_operations;
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.differential_max = self.differential_max.max(other.differential_max);
        self.differential_sum += other.differential_sum;
    }
}

/// The lateness of every operation.
///
/// # Errors
/// If operations wait for each other in a circle; the error names them.
pub fn lateness(output: OperationsOutput, definitions: &Definitions) -> Result<LatenessOutput, Cycle> {
    let Order { steps, partner } = order(&output, definitions)?;
    let n_steps = steps.iter().max().map_or(0, |&last| last + 1);
    let mut earliest = vec![Ticks(u64::MAX); n_steps as usize];
    for (operation, &step) in output.operations.iter().zip(&steps) {
        let earliest = &mut earliest[step as usize];
        *earliest = operation.leave.min(*earliest);
    }
    let rank_of = definitions.locations.iter().map(|location| location.rank).collect();
    let OperationsOutput { call_paths, operations, lines, .. } = output;
    let all_selected = operations.iter().all(|operation| operation.is_selected);
    let selected = (0..).zip(&operations).filter(|(_, operation)| operation.is_selected).map(|(i, _)| i);
    let selected: Option<Vec<u32>> = (!all_selected).then(|| selected.collect());
    let mut late = LatenessOutput {
        call_paths,
        ranks: Vec::new(),
        n_steps,
        operations,
        selected,
        steps,
        partner,
        earliest,
        rank_of,
    };
    late.ranks = late.of_ranks(&lines);
    Ok(late)
}

impl LatenessOutput {
    /// Number of operations that are selected.
    pub fn n_operations(&self) -> usize {
        self.selected.as_ref().map_or(self.operations.len(), Vec::len)
    }

    /// Every operation that is selected: by location, those of a location in order; the order of
    /// [`OperationsOutput::operations`].
    pub fn operations(&self) -> impl ExactSizeIterator<Item = LateOperation> + Clone {
        (0..self.n_operations()).map(|row| self.operation(self.op_of(row)))
    }

    /// Index of the operation that is the `row`-th selected one.
    fn op_of(&self, row: usize) -> usize {
        self.selected.as_ref().map_or(row, |selected| selected[row] as usize)
    }

    fn operation(&self, op: usize) -> LateOperation {
        let operation = self.operations[op];
        let lateness = self.lateness(op);
        let before = before(&self.operations, &self.partner, op).map(|before| self.lateness(before)).max();
        LateOperation {
            operation,
            rank: self.rank_of[operation.location.index()],
            step: self.steps[op],
            lateness,
            differential: lateness.since(before.unwrap_or_default()),
        }
    }

    fn lateness(&self, op: usize) -> Ticks {
        self.operations[op].leave.since(self.earliest[self.steps[op] as usize])
    }

    fn of_ranks(&self, lines: &[LocationSpan]) -> Vec<RankLateness> {
        let mut ranks: BTreeMap<(bool, Option<WorldRank>), RankLateness> = BTreeMap::new();
        let mut add = |rank: Option<WorldRank>, of_location: RankLateness| {
            let row = ranks.entry((rank.is_none(), rank)).or_default();
            row.rank = rank;
            row.add(&of_location);
        };
        let selected = lines.iter().filter(|line| line.is_selected);
        selected.for_each(|line| add(line.rank, RankLateness::default()));
        let mut from = 0;
        for operations in self.operations.chunk_by(|a, b| a.location == b.location) {
            let mut row = RankLateness::default();
            let selected = (from..).zip(operations).filter(|(_, operation)| operation.is_selected);
            selected.for_each(|(op, _)| row.add_operation(&self.operation(op)));
            from += operations.len();
            if 0 < row.n_operations {
                add(self.rank_of[operations[0].location.index()], row);
            }
        }
        ranks.into_values().collect()
    }

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
                "Greatest lateness that one operation added",
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
        self.table_of(0..self.n_operations(), definitions)
    }

    /// The rows of [`operations_table`](LatenessOutput::operations_table) in batches, the first of which may be empty.
    pub fn operation_batches(&self, definitions: &Definitions) -> impl Iterator<Item = Table> {
        let n = self.n_operations();
        let starts = (0..n.max(1)).step_by(BATCH_ROWS);
        starts.map(move |start| self.table_of(start..n.min(start + BATCH_ROWS), definitions))
    }

    fn table_of(&self, rows: Range<usize>, definitions: &Definitions) -> Table {
        let rows: Vec<LateOperation> = rows.map(|row| self.operation(self.op_of(row))).collect();
        let clock = &definitions.clock;
        let column =
            |value: &dyn Fn(&LateOperation) -> u64| ColumnData::U64(rows.iter().map(value).collect());
        let ns = |value: &dyn Fn(&LateOperation) -> Ticks| column(&|row| clock.ns_from_ticks(value(row)));
        let ranks = rows.iter().map(|row| row.rank.map(|rank| u64::from(rank.0))).collect();
        let names = OperationKind::ALL.map(|kind| (kind, Arc::<str>::from(kind.as_str())));
        let name = |kind| names.iter().find(|(other, _)| *other == kind).map(|(_, name)| name.clone());
        let kinds = rows.iter().filter_map(|row| name(row.operation.kind)).collect();
        let region = |path: CallPathId| {
            self.call_paths.region(path).map(|region| definitions.region(region).name.clone())
        };
        let regions = rows.iter().map(|row| region(row.operation.call_path)).collect();
        let location = |id: LocationId| u64::from(id.0);
        Table::new("operations")
            .with("rank", Unit::None, "World rank", ColumnData::OptionU64(ranks))
            .with("location", Unit::None, "Id of the location", column(&|r| location(r.operation.location)))
            .with("kind", Unit::None, "send, receive or collective", ColumnData::Text(kinds))
            .with(
                "region",
                Unit::None,
                "The call; missing outside all regions",
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
                "Lateness minus the greatest lateness of its direct predecessors, at least 0",
                ns(&|r| r.differential),
            )
    }
}
