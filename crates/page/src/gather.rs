//! From results of analyses to what the pictures show.
//!
//! Results may come from different passes over the same trace; their call paths are found again by their regions.
//! Not here: drawing.

use crate::cluster_timeline;
use crate::pictures::{
    Cluster, IterationPoint, IterationSeries, LoopPicture, Pictures, SegmentPath, SegmentPicture,
};
use ouzel::analyses::context_tree::{ContextTreesOutput, LoopInstance, LoopSource, LoopSummary};
use ouzel::analyses::loss_tree::{PathLoss, Segment, Segments};
use ouzel::analyses::phases::PhaseGroup;
use ouzel::analyses::semantics::Class;
use ouzel::analyses::timeline::TimelineOutput;
use ouzel::model::{CallPathId, CallPathTree, Definitions};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Call paths that the timeline of clusters tells apart: more cannot be found again in a legend.
const MAX_SIGNIFICANT: usize = 16;

impl<'a> Pictures<'a> {
    /// Pictures of the timeline alone. `classes` has the class of every region.
    pub fn new(definitions: &'a Definitions, classes: &'a [Class], timeline: &'a TimelineOutput) -> Self {
        Pictures {
            definitions,
            classes,
            timeline,
            clusters: Vec::new(),
            significant: Vec::new(),
            segments: Vec::new(),
            loops: Vec::new(),
            maps: Vec::new(),
        }
    }

    /// Adds the clusters of locations and the iterations of their loops, those that take most time first.
    #[must_use]
    pub fn with_clusters(mut self, trees: &ContextTreesOutput) -> Self {
        for group in &trees.groups {
            let clusters: Vec<Cluster> = group
                .clusters
                .iter()
                .map(|cluster| Cluster {
                    id: cluster.id,
                    kind: group.kind,
                    members: cluster.members.clone(),
                    representative: cluster.representative,
                })
                .collect();
            let sizes: BTreeMap<u32, String> =
                clusters.iter().map(|cluster| (cluster.id, cluster_timeline::size(&self, cluster))).collect();
            self.clusters.extend(clusters);
            let drawn = group.loops.iter().filter(|found| !found.instances.is_empty());
            let mut loops: Vec<(u64, LoopPicture)> =
                drawn.map(|found| (length_ticks(found), self.loop_picture(found, &sizes))).collect();
            loops.sort_by_key(|(ticks, _)| Reverse(*ticks));
            self.loops.extend(loops.into_iter().map(|(_, picture)| picture));
        }
        self
    }

    fn loop_picture(&self, found: &LoopSummary, sizes: &BTreeMap<u32, String>) -> LoopPicture {
        let per_row = found.instances.iter().map(|instance| instance.iterations_per_row).max().unwrap_or(1);
        let mean = if per_row == 1 { String::new() } else { format!(", means of {per_row} neighbours") };
        let clock = &self.definitions.clock;
        let series = |instance: &LoopInstance| IterationSeries {
            cluster: instance.cluster,
            size: sizes.get(&instance.cluster).cloned().unwrap_or_default(),
            iterations: instance
                .iterations
                .iter()
                .map(|row| IterationPoint {
                    index: row.index,
                    duration_ns: clock.ns_from_ticks(row.end.since(row.start))
                        / instance.iterations_per_row.max(1),
                    cluster: row.cluster,
                })
                .collect(),
        };
        LoopPicture {
            call_path: found.path.iter().map(|id| id.name(self.definitions)).collect(),
            source: format!("{}{mean}", in_words(found.source)),
            series: found.instances.iter().map(series).collect(),
        }
    }

