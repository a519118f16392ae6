//! The plain timeline: each location a row in order of rank, each region its own colour.

use crate::axis::round_step;
use crate::colour::{self, Colour};
use crate::figure::{Figure, FigureData, RowData, swatch};
use crate::raster::{PathIndex, Raster};
use crate::{Pictures, report_sections, units};
use maud::{Markup, html};
use ouzel::diagnose::NO_REGION;
use ouzel::model::{CallPathId, RegionId};
use std::collections::BTreeMap;

/// Regions that the legend names, most time first.
const MAX_LEGEND: usize = 18;
/// Highest picture, in pixels: what fits on a screen.
const MAX_HEIGHT_PX: u32 = 720;
/// Highest row, in pixels: a line of text.
const MAX_ROW_PX: u32 = 20;

/// The plain timeline.
pub fn figure(pictures: &Pictures<'_>, index: &PathIndex) -> Figure {
    let timeline = pictures.timeline;
    let mut rows: Vec<_> = timeline.rows.iter().collect();
    rows.sort_by_key(|row| (pictures.definitions.location(row.location).rank, row.location));
    let mut raster = Raster::new(timeline.n_columns);
    let mut data = FigureData { rows: Vec::with_capacity(rows.len()), notes: BTreeMap::new() };
    for row in &rows {
        raster.push(row, index);
        data.rows.push(RowData { label: pictures.label(row.location), end: raster.height() });
    }
    let n_rows = rows.len() as u32;
    let height_px = (n_rows * (MAX_HEIGHT_PX / n_rows.max(1)).clamp(1, MAX_ROW_PX)).min(MAX_HEIGHT_PX);
    let left_out = html! {
        @if 0 < timeline.n_left_out {
            "The picture has no room for " (units::count(timeline.n_left_out)) " of the locations; numbers on this \
             page include them. "
        }
    };
    let zoomed_caption = html! {
        @if pictures.zoomed.is_some() {
            "Each row is a rank or one of its threads; a pixel shows the call path that holds most of its time. \
             Computation is red to yellow, waiting green and blue, synchronisation purple. " (left_out)
            br; "Zoom with Ctrl and the wheel, or drag over a stretch and double-click; the keys are behind "
            b { "?" } ". " code { "ouzel view" } " zooms down to single calls."
        }
    };
    let caption = html! {
        "Each row is a rank or one of its threads, each column an instant; the colour is that of the innermost \
         region. Work is light, MPI is red and dark. " (left_out)
        @if 0 < index.n_merged {
            (units::count(index.n_merged as u64)) " rarely seen call paths are drawn like their callers."
        }
    };
    Figure {
        id: "rank-timeline",
        title: "All ranks over time",
        caption,
        zoomed_caption,
        alt: format!("Timeline of {n_rows} locations. The tables on the page have its numbers."),
        raster,
        palette: index.palette(|path| colour(pictures, path)),
        height_px,
        labels: labels(&data.rows, height_px),
        marks: Vec::new(),
        below: html! {},
        legend: legend(pictures),
        data,
    }
}

fn colour(pictures: &Pictures<'_>, path: CallPathId) -> Colour {
    let region = pictures.timeline.call_paths.region(path);
    region.map_or(Colour::OUTSIDE, |region| of_region(pictures, region))
}

fn of_region(pictures: &Pictures<'_>, region: RegionId) -> Colour {
    colour::of_region(&pictures.definitions.region(region).name, pictures.classes[region.index()])
}

/// A label for every n-th row, so that they do not touch.
fn labels(rows: &[RowData], height_px: u32) -> Vec<(f64, Markup)> {
    /// Height of a line of small text.
    const LINE_PX: u32 = 17;
    let step = round_step(rows.len() as u64, u64::from(height_px / LINE_PX).max(1) + 1) as usize;
    let middle = |i: usize| 100.0 * (i as f64 + 0.5) / rows.len() as f64;
    (0..rows.len()).step_by(step).map(|i| (middle(i), html! { (rows[i].label) })).collect()
}

/// The regions by the area that they take.
fn legend(pictures: &Pictures<'_>) -> Markup {
    let timeline = pictures.timeline;
    let mut area: BTreeMap<RegionId, u64> = BTreeMap::new();
    let (mut outside, mut all) = (0, 0);
    for run in timeline.rows.iter().flat_map(|row| &row.runs) {
        let n = u64::from(run.n_columns);
        match run.call_path.map(|path| timeline.call_paths.region(path)) {
            Some(Some(region)) => *area.entry(region).or_default() += n,
            Some(None) => outside += n,
            None => continue,
        }
        all += n;
    }
    let mut regions: Vec<(RegionId, u64)> = area.into_iter().collect();
    regions.sort_by_key(|&(region, n)| (std::cmp::Reverse(n), region));
    let share = |n: u64| units::percent(Some(n as f64 / all.max(1) as f64));
    html! {
        p.soft.small { "Percentages are of the time of all ranks." }
        ul.legend {
            @for &(region, n) in regions.iter().take(MAX_LEGEND) {
                li {
                    (swatch(of_region(pictures, region), ""))
                    span { (report_sections::region(&pictures.definitions.region(region).name)) " " span.soft { (share(n)) } }
                }
            }
            @if MAX_LEGEND < regions.len() {
                @let further = &regions[MAX_LEGEND..];
                @let rest: u64 = further.iter().map(|(_, n)| n).sum();
                li.soft { (units::counted(further.len() as u64, "further region", "further regions")) " " (share(rest)) }
            }
            @if 0 < outside {
                li { (swatch(Colour::OUTSIDE, "")) span { (NO_REGION) " " span.soft { (share(outside)) } } }
            }
        }
    }
}
