//! The timeline of clusters: one band for the ranks that behave alike, coloured by what the time is spent on.
//!
//! A band is as high as `log2(size + 1)`, so that one rank is seen beside five hundred, and shows what the
//! representative of the cluster does. The depth in the call path is chosen by the analysis: where a
//! significant call path is open its colour is shown, everything else is grey.
//! After Lai Wei and J. Mellor-Crummey (ICS 2018), section 5.1.

use crate::axis::Axis;
use crate::colour::{self, Colour};
use crate::figure::{Figure, FigureData, Mark, RowData, swatch};
use crate::pictures::Cluster;
use crate::raster::{PathIndex, Raster};
use crate::report_sections::call_path;
use crate::{Pictures, ranks, segments, units};
use maud::{Markup, html};
use ouzel::analyses::peers::PeerKind;
use ouzel::analyses::semantics::Category;
use ouzel::analyses::timeline::TimelineRow;
use ouzel::model::CallPathId;
use std::collections::{BTreeMap, BTreeSet};

/// Pixels of the band of one rank; others are `log2(size + 1)` times as high.
const UNIT_PX: f64 = 26.0;
/// Highest picture. More clusters than fit are drawn smaller, down to a line of text each.
const MAX_HEIGHT_PX: f64 = 520.0;
const MIN_BAND_PX: u32 = 18;
/// Least width of a stretch of one call path to get its number, in percent of the picture.
const MARK_MIN_PERCENT: f64 = 1.6;
/// Most numbers in a band.
const MAX_MARKS: usize = 24;

/// A significant call path as the picture shows it.
struct Shown {
    path: CallPathId,
    number: usize,
    category: Category,
    colour: Colour,
}

/// The timeline of clusters; `None` without clusters.
pub fn figure(pictures: &Pictures<'_>, index: &PathIndex, axis: Axis) -> Option<Figure> {
    let bands: Vec<(&Cluster, &TimelineRow)> =
        pictures.clusters.iter().filter_map(|cluster| Some((cluster, row_of(pictures, cluster)?))).collect();
    if bands.is_empty() {
        return None;
    }
    let shown = shown(pictures);
    let shown_at = shown_at(pictures, &shown);
    let heights = band_heights(&bands);
    let height_px: u32 = heights.iter().sum();
    let mut raster = Raster::new(pictures.timeline.n_columns);
    let mut data = FigureData { rows: Vec::new(), notes: notes(index, &shown, &shown_at) };
    let (mut labels, mut marks) = (Vec::new(), Vec::new());
    for (i, ((cluster, row), band_px)) in bands.iter().zip(heights).enumerate() {
        let top = raster.height();
        // A line of background between two bands.
        let n_blank = u32::from(0 < i);
        (0..n_blank).for_each(|_| raster.push_nothing());
        (n_blank..band_px).for_each(|_| raster.push(row, index));
        let middle = 100.0 * (f64::from(top) + f64::from(band_px) / 2.0) / f64::from(height_px);
        labels.push((middle, label(pictures, cluster, band_px)));
        marks.extend(marks_of(row, &shown, &shown_at, middle, pictures.timeline.n_columns));
        let label = format!("cluster {}, {}", cluster.id, pictures.label(row.location));
        data.rows.push(RowData { label, end: raster.height() });
    }
    let beside = beside(pictures, &bands);
    let grey = |path: CallPathId| match beside[path.index()] {
        Some(category) => colour::of_category_alone(category),
        None => Colour::INSIGNIFICANT,
    };
    let of_path = |path: CallPathId| shown_at[path.index()].map_or_else(|| grey(path), |i| shown[i].colour);
    Some(Figure {
        id: "cluster-timeline",
        title: "Clusters of ranks over time",
        caption: caption(pictures, &shown),
        zoomed_caption: html! {},
        alt: alt(pictures, &bands, &shown),
        raster,
        palette: index.palette(of_path),
        height_px,
        labels,
        marks,
        below: segments::lanes(&pictures.segments, axis),
        legend: legend(pictures, &shown, &beside),
        data,
    })
}