    /// Adds the segments worth reporting, and shows their call paths in the timeline of clusters. `call_paths` are
    /// those of the phases, `meaning` says in words what a row of the diagnosis table means.
    #[must_use]
    pub fn with_segments(
        mut self,
        segments: &Segments,
        group: &PhaseGroup,
        call_paths: &CallPathTree,
        meaning: &dyn Fn(u8) -> String,
    ) -> Self {
        let reported = || segments.segments.iter().filter(|segment| segment.reported);
        self.segments = reported()
            .map(|s| self.segment_picture(s, group, call_paths, meaning(s.diagnosis_row)))
            .collect();
        let mut lost: BTreeMap<CallPathId, u128> = BTreeMap::new();
        for segment in reported() {
            for path in &segment.paths {
                *lost.entry(path.call_path).or_default() += path.imb.sum + path.wait.sum;
            }
            if let Some(sync) = segment.sync {
                *lost.entry(sync).or_default() += segment.imb_sync.sum + segment.wait_sync.sum;
            }
        }
        let mut paths: Vec<(CallPathId, u128)> = lost.into_iter().collect();
        paths.sort_by_key(|&(path, lost)| (Reverse(lost), path));
        let mut tree = self.timeline.call_paths.clone();
        let remap = tree.absorb(call_paths);
        let shown = paths.into_iter().map(|(path, _)| remap.path(path));
        let is_drawn =
            |path: &CallPathId| *path != CallPathTree::ROOT && path.index() < self.timeline.call_paths.len();
        self.significant = shown.filter(is_drawn).take(MAX_SIGNIFICANT).collect();
        self
    }

    fn segment_picture(
        &self,
        segment: &Segment,
        group: &PhaseGroup,
        call_paths: &CallPathTree,
        meaning: String,
    ) -> SegmentPicture {
        let clock = &self.definitions.clock;
        let ns = |ticks| clock.ns_from_ticks(ticks);
        let parts = segment.phases.iter().filter_map(|&phase| group.phases.get(phase as usize));
        let names = |path: &PathLoss| -> Vec<String> {
            let regions = call_paths.regions(path.call_path);
            let mut names: Vec<String> =
                regions.into_iter().map(|region| self.definitions.region(region).name.to_string()).collect();
            if names.is_empty() {
                names.push("outside of recorded regions".to_owned());
            } else if path.is_self {
                names.push("(own time)".to_owned());
            }
            names
        };
        let mut paths: Vec<&PathLoss> = segment.paths.iter().collect();
        paths.sort_by_key(|path| {
            (Reverse(path.imb.sum + path.wait.sum), path.call_path, path.is_self, path.subset)
        });
        SegmentPicture {
            id: segment.id as usize,
            start_ns: ns(segment.start),
            end_ns: ns(segment.end),
            parts_ns: parts.map(|phase| (ns(phase.start), ns(phase.end))).collect(),
            imbalance_at_end_ns: segment.imb_sync.ns(clock),
            sum_imbalance_ns: segment.sum_imb.ns(clock),
            sum_wait_ns: segment.sum_wait.ns(clock),
            meaning,
            paths: paths
                .into_iter()
                .map(|path| SegmentPath {
                    call_path: names(path),
                    category: path.category,
                    imbalance_ns: path.imb.ns(clock),
                    wait_ns: path.wait.ns(clock),
                })
                .collect(),
        }
    }
}

/// Time in a loop at the representative that spends most there.
fn length_ticks(found: &LoopSummary) -> u64 {
    let length = |instance: &LoopInstance| {
        let (first, last) = (instance.iterations.first()?, instance.iterations.last()?);
        Some(last.end.since(first.start).0)
    };
    found.instances.iter().filter_map(length).max().unwrap_or(0)
}

/// How a loop became known.
fn in_words(source: LoopSource) -> &'static str {
    match source {
        LoopSource::Marked => "marked in the trace",
        LoopSource::Binary => "from the control flow of the binary",
        LoopSource::StructureFile => "from the structure file of the program",
        LoopSource::LearnedExact => "from the order of calls",
        LoopSource::LearnedSampled => "from the order of samples",
        LoopSource::LineOrder => "from the order of source lines",
        LoopSource::TandemRepeat => "found as calls that repeat",
    }
}
