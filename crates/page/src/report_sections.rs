//! Sections of the page that are words and tables: efficiencies, losses, trust, how numbers are made.

use crate::document::not_known;
use crate::units;
use maud::{Markup, html};
use ouzel::diagnose::{EfficiencyCard, NO_REGION, RankTime, RunCard, RunReport, TrustCard};
use ouzel::model::short_name;

/// Losses that the table shows; JSON has all of them.
const MAX_LOSSES: usize = 40;

/// A share as a bar; the number is beside it.
pub fn meter(share: f64) -> Markup {
    let percent = (share * 100.0).clamp(0.0, 100.0);
    html! { span.meter aria-hidden="true" { i style=(format!("width:{percent:.1}%")) {} } }
}

/// Regions from the outermost to the innermost, with short names; where that leaves something out, a tooltip has it all.
pub fn call_path<T: AsRef<str>>(path: &[T]) -> Markup {
    let names = || path.iter().map(AsRef::as_ref);
    let whole = names().collect::<Vec<_>>().join(" › ");
    let short = names().map(short_name).collect::<Vec<_>>().join(" › ");
    html! {
        @if path.is_empty() { span.soft { (NO_REGION) } }
        @else { span.path title=[(short != whole).then_some(whole)] { (short) } }
    }
}

/// A region by its short name; a tooltip has the whole one if it is longer.
pub fn region(name: &str) -> Markup {
    let short = short_name(name);
    html! { span title=[(short != name).then_some(name)] { (short) } }
}

/// What ran, in one line.
pub fn facts(run: &RunCard) -> String {
    [run.facts(), run.further_facts()].concat().join(" · ")
}

/// Efficiencies with their formulas.
pub fn efficiencies(report: &RunReport) -> Markup {
    let Some(card) = &report.efficiency else {
        return not_known(report.efficiency_missing.as_deref());
    };
    html! {
        @if let Some(note) = report.efficiency_note() { p { span.doubt { (note) } } }
        (efficiency_table(card))
        @if let Some(words) = report.region_of_interest.and_then(|of| of.in_words(report.run.span_ns)) {
            p { (words) }
        }
    }
}

/// Each efficiency with its meaning.
pub fn efficiency_table(card: &EfficiencyCard) -> Markup {
    html! {
        div.scroll { table.efficiency {
            thead hidden { tr { th { "efficiency" } th { "value" } th { "bar" } th { "meaning" } } }
            tbody {
                @for (name, ratio, meaning) in card.in_words() {
                    tr {
                        th scope="row" { (name) }
                        td.r { b { (units::percent(Some(ratio))) } }
                        td { (meter(ratio)) }
                        td.soft { (meaning) }
                    }
                }
            }
        } }
    }
}

/// The losses by call path.
pub fn losses(report: &RunReport) -> Markup {
    let (losses, recorded) = (&report.losses, &report.run.recorded);
    let note = report.losses_note();
    let rank = |of: RankTime| of.rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string());
    html! {
        @if let Some(note) = &note { p { span.doubt { (note) } } }
        @if losses.is_empty() && note.is_some() {
        } @else if losses.is_empty() {
            p { span.fine { "Nothing: " } "no call path loses more than 0.1 % of the run." }
        } @else {
            @if let Some(note) = report.device_waits_note() { p.soft { (note) } }
            div.scroll {
                table {
                    @if recorded.several_processes() {
                        caption {
                            "Times are means over the ranks; a rank that never gets there counts as zero. Uneven work \
                             and the waiting it causes are the same loss: don't add them."
                        }
                    }
                    thead {
                        tr {
                            th.r scope="col" { "lost" } th.r scope="col" { "of the run" } th scope="col" { "kind" }
                            th scope="col" { "call path" } th.r scope="col" { "mean" }
                            th.r scope="col" { "most" } th.r scope="col" { "rank" }
                            th.r scope="col" { "least" } th.r scope="col" { "rank" }
                        }
                    }
                    tbody {
                        @for loss in losses.iter().take(MAX_LOSSES) {
                            tr {
                                td.r {
                                    b { (units::time(loss.lost_ns)) }
                                    @if loss.band_ns != 0 { span.soft { (units::band(loss.band_ns)) } }
                                }
                                td.r { (units::percent(Some(loss.share_of_run))) }
                                td { (loss.kind.title(recorded)) }
                                td {
                                    (call_path(&loss.call_path))
                                    @if let Some(source) = &loss.source { " " span.soft.small { (source) } }
                                }
                                td.r { (units::time(loss.mean_ns)) }
                                td.r { (units::time(loss.most.time_ns)) } td.r { (rank(loss.most)) }
                                td.r { (units::time(loss.least.time_ns)) } td.r { (rank(loss.least)) }
                            }
                        }
                    }
                }
            }
            @if MAX_LOSSES < losses.len() {
                p.soft.small {
                    (losses.len() - MAX_LOSSES) " smaller ones are left out: " code { "ouzel report --format json" }
                    " lists them all."
                }
            }
        }
    }
}

/// How far the answer can be trusted.
pub fn trust(card: &TrustCard) -> Markup {
    html! {
        @if card.is_clean() {
            p { span.fine { "Complete. " } "Nothing was lost, repaired or doubtful." }
        }
        ul.trust {
            @for (concerns, word, class) in
                [(&card.lost, "lost", "bad"), (&card.doubtful, "doubtful", "doubt"), (&card.remarks, "note", "soft")] {
                @for concern in concerns {
                    li { span class=(class) { (word) } span { (concern.in_words()) } }
                }
            }
        }
    }
}

/// How the numbers are made, in short.
pub fn method() -> Markup {
    let rows = [
        ("run time T", "earliest first to latest last event over all ranks", "Time"),
        ("parallel efficiency", "mean(u) / T, with the computing time u of each rank", "Efficiencies"),
        ("load balance", "mean(u) / max(u)", "Efficiencies"),
        ("communication efficiency", "max(u) / T", "Efficiencies"),
        (
            "can be recovered",
            "what the findings would gain together, by replay where they say so",
            "Findings",
        ),
        (
            "imbalance of a call path",
            "work and waiting: max − mean of its time over the ranks; synchronisation: mean − min",
            "Imbalance and waiting of a segment",
        ),
        (
            "waiting of a call path",
            "waiting: mean of its time over the ranks; synchronisation: min",
            "Imbalance and waiting of a segment",
        ),
        (
            "significant call path",
            "loses more than 0.1 % of T, and more than 70 % of what it and its callees lose",
            "Imbalance and waiting of a segment",
        ),
        (
            "cluster",
            "ranks whose call trees over time differ little; the first member is drawn",
            "Temporal context trees, clusters and iterations",
        ),
    ];
    html! {
        table {
            caption {
                "Every sum is an exact sum of clock ticks, divided once at the end. For details, sources and all \
                 other numbers, see docs/method.md under the heading in the last column."
            }
            thead { tr { th scope="col" { "number" } th scope="col" { "formula" } th scope="col" { "see docs/method.md" } } }
            tbody {
                @for (name, formula, section) in rows {
                    tr { th scope="row" { (name) } td { (formula) } td.soft { (section) } }
                }
            }
        }
        p.soft.small {
            "Timelines show the innermost call at regular instants, because a picture has limited width; all numbers \
             use every event. The terms are those of Lai Wei and J. Mellor-Crummey, Automated analysis of time \
             series data to understand parallel program behaviors (ICS 2018), and of the POP methodology."
        }
    }
}
