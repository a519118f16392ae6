//! What a profile is: who measured what, on how many ranks, for how long.

use super::lanes::Lanes;
use super::ns;
use super::times::Times;
use crate::losses::RankTime;
use ouzel_causes::TimeKind;
use ouzel_model::units::{counted, time};
use ouzel_model::{Aggregation, LocationKind, MetricId, ProfileSource, has_values};
use serde::Serialize;
use std::collections::BTreeSet;

/// A thread that computes less than this part of its time only waits.
const LEAST_USEFUL: f64 = 0.01;

/// What a profile is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileCard {
    /// The format.
    pub format: String,
    /// Version of the format; empty if unknown.
    pub format_version: String,
    /// The tool that wrote it; empty if unknown.
    pub creator: String,
    /// The machine; empty if unknown.
    pub machine: String,
    /// What the profile says of itself; empty if nothing.
    pub description: String,
    /// World ranks; 0 if it knows none.
    pub n_ranks: u64,
    /// Processes with a thread that has time.
    pub n_processes: u64,
    /// CPU threads.
    pub n_threads: u64,
    /// Those with time: what means are over.
    pub n_threads_compared: u64,
    /// Of those compared, threads that compute less than 1 % of their time.
    pub n_threads_waiting: u64,
    /// CPU threads with no time, or of CPU time with less than 1 % of the longest: they are left out.
    pub n_threads_left_out: u64,
    /// Threads that wait for the outside, as in `poll`, for 99 % of their time or more, beside one of their process that
    /// does not: helpers of a library. They are left out.
    pub n_threads_helping: u64,
    /// Streams of accelerators: their time is not that of a thread and is left out.
    pub n_accelerator_streams: u64,
    /// Call paths.
    pub n_call_paths: u64,
    /// Metrics.
    pub n_metrics: u64,
    /// The metric that times come from; `null` without one.
    pub time_metric: Option<ProfileTimeMetric>,
    /// The metric that counts visits; `null` without one.
    pub visits_metric: Option<String>,
    /// Whether times come from samples: they are multiples of the sampling period, and nothing is counted.
    pub sampled: bool,
    /// The thread with most time: the run takes at least that.
    pub longest: Option<RankTime>,
    /// Time of all threads compared.
    pub time_sum_ns: u64,
}

/// The metric that times come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileTimeMetric {
    /// Its name.
    pub name: String,
    /// What kind of time.
    pub kind: TimeKind,
}

/// The metric of visits, if it counts how often regions are entered. Where Score-P samples (`hits`), functions are entered
/// anew with each stack that is unwound.
pub(super) fn visits_metric(source: &dyn ProfileSource) -> Option<MetricId> {
    let is_usable = |id: &MetricId| {
        source.definitions().metric(*id).aggregation == Aggregation::Sum
            && has_values(source, *id).unwrap_or(false)
    };
    source.definitions().metric_by_name("visits").filter(is_usable).filter(|_| !has_hits(source))
}

/// Whether Score-P counted samples.
fn has_hits(source: &dyn ProfileSource) -> bool {
    // A metric that cannot be read is reported where its values are wanted.
    source.definitions().metric_by_name("hits").is_some_and(|id| has_values(source, id).unwrap_or(false))
}

impl ProfileCard {
    pub(super) fn new(
        source: &dyn ProfileSource,
        metric: Option<(MetricId, TimeKind, f64)>,
        lanes: &Lanes,
        times: &Times,
    ) -> Self {
        let definitions = source.definitions();
        let provenance = &definitions.provenance;
        let ranks: BTreeSet<u32> =
            definitions.locations.iter().filter_map(|location| Some(location.rank?.0)).collect();
        let n_of = |kind| definitions.locations.iter().filter(|l| l.kind == kind).count() as u64;
        let visits = visits_metric(source);
        let longest = times.longest().and_then(|(time, lane)| {
            let process = lanes.processes.iter().find(|process| process.lanes.contains(&lane))?;
            Some(RankTime { rank: process.rank, time_ns: ns(time) })
        });
        let of_threads = times.useful.iter().zip(&times.totals);
        let n_waiting = of_threads.filter(|(useful, total)| **useful < LEAST_USEFUL * **total).count() as u64;
        ProfileCard {
            format: provenance.format.clone(),
            format_version: provenance.format_version.clone(),
            creator: provenance.creator.clone(),
            machine: provenance.machine.clone(),
            description: provenance.description.clone(),
            n_ranks: ranks.len() as u64,
            n_processes: lanes.processes.len() as u64,
            n_threads: n_of(LocationKind::CpuThread) + n_of(LocationKind::Unknown),
            n_threads_compared: lanes.n as u64,
            n_threads_waiting: n_waiting,
            n_threads_left_out: lanes.n_left_out,
            n_threads_helping: lanes.n_helping,
            n_accelerator_streams: n_of(LocationKind::AcceleratorStream),
            n_call_paths: definitions.call_tree.len() as u64,
            n_metrics: definitions.metrics.len() as u64,
            time_metric: metric.map(|(id, kind, _)| ProfileTimeMetric {
                name: definitions.metric(id).name.to_string(),
                kind,
            }),
            visits_metric: visits.map(|id| definitions.metric(id).name.to_string()),
            sampled: provenance.format.to_lowercase().contains("hpctoolkit") || has_hits(source),
            longest,
            time_sum_ns: ns(times.totals.iter().sum()),
        }
    }

    /// What it is, in words.
    pub fn facts(&self) -> Vec<String> {
        let by = if self.creator.is_empty() { String::new() } else { format!(" by {}", self.creator) };
        let mut facts = vec![format!("{} {}{by}", self.format, self.format_version).trim_end().to_owned()];
        facts.push(match self.n_ranks {
            0 => format!("{}, no ranks recorded", counted(self.n_processes, "process", "processes")),
            n => counted(n, "rank", "ranks"),
        });
        if self.n_ranks != self.n_threads {
            facts.push(counted(self.n_threads, "thread", "threads"));
        }
        if 0 < self.n_accelerator_streams {
            facts.push(counted(self.n_accelerator_streams, "accelerator stream", "accelerator streams"));
        }
        facts.push(counted(self.n_call_paths, "call path", "call paths"));
        facts.push(counted(self.n_metrics, "metric", "metrics"));
        if let Some(longest) = self.longest {
            facts.push(format!("{} in the longest thread", time(longest.time_ns)));
        }
        facts
    }

    /// What else is known: machine, what times are, who is left out.
    pub fn further_facts(&self) -> Vec<String> {
        let mut facts = Vec::new();
        if !self.machine.is_empty() {
            let has_word = self.machine.to_lowercase().starts_with("machine ");
            let word = if has_word { "" } else { "machine " };
            facts.push(format!("{word}{}", self.machine));
        }
        if let Some(metric) = &self.time_metric {
            let kind = match metric.kind {
                TimeKind::Cpu => "CPU time",
                _ => "time",
            };
            let sampled = if self.sampled { ", from samples" } else { "" };
            facts.push(format!("{kind} is metric {:?}{sampled}", metric.name));
            facts.push(format!("{} of all threads", time(self.time_sum_ns)));
        }
        if 0 < self.n_threads_left_out {
            let threads = counted(self.n_threads_left_out, "thread", "threads");
            facts.push(format!("{threads} without (or with next to no) time left out"));
        }
        if 0 < self.n_threads_helping {
            let threads = counted(
                self.n_threads_helping,
                "helper thread that only waits",
                "helper threads that only wait",
            );
            facts.push(format!("{threads} (poll, epoll_wait) left out"));
        }
        facts
    }
}
