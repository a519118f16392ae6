//! The report on a stored profile.

use super::cards;
use crate::args::{Common, OutputFormat, RuleArgs};
use crate::exit::Outcome;
use crate::profile_session::ProfileSession;
use crate::session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::names::{call_path, call_paths};
use crate::terminal::page::{Page, command_line};
use crate::terminal::style::{Paint, Style};
use crate::terminal::{ranks, units};
use ouzel::Asked;
use ouzel::diagnose::ProfileReport;
use ouzel::diagnose::profile::{ProfileCallPath, ProfileImbalance, WaitingClass};
use std::sync::Arc;

/// Call paths that are shown; JSON has all of them.
const MAX_CALL_PATHS: usize = 15;
/// Findings that are shown.
const MAX_FINDINGS: usize = 8;

/// Answers.
///
/// # Errors
/// If the profile cannot be read or the answer cannot be written.
pub fn run(session: &ProfileSession<'_>, rules: &RuleArgs) -> anyhow::Result<Outcome> {
    let semantics = ouzel::rules::semantics(rules.file())?;
    let common = session.common;
    let (report, notices) = session.profile.report(&semantics, common.jobs)?;
    let asked = Asked::new(session.profile.path().display().to_string(), &common.filter);
    match common.format {
        OutputFormat::Html => {
            session::write_text_as(common, &ouzel_page::of_profile(&report, &asked))?;
            return Ok(session::outcome(&notices));
        }
        OutputFormat::Table => {
            session.write_page(&lines(common, &report, &asked))?;
            return Ok(session::outcome(&notices));
        }
        OutputFormat::Json => {
            session.write_json("profile-report", &notices, &report)?;
            return Ok(session::outcome(&notices));
        }
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&report.table())?,
    }
    Ok(session.end(&notices))
}

fn lines(common: &Common, report: &ProfileReport, asked: &Asked) -> Vec<String> {
    let mut page = Page::new(Style::new(common.page_colour), common.width);
    page.title(asked);
    page.text(0, &report.profile.facts().join(" · "), Paint::Plain);
    page.text(0, &report.profile.further_facts().join(" · "), Paint::Dim);
    let is_clean = report.trust.is_clean();
    if !is_clean {
        cards::trust_card(&mut page, &report.trust);
    }
    page.gap();
    page.text(2, &report.headline, Paint::Heading);
    for (i, found) in report.imbalances.iter().take(MAX_FINDINGS).enumerate() {
        imbalance(&mut page, i + 1, found);
    }
    slow_ranks(&mut page, report);
    waiting(&mut page, "Waiting, as the tool that wrote the profile measured it", &report.waiting);
    waiting(&mut page, "What makes others wait, by the waits that follow", &report.delays);
    efficiency(&mut page, report);
    shares(&mut page, report);
    hot(&mut page, report);
    causes(&mut page, report, asked);
    page.heading("What this profile cannot tell");
    for sentence in &report.unknown {
        page.hanging("  - ", 4, sentence, Paint::Plain);
    }
    if is_clean {
        cards::trust_card(&mut page, &report.trust);
    }
    page.lines
}

fn imbalance(page: &mut Page, number: usize, found: &ProfileImbalance) {
    page.gap();
    let text = format!("{}: {}, {}", found.title, found.gain_in_words(), found.assumption);
    page.hanging(&format!("{number:>3}  "), 5, &text, Paint::Heading);
    let path = call_path(&found.call_path, page.text_width().saturating_sub(5));
    let source = found.source.as_ref().map(|source| format!("  {source}")).unwrap_or_default();
    page.text(5, &format!("{path}{source}"), Paint::Name);
    page.text(5, &found.sentence, Paint::Plain);
}

fn slow_ranks(page: &mut Page, report: &ProfileReport) {
    if report.slow_ranks.is_empty() {
        return;
    }
    page.heading("Ranks that take longer for the same visits");
    for slow in &report.slow_ranks {
        page.text(2, &slow.sentence, Paint::Plain);
    }
}

fn waiting(page: &mut Page, title: &str, classes: &[WaitingClass]) {
    if classes.is_empty() {
        return;
    }
    page.heading(title);
    for class in classes {
        let first = format!("  {:>9}  ", units::time(class.time_ns));
        let text = class.in_words(&|path| call_path(path, 60));
        let part = class.part_of.as_ref().map(|of| format!(" [part of {of}]")).unwrap_or_default();
        page.hanging(&first, 13, &format!("{text}{part}"), Paint::Plain);
    }
}

