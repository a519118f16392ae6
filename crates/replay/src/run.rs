//! A run that can be replayed: what front ends ask.

use crate::change::{Change, Changing, Selection};
use crate::edit::Edit;
use crate::error::ChangeError;
use crate::graph::{Dropped, Graph};
use crate::network::Network;
use crate::pieces::Pieces;
use crate::replayed::Replayed;
use crate::what_if::{PathGain, Projection, ranking, what_if};
use ouzel_analyses::critical_path::PathCallsOutput;
use ouzel_model::{CallPathId, CallPathTree, Definitions, LocationId, RegionId, Ticks, WorldRank, units};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// A run that can be replayed: its graph, and what fills its pieces.
#[derive(Debug, Clone)]
pub struct Replay {
    graph: Graph,
    pub(crate) pieces: Pieces,
    /// Once it is known.
    ideal: OnceLock<Ticks>,
}

/// What a location does at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpanKind {
    /// It works.
    Work,
    /// It is in MPI and does not wait for another rank.
    Mpi,
    /// It waits for another rank.
    Wait,
}

/// A location over time, as recorded and with changes.
#[derive(Debug, Clone)]
pub struct RankSpans {
    /// Who; `None` for a location without a rank.
    pub rank: Option<WorldRank>,
    /// As recorded: kind, start and end since the start of the run. In a stretch between waits, time in MPI comes first.
    pub recorded: Vec<(SpanKind, Ticks, Ticks)>,
    /// With the changes.
    pub projected: Vec<(SpanKind, Ticks, Ticks)>,
}

impl Replay {
    /// From the graph of a run and the result of its [second pass](Graph::second_pass).
    pub fn new(mut graph: Graph, calls: PathCallsOutput, definitions: &Definitions) -> Self {
        let pieces = Pieces::new(&mut graph, calls, definitions);
        Replay { graph, pieces, ideal: OnceLock::new() }
    }

    /// The run with `changes`, one after the other.
    ///
    /// # Errors
    /// If a change names code that the run does not have.
    pub fn what_if(&self, changes: &[Change]) -> Result<Projection, ChangeError> {
        what_if(&self.graph, &self.pieces, changes)
    }

    /// What changes of each call path on the critical path would gain: by replay for the first `n_replayed`, which lead.
    pub fn ranking(&self, n_replayed: usize) -> Vec<PathGain> {
        ranking(&self.graph, &self.pieces, n_replayed)
    }

    /// How long the run would take if calls of MPI took no time but waiting: every location keeps its own work, and all
    /// that it needs of others.
    pub fn ideal_run_time(&self) -> Ticks {
        *self.ideal.get_or_init(|| {
            let unchanged = Changing::new(&self.graph, &self.pieces);
            self.graph.run_time_without(&unchanged.times_in_mpi())
        })
    }

    /// What `edits` gain together, in ticks; below zero if they make the run longer.
    pub fn gain(&self, edits: &[Edit]) -> i64 {
        let mut changing = Changing::new(&self.graph, &self.pieces);
        edits.iter().for_each(|edit| changing.edit(edit));
        let (recorded, changed) = (self.graph.run(), changing.run_time());
        recorded.end.since(recorded.start).0.cast_signed().wrapping_sub(changed.0.cast_signed())
    }

    /// How many ticks earlier the run would end with these changes, made one after the other, if calls of MPI took no
    /// time but waiting before and after the change: what recorded transfers hold of waiting for ranks that compute
    /// outside of MPI, where nothing progresses, does not stay then.
    pub fn gain_without_transfers(&self, edits: &[Edit]) -> i64 {
        let mut changing = Changing::new(&self.graph, &self.pieces);
        edits.iter().for_each(|edit| changing.edit(edit));
        changing.scale(&Selection::of_mpi(&self.pieces), (0, 1));
        let (ideal, changed) = (self.ideal_run_time().0, changing.run_time().0);
        ideal.cast_signed().wrapping_sub(changed.cast_signed())
    }

    /// What call paths of another tree are called here; `None` for one that the run does not have.
    pub fn paths_of(&self, tree: &CallPathTree) -> Vec<Option<CallPathId>> {
        let own = &self.pieces.call_paths;
        let mut children: FxHashMap<(CallPathId, Option<RegionId>), CallPathId> = FxHashMap::default();
        children.extend(own.paths().map(|path| ((own.parent(path), own.region(path)), path)));
        let mut found = vec![Some(CallPathTree::ROOT); tree.len()];
        for path in tree.paths() {
            let parent = found[tree.parent(path).index()];
            found[path.index()] = parent.and_then(|it| children.get(&(it, tree.region(path))).copied());
        }
        found
    }

    /// The call paths of the calls that need others.
    pub fn needing_paths(&self) -> BTreeSet<CallPathId> {
        let needing = (0..self.graph.points.len()).filter(|&point| !self.graph.needs_of(point).is_empty());
        needing.map(|point| self.graph.points[point].path).collect()
    }

    /// The locations that are replayed, ascending.
    pub fn locations(&self) -> impl Iterator<Item = LocationId> {
        self.graph.timelines.iter().map(|it| it.location)
    }

