//! Where time is lost, call path by call path.

use crate::terminal::names::call_paths;
use crate::terminal::page::{Page, capitalised};
use crate::terminal::style::Paint;
use crate::terminal::units;
use ouzel::diagnose::{Loss, LossKind, RunCard, RunReport};
use std::fmt::Write;
use std::sync::Arc;

/// Losses that the page shows; JSON has all of them.
const MAX_LOSSES: usize = 8;

/// How much is written about each loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// One line: the findings explain the rest.
    Numbers,
    /// Sentences, too.
    Words,
}

pub fn losses(page: &mut Page, report: &RunReport, detail: Detail) {
    let RunReport { losses, run, .. } = report;
    page.heading("Where time is lost, by call path");
    let note = report.losses_note();
    if let Some(note) = &note {
        page.text(2, note, Paint::Doubtful);
    }
    if losses.is_empty() && note.is_some() {
        return;
    }
    if losses.is_empty() {
        page.text(2, "No call path loses more than 0.1 % of the run.", Paint::Good);
        return;
    }
    let shown = &losses[..losses.len().min(MAX_LOSSES)];
    let is_sampled = losses.iter().any(|loss| loss.band_ns != 0);
    let titles: Vec<String> =
        shown.iter().enumerate().map(|(i, loss)| title(i, loss, is_sampled, run)).collect();
    let room = |title: &str| page.width.saturating_sub(title.chars().count()).max(20);
    let paths: Vec<(&[Arc<str>], usize)> =
        shown.iter().zip(&titles).map(|(loss, title)| (&*loss.call_path, room(title))).collect();
    for ((loss, title), path) in shown.iter().zip(&titles).zip(call_paths(&paths)) {
        page.lines.push(format!("{title}{}", page.style.paint(Paint::Name, &path)));
        if detail == Detail::Words {
            page.text(5, &explanation(loss, run), Paint::Dim);
        }
    }
    if MAX_LOSSES < losses.len() {
        let n = units::counted((losses.len() - MAX_LOSSES) as u64, "smaller one", "smaller ones");
        page.text(2, &format!("… and {n}: --format json has all."), Paint::Dim);
    }
    let both = losses.iter().any(|loss| loss.kind == LossKind::UnevenWork)
        && losses.iter().any(|loss| loss.kind != LossKind::UnevenWork);
    let sides = " Uneven work and the waiting it causes are the same loss. Don't add them.";
    let text = format!("Percentages are of the run time ({}).", units::time(run.span_ns));
    let speaks_of_others = both && run.recorded.several_processes();
    page.text(2, &(text + if speaks_of_others { sides } else { "" }), Paint::Dim);
    if let Some(note) = report.device_waits_note() {
        page.text(2, note, Paint::Dim);
    }
}

/// Rank, kind and size of a loss, up to where its call path begins; of samples, with the band.
fn title(i: usize, loss: &Loss, is_sampled: bool, run: &RunCard) -> String {
    let (lost, share) = (units::time(loss.lost_ns), units::percent(Some(loss.share_of_run)));
    let band = if is_sampled { format!("{:<12}", units::band(loss.band_ns)) } else { String::new() };
    format!("  {}  {:<29}{lost:>9}{band}  {share:>6}   ", i + 1, loss.kind.title(&run.recorded))
}

fn explanation(loss: &Loss, run: &RunCard) -> String {
    let Loss { most, least, mean_ns, .. } = loss;
    let who =
        |rank: Option<u32>| rank.map_or_else(|| "one process".to_owned(), |rank| format!("rank {rank}"));
    let (max, mean, min) = (units::time(most.time_ns), units::time(*mean_ns), units::time(least.time_ns));
    let mut text = match loss.kind {
        LossKind::UnevenWork => format!(
            "{} works {max} here, the average {mean}, {} {min}. Spreading the work evenly would save at most {}.",
            capitalised(&who(most.rank)),
            who(least.rank),
            units::time(loss.lost_ns)
        ),
        _ if !run.recorded.several_processes() => format!("It takes {mean} here."),
        LossKind::WaitForAll => format!(
            "The average rank spends {mean} here. {} waits least ({min}): it comes last, and the others wait for it. \
             {} waits most ({max}).",
            capitalised(&who(least.rank)),
            who(most.rank)
        ),
        _ if most.rank == least.rank => format!("It takes {mean} here."),
        _ => format!(
            "The average rank spends {mean} here, {} most ({max}), {} least ({min}).",
            who(most.rank),
            who(least.rank)
        ),
    };
    if let Some(source) = &loss.source {
        let _ = write!(text, " {source}");
    }
    text
}
