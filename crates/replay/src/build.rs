//! From the dependencies of a run to its graph.

use crate::entries::{Entry, LocationEntries, entries};
use crate::graph::{Dropped, Graph, JoinNode, Point, Signal, Timeline, Transfer};
use crate::grouped::Grouped;
use crate::order::order;
use ouzel_model::{CallPathId, CallPathTree, Definitions, LocationId, LocationKind, Ticks, WorldRank};
use ouzel_waits::edges::{Edges, Join, MessageEdge, Need, Place, Post};
use std::collections::BTreeSet;

impl Graph {
    /// The graph of a whole run.
    pub fn new(edges: &Edges, definitions: &Definitions) -> Self {
        let mut entries = entries(edges);
        let taking_part = taking_part(edges, &entries, definitions);
        let locations = (edges.spans.len() - taking_part.len()) as u64;
        let mut graph = Graph {
            call_paths: edges.call_paths.clone(),
            timelines: Vec::with_capacity(taking_part.len()),
            points: Vec::new(),
            timeline_of: Vec::new(),
            needs_end: Vec::new(),
            needs: Vec::new(),
            joins: Vec::new(),
            inputs: Vec::new(),
            runs: Vec::new(),
            transfers: Vec::new(),
            n_messages: edges.n_messages,
            dropped: Dropped { locations, missing: edges.missing, ..Dropped::default() },
        };
        for location in taking_part {
            let of_location = entries.get_mut(location.index());
            graph.add_timeline(location, edges.spans[&location], of_location, definitions);
        }
        let point_of = |location: LocationId, entry: Entry| entries.get(location.index())?.point(&entry);
        graph.add_needs(edges, point_of);
        graph.runs = order(&mut graph);
        graph.add_transfers(edges, point_of);
        graph
    }

    fn add_timeline(
        &mut self,
        location: LocationId,
        (start, end): (Ticks, Ticks),
        mut entries: Option<&mut LocationEntries>,
        definitions: &Definitions,
    ) {
        let first = self.points.len();
        let order = entries.as_deref().map(in_order).unwrap_or_default();
        for (number, (index, at)) in (first as u32..).zip(order) {
            entries.iter_mut().for_each(|entries| entries.set_point(index, number));
            let at = at.0.max(start.0).max(self.last_at(first));
            self.points.push(Point { at, until: at, path: CallPathTree::ROOT });
        }
        let n_points = self.points.len() - first;
        self.timeline_of.resize(self.points.len(), self.timelines.len() as u32);
        let rank = definitions.location(location).rank;
        let end = end.0.max(self.last_at(first)).max(start.0);
        self.timelines.push(Timeline { location, rank, start: start.0, end, first, n_points });
    }

    /// When the last point from `first` on is reached.
    fn last_at(&self, first: usize) -> u64 {
        self.points[first..].last().map_or(0, |point| point.at)
    }