/// The row of the representative, or of the first member that has one.
fn row_of<'p>(pictures: &Pictures<'p>, cluster: &Cluster) -> Option<&'p TimelineRow> {
    let timeline = pictures.timeline;
    std::iter::once(&cluster.representative).chain(&cluster.members).find_map(|&id| timeline.row(id))
}

fn shown(pictures: &Pictures<'_>) -> Vec<Shown> {
    let mut n_of: BTreeMap<Category, usize> = BTreeMap::new();
    let paths = pictures.significant.iter().filter_map(|&path| Some((path, pictures.class(path)?.category)));
    let mut shown: Vec<Shown> = paths
        .enumerate()
        .map(|(i, (path, category))| {
            let n = n_of.entry(category).or_default();
            *n += 1;
            Shown { path, number: i + 1, category, colour: colour::of_category(category, *n - 1) }
        })
        .collect();
    shown.sort_by_key(|shown| shown.number);
    shown
}

/// For each call path, the innermost shown one that it is or is called from.
fn shown_at(pictures: &Pictures<'_>, shown: &[Shown]) -> Vec<Option<usize>> {
    let tree = &pictures.timeline.call_paths;
    let mut at = vec![None; tree.len()];
    for (i, shown) in shown.iter().enumerate() {
        at[shown.path.index()] = Some(i);
    }
    for path in tree.paths() {
        at[path.index()] = at[path.index()].or(at[tree.parent(path).index()]);
    }
    at
}

/// The categories of call paths that only helper threads and streams have. Losses are searched in the main threads, so
/// nothing there is significant, but the picture shows whether they work or wait.
fn beside(pictures: &Pictures<'_>, bands: &[(&Cluster, &TimelineRow)]) -> Vec<Option<Category>> {
    let mut category = vec![None; pictures.timeline.call_paths.len()];
    let of_kind = |is_main: bool| {
        let bands =
            bands.iter().filter(move |(cluster, _)| (cluster.kind == PeerKind::MainThread) == is_main);
        bands.flat_map(|(_, row)| &row.runs).filter_map(|run| run.call_path)
    };
    for path in of_kind(false) {
        category[path.index()] = pictures.class(path).map(|class| class.category);
    }
    of_kind(true).for_each(|path| category[path.index()] = None);
    category
}

fn notes(index: &PathIndex, shown: &[Shown], shown_at: &[Option<usize>]) -> BTreeMap<u8, String> {
    let note = |path: CallPathId| match shown_at[path.index()] {
        Some(i) => format!("Shown as {}, {}", shown[i].number, shown[i].category.as_str()),
        None => "Not significant".to_owned(),
    };
    index.paths.iter().enumerate().map(|(i, &path)| ((i + 2) as u8, note(path))).collect()
}

fn band_heights(bands: &[(&Cluster, &TimelineRow)]) -> Vec<u32> {
    let wanted = |cluster: &Cluster| UNIT_PX * (cluster.members.len() as f64 + 1.0).log2();
    let all: f64 = bands.iter().map(|(cluster, _)| wanted(cluster)).sum();
    let scale = (MAX_HEIGHT_PX / all).min(1.0);
    bands.iter().map(|(cluster, _)| ((wanted(cluster) * scale).round() as u32).max(MIN_BAND_PX)).collect()
}

