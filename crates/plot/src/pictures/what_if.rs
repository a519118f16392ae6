//! A run as recorded and with changes, rank by rank.

use super::rank_name;
use crate::axis::Scale;
use crate::colour::Colour;
use crate::lanes::{Interval, Lanes};
use crate::{Marks, Picture};
use ouzel_model::{Definitions, Ticks};
use ouzel_replay::{RankSpans, SpanKind};
use std::iter;

/// A lane for each rank as recorded and, below it, one with the changes that `with` names. In a stretch between waits,
/// time in MPI is drawn first.
pub fn what_if(ranks: &[RankSpans], with: Option<&str>, definitions: &Definitions, of: &str) -> Picture {
    let ns = |ticks: Ticks| definitions.clock.ns_from_ticks(ticks) as f64;
    let both = || {
        ranks.iter().flat_map(|rank| {
            iter::once(rank.recorded.as_slice()).chain(with.map(|_| rank.projected.as_slice()))
        })
    };
    let last = both().filter_map(|spans| spans.last()).map(|span| ns(span.2)).fold(0.0, f64::max);
    let scale = Scale::of_ns(last);
    let interval = |lane: usize, &(kind, start, end): &(SpanKind, Ticks, Ticks)| Interval {
        lane,
        from_lane: None,
        range: (ns(start) / scale.divisor, ns(end) / scale.divisor),
        colour: colour(kind),
    };
    let intervals =
        both().enumerate().flat_map(|(lane, spans)| spans.iter().map(move |span| interval(lane, span)));
    let mut intervals: Vec<Interval> = intervals.collect();
    intervals.sort_by(|a, b| a.range.0.total_cmp(&b.range.0));
    let names = ranks
        .iter()
        .flat_map(|rank| iter::once(rank_name(rank.rank)).chain(with.map(|_| "changed".to_owned())));
    let kinds = [
        (SpanKind::Work, "working"),
        (SpanKind::Mpi, "in MPI"),
        (SpanKind::Wait, "waiting for another rank"),
    ];
    let lanes = Lanes {
        x_name: format!("time since the start of the run ({})", scale.unit),
        y_name: "rank".to_owned(),
        range: (0.0, last / scale.divisor),
        intervals,
        arrows: Vec::new(),
        path: Vec::new(),
        legend: kinds.into_iter().map(|(kind, words)| (colour(kind), words.to_owned())).collect(),
        names: names.collect(),
    };
    let title =
        with.map_or_else(|| "The run as recorded".to_owned(), |with| format!("As recorded, and with {with}"));
    Picture::new(title, of, Marks::Lanes(lanes))
}

fn colour(kind: SpanKind) -> Colour {
    match kind {
        SpanKind::Work => Colour::computation(),
        SpanKind::Mpi => Colour::communication(),
        SpanKind::Wait => Colour::idle(),
    }
}