fn efficiency(page: &mut Page, report: &ProfileReport) {
    page.heading("How well the time was used");
    let Some(card) = &report.efficiency else {
        let reason = report.efficiency_missing.as_deref().unwrap_or("unknown");
        page.text(2, &format!("Not known: {reason}."), Paint::Doubtful);
        return;
    };
    cards::efficiency_card(page, card);
    page.text(2, &report.efficiency_note(), Paint::Dim);
}

fn shares(page: &mut Page, report: &ProfileReport) {
    if report.shares.is_empty() {
        return;
    }
    page.heading("What the threads' time is spent on");
    let all = report.profile.time_sum_ns;
    page.grid(
        2,
        &Grid::default()
            .with(GridColumn::numbers("time", report.shares.iter().map(|share| units::time(share.time_ns))))
            .with(GridColumn::numbers(
                "share",
                report.shares.iter().map(|share| units::percent(Some(share.fraction))),
            ))
            .with(GridColumn::text("", report.shares.iter().map(|share| units::bar(share.time_ns, all, 20))))
            .with(GridColumn::text("", report.shares.iter().map(|share| share.kind.in_words().to_owned()))),
    );
}

fn hot(page: &mut Page, report: &ProfileReport) {
    let with_own = report.call_paths.iter().filter(|row| 0 < row.exclusive_ns);
    let shown: Vec<&ProfileCallPath> = with_own.take(MAX_CALL_PATHS).collect();
    if shown.is_empty() {
        return;
    }
    page.heading("Where the time is, by call path");
    let time = |value: &dyn Fn(&ProfileCallPath) -> u64| -> Vec<String> {
        shown.iter().map(|row| units::time(value(row))).collect()
    };
    let room = page.width.saturating_sub(58).max(24);
    let paths: Vec<(&[Arc<str>], usize)> = shown.iter().map(|row| (&*row.call_path, room)).collect();
    let names = call_paths(&paths);
    let rank = |of: Option<u32>| of.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
    let mut grid = Grid::default()
        .with(GridColumn::text("call path", names.iter().cloned()).painted(Paint::Name).shortened())
        .with(GridColumn::numbers("exclusive", time(&|row| row.exclusive_ns)))
        .with(GridColumn::numbers(
            "share",
            shown.iter().map(|row| units::percent(Some(row.exclusive_fraction))),
        ))
        .with(GridColumn::numbers("inclusive", time(&|row| row.inclusive_ns)).optional(1))
        .with(GridColumn::numbers("mean", time(&|row| row.mean_ns)).optional(2))
        .with(GridColumn::numbers("most", time(&|row| row.most.time_ns)).optional(3))
        .with(GridColumn::numbers("rank", shown.iter().map(|row| rank(row.most.rank))).optional(3));
    if report.profile.visits_metric.is_some() {
        let each = |row: &&ProfileCallPath| row.per_visit_ns.map_or_else(|| "-".to_owned(), units::time);
        grid = grid.with(GridColumn::numbers("a visit", shown.iter().map(each)).optional(4));
    }
    page.grid(2, &grid);
    let note = "exclusive, inclusive: of all threads; share: of their time; mean, most: of a process, its longest thread";
    page.text(2, note, Paint::Dim);
    for (row, name) in shown.iter().zip(&names).filter(|(row, _)| !row.costly_ranks.is_empty()) {
        let text = format!(
            "{name}: visits of {} take more than twice the best, while all ranks enter it equally often: more to do per \
             visit, preempted, or on a slower core.",
            ranks::named(&row.costly_ranks.list, 40),
        );
        page.hanging("  ", 2, &text, Paint::Plain);
    }
}

fn causes(page: &mut Page, report: &ProfileReport, asked: &Asked) {
    page.heading("Causes, in brief");
    match (&report.causes, &report.causes_missing) {
        (Some(causes), _) => {
            for sentence in causes.sentences(&|path| call_path(path, 60)) {
                page.hanging("  ", 2, &sentence, Paint::Plain);
            }
            let line = command_line(asked, &["causes".to_owned()]);
            page.lines.push(format!("  {}", page.style.paint(Paint::Dim, &line)));
        }
        (None, Some(reason)) => page.text(2, &format!("Not known: {reason}."), Paint::Doubtful),
        (None, None) => page.text(2, "Not known.", Paint::Doubtful),
    }
}
