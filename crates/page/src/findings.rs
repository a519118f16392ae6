//! The headline and the findings: what costs time, where, why, and the usual remedies.

use crate::report_sections::{call_path, meter};
use crate::{ranks, units};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use ouzel::Asked;
use ouzel::diagnose::Headline;
use ouzel::diagnose::findings::{Confidence, Evidence, Finding, FindingKind, Iterations, VariesLike};

/// Characters of a list of ranks or iterations.
const ROOM: usize = 60;

/// The run in a sentence, and below it what is missing from the trace.
pub fn headline(headline: &Headline) -> Markup {
    html! {
        h1 { (headline.text) }
        @if let Some(incomplete) = &headline.incomplete { p.bad { (incomplete) } }
    }
}

/// The findings, largest gain first; `maps` has, by finding, pictures of similar variation over the topology.
pub fn list(findings: &[Finding], maps: &[Option<String>], asked: &Asked) -> Markup {
    html! {
        ol.findings {
            @for (i, finding) in findings.iter().enumerate() {
                @let is_loss = finding.kind != FindingKind::NothingSignificant;
                li.finding id=(format!("finding-{}", i + 1)) {
                    div.n { @if is_loss { (i + 1) } }
                    div.gain {
                        @if is_loss {
                            b { "−" (units::time(finding.gain_ns)) }
                            span.soft { (units::percent(Some(finding.gain_fraction))) " of the run" }
                            (meter(finding.gain_fraction))
                        }
                        span class={ "tag " (class(finding.confidence)) } title=(finding.confidence_reason) {
                            (finding.confidence.as_str())
                        }
                    }
                    div.what {
                        @if is_loss { h3 { (finding.title) } (place(finding)) }
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
    let (start, end) = finding.time_range_ns;
    let mut facts = Vec::new();
    if !finding.ranks.is_empty() {
        let word = if finding.ranks.list.len() == 1 { "rank" } else { "ranks" };
        facts.push(format!("{word} {}", ranks::text(&finding.ranks.list, ROOM)));
    }
    facts.extend(finding.iterations.as_ref().map(iterations));
    facts.push(format!("{} … {}", units::time(start), units::time(end)));
    html! {
        p.small {
            (call_path(&finding.call_path))
            @if let Some(source) = &finding.source { " " span.soft { (source) } }
            br;
            span.soft { (facts.join(" · ")) }
        }
    }
}

/// `all 100 iterations`, `iterations 8, 16, 23 of 24`.
fn iterations(iterations: &Iterations) -> String {
    const MAX_RANGES: usize = 6;
    let Iterations { n_all, ranges } = iterations;
    let n: u64 = ranges.iter().map(|(first, last)| last - first + 1).sum();
    if n == *n_all {
        return format!("all {}", units::counted(n, "iteration", "iterations"));
    }
    let range = |&(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}–{last}") }
    };
    let shown: Vec<String> = ranges.iter().take(MAX_RANGES).map(range).collect();
    let more = if MAX_RANGES < ranges.len() { ", …" } else { "" };
    let word = if n == 1 { "iteration" } else { "iterations" };
    format!("{word} {}{more} of {}", shown.join(", "), units::count(*n_all))
}

/// What varies like it over the topology, with a picture if there is one.
fn variation(varies: &VariesLike, map: Option<&Option<String>>) -> Markup {
    let told = varies.sentences(&|path| path.join(" › "));
    html! {
        details {
            summary { "Views that vary over " (varies.places()) }
            ul { @for row in &told { li { (row) } } }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_written_short() {
        let of = |n_all, ranges: &[(u64, u64)]| iterations(&Iterations { n_all, ranges: ranges.to_vec() });
        assert_eq!(of(24, &[(8, 8), (16, 16), (22, 23)]), "iterations 8, 16, 22–23 of 24");
        assert_eq!(of(100, &[(0, 99)]), "all 100 iterations");
        assert_eq!(of(10, &[(9, 9)]), "iteration 9 of 10");
    }
}
