//! The critical path, rank by rank.

use super::rank_name;
use crate::axis::Scale;
use crate::colour::Colour;
use crate::lanes::{Interval, Lanes};
use crate::{Marks, Picture};
use ouzel_analyses::critical_path::{Activity, PathProfile};
use ouzel_model::{Definitions, WorldRank};
use std::collections::BTreeSet;

/// The segments of the critical path, one lane for each rank on it; lines lead from the rank that is waited for.
pub fn critical_path(path: &PathProfile, definitions: &Definitions, of: &str) -> Picture {
    let ns = |ticks| definitions.clock.ns_from_ticks(ticks) as f64;
    let mut ranks: Vec<Option<WorldRank>> = path.segments.iter().map(|segment| segment.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let first = path.segments.first().map_or(0.0, |segment| ns(segment.range.start));
    let last = path.segments.last().map_or(0.0, |segment| ns(segment.range.end));
    let scale = Scale::of_ns(last);
    let lane = |rank: Option<WorldRank>| ranks.binary_search(&rank).ok();
    let colour = |activity| match activity {
        Activity::Working => Colour::computation(),
        Activity::InMpi => Colour::overlap(),
        Activity::Waiting => Colour::idle(),
        Activity::Message => Colour::receiving(),
        Activity::Collective => Colour::communication(),
        Activity::Launch => Colour::of_part(0.5),
    };
    let seen: BTreeSet<Activity> = path.with_activity().map(|(_, activity)| activity).collect();
    let mostly = |activity| match activity {
        Activity::Message | Activity::Collective | Activity::Launch => "",
        Activity::Working | Activity::InMpi | Activity::Waiting => "mostly ",
    };
    let name = |activity: Activity| format!("{}{}", mostly(activity), activity.in_words());
    let intervals = path.with_activity().filter_map(|(segment, activity)| {
        Some(Interval {
            lane: lane(segment.rank)?,
            from_lane: segment.from.and_then(|from| lane(definitions.location(from).rank)),
            range: (ns(segment.range.start) / scale.divisor, ns(segment.range.end) / scale.divisor),
            colour: colour(activity),
        })
    });
    let lanes = Lanes {
        x_name: format!("time since the trace start ({})", scale.unit),
        y_name: "rank on the path".to_owned(),
        range: (first / scale.divisor, last / scale.divisor),
        intervals: intervals.collect(),
        arrows: Vec::new(),
        path: Vec::new(),
        legend: seen.into_iter().map(|activity| (colour(activity), name(activity))).collect(),
        names: ranks.iter().map(|&rank| rank_name(rank)).collect(),
    };
    Picture::new("The critical path from rank to rank", of, Marks::Lanes(lanes))
}
