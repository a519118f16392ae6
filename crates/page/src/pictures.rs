//! What the pictures of the page are drawn from: results of the same pass as the report.

use ouzel::analyses::peers::PeerKind;
use ouzel::analyses::semantics::Class;
use ouzel::analyses::timeline::TimelineOutput;
use ouzel::diagnose::SegmentCard;
use ouzel::model::{CallPathId, Definitions, LocationId, LocationKind};
use std::sync::Arc;

/// Results that the pictures are drawn from. Call paths are those of the pass.
#[derive(Debug, Clone)]
pub struct Pictures<'a> {
    /// Names, ranks and the clock.
    pub definitions: &'a Definitions,
    /// The class of each region.
    pub classes: &'a [Class],
    /// What each location does at regular instants.
    pub timeline: &'a TimelineOutput,
    /// Locations that behave alike, in the order of their numbers.
    pub clusters: Vec<Cluster>,
    /// Call paths that the cluster-ordered timeline shows; their callees look like them, all others are grey.
    pub significant: Vec<CallPathId>,
    /// Parts of the run that end in a synchronisation, in order of time; those that lose nothing are left out.
    pub segments: Vec<&'a SegmentCard>,
    /// Loops with the durations of their iterations, most time first.
    pub loops: Vec<LoopPicture>,
    /// By finding, the text of an SVG picture of similar variation over the topology.
    pub maps: Vec<Option<String>>,
    /// A page with the timeline that can be zoomed, compressed with gzip, as base64.
    pub zoomed: Option<String>,
}

/// Locations that behave alike.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Its number, as in the report.
    pub id: u32,
    /// What its members are.
    pub kind: PeerKind,
    /// The members, in order of rank.
    pub members: Vec<LocationId>,
    /// The member that the picture shows.
    pub representative: LocationId,
}

/// The iterations of a loop.
#[derive(Debug, Clone)]
pub struct LoopPicture {
    /// What stands before the name, such as `loop around `.
    pub before: &'static str,
    /// The region that is the loop, or that takes most of its time.
    pub name: Arc<str>,
    /// Regions from the outermost to the loop, or to the one that it is in.
    pub call_path: Vec<Arc<str>>,
    /// Where the iterations come from, in words.
    pub source: String,
    /// Whether samples can have missed iterations.
    pub is_estimate: bool,
    /// For each cluster of locations, what its representative did.
    pub series: Vec<IterationSeries>,
    /// Numbers of the epochs that begin in the loop, each with its first iteration.
    pub epochs: Vec<(u32, u64)>,
}

/// The iterations of a loop at the representative of a cluster.
#[derive(Debug, Clone)]
pub struct IterationSeries {
    /// Number of the cluster of locations.
    pub cluster: u32,
    /// What it represents: `rank 0`, `15 ranks`.
    pub size: String,
    /// Duration and cluster of each iteration, in order.
    pub iterations: Vec<IterationPoint>,
}

/// One iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IterationPoint {
    /// Its number, from 0.
    pub index: u64,
    /// How long it took; of several neighbours, on average.
    pub duration_ns: u64,
    /// The cluster of iterations that it belongs to.
    pub cluster: u32,
}

impl Pictures<'_> {
    /// The label of a location: `rank 3`, `rank 3, thread 1`, `rank 3, stream "gpu 0"`.
    pub(crate) fn label(&self, id: LocationId) -> String {
        let location = self.definitions.location(id);
        let Some(rank) = location.rank else { return location.name.to_string() };
        match location.kind {
            LocationKind::AcceleratorStream => format!("rank {rank}, stream {}", location.name),
            _ if self.is_first_of_rank(id) => format!("rank {rank}"),
            _ => format!("rank {rank}, {}", location.name),
        }
    }

    /// Whether it is the first CPU location of its rank.
    fn is_first_of_rank(&self, id: LocationId) -> bool {
        let rank = self.definitions.location(id).rank;
        let on_cpu = |kind| matches!(kind, LocationKind::CpuThread | LocationKind::Unknown);
        let earlier = &self.definitions.locations[..id.index()];
        !earlier.iter().any(|location| location.rank == rank && on_cpu(location.kind))
    }

    /// Names of the regions of a call path.
    pub(crate) fn names(&self, path: CallPathId) -> Vec<&str> {
        let regions = self.timeline.call_paths.regions(path);
        regions.into_iter().map(|region| &*self.definitions.region(region).name).collect()
    }

    /// The class of the last region; `None` outside of every region.
    pub(crate) fn class(&self, path: CallPathId) -> Option<Class> {
        let region = self.timeline.call_paths.region(path)?;
        self.classes.get(region.index()).copied()
    }
}
