//! What fills the pieces between points: the exclusive time of each call path.

use crate::graph::Graph;
use crate::grouped::Grouped;
use ouzel_analyses::critical_path::{Activity, PathCalls, PathCallsOutput, SegmentShare, activities};
use ouzel_analyses::semantics::Semantics;
use ouzel_model::{CallPathId, CallPathTree, Definitions, RegionId, Ticks, TimeRange};
use std::sync::Arc;

/// The pieces of a run with the time of each call path.
#[derive(Debug, Clone)]
pub(crate) struct Pieces {
    /// The call paths of the shares.
    pub call_paths: CallPathTree,
    /// By piece and call path.
    pub shares: Vec<SegmentShare>,
    /// The time of each share.
    pub times: Vec<u64>,
    /// The shares of each call path.
    pub of_path: Grouped<u32>,
    /// The recorded length of each piece.
    pub lengths: Vec<u64>,
    /// The timeline of each piece.
    pub timeline: Vec<u32>,
    /// The phase of each piece: how often all ranks had synchronised before.
    pub phase: Vec<u32>,
    /// What each call path does.
    activities: Vec<Activity>,
    names: Vec<Arc<str>>,
    pub ticks_per_second: u64,
}

impl Graph {
    /// The pass that finds the time of each call path in each piece. It must see the whole run.
    pub fn second_pass(&self) -> PathCalls {
        let numbered = (0..).zip(&self.timelines);
        let ranges = numbered.map(|(number, of)| (of.location, self.ranges(number).collect()));
        PathCalls::in_ranges(ranges.collect())
    }

    /// The pieces of a timeline that take time, with their numbers.
    pub(crate) fn ranges(&self, timeline: usize) -> impl Iterator<Item = (u32, TimeRange)> {
        let of = &self.timelines[timeline];
        let mut start = of.start;
        let points = self.points[of.first..of.first + of.n_points].iter();
        let ends = points.map(|point| (point.at, point.until)).chain([(of.end, of.end)]);
        ends.zip(self.first_piece(timeline) as u32..).filter_map(move |((end, until), piece)| {
            let range = TimeRange { start: Ticks(std::mem::replace(&mut start, until)), end: Ticks(end) };
            (range.start < range.end).then_some((piece, range))
        })
    }
}

impl Pieces {
    /// From the result of the second pass. Points get the call paths of the pieces.
    pub fn new(graph: &mut Graph, calls: PathCallsOutput, definitions: &Definitions) -> Self {
        let classes = Semantics::default().classes(definitions);
        let PathCallsOutput { mut call_paths, shares, .. } = calls;
        // Calls without time of their own need others, too.
        let of_points = call_paths.absorb(&graph.call_paths);
        graph.points.iter_mut().for_each(|point| point.path = of_points.path(point.path));
        let by_path = shares.iter().map(|it| it.call_path.0).zip(0..);
        let mut timeline = Vec::with_capacity(graph.n_pieces());
        for (number, of) in (0..).zip(&graph.timelines) {
            timeline.resize(timeline.len() + of.n_points + 1, number);
        }
        Pieces {
            activities: activities(&call_paths, &classes),
            names: definitions.regions.iter().map(|region| region.name.clone()).collect(),
            ticks_per_second: definitions.clock.ticks_per_second,
            times: shares.iter().map(|share| share.time.0).collect(),
            of_path: Grouped::new(call_paths.len(), by_path),
            call_paths,
            shares,
            lengths: graph.lengths(),
            timeline,
            phase: phases(graph),
        }
    }

    /// Whether a call path is in MPI, or in what MPI calls.
    pub fn is_in_mpi(&self, path: CallPathId) -> bool {
        self.activities[path.index()] == Activity::InMpi
    }

    /// Whether a call path is the program's own work.
    pub fn works(&self, path: CallPathId) -> bool {
        self.activities[path.index()] == Activity::Working
    }

    /// The names of the regions of a call path, from the root.
    pub fn names(&self, path: CallPathId) -> Vec<Arc<str>> {
        let name = |region: &RegionId| self.names[region.index()].clone();
        self.call_paths.regions(path).iter().map(name).collect()
    }
}

/// How often all timelines had synchronised before each piece.
fn phases(graph: &Graph) -> Vec<u32> {
    let n_points = graph.points.len();
    let mut n_needing = vec![0; graph.joins.len()];
    let joins_of =
        |point: usize| graph.needs_of(point).iter().filter_map(|&need| (need as usize).checked_sub(n_points));
    (0..n_points).flat_map(joins_of).for_each(|join| n_needing[join] += 1);
    let is_of_all = |join: usize| graph.joins[join].is_of_all && n_needing[join] == graph.timelines.len();
    let mut phases = Vec::with_capacity(graph.n_pieces());
    for of in &graph.timelines {
        let mut phase = 0;
        phases.push(phase);
        for point in of.first..of.first + of.n_points {
            phase += u32::from(joins_of(point).any(is_of_all));
            phases.push(phase);
        }
    }
    phases
}
