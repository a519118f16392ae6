//! Time of each call path over the threads, read once from the last call path to the first.
//!
//! Law: sums are made in the order of the tree, so they are equal on every machine. Memory holds one vector of threads
//! for each level of the tree, and a few numbers for each call path.

use super::lanes::Lanes;
use super::shares::ShareKind;
use ouzel_model::{
    CallPathId, LocationId, MetricId, ProfileSource, Scope, ScopedRows, SeverityError, SeverityRow,
};
use ouzel_model::{MetricValueType, Notice};

/// A rank may take this much more than the median for a visit before it counts as slow there: less is usual between
/// cores of one machine.
const SLOW_ABOVE: f64 = 1.2;
/// A rank whose visits take so many times the best is named beside the call path.
const COSTLY_ABOVE: f64 = 2.0;

/// Seconds below zero that subtracting callees from sums of them may leave.
const ROUNDING: f64 = 1e-9;

/// The metrics that are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metrics {
    /// Time, and the seconds in one of its unit.
    pub time: (MetricId, f64),
    /// Time of threads that have nothing to do, part of `time`.
    pub idle: Option<MetricId>,
    /// How often regions are entered.
    pub visits: Option<MetricId>,
}

/// How a quantity of a call path is spread over the processes; of several threads, the one with most counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ProcessSpread {
    pub mean: f64,
    /// Value and process.
    pub most: (f64, usize),
    pub least: (f64, usize),
    /// Mean over the processes of most − mean of their threads.
    pub between_threads: f64,
    /// Whether at most one thread of each process has any, where processes have several.
    pub on_one_thread: bool,
}

/// How often the processes enter a call path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct VisitSpread {
    pub sum: f64,
    pub least: f64,
    pub most: f64,
    /// Of the process that computes longest here.
    pub of_longest: f64,
}

/// What a call path takes, in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PathSums {
    /// Without callees, over all threads.
    pub exclusive: f64,
    /// With callees, over all threads.
    pub inclusive: f64,
    /// Computation with that of callees.
    pub useful: ProcessSpread,
    /// All time without callees.
    pub own: ProcessSpread,
    pub visits: Option<VisitSpread>,
    /// Processes whose visits take far longer than those of the best without callees, where all enter equally often.
    pub costly: Vec<usize>,
}

/// A process whose visits take longer than the median in most of what it computes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Slowness {
    /// Computation where visits can be compared.
    pub judged: f64,
    /// Part of it: where its visits take longer.
    pub slow: f64,
    /// `slow` − what the same visits take at the median.
    pub excess: f64,
    /// Call paths with time in `slow`.
    pub n_paths: u64,
}

/// All times.
#[derive(Debug, Clone, Default)]
pub(super) struct Times {
    /// By call path.
    pub paths: Vec<PathSums>,
    /// By thread, in seconds: all time, and computation.
    pub totals: Vec<f64>,
    pub useful: Vec<f64>,
    /// The least positive time of a thread in a call path: of samples, a multiple of the period.
    pub least: f64,
    /// By call path, whether every thread with time has some below the same root: threads with roots of their own cannot
    /// be compared by call path.
    pub shares_root: Vec<bool>,
    /// Seconds of all threads by what they are spent on; idle threads apart.
    pub shares: Vec<(ShareKind, f64)>,
    /// By process.
    pub slowness: Vec<Slowness>,
    pub notices: Vec<Notice>,
}

/// The time of each location over all call paths, in seconds.
#[derive(Debug, Clone, Default)]
pub(super) struct LocationTotals {
    pub all: Vec<f64>,
    /// The part of it in which it waits for the outside, see [`ShareKind::OtherWaiting`].
    pub outside: Vec<f64>,
    /// How many values are negative.
    pub n_negative: u64,
}

/// Sums over all rows. `kinds` has for each call path what its own time is spent on.
pub(super) fn location_totals(
    source: &dyn ProfileSource,
    (metric, scale): (MetricId, f64),
    kinds: &[(ShareKind, bool)],
) -> Result<LocationTotals, SeverityError> {
    let definitions = source.definitions();
    let mut totals = LocationTotals::new(definitions.locations.len());
    let mut rows = ScopedRows::open(source, metric, Scope::Exclusive, definitions.call_tree.all())?;
    let mut row = SeverityRow::new(definitions.metric(metric).value_type);
    while rows.read(&mut row)? {
        let is_outside = kinds[row.path.index()].0 == ShareKind::OtherWaiting;
        for (location, value) in row.iter() {
            let time = value.max(0.0) * scale;
            totals.all[location.index()] += time;
            totals.outside[location.index()] += if is_outside { time } else { 0.0 };
            totals.n_negative += u64::from(value * scale < -ROUNDING);
        }
    }
    Ok(totals)
}

