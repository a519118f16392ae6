//! The flat profile as means: how long a process spends in a region.
//!
//! ```text
//! profile ──exclusive and inclusive time by process──► FlatRow (Spread) ──► total, mean_all, mean_callers
//! ```
//!
//! Two means answer two questions. `mean_all = sum / number of processes`: what the region costs the run, a process
//! that never calls it counting as zero. `mean_callers = sum / number of processes that call it`: what it costs
//! where it is called. Times of the threads and streams of a process are summed.
//! After Pipit's `flat_profile` (Bhatele et al., SC 2023), whose code shows the mean over callers where the paper
//! says total. Law: sums are exact, means are divided once. For losses, see `imbalance`.

use crate::call_path_profile::ProfileOutput;
use crate::spread::{MeanTicks, Process, Processes, Spread};
use crate::view::{By, Per, RowKey, RowView, with_place_columns};
use ouzel_model::{ColumnData, Definitions, Table, Ticks, Unit};
use rustc_hash::FxHashMap;

/// Times of every region or call path over the processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlatProfileOutput {
    /// Number of processes.
    pub n_processes: u64,
    /// Most exclusive time first, then by name.
    pub rows: Vec<FlatRow>,
}

/// Times of one region or call path over the processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatRow {
    /// What the row is about.
    pub key: RowKey,
    /// Number of visits over all processes.
    pub visits: u64,
    /// Time from enter to leave less the time in callees.
    pub exclusive: Spread,
    /// Time from enter to leave; of recursive calls only the outermost.
    pub inclusive: Spread,
}

impl FlatRow {
    /// Exclusive time / number of processes.
    pub(crate) fn mean_all(&self) -> MeanTicks {
        self.exclusive.mean()
    }

    /// Exclusive time / number of processes that call it.
    pub(crate) fn mean_callers(&self) -> MeanTicks {
        mean_callers(&self.exclusive)
    }
}

fn mean_callers(spread: &Spread) -> MeanTicks {
    MeanTicks { sum: spread.sum, n_processes: spread.n_seen.max(1) }
}

/// The flat profile by region or by call path. Locations that belong to no process (streams whose process has no
/// thread in the trace) are in no row.
pub fn flat_profile(profile: &ProfileOutput, definitions: &Definitions, by: By) -> FlatProfileOutput {
    let view = RowView::new(definitions, &profile.call_paths, by, Per::Total);
    let processes = Processes::new(profile, definitions);
    let exclusive = processes
        .spread_unsorted(|location, row| Some((view.key(location, row.call_path)?, row.times.exclusive)));
    let inclusive: FxHashMap<RowKey, Spread> = processes
        .spread_unsorted(|location, row| {
            let counts = view.counts_inclusive(row.call_path);
            let key = view.key(location, row.call_path).filter(|_| counts)?;
            Some((key, row.times.inclusive))
        })
        .into_iter()
        .collect();
    let visits: FxHashMap<RowKey, Spread> = processes
        .spread_unsorted(|location, row| Some((view.key(location, row.call_path)?, Ticks(row.times.visits))))
        .into_iter()
        .collect();
    let mut rows: Vec<FlatRow> = exclusive
        .into_iter()
        .filter_map(|(key, exclusive)| {
            let (inclusive, visits) = (*inclusive.get(&key)?, visits.get(&key)?);
            Some(FlatRow { key, visits: u64::try_from(visits.sum).unwrap_or(u64::MAX), exclusive, inclusive })
        })
        .collect();
    rows.sort_unstable_by(|a, b| {
        let by_time = b.exclusive.sum.cmp(&a.exclusive.sum);
        by_time.then_with(|| view.tie_break(&a.key).cmp(&view.tie_break(&b.key)))
    });
    FlatProfileOutput { n_processes: processes.list.len() as u64, rows }
}

