//! `ouzel idle`: how long each rank waits.

use super::{first, origin, plot, rows, title};
use crate::args::{Common, Per, PlotArgs, TopArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use anyhow::bail;
use clap::Args;
use ouzel::analyses::Per as PerWhat;
use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::idle::{IdleRegions, idle_time};
use ouzel::model::{Definitions, Table};
use ouzel_answers::IdleAnswer;
use ouzel_plot::pictures;
use std::sync::Arc;

pub const COMMAND: Command = Command::about_a_run::<IdleArgs>("idle", &[Need::Calls.always()]);

/// How long each rank waits
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel idle scorep-run/
  ouzel idle scorep-run/ --idle 'MPI_Recv,MPI_Wait*' --plot idle.svg
  ouzel idle scorep-run/ --per location

Without --idle these regions count: Idle, MPI_Recv, MPI_Wait*, MPI_Probe, MPI_Barrier and the blocking
collective operations. Nested calls count once. An accelerator stream is also idle between its kernels.")]
pub struct IdleArgs {
    /// Regions that count as waiting, separated by commas, e.g. 'MPI_Recv,MPI_Wait*'
    #[arg(long, value_name = "REGION,…", value_delimiter = ',')]
    pub idle: Vec<String>,

    /// One row for each rank or location
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Per::Rank)]
    pub per: Per,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl Question for IdleArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &IdleArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let idle = idle_regions(definitions, &args.idle)?;
    let names = idle.names(definitions);
    let per = match args.per {
        Per::Rank => PerWhat::Rank,
        Per::Location => PerWhat::Location,
    };
    let answer = session.ask(CallPathProfile)?.map(|profile| idle_time(&profile, definitions, &idle));
    plot(session, || pictures::idle(&answer.output, definitions, &origin(session)))?;
    session.reply(
        &answer,
        |output| IdleAnswer::new(output, &idle, definitions, per),
        |output| output.table(definitions, per),
        |output, page| write_page(session, &output.table(definitions, per), &names, args, page),
    )
}

/// The regions that match `patterns`, or those whose names mean waiting.
fn idle_regions(definitions: &Definitions, patterns: &[String]) -> anyhow::Result<IdleRegions> {
    if patterns.is_empty() {
        return Ok(IdleRegions::known(definitions));
    }
    for pattern in patterns {
        if IdleRegions::named(definitions, &[pattern]).regions().next().is_none() {
            bail!("no region matches {pattern:?}; ouzel profile lists the regions of the trace");
        }
    }
    Ok(IdleRegions::named(definitions, patterns))
}

const BAR_WIDTH: usize = 30;
/// Characters of names of regions on a page.
const NAMES_WIDTH: usize = 300;

fn write_page(session: &Session<'_>, table: &Table, names: &[Arc<str>], args: &IdleArgs, page: &mut Page) {
    title(session, page);
    let n_rows = table.n_rows();
    let n_shown = args.top.n_shown(n_rows);
    let shown = table.picked(&first(n_shown));
    let (idle, span) = (shown.values::<u64>("idle_ns"), shown.values::<u64>("span_ns"));
    let share = |(&ns, &of): (&u64, &u64)| units::percent((of != 0).then(|| ns as f64 / of as f64));
    let bar = |(&ns, &of): (&u64, &u64)| units::bar(ns, of, BAR_WIDTH);
    let column = |name: &str, title: &str| GridColumn::of(&shown, name, title);
    let mut grid = Grid::default().with(column("rank", "rank"));
    if args.per == Per::Location {
        grid = grid.with(column("location", "location"));
    }
    grid = grid
        .with(column("idle_ns", "idle"))
        .with(GridColumn::numbers("share", idle.iter().zip(span).map(share)));
    if args.per == Per::Rank && table.values::<u64>("streams_ns").iter().any(|&ns| 0 < ns) {
        grid = grid.with(column("threads_ns", "of threads")).with(column("streams_ns", "of streams"));
    }
    let grid = grid
        .with(column("span_ns", "span"))
        .with(GridColumn::text("", idle.iter().zip(span).map(bar)).painted(Paint::Bar).optional(1));
    rows(page, &grid, n_shown, n_rows);
    if names.is_empty() {
        page.text(
            0,
            "no region in this trace is known to wait: name those that do with --idle REGION,…",
            Paint::Plain,
        );
        return;
    }
    let mut text = names.join(", ");
    if NAMES_WIDTH < text.chars().count() {
        text = format!("{} regions, such as {}", names.len(), names[..4.min(names.len())].join(", "));
    }
    page.text(0, &format!("idle in {text}; nested calls count once"), Paint::Dim);
}
