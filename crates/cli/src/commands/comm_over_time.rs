//! `ouzel comm-over-time`: when how much is sent and received.

use super::{amount, origin, plot, rows, title, unit};
use crate::args::{Common, PlotArgs, TimeBinArgs, TrafficArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::{spark, units};
use clap::Args;
use ouzel::analyses::comm_matrix::TrafficUnit;
use ouzel::analyses::comm_over_time::{CommOverTime, CommOverTimeOutput};
use ouzel_answers::CommOverTimeAnswer;
use ouzel_plot::pictures;

pub const COMMAND: Command =
    Command::about_a_run::<CommOverTimeArgs>("comm-over-time", &[Need::Messages.always()]);

/// How much is sent and received over time
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel comm-over-time scorep-run/
  ouzel comm-over-time scorep-run/ --bins 500 --unit messages --plot bursts.svg

A message counts as sent at its send (for a non-blocking send, when it was posted), and as received when its
receive was complete.")]
pub struct CommOverTimeArgs {
    #[command(flatten)]
    pub time: TimeBinArgs,

    #[command(flatten)]
    pub traffic: TrafficArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl Question for CommOverTimeArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &CommOverTimeArgs) -> anyhow::Result<Outcome> {
    let unit = unit(args.traffic.unit);
    let definitions = session.definitions();
    let answer = session.ask_in_bins(args.time.bins, CommOverTime::new)?;
    plot(session, || pictures::comm_over_time(&answer.output, definitions, unit, &origin(session)))?;
    session.reply(
        &answer,
        |output| CommOverTimeAnswer::new(output, definitions, unit),
        |output| output.table(definitions),
        |output, page| write_page(session, output, unit, page),
    )
}

fn is_silent(output: &CommOverTimeOutput) -> bool {
    output.bins.iter().all(|bin| bin.sent.messages == 0 && bin.received.messages == 0)
}

const BARS_WIDTH: usize = 60;
/// Columns of the names and amounts before the bars.
const AMOUNTS_WIDTH: usize = 37;

fn write_page(session: &Session<'_>, output: &CommOverTimeOutput, unit: TrafficUnit, page: &mut Page) {
    title(session, page);
    if is_silent(output) {
        return;
    }
    let clock = &session.definitions().clock;
    let CommOverTimeAnswer { sent, received, .. } =
        CommOverTimeAnswer::new(output, session.definitions(), unit);
    let sides = [sent, received];
    let room = BARS_WIDTH.min(page.width.saturating_sub(AMOUNTS_WIDTH));
    let grid = Grid::default()
        .with(GridColumn::text("", ["sent", "received"].map(str::to_owned)))
        .with(GridColumn::numbers("total", sides.iter().map(|side| amount(unit, side.iter().sum()))))
        .with(GridColumn::numbers(
            "largest bin",
            sides.iter().map(|side| amount(unit, side.iter().copied().max().unwrap_or(0))),
        ))
        .with(
            GridColumn::text("over the run", sides.iter().map(|side| spark::bars(side, room)))
                .painted(Paint::Bar),
        );
    rows(page, &grid, sides.len(), sides.len());
    let range = output.grid.range();
    let (start, end) = (clock.ns_from_ticks(range.start), clock.ns_from_ticks(range.end));
    let n_bins = units::counted(output.grid.n_bins() as u64, "bin", "bins");
    page.text(
        0,
        &format!("{n_bins} from {} to {}; --format csv has them", units::time(start), units::time(end)),
        Paint::Dim,
    );
}
