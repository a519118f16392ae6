//! `ouzel idle`: how long each rank waits.

use super::{first, origin, plot, regions_near, rows, title};
use crate::args::{Common, Per, PlotArgs, StepArgs, TopArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use anyhow::bail;
use clap::{Args, ValueEnum};
use ouzel::analyses::Per as PerWhat;
use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::idle::{IdleRegions, idle_time};
use ouzel::model::{Definitions, Table};
use ouzel::waits::accelerators::{IdleCause, StepsAsked, gaps_table, idle_table};
use ouzel_answers::{IdleAnswer, IdleCausesAnswer};
use ouzel_plot::pictures;
use std::sync::Arc;

pub const COMMAND: Command =
    Command::about_a_run::<IdleArgs>("idle", &[Need::Calls.always(), Need::Streams.with("--by")]);

/// How long each rank waits
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel idle scorep-run/
  ouzel idle scorep-run/ --idle 'MPI_Recv,MPI_Wait*' --plot idle.svg
  ouzel idle scorep-run/ --per location
  ouzel idle trace.json.gz --by cause             why each stream of an accelerator has nothing to do
  ouzel idle trace.json.gz --by cause --step 3    the same in one step

Without --idle these regions count: Idle, MPI_Recv, MPI_Wait*, MPI_Probe, MPI_Barrier and the blocking
collective operations. Nested calls count once. An accelerator stream is also idle between its kernels.

With --by cause only streams count, from their first operation to their last. Idle time is divided into: the
host launches late; the host waits for a device; the stream waits for another one, for a copy or for other
ranks; the next operation follows the one before; start-up; other. The parts add up to the idle time. A step
has the gaps before the operations that it launches. The longest gaps follow, each with the call in which
the thread that launches the next operation was for most of it.")]
pub struct IdleArgs {
    /// Regions that count as waiting, separated by commas, e.g. 'MPI_Recv,MPI_Wait*'
    #[arg(long, value_name = "REGION,…", value_delimiter = ',')]
    pub idle: Vec<String>,

    /// One row for each rank or location
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Per::Rank)]
    pub per: Per,

    /// Divide the idle time of each accelerator stream by its causes
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["idle", "per"])]
    pub by: Option<IdleBy>,

    #[command(flatten)]
    pub step: StepArgs,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

/// What idle time is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IdleBy {
    /// Its cause
    Cause,
}

impl Question for IdleArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        let session = Session::open(common)?;
        match self.by {
            Some(IdleBy::Cause) => run_by_cause(&session, self),
            None if self.step.asked() != StepsAsked::default() => {
                bail!("--step and --step-range need --by cause")
            }
            None => run(&session, self),
        }
    }
}

fn run_by_cause(session: &Session<'_>, args: &IdleArgs) -> anyhow::Result<Outcome> {
    if args.plot.plot_file.is_some() {
        bail!("there is no picture of idle time by cause: leave out --plot");
    }
    let definitions = session.definitions();
    let asked = args.step.asked();
    let answer = session.answer(|trace, options| trace.idle_by_cause(N_GAPS, &asked, options))?;
    session.reply(
        &answer,
        |output| IdleCausesAnswer::new(output, definitions),
        |output| idle_table(&output.streams, definitions),
        |output, page| {
            write_causes(session, &idle_table(&output.streams, definitions), args, page);
            write_gaps(&gaps_table(&output.gaps, definitions), page);
        },
    )
}

/// Gaps that are listed, and those of them on the page.
const N_GAPS: usize = 20;
const N_GAPS_SHOWN: usize = 8;

fn write_gaps(table: &Table, page: &mut Page) {
    let n_shown = table.n_rows().min(N_GAPS_SHOWN);
    if n_shown == 0 {
        return;
    }
    page.gap();
    page.text(
        0,
        "The longest gaps, and where the thread that launches next was for most of each:",
        Paint::Plain,
    );
    let shown = table.picked(&first(n_shown));
    let column = |name: &str, title: &str| GridColumn::of(&shown, name, title);
    let paths = shown.values::<Vec<Arc<str>>>("call_path").iter();
    let innermost = paths.map(|path| path.last().map_or_else(String::new, ToString::to_string));
    let grid = Grid::default()
        .with(column("rank", "rank"))
        .with(column("stream", "stream"))
        .with(column("start_ns", "at").optional(2))
        .with(column("idle_ns", "idle"))
        .with(column("cause", "cause"))
        .with(column("cause_ns", "of it").optional(1))
        .with(GridColumn::text("host in", innermost).painted(Paint::Name).shortened())
        .with(column("host_share", "of the gap"))
        .with(column("next", "then").naming().optional(3));
    page.grid(0, &grid);
}

fn write_causes(session: &Session<'_>, table: &Table, args: &IdleArgs, page: &mut Page) {
    title(session, page);
    let n_rows = table.n_rows();
    if n_rows == 0 {
        page.text(0, "no operation of an accelerator in the selection", Paint::Plain);
        return;
    }
    let n_shown = args.top.n_shown(n_rows);
    let shown = table.picked(&first(n_shown));
    let column = |name: &str, title: &str| GridColumn::of(&shown, name, title);
    let (idle, span) = (shown.values::<u64>("idle_ns"), shown.values::<u64>("span_ns"));
    let share = |(&ns, &of): (&u64, &u64)| units::percent((of != 0).then(|| ns as f64 / of as f64));
    let grid = Grid::default()
        .with(column("rank", "rank"))
        .with(column("stream", "stream"))
        .with(column("span_ns", "span").optional(1))
        .with(column("busy_ns", "busy"))
        .with(column("idle_ns", "idle"))
        .with(GridColumn::numbers("share", idle.iter().zip(span).map(share)));
    let grid = IdleCause::ALL.iter().fold(grid, |grid, cause| {
        let name = format!("{}_ns", cause.as_str());
        let occurs = table.values::<u64>(&name).iter().any(|&ns| 0 < ns);
        grid.with_some(occurs.then(|| column(&name, cause.in_words())))
    });
    rows(page, &grid, n_shown, n_rows);
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
            let near = regions_near(definitions, pattern);
            bail!("no region matches {pattern:?}{near}; ouzel profile lists the regions of the trace");
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
