//! The posts and needs of each location in order, and where each of them is.

use crate::grouped::Grouped;
use ouzel_model::{LocationId, Ticks};
use ouzel_waits::edges::{Edges, Need, Place, Post};

/// A point as it is read, with what tells it from others of its location: posts come before needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub place: Place,
    pub at: Ticks,
    is_need: bool,
}

impl Entry {
    pub fn of_post(post: &Post) -> Self {
        Entry { place: post.place, at: post.at, is_need: false }
    }

    pub fn of_need(need: &Need) -> Self {
        Entry { place: need.place, at: need.at, is_need: true }
    }
}

/// The entries of one location, each once.
#[derive(Debug, Default)]
pub(crate) struct LocationEntries {
    /// Those with a number in the sequence of calls, ascending; then the others.
    sorted: Vec<Entry>,
    /// Where those of each number start.
    starts: Vec<u32>,
    /// The point of each, once it is known.
    points: Vec<u32>,
}

/// By location; those that take part in nothing have no entries, or are missing at the end.
pub(crate) fn entries(edges: &Edges) -> Vec<LocationEntries> {
    let mut n_entries: Vec<usize> = Vec::new();
    for_each(edges, |location, _| {
        if n_entries.len() <= location.index() {
            n_entries.resize(location.index() + 1, 0);
        }
        n_entries[location.index()] += 1;
    });
    let mut of: Vec<Vec<Entry>> = n_entries.into_iter().map(Vec::with_capacity).collect();
    for_each(edges, |location, entry| of[location.index()].push(entry));
    of.into_iter().map(|entries| LocationEntries::new(&entries)).collect()
}

fn for_each(edges: &Edges, mut each: impl FnMut(LocationId, Entry)) {
    for edge in &edges.messages {
        each(edge.post.location, Entry::of_post(&edge.post));
        each(edge.need.location, Entry::of_need(&edge.need));
    }
    for join in &edges.joins {
        join.posts.iter().for_each(|post| each(post.location, Entry::of_post(post)));
        join.needs.iter().for_each(|need| each(need.location, Entry::of_need(need)));
    }
}

impl LocationEntries {
    fn new(entries: &[Entry]) -> Self {
        let number = |entry: &Entry| match entry.place {
            Place::Nth(nth) => Some((nth, *entry)),
            Place::Before | Place::After => None,
        };
        let numbered = entries.iter().filter_map(number);
        let n_numbers = numbered.clone().map(|it| it.0 as usize + 1).max().unwrap_or_default();
        let (mut sorted, mut starts) = (Vec::with_capacity(entries.len()), Vec::with_capacity(n_numbers + 1));
        let mut group = Vec::new();
        for of_call in Grouped::new(n_numbers, numbered).groups() {
            starts.push(sorted.len() as u32);
            group.clear();
            group.extend_from_slice(of_call);
            group.sort_unstable();
            group.dedup();
            sorted.append(&mut group);
        }
        starts.push(sorted.len() as u32);
        let mut others: Vec<Entry> =
            entries.iter().filter(|entry| number(entry).is_none()).copied().collect();
        others.sort_unstable();
        others.dedup();
        sorted.append(&mut others);
        LocationEntries { points: vec![0; sorted.len()], sorted, starts }
    }

    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// How many have a number in the sequence of calls: they come first.
    pub fn n_numbered(&self) -> usize {
        self.starts.last().map_or(0, |&last| last as usize)
    }

    /// All of them.
    pub fn sorted(&self) -> &[Entry] {
        &self.sorted
    }

    /// Sets the point of an entry.
    pub fn set_point(&mut self, index: usize, point: u32) {
        self.points[index] = point;
    }

    /// The point of an entry that is there.
    pub fn point(&self, entry: &Entry) -> Option<u32> {
        let range = match entry.place {
            Place::Nth(nth) => {
                let nth = nth as usize;
                *self.starts.get(nth)? as usize..*self.starts.get(nth + 1)? as usize
            }
            Place::Before | Place::After => self.n_numbered()..self.sorted.len(),
        };
        let first = range.start;
        // Mostly a call is one point, and the entry need not be read.
        let found = if range.len() == 1 { 0 } else { self.sorted[range].binary_search(entry).ok()? };
        Some(self.points[first + found])
    }
}
