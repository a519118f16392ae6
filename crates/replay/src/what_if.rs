//! How long a run would take with changes, and which changes would gain most.

use crate::change::{Change, Changing, Selection};
use crate::error::ChangeError;
use crate::graph::Graph;
use crate::pieces::Pieces;
use crate::replayed::Replayed;
use ouzel_model::{CallPathId, Ticks, WorldRank};
use std::cmp::Reverse;

/// A run with changes, beside the recorded one.
#[derive(Debug, Clone)]
pub struct Projection {
    /// As recorded.
    pub run_time: Ticks,
    /// With the changes.
    pub projected: Ticks,
    /// The most by which a replay without changes misses a recorded time.
    pub identity_error: Ticks,
    /// By location.
    pub ranks: Vec<RankProjection>,
    /// The call paths of the critical path with the changes, the longest first.
    pub critical_path: Vec<(CallPathId, Ticks)>,
    /// How often a rank did not run code that was balanced, counted once for each phase.
    pub n_without: usize,
}

/// One rank with changes, beside the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankProjection {
    /// Who; `None` for a location without a rank.
    pub rank: Option<WorldRank>,
    /// From the start of the run to its last event, as recorded.
    pub end: Ticks,
    /// The same with the changes.
    pub projected_end: Ticks,
    /// Time waited, as recorded.
    pub wait: Ticks,
    /// The same with the changes.
    pub projected_wait: Ticks,
}

/// What changes of one call path would gain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathGain {
    /// The code: its exclusive time on all ranks.
    pub call_path: CallPathId,
    /// Its time on the critical path.
    pub critical: Ticks,
    /// By replay, or the most that it can be.
    pub gains: Gains,
}

/// What would be gained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gains {
    /// Found by replay.
    Replayed {
        /// If it took half its time.
        halved: Ticks,
        /// If it took no time.
        removed: Ticks,
        /// If it were spread evenly in each phase; below zero if that makes the run longer.
        balanced: i64,
    },
    /// For small changes, the gain is in proportion to the time on the critical path, which is also the most that
    /// could be gained.
    AtMost {
        /// If it took half its time.
        halved: Ticks,
        /// If it took no time.
        removed: Ticks,
    },
}

impl Gains {
    /// If the code took half its time.
    pub fn halved(self) -> Ticks {
        match self {
            Gains::Replayed { halved, .. } | Gains::AtMost { halved, .. } => halved,
        }
    }

    /// If it took no time.
    pub fn removed(self) -> Ticks {
        match self {
            Gains::Replayed { removed, .. } | Gains::AtMost { removed, .. } => removed,
        }
    }

    /// If it were spread evenly; `None` if that was not replayed.
    pub fn balanced(self) -> Option<i64> {
        match self {
            Gains::Replayed { balanced, .. } => Some(balanced),
            Gains::AtMost { .. } => None,
        }
    }
}

/// The run with `changes`, one after the other.
///
/// # Errors
/// If a change names code that the run does not have.
pub(crate) fn what_if(graph: &Graph, pieces: &Pieces, changes: &[Change]) -> Result<Projection, ChangeError> {
    let recorded = graph.replay(&pieces.lengths);
    let mut changing = Changing::new(graph, pieces);
    for change in changes {
        changing.make(change)?;
    }
    let lengths = changing.lengths();
    let projected = changing.replay();
    let run = graph.run();
    let ranks = graph.timelines.iter().enumerate().map(|(number, of)| {
        let since_start = |end: u64| Ticks(end - run.start.0);
        RankProjection {
            rank: of.rank,
            end: since_start(of.end),
            projected_end: since_start(projected.ends[number]),
            wait: graph.waited(number, &recorded, &pieces.lengths),
            projected_wait: graph.waited(number, &projected, &lengths),
        }
    });
    Ok(Projection {
        run_time: run.end.since(run.start),
        projected: projected.run_time(),
        identity_error: graph.identity_error(&recorded, &pieces.lengths),
        ranks: ranks.collect(),
        critical_path: critical_times(graph, pieces, (&projected, &lengths), changing.times()),
        n_without: changing.n_without,
    })
}

