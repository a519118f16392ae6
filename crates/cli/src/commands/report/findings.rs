//! The findings: what costs time, which ranks, where, when and why, and the usual remedies.

use crate::terminal::names::call_path;
use crate::terminal::page::{Page, capitalised, command_line, wrapped};
use crate::terminal::style::{Paint, clean};
use crate::terminal::{ranks, units};
use ouzel::Asked;
use ouzel::diagnose::findings::{Confidence, Evidence, Finding, FindingKind, Quantity};
use ouzel::model::{ColumnData, Table, Unit};
use std::sync::Arc;

/// Findings that are shown in full; JSON has all of them.
const MAX_FINDINGS: usize = 8;
/// Where the text of a finding begins.
const INDENT: usize = 5;
/// Observations that are shown; JSON has all of them.
const MAX_EVIDENCE: usize = 3;

/// The findings.
pub fn findings(page: &mut Page, findings: &[Finding], asked: &Asked) {
    for (i, finding) in findings.iter().take(MAX_FINDINGS).enumerate() {
        page.gap();
        if finding.kind == FindingKind::NothingSignificant {
            nothing(page, finding, asked);
        } else {
            one(page, i + 1, finding, asked);
        }
    }
    if MAX_FINDINGS < findings.len() {
        let n = units::counted((findings.len() - MAX_FINDINGS) as u64, "smaller one", "smaller ones");
        page.gap();
        page.text(2, &format!("… and {n}: --format json has all."), Paint::Dim);
    }
}

fn nothing(page: &mut Page, finding: &Finding, asked: &Asked) {
    page.text(2, &finding.sentence, Paint::Plain);
    seen(page, 2, finding);
    closing(page, 2, finding, asked);
}

fn one(page: &mut Page, number: usize, finding: &Finding, asked: &Asked) {
    let band = units::band(finding.band_ns);
    let amount =
        format!("−{}{band}  ({})", units::time(finding.gain_ns), units::percent(Some(finding.gain_fraction)));
    let paint = match finding.confidence {
        Confidence::Sure => Paint::Good,
        Confidence::Likely => Paint::Plain,
        Confidence::Possible => Paint::Doubtful,
    };
    let confidence = finding.confidence.as_str();
    let right = format!("{amount:>19}  {confidence:<8}");
    let room = page.text_width().saturating_sub(INDENT + right.chars().count() + 2).max(20);
    for (i, line) in wrapped(&finding.title, room).iter().enumerate() {
        let title = page.style.paint(Paint::Heading, line);
        if i == 0 {
            let gap = " ".repeat((room + 2).saturating_sub(line.chars().count()));
            let word = page.style.paint(paint, confidence);
            let amount = page.style.paint(Paint::Heading, &format!("{amount:>19}"));
            page.lines.push(format!("{number:>3}  {title}{gap}{amount}  {word}"));
        } else {
            page.lines.push(format!("{:INDENT$}{title}", ""));
        }
    }
    place(page, finding);
    more_places(page, finding);
    page.text(INDENT, &finding.sentence, Paint::Plain);
    seen(page, INDENT, finding);
    varies(page, finding);
    closing(page, INDENT, finding, asked);
}

/// The call path, the ranks and the time: on one line if they fit.
fn place(page: &mut Page, finding: &Finding) {
    let facts = facts(finding);
    let room = page.text_width().saturating_sub(INDENT);
    let whole = call_path(&finding.call_path, usize::MAX);
    let source = finding.source.as_ref().map(|source| format!("  {}", clean(source))).unwrap_or_default();
    let (n_path, n_facts) = (whole.chars().count() + source.chars().count(), facts.chars().count());
    if n_path + n_facts + 3 <= room {
        let gap = " ".repeat(room - n_path - n_facts);
        let (path, facts) = (page.style.paint(Paint::Name, &whole), page.style.paint(Paint::Dim, &facts));
        let source = page.style.paint(Paint::Dim, &source);
        page.lines.push(format!("{:INDENT$}{path}{source}{gap}{facts}", ""));
        return;
    }
    let shown = call_path(&finding.call_path, room);
    let with_source = shown.chars().count() + source.chars().count() <= room;
    let path = page.style.paint(Paint::Name, &shown);
    let beside = if with_source { page.style.paint(Paint::Dim, &source) } else { String::new() };
    page.lines.push(format!("{:INDENT$}{path}{beside}", ""));
    if !with_source {
        page.text(INDENT, source.trim_start(), Paint::Dim);
    }
    page.text(INDENT, &facts, Paint::Dim);
}