    fn add_needs(&mut self, edges: &Edges, point_of: impl Fn(LocationId, Entry) -> Option<u32>) {
        let mut times: Vec<u64> = self.points.iter().map(|point| point.at).collect();
        let mut found: Vec<(u32, Signal)> = Vec::new();
        let n_timelines = self.timelines.len();
        let post = |post: &Post| point_of(post.location, Entry::of_post(post));
        let need = |need: &Need| point_of(need.location, Entry::of_need(need));
        let n_points = self.points.len() as u32;
        for (join, number) in edges.joins.iter().zip(n_points..) {
            let Join { after, posts, is_of_all, .. } = join;
            let before = after.map(|after| n_points + after);
            self.inputs.extend(posts.iter().filter_map(post).chain(before));
            let inputs_end = self.inputs.len() as u32;
            let is_of_all = *is_of_all && posts.len() == n_timelines;
            self.joins.push(JoinNode { inputs_end, is_of_all });
            let inputs = self.inputs_of((number - n_points) as usize).iter();
            let complete = inputs.map(|&input| times[input as usize]).max().unwrap_or_default();
            times.push(complete);
        }
        let is_met = |needing: u32, leave: Ticks, signal: Signal| {
            let timeline = &self.timelines[self.timeline_of[needing as usize] as usize];
            let after = needing as usize + 1;
            let is_last = after == timeline.first + timeline.n_points;
            let next = if is_last { timeline.end } else { self.points[after].at };
            times[signal as usize] <= leave.0.min(next)
        };
        let mut unmet = 0;
        let mut calls: Vec<(u32, CallPathId)> = Vec::new();
        let mut add = |needing: &Need, signal: Option<Signal>| {
            let (Some(point), Some(signal)) = (need(needing), signal) else { return };
            match is_met(point, needing.leave, signal) {
                true => {
                    found.push((point, signal));
                    calls.push((point, needing.path));
                }
                false => unmet += 1,
            }
        };
        for MessageEdge { post: posted, need: needing, .. } in &edges.messages {
            add(needing, post(posted));
        }
        for (join, number) in edges.joins.iter().zip(n_points..) {
            join.needs.iter().for_each(|needing| add(needing, Some(number)));
        }
        calls.into_iter().for_each(|(point, path)| self.points[point as usize].path = path);
        self.dropped.unmet = unmet;
        let mut of_point = Vec::new();
        self.needs = Vec::with_capacity(found.len());
        self.needs_end = Vec::with_capacity(self.points.len());
        let found = Grouped::new(self.points.len(), found.iter().copied());
        for signals in found.groups() {
            of_point.clear();
            of_point.extend_from_slice(signals);
            of_point.sort_unstable();
            of_point.dedup();
            self.needs.append(&mut of_point);
            self.needs_end.push(self.needs.len() as u32);
        }
        self.set_until();
    }

    fn add_transfers(&mut self, edges: &Edges, point_of: impl Fn(LocationId, Entry) -> Option<u32>) {
        let transfer = |&MessageEdge { need, bytes, .. }: &MessageEdge| {
            let point = point_of(need.location, Entry::of_need(&need))?;
            let rest = need.leave.0.saturating_sub(self.points[point as usize].until);
            Some(Transfer { point, bytes, rest })
        };
        self.transfers = edges.messages.iter().filter_map(transfer).collect();
    }
}

/// Indices of entries with their times, in the order of calls: those without a number come where their times are.
fn in_order(entries: &LocationEntries) -> Vec<(usize, Ticks)> {
    let n_numbered = entries.n_numbered();
    let (numbered, others) = entries.sorted().split_at(n_numbered);
    let goes_before = |entry: &Entry| {
        numbered.partition_point(|it| match entry.place {
            Place::After => it.at <= entry.at,
            Place::Before | Place::Nth(_) => it.at < entry.at,
        })
    };
    let position = |(entry, index): (&Entry, usize)| (goes_before(entry), entry.at, index);
    let mut others: Vec<(usize, Ticks, usize)> = others.iter().zip(n_numbered..).map(position).collect();
    others.sort_unstable();
    let mut others = others.into_iter().peekable();
    let mut order = Vec::with_capacity(entries.sorted().len());
    for (index, entry) in numbered.iter().enumerate() {
        while let Some((_, at, other)) = others.next_if(|it| it.0 <= index) {
            order.push((other, at));
        }
        order.push((index, entry.at));
    }
    order.extend(others.map(|(_, at, other)| (other, at)));
    order
}

/// Locations that are replayed: those with points, and the first of each rank without any.
fn taking_part(
    edges: &Edges,
    entries: &[LocationEntries],
    definitions: &Definitions,
) -> BTreeSet<LocationId> {
    let rank = |location: LocationId| definitions.location(location).rank;
    let has_entries =
        |location: &LocationId| entries.get(location.index()).is_some_and(|entries| !entries.is_empty());
    let with_points = || edges.spans.keys().copied().filter(|location| has_entries(location));
    let ranks: BTreeSet<Option<WorldRank>> = with_points().map(rank).collect();
    let mut found: BTreeSet<LocationId> = with_points().collect();
    let mut of_rank: BTreeSet<Option<WorldRank>> = BTreeSet::new();
    for &location in edges.spans.keys() {
        let runs_code =
            matches!(definitions.location(location).kind, LocationKind::CpuThread | LocationKind::Unknown);
        if runs_code && !ranks.contains(&rank(location)) && of_rank.insert(rank(location)) {
            found.insert(location);
        }
    }
    found
}
