//! Several runs of a program side by side: how it scales, and which regions grow.
//!
//! ```text
//! profile of each trace ──Run::new──► time by name of region ──multi_run──► scaling table, regions by cost
//! ```
//!
//! Runs are compared by names: ids and clocks of different traces are unrelated. The reference is the run with the
//! fewest processes, the first given if there are several.
//! `speed-up = run time of the reference / run time`, `efficiency = speed-up · processes of the reference / processes`.
//! After Pipit's `multi_run_analysis` (Bhatele et al., SC 2023), whose rows of equally large runs overwrite each other.
//! Law: runs stay in the caller's order. Traces are opened, and results judged, elsewhere.

use ouzel_analyses::By;
use ouzel_analyses::call_path_profile::ProfileOutput;
use ouzel_analyses::flat_profile::flat_profile;
use ouzel_efficiency::Scaling;
use ouzel_model::{ColumnData, Definitions, Table, TimeRange, Unit};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The data compared for one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its name, as the user gave it.
    pub name: Arc<str>,
    /// Number of processes.
    pub n_processes: u64,
    /// From the first event to the last.
    pub run_time_ns: u64,
    /// Exclusive time of all processes by name of region; regions with the same name are put together.
    pub regions: BTreeMap<Arc<str>, u64>,
    /// The same of the process with most; none where several regions have the name.
    pub longest: BTreeMap<Arc<str>, u64>,
}

impl Run {
    /// What a counter gained instead of time: made from the `profile` with gains in place of times, see
    /// [`in_place_of_time`](ouzel_analyses::metric_profile::MetricProfileOutput::in_place_of_time).
    pub fn of_metric(
        name: &str,
        profile: &ProfileOutput,
        definitions: &Definitions,
        run_range: Option<TimeRange>,
    ) -> Self {
        let mut run = Run::new(name, profile, definitions, run_range);
        run.regions.clear();
        run.longest.clear();
        for row in &flat_profile(profile, definitions, By::Region).rows {
            let gain = u64::try_from(row.exclusive.sum).unwrap_or(u64::MAX);
            let sum = run.regions.entry(definitions.region(row.key.region).name.clone()).or_default();
            *sum = sum.saturating_add(gain);
        }
        run
    }

    /// Takes the data from the profile of a trace.
    pub fn new(
        name: &str,
        profile: &ProfileOutput,
        definitions: &Definitions,
        run_range: Option<TimeRange>,
    ) -> Self {
        let clock = &definitions.clock;
        let flat = flat_profile(profile, definitions, By::Region);
        let mut regions: BTreeMap<Arc<str>, u64> = BTreeMap::new();
        let mut longest: BTreeMap<Arc<str>, Option<u64>> = BTreeMap::new();
        for row in &flat.rows {
            let ticks = u64::try_from(row.exclusive.sum).unwrap_or(u64::MAX);
            let name = &definitions.region(row.key.region).name;
            let sum = regions.entry(name.clone()).or_default();
            *sum = sum.saturating_add(clock.ns_from_ticks(ouzel_model::Ticks(ticks)));
            let most = clock.ns_from_ticks(row.exclusive.max);
            longest.entry(name.clone()).and_modify(|most| *most = None).or_insert(Some(most));
        }
        let longest = longest.into_iter().filter_map(|(name, most)| Some((name, most?))).collect();
        let run = run_range.map(|range| range.end.since(range.start)).unwrap_or_default();
        let run_time_ns = clock.ns_from_ticks(run);
        Run { name: name.into(), n_processes: flat.n_processes, run_time_ns, regions, longest }
    }
}

/// Runs side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct MultiRunOutput {
    /// In the order given.
    pub runs: Vec<RunRow>,
    /// Most time over all runs first, then by name.
    pub regions: Vec<RegionRow>,
}

/// One run of the scaling table.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// Its name.
    pub name: Arc<str>,
    /// Number of processes.
    pub n_processes: u64,
    /// From the first event to the last.
    pub run_time_ns: u64,
    /// Whether the others are compared with it.
    pub is_reference: bool,
    /// Run time of the reference / run time; `None` if that is zero.
    pub speed_up: Option<f64>,
    /// `speed-up · processes of the reference / processes`.
    pub efficiency: Option<f64>,
}

/// One region in all runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionRow {
    /// Its name.
    pub region: Arc<str>,
    /// Exclusive time of all processes, by run; `None` where it is not called.
    pub exclusive_ns: Vec<Option<u64>>,
    /// The same divided by the number of processes.
    pub mean_ns: Vec<Option<u64>>,
    /// Exclusive time of the process with most; `None` also where several regions have the name.
    pub max_ns: Vec<Option<u64>>,
}

/// A region that takes more time than it would if it scaled like the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct RegionGrowth {
    /// Its name.
    pub region: Arc<str>,
    /// The run with most excess: its place.
    pub run: usize,
    /// Mean exclusive time of a process there.
    pub mean_ns: u64,
    /// What it would be if it scaled: the reference's · its processes / the run's (strong), or the reference's (weak).
    pub ideal_ns: u64,
}

