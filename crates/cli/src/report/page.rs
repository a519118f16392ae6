//! The report for people: five cards, top to bottom in the order of questions.

use crate::session::Session;
use crate::terminal::style::{Paint, Style, clean};
use crate::terminal::units;
use ouzel::diagnose::{Advice, Concern, EfficiencyCard, Loss, LossKind, RunCard, RunReport, TrustCard};
use std::fmt::Write;

/// Losses that the page shows; JSON has all of them.
const MAX_LOSSES: usize = 8;
/// Widest running text that is still easy to read.
const MAX_TEXT_WIDTH: usize = 110;
const BAR_WIDTH: usize = 20;

/// The page.
pub fn lines(session: &Session<'_>, report: &RunReport) -> Vec<String> {
    let mut page = Page { style: session.style(), width: session.common.width, lines: Vec::new() };
    let path = session.trace.path().display().to_string();
    page.run_card(&path, &report.run);
    page.trust_card(&report.trust);
    page.efficiency(report);
    page.losses(&report.losses, &report.run);
    page.next(&report.next, &path);
    page.lines
}

struct Page {
    style: Style,
    width: usize,
    lines: Vec<String>,
}

impl Page {
    fn heading(&mut self, text: &str) {
        self.lines.push(String::new());
        self.lines.push(self.style.paint(Paint::Heading, text));
    }

    /// Running text behind `indent` spaces, broken between words.
    fn text(&mut self, indent: usize, text: &str, paint: Paint) {
        let width = self.width.min(MAX_TEXT_WIDTH).saturating_sub(indent).max(20);
        for line in textwrap::wrap(&clean(text), width) {
            self.lines.push(format!("{:indent$}{}", "", self.style.paint(paint, &line)));
        }
    }

    fn run_card(&mut self, path: &str, run: &RunCard) {
        self.lines.push(self.style.paint(Paint::Heading, &clean(path)));
        let tracer = if run.creator.is_empty() { String::new() } else { format!(" by {}", run.creator) };
        let mut parts = vec![format!("{}{tracer}", run.format)];
        let ranks = units::counted(run.n_processes, "rank", "ranks");
        let nodes = match run.n_nodes {
            0 => String::new(),
            n => format!(" on {}", units::counted(n, "node", "nodes")),
        };
        parts.push(ranks + &nodes);
        if run.n_processes < run.n_threads {
            parts.push(units::counted(run.n_threads, "thread", "threads"));
        }
        if 0 < run.n_accelerator_streams {
            parts.push(units::counted(
                run.n_accelerator_streams,
                "accelerator stream",
                "accelerator streams",
            ));
        }
        parts.push(units::time(run.span_ns));
        parts.push(units::counted(run.n_events, "event", "events"));
        self.text(0, &parts.join(" · "), Paint::Plain);
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
        self.text(0, &more.join(" · "), Paint::Dim);
    }

    fn trust_card(&mut self, trust: &TrustCard) {
        self.heading("How far to trust it");
        if trust.is_clean() {
            self.text(2, "Nothing was lost, repaired or doubtful.", Paint::Good);
        }
        for (concerns, word, paint) in [
            (&trust.lost, "lost", Paint::Bad),
            (&trust.doubtful, "doubtful", Paint::Doubtful),
            (&trust.remarks, "note", Paint::Dim),
        ] {
            for concern in concerns {
                self.text(2, &format!("{word}: {}", in_words(concern)), paint);
            }
        }
    }

    fn efficiency(&mut self, report: &RunReport) {
        self.heading("How well the time was used");
        let Some(card) = &report.efficiency else {
            let reason = report.efficiency_missing.as_deref().unwrap_or("unknown");
            self.text(2, &format!("Cannot be told: {reason}."), Paint::Doubtful);
            return;
        };
        let EfficiencyCard { parallel, load_balance, communication, of_threads, .. } = *card;
        let who = if of_threads { "thread" } else { "rank" };
        let busy = units::percent(Some(load_balance));
        let rows = [
            ("  parallel efficiency", parallel, format!("of all {who}s' time is computation")),
            (
                "= load balance",
                load_balance,
                format!("the average {who} computes {busy} as long as the busiest"),
            ),
            ("× communication efficiency", communication, format!("of the run the busiest {who} computes")),
        ];
        for (name, ratio, meaning) in rows {
            let thousandths = (ratio * 1000.0).round().clamp(0.0, 1000.0) as u64;
            let bar = units::bar(thousandths, 1000, BAR_WIDTH);
            let bar = self.style.paint(Paint::Bar, &format!("{bar:░<BAR_WIDTH$}"));
            let percent = units::percent(Some(ratio));
            let meaning = self.style.paint(Paint::Dim, &meaning);
            let line = format!("  {name:<27}{percent:>8}  {bar}  {meaning}");
            // Narrow terminals keep the numbers and lose the words.
            let line = if self.width < 100 { format!("  {name:<27}{percent:>8}  {bar}") } else { line };
            self.lines.push(line);
        }
    }

