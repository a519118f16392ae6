//! From results of analyses to what the pictures show.
//!
//! Results may come from different passes over the same trace; call paths are matched by their regions. This module
//! draws nothing.

use crate::cluster_timeline;
use crate::pictures::{
    Cluster, IterationPoint, IterationSeries, LoopPicture, Pictures, SegmentPath, SegmentPicture,
};
use ouzel::analyses::loss_tree::{PathLoss, Segment, Thresholds, segments};
use ouzel::analyses::phases::{PhaseGroup, PhasesOutput};
use ouzel::analyses::semantics::Class;
use ouzel::analyses::timeline::TimelineOutput;
use ouzel::context_tree::ContextTreesOutput;
use ouzel::diagnose::iterations::{Data as Iterations, InstanceEntry, LoopEntry};
use ouzel::diagnose::segment_words;
use ouzel::model::{CallPathId, CallPathTree, Definitions};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Call paths that the timeline of clusters distinguishes: more would be hard to find in a legend.
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
    pub fn with_clusters(mut self, trees: &ContextTreesOutput, run_time_ns: u64) -> Self {
        for group in &trees.groups {
            self.clusters.extend(group.clusters.iter().map(|cluster| Cluster {
                id: cluster.id,
                kind: group.kind,
                members: cluster.members.clone(),
                representative: cluster.representative,
            }));
        }
        let loops = Iterations::new(trees, self.definitions, run_time_ns).loops;
        self.loops = loops.iter().filter(|l| !l.instances.is_empty()).map(|l| self.loop_picture(l)).collect();
        self
    }

    fn loop_picture(&self, of: &LoopEntry) -> LoopPicture {
        let per_row = of.instances.iter().map(|instance| instance.iterations_per_entry).max().unwrap_or(1);
        let mean = if per_row == 1 { String::new() } else { format!(", means of {per_row} neighbours") };
        let size = |id: u32| {
            let cluster = self.clusters.iter().find(|cluster| cluster.kind == of.peers && cluster.id == id);
            cluster.map(|cluster| cluster_timeline::size(self, cluster)).unwrap_or_default()
        };
        let series = |instance: &InstanceEntry| IterationSeries {
            cluster: instance.location_cluster,
            size: size(instance.location_cluster),
            iterations: of
                .iterations_of(instance)
                .into_iter()
                .map(|row| IterationPoint {
                    index: row.index,
                    duration_ns: row.duration_ns() / instance.iterations_per_entry.max(1),
                    cluster: row.cluster,
                })
                .collect(),
        };
        LoopPicture {
            name: of.name.clone(),
            call_path: of.call_path.clone(),
            source: format!("{}{mean}", of.source_in_words()),
            series: of.instances.iter().map(series).collect(),
        }
    }

    /// Adds the segments worth reporting, and shows their call paths in the timeline of clusters.
    #[must_use]
    pub fn with_segments(mut self, phases: &PhasesOutput) -> Self {
        let Some(group) = phases.main_group() else { return self };
        let call_paths = &phases.call_paths;
        let segments = segments(group, call_paths, self.classes, &Thresholds::default());
        let reported = || segments.segments.iter().filter(|segment| segment.reported);
        self.segments = reported().map(|s| self.segment_picture(s, group, call_paths)).collect();
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
    ) -> SegmentPicture {
        let clock = &self.definitions.clock;
        let ns = |ticks| clock.ns_from_ticks(ticks);
        let parts = segment.phases.iter().filter_map(|&phase| group.phases.get(phase as usize));
        let names = |path: &PathLoss| -> Vec<Arc<str>> {
            let regions = call_paths.regions(path.call_path).into_iter();
            regions.map(|region| self.definitions.region(region).name.clone()).collect()
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
            meaning: segment_words(segment.diagnosis_row, segment.sync.is_none(), group.locations.len()).0,
            paths: paths
                .into_iter()
                .map(|path| SegmentPath {
                    call_path: names(path),
                    is_self: path.is_self,
                    category: path.category,
                    imbalance_ns: path.imb.ns(clock),
                    wait_ns: path.wait.ns(clock),
                })
                .collect(),
        }
    }
}