/// Regions that stop scaling: their time grows by more than 1 % of the run time over that of ideal scaling, most first.
/// Empty where all runs have the same number of processes. A region that the reference does not call is ideal at zero.
pub fn growths(output: &MultiRunOutput, scaling: Scaling) -> Vec<RegionGrowth> {
    let Some(base) = output.runs.iter().position(|run| run.is_reference) else { return Vec::new() };
    let n = |run: usize| u128::from(output.runs[run].n_processes);
    let of = |row: &RegionRow, run: usize| {
        let reference = u128::from(row.mean_ns[base].unwrap_or(0));
        let ideal = match scaling {
            Scaling::Strong => (reference * n(base)).checked_div(n(run))?,
            Scaling::Weak => reference,
        };
        let (mean_ns, ideal_ns) = (row.mean_ns[run]?, u64::try_from(ideal).unwrap_or(u64::MAX));
        let excess = mean_ns.checked_sub(ideal_ns)?;
        let is_large = output.runs[run].run_time_ns < excess.saturating_mul(100);
        is_large.then(|| RegionGrowth { region: row.region.clone(), run, mean_ns, ideal_ns })
    };
    let others: Vec<usize> = (0..output.runs.len()).filter(|&run| n(run) != n(base)).collect();
    let worst = |row: &RegionRow| {
        let found = others.iter().filter_map(|&run| of(row, run));
        found.max_by_key(|growth| growth.mean_ns - growth.ideal_ns)
    };
    let mut found: Vec<RegionGrowth> = output.regions.iter().filter_map(worst).collect();
    found.sort_by_key(|growth| Reverse(growth.mean_ns - growth.ideal_ns));
    found
}

/// Puts runs side by side.
pub fn multi_run(runs: &[Run]) -> MultiRunOutput {
    let reference = (0..runs.len()).min_by_key(|&i| runs[i].n_processes);
    let rows = runs.iter().enumerate().map(|(i, run)| {
        let base = &runs[reference.unwrap_or(i)];
        let ratio = |part: u64, whole: u64| (whole != 0).then(|| part as f64 / whole as f64);
        let speed_up = ratio(base.run_time_ns, run.run_time_ns);
        RunRow {
            name: run.name.clone(),
            n_processes: run.n_processes,
            run_time_ns: run.run_time_ns,
            is_reference: reference == Some(i),
            speed_up,
            efficiency: speed_up.zip(ratio(base.n_processes, run.n_processes)).map(|(a, b)| a * b),
        }
    });
    let mut regions: BTreeMap<&Arc<str>, Vec<Option<u64>>> = BTreeMap::new();
    for (i, run) in runs.iter().enumerate() {
        for (region, &ns) in &run.regions {
            regions.entry(region).or_insert_with(|| vec![None; runs.len()])[i] = Some(ns);
        }
    }
    let mut regions: Vec<RegionRow> = regions
        .into_iter()
        .map(|(region, exclusive_ns)| {
            let mean = |(ns, run): (&Option<u64>, &Run)| ns.and_then(|ns| ns.checked_div(run.n_processes));
            let mean_ns = exclusive_ns.iter().zip(runs).map(mean).collect();
            let max_ns = runs.iter().map(|run| run.longest.get(region).copied()).collect();
            RegionRow { region: region.clone(), exclusive_ns, mean_ns, max_ns }
        })
        .collect();
    // A stable sort: equal ones stay in the order of their names.
    let cost = |row: &RegionRow| row.exclusive_ns.iter().flatten().map(|&ns| u128::from(ns)).sum::<u128>();
    regions.sort_by_key(|row| Reverse(cost(row)));
    MultiRunOutput { runs: rows.collect(), regions }
}

impl MultiRunOutput {
    /// One row for each run, in the order given.
    pub fn scaling_table(&self) -> Table {
        let reference = self.runs.iter().find(|run| run.is_reference).map(|run| run.name.clone());
        let text =
            |value: &dyn Fn(&RunRow) -> Arc<str>| ColumnData::Text(self.runs.iter().map(value).collect());
        let number = |value: &dyn Fn(&RunRow) -> u64| ColumnData::U64(self.runs.iter().map(value).collect());
        let ratio = |value: &dyn Fn(&RunRow) -> Option<f64>| {
            ColumnData::OptionF64(self.runs.iter().map(value).collect())
        };
        Table::new("runs")
            .with("run", Unit::None, "Name of the run", text(&|run| run.name.clone()))
            .with("processes", Unit::Count, "Number of processes", number(&|run| run.n_processes))
            .with(
                "run_time_ns",
                Unit::Nanoseconds,
                "Time from the first event to the last",
                number(&|run| run.run_time_ns),
            )
            .with(
                "reference",
                Unit::None,
                "The run with the fewest processes, or the first such run: the others are compared with it",
                text(&|run| reference.clone().unwrap_or_else(|| run.name.clone())),
            )
            .with(
                "speed_up",
                Unit::Ratio,
                "Run time of the reference / run time; missing if the run time is zero",
                ratio(&|run| run.speed_up),
            )
            .with(
                "efficiency",
                Unit::Ratio,
                "Speed-up · processes of the reference / processes",
                ratio(&|run| run.efficiency),
            )
    }

