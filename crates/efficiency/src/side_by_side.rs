//! The efficiencies of one or several runs, as all front ends show them.

use crate::metric::{Metric, MetricValue, Reason};
use crate::parts::{Part, PartKind};
use crate::run::RunEfficiency;
use crate::scaling::{self, Scaled, Scaling, ScalingOutput, scaling};
use crate::{HybridModel, device};
use ouzel_model::{Clock, ColumnData, Table, Ticks, Unit};
use std::sync::Arc;

/// What is known of the run in one trace.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceEfficiency {
    /// The clock of its times.
    pub clock: Clock,
    /// Of the whole run.
    pub run: RunEfficiency,
    /// The split between processes and threads, if it was asked for.
    pub hybrid: Option<(HybridModel, Vec<MetricValue>)>,
    /// Number of accelerators, and how well they are used; `None` without any.
    pub devices: Option<(u64, Vec<MetricValue>)>,
    /// The parts, if they were asked for, or why there are none.
    pub parts: Option<(PartKind, Result<Vec<Part>, Reason>)>,
}

impl TraceEfficiency {
    /// Ticks of the trace's clock in nanoseconds.
    pub fn ns(&self, ticks: Ticks) -> u64 {
        self.clock.ns_from_ticks(ticks)
    }

    /// A sum of ticks over threads in nanoseconds.
    pub fn ns_of_sum(&self, ticks: u128) -> u64 {
        // Sums over all threads may exceed the range of ticks: then nanoseconds do, too.
        self.ns(Ticks(u64::try_from(ticks).unwrap_or(u64::MAX)))
    }
}

/// Runs side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Efficiencies {
    /// In the order given, with the names that the caller gave them.
    pub runs: Vec<(Arc<str>, TraceEfficiency)>,
    /// How they scale.
    pub scaling: ScalingOutput,
}

/// Values that are missing for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingValues {
    /// Why.
    pub reason: Reason,
    /// Which metrics.
    pub metrics: Vec<Metric>,
    /// Of which runs: indices.
    pub runs: Vec<usize>,
}

impl Efficiencies {
    /// Puts runs side by side; `stated` says how the problem grows, if the user knows.
    pub fn new(runs: Vec<(Arc<str>, TraceEfficiency)>, stated: Option<Scaling>) -> Self {
        let scaled: Vec<Scaled<'_>> = runs
            .iter()
            .map(|(_, of)| Scaled { run: &of.run, ticks_per_second: of.clock.ticks_per_second })
            .collect();
        let scaling = scaling(&scaled, stated);
        Efficiencies { runs, scaling }
    }

    /// Whether there are others to compare a run with.
    pub fn are_several(&self) -> bool {
        1 < self.runs.len()
    }

    /// The metrics of all runs, in the order of tables: each follows what it is a part of.
    pub fn metrics(&self) -> Vec<Metric> {
        let of_run = [Metric::Parallel, Metric::LoadBalance, Metric::Communication];
        let mut metrics = Vec::new();
        if self.are_several() {
            metrics.push(Metric::Global);
        }
        metrics.extend(of_run);
        metrics.extend([Metric::Serialisation, Metric::Transfer]);
        let hybrid = self.runs.iter().find_map(|(_, run)| run.hybrid.as_ref());
        metrics.extend(hybrid.iter().flat_map(|(model, _)| model.metrics()));
        if self.are_several() {
            metrics.extend(scaling::METRICS.iter().filter(|&&metric| metric != Metric::Global));
        }
        if self.runs.iter().any(|(_, run)| run.devices.is_some()) {
            metrics.extend(device::METRICS);
        }
        metrics
    }

    /// The value of a metric of a run, or why it has none.
    pub fn value(&self, run: usize, metric: Metric) -> Result<f64, Reason> {
        let found = self.values(run).find(|value| value.metric == metric);
        found.map_or_else(|| Err(Reason::new("the trace has no accelerator streams")), |of| of.value.clone())
    }

    /// All values of a run.
    pub fn values(&self, run: usize) -> impl Iterator<Item = &MetricValue> {
        let (_, of) = &self.runs[run];
        let hybrid = of.hybrid.iter().flat_map(|(_, values)| values);
        let devices = of.devices.iter().flat_map(|(_, values)| values);
        of.run.metrics.iter().chain(hybrid).chain(&self.scaling.metrics[run]).chain(devices)
    }

