//! A finished report as one self-contained HTML page with pictures.
//!
//! The page needs no network and no script: pictures are images inside the file, and every number is in a table or a
//! sentence. A small script shows what is under the pointer, and puts the timeline of the viewer, which can be zoomed, in
//! the place of its still picture: in a frame without an origin, which can reach neither the page nor the network. It reads well in light and dark, on paper and without
//! colours. Law: text of the trace is text on the page, whatever characters it has; equal reports give equal pages,
//! byte for byte. This crate computes nothing that is not in the report.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod axis;
mod cluster_timeline;
mod document;
mod figure;
mod findings;
mod gather;
mod iterations;
mod of_trace;
mod pictures;
mod profile;
mod rank_timeline;
mod raster;
mod report_sections;
mod segments;
#[cfg(test)]
mod tests;

pub use of_trace::of_trace;
pub use pictures::{Cluster, IterationPoint, IterationSeries, LoopPicture, Pictures};
pub use profile::of_profile;

use axis::Axis;
use document::{document, section};
use figure::{Figure, PageData};
use maud::{PreEscaped, html};
use ouzel::Asked;
use ouzel::diagnose::RunReport;
use ouzel::model::Ticks;
use ouzel_plot::{colour, ranks, units};
use raster::PathIndex;

const SCRIPT: &str = include_str!("page.js");

/// The page about a run: `report` in words and tables, `pictures` of the same pass; `asked` is how the user calls the
/// trace, and what is selected of it.
pub fn html(report: &RunReport, pictures: &Pictures<'_>, asked: &Asked) -> String {
    let timeline = pictures.timeline;
    let run_ns = report.run.span_ns;
    // Lost or doubtful data must be reported before any result; a clean bill of health can wait.
    let is_clean = report.trust.is_clean();
    let ns = |ticks| pictures.definitions.clock.ns_from_ticks(ticks);
    let end =
        Ticks(timeline.origin.0.saturating_add(timeline.spacing.0.saturating_mul(timeline.n_columns.into())));
    let axis = Axis::new(ns(timeline.origin), ns(end));
    let index = PathIndex::new(timeline);
    let clusters = cluster_timeline::figure(pictures, &index, axis);
    let ranks = (0 < timeline.n_columns).then(|| rank_timeline::figure(pictures, &index));
    let figures: Vec<&Figure> = clusters.iter().chain(&ranks).collect();
    let data = PageData::new(pictures, &index, axis, figures.iter().map(|figure| &figure.data).collect());
    let header = html! {
        p.soft.small {
            span.path { (asked.path()) }
            @if !asked.selection().is_empty() { " " code { (asked.selection()) } }
        }
        (findings::headline(&report.headline))
        @if let Some(accelerators) = &report.accelerators { p { (accelerators.in_words()) } }
        p.facts.small { (report_sections::facts(&report.run)) }
    };
    let main = html! {
        @if !is_clean { (section("trust", "How far to trust it", &report_sections::trust(&report.trust))) }
        @if !report.findings.is_empty() {
            (section("findings", "What costs time", &findings::list(report, pictures, asked)))
        }
        (section("efficiencies", "How well the time was used", &report_sections::efficiencies(report)))
        @if !figures.is_empty() {
            h2 id="timelines" { "What happened when" }
            @for (i, figure) in figures.iter().enumerate() { (figure.markup(i, axis)) }
        }
        @if !pictures.clusters.is_empty() {
            (section("clusters", "Ranks that behave alike", &cluster_timeline::table(pictures)))
        }
        @if !pictures.loops.is_empty() {
            (section("iterations", "Iterations", &iterations::charts(&pictures.loops)))
        }
        @if !report.epochs.is_empty() {
            (section("epochs", "Epochs, in which the same ranks have most to do", &segments::epochs(&report.epochs)))
        }
        @if !pictures.segments.is_empty() {
            (section("segments", "Where time is lost, by segment", &segments::table(&pictures.segments, run_ns)))
        }
        (section("losses", "Where time is lost, by call path", &report_sections::losses(report)))
        @if is_clean { (section("trust", "How far to trust it", &report_sections::trust(&report.trust))) }
        (section("method", "How these numbers are made", &report_sections::method()))
    };
    let scripts = html! {
        script type="application/json" id="timeline-data" { (PreEscaped(data.json())) }
        @if let Some(zoomed) = pictures.zoomed.as_ref().filter(|_| ranks.is_some()) {
            script type="text/plain" id="zoomed-timeline" { (PreEscaped(zoomed)) }
        }
        script { (PreEscaped(SCRIPT)) }
    };
    document(asked, &header, &main, &scripts)
}
