//! `ouzel timeline`: what every rank does over time.

use super::{origin, plot, title};
use crate::args::{Common, PlotArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::page::Page;
use crate::terminal::style::{Paint, clean, shortened};
use crate::terminal::units;
use clap::Args;
use ouzel::analyses::semantics::Semantics;
use ouzel::analyses::timeline::TimelineOutput;
use ouzel::diagnose::NO_REGION;
use ouzel::model::RegionId;
use ouzel::{ConnectedTimeline, TimelineConnections};
use ouzel_answers::TimelineAnswer;
use ouzel_plot::Picture;
use ouzel_plot::pictures::{self, Connections, TimelineRows};
use std::collections::BTreeMap;

pub const COMMAND: Command = Command::about_a_run::<TimelineArgs>(
    "timeline",
    &[Need::Calls.always(), Need::Messages.with("--messages")],
);

/// A picture of what every rank does over time
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel timeline scorep-run/ --plot timeline.svg
  ouzel timeline scorep-run/ --messages --critical-path --time 1s..1.2s --plot wait.png
  ouzel timeline scorep-run/ --depth --ranks 3 --plot calls.svg     the calls of rank 3 as flames

The picture samples the run on a grid of instants as fine as itself; calls between two instants are not seen,
so zoom in with --time. Beyond 1,024 locations, only every n-th is drawn. Arrows lead from the start of the
sending call to the end of the receiving one; for them, the selection's matched messages are held in memory.")]
pub struct TimelineArgs {
    /// Draw call depths as rows, for the main thread of the lowest selected rank
    #[arg(long, conflicts_with_all = ["messages", "critical_path"])]
    pub depth: bool,

    /// Draw messages as arrows
    #[arg(long, requires = "plot_file")]
    pub messages: bool,

    /// Draw the critical path over the rows
    #[arg(long, requires = "plot_file")]
    pub critical_path: bool,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl Question for TimelineArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &TimelineArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let wanted = TimelineConnections { messages: args.messages, critical_path: args.critical_path };
    let answer = session.answer(|trace, options| trace.timeline(wanted, options))?;
    plot(session, || picture(session, &answer.output, args))?;
    let answer = answer.map(|connected| connected.timeline);
    session.reply(
        &answer,
        |timeline| TimelineAnswer::new(timeline, definitions),
        |timeline| timeline.table(definitions),
        |timeline, page| write_page(session, timeline, page),
    )
}

fn picture(session: &Session<'_>, connected: &ConnectedTimeline, args: &TimelineArgs) -> Picture {
    let definitions = session.definitions();
    let ConnectedTimeline { timeline, messages, path } = connected;
    let rows = if args.depth { TimelineRows::Depths } else { TimelineRows::Locations };
    let connections = Connections { messages: messages.as_ref(), path: path.as_ref() };
    let classes = Semantics::default().classes(definitions);
    pictures::timeline(timeline, definitions, &classes, rows, connections, &origin(session))
}

/// Regions that have a letter of their own.
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRST";
/// Columns of a row's name.
const NAME_WIDTH: usize = 14;
/// Rows on a page.
const MAX_ROWS: usize = 32;

/// Each location a line of letters: that of the region in which most of the character's instants lie.
fn write_page(session: &Session<'_>, timeline: &TimelineOutput, page: &mut Page) {
    let definitions = session.definitions();
    title(session, page);
    let rows = timeline.rows_by_rank(definitions);
    if rows.is_empty() || timeline.n_columns == 0 {
        page.text(0, "nothing ran in the selection", Paint::Plain);
        return;
    }
    let mut area: BTreeMap<RegionId, u64> = BTreeMap::new();
    let region_of = |run: &ouzel::analyses::timeline::TimelineRun| timeline.call_paths.region(run.call_path?);
    for run in rows.iter().flat_map(|row| &row.runs) {
        if let Some(region) = region_of(run) {
            *area.entry(region).or_default() += u64::from(run.n_columns);
        }
    }
    let mut regions: Vec<(RegionId, u64)> = area.into_iter().collect();
    regions.sort_by_key(|&(region, n)| (std::cmp::Reverse(n), region));
    let letters: BTreeMap<RegionId, char> =
        regions.iter().map(|&(region, _)| region).zip(LETTERS.chars()).collect();
    let width = page.text_width().saturating_sub(NAME_WIDTH + 1).max(10);
    page.gap();
    for row in rows.iter().take(MAX_ROWS) {
        let mut states: Vec<char> = Vec::with_capacity(timeline.n_columns as usize);
        for run in &row.runs {
            let state = match (run.call_path, region_of(run)) {
                (None, _) => ' ',
                (Some(_), None) => '.',
                (Some(_), Some(region)) => letters.get(&region).copied().unwrap_or('+'),
            };
            states.extend(std::iter::repeat_n(state, run.n_columns as usize));
        }
        let n = states.len();
        let width = width.min(n);
        let most = |i: usize| {
            let mut seen: BTreeMap<char, usize> = BTreeMap::new();
            for &state in &states[i * n / width..(i + 1) * n / width] {
                *seen.entry(state).or_default() += 1;
            }
            seen.into_iter()
                .max_by_key(|&(state, n)| (n, std::cmp::Reverse(state)))
                .map_or(' ', |(state, _)| state)
        };
        let line: String = (0..width).map(most).collect();
        let location = definitions.location(row.location);
        let name = match location.rank {
            Some(rank) => format!("{} {}", rank.0, location.name),
            None => location.name.to_string(),
        };
        let name = shortened(&clean(&name), NAME_WIDTH);
        page.lines.push(format!("{name:<NAME_WIDTH$} {line}"));
    }
    if MAX_ROWS < rows.len() {
        let more = units::counted((rows.len() - MAX_ROWS) as u64, "more row", "more rows");
        page.text(0, &format!("… {more}: --plot FILE.svg draws all"), Paint::Dim);
    }
    page.gap();
    let total: u64 = regions.iter().map(|(_, n)| n).sum();
    for (region, n) in regions.iter().take(LETTERS.len()) {
        let share = units::percent(Some(*n as f64 / total.max(1) as f64));
        let name = clean(&definitions.region(*region).name);
        page.lines.push(shortened(&format!("{} {share:>6}  {name}", letters[region]), page.width));
    }
    let from = units::time(definitions.clock.ns_from_ticks(timeline.origin));
    let to = units::time(definitions.clock.ns_from_ticks(timeline.at(timeline.n_columns)));
    let further = if LETTERS.len() < regions.len() { "; + is any other region" } else { "" };
    page.text(
        0,
        &format!("from {from} to {to}; a dot is {NO_REGION}{further}; --plot FILE.svg draws it"),
        Paint::Dim,
    );
}
