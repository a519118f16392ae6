//! How long each iteration of a loop took, one line for each cluster of ranks.
//!
//! Lines differ in colour and in dashes, and each is labelled at its end. Long loops are drawn as the range from the
//! shortest to the longest iteration in each column, so that no outlier is lost.

use crate::axis::round_step;
use crate::pictures::{IterationSeries, LoopPicture};
use crate::report_sections::{call_path, region};
use crate::units;
use maud::{Markup, PreEscaped, html};
use ouzel::diagnose::iterations::n_in_words;
use ouzel::model::short_name;
use std::fmt::Write;

/// Size of the drawing, and of the margins around the plot.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 230.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 140.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 42.0;
/// Columns of the plot; of more iterations each column shows the shortest and the longest.
const MAX_POINTS: usize = 480;
/// Most steps of the axis of durations.
const STEPS: u64 = 5;
/// Loops that are drawn; `ouzel iterations` has all.
const MAX_LOOPS: usize = 4;
/// Colours and dashes of the lines, in turn.
const LINES: [(&str, &str); 6] = [
    ("#c8452d", ""),
    ("#2f74b8", "6 3"),
    ("#3b8f57", "2 3"),
    ("#8a55b0", "9 3 2 3"),
    ("#a8761c", "4 4"),
    ("#4d8f93", "1 4"),
];

/// The charts of the loops.
pub(crate) fn charts(loops: &[LoopPicture]) -> Markup {
    html! {
        div.charts {
            @for picture in loops.iter().take(MAX_LOOPS) { (chart(picture)) }
        }
        @if MAX_LOOPS < loops.len() {
            p.soft.small { (loops.len() - MAX_LOOPS) " further loops: " code { "ouzel iterations" } " lists them all." }
        }
    }
}

fn chart(picture: &LoopPicture) -> Markup {
    let name = short_name(&picture.name);
    let last = picture.series.iter().filter_map(|series| series.iterations.last());
    let n = last.map(|point| point.index + 1).max().unwrap_or(0) as usize;
    let durations = || picture.series.iter().flat_map(|s| s.iterations.iter().map(|point| point.duration_ns));
    let (Some(shortest), Some(longest)) = (durations().min(), durations().max()) else { return html! {} };
    // The axis ends in a labelled line above the longest.
    let top = longest.next_multiple_of(round_step(longest.max(1), STEPS)).max(1);
    let label = format!(
        "Durations of {} of {}{name}: from {} to {}.",
        n_in_words(n as u64, picture.is_estimate),
        picture.before,
        units::time(shortest),
        units::time(longest)
    );
    html! {
        figure.chart {
            figcaption {
                h3 { (picture.before) (region(&picture.name)) ": " (n_in_words(n as u64, picture.is_estimate)) }
                p {
                    @if !picture.call_path.is_empty() { (call_path(&picture.call_path)) " · " }
                    (picture.source)
                    @if picture.is_estimate { " · an estimate: samples miss short iterations" }
                    @if !picture.epochs.is_empty() { " · numbers at the top: an epoch begins" }
                }
            }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(label) {
                (PreEscaped(grid(n, top)))
                (PreEscaped(epochs(&picture.epochs, n)))
                @for (i, series) in picture.series.iter().enumerate() {
                    (line(i, series, n, top))
                }
                (labels(&picture.series, n, top))
            }
        }
    }
}

fn x(iteration: f64, n: usize) -> f64 {
    let last = (n.max(2) - 1) as f64;
    LEFT + (WIDTH - LEFT - RIGHT) * iteration / last
}

fn y(duration_ns: u64, top_ns: u64) -> f64 {
    HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * duration_ns as f64 / top_ns.max(1) as f64
}

/// Lines and labels behind the data; both axes with units.
fn grid(n: usize, top_ns: u64) -> String {
    let mut svg = String::new();
    let (left, right, bottom) = (LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM);
    let step_ns = round_step(top_ns.max(1), STEPS + 1);
    for i in 0..=top_ns / step_ns {
        let at = y(i * step_ns, top_ns);
        let _ = write!(
            svg,
            r#"<path d="M{left} {at:.1}H{right}" stroke="currentColor" stroke-opacity=".18"/><text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
            left - 6.0,
            at + 4.0,
            units::time(i * step_ns)
        );
    }
    let step = round_step(n.max(2) as u64, 9);
    for i in (0..n as u64).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let at = x(i as f64, n);
        let _ = write!(
            svg,
            r#"<path d="M{at:.1} {bottom}v4" stroke="currentColor" stroke-opacity=".6"/><text x="{at:.1}" y="{:.1}" text-anchor="middle">{i}</text>"#,
            bottom + 16.0
        );
    }
    let _ = write!(
        svg,
        r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">iteration, counted from 0</text>"#,
        f64::midpoint(left, right),
        HEIGHT - 6.0
    );
    svg
}

