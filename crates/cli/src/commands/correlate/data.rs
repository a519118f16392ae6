//! The `data` of the JSON answer.

use ouzel::Correlated;
use ouzel::correlate::CacheUse;
use ouzel::model::ProfileDefinitions;
use ouzel_export::to_json;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// The ranked views, and what they are compared with.
#[derive(Debug, Serialize)]
pub struct Data {
    reference: Reference,
    topology: Topology,
    /// Of the grid, in the order of `shift`; the last one runs fastest.
    axes: Vec<Axis>,
    weights: &'static str,
    peak: &'static str,
    /// Views with any value other than zero, without the reference.
    n_views: u64,
    /// Those for which R was computed; bounds excluded the others.
    n_transformed: u64,
    /// What became of the spectra: `off`, `not_worth`, `read`, `written` or `failed`.
    cache: &'static str,
    rows: Value,
}

/// The view that all others are compared with.
#[derive(Debug, Serialize)]
struct Reference {
    metric: Arc<str>,
    display_name: Arc<str>,
    unit: Arc<str>,
    call_path: Vec<Arc<str>>,
    call_path_id: u64,
    scope: &'static str,
    coverage: f64,
    /// Share of its variance that the filter kept.
    kept: f64,
}

/// The arrangement of the locations.
#[derive(Debug, Serialize)]
struct Topology {
    name: String,
    /// `defined`, `system_tree` or `by_hand`.
    origin: &'static str,
    n_places: u64,
    /// Places with a location.
    n_located: u64,
    coverage: f64,
}

/// One axis.
#[derive(Debug, Serialize)]
struct Axis {
    name: String,
    size: u32,
    periodic: bool,
    /// Whether variation along it counts.
    selected: bool,
}

impl Data {
    /// The answer as data.
    pub fn new(definitions: &ProfileDefinitions, correlated: &Correlated) -> Self {
        let Correlated { question, grid, origin, answer, .. } = correlated;
        let metric = definitions.metric(question.reference.metric);
        let axes = grid.axes().iter().enumerate().map(|(i, axis)| Axis {
            name: grid.axis_name(i),
            size: axis.size,
            periodic: axis.periodic,
            selected: question.axes.contains(i),
        });
        Data {
            reference: Reference {
                metric: metric.name.clone(),
                display_name: metric.display_name.clone(),
                unit: metric.unit.clone(),
                call_path: definitions.call_path_names(question.reference.path),
                call_path_id: definitions.call_tree.node(question.reference.path).native_id,
                scope: question.scope.as_str(),
                coverage: answer.coverage,
                kept: answer.kept,
            },
            topology: Topology {
                name: grid.name().to_owned(),
                origin: origin.as_str(),
                n_places: grid.n_places() as u64,
                n_located: grid.n_located() as u64,
                coverage: grid.coverage(),
            },
            axes: axes.collect(),
            weights: question.weights.as_str(),
            peak: question.peak.as_str(),
            n_views: answer.n_views,
            n_transformed: answer.n_transformed,
            cache: cache_text(&answer.cache),
            rows: to_json(&correlated.table(definitions)),
        }
    }
}

/// What became of the cache.
pub fn cache_text(cache: &CacheUse) -> &'static str {
    match cache {
        CacheUse::Off => "off",
        CacheUse::NotWorth => "not_worth",
        CacheUse::Read { .. } => "read",
        CacheUse::Written { .. } => "written",
        CacheUse::Failed => "failed",
    }
}
