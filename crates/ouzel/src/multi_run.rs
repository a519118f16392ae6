//! Several runs of a program side by side: how it scales, and which regions grow.
//!
//! ```text
//! profile of each trace ──Run::new──► time by name of region, by call path ──multi_run──► scaling table, rows by cost
//!                                                                          └─growths────► what stops scaling
//! ```
//!
//! Runs are compared by names: ids and clocks of different traces are unrelated. Where several regions of a run have one
//! name, `file:line` tells them apart; those without it are put together. The reference is the run with the
//! fewest processes, the first given if there are several.
//! `speed-up = run time of the reference / run time`, `efficiency = speed-up · processes of the reference / processes`.
//! After Pipit's `multi_run_analysis` (Bhatele et al., SC 2023), whose rows of equally large runs overwrite each other.
//! Law: runs stay in the caller's order. Traces are opened, and results judged, elsewhere.

use ouzel_analyses::By;
use ouzel_analyses::call_path_profile::ProfileOutput;
use ouzel_analyses::flat_profile::{FlatRow, flat_profile};
use ouzel_efficiency::Scaling;
use ouzel_model::{ColumnData, Definitions, Region, Table, Ticks, TimeRange, Unit};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
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
    /// Exclusive times by region; regions with the same name and source are put together.
    pub regions: BTreeMap<RegionName, PlaceTime>,
    /// Exclusive times by call path; those of the same names are put together.
    pub call_paths: BTreeMap<Place, PlaceTime>,
    /// Iterations of the loop of synchronisations that takes most time; `None` if there is none or it is not known.
    pub n_iterations: Option<u64>,
}

/// What regions of different traces are known by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RegionName {
    /// The name.
    pub name: Arc<str>,
    /// `file:line`, if recorded.
    pub source: Option<Arc<str>>,
}

impl RegionName {
    fn of(region: &Region) -> Self {
        RegionName { name: region.name.clone(), source: region.source().map(Arc::from) }
    }

    /// The name; with the source if several regions have the name.
    fn label(&self, ambiguous: &BTreeSet<Arc<str>>) -> Arc<str> {
        match &self.source {
            Some(source) if ambiguous.contains(&self.name) => Arc::from(format!("{} ({source})", self.name)),
            _ => self.name.clone(),
        }
    }
}

/// The names that several regions of one run have, at different places.
fn ambiguous(runs: &[Run]) -> BTreeSet<Arc<str>> {
    let mut found = BTreeSet::new();
    for run in runs {
        let names: Vec<&Arc<str>> = run.regions.keys().map(|region| &region.name).collect();
        // They are sorted by name.
        found.extend(names.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0].clone()));
    }
    found
}

/// Names of regions: that of one, or those of a call path from the outermost.
pub type Place = Vec<Arc<str>>;

/// Exclusive time in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceTime {
    /// Of all processes.
    pub sum_ns: u64,
    /// Visits over all processes; 0 for samples.
    pub n_visits: u64,
    /// Of the process with most; `None` where several regions or call paths have the name.
    pub max_ns: Option<u64>,
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
        let gain = |ticks: u64| ticks;
        (run.regions, run.call_paths) = places(profile, definitions, &gain);
        let times = run.regions.values_mut().chain(run.call_paths.values_mut());
        times.for_each(|time| time.max_ns = None);
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
        let (regions, call_paths) = places(profile, definitions, &|ticks| clock.ns_from_ticks(Ticks(ticks)));
        let run = run_range.map(|range| range.end.since(range.start)).unwrap_or_default();
        let n_processes = flat_profile(profile, definitions, By::Region).n_processes;
        let run_time_ns = clock.ns_from_ticks(run);
        Run { name: name.into(), n_processes, run_time_ns, regions, call_paths, n_iterations: None }
    }

    /// The same with the number of iterations.
    #[must_use]
    pub fn with_iterations(self, n_iterations: Option<u64>) -> Self {
        Run { n_iterations, ..self }
    }

    /// What is compared, by name.
    fn places(&self, by: By, ambiguous: &BTreeSet<Arc<str>>) -> BTreeMap<Place, PlaceTime> {
        if by == By::CallPath {
            return self.call_paths.clone();
        }
        let mut places = BTreeMap::new();
        for (region, time) in &self.regions {
            time.add_to(&mut places, vec![region.label(ambiguous)]);
        }
        places
    }
}

