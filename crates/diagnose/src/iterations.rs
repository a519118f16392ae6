//! Loops and their iterations with names and nanoseconds.

use crate::epochs::EpochCard;
use ouzel_analyses::peers::PeerKind;
use ouzel_analyses::semantics::{Category, Semantics};
use ouzel_context_tree::{ContextTreesOutput, LoopInstance, LoopSource, LoopSummary, StaticId, TreeGroup};
use ouzel_model::{ColumnData, Definitions, RegionId, Table, Unit, short_name, units};
use serde::Serialize;
use std::cmp::Reverse;
use std::sync::Arc;

/// The contents of `data` in JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Data {
    /// From the first event to the last.
    pub run_time_ns: u64,
    /// Parts in which the same ranks have most to do, and others in the next, in order of time; `[]` if the same ranks
    /// have most to do in the whole run, or others in each phase.
    pub epochs: Vec<EpochCard>,
    /// By peers; the outermost loops first, longest first, then those inside loops.
    pub loops: Vec<LoopEntry>,
}

/// A loop.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopEntry {
    /// Which locations run it: `main_thread`, `helper_thread` or `accelerator_stream`.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "String", extend("enum" = ["main_thread", "helper_thread", "accelerator_stream"]))
    )]
    pub peers: PeerKind,
    /// The region, if the trace marks it as a loop; else `loop~NAME`, found by the call NAME that ends its iterations, or
    /// in samples, found in the function NAME.
    pub name: Arc<str>,
    /// Regions from the outermost to the loop if it is one, else to the one around it; empty outside every region.
    pub call_path: Vec<Arc<str>>,
    /// The loops around it that are not regions, outermost first.
    pub inside_of: Vec<Arc<str>>,
    /// How it was detected, e.g. `marked`, `tandem-repeat`.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "String", extend("enum" = [
            "marked", "binary", "structure-file", "learned-exact", "learned-sampled", "line-order", "tandem-repeat"
        ]))
    )]
    pub source: LoopSource,
    /// How its iterations are told apart, e.g. `tandem-repeat`, `learned-sampled`.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "String", extend("enum" = [
            "marked", "binary", "structure-file", "learned-exact", "learned-sampled", "line-order", "tandem-repeat"
        ]))
    )]
    pub cfg_source: LoopSource,
    /// The region that computes longest of those its iterations call, or waits longest if none computes; `null` if they
    /// call none.
    pub mostly: Option<Arc<str>>,
    /// Whether the region `mostly` is called once more right after it: probably in a last iteration that ends differently,
    /// without the call that ends the others.
    pub once_more: bool,
    /// Whether it is inside another loop: then there is no list of iterations, and counts are over all of that loop.
    pub is_nested: bool,
    /// Iterations found.
    pub accepted: u64,
    /// Whether all numbers of iterations of this loop are estimates. Samples miss iterations, and can divide one: each that
    /// was found is mostly one or several. A loop inside of a loop is counted in the averages of the outer iterations,
    /// which are as long as the longest of them.
    pub is_estimate: bool,
    /// Whether it has no mark and no line in the source.
    #[serde(skip)]
    pub is_found: bool,
    /// What could not be split into iterations.
    pub rejected: u64,
    /// Kinds of iterations.
    pub n_clusters: u64,
    /// One for each cluster of locations that runs it.
    pub instances: Vec<InstanceEntry>,
    /// By location cluster, in order of time; `[]` of a nested loop.
    pub iterations: Vec<IterationEntry>,
}

/// The loop at the representative of a cluster of locations.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstanceEntry {
    /// Number of the cluster, as in `ouzel clusters`.
    pub location_cluster: u32,
    /// How many locations the cluster has.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub n_locations: u64,
    /// Rank of the representative.
    pub rank: Option<u32>,
    /// Number of iterations.
    pub n_iterations: u64,
    /// Kinds of iterations.
    pub n_clusters: u64,
    /// Iterations in one entry of `iterations`: 1, or a power of two for very long loops.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub iterations_per_entry: u64,
    /// Start of the first iteration since the trace start.
    pub start_ns: u64,
    /// End of the last iteration since the trace start.
    pub end_ns: u64,
    /// Time of the shortest entry of `iterations`.
    pub min_ns: u64,
    /// Time from `start_ns` to `end_ns` / number of rows.
    pub mean_ns: u64,
    /// Time of the longest entry.
    pub max_ns: u64,
}

/// An iteration at the representative of a cluster of locations.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IterationEntry {
    /// The cluster of locations whose representative ran it.
    pub location_cluster: u32,
    /// From 0; for several in one entry, the longest.
    pub index: u64,
    /// Start since the trace start.
    pub start_ns: u64,
    /// End since the trace start.
    pub end_ns: u64,
    /// Its kind, numbered by location.
    pub cluster: u32,
    /// The epoch that its middle is in, by `id`; `null` if there is none.
    pub epoch: Option<u32>,
}

/// The name of a loop: words, and a region, which pages may shorten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Title<'n> {
    /// What stands before the region.
    pub before: &'static str,
    /// The region.
    pub region: &'n str,
}