impl LocationTotals {
    /// No time anywhere.
    pub fn new(n_locations: usize) -> Self {
        LocationTotals { all: vec![0.0; n_locations], outside: vec![0.0; n_locations], n_negative: 0 }
    }
}

impl Times {
    /// Reads all rows. `kinds` has for each call path what its own time is spent on, and whether that is computation.
    pub fn read(
        source: &dyn ProfileSource,
        metrics: Metrics,
        lanes: &Lanes,
        kinds: &[(ShareKind, bool)],
    ) -> Result<Times, SeverityError> {
        let tree = &source.definitions().call_tree;
        let mut times = Times {
            paths: vec![PathSums::default(); tree.len()],
            totals: vec![0.0; lanes.n],
            useful: vec![0.0; lanes.n],
            slowness: vec![Slowness::default(); lanes.processes.len()],
            least: f64::INFINITY,
            shares_root: vec![true; tree.len()],
            ..Times::default()
        };
        let mut time = PathRows::open(source, Some(metrics.time.0), metrics.time.1)?;
        let mut idle = PathRows::open(source, metrics.idle, metrics.time.1)?;
        let mut visits = PathRows::open(source, metrics.visits, 1.0)?;
        let mut shares = vec![0.0; ShareKind::ALL.len()];
        let mut levels: Vec<Level> = (0..=tree.n_levels()).map(|_| Level::new(lanes.n)).collect();
        let (mut own, mut idles, mut entered) = (vec![0.0; lanes.n], vec![0.0; lanes.n], vec![0.0; lanes.n]);
        let mut rooted = vec![false; lanes.n];
        for path in tree.paths().rev() {
            let (kind, is_useful) = kinds[path.index()];
            let has_time = time.take(path, lanes, &mut own)?;
            idle.take(path, lanes, &mut idles)?;
            let has_visits = visits.take(path, lanes, &mut entered)?;
            let depth = tree.depth(path);
            if depth == 0 {
                let of_root = rooted.iter().zip(&own).all(|(rooted, own)| *rooted || 0.0 < *own);
                let subtree = tree.subtree(path);
                times.shares_root[subtree.start.index()..subtree.end.index()].fill(of_root);
            }
            if !has_time && !levels[depth + 1].any {
                continue;
            }
            let sums = &mut times.paths[path.index()];
            sums.exclusive = own.iter().sum();
            sums.own = spread(&own, lanes);
            for ((total, rooted), &own) in times.totals.iter_mut().zip(&mut rooted).zip(&own) {
                *total += own;
                *rooted |= 0.0 < own;
                if 0.0 < own {
                    times.least = times.least.min(own);
                }
            }
            // What is left after idle threads.
            for (own, idle) in own.iter_mut().zip(&idles) {
                let idle = idle.min(*own);
                shares[ShareKind::IdleThreads as usize] += idle;
                *own -= idle;
            }
            shares[kind as usize] += own.iter().sum::<f64>();
            if !is_useful {
                own.fill(0.0);
            }
            for (useful, own) in times.useful.iter_mut().zip(&own) {
                *useful += own;
            }
            if has_visits && is_useful {
                sums.costly = compare_visits(&own, &entered, lanes, &mut times.slowness);
            }
            let mut below = std::mem::take(&mut levels[depth + 1]);
            below.add(&own, sums.exclusive);
            sums.inclusive = below.inclusive;
            sums.useful = spread(&below.useful, lanes);
            if has_visits {
                sums.visits = Some(visit_spread(&entered, lanes, sums.useful.most.1));
            }
            levels[depth].add(&below.useful, below.inclusive);
            if depth == 0 {
                rooted.fill(false);
            }
            below.clear();
            levels[depth + 1] = below;
        }
        times.shares = ShareKind::ALL.into_iter().zip(shares).collect();
        for rows in [time, idle, visits] {
            times.notices.extend(rows.finish());
        }
        Ok(times)
    }

    /// The time of the thread with most, and its number; `None` without any time.
    pub fn longest(&self) -> Option<(f64, usize)> {
        let longest =
            (0..self.totals.len()).reduce(|a, b| if self.totals[a] < self.totals[b] { b } else { a });
        longest.map(|lane| (self.totals[lane], lane)).filter(|(time, _)| 0.0 < *time)
    }
}

/// What is summed up for callers at one depth of the tree.
#[derive(Debug, Default)]
struct Level {
    useful: Vec<f64>,
    inclusive: f64,
    any: bool,
}

impl Level {
    fn new(n: usize) -> Self {
        Level { useful: vec![0.0; n], inclusive: 0.0, any: false }
    }

    fn add(&mut self, useful: &[f64], inclusive: f64) {
        for (sum, value) in self.useful.iter_mut().zip(useful) {
            *sum += value;
        }
        self.inclusive += inclusive;
        self.any = true;
    }

