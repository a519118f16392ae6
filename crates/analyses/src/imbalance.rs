//! Load imbalance: how unevenly the exclusive time of a region is spread over the processes.
//!
//! ```text
//! profile ──exclusive time by process──► Spread (sum, max, min) ──loss(category)──► ImbalanceRow
//! ```
//!
//! A process that never runs a region counts as zero. Threads and streams of a process
//! are summed. Law: every difference is exact; ratios are divided once, at the end.
//! Why the time differs is not determined.

use crate::call_path_profile::ProfileOutput;
use crate::flat_profile::{PerProcessRow, per_process};
use crate::semantics::{Category, Class};
use crate::spread::{MeanTicks, Processes, Spread, ratio, spread_durations};
use crate::view::{By, Per, RowKey, RowView};
use ouzel_model::{ColumnData, Definitions, Metric, Table, Ticks, Unit, WorldRank};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The imbalance of every region or call path.
#[derive(Debug, Clone, PartialEq)]
pub struct ImbalanceOutput {
    /// Number of processes compared.
    pub n_processes: u64,
    /// Greatest lost time first, then by name.
    pub rows: Vec<ImbalanceRow>,
}

/// The imbalance of one region or call path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImbalanceRow {
    /// What the row is about.
    pub key: RowKey,
    /// What time in the region is spent on.
    pub class: Class,
    /// Its exclusive time over all processes.
    pub exclusive: Spread,
    /// `max / mean`; 1 if the mean is zero.
    pub imbalance: f64,
    /// `max − mean`: what the slowest process would save if the time were spread evenly.
    pub lost: MeanTicks,
    /// The loss, judged by what the time is spent on.
    pub loss: Loss,
}

/// Time lost in a region, by its category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// To imbalance: `max − mean` of computation and of waiting, `mean − min` of synchronisation (who comes last
    /// waits least).
    pub imbalance: MeanTicks,
    /// To waiting: nothing of computation, the `mean` of waiting, the `min` of synchronisation.
    pub wait: MeanTicks,
}

impl Loss {
    fn of(category: Category, spread: &Spread) -> Self {
        Loss::of_extremes(category, spread.n_processes, spread.sum, spread.max, spread.min)
    }

    /// From the sum and the extremes over `n_processes`, of which there is at least one; see [`loss`].
    pub(crate) fn of_extremes(
        category: Category,
        n_processes: u64,
        sum: u128,
        max: Ticks,
        min: Ticks,
    ) -> Self {
        let times = |ticks: Ticks| u128::from(ticks.0) * u128::from(n_processes);
        let (imbalance, wait) = match category {
            Category::Computation => (times(max).saturating_sub(sum), 0),
            Category::Wait => (times(max).saturating_sub(sum), sum),
            Category::Synchronization => (sum.saturating_sub(times(min)), times(min)),
        };
        let mean = |sum| MeanTicks { sum, n_processes };
        Loss { imbalance: mean(imbalance), wait: mean(wait) }
    }

    /// Nothing lost by `n_processes`.
    pub fn none(n_processes: u64) -> Self {
        let none = MeanTicks { sum: 0, n_processes };
        Loss { imbalance: none, wait: none }
    }

    /// Adds a loss of the same processes at another time.
    pub fn add(&mut self, other: &Loss) {
        self.imbalance.sum = self.imbalance.sum.saturating_add(other.imbalance.sum);
        self.wait.sum = self.wait.sum.saturating_add(other.wait.sum);
    }
}

/// Time lost to imbalance and to waiting, from the `durations` of all processes; `None` if there is none.
///
/// | category | imbalance | wait |
/// |---|---|---|
/// | computation | max − mean | 0 |
/// | wait | max − mean | mean |
/// | synchronisation | mean − min | min |
///
/// After Wei and Mellor-Crummey, *Automated analysis of time series data to understand parallel program behaviors*
/// (ICS 2018), table 1. Exact: the results are fractions of sums.
pub fn loss(category: Category, durations: &[Ticks]) -> Option<Loss> {
    spread_durations(durations).map(|spread| Loss::of(category, &spread))
}

