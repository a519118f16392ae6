//! The report for people, top to bottom in the order of questions.

use super::losses::Detail;
use super::{cards, findings, losses, shape};
use crate::session::Session;
use crate::terminal::page::{Page, command_line};
use crate::terminal::style::Paint;
use ouzel::diagnose::Advice;
use ouzel::{Asked, Diagnosed};

/// The page.
pub fn lines(session: &Session<'_>, diagnosed: &Diagnosed) -> Vec<String> {
    let mut page = Page::new(session.style(), session.common.width);
    let asked = session.asked();
    let report = &diagnosed.report;
    cards::run_card(&mut page, &asked, &report.run);
    // Lost or doubtful data must be reported before any result; a clean bill of health can wait.
    let is_clean = report.trust.is_clean();
    if !is_clean {
        cards::trust_card(&mut page, &report.trust);
    }
    cards::headline(&mut page, &report.headline);
    if let Some(accelerators) = &report.accelerators {
        page.text(2, &accelerators.in_words(), Paint::Plain);
    }
    findings::findings(&mut page, &report.findings, &asked);
    cards::efficiency(&mut page, report);
    shape::shape(&mut page, session, diagnosed, &asked);
    let detail = if report.findings.is_empty() { Detail::Words } else { Detail::Numbers };
    losses::losses(&mut page, report, detail);
    // Advice is about all calls.
    if report.findings.is_empty() && report.headline.selected.is_none() {
        next(&mut page, &report.next, &asked);
    }
    if is_clean {
        cards::trust_card(&mut page, &report.trust);
    }
    page.gap();
    let words = ["report", "-o", "report.html"].map(str::to_owned);
    let line = format!("The same with pictures: {}", command_line(&asked, &words));
    page.lines.push(page.style.paint(Paint::Dim, &line));
    page.lines
}

fn next(page: &mut Page, advice: &[Advice], asked: &Asked) {
    page.heading("What to look at next");
    for Advice { text, command } in advice {
        page.text(2, text, Paint::Plain);
        if !command.is_empty() {
            let line = page.style.paint(Paint::Name, &command_line(asked, command));
            page.lines.push(format!("    {line}"));
        }
    }
}