/// World ranks of the members, ascending.
pub fn ranks_of(pictures: &Pictures<'_>, cluster: &Cluster) -> Vec<u32> {
    let rank = |id: &_| pictures.definitions.location(*id).rank.map(|rank| rank.0);
    let mut ranks: Vec<u32> = cluster.members.iter().filter_map(rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// `rank 0`, `496 ranks`, `15 helper threads`.
pub fn size(pictures: &Pictures<'_>, cluster: &Cluster) -> String {
    let ranks = ranks_of(pictures, cluster);
    let (one, many) = cluster.kind.in_words(!ranks.is_empty());
    match (cluster.kind, &*ranks) {
        (PeerKind::MainThread, [rank]) => format!("{one} {rank}"),
        _ => units::counted(cluster.members.len() as u64, one, many),
    }
}

/// The clusters with all their members.
pub fn table(pictures: &Pictures<'_>) -> Markup {
    html! {
        table {
            caption {
                "Ranks are grouped by how their calls differ in order and time. The number of clusters is limited, so ranks in \
                 one cluster can still differ."
            }
            thead {
                tr {
                    th.fit scope="col" { "cluster" } th scope="col" { "size" } th scope="col" { "ranks" }
                    th scope="col" { "represented by" }
                }
            }
            tbody {
                @for cluster in &pictures.clusters {
                    tr {
                        th.fit scope="row" { (cluster.id) }
                        td.fit { (size(pictures, cluster)) }
                        td { (ranks::text(&ranks_of(pictures, cluster), 240)) }
                        td.fit { (pictures.label(cluster.representative)) }
                    }
                }
            }
        }
    }
}

fn label(pictures: &Pictures<'_>, cluster: &Cluster, band_px: u32) -> Markup {
    let ranks = ranks_of(pictures, cluster);
    let text = ranks::text(&ranks, 22);
    html! {
        span title=(ranks::text(&ranks, 400)) {
            b { (size(pictures, cluster)) }
            @if 1 < ranks.len() {
                @if 34 <= band_px { br; } @else { " " }
                (text)
            }
        }
    }
}

/// A number in the middle of each wide stretch; at least one for each call path that is wide somewhere.
fn marks_of(
    row: &TimelineRow,
    shown: &[Shown],
    shown_at: &[Option<usize>],
    y_percent: f64,
    n_columns: u32,
) -> Vec<Mark> {
    let percent = |columns: f64| 100.0 * columns / f64::from(n_columns);
    let mut stretches: Vec<(u32, u32, usize)> = Vec::new();
    let mut column = 0;
    for run in &row.runs {
        let (start, end) = (column, column + run.n_columns);
        column = end;
        let Some(i) = run.call_path.and_then(|path| shown_at[path.index()]) else { continue };
        match stretches.last_mut() {
            Some((_, last, shown)) if *shown == i && *last == start => *last = end,
            _ => stretches.push((start, end, i)),
        }
    }
    stretches.retain(|(start, end, _)| MARK_MIN_PERCENT <= percent(f64::from(end - start)));
    stretches.sort_by_key(|&(start, end, _)| (std::cmp::Reverse(end - start), start));
    stretches.truncate(MAX_MARKS);
    let mark = |&(start, end, i): &(u32, u32, usize)| Mark {
        x_percent: percent(f64::from(start + end) / 2.0),
        y_percent,
        text: shown[i].number.to_string(),
        on: shown[i].colour,
    };
    stretches.iter().map(mark).collect()
}

fn caption(pictures: &Pictures<'_>, shown: &[Shown]) -> Markup {
    html! {
        "Each band is one cluster and shows the rank that represents it; its height is log₂(size + 1). "
        @if shown.is_empty() {
            "No call path is significant. "
        } @else {
            "Numbers and colours mark the significant call paths in the legend; everything else is grey. "
        }
        @if !pictures.segments.is_empty() { "The numbered bars below the picture are the segments of the table below." }
    }
}

fn alt(pictures: &Pictures<'_>, bands: &[(&Cluster, &TimelineRow)], shown: &[Shown]) -> String {
    let of = |cluster: &Cluster| {
        let ranks = ranks::text(&ranks_of(pictures, cluster), 60);
        format!("cluster {} with {} ({ranks})", cluster.id, size(pictures, cluster))
    };
    let bands: Vec<String> = bands.iter().map(|(cluster, _)| of(cluster)).collect();
    format!(
        "Timeline of {} with {} significant call paths, which the legend lists.",
        bands.join("; "),
        shown.len()
    )
}

fn legend(pictures: &Pictures<'_>, shown: &[Shown], beside: &[Option<Category>]) -> Markup {
    let categories: BTreeSet<Category> = beside.iter().flatten().copied().collect();
    html! {
        ul.legend.long {
            @for shown in shown {
                li {
                    (swatch(shown.colour, &shown.number.to_string()))
                    span { (call_path(&pictures.names(shown.path))) " " span.soft { (shown.category.as_str()) } }
                }
            }
            @for category in categories {
                li {
                    (swatch(colour::of_category_alone(category), ""))
                    span { "helper threads and streams: " (category.as_str()) }
                }
            }
            li { (swatch(Colour::INSIGNIFICANT, "")) span { "all other call paths" } }
        }
    }
}
