//! `ouzel info` of a profile.

use crate::TopologyAnswer;
use ouzel::Profile;
use ouzel::model::{Aggregation, Level, Notice, NoticeCode};
use serde::Serialize;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// What is in a profile.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileInfoAnswer {
    /// Name of the format.
    pub format: String,
    /// Version of the format; empty if the profile does not say.
    pub format_version: String,
    /// The program that wrote it; likewise.
    pub creator: String,
    /// The machine; likewise.
    pub machine: String,
    /// What the profile says of itself; likewise.
    pub description: String,
    /// Number of call paths.
    pub n_call_paths: u64,
    /// Number of regions.
    pub n_regions: u64,
    /// Regions on the longest call path.
    pub max_call_depth: u64,
    /// Number of locations.
    pub n_locations: u64,
    /// Number of processes and accelerator contexts.
    pub n_location_groups: u64,
    /// Number of nodes of the system tree.
    pub n_system_nodes: u64,
    /// Number of world ranks.
    pub n_ranks: u64,
    /// In the order of the profile.
    pub metrics: Vec<ProfileMetric>,
    /// Arrangements of ranks, locations or nodes.
    pub topologies: Vec<TopologyAnswer>,
}

/// A metric of a profile.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileMetric {
    /// Unique name.
    pub name: Arc<str>,
    /// Name to display.
    pub display_name: Arc<str>,
    /// Unit of its values.
    pub unit: Arc<str>,
    /// What it is.
    pub description: Arc<str>,
    /// The metric it is part of; `null` if none.
    pub parent: Option<Arc<str>>,
    /// What the profile stores.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::MetricKind"))]
    pub kind: &'static str,
    /// How values are combined.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Aggregation"))]
    pub aggregation: &'static str,
    /// Whether other metrics are computed from it, and it is not meant to be shown.
    pub hidden: bool,
    /// Over all call paths and locations; `null` without a value.
    pub total: Option<f64>,
}

/// The word for an aggregation.
pub(crate) fn aggregation_text(aggregation: Aggregation) -> &'static str {
    match aggregation {
        Aggregation::Sum => "sum",
        Aggregation::Min => "min",
        Aggregation::Max => "max",
        Aggregation::Formula => "formula",
    }
}

impl ProfileInfoAnswer {
    /// What `profile` holds, with all totals, and what went wrong on the way.
    pub fn new(profile: &Profile, jobs: NonZeroUsize) -> (Self, Vec<Notice>) {
        let definitions = profile.definitions();
        let mut notices = Vec::new();
        let ranks: BTreeSet<_> = definitions.location_groups.iter().filter_map(|group| group.rank).collect();
        let totals = profile.totals(jobs);
        let metrics = definitions.metric_ids().zip(totals).map(|(id, total)| {
            let metric = definitions.metric(id);
            let total = match total {
                Ok((total, more)) => {
                    notices.extend(more);
                    total
                }
                Err(error) => {
                    notices.push(Notice::new(Level::High, NoticeCode::DamagedSeverities, error.to_string()));
                    None
                }
            };
            ProfileMetric {
                name: metric.name.clone(),
                display_name: metric.display_name.clone(),
                unit: metric.unit.clone(),
                description: metric.description.clone(),
                parent: metric.parent.map(|parent| definitions.metric(parent).name.clone()),
                kind: metric.kind.as_str(),
                aggregation: aggregation_text(metric.aggregation),
                hidden: metric.hidden,
                total,
            }
        });
        let metrics = metrics.collect();
        let provenance = definitions.provenance.clone();
        let answer = ProfileInfoAnswer {
            format: profile.format().as_str().to_owned(),
            format_version: provenance.format_version,
            creator: provenance.creator,
            machine: provenance.machine,
            description: provenance.description,
            n_call_paths: definitions.call_tree.len() as u64,
            n_regions: definitions.regions.len() as u64,
            max_call_depth: definitions.call_tree.n_levels() as u64,
            n_locations: definitions.locations.len() as u64,
            n_location_groups: definitions.location_groups.len() as u64,
            n_system_nodes: definitions.system_tree.nodes.len() as u64,
            n_ranks: ranks.len() as u64,
            metrics,
            topologies: profile.topologies().iter().map(TopologyAnswer::new).collect(),
        };
        (answer, notices)
    }
}
