//! The page about a stored profile: words and tables, no pictures of time.

use crate::document::{document, not_known, section};
use crate::report_sections::{call_path, efficiency_table, meter, trust};
use crate::units;
use maud::{Markup, html};
use ouzel::Asked;
use ouzel::diagnose::ProfileReport;
use ouzel::diagnose::profile::{ProfileImbalance, WaitingClass};

/// Call paths that the table shows; JSON has all of them.
const MAX_CALL_PATHS: usize = 60;

/// The page about a profile; `asked` is how the user calls it.
pub fn of_profile(report: &ProfileReport, asked: &Asked) -> String {
    let is_clean = report.trust.is_clean();
    let facts = [report.profile.facts(), report.profile.further_facts()].concat().join(" · ");
    let header = html! {
        p.soft.small { span.path { (asked.path()) } }
        h1 { (report.headline) }
        p.facts.small { (facts) }
    };
    let main = html! {
        @if !is_clean { (section("trust", "How far to trust it", &trust(&report.trust))) }
        @if !report.imbalances.is_empty() {
            (section("findings", "Uneven work", &imbalances(&report.imbalances)))
        }
        @if !report.slow_ranks.is_empty() {
            (section("slow", "Ranks that take longer for the same visits", &html! {
                ul { @for slow in &report.slow_ranks { li { (slow.sentence) } } }
            }))
        }
        @if !report.waiting.is_empty() {
            (section("waiting", "Waiting, as the tool that wrote the profile measured it", &waiting(&report.waiting)))
        }
        @if !report.delays.is_empty() {
            (section("delays", "What makes others wait, by the waits that follow", &waiting(&report.delays)))
        }
        (section("efficiencies", "How well the time was used", &efficiencies(report)))
        @if !report.shares.is_empty() {
            (section("shares", "What the threads' time is spent on", &shares(report)))
        }
        @if !report.call_paths.is_empty() {
            (section("call-paths", "Where the time is, by call path", &call_paths(report)))
        }
        (section("causes", "Causes, in brief", &causes(report, asked)))
        (section("unknown", "What this profile cannot tell", &html! {
            ul { @for sentence in &report.unknown { li { (sentence) } } }
        }))
        @if is_clean { (section("trust", "How far to trust it", &trust(&report.trust))) }
    };
    document(asked, &header, &main, &Markup::default())
}

fn imbalances(found: &[ProfileImbalance]) -> Markup {
    html! {
        ol.findings {
            @for (i, found) in found.iter().enumerate() {
                li.finding id=(format!("finding-{}", i + 1)) {
                    div.n { (i + 1) }
                    div.gain {
                        b { "≤ " (units::time(found.gain_at_most_ns)) }
                        span.soft { (units::percent(Some(found.gain_at_most_fraction))) " of the longest thread" }
                        (meter(found.gain_at_most_fraction))
                    }
                    div.what {
                        h3 { (found.title) }
                        p.small {
                            (call_path(&found.call_path))
                            @if let Some(source) = &found.source { " " span.soft { (source) } }
                        }
                        p { (found.sentence) }
                        p.soft.small { "A bound, " (found.assumption) "." }
                    }
                }
            }
        }
    }
}

fn waiting(classes: &[WaitingClass]) -> Markup {
    html! {
        ul {
            @for class in classes {
                li {
                    b { (units::time(class.time_ns)) } " "
                    (class.in_words(&|path| path.join(" › ")))
                    @if let Some(of) = &class.part_of { span.soft { " (part of " (of) ")" } }
                }
            }
        }
    }
}

fn efficiencies(report: &ProfileReport) -> Markup {
    let Some(card) = &report.efficiency else {
        return not_known(report.efficiency_missing.as_deref());
    };
    html! { (efficiency_table(card)) p.soft.small { (report.efficiency_note()) } }
}

fn shares(report: &ProfileReport) -> Markup {
    html! {
        table {
            thead { tr { th.r scope="col" { "time" } th.r scope="col" { "share" } th { } th scope="col" { "spent on" } } }
            tbody {
                @for share in &report.shares {
                    tr {
                        td.r { (units::time(share.time_ns)) }
                        td.r { b { (units::percent(Some(share.fraction))) } }
                        td { (meter(share.fraction)) }
                        td { (share.kind.in_words()) }
                    }
                }
            }
        }
    }
}

fn call_paths(report: &ProfileReport) -> Markup {
    let rank = |rank: Option<u32>| rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string());
    let has_visits = report.profile.visits_metric.is_some();
    html! {
        div.scroll { table {
            caption {
                "Exclusive and inclusive time are of all threads, the share is of their time; mean, most and least are of \
                 a process, of its longest thread."
            }
            thead { tr {
                th.r scope="col" { "exclusive" } th.r scope="col" { "share" } th.r scope="col" { "inclusive" }
                th scope="col" { "call path" } th scope="col" { "kind" }
                th.r scope="col" { "mean" } th.r scope="col" { "most" } th.r scope="col" { "rank" }
                th.r scope="col" { "least" } th.r scope="col" { "rank" }
                @if has_visits { th.r scope="col" { "visits" } th.r scope="col" { "a visit" } }
            } }
            tbody {
                @for row in report.call_paths.iter().take(MAX_CALL_PATHS) {
                    tr {
                        td.r { b { (units::time(row.exclusive_ns)) } }
                        td.r { (units::percent(Some(row.exclusive_fraction))) }
                        td.r { (units::time(row.inclusive_ns)) }
                        td {
                            (call_path(&row.call_path))
                            @if !row.costly_ranks.is_empty() {
                                " " span.soft.small {
                                    (row.costly_ranks.in_words(usize::MAX)) ": more than twice the best per visit"
                                }
                            }
                        }
                        td { (row.kind.in_words()) }
                        td.r { (units::time(row.mean_ns)) }
                        td.r { (units::time(row.most.time_ns)) } td.r { (rank(row.most.rank)) }
                        td.r { (units::time(row.least.time_ns)) } td.r { (rank(row.least.rank)) }
                        @if has_visits {
                            td.r { (row.n_visits.map_or_else(|| "–".to_owned(), units::count)) }
                            td.r { (row.per_visit_ns.map_or_else(|| "–".to_owned(), units::time)) }
                        }
                    }
                }
            }
        } }
        @if MAX_CALL_PATHS < report.call_paths.len() {
            p.soft.small {
                (report.call_paths.len() - MAX_CALL_PATHS) " more: " code { "ouzel report --format json" } " lists them."
            }
        }
    }
}

fn causes(report: &ProfileReport, asked: &Asked) -> Markup {
    let Some(causes) = &report.causes else {
        return not_known(report.causes_missing.as_deref());
    };
    html! {
        ul { @for sentence in causes.sentences(&|path| path.join(" › ")) { li { (sentence) } } }
        div.small { code.command { (asked.command(&["causes".to_owned()])) } }
    }
}
