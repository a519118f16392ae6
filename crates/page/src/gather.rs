//! From results of analyses to what the pictures show.
//!
//! Results may come from different passes over the same trace; call paths are matched by their regions. This module
//! draws nothing.

use crate::cluster_timeline;
use crate::pictures::{Cluster, IterationPoint, IterationSeries, LoopPicture, Pictures};
use ouzel::analyses::semantics::Class;
use ouzel::analyses::timeline::TimelineOutput;
use ouzel::context_tree::ContextTreesOutput;
use ouzel::diagnose::iterations::{Data as Iterations, InstanceEntry, IterationEntry, LoopEntry};
use ouzel::diagnose::{EpochCard, SegmentsCard};
use ouzel::model::{CallPathId, CallPathTree, Definitions};
use std::cmp::Reverse;
use std::collections::BTreeMap;

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
            zoomed: None,
        }
    }

    /// Adds the clusters of locations and the iterations of their loops, those that take most time first.
    #[must_use]
    pub fn with_clusters(
        mut self,
        trees: &ContextTreesOutput,
        run_time_ns: u64,
        epochs: &[EpochCard],
    ) -> Self {
        for group in &trees.groups {
            self.clusters.extend(group.clusters.iter().map(|cluster| Cluster {
                id: cluster.id,
                kind: group.kind,
                members: cluster.members.clone(),
                representative: cluster.representative,
            }));
        }
        let loops = Iterations::new(trees, self.definitions, run_time_ns, epochs.to_vec()).loops;
        self.loops = loops
            .iter()
            .filter(|l| !l.instances.is_empty() && 1 < l.accepted)
            .map(|l| self.loop_picture(l))
            .collect();
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
        let title = of.title();
        let main = of.main_instance().map(|instance| of.iterations_of(instance)).unwrap_or_default();
        let begins = |pair: &[&IterationEntry]| {
            pair[1].epoch.filter(|_| pair[0].epoch != pair[1].epoch).map(|id| (id, pair[1].index))
        };
        LoopPicture {
            before: title.before,
            name: title.region.into(),
            call_path: of.call_path.clone(),
            source: format!("{}{mean}", of.source_in_words()),
            is_estimate: of.is_estimate,
            series: of.instances.iter().map(series).collect(),
            epochs: main.windows(2).filter_map(begins).collect(),
        }
    }

    /// Adds the segments that lose time, whose call paths are those of `call_paths`, and shows these in the timeline of
    /// clusters.
    #[must_use]
    pub fn with_segments(mut self, segments: &'a SegmentsCard, call_paths: &CallPathTree) -> Self {
        self.segments = segments.losing().collect();
        let mut lost: BTreeMap<CallPathId, u64> = BTreeMap::new();
        for segment in &self.segments {
            for path in &segment.paths {
                *lost.entry(path.path).or_default() += path.imb_ns + path.wait_ns;
            }
            if let Some(sync) = segment.sync_path {
                *lost.entry(sync).or_default() += segment.imb_sync_ns + segment.wait_sync_ns;
            }
        }
        let mut paths: Vec<(CallPathId, u64)> = lost.into_iter().collect();
        paths.sort_by_key(|&(path, lost)| (Reverse(lost), path));
        let mut tree = self.timeline.call_paths.clone();
        let remap = tree.absorb(call_paths);
        let shown = paths.into_iter().map(|(path, _)| remap.path(path));
        let is_drawn =
            |path: &CallPathId| *path != CallPathTree::ROOT && path.index() < self.timeline.call_paths.len();
        self.significant = shown.filter(is_drawn).take(MAX_SIGNIFICANT).collect();
        self
    }
}
