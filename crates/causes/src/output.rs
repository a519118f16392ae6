//! The answer as data, with names for ids.
//!
//! Serialised, this is what front ends write as `data`. Values of time are in seconds where the
//! metric's unit is one of time, else in its own unit; both are in [`TimeCard`].

use crate::attributes::AttributeKind;
use crate::processes::Unit;
use crate::time::TimeKind;
use ouzel_model::{CallPathId, Notice};
use serde::Serialize;
use std::sync::Arc;

/// Bottlenecks of a profile, and what explains them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Causes {
    /// The processes that were compared.
    pub processes: ProcessesCard,
    /// The time that was analysed.
    pub time: TimeCard,
    /// The regions of the program.
    pub regions: RegionsCard,
    /// Where processes differ.
    pub external: External,
    /// Which regions cost most.
    pub internal: Internal,
    /// The tables in which explanations were sought.
    pub tables: Tables,
    /// What was left out or is doubtful.
    #[serde(skip)]
    pub notices: Vec<Notice>,
}

/// The processes that were compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessesCard {
    /// Ranks or locations.
    pub unit: Unit,
    /// Number of processes.
    pub n: u64,
    /// Number of locations that are summed up in them.
    pub n_locations: u64,
    /// Ranks that were left out on request.
    pub excluded: Vec<u64>,
}

/// The time that was analysed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeCard {
    /// Name of the metric that process vectors are made of.
    pub metric: String,
    /// What kind of time it is.
    pub kind: TimeKind,
    /// Unit of all times in the answer.
    pub unit: String,
    /// Whether communication and waiting are left out of process vectors.
    pub without_communication: bool,
    /// Name of the metric that shares of the run are made of, communication included.
    pub wall_metric: String,
}

/// The regions of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegionsCard {
    /// Number of regions.
    pub n: u64,
    /// Number of regions of depth 1.
    pub n_of_depth_1: u64,
    /// The callers that were replaced by their callees, from the root: the program.
    pub program: Vec<Arc<str>>,
}

/// A region by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegionName {
    /// Regions from the root.
    pub call_path: Vec<Arc<str>>,
    /// Whether it is what the last region does itself, without the regions it calls.
    pub itself: bool,
    /// The call path in the profile.
    #[serde(skip)]
    pub path: CallPathId,
}

/// Where processes differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct External {
    /// Groups of alike processes; one if all are alike.
    pub clusters: Vec<Cluster>,
    /// Greatest distance of two process vectors / length of the shortest; `None` if a process has no time at all.
    pub severity: Option<f64>,
    /// Number of clusters by the regions of depth 1 alone.
    pub n_clusters_of_depth_1: u64,
    /// Critical code regions, each before those within it.
    pub ccr: Vec<Critical>,
    /// Their cores: the external bottlenecks.
    pub cccr: Vec<Critical>,
    /// Composites of regions that were tried; `None` if single regions were found.
    pub n_composites: Option<u64>,
    /// Whether the search for composites was cut short.
    pub is_truncated: bool,
    /// Why each bottleneck differs between processes.
    pub causes: Vec<ExternalCause>,
}

/// Processes that are alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cluster {
    /// Ranks, or native ids of locations.
    pub processes: Vec<u64>,
    /// Mean time of a process in all regions.
    pub time: f64,
}

/// A critical code region.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Critical {
    /// The region; several for a composite.
    pub regions: Vec<RegionName>,
    /// Its level in the search, 1 being the outermost.
    pub level: u32,
    /// Mean time of a process there, by cluster.
    pub time_by_cluster: Vec<f64>,
}

/// Why a region differs between processes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalCause {
    /// The region.
    pub region: RegionName,
    /// Mean time of a process there, by cluster.
    pub time_by_cluster: Vec<f64>,
    /// Whether processes differ in the time of this region on its own. If not, it matters only together with the
    /// others, and there is nothing to explain.
    pub differs_by_itself: bool,
    /// Attributes that distinguish the clusters and differ here.
    pub explained_by: Vec<BetweenProcesses>,
    /// Labels of the attributes that do not explain it; empty if some do.
    pub unexplained_by: Vec<String>,
    /// What to measure next; empty if it is explained.
    pub measure_next: Vec<String>,
}

/// How an attribute differs between processes in a region.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BetweenProcesses {
    /// The attribute's name.
    pub attribute: String,
    /// Its name for people.
    pub label: String,
    /// Unit of its values; empty for a ratio.
    pub unit: String,
    /// Its kind.
    pub kind: AttributeKind,
    /// Mean value of a process, by cluster.
    pub by_cluster: Vec<f64>,
    /// The highest of these / the lowest; `None` if that is zero or negative.
    pub ratio: Option<f64>,
    /// Correlation of its values with the times of the processes here, from −1 to 1; `None` if either is constant.
    pub correlation: Option<f64>,
    /// What is usually done about it.
    pub advice: String,
}