    /// The names of the regions of a call path, from the root.
    pub fn names(&self, path: CallPathId) -> Vec<Arc<str>> {
        self.pieces.names(path)
    }

    /// Why a replay tells little about the run as a whole; `None` if it tells enough.
    pub fn doubt(&self) -> Option<&'static str> {
        self.graph.doubt()
    }

    /// What is not replayed.
    pub fn dropped(&self) -> &Dropped {
        self.graph.dropped()
    }

    /// What the locations do over time; of more than `n_most`, some at equal distances.
    ///
    /// # Errors
    /// If a change names code that the run does not have.
    pub fn spans(&self, changes: &[Change], n_most: usize) -> Result<Vec<RankSpans>, ChangeError> {
        let unchanged = Changing::new(&self.graph, &self.pieces);
        let mut changing = Changing::new(&self.graph, &self.pieces);
        changes.iter().try_for_each(|change| changing.make(change))?;
        let [recorded, projected] = [unchanged, changing].map(|changing| {
            let lengths = changing.lengths().into_owned();
            (self.graph.replay(&lengths), changing.times_in_mpi(), lengths)
        });
        let n = self.graph.timelines.len();
        let shown = (0..n.min(n_most)).map(|i| i * n / n.min(n_most));
        let spans = shown.map(|timeline| RankSpans {
            rank: self.graph.timelines[timeline].rank,
            recorded: self.spans_of(timeline, &recorded),
            projected: self.spans_of(timeline, &projected),
        });
        Ok(spans.collect())
    }

    fn spans_of(
        &self,
        timeline: usize,
        (replayed, in_mpi, lengths): &(Replayed, Vec<u64>, Vec<u64>),
    ) -> Vec<(SpanKind, Ticks, Ticks)> {
        let of = &self.graph.timelines[timeline];
        let first = self.graph.run().start.0;
        let mut spans = Vec::new();
        let mut add = |kind, start: u64, end: u64| {
            if start < end {
                spans.push((kind, Ticks(start - first), Ticks(end - first)));
            }
        };
        let mut start = of.start;
        for nth in 0..=of.n_points {
            let piece = self.graph.first_piece(timeline) + nth;
            let end = start + lengths[piece];
            let works = end.min(start + in_mpi[piece]);
            add(SpanKind::Mpi, start, works);
            add(SpanKind::Work, works, end);
            if nth < of.n_points {
                start = replayed.times[of.first + nth];
                add(SpanKind::Wait, end, start);
            }
        }
        spans
    }

    /// What the replay leaves out or takes for granted, in words.
    pub fn limits(&self, changes: &[Change], projection: &Projection) -> Vec<String> {
        let Dropped { unmet, cyclic, locations, missing } = *self.dropped();
        let counted = [
            (
                unmet,
                "dependency is left out that the record does not meet",
                "dependencies are left out that the record does not meet",
            ),
            (
                cyclic,
                "dependency is left out, as calls would wait for each other",
                "dependencies are left out, as calls would wait for each other",
            ),
            (
                missing.likely_receivers,
                "send is taken to wait for its receiver, though it is not certain",
                "sends are taken to wait for their receivers, though it is not certain",
            ),
            (
                missing.possible_receivers,
                "send may have waited for its receiver, and is taken not to",
                "sends may have waited for their receivers, and are taken not to",
            ),
            (missing.unmatched, "end of a message has no other end", "ends of messages have no other end"),
            (
                missing.partial,
                "part of a collective has no known other members",
                "parts of collectives have no known other members",
            ),
            (
                missing.epochs,
                "epoch of one-sided communication has no known other side",
                "epochs of one-sided communication have no known other side",
            ),
            (
                missing.locks_in_order,
                "lock of a window is had in the recorded order, whoever asks first",
                "locks of windows are had in the recorded order, whoever asks first",
            ),
            (
                locations,
                "thread or stream beside the main threads is not replayed",
                "threads and streams beside the main threads are not replayed",
            ),
            (
                projection.n_without as u64,
                "time, a rank did not run the balanced code in a phase: it counts as zero and is given nothing",
                "times, a rank did not run the balanced code in a phase: it counts as zero and is given nothing",
            ),
        ];
        let mut limits = Vec::new();
        if !self.graph.has_dependencies() {
            limits.push("no rank is known to wait for another: each is replayed on its own".to_owned());
        }
        let counted = counted.into_iter().filter(|it| 0 < it.0);
        limits.extend(counted.map(|(n, one, many)| units::counted(n, one, many)));
        if changes.iter().any(|it| matches!(it, Change::Network(Network::Linear { .. }))) {
            limits.push(
                "only transfers of messages depend on the network; collectives keep their lengths".to_owned(),
            );
        }
        if changes.iter().any(|it| it.shortens_mpi(&self.graph, &self.pieces)) {
            limits.push(STILL_WAIT.to_owned());
        }
        limits.push(BY_TIME.to_owned());
        limits
    }
}

const STILL_WAIT: &str =
    "calls of MPI that take less time or none still wait for all that they need of other ranks";

const BY_TIME: &str = "what a program decides by time stays as recorded: MPI_Waitany, receives from any source, dynamic \
                       schedules";
