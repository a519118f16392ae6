//! `ouzel correlate`.

use ouzel::correlate::{AxisSet, CacheUse, Grid};
use ouzel::model::ProfileDefinitions;
use ouzel::{Correlated, Placed, TopologyOrigin};
use ouzel_export::TableRows;
use serde::Serialize;
use std::sync::Arc;

/// Which views vary over the topology like a given one.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CorrelateAnswer {
    /// The view that all others are compared with.
    pub reference: ReferenceView,
    /// The arrangement of the locations.
    pub topology: CorrelatedTopology,
    /// Of the grid, in the order of `shift[]`; the last one runs fastest.
    pub axes: Vec<CorrelatedAxis>,
    /// How axes are weighted.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Weights"))]
    pub weights: &'static str,
    /// Which peak of the correlation counts.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Peak"))]
    pub peak: &'static str,
    /// Views with any value other than zero, without the reference.
    pub n_views: u64,
    /// Those for which R was computed; bounds excluded the others.
    pub n_transformed: u64,
    /// What became of the spectra.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Cache"))]
    pub cache: &'static str,
    /// Greatest `|r|` first. A shift has one number per axis, from 0 to below the size: what the reference has at x,
    /// the view has at x + shift, wrapping around; the page shows the shorter way.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::CorrelatedView>"))]
    pub rows: TableRows,
}

/// The view that all others are compared with.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReferenceView {
    /// Unique name of the metric.
    pub metric: Arc<str>,
    /// Its name to display.
    pub display_name: Arc<str>,
    /// Its unit.
    pub unit: Arc<str>,
    /// Names from the outermost region.
    pub call_path: Vec<Arc<str>>,
    /// Id of the call path in the profile.
    pub call_path_id: u64,
    /// Whether callees are included.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Scope"))]
    pub scope: &'static str,
    /// Share of the places with a value.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub coverage: f64,
    /// Share of its variance that the filter kept.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub kept: f64,
}

/// The arrangement of the locations.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CorrelatedTopology {
    /// Its name.
    pub name: String,
    /// Whether the profile defines it.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::TopologyOrigin"))]
    pub origin: &'static str,
    /// Number of places.
    pub n_places: u64,
    /// Places with a location.
    pub n_located: u64,
    /// Share of the places with a location.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub coverage: f64,
}

/// One axis.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CorrelatedAxis {
    /// Its name, or its number.
    pub name: String,
    /// Number of places along it.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub size: u32,
    /// Whether its last place is beside its first.
    pub periodic: bool,
    /// Whether variation along it counts.
    pub selected: bool,
}

impl CorrelateAnswer {
    /// The shape of what was found in a profile with `definitions`.
    pub fn new(definitions: &ProfileDefinitions, correlated: &Correlated) -> Self {
        let Correlated { question, grid, origin, answer, .. } = correlated;
        let metric = definitions.metric(question.reference.metric);
        CorrelateAnswer {
            reference: ReferenceView {
                metric: metric.name.clone(),
                display_name: metric.display_name.clone(),
                unit: metric.unit.clone(),
                call_path: definitions.call_path_names(question.reference.path),
                call_path_id: definitions.call_tree.node(question.reference.path).native_id,
                scope: question.scope.as_str(),
                coverage: answer.coverage,
                kept: answer.kept,
            },
            topology: CorrelatedTopology::new(grid, *origin),
            axes: CorrelatedAxis::all(grid, question.axes),
            weights: question.weights.as_str(),
            peak: question.peak.as_str(),
            n_views: answer.n_views,
            n_transformed: answer.n_transformed,
            cache: cache_text(&answer.cache),
            rows: TableRows(correlated.table(definitions)),
        }
    }
}

