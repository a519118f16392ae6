//! The shape of the run: segments on the axis of time, groups of ranks, the time loop.

use crate::commands::clusters::data as clusters;
use crate::commands::iterations::data::{Data as Iterations, LoopEntry};
use crate::commands::iterations::page::{kinds, loop_name};
use crate::commands::segments::page::{draw, epochs, title};
use crate::session::Session;
use crate::terminal::page::{Page, command_line};
use crate::terminal::style::Paint;
use crate::terminal::{ranks, spark, units};
use ouzel::analyses::peers::PeerKind;
use ouzel::context_tree::{LocationCluster, TreeGroup};
use ouzel::{Asked, Diagnosed};

/// Clusters that are named on the page.
const MAX_CLUSTERS: usize = 5;
/// Loops that are named on the page.
const MAX_LOOPS: usize = 3;
/// A loop that takes less of the run is not the time loop.
const LEAST_LOOP_PERCENT: u64 = 5;

/// Segments, clusters and loops, as far as they exist.
pub fn shape(page: &mut Page, session: &Session<'_>, diagnosed: &Diagnosed, asked: &Asked) {
    segments(page, diagnosed, asked);
    epochs(page, &diagnosed.report.segments.epochs);
    for group in &diagnosed.trees.groups {
        if 1 < group.locations.len() {
            groups_of_ranks(page, session, group, asked);
        }
    }
    loops(page, session, diagnosed, asked);
}

/// A heading with the command that shows more on its right.
fn heading(page: &mut Page, text: &str, asked: &Asked, command: &str) {
    let line = command_line(asked, &[command.to_owned()]);
    let (n_text, n_line) = (text.chars().count(), line.chars().count());
    page.gap();
    let heading = page.style.paint(Paint::Heading, text);
    let width = page.text_width();
    if n_text + n_line + 3 <= width {
        let gap = " ".repeat(width - n_text - n_line);
        page.lines.push(format!("{heading}{gap}{}", page.style.paint(Paint::Dim, &line)));
    } else {
        page.lines.push(heading);
        page.lines.push(format!("  {}", page.style.paint(Paint::Dim, &line)));
    }
}

fn segments(page: &mut Page, diagnosed: &Diagnosed, asked: &Asked) {
    // They are withheld if nothing distinguishes computation from waiting.
    let data = &diagnosed.report.segments;
    let shown: Vec<_> = data.losing().collect();
    if shown.is_empty() {
        return;
    }
    heading(page, "Segments that lose time", asked, "segments");
    draw(page, data, &shown);
    for segment in &shown {
        let lost =
            units::percent((data.run_time_ns != 0).then(|| segment.lost_ns as f64 / data.run_time_ns as f64));
        let head = format!("{:>3}  {lost:>7}  ", segment.id);
        let band = match segment.band.imb_sync_ns.saturating_add(segment.band.sum_wait_ns) {
            0 => String::new(),
            ns => format!("; {}{} lost", units::time(segment.lost_ns), units::band(ns)),
        };
        page.hanging(&head, 14, &format!("{}{band}", title(segment)), Paint::Plain);
    }
}

fn groups_of_ranks(page: &mut Page, session: &Session<'_>, group: &TreeGroup, asked: &Asked) {
    let is_ranked = |&id: &ouzel::model::LocationId| session.definitions().location(id).rank.is_some();
    let (one, many) = group.kind.in_words(group.locations.iter().all(is_ranked));
    if group.locations.len() < 2 {
        return;
    }
    let text = match group.clusters.len() {
        1 if group.locations.len() == 2 => format!("Both {many} behave alike"),
        1 => format!("All {} {many} behave alike", units::count(group.locations.len() as u64)),
        n => format!("{} {many} fall into {n} groups", units::count(group.locations.len() as u64)),
    };
    heading(page, &text, asked, "clusters");
    if group.clusters.len() < 2 {
        return;
    }
    let largest = clusters::largest(group).map(|cluster| cluster.id);
    // The largest comes last: the others are compared with it.
    let mut order: Vec<&LocationCluster> = group.clusters.iter().collect();
    order.sort_by_key(|cluster| (Some(cluster.id) == largest, cluster.id));
    let hidden = order.len().saturating_sub(MAX_CLUSTERS);
    let mut parts: Vec<String> = order
        .iter()
        .enumerate()
        .filter(|(i, _)| *i + 1 == order.len() || i + 1 < MAX_CLUSTERS)
        .map(|(_, cluster)| match group.kind {
            PeerKind::MainThread => named(cluster, session, Some(cluster.id) == largest, (one, many)),
            _ => units::count(cluster.members.len() as u64),
        })
        .collect();
    if 0 < hidden {
        parts.insert(parts.len() - 1, format!("{hidden} more"));
    }
    page.text(2, &parts.join("   "), Paint::Plain);
}

/// `{4, 8, …, 60}`, or `496 others`.
fn named(
    cluster: &LocationCluster,
    session: &Session<'_>,
    is_largest: bool,
    (one, many): (&str, &str),
) -> String {
    const ROOM: usize = 40;
    let rank = |id: &ouzel::model::LocationId| session.definitions().location(*id).rank.map(|rank| rank.0);
    let of: Vec<u32> = cluster.members.iter().filter_map(rank).collect();
    let text = ranks::text(&of, ROOM);
    let n = cluster.members.len() as u64;
    if of.len() < cluster.members.len() {
        return units::counted(n, one, many);
    }
    if is_largest && (text.contains("more") || text.contains(',')) {
        format!("{} others", units::count(n))
    } else {
        format!("{{{text}}}")
    }
}

fn loops(page: &mut Page, session: &Session<'_>, diagnosed: &Diagnosed, asked: &Asked) {
    let run_ns = diagnosed.report.run.span_ns;
    let data =
        Iterations::new(&diagnosed.trees, session.definitions(), run_ns, diagnosed.report.epochs.clone());
    let is_long = |of_loop: &&LoopEntry| {
        !of_loop.is_nested
            && 1 < of_loop.accepted
            && run_ns.saturating_mul(LEAST_LOOP_PERCENT) <= of_loop.total_ns().saturating_mul(100)
    };
    let long: Vec<&LoopEntry> = data.loops.iter().filter(is_long).collect();
    if long.is_empty() {
        return;
    }
    heading(page, "Loops", asked, "iterations");
    for of_loop in long.iter().take(MAX_LOOPS) {
        let Some(instance) = of_loop.main_instance() else { continue };
        let iterations = of_loop.iterations_of(instance);
        // Those that were missed make others longer, and of another kind.
        let kinds = kinds(instance, iterations.len()).filter(|_| !of_loop.is_estimate);
        let kinds = kinds.map_or_else(String::new, |kinds| format!(", {kinds}"));
        let about = if of_loop.is_estimate { "about " } else { "" };
        let (n, each) = (of_loop.n_in_words(), units::time(instance.mean_ns));
        let text = format!("{}: {n}{kinds}, {about}{each} each", loop_name(of_loop, 50));
        let values: Vec<u64> = iterations.iter().map(|i| i.duration_ns()).collect();
        page.text(2, &text, Paint::Plain);
        let bars = spark::bars(&values, page.text_width().saturating_sub(4));
        page.lines.push(format!("  {}", page.style.paint(Paint::Bar, &bars)));
    }
    if MAX_LOOPS < long.len() {
        page.text(2, &format!("… and {} more", long.len() - MAX_LOOPS), Paint::Dim);
    }
}
