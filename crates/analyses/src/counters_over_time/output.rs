//! Metrics by bin, as a table.

use crate::time_grid::TimeGrid;
use ouzel_model::{ColumnData, Definitions, MetricId, Table, TimeRange, Unit};

/// Metrics in bins of time.
#[derive(Debug, Clone, PartialEq)]
pub struct CountersOverTimeOutput {
    /// The bins.
    pub grid: TimeGrid,
    /// From the first event to the last over all locations that run code; see [`TimeGrid::is_exact_for`].
    pub run_range: Option<TimeRange>,
    /// The metrics that were read, ascending.
    pub metrics: Vec<MetricOverTime>,
}

/// One metric over all locations.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricOverTime {
    /// The metric.
    pub metric: MetricId,
    /// Number of locations that have values of it.
    pub n_locations: u64,
    /// What is known in each bin.
    pub bins: CounterBins,
}

/// Bins of a metric.
#[derive(Debug, Clone, PartialEq)]
pub enum CounterBins {
    /// Of an accumulated integer metric: what it gained, summed over locations.
    Gains(Vec<u64>),
    /// Of another metric: the least and the greatest value over locations; `None` where no value is known.
    Values(Vec<Option<(f64, f64)>>),
}

impl CounterBins {
    fn gain(&self, bin: usize) -> Option<u64> {
        match self {
            CounterBins::Gains(gains) => gains.get(bin).copied(),
            CounterBins::Values(_) => None,
        }
    }

    fn values(&self, bin: usize) -> Option<(f64, f64)> {
        match self {
            CounterBins::Gains(_) => None,
            CounterBins::Values(values) => values.get(bin).copied().flatten(),
        }
    }
}

impl CountersOverTimeOutput {
    /// One row for each bin of each metric.
    pub fn table(&self, definitions: &Definitions) -> Table {
        let rows: Vec<(&MetricOverTime, usize)> = self
            .metrics
            .iter()
            .flat_map(|metric| (0..self.grid.n_bins()).map(move |bin| (metric, bin)))
            .collect();
        let bins: Vec<usize> = rows.iter().map(|&(_, bin)| bin).collect();
        let of = |metric: &MetricOverTime| &definitions.metrics[metric.metric.index()];
        let values = |side: fn((f64, f64)) -> f64| {
            ColumnData::OptionF64(rows.iter().map(|(m, bin)| m.bins.values(*bin).map(side)).collect())
        };
        self.grid
            .bin_columns("bins", definitions, &bins)
            .with(
                "metric",
                Unit::None,
                "Name of the metric",
                ColumnData::Text(rows.iter().map(|(metric, _)| of(metric).name.clone()).collect()),
            )
            .with(
                "unit",
                Unit::None,
                "Unit of the values, as recorded",
                ColumnData::Text(rows.iter().map(|(metric, _)| of(metric).unit.clone()).collect()),
            )
            .with(
                "gain",
                Unit::None,
                "What a counter gained, summed over locations; spread evenly between readings",
                ColumnData::OptionU64(rows.iter().map(|(metric, bin)| metric.bins.gain(*bin)).collect()),
            )
            .with("least", Unit::None, "Least value of a metric that is no counter", values(|(low, _)| low))
            .with(
                "greatest",
                Unit::None,
                "Greatest value of a metric that is no counter",
                values(|(_, high)| high),
            )
    }
}
