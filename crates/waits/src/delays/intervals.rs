//! Since when waiter and culprit go separate ways.
//!
//! A common point is an operation in which one of the two waited for the other, or a barrier, an operation of all with
//! all or the start of MPI of both, if none left it before the last had come. Both intervals start when the first of
//! the two leaves it. The waiter's ends where it begins to wait, the culprit's where it arrives. Without a common point
//! they start at the first events.

use super::caused::{CausedWait, GroupPoint};
use ouzel_model::{LocationId, Ticks};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// When the intervals of a wait start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    pub of_waiter: Ticks,
    pub of_culprit: Ticks,
}

/// When both of two locations left an operation: the smaller location first.
type PairPoints = FxHashMap<(LocationId, LocationId), Vec<(Ticks, Ticks)>>;

/// One for each wait.
pub(crate) fn intervals(
    waits: &[CausedWait],
    groups: &[GroupPoint],
    starts: &BTreeMap<LocationId, Ticks>,
) -> Vec<Interval> {
    let pairs = pair_points(waits);
    let of_groups = Groups::new(groups);
    let start_of = |location| starts.get(&location).copied().unwrap_or_default();
    let interval = |wait: &CausedWait| {
        let until = (wait.start, wait.culprit.arrived);
        let pair = last_of_pair(&pairs, (wait.location, wait.culprit.location), until);
        let group = of_groups.last((wait.location, wait.culprit.location), until);
        match pair.max(group) {
            Some(at) => Interval { of_waiter: at, of_culprit: at },
            None => {
                Interval { of_waiter: start_of(wait.location), of_culprit: start_of(wait.culprit.location) }
            }
        }
    };
    waits.iter().map(interval).collect()
}

fn pair_points(waits: &[CausedWait]) -> PairPoints {
    let mut pairs = PairPoints::default();
    for wait in waits {
        let (mine, theirs) = ((wait.location, wait.leave), (wait.culprit.location, wait.culprit.left));
        let (first, second) = (mine.min(theirs), mine.max(theirs));
        pairs.entry((first.0, second.0)).or_default().push((first.1, second.1));
    }
    let mut all: Vec<&mut Vec<(Ticks, Ticks)>> = pairs.values_mut().collect();
    all.iter_mut().for_each(|points| points.sort_unstable());
    pairs
}

/// When the first of two left the last operation that both left in time.
fn last_of_pair(
    pairs: &PairPoints,
    (mine, theirs): (LocationId, LocationId),
    (my_end, their_end): (Ticks, Ticks),
) -> Option<Ticks> {
    let points = pairs.get(&(mine.min(theirs), mine.max(theirs)))?;
    let (first_end, second_end) = if mine < theirs { (my_end, their_end) } else { (their_end, my_end) };
    let n = points.partition_point(|point| point.0 <= first_end);
    let last = points[..n].iter().rev().find(|point| point.1 <= second_end);
    last.map(|&(first, second)| first.min(second))
}

/// Group points by who takes part.
struct Groups<'a> {
    points: Vec<Vec<&'a GroupPoint>>,
    of_location: FxHashMap<LocationId, Vec<usize>>,
}

impl<'a> Groups<'a> {
    fn new(groups: &'a [GroupPoint]) -> Self {
        let mut by_members: BTreeMap<Vec<LocationId>, Vec<&'a GroupPoint>> = BTreeMap::new();
        for group in groups {
            let members = group.members.iter().map(|member| member.0).collect();
            by_members.entry(members).or_default().push(group);
        }
        let mut of_location: FxHashMap<LocationId, Vec<usize>> = FxHashMap::default();
        for (i, members) in by_members.keys().enumerate() {
            members.iter().for_each(|&member| of_location.entry(member).or_default().push(i));
        }
        let mut points: Vec<Vec<&GroupPoint>> = by_members.into_values().collect();
        points.iter_mut().for_each(|points| points.sort_by_key(|point| point.at));
        Groups { points, of_location }
    }

    fn last(
        &self,
        (mine, theirs): (LocationId, LocationId),
        (my_end, their_end): (Ticks, Ticks),
    ) -> Option<Ticks> {
        let groups = self.of_location.get(&mine)?.iter();
        groups
            .filter_map(|&group| last_of_group(&self.points[group], (mine, my_end), (theirs, their_end)))
            .max()
    }
}

/// The last of some operations of one group that both left in time.
fn last_of_group(
    points: &[&GroupPoint],
    mine: (LocationId, Ticks),
    theirs: (LocationId, Ticks),
) -> Option<Ticks> {
    let n = points.partition_point(|point| point.at <= mine.1.min(theirs.1));
    let has_left = |point: &GroupPoint, (location, end): (LocationId, Ticks)| {
        let found = point.members.binary_search_by_key(&location, |member| member.0);
        found.is_ok_and(|i| point.members[i].1 <= end)
    };
    // A group without the other has no point with it.
    let is_member = |point: &&GroupPoint| point.members.binary_search_by_key(&theirs.0, |it| it.0).is_ok();
    points.first().filter(|point| is_member(point))?;
    points[..n]
        .iter()
        .rev()
        .find(|point| has_left(point, mine) && has_left(point, theirs))
        .map(|point| point.at)
}
