//! Time in MPI by call path: what it is spent on, and how evenly.
//!
//! A row is about the outermost MPI call of a path; MPI calls inside of it have no rows.
//! Values are inclusive times, summed within each process. Law: rows are disjoint in
//! time on every thread, so they add up. Who made whom wait is not determined.

use crate::call_path_profile::ProfileOutput;
use crate::semantics::{Category, Class, Family};
use crate::spread::{MeanTicks, Processes, Spread};
use crate::view::{By, Per, RowKey, RowView};
use ouzel_model::{CallPathId, CallPathTree, ColumnData, Definitions, Table, Unit, WorldRank};
use std::sync::Arc;

/// Time in MPI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpiTimeOutput {
    /// Number of processes.
    pub n_processes: u64,
    /// Most time over all processes first, then by path.
    pub rows: Vec<MpiTimeRow>,
}

/// Time in one MPI call path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpiTimeRow {
    /// The outermost MPI call.
    pub call_path: CallPathId,
    /// What time in it is spent on.
    pub category: Category,
    /// Its inclusive time over all processes; a process that never calls it counts as zero.
    pub time: Spread,
}

/// Time in MPI for each call path of an outermost MPI call.
pub fn mpi_time(profile: &ProfileOutput, definitions: &Definitions, classes: &[Class]) -> MpiTimeOutput {
    let outermost = outermost_mpi(&profile.call_paths, classes);
    let view = RowView::new(definitions, &profile.call_paths, By::CallPath, Per::Total);
    let processes = Processes::new(profile, definitions);
    let spreads = processes.spread_unsorted(|location, row| {
        outermost[row.call_path.index()]?;
        Some((view.key(location, row.call_path)?, row.times.inclusive))
    });
    let mut rows: Vec<(RowKey, MpiTimeRow)> = spreads
        .into_iter()
        .filter_map(|(key, time)| {
            let call_path = key.call_path?;
            let category = outermost[call_path.index()]?;
            Some((key, MpiTimeRow { call_path, category, time }))
        })
        .collect();
    rows.sort_unstable_by(|(a_key, a), (b_key, b)| {
        let by_time = b.time.sum.cmp(&a.time.sum);
        by_time.then_with(|| view.tie_break(a_key).cmp(&view.tie_break(b_key)))
    });
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    MpiTimeOutput { n_processes: processes.list.len() as u64, rows }
}

/// For each path that ends in MPI without an MPI caller, the category of its region.
fn outermost_mpi(call_paths: &CallPathTree, classes: &[Class]) -> Vec<Option<Category>> {
    let mut outermost = vec![None; call_paths.len()];
    let mut inside = vec![false; call_paths.len()];
    for path in call_paths.paths() {
        let Some(region) = call_paths.region(path) else { continue };
        let Class { category, family } = classes[region.index()];
        let is_mpi = family == Family::Mpi;
        let below = inside[call_paths.parent(path).index()];
        inside[path.index()] = is_mpi || below;
        if is_mpi && !below {
            outermost[path.index()] = Some(category);
        }
    }
    outermost
}

impl MpiTimeOutput {
    /// Time in MPI calls of a category: the mean over all processes.
    pub fn mean(&self, category: Category) -> MeanTicks {
        let sum = self.rows.iter().filter(|row| row.category == category).map(|row| row.time.sum).sum();
        MeanTicks { sum, n_processes: self.n_processes.max(1) }
    }

    /// The rows as a table; `profile` is the one it was made from.
    pub fn table(&self, profile: &ProfileOutput, definitions: &Definitions) -> Table {
        let clock = &definitions.clock;
        let paths = &profile.call_paths;
        let names = |row: &MpiTimeRow| -> Vec<Arc<str>> {
            paths.regions(row.call_path).into_iter().map(|r| definitions.region(r).name.clone()).collect()
        };
        let numbers =
            |value: &dyn Fn(&MpiTimeRow) -> u64| ColumnData::U64(self.rows.iter().map(value).collect());
        let number = |rank: Option<WorldRank>| rank.map(|rank| u64::from(rank.0));
        let max_ranks = self.rows.iter().map(|row| number(row.time.max_process.rank)).collect();
        let categories = self.rows.iter().map(|row| Arc::from(row.category.as_str())).collect();
        let last = |row: &MpiTimeRow| names(row).pop().unwrap_or_else(|| Arc::from(""));
        Table::new("MPI calls")
            .with(
                "region",
                Unit::None,
                "Name of the MPI function",
                ColumnData::Text(self.rows.iter().map(last).collect()),
            )
            .with(
                "call_path",
                Unit::None,
                "Regions from the outermost to this one",
                ColumnData::TextList(self.rows.iter().map(names).collect()),
            )
            .with("category", Unit::None, "What the time is spent on", ColumnData::Text(categories))
            .with(
                "mean_ns",
                Unit::Nanoseconds,
                "Inclusive time / number of processes; a process that never calls it counts as 0",
                numbers(&|row| row.time.mean().ns(clock)),
            )
            .with(
                "max_ns",
                Unit::Nanoseconds,
                "Inclusive time of the process with the most",
                numbers(&|row| clock.ns_from_ticks(row.time.max)),
            )
            .with("max_rank", Unit::None, "Rank of that process", ColumnData::OptionU64(max_ranks))
            .with("ranks", Unit::Count, "Number of processes that call it", numbers(&|row| row.time.n_seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_path_profile::CallPathProfile;
    use crate::semantics::Semantics;
    use ouzel_model::TraceSource;
    use ouzel_testkit::{ToyTrace, run};

    #[test]
    fn only_the_outermost_call_counts_and_absent_processes_are_zero() {
        let trace = ToyTrace::new("
            0: enter main @0, enter MPI_Bcast @10, enter MPI_Recv @12, leave @18, leave @20, enter MPI_Barrier @30, leave @34, leave @40
            1: enter main @0, enter MPI_Barrier @4, leave @34, enter MPI_Comm_size @34, leave @35, leave @40
            2: enter main @0, leave @40");
        let profile = run(&trace, CallPathProfile);
        let classes = Semantics::default().classes(trace.definitions());
        let output = mpi_time(&profile, trace.definitions(), &classes);
        let seen: Vec<_> = output
            .rows
            .iter()
            .map(|row| {
                let Spread { n_seen, sum, max, max_process, .. } = row.time;
                (row.category, n_seen, sum, max.0, max_process.rank.unwrap().0)
            })
            .collect();
        assert_eq!(
            seen,
            [
                (Category::Synchronization, 2, 34, 30, 1),
                (Category::Wait, 1, 10, 10, 0),
                (Category::Computation, 1, 1, 1, 1),
            ]
        );
        assert_eq!(output.mean(Category::Wait), MeanTicks { sum: 10, n_processes: 3 });
        assert_eq!(output.mean(Category::Wait).ns(&trace.definitions().clock), 3);
        let table = output.table(&profile, trace.definitions());
        assert_eq!(table.column("mean_ns").unwrap().data, ColumnData::U64(vec![11, 3, 0]));
        let ColumnData::Text(regions) = &table.column("region").unwrap().data else { panic!("not text") };
        assert_eq!(&*regions[1], "MPI_Bcast");
    }

    #[test]
    fn without_mpi_there_is_nothing() {
        let trace = ToyTrace::new("0: enter main @0, leave @40");
        let classes = Semantics::default().classes(trace.definitions());
        let output = mpi_time(&run(&trace, CallPathProfile), trace.definitions(), &classes);
        assert_eq!((output.n_processes, output.rows.len()), (1, 0));
    }
}