    /// What is missing, in the order of tables: each reason with the metrics and the runs that it is for.
    pub fn missing(&self) -> Vec<MissingValues> {
        let mut missing: Vec<MissingValues> = Vec::new();
        for metric in self.metrics() {
            for run in 0..self.runs.len() {
                let Err(reason) = self.value(run, metric) else { continue };
                let at = missing.iter().position(|known| known.reason == reason).unwrap_or_else(|| {
                    missing.push(MissingValues { reason, metrics: Vec::new(), runs: Vec::new() });
                    missing.len() - 1
                });
                let MissingValues { metrics, runs, .. } = &mut missing[at];
                if metrics.last() != Some(&metric) {
                    metrics.push(metric);
                }
                if !runs.contains(&run) {
                    runs.push(run);
                }
            }
        }
        missing
    }

    /// One row for each run and metric, then one for each part and metric.
    pub fn table(&self) -> Table {
        let mut rows: Vec<TableRow<'_>> = Vec::new();
        for (i, (name, of)) in self.runs.iter().enumerate() {
            let row = |part: Option<Arc<str>>, n_threads, time, metric, value| TableRow {
                run: name,
                n_processes: of.run.n_processes,
                n_threads,
                time_ns: of.ns(time),
                part,
                metric,
                value,
            };
            for metric in self.metrics() {
                let value = self.value(i, metric);
                rows.push(row(None, of.run.n_threads, of.run.run_time, metric, value));
            }
            let Some((kind, Ok(parts))) = &of.parts else { continue };
            for part in parts {
                let name: Arc<str> = part.name(*kind).into();
                for MetricValue { metric, value } in &part.metrics {
                    rows.push(row(Some(name.clone()), part.n_compared, part.time, *metric, value.clone()));
                }
            }
        }
        table_of(&rows)
    }
}

impl Part {
    /// Its name among parts of all kinds: `segment 3`, `iteration 0.12` (of the first loop), `cluster main_thread 1`.
    pub fn name(&self, kind: PartKind) -> String {
        let id = self.id;
        match (self.number(), self.peers) {
            (Some(number), _) => format!("{} {number}", kind.as_str()),
            (None, Some(peers)) => format!("{} {peers} {id}", kind.as_str()),
            (None, None) => format!("{} {id}", kind.as_str()),
        }
    }
}

impl Part {
    /// Of an iteration: `0.12`, or of several `0.120–129`, in the first loop.
    pub fn number(&self) -> Option<String> {
        let (number, of) = (self.in_loop?, self.iterations?);
        Some(match of.first == of.last {
            true => format!("{number}.{}", of.first),
            false => format!("{number}.{}–{}", of.first, of.last),
        })
    }
}

struct TableRow<'a> {
    run: &'a Arc<str>,
    n_processes: u64,
    n_threads: u64,
    time_ns: u64,
    part: Option<Arc<str>>,
    metric: Metric,
    value: Result<f64, Reason>,
}

fn table_of(rows: &[TableRow<'_>]) -> Table {
    let number = |value: &dyn Fn(&TableRow<'_>) -> u64| ColumnData::U64(rows.iter().map(value).collect());
    let text = |value: &dyn Fn(&TableRow<'_>) -> Option<Arc<str>>| {
        ColumnData::OptionText(rows.iter().map(value).collect())
    };
    let runs = ColumnData::Text(rows.iter().map(|row| row.run.clone()).collect());
    let metrics = ColumnData::Text(rows.iter().map(|row| row.metric.as_str().into()).collect());
    let values = ColumnData::OptionF64(rows.iter().map(|row| row.value.as_ref().ok().copied()).collect());
    Table::new("efficiencies")
        .with("run", Unit::None, "Name of the run", runs)
        .with("n_processes", Unit::Count, "Processes of the run", number(&|row| row.n_processes))
        .with("n_threads", Unit::Count, "Threads compared", number(&|row| row.n_threads))
        .with("time_ns", Unit::Nanoseconds, "Run time, or that of the part", number(&|row| row.time_ns))
        .with(
            "part",
            Unit::None,
            "With parts: segment, iteration, epoch or cluster; missing for the whole run",
            text(&|row| row.part.clone()),
        )
        .with("metric", Unit::None, "Name of the metric", metrics)
        .with(
            "part_of",
            Unit::None,
            "The metric that it explains; missing at the top",
            text(&|row| row.metric.part_of().map(|metric| metric.as_str().into())),
        )
        .with("value", Unit::Ratio, "Its value, 1 being ideal; missing if it is not known", values)
        .with(
            "reason",
            Unit::None,
            "Why the value is missing",
            text(&|row| row.value.as_ref().err().map(|reason| reason.as_str().into())),
        )
}
