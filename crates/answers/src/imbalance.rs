//! `ouzel imbalance`.

use ouzel::analyses::call_path_profile::ProfileOutput;
use ouzel::analyses::imbalance::{ImbalanceOutput, top_ranks};
use ouzel::analyses::{By, RowKey};
use ouzel::model::{Definitions, Metric};
use serde::Serialize;
use std::sync::Arc;

/// How unevenly each region's time is spread over the ranks.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImbalanceAnswer {
    /// Number of processes compared.
    pub n_processes: u64,
    /// Largest `max − mean` first.
    pub rows: Vec<ImbalanceRow>,
}

/// One region or call path.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImbalanceRow {
    /// Name of the region.
    pub region: Arc<str>,
    /// With `--call-paths`: names from the outermost region.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub call_path: Option<Vec<Arc<str>>>,
    /// `max / mean`; 1 if the mean is 0.
    pub imbalance: f64,
    /// Exclusive time, mean over the processes.
    pub mean_ns: u64,
    /// The largest of a process.
    pub max_ns: u64,
    /// The smallest of a process.
    pub min_ns: u64,
    /// `max − mean`.
    pub lost_ns: u64,
    /// The ranks with the largest times, descending; ranks without any are left out.
    pub top_ranks: Vec<u32>,
}

/// How unevenly what a counter gained is spread over the ranks: with `--metric`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricImbalanceAnswer {
    /// Number of processes compared.
    pub n_processes: u64,
    /// Name of the counter.
    pub metric: Arc<str>,
    /// Unit of the values.
    pub unit: Arc<str>,
    /// Largest `max − mean` first.
    pub rows: Vec<MetricImbalanceRow>,
}

/// One region or call path; values in the unit of the counter.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricImbalanceRow {
    /// Name of the region.
    pub region: Arc<str>,
    /// With `--call-paths`: names from the outermost region.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub call_path: Option<Vec<Arc<str>>>,
    /// `max / mean`; 1 if the mean is 0.
    pub imbalance: f64,
    /// Mean over the processes.
    pub mean: u64,
    /// The largest of a process.
    pub max: u64,
    /// The smallest of a process.
    pub min: u64,
    /// `max − mean`.
    pub lost: u64,
    /// The ranks with the largest values, descending; ranks without any are left out.
    pub top_ranks: Vec<u32>,
}

/// Names from the outermost region; `None` in views by region.
fn names(profile: &ProfileOutput, key: &RowKey, definitions: &Definitions) -> Option<Vec<Arc<str>>> {
    let regions = profile.call_paths.regions(key.call_path?);
    Some(regions.into_iter().map(|region| definitions.region(region).name.clone()).collect())
}

impl ImbalanceAnswer {
    /// The shape of `judged`, which was made from `profile`, with `n_top` ranks in each row.
    pub fn new(
        profile: &ProfileOutput,
        judged: &ImbalanceOutput,
        definitions: &Definitions,
        by: By,
        n_top: usize,
    ) -> Self {
        let tops = top_ranks(profile, definitions, by, n_top);
        let clock = &definitions.clock;
        let rows = judged.rows.iter().map(|row| ImbalanceRow {
            region: definitions.region(row.key.region).name.clone(),
            call_path: names(profile, &row.key, definitions),
            imbalance: row.imbalance,
            mean_ns: row.exclusive.mean().ns(clock),
            max_ns: clock.ns_from_ticks(row.exclusive.max),
            min_ns: clock.ns_from_ticks(row.exclusive.min),
            lost_ns: row.lost.ns(clock),
            top_ranks: tops.get(&row.key).cloned().unwrap_or_default(),
        });
        ImbalanceAnswer { n_processes: judged.n_processes, rows: rows.collect() }
    }
}

impl MetricImbalanceAnswer {
    /// The shape of `judged`, which was made from what `metric` gained, with `n_top` ranks in each row.
    pub fn new(
        gains: &ProfileOutput,
        judged: &ImbalanceOutput,
        definitions: &Definitions,
        (by, n_top): (By, usize),
        metric: &Metric,
    ) -> Self {
        let tops = top_ranks(gains, definitions, by, n_top);
        let rows = judged.rows.iter().map(|row| MetricImbalanceRow {
            region: definitions.region(row.key.region).name.clone(),
            call_path: names(gains, &row.key, definitions),
            imbalance: row.imbalance,
            mean: row.exclusive.mean().rounded(),
            max: row.exclusive.max.0,
            min: row.exclusive.min.0,
            lost: row.lost.rounded(),
            top_ranks: tops.get(&row.key).cloned().unwrap_or_default(),
        });
        MetricImbalanceAnswer {
            n_processes: judged.n_processes,
            metric: metric.name.clone(),
            unit: metric.unit.clone(),
            rows: rows.collect(),
        }
    }
}