/// The imbalance of every region or call path over the processes of the profile.
///
/// `classes` has the class of every region, see [`Semantics::classes`](crate::semantics::Semantics::classes).
pub fn imbalance(
    profile: &ProfileOutput,
    definitions: &Definitions,
    classes: &[Class],
    by: By,
) -> ImbalanceOutput {
    let view = RowView::new(definitions, &profile.call_paths, by, Per::Total);
    let processes = Processes::new(profile, definitions);
    let spreads = processes
        .spread_unsorted(|location, row| Some((view.key(location, row.call_path)?, row.times.exclusive)));
    let mut rows: Vec<ImbalanceRow> = spreads
        .into_iter()
        .map(|(key, exclusive)| {
            let class = classes[key.region.index()];
            ImbalanceRow {
                key,
                class,
                exclusive,
                imbalance: exclusive.imbalance(),
                lost: exclusive.max_less_mean(),
                loss: Loss::of(class.category, &exclusive),
            }
        })
        .collect();
    rows.sort_unstable_by(|a, b| {
        let by_loss = b.lost.sum.cmp(&a.lost.sum);
        by_loss.then_with(|| view.tie_break(&a.key).cmp(&view.tie_break(&b.key)))
    });
    ImbalanceOutput { n_processes: processes.list.len() as u64, rows }
}

const TOP_RANKS_DOC: &str = "The ranks with the most, in descending order; ranks with none are left out";

/// For each region or call path up to `n` ranks that spend most time in it, the one with most first, equals in
/// the order of their ranks. Ranks that spend none in it and processes without a rank are left out.
///
/// After Pipit's `load_imbalance` (`num_processes`), Bhatele et al., SC 2023.
pub fn top_ranks(
    profile: &ProfileOutput,
    definitions: &Definitions,
    by: By,
    n: usize,
) -> BTreeMap<RowKey, Vec<u32>> {
    let each = per_process(profile, definitions, by);
    let ranks = |row: &PerProcessRow| {
        let with_time = row.top(n).into_iter().filter(|&i| 0 < row.exclusive[i].0);
        with_time.filter_map(|i| Some(each.processes[i].rank?.0)).collect()
    };
    each.rows.iter().map(|row| (row.key, ranks(row))).collect()
}

impl ImbalanceOutput {
    /// The rows as a table with the `n_top` ranks that spend most time in each; `profile` and `by` are those it was
    /// made from.
    pub fn table(&self, profile: &ProfileOutput, definitions: &Definitions, by: By, n_top: usize) -> Table {
        let tops = top_ranks(profile, definitions, by, n_top);
        let view = RowView::new(definitions, &profile.call_paths, by, Per::Total);
        let keys: Vec<RowKey> = self.rows.iter().map(|row| row.key).collect();
        let clock = &definitions.clock;
        let text = |value: &dyn Fn(&ImbalanceRow) -> &'static str| {
            ColumnData::Text(self.rows.iter().map(|row| Arc::from(value(row))).collect())
        };
        let ns =
            |value: &dyn Fn(&ImbalanceRow) -> u64| ColumnData::U64(self.rows.iter().map(value).collect());
        let rank = |value: &dyn Fn(&ImbalanceRow) -> Option<WorldRank>| {
            let number = |row: &ImbalanceRow| value(row).map(|rank| u64::from(rank.0));
            ColumnData::OptionU64(self.rows.iter().map(number).collect())
        };
        let ratios = ColumnData::F64(self.rows.iter().map(|row| row.imbalance).collect());
        let nanoseconds = Unit::Nanoseconds;
        view.name_columns("imbalance", &keys)
            .with("category", Unit::None, "What the time is spent on", text(&|r| r.class.category.as_str()))
            .with(
                "family",
                Unit::None,
                "Programming model or library of the region",
                text(&|r| r.class.family.as_str()),
            )
            .with(
                "mean_ns",
                nanoseconds.clone(),
                "Exclusive time / number of processes; a process that never runs it counts as 0",
                ns(&|r| r.exclusive.mean().ns(clock)),
            )
            .with(
                "max_ns",
                nanoseconds.clone(),
                "Exclusive time of the process with the most",
                ns(&|r| clock.ns_from_ticks(r.exclusive.max)),
            )
            .with("max_rank", Unit::None, "Rank of that process", rank(&|r| r.exclusive.max_process.rank))
            .with(
                "min_ns",
                nanoseconds.clone(),
                "Exclusive time of the process with the least",
                ns(&|r| clock.ns_from_ticks(r.exclusive.min)),
            )
            .with("min_rank", Unit::None, "Rank of that process", rank(&|r| r.exclusive.min_process.rank))
            .with("imbalance", Unit::Ratio, "max / mean; 1 if the mean is 0", ratios)
            .with("lost_ns", nanoseconds.clone(), "max − mean", ns(&|r| r.lost.ns(clock)))
            .with(
                "imbalance_ns",
                nanoseconds.clone(),
                "max − mean; for synchronisation, mean − min",
                ns(&|r| r.loss.imbalance.ns(clock)),
            )
            .with(
                "wait_ns",
                nanoseconds,
                "0 for computation, mean for waiting, min for synchronisation",
                ns(&|r| r.loss.wait.ns(clock)),
            )
            .with("top_ranks", Unit::None, TOP_RANKS_DOC, self.top_column(&tops))
    }
}

