//! `ouzel messages`: how many messages there are of which size.

use super::{origin, plot, rows, title};
use crate::args::{Common, PlotArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use clap::Args;
use ouzel::analyses::message_histogram::{Histogram, MessageHistogram, MessageHistogramOutput};
use ouzel_answers::MessagesAnswer;
use ouzel_plot::pictures;
use std::num::NonZeroU16;

pub const COMMAND: Command = Command::about_a_run::<MessagesArgs>("messages", &[Need::Messages.always()]);

/// How many messages there are of each size
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel messages scorep-run/
  ouzel messages scorep-run/ --bins 50 --plot sizes.svg
  ouzel messages scorep-run/ --log             bins by powers of two

Sends of point-to-point messages are counted. Bins have equal width from the smallest to the largest size;
the last one includes the largest.")]
pub struct MessagesArgs {
    /// Number of bins of equal width from the smallest to the largest size
    #[arg(long, value_name = "N", default_value = "20", conflicts_with = "log")]
    pub bins: NonZeroU16,

    /// Use bins by powers of two instead
    #[arg(long)]
    pub log: bool,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl Question for MessagesArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &MessagesArgs) -> anyhow::Result<Outcome> {
    let answer = session.ask(MessageHistogram)?;
    plot(session, || {
        pictures::message_histogram(&histogram(&answer.output, args), args.log, &origin(session))
    })?;
    session.reply(
        &answer,
        |output| MessagesAnswer::new(output, histogram(output, args)),
        |output| histogram(output, args).table(),
        |output, page| write_page(session, output, args, page),
    )
}

fn histogram(output: &MessageHistogramOutput, args: &MessagesArgs) -> Histogram {
    if args.log { output.log2() } else { output.linear(args.bins) }
}

const BAR_WIDTH: usize = 40;

fn write_page(session: &Session<'_>, output: &MessageHistogramOutput, args: &MessagesArgs, page: &mut Page) {
    title(session, page);
    let Some((min, max)) = output.range else { return };
    let Histogram { edges, counts } = histogram(output, args);
    let largest = counts.iter().copied().max().unwrap_or(0);
    let last = counts.len().saturating_sub(1);
    let width = edges.last().zip(edges.first()).map_or(0.0, |(last, first)| last - first);
    // Above a kilobyte, fractions of a byte do not matter.
    let edge = |&value: &f64| {
        let is_fine = width / (counts.len() as f64) < 1_000.0 && !args.log;
        if is_fine { format!("{value:.1} B") } else { units::bytes(value as u64) }
    };
    let ends = edges.iter().skip(1).enumerate().map(|(i, value)| {
        let word = if i == last { "up to" } else { "below" };
        format!("{word} {}", edge(value))
    });
    let grid = Grid::default()
        .with(GridColumn::numbers("from", edges.iter().take(counts.len()).map(edge)))
        .with(GridColumn::numbers("size", ends))
        .with(GridColumn::numbers("messages", counts.iter().map(|&n| units::count(n))))
        .with(
            GridColumn::text("", counts.iter().map(|&n| units::bar(n, largest, BAR_WIDTH)))
                .painted(Paint::Bar),
        );
    rows(page, &grid, counts.len(), counts.len());
    page.text(
        0,
        &format!(
            "{} with {}, from {} to {}",
            units::counted(output.n_messages, "message", "messages"),
            units::bytes(output.bytes),
            units::bytes(min),
            units::bytes(max)
        ),
        Paint::Dim,
    );
}