/// What changes of each call path of the program's own work on the critical path would gain: by replay for the first
/// `n_replayed`, which lead.
pub(crate) fn ranking(graph: &Graph, pieces: &Pieces, n_replayed: usize) -> Vec<PathGain> {
    let recorded = graph.replay(&pieces.lengths);
    let critical = critical_times(graph, pieces, (&recorded, &pieces.lengths), &pieces.times);
    let critical = critical.into_iter().filter(|&(path, _)| pieces.works(path));
    let run_time = recorded.run_time();
    let mut changing = Changing::new(graph, pieces);
    let gains = |(nth, (call_path, critical)): (usize, (CallPathId, Ticks))| {
        let gains = match nth < n_replayed {
            true => replayed_gains(&mut changing, &Selection::of_path(call_path, pieces), run_time),
            false => Gains::AtMost { halved: Ticks(critical.0 / 2), removed: critical },
        };
        PathGain { call_path, critical, gains }
    };
    let mut rows: Vec<PathGain> = critical.enumerate().map(gains).collect();
    rows.sort_by_key(|row| match row.gains {
        Gains::Replayed { removed, balanced, .. } => {
            (0, Reverse(removed.0.max(balanced.try_into().unwrap_or_default())))
        }
        Gains::AtMost { removed, .. } => (1, Reverse(removed.0)),
    });
    rows
}

fn replayed_gains(changing: &mut Changing<'_>, selection: &Selection, run_time: Ticks) -> Gains {
    let mut with = |change: &dyn Fn(&mut Changing<'_>)| {
        changing.undo();
        change(changing);
        changing.run_time()
    };
    let balanced = with(&|it| it.balance_phases(selection));
    Gains::Replayed {
        halved: run_time.since(with(&|it| it.scale(selection, (1, 2)))),
        removed: run_time.since(with(&|it| it.scale(selection, (0, 1)))),
        balanced: run_time.0.cast_signed().wrapping_sub(balanced.0.cast_signed()),
    }
}

/// The time of each call path on the critical path of a replay, the longest first.
fn critical_times(
    graph: &Graph,
    pieces: &Pieces,
    (replayed, lengths): (&Replayed, &[u64]),
    times: &[u64],
) -> Vec<(CallPathId, Ticks)> {
    let mut is_critical = vec![false; graph.n_pieces()];
    graph.critical_pieces(replayed, lengths).into_iter().for_each(|piece| is_critical[piece] = true);
    let mut sums = vec![0; pieces.call_paths.len()];
    for (share, time) in pieces.shares.iter().zip(times) {
        if is_critical[share.segment as usize] {
            sums[share.call_path.index()] += time;
        }
    }
    let mut sums: Vec<(CallPathId, Ticks)> =
        (0..).map(CallPathId).zip(sums.into_iter().map(Ticks)).filter(|it| Ticks(0) < it.1).collect();
    sums.sort_by_key(|&(path, time)| (Reverse(time), path));
    sums
}

impl Graph {
    /// How long a timeline waits.
    fn waited(&self, timeline: usize, replayed: &Replayed, lengths: &[u64]) -> Ticks {
        let of = &self.timelines[timeline];
        let waited = |point: usize| replayed.times[point] - self.reached(point, replayed, lengths);
        Ticks((of.first..of.first + of.n_points).map(waited).sum())
    }

    /// The most by which a replay misses a recorded time.
    fn identity_error(&self, replayed: &Replayed, lengths: &[u64]) -> Ticks {
        let points = self.points.iter().zip(&replayed.times).enumerate();
        let errors = points.map(|(number, (point, until))| {
            let at = self.reached(number, replayed, lengths);
            point.at.abs_diff(at).max(point.until.abs_diff(*until))
        });
        let ends = self.timelines.iter().zip(&replayed.ends).map(|(of, end)| of.end.abs_diff(*end));
        Ticks(errors.chain(ends).max().unwrap_or_default())
    }
}