impl IterationEntry {
    /// `end_ns − start_ns`.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

impl Data {
    /// From the loops of a pass.
    pub fn new(
        trees: &ContextTreesOutput,
        definitions: &Definitions,
        run_time_ns: u64,
        epochs: Vec<EpochCard>,
    ) -> Self {
        let mut loops: Vec<LoopEntry> = Vec::new();
        for group in &trees.groups {
            let mut entries: Vec<LoopEntry> =
                group.loops.iter().map(|summary| entry(summary, group, definitions, &epochs)).collect();
            // A stable sort: loops of equal time stay in order of their start.
            entries.sort_by_key(|entry| (entry.is_nested, Reverse(entry.total_ns())));
            loops.extend(entries);
        }
        Data { run_time_ns, epochs, loops }
    }

    /// The iterations as a table.
    pub fn table(&self) -> Table {
        let each = || self.loops.iter().flat_map(|l| l.iterations.iter().map(move |i| (l, i)));
        let numbers =
            |value: fn(&IterationEntry) -> u64| ColumnData::U64(each().map(|(_, i)| value(i)).collect());
        let loop_numbers =
            self.loops.iter().enumerate().flat_map(|(n, l)| l.iterations.iter().map(move |_| n as u64));
        let ns = Unit::Nanoseconds;
        Table::new("iterations")
            .with(
                "loop",
                Unit::None,
                "Number of the loop, from 0, in the order of the page",
                ColumnData::U64(loop_numbers.collect()),
            )
            .with(
                "call_path",
                Unit::None,
                "Regions from the outermost to the loop, or to the region that contains it",
                ColumnData::TextList(each().map(|(l, _)| l.call_path.clone()).collect()),
            )
            .with(
                "name",
                Unit::None,
                "The region that is the loop, or loop~NAME",
                ColumnData::Text(each().map(|(l, _)| l.name.clone()).collect()),
            )
            .with(
                "location_cluster",
                Unit::None,
                "Cluster of locations whose representative ran it",
                numbers(|i| u64::from(i.location_cluster)),
            )
            .with("iteration", Unit::None, "Index of the iteration, from 0", numbers(|i| i.index))
            .with("start_ns", ns.clone(), "Start since the trace start", numbers(|i| i.start_ns))
            .with("end_ns", ns.clone(), "End since the trace start", numbers(|i| i.end_ns))
            .with("duration_ns", ns, "end_ns - start_ns", numbers(IterationEntry::duration_ns))
            .with(
                "cluster",
                Unit::None,
                "Kind of the iteration, numbered separately for each location",
                numbers(|i| u64::from(i.cluster)),
            )
            .with(
                "epoch",
                Unit::None,
                "Number of the epoch that its middle is in, from 1",
                ColumnData::OptionU64(each().map(|(_, i)| i.epoch.map(u64::from)).collect()),
            )
    }
}

/// What a sentence calls a loop: by what takes most of its time, if it has no mark and no line in the source.
pub fn title(summary: &LoopSummary, definitions: &Definitions) -> String {
    match mostly(summary, definitions).filter(|_| is_found(summary)) {
        Some(mostly) => format!("the loop around {}", definitions.region(mostly).name),
        None => summary.path.last().map(|id| id.name(definitions)).unwrap_or_default(),
    }
}

/// Whether a loop has no mark and no line in the source.
fn is_found(summary: &LoopSummary) -> bool {
    matches!(summary.path.last(), Some(StaticId::FoundLoop { .. }))
}

/// The region that takes most time of those that a loop calls. Waiting says less about a loop than what is computed.
fn mostly(summary: &LoopSummary, definitions: &Definitions) -> Option<RegionId> {
    let semantics = Semantics::default();
    let computes =
        |region: &&RegionId| semantics.class(definitions.region(**region)).category == Category::Computation;
    summary.called.iter().find(computes).or(summary.called.first()).copied()
}

fn entry(
    summary: &LoopSummary,
    group: &TreeGroup,
    definitions: &Definitions,
    epochs: &[EpochCard],
) -> LoopEntry {
    let clock = &definitions.clock;
    let name = |id: StaticId| -> Arc<str> {
        let region = id.recorded().map(|region| definitions.region(region).name.clone());
        region.unwrap_or_else(|| id.name(definitions).into())
    };
    let region = |region: RegionId| definitions.region(region).name.clone();
    let iterations = summary.instances.iter().flat_map(|instance| {
        instance.iterations.iter().map(|row| {
            let (start_ns, end_ns) = (clock.ns_from_ticks(row.start), clock.ns_from_ticks(row.end));
            IterationEntry {
                location_cluster: instance.cluster,
                index: row.index,
                start_ns,
                end_ns,
                cluster: row.cluster,
                epoch: EpochCard::around(epochs, start_ns, end_ns),
            }
        })
    });
    LoopEntry {
        peers: group.kind,
        name: summary.path.last().map_or_else(|| Arc::from("loop"), |&id| name(id)),
        call_path: summary.call_path().into_iter().map(region).collect(),
        inside_of: summary.inside_of().map(name).collect(),
        source: summary.source,
        cfg_source: summary.cfg_source,
        mostly: mostly(summary, definitions).map(region),
        once_more: mostly(summary, definitions).is_some_and(|region| summary.followed_by.contains(&region)),
        is_nested: summary.is_nested,
        accepted: summary.accepted,
        rejected: summary.rejected,
        is_estimate: summary.is_estimate,
        is_found: is_found(summary),
        n_clusters: u64::from(summary.n_clusters),
        instances: summary
            .instances
            .iter()
            .map(|instance| instance_entry(instance, group, definitions))
            .collect(),
        iterations: iterations.collect(),
    }
}

fn instance_entry(instance: &LoopInstance, group: &TreeGroup, definitions: &Definitions) -> InstanceEntry {
    let clock = &definitions.clock;
    let durations: Vec<u64> =
        instance.iterations.iter().map(|row| clock.ns_from_ticks(row.end.since(row.start))).collect();
    let (first, last) = (instance.iterations.first(), instance.iterations.last());
    let (start_ns, end_ns) = (
        first.map_or(0, |row| clock.ns_from_ticks(row.start)),
        last.map_or(0, |row| clock.ns_from_ticks(row.end)),
    );
    let cluster = group.clusters.iter().find(|cluster| cluster.id == instance.cluster);
    InstanceEntry {
        location_cluster: instance.cluster,
        n_locations: cluster.map_or(1, |cluster| cluster.members.len() as u64),
        rank: definitions.location(instance.location).rank.map(|rank| rank.0),
        n_iterations: instance.n_iterations,
        n_clusters: u64::from(instance.n_clusters),
        iterations_per_entry: instance.iterations_per_row,
        start_ns,
        end_ns,
        min_ns: durations.iter().copied().min().unwrap_or(0),
        mean_ns: (end_ns.saturating_sub(start_ns)).checked_div(durations.len() as u64).unwrap_or(0),
        max_ns: durations.iter().copied().max().unwrap_or(0),
    }
}

impl LoopEntry {
    /// The instance that represents the most locations, the first among equals.
    pub fn main_instance(&self) -> Option<&InstanceEntry> {
        self.instances
            .iter()
            .max_by_key(|instance| (instance.n_locations, Reverse(instance.location_cluster)))
    }