    /// One row for each region and run, region by region.
    pub fn table(&self) -> Table {
        let each = || self.regions.iter().flat_map(|row| (0..self.runs.len()).map(move |i| (row, i)));
        let number = |value: &dyn Fn(&RegionRow, usize) -> Option<u64>| {
            ColumnData::OptionU64(each().map(|(row, i)| value(row, i)).collect())
        };
        Table::new("regions of runs")
            .with(
                "region",
                Unit::None,
                "Name of the region",
                ColumnData::Text(each().map(|(row, _)| row.region.clone()).collect()),
            )
            .with(
                "run",
                Unit::None,
                "Name of the run",
                ColumnData::Text(each().map(|(_, i)| self.runs[i].name.clone()).collect()),
            )
            .with(
                "processes",
                Unit::Count,
                "Number of processes",
                number(&|_, i| Some(self.runs[i].n_processes)),
            )
            .with(
                "exclusive_ns",
                Unit::Nanoseconds,
                "Time from enter to leave less the time in callees, over all processes",
                number(&|row, i| row.exclusive_ns[i]),
            )
            .with(
                "mean_ns",
                Unit::Nanoseconds,
                "Exclusive time / number of processes",
                number(&|row, i| row.mean_ns[i]),
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, n_processes: u64, run_time_ns: u64, regions: &[(&str, u64)]) -> Run {
        let regions: BTreeMap<Arc<str>, u64> =
            regions.iter().map(|&(region, ns)| (Arc::from(region), ns)).collect();
        Run { name: name.into(), n_processes, run_time_ns, longest: regions.clone(), regions }
    }

    #[test]
    fn regions_that_stop_scaling_are_named_most_excess_first() {
        let output = multi_run(&[
            run("4", 4, 1000, &[("solve", 3200), ("reduce", 400), ("io", 40)]),
            run("8", 8, 700, &[("solve", 3200), ("reduce", 1600), ("io", 80), ("new", 800)]),
        ]);
        // Mean 800 → 400, 100 → 200, 10 → 10, 0 → 100.
        let told = |scaling| -> Vec<(String, u64, u64)> {
            let found = growths(&output, scaling);
            found.iter().map(|of| (of.region.to_string(), of.mean_ns, of.ideal_ns)).collect()
        };
        let named = |rows: &[(&str, u64, u64)]| -> Vec<(String, u64, u64)> {
            rows.iter().map(|(region, mean, ideal)| ((*region).to_owned(), *mean, *ideal)).collect()
        };
        // Strong: 400 of 400, 200 of 50, 10 of 5 (less than 1 % of 700), 100 of 0. Weak: 200 of 100, 100 of 0.
        assert_eq!(told(Scaling::Strong), named(&[("reduce", 200, 50), ("new", 100, 0)]));
        assert_eq!(told(Scaling::Weak), named(&[("reduce", 200, 100), ("new", 100, 0)]));
        assert_eq!(growths(&multi_run(&[run("a", 4, 9, &[("x", 9)])]), Scaling::Strong), []);
        let solve = output.regions.iter().find(|row| &*row.region == "solve").unwrap();
        assert_eq!(solve.max_ns, [Some(3200), Some(3200)]);
    }

    #[test]
    fn speed_up_is_measured_from_the_smallest_run() {
        let output = multi_run(&[
            run("b", 8, 300, &[("solve", 1600), ("MPI_Wait", 800)]),
            run("a", 4, 400, &[("solve", 1600), ("init", 3)]),
            run("c", 4, 0, &[]),
        ]);
        let scaling: Vec<_> =
            output.runs.iter().map(|run| (&*run.name, run.is_reference, run.speed_up)).collect();
        assert_eq!(scaling, [("b", false, Some(400.0 / 300.0)), ("a", true, Some(1.0)), ("c", false, None)]);
        let efficiency = output.runs[0].efficiency.unwrap();
        assert!((efficiency - 2.0 / 3.0).abs() < 1e-12, "{efficiency}");
        let regions: Vec<_> =
            output.regions.iter().map(|row| (&*row.region, &row.exclusive_ns[..])).collect();
        assert_eq!(
            regions,
            [
                ("solve", &[Some(1600), Some(1600), None][..]),
                ("MPI_Wait", &[Some(800), None, None]),
                ("init", &[None, Some(3), None])
            ]
        );
        assert_eq!(output.regions[0].mean_ns, [Some(200), Some(400), None]);
        assert_eq!(output.table().n_rows(), 9);
        let scaling = output.scaling_table();
        let column = |name| &scaling.column(name).unwrap().data;
        assert_eq!(column("reference"), &ColumnData::Text(vec!["a".into(); 3]));
        assert_eq!(column("speed_up"), &ColumnData::OptionF64(vec![Some(400.0 / 300.0), Some(1.0), None]));
    }

    #[test]
    fn no_run_is_no_row() {
        let output = multi_run(&[]);
        assert_eq!((output.runs.len(), output.table().n_rows()), (0, 0));
    }
}
