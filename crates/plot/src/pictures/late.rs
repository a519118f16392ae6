//! Lateness in logical time.

use super::rank_name;
use crate::axis::Scale;
use crate::colour::Colour;
use crate::lanes::{Interval, Lanes};
use crate::{Marks, Picture};
use ouzel_analyses::logical_lateness::LatenessOutput;
use ouzel_model::{Definitions, Ticks, WorldRank};

/// Steps of the scale of colours.
const N_SHADES: u64 = 5;

/// The lateness of each operation: one lane for each rank, one place for each logical step; the darker, the later.
pub fn lateness(output: &LatenessOutput, definitions: &Definitions, of: &str) -> Picture {
    let mut ranks: Vec<Option<WorldRank>> = output.operations().map(|late| late.rank).collect();
    ranks.sort_unstable_by_key(|rank| (rank.is_none(), *rank));
    ranks.dedup();
    let largest = output.operations().map(|late| late.lateness).max().unwrap_or_default();
    let ns = |ticks: Ticks| definitions.clock.ns_from_ticks(ticks) as f64;
    let scale = Scale::of_ns(ns(largest));
    // Lateness is rounded up to a shade, so that only operations that are not late at all have the first one.
    let shade = |late: Ticks| {
        let of = u128::from(late.0) * u128::from(N_SHADES);
        of.div_ceil(u128::from(largest.0.max(1))) as u64
    };
    let colour = |shade: u64| match shade {
        0 => Colour::OUTSIDE,
        shade => Colour::of_part(0.15 + 0.85 * (shade - 1) as f64 / (N_SHADES - 1) as f64),
    };
    let intervals = output.operations().map(|late| Interval {
        lane: ranks
            .iter()
            .position(|&rank| rank == late.rank)
            .expect("the ranks are those of the operations"),
        from_lane: None,
        range: (f64::from(late.step), f64::from(late.step) + 1.0),
        colour: colour(shade(late.lateness)),
    });
    // At the same place the latest is drawn last.
    let mut intervals: Vec<(Interval, Ticks)> =
        intervals.zip(output.operations().map(|late| late.lateness)).collect();
    intervals.sort_by(|(a, late_a), (b, late_b)| {
        late_a.cmp(late_b).then(a.range.0.total_cmp(&b.range.0)).then(a.lane.cmp(&b.lane))
    });
    let edge = |shade: u64| crate::axis::number(ns(largest) * shade as f64 / N_SHADES as f64 / scale.divisor);
    let mut legend = vec![(colour(0), "first of its step".to_owned())];
    if largest != Ticks(0) {
        let shades = (1..=N_SHADES).map(|n| (colour(n), format!("up to {} {} late", edge(n), scale.unit)));
        legend.extend(shades);
    }
    let lanes = Lanes {
        x_name: "logical step".to_owned(),
        y_name: "rank".to_owned(),
        names: ranks.iter().map(|&rank| rank_name(rank)).collect(),
        range: (0.0, f64::from(output.n_steps)),
        intervals: intervals.into_iter().map(|(interval, _)| interval).collect(),
        arrows: Vec::new(),
        path: Vec::new(),
        legend,
    };
    Picture::new("How late each operation ends after the first of its step", of, Marks::Lanes(lanes))
}
