//! Where a chain of waiting begins, and how it goes from rank to rank.

use super::rank_name;
use crate::axis::Scale;
use crate::colour::Colour;
use crate::lanes::{Arrow, Interval, Lanes};
use crate::{Marks, Picture};
use ouzel_model::{Definitions, LocationId, Ticks, units};
use ouzel_waits::{DelaysOutput, WaitChain};

/// Part of the axis that is left free at its end.
const MARGIN: f64 = 0.02;

/// The chain of waiting that begins at the delay with the highest costs, of those with several waits if there are any: a
/// lane for each rank in the order of the
/// chain, arrows from the one that comes late to the one that waits for it. Without waiting, a picture without lanes.
pub fn waiting_chain(delays: &DelaysOutput, definitions: &Definitions, of: &str) -> Picture {
    let has_several = |chain: &&WaitChain| 1 < chain.waits.len();
    let Some(chain) = delays.chains.iter().find(has_several).or(delays.chains.first()) else {
        let none = Lanes {
            x_name: "time since the trace start".to_owned(),
            y_name: "rank".to_owned(),
            names: Vec::new(),
            range: (0.0, 1.0),
            intervals: Vec::new(),
            arrows: Vec::new(),
            path: Vec::new(),
            legend: Vec::new(),
        };
        return Picture::new("No rank waits for another one", of, Marks::Lanes(none));
    };
    let rank = |location: LocationId| rank_name(definitions.location(location).rank);
    let code = delays
        .names(chain.delay.call_path, definitions)
        .last()
        .map_or_else(|| "code outside all regions".to_owned(), ToString::to_string);
    let longer = units::time(definitions.clock.ns_from_ticks(chain.delay.longer));
    let title =
        format!("Rank {} takes {longer} longer in {code}, and others wait", rank(chain.delay.location));
    let mut locations = vec![chain.delay.location];
    for wait in &chain.waits {
        if !locations.contains(&wait.location) {
            locations.push(wait.location);
        }
    }
    let ns = |ticks: Ticks| definitions.clock.ns_from_ticks(ticks) as f64;
    let last = chain.waits.iter().map(|wait| ns(wait.end)).fold(ns(chain.delay.end), f64::max);
    let scale = Scale::of_ns(last);
    let time = |ticks: Ticks| ns(ticks) / scale.divisor;
    let lane = |location: LocationId| locations.iter().position(|&it| it == location).unwrap_or_default();
    let (mut intervals, arrows) = marks(chain, time, lane);
    intervals.sort_by(|a, b| a.range.0.total_cmp(&b.range.0));
    let first = intervals.first().map_or(0.0, |it| it.range.0);
    // Room for the arrows at the end.
    let end = last / scale.divisor * (1.0 + MARGIN) - first * MARGIN;
    let legend = [
        (late(), "code that takes longer"),
        (waits(), "waits for that rank"),
        (goes_on(), "goes on, late itself"),
    ];
    let lanes = Lanes {
        x_name: format!("time since the trace start ({})", scale.unit),
        y_name: "rank".to_owned(),
        range: (first, end),
        intervals,
        arrows,
        path: Vec::new(),
        legend: legend
            .into_iter()
            .take(if has_several(&chain) { 3 } else { 2 })
            .map(|(colour, words)| (colour, words.to_owned()))
            .collect(),
        names: locations.iter().map(|&location| rank(location)).collect(),
    };
    Picture::new(title, of, Marks::Lanes(lanes))
}

/// The delay, each wait, what its rank does from there on until the next one need not wait any longer; and who makes
/// whom wait.
fn marks(
    chain: &WaitChain,
    time: impl Fn(Ticks) -> f64,
    lane: impl Fn(LocationId) -> usize,
) -> (Vec<Interval>, Vec<Arrow>) {
    let interval = |location, (start, end), colour| Interval {
        lane: lane(location),
        from_lane: None,
        range: (time(start), time(end)),
        colour,
    };
    let mut intervals = vec![interval(chain.delay.location, (chain.delay.start, chain.delay.end), late())];
    let mut arrows = Vec::new();
    let nexts = chain.waits.iter().skip(1).map(Some).chain([None]);
    for (wait, next) in chain.waits.iter().zip(nexts) {
        intervals.push(interval(wait.location, (wait.start, wait.end), waits()));
        if let Some(next) = next {
            intervals.push(interval(wait.location, (wait.end, next.culprit.arrived), goes_on()));
        }
        arrows.push(Arrow {
            from: (time(wait.culprit.arrived), lane(wait.culprit.location)),
            to: (time(wait.end), lane(wait.location)),
        });
    }
    (intervals, arrows)
}

fn late() -> Colour {
    Colour::computation()
}

fn waits() -> Colour {
    Colour::idle()
}

fn goes_on() -> Colour {
    Colour::receiving()
}