/// The other call paths.
fn more_places(page: &mut Page, finding: &Finding) {
    const MAX_PATHS: usize = 2;
    let room = page.text_width().saturating_sub(INDENT + 5);
    for path in finding.more_call_paths.iter().take(MAX_PATHS) {
        page.text(INDENT, &format!("also {}", call_path(path, room)), Paint::Name);
    }
    let n = finding.more_call_paths.len().saturating_sub(MAX_PATHS) as u64;
    if 0 < n {
        let more = units::counted(n, "more call path", "more call paths");
        page.text(INDENT, &format!("and {more}"), Paint::Dim);
    }
}

fn facts(finding: &Finding) -> String {
    const ROOM: usize = 30;
    const MAX_RANGES: usize = 4;
    let mut parts = Vec::new();
    if !finding.ranks.is_empty() {
        parts.push(ranks::named(&finding.ranks.list, ROOM));
    }
    parts.extend(finding.when(MAX_RANGES));
    parts.join(" · ")
}

/// The observations in words with their first numbers, the most important first.
fn seen(page: &mut Page, indent: usize, finding: &Finding) {
    let texts: Vec<String> = finding.evidence.iter().take(MAX_EVIDENCE).map(observation).collect();
    if !texts.is_empty() {
        let text = format!("{}.", texts.join("; "));
        page.hanging(&format!("{:indent$}Seen: ", ""), indent + 6, &capitalised(&text), Paint::Dim);
    }
}

/// The metrics and call paths whose variation over the topology is similar.
fn varies(page: &mut Page, finding: &Finding) {
    const ROOM: usize = 60;
    let Some(varies) = &finding.varies_like else { return };
    let text = format!(
        "Over {}, this time varies {}.",
        clean(&varies.places()),
        varies.in_words(&|path| call_path(path, ROOM))
    );
    page.hanging(&format!("{:INDENT$}", ""), INDENT + 6, &text, Paint::Dim);
}

fn observation(evidence: &Evidence) -> String {
    const MAX_VALUES: usize = 3;
    let text = evidence.text.trim().trim_end_matches('.');
    let values: Vec<String> = evidence.values.iter().take(MAX_VALUES).map(quantity).collect();
    match values.is_empty() {
        true => text.to_owned(),
        false => format!("{text} ({})", values.join(", ")),
    }
}

fn quantity(quantity: &Quantity) -> String {
    format!("{} {}", quantity.name, quantity.in_words())
}

fn closing(page: &mut Page, indent: usize, finding: &Finding, asked: &Asked) {
    if !finding.advice.is_empty() {
        page.hanging(&format!("{:indent$}Usually done: ", ""), indent + 6, &finding.advice, Paint::Plain);
    }
    if !finding.command.is_empty() {
        let line = page.style.paint(Paint::Name, &command_line(asked, &finding.command));
        page.lines.push(format!("{:indent$}{line}", ""));
    }
}

/// The findings as a table.
pub fn table(findings: &[Finding]) -> Table {
    let texts = |value: &dyn Fn(&Finding) -> Arc<str>| ColumnData::Text(findings.iter().map(value).collect());
    let numbers = |value: fn(&Finding) -> u64| ColumnData::U64(findings.iter().map(value).collect());
    let ns = Unit::Nanoseconds;
    Table::new("findings")
        .with("kind", Unit::None, "Kind of the finding", texts(&|f| f.kind.as_str().into()))
        .with("title", Unit::None, "The finding in a few words", texts(&|f| f.title.as_str().into()))
        .with(
            "call_path",
            Unit::None,
            "Regions from the outermost to the one to look at",
            ColumnData::TextList(findings.iter().map(|f| f.call_path.clone()).collect()),
        )
        .with("ranks", Unit::None, "Ranks to look at, as ranges", texts(&|f| f.ranks.ranges.as_str().into()))
        .with("start_ns", ns.clone(), "Start of the affected part of the run", numbers(|f| f.time_range_ns.0))
        .with("end_ns", ns.clone(), "End of the affected part of the run", numbers(|f| f.time_range_ns.1))
        .with("gain_ns", ns, "What the run would gain", numbers(|f| f.gain_ns))
        .with(
            "gain_fraction",
            Unit::Ratio,
            "gain / run time",
            ColumnData::F64(findings.iter().map(|f| f.gain_fraction).collect()),
        )
        .with("confidence", Unit::None, "possible, likely or sure", texts(&|f| f.confidence.as_str().into()))
        .with("sentence", Unit::None, "The finding in sentences", texts(&|f| f.sentence.as_str().into()))
        .with("advice", Unit::None, "What is usually done", texts(&|f| f.advice.as_str().into()))
}
