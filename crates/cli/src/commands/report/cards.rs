//! What ran, how far it can be trusted, how well the time was used.

use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use ouzel::Asked;
use ouzel::diagnose::findings::Ranks;
use ouzel::diagnose::{Concern, Headline, RunCard, RunReport, TrustCard};
use std::fmt::Write;

const BAR_WIDTH: usize = 20;

pub fn run_card(page: &mut Page, asked: &Asked, run: &RunCard) {
    page.title(asked);
    let tracer = if run.creator.is_empty() { String::new() } else { format!(" by {}", run.creator) };
    let mut parts = vec![format!("{}{tracer}", run.format)];
    let ranks = ranks(run);
    let nodes = match run.n_nodes {
        0 => String::new(),
        n => format!(" on {}", units::counted(n, "node", "nodes")),
    };
    parts.push(ranks + &nodes);
    if run.n_processes < run.n_threads {
        parts.push(units::counted(run.n_threads, "thread", "threads"));
    }
    if 0 < run.n_accelerator_streams {
        parts.push(units::counted(run.n_accelerator_streams, "accelerator stream", "accelerator streams"));
    }
    parts.push(units::time(run.span_ns));
    parts.push(units::counted(run.n_events, "event read", "events read"));
    page.text(0, &parts.join(" · "), Paint::Plain);
    let mut more = Vec::new();
    if !run.machine.is_empty() {
        more.push(format!("machine {}", run.machine));
    }
    more.push(format!("clock of {}", frequency(run.ticks_per_second)));
    if 0 < run.n_messages {
        let sent = units::counted(run.n_messages, "message", "messages");
        more.push(format!("{sent} ({})", units::bytes(run.message_bytes)));
    }
    if 0 < run.n_collectives {
        more.push(units::counted(run.n_collectives, "collective call", "collective calls"));
    }
    if 0 < run.n_metric_locations {
        more.push(units::counted(run.n_metric_locations, "metric source", "metric sources"));
    }
    page.text(0, &more.join(" · "), Paint::Dim);
}

/// `8 ranks`, or `5 of 8 ranks (no events of ranks 5-7)`.
fn ranks(run: &RunCard) -> String {
    if run.ranks_without_events.is_empty() {
        return units::counted(run.n_processes, "rank", "ranks");
    }
    let missing = Ranks::new(run.ranks_without_events.iter().copied());
    let n_missing = missing.list.len() as u64;
    let n_with_events = run.recorded.n_processes;
    let all = units::counted(n_with_events + n_missing, "rank", "ranks");
    format!("{} of {all} (no events of {})", units::count(n_with_events), missing.in_words(usize::MAX))
}

pub fn headline(page: &mut Page, headline: &Headline) {
    page.gap();
    if let Some(incomplete) = &headline.incomplete {
        page.text(2, incomplete, Paint::Bad);
    }
    page.text(2, &headline.text, Paint::Heading);
}

pub fn trust_card(page: &mut Page, trust: &TrustCard) {
    page.heading("How far to trust it");
    if trust.is_clean() {
        page.text(2, "Nothing was lost, repaired or doubtful.", Paint::Good);
    }
    for (concerns, word, paint) in [
        (&trust.lost, "lost", Paint::Bad),
        (&trust.doubtful, "doubtful", Paint::Doubtful),
        (&trust.remarks, "note", Paint::Dim),
    ] {
        for concern in concerns {
            page.text(2, &format!("{word}: {}", in_words(concern)), paint);
        }
    }
}

pub fn efficiency(page: &mut Page, report: &RunReport) {
    page.heading("How well the time was used");
    let Some(card) = &report.efficiency else {
        let reason = report.efficiency_missing.as_deref().unwrap_or("unknown");
        page.text(2, &format!("Not known: {reason}."), Paint::Doubtful);
        return;
    };
    if let Some(note) = report.efficiency_note() {
        page.text(2, &note, Paint::Doubtful);
    }
    for (i, (name, ratio, meaning)) in card.in_words().into_iter().enumerate() {
        let name = if i == 0 { format!("  {name}") } else { name.to_owned() };
        let thousandths = (ratio * 1000.0).round().clamp(0.0, 1000.0) as u64;
        let bar = units::bar(thousandths, 1000, BAR_WIDTH);
        let bar = page.style.paint(Paint::Bar, &format!("{bar:░<BAR_WIDTH$}"));
        let percent = units::percent(Some(ratio));
        let meaning = page.style.paint(Paint::Dim, &meaning);
        let line = format!("  {name:<27}{percent:>8}  {bar}  {meaning}");
        // Narrow terminals keep the numbers and lose the words.
        let line = if page.width < 100 { format!("  {name:<27}{percent:>8}  {bar}") } else { line };
        page.lines.push(line);
    }
}

fn frequency(ticks_per_second: u64) -> String {
    match ticks_per_second {
        0..1_000_000 => format!("{} ticks per second", units::count(ticks_per_second)),
        _ => {
            let ns = format!("{:.3}", 1e9 / ticks_per_second as f64);
            format!("{} ns", ns.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

fn in_words(concern: &Concern) -> String {
    let mut text = concern.example.clone();
    if concern.is_one_of_many {
        let places = match concern.n_locations {
            0 | 1 => String::new(),
            n => format!(" at {}", units::counted(n, "location", "locations")),
        };
        let _ = write!(text, " (one of {}{places})", units::count(concern.count));
    } else if 1 < concern.count {
        let _ = write!(text, " (×{})", units::count(concern.count));
    }
    text
}