impl ImbalanceOutput {
    /// The rows as a table of what `metric` gained, if the profile has its gains in place of times.
    pub fn table_of_metric(
        &self,
        profile: &ProfileOutput,
        definitions: &Definitions,
        by: By,
        metric: &Metric,
        n_top: usize,
    ) -> Table {
        let tops = top_ranks(profile, definitions, by, n_top);
        let view = RowView::new(definitions, &profile.call_paths, by, Per::Total);
        let keys: Vec<RowKey> = self.rows.iter().map(|row| row.key).collect();
        let gain =
            |value: &dyn Fn(&ImbalanceRow) -> u64| ColumnData::U64(self.rows.iter().map(value).collect());
        let rank = |value: &dyn Fn(&ImbalanceRow) -> Option<WorldRank>| {
            let number = |row: &ImbalanceRow| value(row).map(|rank| u64::from(rank.0));
            ColumnData::OptionU64(self.rows.iter().map(number).collect())
        };
        let unit = || Unit::Other(metric.unit.clone());
        let ratios = ColumnData::F64(self.rows.iter().map(|row| row.imbalance).collect());
        view.name_columns("imbalance", &keys)
            .with(
                "mean",
                unit(),
                "Exclusive gain of the counter / number of processes; a process that never runs it counts as 0",
                gain(&|r| r.exclusive.mean().rounded()),
            )
            .with("max", unit(), "Exclusive gain of the process with the most", gain(&|r| r.exclusive.max.0))
            .with("max_rank", Unit::None, "Rank of that process", rank(&|r| r.exclusive.max_process.rank))
            .with("min", unit(), "Exclusive gain of the process with the least", gain(&|r| r.exclusive.min.0))
            .with("min_rank", Unit::None, "Rank of that process", rank(&|r| r.exclusive.min_process.rank))
            .with("imbalance", Unit::Ratio, "max / mean; 1 if the mean is 0", ratios)
            .with("lost", unit(), "max − mean", gain(&|r| r.lost.rounded()))
            .with("top_ranks", Unit::None, TOP_RANKS_DOC, self.top_column(&tops))
    }

    fn top_column(&self, tops: &BTreeMap<RowKey, Vec<u32>>) -> ColumnData {
        let ranks = |row: &ImbalanceRow| tops.get(&row.key).into_iter().flatten().map(|&rank| rank.into());
        ColumnData::U64List(self.rows.iter().map(|row| ranks(row).collect()).collect())
    }
}