impl PlaceTime {
    fn add_to<K: Ord>(self, places: &mut BTreeMap<K, PlaceTime>, place: K) {
        let together = |time: &mut PlaceTime| {
            *time = PlaceTime {
                sum_ns: time.sum_ns.saturating_add(self.sum_ns),
                n_visits: time.n_visits + self.n_visits,
                max_ns: None,
            };
        };
        places.entry(place).and_modify(together).or_insert(self);
    }
}

/// Exclusive times by region and by call path; `value` turns ticks into what is compared.
fn places(
    profile: &ProfileOutput,
    definitions: &Definitions,
    value: &dyn Fn(u64) -> u64,
) -> (BTreeMap<RegionName, PlaceTime>, BTreeMap<Place, PlaceTime>) {
    let time = |row: &FlatRow| PlaceTime {
        sum_ns: value(u64::try_from(row.exclusive.sum).unwrap_or(u64::MAX)),
        n_visits: row.visits,
        max_ns: Some(value(row.exclusive.max.0)),
    };
    let (mut regions, mut call_paths) = (BTreeMap::new(), BTreeMap::new());
    for row in &flat_profile(profile, definitions, By::Region).rows {
        time(row).add_to(&mut regions, RegionName::of(definitions.region(row.key.region)));
    }
    for row in &flat_profile(profile, definitions, By::CallPath).rows {
        let path = row.key.call_path.map(|path| profile.call_paths.regions(path));
        let names =
            path.unwrap_or_default().into_iter().map(|region| definitions.region(region).name.clone());
        time(row).add_to(&mut call_paths, names.collect());
    }
    (regions, call_paths)
}

/// Runs side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct MultiRunOutput {
    /// In the order given.
    pub runs: Vec<RunRow>,
    /// Most time over all runs first, then by name.
    pub rows: Vec<PlaceRow>,
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
    /// Iterations of the loop of synchronisations that takes most time, if known.
    pub n_iterations: Option<u64>,
    /// Whether the others are compared with it.
    pub is_reference: bool,
    /// Run time of the reference / run time; `None` if that is zero.
    pub speed_up: Option<f64>,
    /// `speed-up · processes of the reference / processes`.
    pub efficiency: Option<f64>,
}

/// One region or call path in all runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceRow {
    /// Its names.
    pub place: Place,
    /// Exclusive time of all processes, by run; `None` where it is not called.
    pub exclusive_ns: Vec<Option<u64>>,
    /// The same divided by the number of processes.
    pub mean_ns: Vec<Option<u64>>,
    /// Exclusive time of the process with most; `None` also where several have the name.
    pub max_ns: Vec<Option<u64>>,
}

impl PlaceRow {
    /// The region: of a call path, the innermost.
    pub fn region(&self) -> Arc<str> {
        self.place.last().cloned().unwrap_or_else(|| "".into())
    }
}

/// A call path that takes more time than it would if it scaled like the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    /// Its regions, from the outermost.
    pub call_path: Place,
    /// The run with most excess: its place.
    pub run: usize,
    /// Mean exclusive time of a process there.
    pub mean_ns: u64,
    /// What it would be if it scaled: the reference's · its processes / the run's (strong), or the reference's (weak); times
    /// the quotient of `iterations`.
    pub ideal_ns: u64,
    /// Iterations of the run and of the reference, where these differ.
    pub iterations: Option<(u64, u64)>,
}