    /// From the start to the end of the loop, at that instance.
    pub fn total_ns(&self) -> u64 {
        self.main_instance().map_or(0, |instance| instance.end_ns.saturating_sub(instance.start_ns))
    }

    /// The iterations of an instance.
    pub fn iterations_of(&self, instance: &InstanceEntry) -> Vec<&IterationEntry> {
        self.iterations.iter().filter(|i| i.location_cluster == instance.location_cluster).collect()
    }

    /// Whether the loop is the last region of its call path.
    pub fn is_region(&self) -> bool {
        self.call_path.last() == Some(&self.name)
    }

    /// `12 iterations`, or `about 12 iterations`.
    pub fn n_in_words(&self) -> String {
        n_in_words(self.accepted, self.is_estimate)
    }

    /// Its name on pages: a loop without a mark or a line in the source is named for what takes most of its time.
    pub fn title(&self) -> Title<'_> {
        match &self.mostly {
            Some(mostly) if self.is_found => Title { before: "loop around ", region: mostly },
            _ => Title { before: "", region: &self.name },
        }
    }

    /// How the loop was detected, and its iterations in samples, in words.
    pub fn source_in_words(&self) -> String {
        let source = in_words(self.source);
        let source = match &self.mostly {
            Some(mostly) if self.once_more => {
                let name = short_name(mostly);
                format!(
                    "{source}; {name} runs once more right after it: probably a last iteration that ends differently"
                )
            }
            _ => source.to_owned(),
        };
        match self.cfg_source {
            LoopSource::LearnedSampled | LoopSource::LearnedExact | LoopSource::LineOrder => {
                format!("{source}; iterations {}", in_words(self.cfg_source))
            }
            LoopSource::TandemRepeat if self.source == LoopSource::Binary => {
                format!("{source}; iterations {}", in_words(self.cfg_source))
            }
            _ => source,
        }
    }
}

/// `12 iterations`, or `about 12 iterations`.
pub fn n_in_words(n: u64, is_estimate: bool) -> String {
    let about = if is_estimate { "about " } else { "" };
    format!("{about}{}", units::counted(n, "iteration", "iterations"))
}

/// How something was detected.
fn in_words(source: LoopSource) -> &'static str {
    match source {
        LoopSource::Marked => "marked in the trace",
        LoopSource::Binary => "from the control flow of the binary",
        LoopSource::StructureFile => "from the structure of the binary",
        LoopSource::LearnedExact => "from the order of calls",
        LoopSource::LearnedSampled => "from the order of sampled calls",
        LoopSource::LineOrder => "from the order of lines",
        LoopSource::TandemRepeat => "from repeating calls",
    }
}
