//! Replays: when each point would be reached with other lengths of the pieces.

use crate::graph::{Graph, Run, Signal, Timeline};
use ouzel_model::Ticks;

/// What a replay gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replayed {
    /// When each point is left and each join complete, by signal.
    pub(crate) times: Vec<u64>,
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
        let mut replayed = Replayed::default();
        self.replay_into(&mut replayed, lengths, released);
        replayed
    }

    /// The same in the memory of another replay.
    pub(crate) fn replay_into(&self, replayed: &mut Replayed, lengths: &[u64], released: &[bool]) {
        let n_points = self.points.len();
        replayed.start = self.run().start.0;
        let Replayed { times, ends, .. } = replayed;
        times.resize(n_points + self.joins.len(), 0);
        for &Run { first, end, timeline } in &self.runs {
            let (first, end) = (first as usize, end as usize);
            if n_points <= first {
                for join in first..end {
                    times[join] = latest(times, self.inputs_of(join - n_points), 0);
                }
                continue;
            }
            let of = &self.timelines[timeline as usize];
            let piece = first + timeline as usize;
            let mut now = if first == of.first { of.start } else { times[first - 1] };
            let mut needs_start = first.checked_sub(1).map_or(0, |before| self.needs_end[before]);
            let points = self.needs_end[first..end].iter().zip(&lengths[piece..piece + (end - first)]);
            for (point, (&needs_end, length)) in (first..end).zip(points) {
                now += length;
                let needs = &self.needs[needs_start as usize..needs_end as usize];
                needs_start = needs_end;
                if !released.get(point).copied().unwrap_or_default() {
                    now = latest(times, needs, now);
                }
                times[point] = now;
            }
        }
        let end = |(timeline, of): (usize, &Timeline)| {
            let last = (of.first + of.n_points).checked_sub(1).filter(|_| 0 < of.n_points);
            last.map_or(of.start, |last| times[last]) + lengths[of.first + of.n_points + timeline]
        };
        ends.clear();
        ends.extend(self.timelines.iter().enumerate().map(end));
    }

    /// When a point is reached.
    pub(crate) fn reached(&self, point: usize, replayed: &Replayed, lengths: &[u64]) -> u64 {
        let timeline = self.timeline_of[point] as usize;
        let of = &self.timelines[timeline];
        let before = if point == of.first { of.start } else { replayed.times[point - 1] };
        before + lengths[point + timeline]
    }

    /// The pieces of the critical path, the last first: each follows what it waited for, and nothing else could have
    /// begun it earlier. Of several timelines that end last, the first.
    pub(crate) fn critical_pieces(&self, replayed: &Replayed, lengths: &[u64]) -> Vec<usize> {
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
            while self.reached(point, replayed, lengths) < replayed.times[point] {
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
        let mut signals = self.needs_of(point);
        loop {
            let is_cause = |signal: &Signal| replayed.times[*signal as usize] == replayed.times[point];
            let found = signals.iter().copied().find(is_cause)? as usize;
            match found.checked_sub(n_points) {
                None => return Some(found),
                Some(join) => signals = self.inputs_of(join),
            }
        }
    }
}

/// The latest time of some signals, or another one if that is later.
fn latest(times: &[u64], signals: &[Signal], other: u64) -> u64 {
    signals.iter().map(|&signal| times[signal as usize]).fold(other, u64::max)
}
