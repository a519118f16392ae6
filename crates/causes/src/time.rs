//! Which metric is the time of a process.
//!
//! In this order: the metric the user names; CPU time by name; `time` and similar names; the first visible metric in
//! seconds that has values; cycles, in place of CPU time. CPU time excludes waiting only where waiting sleeps; MPI
//! spins. So time in communication is always left out of process vectors if the profile distinguishes it.

use crate::CausesError;
use crate::names::{plain, seconds};
use ouzel_model::{Aggregation, MetricId, MetricKind, ProfileDefinitions, ProfileSource, has_values};
use serde::Serialize;

/// Names of CPU time, simplified by [`plain`].
const CPU_TIMES: [&str; 6] =
    ["cputime", "cpu-time", "task-clock", "cpu-clock", "ru-utime", "process-cpu-time"];
/// Names of wall-clock time.
const WALL_TIMES: [&str; 5] = ["time", "realtime", "wallclock", "wall-time", "walltime"];
/// Names of processor cycles.
pub(crate) const CYCLES: [&str; 7] = [
    "papi-tot-cyc",
    "cycles",
    "cpu-cycles",
    "perf-count-hw-cpu-cycles",
    "cpu-clk-unhalted",
    "cpu-clk-unhalted.thread",
    "papi-ref-cyc",
];

/// What kind of time a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TimeKind {
    /// Time on a processor.
    Cpu,
    /// Wall-clock time.
    Wall,
    /// Cycles of a processor.
    Cycles,
    /// The metric that the user named.
    Named,
}

/// The metrics for time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeMetrics {
    /// The metric for process vectors.
    pub metric: MetricId,
    pub kind: TimeKind,
    /// The metric for shares of the run.
    pub wall: MetricId,
}

/// The metrics for time; `named` is the user's choice.
pub(crate) fn time_metrics(
    source: &dyn ProfileSource,
    named: Option<&str>,
) -> Result<TimeMetrics, CausesError> {
    let definitions = source.definitions();
    let by_name = |names: &[&str]| {
        names.iter().find_map(|name| {
            definitions
                .metric_ids()
                .find(|&id| plain(&definitions.metric(id).name) == *name && is_summed(definitions, id))
        })
    };
    let in_seconds = || {
        let is_time = |id: &MetricId| {
            let metric = definitions.metric(*id);
            seconds(&metric.unit).is_some() && !metric.hidden && is_summed(definitions, *id)
        };
        let times: Vec<MetricId> = definitions.metric_ids().filter(is_time).collect();
        // A read error is reported later, when it is read.
        let with_values = |id: &&MetricId| has_values(source, **id).unwrap_or(true);
        times.iter().find(with_values).or(times.first()).copied()
    };
    let wall = by_name(&WALL_TIMES);
    if let Some(name) = named {
        let metric = definitions.metric_by_name(name);
        let metric = metric.ok_or_else(|| CausesError::NoSuchMetric { name: name.to_owned() })?;
        if !is_summed(definitions, metric) {
            return Err(CausesError::NotSummed { name: name.to_owned() });
        }
        return Ok(TimeMetrics { metric, kind: TimeKind::Named, wall: metric });
    }
    let chosen = by_name(&CPU_TIMES).map(|metric| (metric, TimeKind::Cpu));
    let chosen = chosen.or_else(|| wall.or_else(in_seconds).map(|metric| (metric, TimeKind::Wall)));
    let chosen = chosen.or_else(|| by_name(&CYCLES).map(|metric| (metric, TimeKind::Cycles)));
    let (metric, kind) = chosen.ok_or(CausesError::NoTime)?;
    Ok(TimeMetrics { metric, kind, wall: wall.unwrap_or(metric) })
}

/// The metric for the time of a run, its kind, and the seconds in one of its unit: wall-clock time by name, else CPU time
/// by name, else the first visible metric in a unit of time that has values. `None` without any.
pub fn run_time_metric(source: &dyn ProfileSource) -> Option<(MetricId, TimeKind, f64)> {
    let definitions = source.definitions();
    let timed = |id: MetricId| {
        let metric = definitions.metric(id);
        seconds(&metric.unit).filter(|_| is_summed(definitions, id)).map(|seconds| (id, seconds))
    };
    let by_name = |names: &[&str]| {
        let named = |name: &&str| {
            let is_named = |id: &MetricId| plain(&definitions.metric(*id).name) == **name;
            definitions.metric_ids().filter(is_named).find_map(timed)
        };
        names.iter().find_map(named)
    };
    let in_seconds = || {
        let visible = definitions.metric_ids().filter(|id| !definitions.metric(*id).hidden);
        let times: Vec<(MetricId, f64)> = visible.filter_map(timed).collect();
        let with_values = |(id, _): &&(MetricId, f64)| has_values(source, *id).unwrap_or(true);
        times.iter().find(with_values).or(times.first()).copied()
    };
    let of = |kind| move |(metric, seconds)| (metric, kind, seconds);
    let wall = by_name(&WALL_TIMES).map(of(TimeKind::Wall));
    wall.or_else(|| by_name(&CPU_TIMES).map(of(TimeKind::Cpu)))
        .or_else(|| in_seconds().map(of(TimeKind::Wall)))
}

/// Whether values can be added up over call paths and locations.
pub(crate) fn is_summed(definitions: &ProfileDefinitions, id: MetricId) -> bool {
    let metric = definitions.metric(id);
    metric.aggregation == Aggregation::Sum && !matches!(metric.kind, MetricKind::DerivedAfter(_))
}