    fn clear(&mut self) {
        self.useful.fill(0.0);
        self.inclusive = 0.0;
        self.any = false;
    }
}

/// The rows of a metric, the next one known.
struct PathRows<'a> {
    rows: Option<ScopedRows<'a>>,
    row: SeverityRow,
    has_row: bool,
    scale: f64,
}

impl<'a> PathRows<'a> {
    fn open(
        source: &'a dyn ProfileSource,
        metric: Option<MetricId>,
        scale: f64,
    ) -> Result<Self, SeverityError> {
        let definitions = source.definitions();
        let value_type = metric.map_or(MetricValueType::F64, |metric| definitions.metric(metric).value_type);
        let all = definitions.call_tree.all();
        let rows =
            metric.map(|metric| ScopedRows::open(source, metric, Scope::Exclusive, all)).transpose()?;
        let mut rows = PathRows { rows, row: SeverityRow::new(value_type), has_row: false, scale };
        rows.advance()?;
        Ok(rows)
    }

    fn advance(&mut self) -> Result<(), SeverityError> {
        self.has_row = match &mut self.rows {
            Some(rows) => rows.read(&mut self.row)?,
            None => false,
        };
        Ok(())
    }

    /// Puts the values of `path` into `values`, zero where there is none; whether there is any.
    fn take(&mut self, path: CallPathId, lanes: &Lanes, values: &mut [f64]) -> Result<bool, SeverityError> {
        values.fill(0.0);
        if !self.has_row || self.row.path != path {
            return Ok(false);
        }
        let mut any = false;
        let lane_of = |location: LocationId| lanes.of_location[location.index()];
        for (location, value) in self.row.iter() {
            let Some(lane) = lane_of(location) else { continue };
            values[lane] = value.max(0.0) * self.scale;
            any |= 0.0 < value;
        }
        self.advance()?;
        Ok(any)
    }

    fn finish(self) -> Vec<Notice> {
        self.rows.map(|mut rows| rows.notices()).unwrap_or_default()
    }
}

fn spread(values: &[f64], lanes: &Lanes) -> ProcessSpread {
    let mut spread = ProcessSpread { least: (f64::INFINITY, 0), most: (-1.0, 0), ..ProcessSpread::default() };
    spread.on_one_thread = lanes.is_multithreaded();
    let n = lanes.processes.len() as f64;
    for (at, process) in lanes.processes.iter().enumerate() {
        let of = &values[process.lanes.clone()];
        let longest = of.iter().copied().fold(0.0, f64::max);
        spread.between_threads += longest - of.iter().sum::<f64>() / of.len() as f64;
        spread.on_one_thread &= of.iter().filter(|value| 0.0 < **value).count() <= 1;
        spread.mean += longest;
        if spread.most.0 < longest {
            spread.most = (longest, at);
        }
        if longest < spread.least.0 {
            spread.least = (longest, at);
        }
    }
    spread.mean /= n;
    spread.between_threads /= n;
    spread
}

fn by_process<'a>(values: &'a [f64], lanes: &'a Lanes) -> impl Iterator<Item = f64> + 'a {
    lanes.processes.iter().map(|process| values[process.lanes.clone()].iter().sum())
}

fn visit_spread(entered: &[f64], lanes: &Lanes, longest: usize) -> VisitSpread {
    let fold = |f: fn(f64, f64) -> f64, start| by_process(entered, lanes).fold(start, f);
    VisitSpread {
        sum: entered.iter().sum(),
        least: fold(f64::min, f64::INFINITY),
        most: fold(f64::max, 0.0),
        of_longest: by_process(entered, lanes).nth(longest).unwrap_or(0.0),
    }
}

/// Where all processes enter equally often: the processes whose visits take far longer than the best; adds up who is
/// slower than the median.
fn compare_visits(own: &[f64], entered: &[f64], lanes: &Lanes, slowness: &mut [Slowness]) -> Vec<usize> {
    let visits: Vec<f64> = by_process(entered, lanes).collect();
    let Some(&each) = visits.first() else { return Vec::new() };
    if each <= 0.0 || visits.len() < 2 || visits.iter().any(|visits| *visits < each || each < *visits) {
        return Vec::new();
    }
    let times: Vec<f64> = by_process(own, lanes).collect();
    let mut sorted = times.clone();
    sorted.sort_by(f64::total_cmp);
    let (best, median) = (sorted[0], sorted[(sorted.len() - 1) / 2]);
    for (slowness, &time) in slowness.iter_mut().zip(&times) {
        slowness.judged += time;
        if median * SLOW_ABOVE < time {
            slowness.slow += time;
            slowness.excess += time - median;
            slowness.n_paths += 1;
        }
    }
    if best <= 0.0 {
        return Vec::new();
    }
    (0..times.len()).filter(|&at| best * COSTLY_ABOVE < times[at]).collect()
}
