//! Offsets of the clocks of processes, linear in time.
//!
//! Let δ be the offset that `b` must get more than `a`. A message from process `a` to `b` gives δ ≥ sent − received;
//! one from `b` to `a`, δ ≤ received − sent. `lower` is the largest of the first bounds, `upper` the least of the
//! second. δ = 0 if no message of the pair is violated. Else it is the middle of both bounds if they are closer to
//! each other than the nearer one is to 0, or contradict each other; the nearer bound otherwise, as the bounds then
//! show little of how far the clocks are apart. If both the first and the last quarter of a pair's messages have both
//! bounds, δ is computed for each, and is linear in between and beyond: the clocks run at different speeds.
//!
//! Offsets are added up along a spanning forest of the pairs with the most messages, from the process with the least
//! rank. If that would turn time back, the offset at the start is kept throughout; if corrected times would be
//! negative, all are shifted by the same amount.

use super::line::OffsetLine;
use super::points::{Cause, Dependencies, Point};
use ouzel_engine::FinishCx;
use ouzel_model::{Definitions, LocationGroupId, LocationId, WorldRank};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What has a clock of its own: the locations of a rank, or of a group without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Domain {
    Rank(WorldRank),
    Group(LocationGroupId),
}

/// One bound of a pair: its time and value.
#[derive(Debug, Clone, Copy)]
struct Bound {
    at: u64,
    ticks: i64,
    is_lower: bool,
}

/// An offset at the start and at the end of the run.
type OffsetEnds = (i64, i64);

pub(super) fn lines(dependencies: &Dependencies, cx: &FinishCx<'_>) -> BTreeMap<LocationId, OffsetLine> {
    let definitions = cx.definitions;
    let firsts = dependencies.times.iter().filter_map(|times| times.first());
    let lasts = dependencies.times.iter().filter_map(|times| times.last());
    let start = firsts.min().map_or(0, |at| at.0);
    let end = lasts.max().map_or(0, |at| at.0);
    let offsets = offsets(&pairs(dependencies, definitions), (start, end));
    let line = |id: LocationId| {
        let &(start_offset, end_offset) = offsets.get(&domain(definitions, id))?;
        let turns_back = i128::from(end_offset) - i128::from(start_offset) < -(i128::from(end - start) / 2);
        let end_offset = if turns_back { start_offset } else { end_offset };
        Some((id, OffsetLine { start, end, start_offset, end_offset }))
    };
    let mut lines: BTreeMap<LocationId, OffsetLine> = definitions.location_ids().filter_map(line).collect();
    lift(&mut lines, cx);
    lines.retain(|_, line| (line.start_offset, line.end_offset) != (0, 0));
    lines
}

/// Moves all locations up so far that no event gets a negative time.
fn lift(lines: &mut BTreeMap<LocationId, OffsetLine>, cx: &FinishCx<'_>) {
    let below = |(id, line): (&LocationId, &OffsetLine)| {
        let (first, _) = cx.locations.get(id)?.span?;
        let least = i128::from(first.0) + i128::from(line.offset(first));
        i64::try_from(-least).ok().filter(|&below| 0 < below)
    };
    let Some(below) = lines.iter().filter_map(below).max() else { return };
    for (id, summary) in cx.locations {
        if summary.span.is_some() {
            let line = lines.entry(*id).or_default();
            line.start_offset = line.start_offset.saturating_add(below);
            line.end_offset = line.end_offset.saturating_add(below);
        }
    }
}

fn domain(definitions: &Definitions, location: LocationId) -> Domain {
    let location = definitions.location(location);
    location.rank.map_or(Domain::Group(location.group), Domain::Rank)
}

type Pairs = BTreeMap<(Domain, Domain), Vec<Bound>>;

fn pairs(dependencies: &Dependencies, definitions: &Definitions) -> Pairs {
    let domain_of = |point: Point| domain(definitions, dependencies.locations[point.0 as usize]);
    let time_of = |(location, point): Point| dependencies.times[location as usize][point as usize].0;
    let mut pairs = Pairs::new();
    let mut add = |from: Point, to: Point| {
        let (a, b) = (domain_of(from), domain_of(to));
        let (sent, received) = (time_of(from), time_of(to));
        let early = i64::try_from(i128::from(sent) - i128::from(received)).unwrap_or(0);
        if a < b {
            pairs.entry((a, b)).or_default().push(Bound { at: received, ticks: early, is_lower: true });
        } else if b < a {
            let bound = Bound { at: sent, ticks: early.saturating_neg(), is_lower: false };
            pairs.entry((b, a)).or_default().push(bound);
        }
    };
    let mut ends: BTreeMap<u32, Vec<Point>> = BTreeMap::new();
    for (location, causes) in (0..).zip(&dependencies.causes) {
        for &(point, cause) in causes {
            match cause {
                Cause::Point(from) => add(from, (location, point)),
                Cause::Gathering(i) => ends.entry(i).or_default().push((location, point)),
            }
        }
    }
    // The first member with each of the others: every pair would be the square of them.
    for (i, ends) in ends {
        let begins = &dependencies.gatherings[i as usize];
        ends.iter().for_each(|&end| add(begins[0], end));
        begins.iter().for_each(|&begin| add(begin, ends[0]));
    }
    pairs
}