impl FlatProfileOutput {
    /// The rows as a table; `profile` and `by` are those it was made from.
    pub fn table(&self, profile: &ProfileOutput, definitions: &Definitions, by: By) -> Table {
        let view = RowView::new(definitions, &profile.call_paths, by, Per::Total);
        let keys: Vec<RowKey> = self.rows.iter().map(|row| row.key).collect();
        let count = |value: &dyn Fn(&FlatRow) -> u64| ColumnData::U64(self.rows.iter().map(value).collect());
        let total = |spread: &Spread| MeanTicks { sum: spread.sum, n_processes: 1 };
        let ns = |value: &dyn Fn(&FlatRow) -> MeanTicks| {
            ColumnData::U64(self.rows.iter().map(|row| value(row).ns(&definitions.clock)).collect())
        };
        let table = view
            .name_columns("regions", &keys)
            .with("visits", Unit::Count, "How often the region was entered", count(&|row| row.visits))
            .with(
                "callers",
                Unit::Count,
                "Number of processes that call it",
                count(&|row| row.exclusive.n_seen),
            )
            .with(
                "exclusive_ns",
                Unit::Nanoseconds,
                "Time from enter to leave less the time in callees, over all processes",
                ns(&|row| total(&row.exclusive)),
            )
            .with(
                "exclusive_mean_all_ns",
                Unit::Nanoseconds,
                "Exclusive time / number of processes; a process that never calls it counts as 0",
                ns(&FlatRow::mean_all),
            )
            .with(
                "exclusive_mean_callers_ns",
                Unit::Nanoseconds,
                "Exclusive time / number of processes that call it",
                ns(&FlatRow::mean_callers),
            )
            .with(
                "inclusive_ns",
                Unit::Nanoseconds,
                "Time from enter to leave over all processes; of recursive calls, only the outermost counts",
                ns(&|row| total(&row.inclusive)),
            )
            .with(
                "inclusive_mean_all_ns",
                Unit::Nanoseconds,
                "Inclusive time / number of processes; a process that never calls it counts as 0",
                ns(&|row| row.inclusive.mean()),
            )
            .with(
                "inclusive_mean_callers_ns",
                Unit::Nanoseconds,
                "Inclusive time / number of processes that call it",
                ns(&|row| mean_callers(&row.inclusive)),
            );
        with_place_columns(table, definitions, &keys)
    }
}

/// Exclusive time of every region or call path in every process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerProcess {
    /// The columns: processes in the order of their ranks.
    pub processes: Vec<Process>,
    /// Most exclusive time first, then by name.
    pub rows: Vec<PerProcessRow>,
}

/// Exclusive time of one region or call path in every process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerProcessRow {
    /// What the row is about.
    pub key: RowKey,
    /// Ticks of each process; zero where it is never called.
    pub exclusive: Vec<Ticks>,
}

impl PerProcessRow {
    /// The `n` processes with most time, the one with most first, equals in the order of their ranks: indices of
    /// [`PerProcess::processes`].
    pub fn top(&self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.exclusive.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(self.exclusive[i]));
        order.truncate(n);
        order
    }
}

/// The flat profile of each process side by side: 8 bytes for each region and process.
pub fn per_process(profile: &ProfileOutput, definitions: &Definitions, by: By) -> PerProcess {
    let view = RowView::new(definitions, &profile.call_paths, by, Per::Total);
    let processes = Processes::new(profile, definitions);
    let n = processes.list.len();
    let mut times: FxHashMap<RowKey, Vec<Ticks>> = FxHashMap::default();
    for (process, location) in processes.members() {
        for row in &location.rows {
            let Some(key) = view.key(location.location, row.call_path) else { continue };
            let sum = &mut times.entry(key).or_insert_with(|| vec![Ticks(0); n])[process];
            sum.0 = sum.0.saturating_add(row.times.exclusive.0);
        }
    }
    let total = |exclusive: &[Ticks]| exclusive.iter().map(|ticks| u128::from(ticks.0)).sum::<u128>();
    let mut rows: Vec<(u128, PerProcessRow)> = times
        .into_iter()
        .map(|(key, exclusive)| (total(&exclusive), PerProcessRow { key, exclusive }))
        .collect();
    rows.sort_unstable_by(|(a_total, a), (b_total, b)| {
        let by_time = b_total.cmp(a_total);
        by_time.then_with(|| view.tie_break(&a.key).cmp(&view.tie_break(&b.key)))
    });
    PerProcess { processes: processes.list, rows: rows.into_iter().map(|(_, row)| row).collect() }
}

#[cfg(test)]
mod tests;