/// Which regions cost most.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Internal {
    /// Whether weights are share × cycles per instruction; else only shares of time.
    pub has_cycles_per_instruction: bool,
    /// Every region with its class, in the order of the call tree.
    pub classes: Vec<Classified>,
    /// Regions of class high and very high.
    pub ccr: Vec<Classified>,
    /// Their cores: the internal bottlenecks, most weight first.
    pub cccr: Vec<Classified>,
    /// Why each bottleneck costs much.
    pub causes: Vec<InternalCause>,
}

/// A region with its class.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Classified {
    /// The region.
    pub region: RegionName,
    /// Depth in the region tree, 1 being the outermost.
    pub depth: u32,
    /// 0 (very low) to 4 (very high).
    #[cfg_attr(feature = "schema", schemars(range(max = 4)))]
    pub class: u8,
    /// Mean over the processes of share of time × cycles per instruction, or of the share only.
    pub weight: f64,
    /// Mean over the processes of time here / time of the process.
    pub share: f64,
}

/// Why a region costs much.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InternalCause {
    /// The region.
    pub region: RegionName,
    /// Its class.
    #[cfg_attr(feature = "schema", schemars(range(max = 4)))]
    pub class: u8,
    /// Its mean share of the time of a process.
    pub share: f64,
    /// Attributes of the core that are high here.
    pub explained_by: Vec<InRegion>,
    /// Labels of the attributes that do not explain it; empty if some do.
    pub unexplained_by: Vec<String>,
    /// Other attributes that are high here.
    pub also_high: Vec<InRegion>,
    /// What to measure next; empty if it is explained.
    pub measure_next: Vec<String>,
}

/// How high an attribute is in a region.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InRegion {
    /// The attribute's name.
    pub attribute: String,
    /// Its name for people.
    pub label: String,
    /// Unit of its values; empty for a ratio.
    pub unit: String,
    /// Its kind.
    pub kind: AttributeKind,
    /// Mean over the processes.
    pub mean: f64,
    /// Mean of this over the regions where it is not high.
    pub elsewhere: f64,
    /// Of a sum, the share of the whole program; `None` for ratios.
    pub share_of_program: Option<f64>,
    /// Its class, 0 to 4.
    #[cfg_attr(feature = "schema", schemars(range(max = 4)))]
    pub class: u8,
    /// What is usually done about it.
    pub advice: String,
}

/// The tables in which explanations were sought.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tables {
    /// The attributes that the profile has data for.
    pub attributes: Vec<AttributeCard>,
    /// One row for each process; `None` where there is no external bottleneck.
    pub external: Option<TableCard>,
    /// One row for each region; `None` without regions.
    pub internal: Option<TableCard>,
}

/// An attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttributeCard {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub label: String,
    /// Unit of its values; empty for a ratio.
    pub unit: String,
    /// Its kind.
    pub kind: AttributeKind,
    /// How it is computed from metrics.
    pub formula: String,
    /// Whether it is zero in every region; it is then in no table.
    pub is_zero: bool,
}

/// A decision table and its core.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TableCard {
    /// Names of the attributes, in the order of the values of a row.
    pub attributes: Vec<String>,
    /// The rows.
    pub rows: Vec<RowCard>,
    /// Attributes that every explanation holds.
    pub necessary: Vec<String>,
    /// The first explanation.
    pub core: Vec<String>,
    /// All smallest explanations, the most frequent first.
    pub explanations: Vec<ExplanationCard>,
    /// Positions of pairs of rows of different decisions that no attribute distinguishes; the first hundred.
    pub inconsistent: Vec<(usize, usize)>,
    /// Number of such pairs.
    pub n_inconsistent: u64,
    /// Whether the search for explanations was cut short.
    pub is_truncated: bool,
}

/// A row of a decision table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowCard {
    /// The process, in a table of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u64>,
    /// The region, in a table of regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<RegionName>,
    /// For each attribute: the cluster of the process, or 1 if the region is high in it, else 0.
    pub values: Vec<u32>,
    /// The cluster of the process; 1 if the region is critical, else 0.
    pub decision: u32,
}

/// A smallest set of attributes that distinguishes the decisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplanationCard {
    /// Names of the attributes.
    pub attributes: Vec<String>,
    /// How often it occurs when all clauses are multiplied out; `None` if too large for a float.
    pub multiplicity: Option<f64>,
}
