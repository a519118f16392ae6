//! An order in which every cause comes before its effect.

use crate::graph::{Graph, Run, Signal};
use crate::grouped::Grouped;
use std::collections::BTreeSet;
use std::num::NonZeroU32;

/// How far the points of the graph can be reached.
struct Progress<'a> {
    graph: &'a Graph,
    /// By timeline: the next point.
    next: Vec<usize>,
    /// By signal.
    is_there: Vec<bool>,
    /// By signal: the last timeline that stopped there, if any.
    stopped: Vec<Option<NonZeroU32>>,
    /// By timeline: one that stopped at the same signal before.
    stopped_before: Vec<Option<NonZeroU32>>,
    /// By join: inputs that are not there.
    n_missing: Vec<u32>,
    /// By signal: joins that wait for it.
    feeds: Grouped<u32>,
    /// Signals that are there and were not followed.
    reached: Vec<Signal>,
    ready: Vec<u32>,
    runs: Vec<Run>,
    /// Needs of points that would wait for each other.
    cyclic: BTreeSet<(u32, Signal)>,
}

/// Points and joins, each after all that it needs. Where calls wait for each other, the needs of the earliest one are
/// dropped until the rest can go on.
pub(crate) fn order(graph: &mut Graph) -> Vec<Run> {
    let mut progress = Progress::new(graph);
    progress.reach_empty_joins();
    progress.run();
    while let Some(timeline) = progress.drop_earliest() {
        progress.ready.push(timeline);
        progress.run();
    }
    let Progress { runs, cyclic, .. } = progress;
    if !cyclic.is_empty() {
        graph.drop_needs(&cyclic);
    }
    runs
}

impl<'a> Progress<'a> {
    fn new(graph: &'a Graph) -> Self {
        let n_signals = graph.points.len() + graph.joins.len();
        let mut feeds: Vec<(Signal, u32)> = Vec::with_capacity(graph.inputs.len());
        let mut n_missing = Vec::with_capacity(graph.joins.len());
        for join in 0..graph.joins.len() {
            let inputs = graph.inputs_of(join);
            n_missing.push(inputs.len() as u32);
            feeds.extend(inputs.iter().map(|&input| (input, join as u32)));
        }
        Progress {
            graph,
            next: graph.timelines.iter().map(|it| it.first).collect(),
            is_there: vec![false; n_signals],
            stopped: vec![None; n_signals],
            stopped_before: vec![None; graph.timelines.len()],
            n_missing,
            feeds: Grouped::new(n_signals, feeds.iter().copied()),
            reached: Vec::new(),
            ready: (0..graph.timelines.len() as u32).rev().collect(),
            runs: Vec::new(),
            cyclic: BTreeSet::new(),
        }
    }

    fn reach_empty_joins(&mut self) {
        for join in 0..self.n_missing.len() {
            if self.graph.inputs_of(join).is_empty() {
                self.reach((self.graph.points.len() + join) as Signal);
            }
        }
    }

    fn run(&mut self) {
        while let Some(timeline) = self.ready.pop() {
            let of = &self.graph.timelines[timeline as usize];
            while self.next[timeline as usize] < of.first + of.n_points {
                let point = self.next[timeline as usize];
                if let Some(missing) = self.missing(point) {
                    let last = &mut self.stopped[missing as usize];
                    self.stopped_before[timeline as usize] = *last;
                    *last = NonZeroU32::new(timeline + 1);
                    break;
                }
                self.next[timeline as usize] += 1;
                self.reach(point as Signal);
            }
        }
    }

    /// The first need of a point that is not there.
    fn missing(&self, point: usize) -> Option<Signal> {
        let is_missing = |need: Signal| !self.is_there[need as usize];
        let mut needs = self.graph.needs_of(point).iter().copied();
        needs.find(|&need| is_missing(need) && !self.cyclic.contains(&(point as u32, need)))
    }

    /// Adds a step.
    fn add(&mut self, signal: Signal) {
        let timeline = self.graph.timeline_of.get(signal as usize);
        // A run of points ends with its timeline, a run of joins never meets a point.
        let is_next =
            |run: &&mut Run| run.end == signal && self.graph.timeline_of.get(run.first as usize) == timeline;
        match self.runs.last_mut().filter(is_next) {
            Some(run) => run.end += 1,
            None => {
                let timeline = timeline.copied().unwrap_or_default();
                self.runs.push(Run { first: signal, end: signal + 1, timeline });
            }
        }
    }

    fn reach(&mut self, signal: Signal) {
        self.reached.push(signal);
        while let Some(signal) = self.reached.pop() {
            self.is_there[signal as usize] = true;
            self.add(signal);
            let mut stopped = self.stopped[signal as usize].take();
            while let Some(timeline) = stopped.map(|it| it.get() - 1) {
                self.ready.push(timeline);
                stopped = self.stopped_before[timeline as usize];
            }
            for &join in self.feeds.of(signal as usize) {
                self.n_missing[join as usize] -= 1;
                if self.n_missing[join as usize] == 0 {
                    self.reached.push(self.graph.points.len() as u32 + join);
                }
            }
        }
    }

    /// Takes a timeline from those that stopped at a signal.
    fn leave(&mut self, timeline: u32, signal: Signal) {
        let (own, before) = (NonZeroU32::new(timeline + 1), self.stopped_before[timeline as usize]);
        let mut at = &mut self.stopped[signal as usize];
        while *at != own {
            let Some(other) = *at else { return };
            at = &mut self.stopped_before[other.get() as usize - 1];
        }
        *at = before;
    }

    /// Drops what the earliest call lacks that cannot go on; returns its timeline.
    fn drop_earliest(&mut self) -> Option<u32> {
        let stopped = (0..).zip(self.graph.timelines.iter().zip(&self.next));
        let stopped = stopped.filter(|(_, (of, next))| **next < of.first + of.n_points);
        let stopped = stopped.map(|(timeline, (_, &next))| (self.graph.points[next].at, next, timeline));
        let (_, earliest, timeline) = stopped.min()?;
        if let Some(missing) = self.missing(earliest) {
            self.leave(timeline, missing);
        }
        let needs = self.graph.needs_of(earliest).iter().filter(|&&need| !self.is_there[need as usize]);
        self.cyclic.extend(needs.map(|&need| (earliest as u32, need)));
        Some(timeline)
    }
}
