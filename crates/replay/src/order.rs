//! An order in which every cause comes before its effect.

use crate::graph::{Graph, Signal};
use std::collections::BTreeSet;

/// How far the points of the graph can be reached.
struct Progress<'a> {
    graph: &'a Graph,
    /// By timeline: the next point.
    next: Vec<usize>,
    /// By signal.
    is_there: Vec<bool>,
    /// By signal: timelines that stopped there.
    stopped: Vec<Vec<u32>>,
    /// By join: inputs that are not there.
    n_missing: Vec<u32>,
    /// What joins wait for: sorted pairs of input and join.
    feeds: Vec<(Signal, u32)>,
    ready: Vec<u32>,
    steps: Vec<Signal>,
}

/// Points and joins, each after all that it needs. Where calls wait for each other, the needs of the earliest one are
/// dropped until the rest can go on.
pub(crate) fn order(graph: &mut Graph) -> Vec<Signal> {
    loop {
        let mut progress = Progress::new(graph);
        progress.run();
        let steps = std::mem::take(&mut progress.steps);
        if steps.len() == graph.points.len() + graph.joins.len() {
            return steps;
        }
        let cyclic = progress.earliest_missing();
        // A join without its inputs is no need of a point: all of them are missing.
        if cyclic.is_empty() {
            return steps;
        }
        graph.drop_needs(&cyclic);
    }
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
        feeds.sort_unstable();
        Progress {
            graph,
            next: graph.timelines.iter().map(|it| it.first).collect(),
            is_there: vec![false; n_signals],
            stopped: vec![Vec::new(); n_signals],
            n_missing,
            feeds,
            ready: (0..graph.timelines.len() as u32).rev().collect(),
            steps: Vec::with_capacity(n_signals),
        }
    }

    fn run(&mut self) {
        for join in 0..self.n_missing.len() {
            if self.n_missing[join] == 0 {
                self.reach((self.graph.points.len() + join) as Signal);
            }
        }
        while let Some(timeline) = self.ready.pop() {
            let of = &self.graph.timelines[timeline as usize];
            while self.next[timeline as usize] < of.first + of.n_points {
                let point = self.next[timeline as usize];
                if let Some(missing) = self.missing(point) {
                    self.stopped[missing as usize].push(timeline);
                    break;
                }
                self.next[timeline as usize] += 1;
                self.reach(point as Signal);
            }
        }
    }

    /// The first need of a point that is not there.
    fn missing(&self, point: usize) -> Option<Signal> {
        self.graph.needs_of(point).iter().copied().find(|&need| !self.is_there[need as usize])
    }

    fn reach(&mut self, signal: Signal) {
        let mut reached = vec![signal];
        while let Some(signal) = reached.pop() {
            self.is_there[signal as usize] = true;
            self.steps.push(signal);
            self.ready.append(&mut self.stopped[signal as usize]);
            let first = self.feeds.partition_point(|feed| feed.0 < signal);
            for &(_, join) in self.feeds[first..].iter().take_while(|feed| feed.0 == signal) {
                self.n_missing[join as usize] -= 1;
                if self.n_missing[join as usize] == 0 {
                    reached.push(self.graph.points.len() as u32 + join);
                }
            }
        }
    }

    /// What the earliest call lacks that cannot go on.
    fn earliest_missing(&self) -> BTreeSet<(u32, Signal)> {
        let stopped = self.graph.timelines.iter().zip(&self.next);
        let stopped = stopped.filter(|(of, next)| **next < of.first + of.n_points).map(|(_, next)| *next);
        let Some(earliest) = stopped.min_by_key(|&point| (self.graph.points[point].at, point)) else {
            return BTreeSet::new();
        };
        let needs = self.graph.needs_of(earliest).iter();
        needs.filter(|&&need| !self.is_there[need as usize]).map(|&need| (earliest as u32, need)).collect()
    }
}