/// Call paths that stop scaling: their time grows by more than 1 % of the run time over that of ideal scaling, most first.
/// Empty where all runs have the same number of processes. A call path that the reference does not have is ideal at zero.
/// Where iterations are counted in both runs, the time of one is compared, unless the reference comes here less often than
/// every other iteration.
pub fn growths(runs: &[Run], scaling: Scaling) -> Vec<Growth> {
    let output = &multi_run(runs, By::CallPath);
    let Some(base) = output.runs.iter().position(|run| run.is_reference) else { return Vec::new() };
    let n = |run: usize| u128::from(output.runs[run].n_processes);
    let of = |row: &PlaceRow, run: usize| {
        let counts = output.runs[run].n_iterations.zip(output.runs[base].n_iterations);
        let visits = runs[base].call_paths.get(&row.place).map_or(0, |time| time.n_visits);
        let is_repeated = |iterations: u64| u128::from(iterations) * n(base) <= 2 * u128::from(visits);
        let iterations =
            counts.filter(|&(own, reference)| own != reference && 0 < reference && is_repeated(reference));
        let (own, whole) = iterations.unwrap_or((1, 1));
        let reference = u128::from(row.mean_ns[base].unwrap_or(0)) * u128::from(own) / u128::from(whole);
        let ideal = match scaling {
            Scaling::Strong => (reference * n(base)).checked_div(n(run))?,
            Scaling::Weak => reference,
        };
        let (mean_ns, ideal_ns) = (row.mean_ns[run]?, u64::try_from(ideal).unwrap_or(u64::MAX));
        let excess = mean_ns.checked_sub(ideal_ns)?;
        let is_large = output.runs[run].run_time_ns < excess.saturating_mul(100);
        is_large.then(|| Growth { call_path: row.place.clone(), run, mean_ns, ideal_ns, iterations })
    };
    let others: Vec<usize> = (0..output.runs.len()).filter(|&run| n(run) != n(base)).collect();
    let worst = |row: &PlaceRow| {
        let found = others.iter().filter_map(|&run| of(row, run));
        found.max_by_key(|growth| growth.mean_ns - growth.ideal_ns)
    };
    let mut found: Vec<Growth> = output.rows.iter().filter_map(worst).collect();
    found.sort_by_key(|growth| Reverse(growth.mean_ns - growth.ideal_ns));
    found
}

