//! The headline and the findings: what costs time, where, why, and the usual remedies.

use crate::Pictures;
use crate::report_sections::{call_path, meter};
use crate::{ranks, units};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use ouzel::Asked;
use ouzel::diagnose::findings::{Confidence, Evidence, Finding, FindingKind, VariesLike};
use ouzel::diagnose::{Headline, RunReport};
use serde_json::json;

/// Characters of a list of ranks or iterations.
const ROOM: usize = 60;

/// The run in a sentence, and below it what is missing from the trace.
pub fn headline(headline: &Headline) -> Markup {
    html! {
        h1 { (headline.text) }
        @if let Some(incomplete) = &headline.incomplete { p.bad { (incomplete) } }
        @if let Some(selected) = &headline.selected { p { (selected) } }
    }
}

/// The findings, largest gain first; `maps` has, by finding, pictures of similar variation over the topology.
pub fn list(report: &RunReport, pictures: &Pictures<'_>, asked: &Asked) -> Markup {
    let (findings, maps) = (&report.findings, &pictures.maps);
    html! {
        ol.findings {
            @for (i, finding) in findings.iter().enumerate() {
                @let is_loss = finding.kind != FindingKind::NothingSignificant;
                li.finding id=(format!("finding-{}", i + 1)) {
                    div.n { @if is_loss { (i + 1) } }
                    div.gain {
                        @if is_loss {
                            b { "−" (units::time(finding.gain_ns)) }
                            @if finding.band_ns != 0 { span.soft { (units::band(finding.band_ns)) } br; }
                            span.soft { (units::percent(Some(finding.gain_fraction))) " of the run" }
                            (meter(finding.gain_fraction))
                        }
                        span class={ "tag " (class(finding.confidence)) } title=(finding.confidence_reason) {
                            (finding.confidence.as_str())
                        }
                    }
                    div.what {
                        @if is_loss {
                            h3 { (finding.title) }
                            (place(finding))
                            @if pictures.zoomed.is_some() { (show(finding, report.run.span_ns)) }
                        }
                        p { (finding.sentence) }
                        @if !finding.evidence.is_empty() { (evidence(finding)) }
                        @if let Some(varies) = &finding.varies_like { (variation(varies, maps.get(i))) }
                        p { (finding.advice) }
                        @if !finding.command.is_empty() {
                            div.small { code.command { (asked.command(&finding.command)) } }
                        }
                    }
                }
            }
        }
    }
}

fn class(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Sure => "high",
        Confidence::Likely => "medium",
        Confidence::Possible => "low",
    }
}

fn place(finding: &Finding) -> Markup {
    const MAX_RANGES: usize = 6;
    const MAX_PATHS: usize = 2;
    let mut facts = Vec::new();
    if !finding.ranks.is_empty() {
        facts.push(ranks::named(&finding.ranks.list, ROOM));
    }
    facts.extend(finding.when(MAX_RANGES));
    let (shown, more) = finding.more_call_paths.split_at(MAX_PATHS.min(finding.more_call_paths.len()));
    html! {
        p.small {
            (call_path(&finding.call_path))
            @if let Some(source) = &finding.source { " " span.soft { (source) } }
            @for path in shown { br; span.soft { "also " } (call_path(path)) }
            br;
            span.soft { (facts.join(" · ")) }
        }
        @if !more.is_empty() {
            details.small {
                summary { (units::counted(more.len() as u64, "more call path", "more call paths")) }
                @for path in more { (call_path(path)) br; }
            }
        }
    }
}

/// A link to its part of the timeline: with the script, it is zoomed there.
fn show(finding: &Finding, run_ns: u64) -> Markup {
    /// Of the time of the finding, on both sides.
    const MARGIN: u64 = 50;
    /// A finding of most of the run is seen best in all of it.
    const WHOLE_PERCENT: u64 = 98;
    let (start, end) = finding.time_range_ns;
    let length = end.saturating_sub(start);
    let is_part = 0 < length && length < run_ns / 100 * WHOLE_PERCENT;
    let margin = length / MARGIN;
    let state = json!({
        "time_ns": is_part.then(|| [start.saturating_sub(margin), end.saturating_add(margin)]),
        "brush_ns": null,
        "ranks": Some(&finding.ranks.ranges).filter(|ranks| !ranks.is_empty()),
        "call_path": Some(&finding.call_path).filter(|path| !path.is_empty()),
    });
    html! { p.small.show { a href="#rank-timeline" data-show=(state) { "Show in the timeline" } } }
}

/// What varies like it over the topology, with a picture if there is one.
fn variation(varies: &VariesLike, map: Option<&Option<String>>) -> Markup {
    let words = varies.in_words(&|path| path.join(" › "));
    html! {
        details {
            summary { "Views that vary over " (varies.places()) }
            p { "This time varies " (words) "." }
            @if let Some(Some(svg)) = map {
                img.map alt={ "Values over " (varies.places()) } src={ "data:image/svg+xml;base64," (STANDARD.encode(svg)) };
            }
        }
    }
}

fn evidence(finding: &Finding) -> Markup {
    html! {
        details {
            summary { "Evidence and confidence: " (finding.confidence.as_str()) }
            ul {
                @for Evidence { text, formula, values } in &finding.evidence {
                    li {
                        (text)
                        @if !formula.is_empty() { br; code.soft { (formula) } }
                        @if !values.is_empty() {
                            dl.evidence {
                                @for value in values { dt { (value.name) } dd { (value.in_words()) } }
                            }
                        }
                    }
                }
            }
            p.small {
                b { (finding.confidence.as_str()) ": " } (finding.confidence_reason)
                @if !finding.assumption.is_empty() { br; b { "assumed: " } (finding.assumption) }
            }
        }
    }
}
