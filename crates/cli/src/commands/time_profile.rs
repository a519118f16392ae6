//! `ouzel time-profile`: where the time went, bin by bin.

use super::{origin, plot, rows, title};
use crate::args::{Common, PlotArgs, TimeBinArgs, TopArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::names::call_path;
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::{spark, units};
use clap::Args;
use ouzel::analyses::By;
use ouzel::analyses::semantics::Semantics;
use ouzel::analyses::time_profile::TimeProfileOutput;
use ouzel::model::Ticks;
use ouzel_answers::TimeProfileAnswer;
use ouzel_plot::pictures;

pub const COMMAND: Command = Command::about_a_run::<TimeProfileArgs>("time-profile", &[Need::Calls.always()]);

/// Where time was spent over the run: each region in time bins
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel time-profile scorep-run/
  ouzel time-profile scorep-run/ --bins 400 --plot phases.svg
  ouzel time-profile scorep-run/ --time 10s..20s --call-paths --format csv -o bins.csv

A bin holds the exclusive time of each region, summed over locations. The rest of bin width × number of
locations is idle: the location was in no recorded region, had not begun, or had ended.")]
pub struct TimeProfileArgs {
    #[command(flatten)]
    pub time: TimeBinArgs,

    /// One row for each call path instead of each region
    #[arg(long)]
    pub call_paths: bool,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl Question for TimeProfileArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &TimeProfileArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let by = if args.call_paths { By::CallPath } else { By::Region };
    let answer = session.answer(|trace, options| trace.time_profile(args.time.bins, by, options))?;
    plot(session, || {
        let classes = Semantics::default().classes(definitions);
        pictures::time_profile(&answer.output, definitions, &classes, &origin(session))
    })?;
    session.reply(
        &answer,
        |output| TimeProfileAnswer::new(output, definitions, by),
        |output| output.table(definitions, by),
        |output, page| write_page(session, output, by, args, page),
    )
}

/// Columns of a page that bars take.
const BARS_WIDTH: usize = 50;
const NAME_WIDTH: usize = 44;

fn write_page(
    session: &Session<'_>,
    output: &TimeProfileOutput,
    by: By,
    args: &TimeProfileArgs,
    page: &mut Page,
) {
    let definitions = session.definitions();
    let clock = &definitions.clock;
    title(session, page);
    let functions = output.functions(definitions, by);
    let n_shown = args.top.n_shown(functions.len());
    let available: u128 = (0..output.grid.n_bins()).map(|bin| output.available(bin)).sum();
    let share = |ticks: u64| units::percent((available != 0).then(|| ticks as f64 / available as f64));
    let bars = |ticks: &[Ticks]| {
        let values: Vec<u64> = ticks.iter().map(|t| t.0).collect();
        spark::bars(&values, BARS_WIDTH)
    };
    let idle = Ticks(output.idle.iter().fold(0, |sum: u64, t| sum.saturating_add(t.0)));
    let shown = &functions[..n_shown];
    let names = shown.iter().map(|row| call_path(&output.path_names(&row.key, definitions), NAME_WIDTH));
    let times = shown.iter().map(|row| row.total).chain([idle]);
    let grid = Grid::default()
        .with(
            GridColumn::text(
                if by == By::Region { "region" } else { "call path" },
                names.chain(["(in no region)".to_owned()]),
            )
            .painted(Paint::Name)
            .shortened(),
        )
        .with(GridColumn::numbers(
            "exclusive",
            times.clone().map(|ticks| units::time(clock.ns_from_ticks(ticks))),
        ))
        .with(GridColumn::numbers("share", times.map(|ticks| share(ticks.0))))
        .with(
            GridColumn::text(
                "over the run",
                shown.iter().map(|row| bars(&row.exclusive)).chain([bars(&output.idle)]),
            )
            .painted(Paint::Bar)
            .optional(1),
        );
    rows(page, &grid, n_shown, functions.len());
    let range = output.grid.range();
    let (start, end) = (clock.ns_from_ticks(range.start), clock.ns_from_ticks(range.end));
    let width = units::time((end - start) / output.grid.n_bins() as u64);
    let n_bins = units::counted(output.grid.n_bins() as u64, "bin", "bins");
    let over = units::counted(output.n_locations, "location", "locations");
    page.text(
        0,
        &format!(
            "{n_bins} of {width}, from {} to {}, summed over {over}; the highest bar of a row is its largest bin",
            units::time(start),
            units::time(end)
        ),
        Paint::Dim,
    );
}
