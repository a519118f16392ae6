//! The fold: each reading closes the stretch that the one before began.

use super::output::{CounterBins, CountersOverTimeOutput, MetricOverTime};
use super::state::{Bins, CountersLocal, CountersPartial, MetricBins, Treatment, value};
use crate::time_grid::TimeGrid;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{EventChunk, Level, Metric, MetricId, MetricValueType, Needs, Notice, NoticeCode, Remap};
use serde::{Deserialize, Serialize};

/// Metrics in bins of time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountersOverTime {
    grid: TimeGrid,
    /// Ascending; empty: all.
    metrics: Vec<MetricId>,
}

impl CountersOverTime {
    /// The analysis of these metrics, or of all if there are none, with these bins. What lies outside of the bins is
    /// left out.
    pub fn new(grid: TimeGrid, mut metrics: Vec<MetricId>) -> Self {
        metrics.sort_unstable();
        CountersOverTime { grid, metrics }
    }

    fn treatment(&self, id: MetricId, metric: &Metric) -> Treatment {
        if !self.metrics.is_empty() && self.metrics.binary_search(&id).is_err() {
            return Treatment::LeftOut;
        }
        if metric.is_counter() {
            return Treatment::Counter { signed: metric.value_type == MetricValueType::I64 };
        }
        Treatment::Value(metric.value_type)
    }
}

impl Analysis for CountersOverTime {
    type Local = CountersLocal;
    type Partial = CountersPartial;
    type Output = CountersOverTimeOutput;
    const NAME: &'static str = "counters-over-time";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::METRICS
    }

    fn empty(&self) -> CountersPartial {
        CountersPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> CountersLocal {
        let metrics = cx.definitions.metrics.iter().enumerate();
        let treatments: Vec<Treatment> =
            metrics.map(|(at, metric)| self.treatment(MetricId::from_index(at), metric)).collect();
        let series = treatments.iter().map(|_| None).collect();
        CountersLocal { grid: self.grid, treatments, series }
    }

    fn fold(&self, local: &mut CountersLocal, chunk: &EventChunk<'_>) {
        for reading in chunk.metrics {
            local.read(reading.metric, chunk.time[reading.row as usize], reading.bits);
        }
    }

    fn end(
        &self,
        local: CountersLocal,
        _: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut CountersPartial,
    ) {
        let CountersLocal { grid, treatments, series } = local;
        for (at, (series, treatment)) in series.into_iter().zip(treatments).enumerate() {
            let Some(mut series) = series else { continue };
            let end = summary.span.map_or(series.at, |(_, end)| end.max(series.at));
            series.reach(grid, treatment, end, None);
            let bins = MetricBins { n_locations: 1, n_backward: series.n_backward, bins: series.bins };
            into.add(MetricId::from_index(at), bins);
        }
    }

    fn remap(&self, _: &mut CountersPartial, _: &Remap) {}

    fn merge(&self, into: &mut CountersPartial, from: CountersPartial) {
        from.metrics.into_iter().for_each(|(metric, bins)| into.add(metric, bins));
    }

    fn finish(
        &self,
        partial: CountersPartial,
        cx: &FinishCx<'_>,
    ) -> Result<CountersOverTimeOutput, AnalysisError> {
        let mut metrics = Vec::new();
        for (id, MetricBins { n_locations, n_backward, bins }) in partial.metrics {
            let metric = &cx.definitions.metrics[id.index()];
            if 0 < n_backward {
                let what = format!("counter {:?} decreased; its gain there was taken as zero", metric.name);
                cx.notices.push(Notice::new(Level::Medium, NoticeCode::NotAvailable, what).times(n_backward));
            }
            let of = |key: u64| value(key, metric.value_type);
            let bins = match bins {
                Bins::Gains(gains) => CounterBins::Gains(gains),
                Bins::Values(bins) => CounterBins::Values(
                    bins.into_iter().map(|bin| bin.map(|(low, high)| (of(low), of(high)))).collect(),
                ),
            };
            metrics.push(MetricOverTime { metric: id, n_locations, bins });
        }
        Ok(CountersOverTimeOutput { grid: self.grid, run_range: cx.run_range(), metrics })
    }
}
