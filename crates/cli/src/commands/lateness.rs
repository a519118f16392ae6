//! `ouzel lateness`: how long after the first of its peers each operation ends.

use super::{first, origin, plot, rows, title};
use crate::args::{Common, PlotArgs, TopArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::{Batched, Session};
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use anyhow::Context;
use clap::Args;
use ouzel::analyses::logical_lateness::{LatenessOutput, lateness};
use ouzel::analyses::paired_operations::Operations;
use ouzel_answers::LatenessAnswer;
use ouzel_export::Batches;
use ouzel_plot::pictures;

pub const COMMAND: Command = Command::about_a_run::<LatenessArgs>("lateness", &[Need::Messages.always()]);

/// How much later each operation ends than the first of its peers
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel lateness scorep-run/
  ouzel lateness scorep-run/ --format csv -o operations.csv        each operation with its logical step

Sends, receives and collective operations get logical steps, from 0: one after the previous operation on the
same rank, and for a receive also after its send. Lateness is the time since the first operation of the step
ended, on any rank; differential lateness is what an operation added to that of those directly before it.")]
pub struct LatenessArgs {
    #[command(flatten)]
    pub top: TopArgs,

    /// Also list each operation in JSON; CSV and Parquet always do
    #[arg(long)]
    pub operations: bool,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl Question for LatenessArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &LatenessArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let answer = session.ask(Operations::new(definitions))?;
    let answer = answer.try_map(|operations| lateness(operations, definitions)).context("no lateness")?;
    plot(session, || pictures::lateness(&answer.output, definitions, &origin(session)))?;
    session.reply(
        &answer,
        |output| {
            let operations = args.operations.then_some(Batches(|| output.operation_batches(definitions)));
            LatenessAnswer::new(output, definitions, operations)
        },
        |output| Batched(output.operation_batches(definitions)),
        |output, page| write_page(session, output, args, page),
    )
}

fn write_page(session: &Session<'_>, output: &LatenessOutput, args: &LatenessArgs, page: &mut Page) {
    title(session, page);
    if output.n_operations() == 0 {
        return;
    }
    let table = output.table(&session.definitions().clock);
    let n_rows = table.n_rows();
    let n_shown = args.top.n_shown(n_rows);
    let shown = table.picked(&first(n_shown));
    let largest = table.values::<u64>("sum_ns").iter().copied().max().unwrap_or(0);
    let bars = shown.values::<u64>("sum_ns").iter().map(|&ns| units::bar(ns, largest, 16));
    let grid = Grid::default()
        .with(GridColumn::of(&shown, "rank", "rank"))
        .with(GridColumn::of(&shown, "operations", "operations"))
        .with(GridColumn::of(&shown, "max_ns", "latest"))
        .with(GridColumn::of(&shown, "sum_ns", "sum"))
        .with(GridColumn::text("", bars).painted(Paint::Bar).optional(1))
        .with(GridColumn::of(&shown, "differential_max_ns", "most added at once"))
        .with(GridColumn::of(&shown, "differential_sum_ns", "added in total"));
    rows(page, &grid, n_shown, n_rows);
    let steps = units::counted(u64::from(output.n_steps), "logical step", "logical steps");
    page.text(
        0,
        &format!(
            "{steps}; an operation is late if it ends after the first of its step, on any rank; --format csv has \
             each operation"
        ),
        Paint::Dim,
    );
}