/// Puts runs side by side, region by region or call path by call path.
pub fn multi_run(runs: &[Run], by: By) -> MultiRunOutput {
    let reference = (0..runs.len()).min_by_key(|&i| runs[i].n_processes);
    let rows = runs.iter().enumerate().map(|(i, run)| {
        let base = &runs[reference.unwrap_or(i)];
        let ratio = |part: u64, whole: u64| (whole != 0).then(|| part as f64 / whole as f64);
        let speed_up = ratio(base.run_time_ns, run.run_time_ns);
        RunRow {
            name: run.name.clone(),
            n_processes: run.n_processes,
            run_time_ns: run.run_time_ns,
            n_iterations: run.n_iterations,
            is_reference: reference == Some(i),
            speed_up,
            efficiency: speed_up.zip(ratio(base.n_processes, run.n_processes)).map(|(a, b)| a * b),
        }
    });
    let ambiguous = ambiguous(runs);
    let of_runs: Vec<BTreeMap<Place, PlaceTime>> =
        runs.iter().map(|run| run.places(by, &ambiguous)).collect();
    let places: BTreeSet<&Place> = of_runs.iter().flat_map(BTreeMap::keys).collect();
    let in_all_runs = |place: &Place| {
        let times: Vec<Option<PlaceTime>> = of_runs.iter().map(|run| run.get(place).copied()).collect();
        let mean = |(time, run): (&Option<PlaceTime>, &Run)| {
            time.and_then(|it| it.sum_ns.checked_div(run.n_processes))
        };
        PlaceRow {
            place: place.clone(),
            exclusive_ns: times.iter().map(|time| time.map(|it| it.sum_ns)).collect(),
            mean_ns: times.iter().zip(runs).map(mean).collect(),
            max_ns: times.iter().map(|time| time.and_then(|it| it.max_ns)).collect(),
        }
    };
    let mut of_places: Vec<PlaceRow> = places.into_iter().map(in_all_runs).collect();
    // A stable sort: equal ones stay in the order of their names.
    let cost = |row: &PlaceRow| row.exclusive_ns.iter().flatten().map(|&ns| u128::from(ns)).sum::<u128>();
    of_places.sort_by_key(|row| Reverse(cost(row)));
    MultiRunOutput { runs: rows.collect(), rows: of_places }
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

    /// One row for each region and run, region by region; of call paths, one for each of them, with its regions.
    pub fn table(&self, by: By) -> Table {
        let each = || self.rows.iter().flat_map(|row| (0..self.runs.len()).map(move |i| (row, i)));
        let number = |value: &dyn Fn(&PlaceRow, usize) -> Option<u64>| {
            ColumnData::OptionU64(each().map(|(row, i)| value(row, i)).collect())
        };
        let table = Table::new("regions of runs").with(
            "region",
            Unit::None,
            "Name of the region, with file:line where several regions of a run have the name",
            ColumnData::Text(each().map(|(row, _)| row.region()).collect()),
        );
        let table = match by {
            By::Region => table,
            By::CallPath => table.with(
                "call_path",
                Unit::None,
                "Regions from the outermost",
                ColumnData::TextList(each().map(|(row, _)| row.place.clone()).collect()),
            ),
        };
        table
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
        let time = |ns| PlaceTime { sum_ns: ns, n_visits: 40, max_ns: Some(ns) };
        let named = |text: &str| {
            let (name, source) =
                text.split_once('@').map_or((text, None), |(name, of)| (name, Some(Arc::from(of))));
            RegionName { name: Arc::from(name), source }
        };
        let call_paths = regions.iter().map(|&(region, ns)| (vec![Arc::from(region)], time(ns))).collect();
        let regions = regions.iter().map(|&(region, ns)| (named(region), time(ns))).collect();
        Run { name: name.into(), n_processes, run_time_ns, regions, call_paths, n_iterations: None }
    }

    #[test]
    fn call_paths_that_stop_scaling_are_named_most_excess_first() {
        let runs = [
            run("4", 4, 1000, &[("solve", 3200), ("reduce", 400), ("io", 40)]),
            run("8", 8, 700, &[("solve", 3200), ("reduce", 1600), ("io", 80), ("new", 800)]),
        ];
        // Mean 800 → 400, 100 → 200, 10 → 10, 0 → 100.
        let told = |scaling| -> Vec<(String, u64, u64)> {
            let found = growths(&runs, scaling);
            found.iter().map(|of| (of.call_path.join("/"), of.mean_ns, of.ideal_ns)).collect()
        };
        let named = |rows: &[(&str, u64, u64)]| -> Vec<(String, u64, u64)> {
            rows.iter().map(|(region, mean, ideal)| ((*region).to_owned(), *mean, *ideal)).collect()
        };
        // Strong: 400 of 400, 200 of 50, 10 of 5 (less than 1 % of 700), 100 of 0. Weak: 200 of 100, 100 of 0.
        assert_eq!(told(Scaling::Strong), named(&[("reduce", 200, 50), ("new", 100, 0)]));
        assert_eq!(told(Scaling::Weak), named(&[("reduce", 200, 100), ("new", 100, 0)]));
        assert_eq!(growths(&[run("a", 4, 9, &[("x", 9)])], Scaling::Strong), []);
        let output = multi_run(&runs, By::Region);
        let solve = output.rows.iter().find(|row| &*row.region() == "solve").unwrap();
        assert_eq!(solve.max_ns, [Some(3200), Some(3200)]);
    }

    #[test]
    fn runs_of_different_length_are_compared_by_iteration() {
        let of = |iterations| {
            [
                run("4", 4, 1000, &[("solve", 3200)]).with_iterations(Some(10)),
                run("8", 8, 700, &[("solve", 9600)]).with_iterations(iterations),
            ]
        };
        // Mean 800 → 1200: with 30 iterations for 10, 40 each for 80.
        assert_eq!(growths(&of(Some(30)), Scaling::Strong), []);
        let found = growths(&of(Some(20)), Scaling::Strong);
        assert_eq!((found[0].ideal_ns, found[0].iterations), (800, Some((20, 10))));
        let mut once = of(Some(20));
        once[0].call_paths.values_mut().for_each(|time| time.n_visits = 4);
        assert_eq!(growths(&once, Scaling::Strong)[0].ideal_ns, 400, "not in the loop");
        for unknown in [None, Some(10)] {
            let found = growths(&of(unknown), Scaling::Strong);
            assert_eq!((found[0].ideal_ns, found[0].iterations), (400, None));
        }
    }

    #[test]
    fn speed_up_is_measured_from_the_smallest_run() {
        let output = multi_run(
            &[
                run("b", 8, 300, &[("solve", 1600), ("MPI_Wait", 800)]),
                run("a", 4, 400, &[("solve", 1600), ("init", 3)]),
                run("c", 4, 0, &[]),
            ],
            By::Region,
        );
        let scaling: Vec<_> =
            output.runs.iter().map(|run| (&*run.name, run.is_reference, run.speed_up)).collect();
        assert_eq!(scaling, [("b", false, Some(400.0 / 300.0)), ("a", true, Some(1.0)), ("c", false, None)]);
        let efficiency = output.runs[0].efficiency.unwrap();
        assert!((efficiency - 2.0 / 3.0).abs() < 1e-12, "{efficiency}");
        let regions: Vec<_> =
            output.rows.iter().map(|row| (row.place.join("/"), row.exclusive_ns.clone())).collect();
        assert_eq!(
            regions,
            [
                ("solve".to_owned(), vec![Some(1600), Some(1600), None]),
                ("MPI_Wait".to_owned(), vec![Some(800), None, None]),
                ("init".to_owned(), vec![None, Some(3), None])
            ]
        );
        assert_eq!(output.rows[0].mean_ns, [Some(200), Some(400), None]);
        assert_eq!(output.table(By::Region).n_rows(), 9);
        let scaling = output.scaling_table();
        let column = |name| &scaling.column(name).unwrap().data;
        assert_eq!(column("reference"), &ColumnData::Text(vec!["a".into(); 3]));
        assert_eq!(column("speed_up"), &ColumnData::OptionF64(vec![Some(400.0 / 300.0), Some(1.0), None]));
    }

    #[test]
    fn regions_of_one_name_are_told_apart_by_their_source() {
        let runs = [
            run("a", 2, 100, &[("f@a.c:1", 30), ("f@b.c:1", 20), ("g@g.c:1", 9), ("h", 1)]),
            run("b", 4, 100, &[("f@a.c:1", 60), ("g@other.c:1", 8)]),
        ];
        let output = multi_run(&runs, By::Region);
        let rows: Vec<_> =
            output.rows.iter().map(|row| (row.place.join("/"), row.exclusive_ns.clone())).collect();
        assert_eq!(
            rows,
            [
                ("f (a.c:1)".to_owned(), vec![Some(30), Some(60)]),
                ("f (b.c:1)".to_owned(), vec![Some(20), None]),
                ("g".to_owned(), vec![Some(9), Some(8)]),
                ("h".to_owned(), vec![Some(1), None]),
            ]
        );
    }

    #[test]
    fn no_run_is_no_row() {
        let output = multi_run(&[], By::CallPath);
        assert_eq!((output.runs.len(), output.table(By::CallPath).n_rows()), (0, 0));
    }
}