/// One view at the places of a topology: `ouzel correlate --values`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacedAnswer {
    /// What is shown.
    pub view: PlacedView,
    /// The arrangement of the locations.
    pub topology: CorrelatedTopology,
    /// Its axes; the last one runs fastest in `values` and `ranks`.
    pub axes: Vec<CorrelatedAxis>,
    /// The value at each place, in the metric's unit; `null` where there is no location, or it has no value.
    pub values: Vec<Option<f64>>,
    /// The world rank at each place; `null` where there is no location, or it has no rank.
    pub ranks: Vec<Option<u32>>,
    /// The metrics that `--metric` takes.
    pub metrics: Vec<PlacedMetric>,
    /// The topologies that `--topology` takes by name, or by number from 0.
    pub topologies: Vec<PlacedTopology>,
}

/// The view that is shown.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacedView {
    /// Unique name of the metric.
    pub metric: Arc<str>,
    /// Its name to display.
    pub display_name: Arc<str>,
    /// Its unit.
    pub unit: Arc<str>,
    /// Names from the outermost region.
    pub call_path: Vec<Arc<str>>,
    /// Id of the call path in the profile.
    pub call_path_id: u64,
    /// Whether callees are included.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Scope"))]
    pub scope: &'static str,
}

/// A metric that may be shown.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacedMetric {
    /// Unique name.
    pub name: Arc<str>,
    /// Name to display.
    pub display_name: Arc<str>,
    /// Unit of its values.
    pub unit: Arc<str>,
}

/// A topology that may be shown.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacedTopology {
    /// Its name; may be empty.
    pub name: Arc<str>,
    /// Number of places along each axis, without the one of locations within a member.
    pub sizes: Vec<u32>,
}

impl CorrelatedTopology {
    fn new(grid: &Grid, origin: TopologyOrigin) -> Self {
        CorrelatedTopology {
            name: grid.name().to_owned(),
            origin: origin.as_str(),
            n_places: grid.n_places() as u64,
            n_located: grid.n_located() as u64,
            coverage: grid.coverage(),
        }
    }
}

impl CorrelatedAxis {
    fn all(grid: &Grid, selected: AxisSet) -> Vec<Self> {
        let axis = |(i, axis): (usize, &ouzel::model::CartDimension)| CorrelatedAxis {
            name: grid.axis_name(i),
            size: axis.size,
            periodic: axis.periodic,
            selected: selected.contains(i),
        };
        grid.axes().iter().enumerate().map(axis).collect()
    }
}

impl PlacedAnswer {
    /// The shape of what is at the places of a profile with `definitions`.
    pub fn new(definitions: &ProfileDefinitions, placed: &Placed) -> Self {
        let metric = definitions.metric(placed.view.metric);
        let shown = definitions.metrics.iter().filter(|metric| !metric.hidden);
        PlacedAnswer {
            view: PlacedView {
                metric: metric.name.clone(),
                display_name: metric.display_name.clone(),
                unit: metric.unit.clone(),
                call_path: definitions.call_path_names(placed.view.path),
                call_path_id: definitions.call_tree.node(placed.view.path).native_id,
                scope: placed.scope.as_str(),
            },
            topology: CorrelatedTopology::new(&placed.grid, placed.origin),
            axes: CorrelatedAxis::all(&placed.grid, placed.axes),
            values: placed
                .values
                .iter()
                .map(|&value| Some(value).filter(|value| value.is_finite()))
                .collect(),
            ranks: placed.ranks(definitions),
            metrics: shown
                .map(|metric| PlacedMetric {
                    name: metric.name.clone(),
                    display_name: metric.display_name.clone(),
                    unit: metric.unit.clone(),
                })
                .collect(),
            topologies: definitions
                .all_topologies()
                .iter()
                .map(|topology| PlacedTopology {
                    name: topology.name.clone(),
                    sizes: topology.dimensions.iter().map(|axis| axis.size).collect(),
                })
                .collect(),
        }
    }
}

/// What became of the cache.
pub(crate) fn cache_text(cache: &CacheUse) -> &'static str {
    match cache {
        CacheUse::Off => "off",
        CacheUse::NotWorth => "not_worth",
        CacheUse::Read { .. } => "read",
        CacheUse::Written { .. } => "written",
        CacheUse::Failed => "failed",
    }
}
