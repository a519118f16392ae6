//! Loops that nothing marks, in the calls of a sampled function.
//!
//! A function that calls from one place again and again, while it is one call itself, does so in a loop. Where lines are
//! known, the loop spans the lines of what repeats, and calls between them belong to it. Where they are not, only calls
//! that repeat do, as two calls of one function look like one that repeats. Loops inside of one that was found are not
//! told apart from it: samples do not show enough of the order.
//! Law: durations stay what they were, and a loop is not searched for where one is marked.

use super::{SampledNode, neighbours};
use crate::node::StaticId;
use crate::recognise::REPEATS_MIN;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How often what lies between calls that do not repeat is searched again: work is this times the number of calls.
const SPLITS_MAX: u32 = 32;

/// Puts loops between calls and what they call again and again.
pub(super) fn find_loops(nodes: &mut Vec<SampledNode>) {
    let mut found = Vec::new();
    let (mut ids, mut places, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
    for (at, node) in nodes.iter().enumerate() {
        let Some(key) = node.id.region() else { continue };
        let inside = &nodes[at + 1..][..node.n_inside as usize];
        if neighbours(inside).nth(REPEATS_MIN - 1).is_none() {
            continue;
        }
        ids.clear();
        places.clear();
        let mut place = at + 1;
        for child in neighbours(inside) {
            ids.push(child[0].id);
            places.push(place);
            place += child.len();
        }
        places.push(place);
        search(&ids, 0..ids.len(), SPLITS_MAX, &mut ranges);
        let id = StaticId::FoundLoop { key, level: 0 };
        found.extend(ranges.drain(..).map(|range| (places[range.start]..places[range.end], id)));
    }
    if !found.is_empty() {
        found.sort_unstable_by_key(|(places, _)| places.start);
        *nodes = with_loops(std::mem::take(nodes), &found);
    }
}

/// A tree with loops around the calls in these places, ascending.
fn with_loops(nodes: Vec<SampledNode>, loops: &[(Range<usize>, StaticId)]) -> Vec<SampledNode> {
    let n_before = |place: usize| loops.partition_point(|(places, _)| places.start < place);
    let n_within = |places: Range<usize>| (n_before(places.end) - n_before(places.start)) as u32;
    let looped = |(places, id): &(Range<usize>, StaticId)| {
        let mut node = looped(*id, &nodes[places.clone()]);
        node.n_inside += n_within(places.start + 1..places.end);
        (places.start, node)
    };
    let mut looped = loops.iter().map(looped).collect::<Vec<_>>().into_iter().peekable();
    let mut all = Vec::with_capacity(nodes.len() + loops.len());
    for (at, mut node) in nodes.into_iter().enumerate() {
        all.extend(looped.next_if(|&(start, _)| start == at).map(|(_, node)| node));
        node.n_inside += n_within(at + 1..at + 1 + node.n_inside as usize);
        all.push(node);
    }
    all
}

/// The ranges of loops among children, ascending.
fn search(ids: &[StaticId], within: Range<usize>, n_splits: u32, found: &mut Vec<Range<usize>>) {
    let mut places: BTreeMap<StaticId, (usize, Range<usize>)> = BTreeMap::new();
    for at in within.clone().filter(|&at| is_call(ids[at])) {
        let (n, range) = places.entry(ids[at]).or_insert((0, at..at));
        *n += 1;
        range.end = at + 1;
    }
    places.retain(|_, (n, _)| REPEATS_MIN <= *n);
    let mut ranges: Vec<Range<usize>> = places.values().map(|(_, range)| range.clone()).collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    for range in overlapping(ranges) {
        let inside = |id: &StaticId| {
            places.get(id).is_some_and(|(_, of)| range.start <= of.start && of.end <= range.end)
        };
        let repeated: BTreeSet<StaticId> = ids[range.clone()].iter().copied().filter(inside).collect();
        let outside: Vec<usize> = range.clone().filter(|&at| !is_part(ids[at], &repeated)).collect();
        if outside.is_empty() {
            found.push(range);
            continue;
        }
        let mut start = range.start;
        for end in outside.into_iter().chain([range.end]) {
            if start < end && 0 < n_splits {
                search(ids, start..end, n_splits - 1, found);
            }
            start = end + 1;
        }
    }
}

fn is_call(id: StaticId) -> bool {
    matches!(id, StaticId::Region(_) | StaticId::CallSite { .. })
}

/// Whether a child belongs to the loop in which these are called again and again.
fn is_part(id: StaticId, repeated: &BTreeSet<StaticId>) -> bool {
    let lines: Option<Vec<u32>> = repeated.iter().map(|id| id.line()).collect();
    let lines = lines.and_then(|lines| lines.iter().min().copied().zip(lines.iter().max().copied()));
    let is_between = lines.zip(id.line()).is_some_and(|((low, high), line)| (low..=high).contains(&line));
    repeated.contains(&id) || is_between || id == StaticId::Folded
}

/// Ranges sorted by their start, those that overlap as one.
fn overlapping(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut united: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match united.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => united.push(range),
        }
    }
    united
}

/// The loop of these neighbours.
fn looped(id: StaticId, inside: &[SampledNode]) -> SampledNode {
    let calls = || neighbours(inside).map(|call| &call[0]);
    let last = calls().last().expect("a range of a loop is not empty");
    SampledNode {
        id,
        n_inside: inside.len() as u32,
        first: inside[0].first,
        last: last.last,
        end: last.end,
        folded: None,
        continuity: calls().map(|call| call.continuity).max().unwrap_or_default(),
        has_recorded: calls().any(|call| call.has_recorded),
        is_recorded: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_model::RegionId;

    /// Calls as letters; lines in the order of the alphabet if they are known.
    fn loops(text: &str, lined: bool) -> Vec<&str> {
        let id = |c: u8| {
            let region = RegionId(u32::from(c));
            if lined { StaticId::CallSite { region, line: u32::from(c) } } else { StaticId::Region(region) }
        };
        let ids: Vec<StaticId> = text.bytes().map(id).collect();
        let mut found = Vec::new();
        search(&ids, 0..ids.len(), SPLITS_MAX, &mut found);
        found.into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn what_is_called_again_and_again_is_a_loop() {
        for lined in [false, true] {
            assert_eq!(loops("abcde", lined), [""; 0]);
            assert_eq!(loops("ababz", lined), [""; 0]);
            assert_eq!(loops("xababbaaby", lined), ["ababbaab"]);
            assert_eq!(loops("ababab.cdcdcd", lined), ["ababab", "cdcdcd"]);
        }
        // A call now and then between the lines of the others, and one in another place.
        assert_eq!(loops("acabcacac", true), ["acabcacac"]);
        assert_eq!(loops("acabcacac", false), ["acac"; 0]);
        assert_eq!(loops("acacacbacacac", false), ["acacac", "acacac"]);
        // A barrier before, between and behind.
        assert_eq!(loops("zbzababab.z", false), ["ababab"]);
    }
}