impl Loss {
    /// Both losses together as a part of `run`; zero if `run` is.
    pub fn ratio_to(&self, run: Ticks) -> f64 {
        let whole = u128::from(run.0) * u128::from(self.wait.n_processes);
        ratio(self.imbalance.sum + self.wait.sum, whole).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_path_profile::CallPathProfile;
    use crate::golden::TWO_PROCESSES;
    use crate::semantics::{Family, Semantics};
    use ouzel_model::{ColumnData, TraceSource};
    use ouzel_testkit::{ToyTrace, golden, run};

    fn imbalance_of(trace: &ToyTrace, by: By) -> (ProfileOutput, ImbalanceOutput) {
        let profile = run(trace, CallPathProfile);
        let classes = Semantics::default().classes(trace.definitions());
        let output = imbalance(&profile, trace.definitions(), &classes, by);
        (profile, output)
    }

    /// Sums over the processes, so that nothing is rounded.
    fn sums(category: Category, durations: [u64; 3]) -> (u128, u128) {
        let Loss { imbalance, wait } = loss(category, &durations.map(Ticks)).unwrap();
        assert_eq!((imbalance.n_processes, wait.n_processes), (3, 3));
        (imbalance.sum, wait.sum)
    }

    #[test]
    fn what_is_lost_depends_on_what_the_time_is_for() {
        use Category::{Computation, Synchronization, Wait};
        assert_eq!(sums(Computation, [8, 3, 1]), (12, 0));
        assert_eq!(sums(Wait, [8, 3, 1]), (12, 12));
        assert_eq!(sums(Synchronization, [8, 3, 1]), (9, 3));
        assert_eq!(sums(Synchronization, [0, 0, 9]), (9, 0));
        assert_eq!(sums(Wait, [5, 5, 5]), (0, 15));
        assert_eq!(loss(Wait, &[]), None);
    }

    #[test]
    fn threads_are_summed_and_processes_without_the_region_count_as_zero() {
        let trace = ToyTrace::new(
            "
            0: enter work @0, leave @10
            0.1: enter work @0, leave @20
            0.gpu0: enter kernel @3, leave @9
            1: enter work @0, leave @6, enter MPI_Barrier @6, leave @8
            2: other @0
            2.metrics: metric m=3 @1",
        );
        let (profile, output) = imbalance_of(&trace, By::Region);
        assert_eq!(output.n_processes, 3);
        let name = |row: &ImbalanceRow| trace.definitions().region(row.key.region).name.to_string();
        let seen: Vec<_> = output
            .rows
            .iter()
            .map(|row| {
                let Spread { n_seen, sum, max, max_process, min, min_process, .. } = row.exclusive;
                let ranks = (max_process.rank.unwrap().0, min_process.rank.unwrap().0);
                (name(row), n_seen, sum, max.0, min.0, ranks, row.lost.sum)
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("work".to_owned(), 2, 36, 30, 0, (0, 2), 54),
                ("kernel".to_owned(), 1, 6, 6, 0, (0, 1), 12),
                ("MPI_Barrier".to_owned(), 1, 2, 2, 0, (1, 0), 4),
            ]
        );
        assert_eq!(output.rows[2].class, Class { category: Category::Synchronization, family: Family::Mpi });
        let table = output.table(&profile, trace.definitions(), By::Region, 2);
        let tops = ColumnData::U64List(vec![vec![0, 1], vec![0], vec![1]]);
        assert_eq!(table.column("top_ranks").unwrap().data, tops);
        assert_eq!(table.column("mean_ns").unwrap().data, ColumnData::U64(vec![12, 2, 1]));
        assert_eq!(table.column("imbalance").unwrap().data, ColumnData::F64(vec![2.5, 3.0, 3.0]));
    }

    #[test]
    fn call_paths_are_judged_one_by_one() {
        let trace = ToyTrace::new(
            "
            0: enter a @0, enter f @0, leave @8, leave @8, enter b @8, enter f @8, leave @8, leave @8
            1: enter a @0, enter f @0, leave @0, leave @0, enter b @0, enter f @0, leave @8, leave @8",
        );
        let lost = |by| imbalance_of(&trace, by).1.rows.iter().map(|row| row.lost.sum).collect::<Vec<_>>();
        assert_eq!(lost(By::Region), [0, 0, 0]);
        assert_eq!(lost(By::CallPath), [8, 8, 0, 0]);
    }

    #[test]
    fn counters_are_spread_like_time() {
        let mut trace = ToyTrace::new(
            "
            0: metric m=5 @0, enter work @0, metric m=25 @9, leave @10
            0.1: metric m=0 @0, enter work @0, metric m=10 @9, leave @20
            1: metric m=1 @0, enter work @0, metric m=7 @5, leave @6
            2: other @0",
        );
        let metric = trace.metric("m");
        let counters = run(&trace, crate::metric_profile::MetricProfile);
        let profile = counters.in_place_of_time(&run(&trace, CallPathProfile), metric);
        let classes = Semantics::default().classes(trace.definitions());
        let output = imbalance(&profile, trace.definitions(), &classes, By::Region);
        let spread = &output.rows[0].exclusive;
        assert_eq!((spread.sum, spread.max.0, spread.min.0), (36, 30, 0));
        let metric = trace.definitions().metrics[metric.index()].clone();
        let table = output.table_of_metric(&profile, trace.definitions(), By::Region, &metric, 1);
        assert_eq!(table.column("top_ranks").unwrap().data, ColumnData::U64List(vec![vec![0]]));
        assert_eq!(table.column("mean").unwrap().data, ColumnData::U64(vec![12]));
        assert_eq!(table.column("imbalance").unwrap().data, ColumnData::F64(vec![2.5]));
        assert_eq!(table.column("lost").unwrap().data, ColumnData::U64(vec![18]));
    }

    #[test]
    fn nothing_at_all_is_balanced() {
        let trace = ToyTrace::new(
            "
            0: enter f @3, leave @3
            1: other @0",
        );
        let (_, output) = imbalance_of(&trace, By::Region);
        let row = &output.rows[0];
        assert_eq!((row.imbalance.to_bits(), row.lost.sum), (1.0_f64.to_bits(), 0));
    }

    #[test]
    fn the_example_of_two_processes_has_its_agreed_imbalance() {
        let agreed = golden("pipit_ops");
        let expected = agreed["expected"]["load_imbalance_all"].as_object().unwrap();
        let trace = ToyTrace::new(TWO_PROCESSES);
        let (_, output) = imbalance_of(&trace, By::Region);
        assert_eq!(output.rows.len(), expected.len());
        for row in output.rows {
            let expected = &expected[&*trace.definitions().region(row.key.region).name];
            let difference = row.imbalance - expected["imbalance"].as_f64().unwrap();
            assert!(difference.abs() < 1e-12, "{row:?}");
            assert_eq!(
                Some(row.exclusive.mean().ns(&trace.definitions().clock) as f64),
                expected["mean"].as_f64()
            );
            assert_eq!(
                Some(u64::from(row.exclusive.max_process.rank.unwrap().0)),
                expected["top"][0].as_u64()
            );
        }
    }

    #[test]
    fn the_agreed_losses_hold() {
        let agreed = golden("imb_wait");
        let cases = agreed["expected"]["table1"].as_array().unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            let category = match case["category"].as_str().unwrap() {
                "computation" => Category::Computation,
                "wait" => Category::Wait,
                _ => Category::Synchronization,
            };
            let durations: Vec<Ticks> =
                case["durs"].as_array().unwrap().iter().map(|d| Ticks(d.as_u64().unwrap())).collect();
            let loss = loss(category, &durations).unwrap();
            let whole = |mean: MeanTicks| mean.ratio_to(Ticks(1));
            assert!((whole(loss.imbalance) - case["imb"].as_f64().unwrap()).abs() < 1e-12, "{case}");
            assert!((whole(loss.wait) - case["wait"].as_f64().unwrap()).abs() < 1e-12, "{case}");
        }
    }
}
