//! `ouzel comm-by-process`: what each rank sends and receives.

use super::{amount, origin, plot, rows, title, unit};
use crate::args::{Common, PlotArgs, TopArgs, TrafficArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use clap::Args;
use ouzel::analyses::comm_matrix::{CommMatrixOutput, ProcessTraffic};
use ouzel_answers::CommByProcessAnswer;
use ouzel_plot::pictures;

pub const COMMAND: Command = Command::about_a_run::<CommByProcessArgs>(
    "comm-by-process",
    &[Need::Messages.always(), Need::Collectives.with("--collectives")],
);

/// What each rank sends and receives
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel comm-by-process scorep-run/
  ouzel comm-by-process scorep-run/ --unit messages --plot traffic.png

Sent data is counted at sends and received data at receives, so a lost message shows as a difference.")]
pub struct CommByProcessArgs {
    #[command(flatten)]
    pub traffic: TrafficArgs,

    /// Add collective operations, spread over the pairs of ranks they connect
    #[arg(long)]
    pub collectives: bool,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl Question for CommByProcessArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &CommByProcessArgs) -> anyhow::Result<Outcome> {
    let unit = unit(args.traffic.unit);
    let answer = super::comm_matrix::asked(session, args.collectives)?;
    plot(session, || pictures::comm_by_process(&answer.output, unit, &origin(session)))?;
    session.reply(
        &answer,
        |output| CommByProcessAnswer::new(output, unit),
        CommMatrixOutput::by_process_table,
        |output, page| write_page(session, output, args, page),
    )
}

const BAR_WIDTH: usize = 16;

fn write_page(session: &Session<'_>, output: &CommMatrixOutput, args: &CommByProcessArgs, page: &mut Page) {
    title(session, page);
    if super::comm_matrix::is_silent(output) {
        return;
    }
    let unit = unit(args.traffic.unit);
    let all = output.by_process();
    let largest = all.iter().map(|row| unit.of(row.sent).max(unit.of(row.received))).max().unwrap_or(0);
    let n_shown = args.top.n_shown(all.len());
    let texts =
        |value: &dyn Fn(&ProcessTraffic) -> String| all[..n_shown].iter().map(value).collect::<Vec<_>>();
    let bars = |title: &str, value: &dyn Fn(&ProcessTraffic) -> u64| {
        GridColumn::text(title, texts(&|row| units::bar(value(row), largest, BAR_WIDTH)))
            .painted(Paint::Bar)
            .optional(1)
    };
    let shown = |row: &ProcessTraffic, value: u64| match row.has_events {
        true => amount(unit, value),
        false => "–".to_owned(),
    };
    let grid = Grid::default()
        .with(GridColumn::numbers("rank", texts(&|row| row.rank.0.to_string())))
        .with(GridColumn::numbers("sent", texts(&|row| shown(row, unit.of(row.sent)))))
        .with(bars("", &|row| unit.of(row.sent)))
        .with(GridColumn::numbers("received", texts(&|row| shown(row, unit.of(row.received)))))
        .with(bars("", &|row| unit.of(row.received)));
    rows(page, &grid, n_shown, all.len());
    let sum = |value: &dyn Fn(&ProcessTraffic) -> u64| all.iter().map(value).sum::<u64>();
    let (sent, received) = (sum(&|row| unit.of(row.sent)), sum(&|row| unit.of(row.received)));
    let counted = units::counted(all.len() as u64, "rank", "ranks");
    page.text(
        0,
        &format!("{counted} · {} sent, {} received", amount(unit, sent), amount(unit, received)),
        Paint::Dim,
    );
}
