//! `ouzel breakdown`: computation, communication and their overlap.

use super::{first, origin, plot, rows, title};
use crate::args::{Common, PlotArgs, RuleArgs, TopArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use clap::{Args, ValueEnum};
use ouzel::analyses::breakdown::{Breakdown, HostCode, Requests};
use ouzel::model::Table;
use ouzel_answers::BreakdownAnswer;
use ouzel_plot::pictures;

pub const COMMAND: Command = Command::about_a_run::<BreakdownArgs>("breakdown", &[Need::Calls.always()]);

/// How much of the communication is hidden behind computation
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel breakdown scorep-run/
  ouzel breakdown scorep-run/ --plot breakdown.svg
  ouzel breakdown run/ --host-code always       host code computes beside a busy device, too

A process computes while any of its locations computes, and communicates while any communicates; a
non-blocking operation communicates from its post to its completion. The four parts add up to the time from
the first event of the process to its last. Time that cannot be classified is shown as part of other.")]
pub struct BreakdownArgs {
    /// Whether code on the host counts as computation
    #[arg(long, value_enum, default_value_t = HostCodeWord::WithoutStreams, value_name = "WHEN")]
    pub host_code: HostCodeWord,

    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl Question for BreakdownArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

/// Whether code on the host counts as computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HostCodeWord {
    /// In processes without accelerator streams
    WithoutStreams,
    /// In every process
    #[value(alias = "computes")]
    Always,
    /// Never: only kernels compute
    #[value(alias = "no")]
    Never,
}

fn run(session: &Session<'_>, args: &BreakdownArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let classes = ouzel::rules::semantics(args.rules.file())?.classes(definitions);
    let host_code = match args.host_code {
        HostCodeWord::WithoutStreams => HostCode::ComputesWithoutStreams,
        HostCodeWord::Always => HostCode::Computes,
        HostCodeWord::Never => HostCode::DoesNotCompute,
    };
    let _filter = &session.common.filter;
    let analysis = Breakdown::new(&classes, host_code, Requests::Included);
    let answer = session.ask(analysis)?;
    plot(session, || pictures::breakdown(&answer.output, definitions, &origin(session)))?;
    session.reply(
        &answer,
        |output| BreakdownAnswer::new(output, definitions),
        |output| output.table(definitions),
        |output, page| write_page(session, &output.table(definitions), args, page),
    )
}

fn write_page(session: &Session<'_>, table: &Table, args: &BreakdownArgs, page: &mut Page) {
    title(session, page);
    let n_rows = table.n_rows();
    let n_shown = args.top.n_shown(n_rows);
    let shown = table.picked(&first(n_shown));
    let span = shown.values::<u64>("span_ns");
    let part = |grid: Grid, name: &str, title: &str, order: u8| {
        let values = shown.values::<u64>(name);
        if values.iter().all(|&ns| ns == 0) && name != "overlap_ns" {
            return grid;
        }
        let shares = values
            .iter()
            .zip(span)
            .map(|(&ns, &of)| units::percent((of != 0).then(|| ns as f64 / of as f64)));
        grid.with(GridColumn::of(&shown, name, title))
            .with(GridColumn::numbers("", shares).painted(Paint::Dim).optional(order))
    };
    let mut grid = Grid::default().with(GridColumn::of(&shown, "rank", "rank"));
    for (name, title, order) in [
        ("computation_ns", "computation", 1),
        ("overlap_ns", "overlap", 2),
        ("communication_ns", "communication", 1),
        ("other_ns", "other", 3),
        ("transfer_ns", "incl. transfers", 4),
        ("unclassified_ns", "incl. unclassified", 4),
    ] {
        grid = part(grid, name, title, order);
    }
    rows(page, &grid.with(GridColumn::of(&shown, "span_ns", "span")), n_shown, n_rows);
    if n_rows == 0 {
        page.text(0, "no process ran in the selection", Paint::Plain);
        return;
    }
    page.text(
        0,
        "computation: only computing · overlap: computing while communicating · communication: only \
         communicating · other: neither; they add up to the span",
        Paint::Dim,
    );
}
