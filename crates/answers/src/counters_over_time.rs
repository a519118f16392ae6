//! `ouzel counters-over-time`.

use ouzel::analyses::counters_over_time::{CounterBins, CountersOverTimeOutput, MetricOverTime};
use ouzel::model::Definitions;
use serde::Serialize;
use std::sync::Arc;

/// What counters gained, and what other metrics were, bin by bin.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountersOverTimeAnswer {
    /// Edges of the bins since the trace start, one more than bins.
    pub bin_edges_ns: Vec<u64>,
    /// The metrics that were read, in the order of their definitions.
    pub counters: Vec<CounterOverTime>,
}

/// One metric.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterOverTime {
    /// Name of the metric.
    pub metric: Arc<str>,
    /// Unit of the values, as recorded.
    pub unit: Arc<str>,
    /// Number of locations that have values of it.
    pub n_locations: u64,
    /// Of accumulated integer metrics: what it gained in each bin, summed over locations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<u64>"))]
    pub gain: Option<Vec<u64>>,
    /// Of other metrics: the least value in each bin over locations; `null` where none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Option<f64>>"))]
    pub least: Option<Vec<Option<f64>>>,
    /// Likewise, the greatest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Option<f64>>"))]
    pub greatest: Option<Vec<Option<f64>>>,
}

impl CountersOverTimeAnswer {
    /// The shape of `output`.
    pub fn new(output: &CountersOverTimeOutput, definitions: &Definitions) -> Self {
        let entry = |of: &MetricOverTime| {
            let metric = &definitions.metrics[of.metric.index()];
            let (gain, values) = match &of.bins {
                CounterBins::Gains(gains) => (Some(gains.clone()), None),
                CounterBins::Values(values) => (None, Some(values)),
            };
            let side = |side: fn((f64, f64)) -> f64| {
                values.map(|values| values.iter().map(|bin| bin.map(side)).collect())
            };
            CounterOverTime {
                metric: metric.name.clone(),
                unit: metric.unit.clone(),
                n_locations: of.n_locations,
                gain,
                least: side(|(low, _)| low),
                greatest: side(|(_, high)| high),
            }
        };
        CountersOverTimeAnswer {
            bin_edges_ns: output.grid.edges_ns(definitions),
            counters: output.metrics.iter().map(entry).collect(),
        }
    }
}
