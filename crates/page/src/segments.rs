//! The segments: parts of the run that end in a synchronisation, with what is lost in each and where.

use crate::axis::Axis;
use crate::report_sections::call_path;
use crate::units;
use maud::{Markup, html};
use ouzel::diagnose::{EpochCard, SegmentCard, SegmentPath};
use std::cmp::Reverse;
use std::fmt::Write;

/// Call paths that are listed for a segment, most lost first; JSON has all of them.
const MAX_PATHS: usize = 8;

/// Rows of segments below the timeline. Segments of one loop come in turns, so each has a row of its own.
const MAX_LANES: usize = 6;
/// Horizontal steps of the drawing; what is nearer than one step is merged.
const STEPS: f64 = 4000.0;

/// The segments below the timeline, each in the first free row; those without one are in the table only.
pub fn lanes(segments: &[&SegmentCard], axis: Axis) -> Markup {
    let mut lanes: Vec<(u64, Vec<&SegmentCard>)> = Vec::new();
    for segment in segments.iter().filter(|s| axis.percent(s.start_ns) < axis.percent(s.end_ns)) {
        match lanes.iter().position(|(end_ns, _)| *end_ns <= segment.start_ns) {
            Some(free) => {
                lanes[free].0 = segment.end_ns;
                lanes[free].1.push(segment);
            }
            None if lanes.len() < MAX_LANES => lanes.push((segment.end_ns, vec![segment])),
            None => {}
        }
    }
    html! {
        @for (_, lane) in &lanes {
            div.below.lane {
                svg viewBox=(format!("0 0 {STEPS} 10")) preserveAspectRatio="none" aria-hidden="true" {
                    @for segment in lane {
                        path d=(blocks(segment, axis)) { title { "segment " (segment.id) ": " (segment.diagnosis) } }
                    }
                }
                @for segment in lane {
                    @let several = 1 < segment.parts_ns.len();
                    @let (start, end) = widest(segment);
                    @let middle = f64::midpoint(axis.percent(start), axis.percent(end));
                    @let left = if several { axis.percent(segment.start_ns) } else { middle };
                    a.beside[several] href=(format!("#segment-{}", segment.id)) style=(format!("left:{left:.2}%"))
                        title=(format!("segment {}: {}", segment.id, segment.diagnosis)) { (segment.id) }
                }
            }
        }
    }
}

/// The epochs as a list.
pub fn epochs(epochs: &[EpochCard]) -> Markup {
    html! {
        ol {
            @for epoch in epochs {
                li {
                    (units::time(epoch.start_ns)) " … " (units::time(epoch.end_ns)) ": " (epoch.in_words())
                    @if let Some(iterations) = &epoch.iterations {
                        br; span.soft { (iterations.in_words(MAX_PATHS)) }
                    }
                }
            }
        }
    }
}

fn widest(segment: &SegmentCard) -> (u64, u64) {
    let whole = (segment.start_ns, segment.end_ns);
    segment
        .parts_ns
        .iter()
        .copied()
        .max_by_key(|&(start, end)| (end.saturating_sub(start), Reverse(start)))
        .unwrap_or(whole)
}

/// A block for each part.
fn blocks(segment: &SegmentCard, axis: Axis) -> String {
    let step = |ns| (axis.percent(ns) / 100.0 * STEPS) as u32;
    let mut blocks: Vec<(u32, u32)> = Vec::new();
    for &(start, end) in &segment.parts_ns {
        let (start, end) = (step(start), step(end).max(step(start) + 1));
        match blocks.last_mut() {
            Some((_, last)) if start <= *last => *last = end.max(*last),
            _ => blocks.push((start, end)),
        }
    }
    let mut path = String::new();
    for (start, end) in blocks {
        let _ = write!(path, "M{start} 0h{}v10H{start}z", end - start);
    }
    path
}

/// The segments as a table, each with its call paths.
pub fn table(segments: &[&SegmentCard], run_ns: u64) -> Markup {
    let share = |ns: u64| units::percent((run_ns != 0).then(|| ns as f64 / run_ns as f64));
    html! {
        div.scroll {
            table.segments-table {
                caption {
                    "Imbalance at the end is what spreading the work before the closing synchronisation evenly \
                     would save. Sums are over the call paths below; imbalance there and waiting elsewhere are two \
                     sides of one loss, so a sum may exceed the run."
                }
                thead {
                    tr {
                        th.r scope="col" { "segment" } th scope="col" { "call path" } th scope="col" { "category" }
                        th.r scope="col" { "imbalance" } th.r scope="col" { "waiting" }
                        th.r scope="col" { "imbalance at the end" }
                    }
                }
                @for segment in segments {
                    tbody id=(format!("segment-{}", segment.id)) {
                        tr.head {
                            th.r scope="rowgroup" { (segment.id) }
                            td colspan="2" {
                                b { (units::time(segment.start_ns)) " … " (units::time(segment.end_ns)) }
                                " " span.soft { (segment.diagnosis) }
                            }
                            td.r { (both(segment.sum_imb_ns, 0, &share)) }
                            td.r { (both(segment.sum_wait_ns, segment.band.sum_wait_ns, &share)) }
                            td.r { (both(segment.imb_sync_ns, segment.band.imb_sync_ns, &share)) }
                        }
                        @for path in segment.paths.iter().take(MAX_PATHS) { (row(path)) }
                        @if MAX_PATHS < segment.paths.len() {
                            tr {
                                td {}
                                td.soft colspan="5" { "and " (segment.paths.len() - MAX_PATHS) " more: " code { "ouzel segments" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn row(path: &SegmentPath) -> Markup {
    html! {
        tr {
            td {}
            td { (call_path(&path.call_path)) @if path.is_self { span.soft { " (own code)" } } }
            td { (path.category.as_str()) }
            td.r { (with_band(path.imb_ns, path.band_ns)) }
            td.r { (with_band(path.wait_ns, path.band_ns)) }
            td {}
        }
    }
}

fn or_dash(ns: u64) -> String {
    if ns == 0 { "–".to_owned() } else { units::time(ns) }
}

/// A loss, and how far it may be off if there is one.
fn with_band(ns: u64, band_ns: u64) -> Markup {
    html! { (or_dash(ns)) @if 0 < ns && band_ns != 0 { span.soft { (units::band(band_ns)) } } }
}

fn both(ns: u64, band_ns: u64, share: &impl Fn(u64) -> String) -> Markup {
    html! {
        b { (or_dash(ns)) }
        @if 0 < ns && band_ns != 0 { span.soft { (units::band(band_ns)) } }
        @if 0 < ns { " " span.soft { (share(ns)) } }
    }
}