/// The offsets of every process that is connected, along the spanning forest.
fn offsets(pairs: &Pairs, run: (u64, u64)) -> BTreeMap<Domain, OffsetEnds> {
    let mut order: Vec<_> = pairs.iter().map(|(&pair, bounds)| (pair, weight(bounds))).collect();
    order.sort_by_key(|&(pair, weight)| (std::cmp::Reverse(weight), pair));
    // In which tree a process is: the least process of the tree.
    let mut tree: BTreeMap<Domain, Domain> = BTreeMap::new();
    let mut edges: BTreeMap<Domain, Vec<(Domain, OffsetEnds)>> = BTreeMap::new();
    fn top(tree: &BTreeMap<Domain, Domain>, mut at: Domain) -> Domain {
        while let Some(&up) = tree.get(&at).filter(|&&up| up != at) {
            at = up;
        }
        at
    }
    for ((a, b), _) in order {
        let (of_a, of_b) = (top(&tree, a), top(&tree, b));
        if of_a == of_b {
            continue;
        }
        tree.insert(of_a.max(of_b), of_a.min(of_b));
        tree.entry(of_a.min(of_b)).or_insert(of_a.min(of_b));
        let (start, end) = difference(&pairs[&(a, b)], run);
        edges.entry(a).or_default().push((b, (start, end)));
        edges.entry(b).or_default().push((a, (start.saturating_neg(), end.saturating_neg())));
    }
    let mut offsets: BTreeMap<Domain, OffsetEnds> = BTreeMap::new();
    let roots: Vec<Domain> =
        tree.iter().filter(|(domain, up)| domain == up).map(|(&domain, _)| domain).collect();
    for root in roots {
        offsets.insert(root, (0, 0));
        let mut open = vec![root];
        while let Some(at) = open.pop() {
            let (start, end) = offsets[&at];
            for &(to, (more_start, more_end)) in edges.get(&at).into_iter().flatten() {
                if let Entry::Vacant(place) = offsets.entry(to) {
                    place.insert((start.saturating_add(more_start), end.saturating_add(more_end)));
                    open.push(to);
                }
            }
        }
    }
    offsets
}

/// Pairs with bounds on both sides go first, then those with many.
fn weight(bounds: &[Bound]) -> (bool, usize) {
    let n_lower = bounds.iter().filter(|bound| bound.is_lower).count();
    (0 < n_lower && n_lower < bounds.len(), bounds.len())
}

/// The offset of the second process of a pair against the first, at both ends of the run.
fn difference(bounds: &[Bound], run: (u64, u64)) -> OffsetEnds {
    let all = choice(bounds.iter());
    let Some(overall) = all.filter(|&overall| overall != 0) else { return (0, 0) };
    let first = bounds.iter().map(|bound| bound.at).min().unwrap_or(0);
    let last = bounds.iter().map(|bound| bound.at).max().unwrap_or(0);
    let quarter = (last - first) / 4;
    let early = bounds.iter().filter(|bound| bound.at <= first + quarter);
    let late = bounds.iter().filter(|bound| last - quarter <= bound.at);
    match (middle(early), middle(late)) {
        (Some(one), Some(other)) if 0 < quarter => {
            let (start, end) = (first + quarter / 2, last - quarter / 2);
            let line = OffsetLine { start, end, start_offset: one, end_offset: other };
            (line.offset(ouzel_model::Ticks(run.0)), line.offset(ouzel_model::Ticks(run.1)))
        }
        _ => (overall, overall),
    }
}

fn extremes<'b>(bounds: impl Iterator<Item = &'b Bound>) -> (Option<i64>, Option<i64>) {
    bounds.fold((None, None), |(lower, upper), bound| match bound.is_lower {
        true => (Some(lower.map_or(bound.ticks, |lower: i64| lower.max(bound.ticks))), upper),
        false => (lower, Some(upper.map_or(bound.ticks, |upper: i64| upper.min(bound.ticks)))),
    })
}

fn half(lower: i64, upper: i64) -> i64 {
    // Between two numbers of 64 bits, so it is one.
    ((i128::from(lower) + i128::from(upper)).div_euclid(2)) as i64
}

/// The middle of the bounds, if there are both.
fn middle<'b>(bounds: impl Iterator<Item = &'b Bound>) -> Option<i64> {
    match extremes(bounds) {
        (Some(lower), Some(upper)) => Some(half(lower, upper)),
        _ => None,
    }
}

/// One offset for all messages.
fn choice<'b>(bounds: impl Iterator<Item = &'b Bound>) -> Option<i64> {
    let (lower, upper) = extremes(bounds);
    let (least, most) = (lower.unwrap_or(i64::MIN), upper.unwrap_or(i64::MAX));
    if least <= 0 && 0 <= most {
        return None;
    }
    if most < least {
        return Some(half(most, least));
    }
    let nearer = if 0 < least { least } else { most };
    let width = i128::from(most) - i128::from(least);
    Some(if width < i128::from(nearer).abs() { half(least, most) } else { nearer })
}
