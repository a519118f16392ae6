//! What ran, how far it can be trusted, how well the time was used.

use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use ouzel::Asked;
use ouzel::diagnose::{EfficiencyCard, Headline, RunCard, RunReport, TrustCard};

const BAR_WIDTH: usize = 20;

pub fn run_card(page: &mut Page, asked: &Asked, run: &RunCard) {
    page.title(asked);
    page.text(0, &run.facts().join(" · "), Paint::Plain);
    page.text(0, &run.further_facts().join(" · "), Paint::Dim);
}

pub fn headline(page: &mut Page, headline: &Headline) {
    page.gap();
    if let Some(incomplete) = &headline.incomplete {
        page.text(2, incomplete, Paint::Bad);
    }
    page.text(2, &headline.text, Paint::Heading);
    if let Some(selected) = &headline.selected {
        page.text(2, selected, Paint::Dim);
    }
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
            page.text(2, &format!("{word}: {}", concern.in_words()), paint);
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
    efficiency_card(page, card);
    if let Some(words) = report.region_of_interest.and_then(|of| of.in_words(report.run.span_ns)) {
        page.text(2, &words, Paint::Plain);
    }
}

/// The efficiencies with bars.
pub fn efficiency_card(page: &mut Page, card: &EfficiencyCard) {
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
