//! The efficiencies of one run, or of some of its threads.

use crate::counters::UsefulCounters;
use crate::metric::{Metric, MetricValue, Reason};
use crate::useful::{Threads, Unavailable};
use ouzel_analyses::ratio;
use ouzel_model::Ticks;

/// The efficiencies of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEfficiency {
    /// From the first event to the last over all locations that run code: `T`.
    pub run_time: Ticks,
    /// The run time on a network without transfer times: `T_id`.
    pub ideal_run_time: Result<Ticks, Reason>,
    /// Processes compared.
    pub n_processes: u64,
    /// Threads compared: all means are over them.
    pub n_threads: u64,
    /// Useful time of all threads.
    pub useful_sum: u128,
    /// Useful time of the thread that has most.
    pub useful_max: Ticks,
    /// What counters gained in the useful time.
    pub counters: UsefulCounters,
    /// Parallel efficiency and its parts, in the order of tables.
    pub metrics: Vec<MetricValue>,
}

/// The metrics of every run, in the order of tables.
pub(crate) const OF_ONE_RUN: [Metric; 5] =
    [Metric::Parallel, Metric::LoadBalance, Metric::Communication, Metric::Serialisation, Metric::Transfer];

impl RunEfficiency {
    /// The efficiencies of all threads. `ideal` is the run time on a network without transfer times, which a replay
    /// gives, or why there is none.
    ///
    /// - parallel efficiency = `mean(u) / T`,
    /// - load balance = `mean(u) / max(u)`; 1 if no thread does anything useful,
    /// - communication efficiency = `max(u) / T`,
    /// - serialisation efficiency = `max(u) / T_id`,
    /// - transfer efficiency = `T_id / T`.
    pub fn new(threads: &Threads, ideal: Result<Ticks, Reason>) -> Self {
        let useful = threads.threads.iter().map(|thread| thread.useful);
        let useful_sum: u128 = useful.clone().map(|ticks| u128::from(ticks.0)).sum();
        let useful_max = useful.max().unwrap_or_default();
        let n_threads = threads.threads.len() as u64;
        let run_time = threads.run_time;
        let ideal_run_time = possible(ideal, useful_max, run_time);
        let (run, max) = (u128::from(run_time.0), u128::from(useful_max.0));
        let n = u128::from(n_threads);
        let with_ideal = |value: &dyn Fn(u128) -> Option<f64>| match &ideal_run_time {
            Ok(ideal) => Ok(value(u128::from(ideal.0)).unwrap_or(1.0)),
            Err(reason) => Err(reason.clone()),
        };
        let value = |metric| match metric {
            Metric::Parallel => Ok(ratio(useful_sum, n * run).unwrap_or(0.0)),
            Metric::LoadBalance => Ok(ratio(useful_sum, n * max).unwrap_or(1.0)),
            Metric::Communication => Ok(ratio(max, run).unwrap_or(0.0)),
            Metric::Serialisation => with_ideal(&|ideal| ratio(max, ideal)),
            _ => with_ideal(&|ideal| ratio(ideal, run)),
        };
        let metrics = OF_ONE_RUN.map(|metric| MetricValue::new(metric, value(metric))).to_vec();
        RunEfficiency {
            run_time,
            ideal_run_time,
            n_processes: threads.n_processes(),
            n_threads,
            useful_sum,
            useful_max,
            counters: UsefulCounters::none(),
            metrics,
        }
    }

    /// Of a run that takes `run_time` and of which nothing else is known.
    pub fn unavailable(reason: Unavailable, run_time: Ticks) -> Self {
        let reason = Reason::new(reason.as_str());
        let missing = |metric| MetricValue::new(metric, Err(reason.clone()));
        RunEfficiency {
            run_time,
            ideal_run_time: Err(reason.clone()),
            n_processes: 0,
            n_threads: 0,
            useful_sum: 0,
            useful_max: Ticks(0),
            counters: UsefulCounters { instructions: Err(reason.clone()), cycles: Err(reason.clone()) },
            metrics: OF_ONE_RUN.map(missing).to_vec(),
        }
    }

    /// The same with counters.
    #[must_use]
    pub fn with_counters(self, counters: UsefulCounters) -> Self {
        RunEfficiency { counters, ..self }
    }

    /// The value of a metric; `None` if it is missing or not one of a single run.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        let found = self.metrics.iter().find(|value| value.metric == metric)?;
        found.value.as_ref().ok().copied()
    }
}

/// An ideal run time between the longest useful time and the run time: any other comes from operations that were
/// matched wrongly.
pub(crate) fn possible(
    ideal: Result<Ticks, Reason>,
    useful_max: Ticks,
    run_time: Ticks,
) -> Result<Ticks, Reason> {
    let ideal = ideal?;
    if ideal < useful_max {
        let reason =
            "the replay ends before the busiest thread has done its work: operations are matched wrongly";
        return Err(Reason::new(reason));
    }
    if run_time < ideal {
        let reason = "the replay takes longer than the run: operations are matched wrongly";
        return Err(Reason::new(reason));
    }
    Ok(ideal)
}
