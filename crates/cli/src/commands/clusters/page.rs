//! Clusters for people: which ranks behave alike, and how the others differ.

use super::data::{ClusterEntry, Data};
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::names::call_path;
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::{ranks, units};
use ouzel::diagnose::PathDifference;

/// The page, with at most `top` differences of each cluster (0: all).
pub fn write(page: &mut Page, session: &Session<'_>, data: &Data, top: usize) {
    page.title(&session.asked());
    if data.clusters.is_empty() {
        page.gap();
        page.text(2, "No clusters: no selected location runs code.", Paint::Plain);
    }
    for of_group in data.clusters.chunk_by(|a, b| a.peers == b.peers) {
        group(page, of_group, top);
    }
}

fn group(page: &mut Page, clusters: &[ClusterEntry], top: usize) {
    let n: u64 = clusters.iter().map(|cluster| cluster.size).sum();
    let (one, many) = clusters[0].peers_in_words();
    let members = units::counted(n, one, many);
    let heading = match (clusters.len(), n) {
        (1, 1) => format!("There is only one {one}, and nothing to compare it with"),
        (1, 2) => format!("Both {many} behave alike"),
        (1, _) => format!("All {members} behave alike"),
        (n, _) => format!("{members} fall into {n} clusters"),
    };
    page.heading(&heading);
    page.gap();
    page.grid(2, &grid(page, clusters));
    let Some(largest) = clusters.iter().max_by_key(|cluster| (cluster.size, std::cmp::Reverse(cluster.id)))
    else {
        return;
    };
    if 1 < clusters.len() {
        page.gap();
        page.text(2, "Times below are means over the members of a cluster, from the profile.", Paint::Dim);
    }
    if 0 < largest.tolerance_ns {
        let (period, tolerance) =
            (units::time(largest.sampling_period_ns), units::time(largest.tolerance_ns));
        let text =
            format!("Samples are {period} apart: times that differ by up to {tolerance} count as equal.");
        page.text(2, &text, Paint::Dim);
    }
    for cluster in clusters.iter().filter(|cluster| cluster.id != largest.id) {
        page.heading(&format!(
            "How cluster {} ({}) differs from cluster {}, the largest",
            cluster.id,
            ranks::named(&cluster.ranks.list, 40),
            largest.id
        ));
        let n_shown = if top == 0 { usize::MAX } else { top };
        let shown: Vec<&PathDifference> = cluster.differences.iter().take(n_shown).collect();
        if shown.is_empty() {
            page.text(
                2,
                "Only the order of calls differs; the mean time in each call path is the same.",
                Paint::Plain,
            );
        } else {
            page.grid(2, &differences(page, &shown, (cluster.id, largest.id)));
        }
        if shown.len() < cluster.differences.len() {
            let n = (cluster.differences.len() - shown.len()) as u64;
            let n = units::counted(n, "smaller difference", "smaller differences");
            page.text(2, &format!("… and {n}: --top 0 shows all"), Paint::Dim);
        }
    }
}

fn grid(page: &Page, clusters: &[ClusterEntry]) -> Grid {
    let texts = |value: &dyn Fn(&ClusterEntry) -> String| clusters.iter().map(value).collect::<Vec<_>>();
    let room = page.width.saturating_sub(36).max(16);
    let shown_by = |c: &ClusterEntry| match c.representative_rank {
        Some(rank) => format!("rank {rank}"),
        None => format!("location {}", c.representative_location),
    };
    Grid::default()
        .with(GridColumn::numbers("cluster", texts(&|c| c.id.to_string())).painted(Paint::Heading))
        .with(GridColumn::numbers("size", texts(&|c| units::count(c.size))))
        .with(GridColumn::text("shown by", texts(&shown_by)))
        .with(GridColumn::numbers("duration", texts(&|c| units::time(c.duration_ns))).optional(1))
        .with(
            GridColumn::text("ranks", texts(&|c| ranks::text(&c.ranks.list, room)))
                .painted(Paint::Name)
                .shortened(),
        )
}

/// `of` are the numbers of the cluster and of the one that it is compared with.
fn differences(page: &Page, shown: &[&PathDifference], of: (u32, u32)) -> Grid {
    let texts =
        |value: &dyn Fn(&PathDifference) -> String| shown.iter().map(|d| value(d)).collect::<Vec<_>>();
    let room = page.width.saturating_sub(44).max(24);
    let signed = |d: &PathDifference| {
        let sign = if d.reference_ns <= d.time_ns { '+' } else { '−' };
        format!("{sign}{}", units::time(d.size_ns()))
    };
    Grid::default()
        .with(GridColumn::numbers("difference", texts(&signed)).painted(Paint::Heading))
        .with(GridColumn::numbers(&format!("cluster {}", of.0), texts(&|d| units::time(d.time_ns))))
        .with(GridColumn::numbers(&format!("cluster {}", of.1), texts(&|d| units::time(d.reference_ns))))
        .with(
            GridColumn::text("exclusive time in", texts(&|d| call_path(&d.call_path, room)))
                .painted(Paint::Name)
                .shortened(),
        )
}