/// Where epochs begin: a line before their first iterations, with their number.
fn epochs(epochs: &[(u32, u64)], n: usize) -> String {
    let mut svg = String::new();
    for (id, first) in epochs {
        let at = x(*first as f64 - 0.5, n);
        let bottom = HEIGHT - BOTTOM;
        let _ = write!(
            svg,
            r#"<path d="M{at:.1} {TOP}V{bottom}" stroke="currentColor" stroke-opacity=".6" stroke-dasharray="1 3"/><text x="{at:.1}" y="{:.1}" text-anchor="middle">{id}</text>"#,
            TOP - 2.0
        );
    }
    svg
}

fn line(i: usize, series: &IterationSeries, n: usize, top_ns: u64) -> Markup {
    let (colour, dashes) = LINES[i % LINES.len()];
    html! {
        path d=(path(series, n, top_ns)) fill="none" stroke=(colour) stroke-width="1.6" stroke-dasharray=(dashes)
            stroke-linejoin="round" stroke-linecap="round" {}
    }
}

/// A label at the end of each line; where lines end at the same height, labels are stacked.
fn labels(series: &[IterationSeries], n: usize, top_ns: u64) -> Markup {
    /// Height of a line of text.
    const LINE: f64 = 14.0;
    let mut ends: Vec<(usize, f64, f64)> = series
        .iter()
        .enumerate()
        .filter_map(|(i, series)| {
            let last = series.iterations.last()?;
            Some((i, x(last.index as f64, n) + 6.0, y(last.duration_ns, top_ns) + 4.0))
        })
        .collect();
    // From the lowest up, each at least a line above the one before.
    ends.sort_by(|a, b| b.2.total_cmp(&a.2).then(b.0.cmp(&a.0)));
    let mut below = f64::INFINITY;
    for (_, _, y) in &mut ends {
        *y = y.min(below - LINE);
        below = *y;
    }
    // Never above the picture, however many there are.
    let down = (TOP - below).max(0.0);
    html! {
        @for (i, x, y) in ends.into_iter().map(|(i, x, y)| (i, x, y + down)) {
            text.ink x=(format!("{x:.1}")) y=(format!("{y:.1}")) style={ "fill:" (LINES[i % LINES.len()].0) } {
                "cluster " (series[i].cluster) ": " (series[i].size)
            }
        }
    }
}

/// A line through the iterations; of many, through the shortest and the longest of each column.
fn path(series: &IterationSeries, n: usize, top_ns: u64) -> String {
    let points = &series.iterations;
    let per_column = points.len().div_ceil(MAX_POINTS).max(1);
    let mut path = String::new();
    for chunk in points.chunks(per_column) {
        let shortest = chunk.iter().min_by_key(|point| point.duration_ns);
        let longest = chunk.iter().max_by_key(|point| point.duration_ns);
        let mut ends: Vec<(u64, u64)> =
            shortest.into_iter().chain(longest).map(|point| (point.index, point.duration_ns)).collect();
        ends.sort_unstable();
        ends.dedup();
        for (index, ns) in ends {
            let letter = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", x(index as f64, n), y(ns, top_ns));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::IterationPoint;

    #[test]
    fn no_outlier_is_lost_in_a_long_loop() {
        let duration = |i: u64| if i == 5_003 { 900 } else { 100 + i % 2 };
        let iterations =
            (0..10_000).map(|i| IterationPoint { index: i, duration_ns: duration(i), cluster: 0 }).collect();
        let series = IterationSeries { cluster: 0, size: "rank 0".to_owned(), iterations };
        let path = path(&series, 10_000, 900);
        assert!(path.contains(&format!("{:.1} {TOP:.1}", x(5003.0, 10_000))), "{path}");
        assert!(path.len() < 20_000, "{} bytes", path.len());
    }
}