    fn losses(&mut self, losses: &[Loss], run: &RunCard) {
        self.heading("Where time is lost");
        if losses.is_empty() {
            self.text(2, "No call path loses more than 0.1 % of the run.", Paint::Good);
            return;
        }
        for (i, loss) in losses.iter().take(MAX_LOSSES).enumerate() {
            let amount =
                format!("{:>9}  {:>6}", units::time(loss.lost_ns), units::percent(Some(loss.share_of_run)));
            let title = format!("  {}  {:<29}{amount}   ", i + 1, title(loss.kind));
            let room = self.width.saturating_sub(title.chars().count()).max(20);
            let path = self.style.paint(Paint::Name, &call_path(loss, room));
            self.lines.push(format!("{title}{path}"));
            self.text(5, &explanation(loss), Paint::Dim);
        }
        if MAX_LOSSES < losses.len() {
            let n = units::counted((losses.len() - MAX_LOSSES) as u64, "smaller one", "smaller ones");
            self.text(2, &format!("… and {n}: --format json has all."), Paint::Dim);
        }
        let both = losses.iter().any(|loss| loss.kind == LossKind::UnevenWork)
            && losses.iter().any(|loss| loss.kind != LossKind::UnevenWork);
        let sides = " Uneven work makes others wait: the two are two sides of one loss, do not add them.";
        let text = format!("Percent are of the run ({}).", units::time(run.span_ns));
        self.text(2, &(text + if both { sides } else { "" }), Paint::Dim);
    }

    fn next(&mut self, advice: &[Advice], path: &str) {
        self.heading("What to look at next");
        for Advice { text, command } in advice {
            self.text(2, text, Paint::Plain);
            if let Some((name, arguments)) = command.split_first() {
                let mut line = format!("ouzel {name} {}", shell_word(path));
                for argument in arguments {
                    let _ = write!(line, " {}", shell_word(argument));
                }
                self.lines.push(format!("    {}", self.style.paint(Paint::Name, &clean(&line))));
            }
        }
    }
}

fn frequency(ticks_per_second: u64) -> String {
    match ticks_per_second {
        0..1_000_000 => format!("{} ticks per second", units::count(ticks_per_second)),
        1_000_000_000 => "1 ns".to_owned(),
        _ => format!("{:.3} ns", 1e9 / ticks_per_second as f64),
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

fn title(kind: LossKind) -> &'static str {
    match kind {
        LossKind::UnevenWork => "uneven work",
        LossKind::WaitForOne => "waiting for another rank",
        LossKind::WaitForAll => "waiting for all ranks",
        LossKind::StartAndEnd => "starting and ending MPI",
        LossKind::OtherMpi => "other time in MPI",
        LossKind::WaitForDevice => "waiting for the accelerator",
        LossKind::WaitForThreads => "waiting for other threads",
    }
}

fn explanation(loss: &Loss) -> String {
    let Loss { most, least, mean_ns, .. } = loss;
    let who =
        |rank: Option<u32>| rank.map_or_else(|| "one process".to_owned(), |rank| format!("rank {rank}"));
    let (max, mean, min) = (units::time(most.time_ns), units::time(*mean_ns), units::time(least.time_ns));
    let mut text = match loss.kind {
        LossKind::UnevenWork => format!(
            "{} works {max} here, the average {mean}, {} {min}. Spread evenly, the run gains {} at most.",
            capitalised(&who(most.rank)),
            who(least.rank),
            units::time(loss.lost_ns)
        ),
        LossKind::WaitForAll => format!(
            "The average rank spends {mean} here. {} waits least ({min}): it comes last, the others wait for it; {} \
             waits most ({max}).",
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

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The call path in at most `room` characters: the innermost regions say most.
fn call_path(loss: &Loss, room: usize) -> String {
    if loss.call_path.is_empty() {
        return "(code outside of recorded regions)".to_owned();
    }
    let mut text = String::new();
    for (i, region) in loss.call_path.iter().rev().enumerate() {
        let region = clean(region);
        let longer = if i == 0 { region } else { format!("{region} › {text}") };
        if room < longer.chars().count() + 4 && i != 0 {
            return format!("… › {text}");
        }
        text = longer;
    }
    text
}

/// `word` as a shell takes it for one word.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!([shell_word("a/b.otf2"), shell_word("int main(int)")], ["a/b.otf2", "'int main(int)'"]);
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
