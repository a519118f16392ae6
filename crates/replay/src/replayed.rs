//! Replays: when each point would be reached with other lengths of the pieces.

use crate::graph::{Graph, Signal, Timeline};
use ouzel_model::Ticks;

/// What a replay gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// When each point is left.
    pub(crate) until: Vec<u64>,
    /// When each point is reached.
    pub(crate) at: Vec<u64>,
    /// When each join is complete.
    pub(crate) joins: Vec<u64>,
    /// When each timeline ends.
    pub(crate) ends: Vec<u64>,
    start: u64,
}

impl Replayed {
    /// From the first event to the last.
    pub fn run_time(&self) -> Ticks {
        Ticks(self.ends.iter().copied().max().unwrap_or(self.start) - self.start)
    }
}

impl Graph {
    /// Index of the first piece of a timeline; it has one more piece than points.
    pub(crate) fn first_piece(&self, timeline: usize) -> usize {
        self.timelines[timeline].first + timeline
    }

    /// Number of pieces.
    pub(crate) fn n_pieces(&self) -> usize {
        self.points.len() + self.timelines.len()
    }

    /// The recorded length of each piece.
    pub(crate) fn lengths(&self) -> Vec<u64> {
        let mut lengths = Vec::with_capacity(self.n_pieces());
        for of in &self.timelines {
            let mut since = of.start;
            for point in &self.points[of.first..of.first + of.n_points] {
                lengths.push(point.at.saturating_sub(since));
                since = point.until;
            }
            lengths.push(of.end.saturating_sub(since));
        }
        lengths
    }

    /// When the pieces began, as recorded.
    pub(crate) fn starts(&self) -> Vec<u64> {
        let of_timeline = |of: &Timeline| {
            let points = &self.points[of.first..of.first + of.n_points];
            std::iter::once(of.start).chain(points.iter().map(|point| point.until))
        };
        self.timelines.iter().flat_map(of_timeline).collect()
    }

    /// The run with pieces of other lengths.
    pub(crate) fn replay(&self, lengths: &[u64]) -> Replayed {
        self.replay_without(lengths, &[])
    }

    /// The same; points that are released need nothing. No flags mean that none is.
    pub(crate) fn replay_without(&self, lengths: &[u64], released: &[bool]) -> Replayed {
        let n_points = self.points.len();
        let (mut until, mut at) = (vec![0; n_points], vec![0; n_points]);
        let mut joins = vec![0; self.joins.len()];
        for &step in &self.steps {
            let step = step as usize;
            let time = |signal: Signal| match (signal as usize).checked_sub(n_points) {
                None => until[signal as usize],
                Some(join) => joins[join],
            };
            if let Some(join) = step.checked_sub(n_points) {
                joins[join] = self.inputs_of(join).iter().map(|&input| time(input)).max().unwrap_or_default();
                continue;
            }
            let timeline = self.timeline_of[step] as usize;
            let of = &self.timelines[timeline];
            let before = if step == of.first { of.start } else { until[step - 1] };
            let reached = before + lengths[step + timeline];
            let is_released = released.get(step).copied().unwrap_or_default();
            let needs = if is_released { &[] } else { self.needs_of(step) };
            let latest = needs.iter().map(|&need| time(need)).max();
            at[step] = reached;
            until[step] = reached.max(latest.unwrap_or_default());
        }
        let end = |(timeline, of): (usize, &Timeline)| {
            let last = (of.first + of.n_points).checked_sub(1).filter(|_| 0 < of.n_points);
            let before = last.map_or(of.start, |last| until[last]);
            before + lengths[of.first + of.n_points + timeline]
        };
        let ends = self.timelines.iter().enumerate().map(end).collect();
        Replayed { until, at, joins, ends, start: self.run().start.0 }
    }

    /// The pieces of the critical path, the last first: each follows what it waited for, and nothing else could have
    /// begun it earlier. Of several timelines that end last, the first.
    pub(crate) fn critical_pieces(&self, replayed: &Replayed) -> Vec<usize> {
        let last = replayed.ends.iter().enumerate().max_by_key(|&(i, &end)| (end, std::cmp::Reverse(i)));
        let Some((mut timeline, _)) = last else { return Vec::new() };
        let mut next = self.timelines[timeline].first + self.timelines[timeline].n_points;
        let mut path = Vec::new();
        loop {
            path.push(next + timeline);
            if next == self.timelines[timeline].first {
                return path;
            }
            let mut point = next - 1;
            while replayed.at[point] < replayed.until[point] {
                let Some(cause) = self.cause(point, replayed) else { break };
                point = cause;
                timeline = self.timeline_of[point] as usize;
            }
            next = point;
        }
    }

    /// The post that a point waited for.
    fn cause(&self, point: usize, replayed: &Replayed) -> Option<usize> {
        let n_points = self.points.len();
        let until = replayed.until[point];
        let mut signals = self.needs_of(point);
        loop {
            let time = |signal: Signal| match (signal as usize).checked_sub(n_points) {
                None => replayed.until[signal as usize],
                Some(join) => replayed.joins[join],
            };
            let found = signals.iter().copied().find(|&signal| time(signal) == until)? as usize;
            match found.checked_sub(n_points) {
                None => return Some(found),
                Some(join) => signals = self.inputs_of(join),
            }
        }
    }
}
