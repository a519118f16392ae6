//! `ouzel kernels`: what accelerators run.

use super::{first, rows, title};
use crate::args::{Common, StepArgs, TopArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use clap::{Args, ValueEnum};
use ouzel::waits::accelerators::{IdleCause, KernelsBy, KernelsOutput, KernelsPer, KernelsTable, StepsAsked};
use ouzel_answers::KernelsAnswer;

pub const COMMAND: Command = Command::about_a_run::<KernelsArgs>("kernels", &[Need::Streams.always()]);

/// What accelerators run: kernels, communication and copies, and how long launches take
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel kernels report.sqlite
  ouzel kernels trace.json.gz --by operator        which operator of PyTorch launches the most
  ouzel kernels trace.json.gz --by scope           which layer: NVTX ranges, Python modules, annotations
  ouzel kernels trace.json.gz --per step           which step takes longer than the others, and why
  ouzel kernels trace.json.gz --step 3             only what step 3 launches
  ouzel kernels report.sqlite --step-range 'epoch*' --per step
  ouzel kernels trace.json.gz --format json | jq '.data.copies'

Times are those of the operations on the device; operations of several streams that run at once count each.
The page also shows time by type, copies by direction, the longest queue of each stream and launch delays:
from the end of a launch until its operation begins. CSV and Parquet have the first table.

An operation belongs to the step in which it is launched; one whose launch is unknown, to that in
which it begins.
Steps have the number that PyTorch gives them, that at the end of the range's name, or count from 0.")]
pub struct KernelsArgs {
    /// One row for each kernel, operator or scope that launches
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = ByWhat::Kernel)]
    pub by: ByWhat,

    /// One row for each step and kernel, operator or scope
    #[arg(long, value_enum, value_name = "WHAT")]
    pub per: Option<PerStep>,

    #[command(flatten)]
    pub step: StepArgs,

    #[command(flatten)]
    pub top: TopArgs,
}

/// What operations are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ByWhat {
    /// Each kernel
    #[default]
    Kernel,
    /// The innermost operator or function that launches
    Operator,
    /// The innermost range or Python function around the launch
    Scope,
}

impl From<ByWhat> for KernelsBy {
    fn from(by: ByWhat) -> KernelsBy {
        match by {
            ByWhat::Kernel => KernelsBy::Kernel,
            ByWhat::Operator => KernelsBy::Operator,
            ByWhat::Scope => KernelsBy::Scope,
        }
    }
}

/// What rows are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PerStep {
    /// Each of one step
    Step,
}

impl Question for KernelsArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &KernelsArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let by = args.by.into();
    let per = if args.per.is_some() { KernelsPer::Step } else { KernelsPer::Run };
    let asked = StepsAsked { per_step: per == KernelsPer::Step, ..args.step.asked() };
    let answer = session.answer(|trace, options| trace.accelerators(&asked, options))?;
    let answer = answer.map(|output| output.kernels(by, per, definitions));
    session.reply(
        &answer,
        |output| KernelsAnswer::new(output, definitions),
        |output| output.table(KernelsTable::Rows, definitions),
        |output, page| write_page(session, output, args, page),
    )
}

fn write_page(session: &Session<'_>, output: &KernelsOutput, args: &KernelsArgs, page: &mut Page) {
    title(session, page);
    let definitions = session.definitions();
    let table = output.table(KernelsTable::Rows, definitions);
    let n_rows = table.n_rows();
    if n_rows == 0 {
        page.text(0, "no operation of an accelerator in the selection", Paint::Plain);
        return;
    }
    let n_shown = args.top.n_shown(n_rows);
    let shown = table.picked(&first(n_shown));
    let column = |name: &str, title: &str| GridColumn::of(&shown, name, title);
    let ns = |name: &str| shown.values::<f64>(name).iter().map(|&ns| units::time(ns.round() as u64));
    let by = output.by.as_str();
    let grid = Grid::default()
        .with_some((output.per == KernelsPer::Step).then(|| column("step", "step")))
        .with(column(by, by).naming())
        .with(column("type", "type").optional(5))
        .with(column("total_ns", "total"))
        .with(column("share", "share"))
        .with(column("launches", "launches"))
        .with(GridColumn::numbers("mean", ns("mean_ns")))
        .with(GridColumn::numbers("median", ns("median_ns")).optional(3))
        .with(column("min_ns", "min").optional(2))
        .with(column("max_ns", "max").optional(2))
        .with(GridColumn::numbers("deviation", ns("std_ns")).optional(1));
    rows(page, &grid, n_shown, n_rows);
    write_steps(output, definitions, page);
    let types = output.table(KernelsTable::Types, definitions);
    let of = |name: &str| GridColumn::of(&types, name, name.trim_end_matches("_ns"));
    rows(page, &Grid::default().with(of("type")).with(of("total_ns")).with(of("share")), 0, 0);
    write_copies(output, definitions, page);
    write_queues(output, definitions, page);
    write_communication(output, definitions, page);
    let short = output.short;
    if 0 < short.n {
        let what = units::counted(short.n, "kernel runs", "kernels run");
        page.text(
            0,
            &format!(
                "{what} shorter than the call that launches: {} of work, {} of launching",
                units::time(short.total_ns),
                units::time(short.launch_ns)
            ),
            Paint::Dim,
        );
    }
}

/// Causes on the page; JSON has all.
const STEP_CAUSES: [IdleCause; 3] = [IdleCause::HostLate, IdleCause::HostWaits, IdleCause::Partner];

fn write_steps(output: &KernelsOutput, definitions: &ouzel::model::Definitions, page: &mut Page) {
    let table = output.table(KernelsTable::Steps, definitions);
    let n_rows = table.n_rows();
    if n_rows == 0 {
        return;
    }
    let n_shown = n_rows.min(MOST_STEPS);
    let longest_first = |row: &usize| (output.steps[*row].outlier.is_none(), *row);
    let mut places: Vec<usize> = (0..n_rows).collect();
    places.sort_by_key(longest_first);
    places.truncate(n_shown);
    places.sort_unstable();
    let shown = table.picked(&places);
    let column = |name: &str, title: &str| GridColumn::of(&shown, name, title);
    let why = places.iter().map(|&place| match output.steps[place].outlier {
        None => String::new(),
        Some(outlier) => {
            let longer = format!("{} longer than the median", units::time(outlier.excess_ns));
            match outlier.reason {
                None => longer,
                Some((reason, ns)) => format!("{longer}: {} ({})", reason.in_words(), units::time(ns)),
            }
        }
    });
    let grid = Grid::default()
        .with(column("step", "step"))
        .with(column("length_ns", "length"))
        .with(column("launches", "launches"))
        .with(column("device_ns", "on devices"))
        .with(column("idle_ns", "streams idle"));
    let grid = STEP_CAUSES.iter().fold(grid, |grid, cause| {
        let name = format!("{}_ns", cause.as_str());
        let occurs = table.values::<u64>(&name).iter().any(|&ns| 0 < ns);
        grid.with_some(occurs.then(|| column(&name, cause.in_words()).optional(2)))
    });
    let grid = grid.with(GridColumn::text("", why));
    rows(page, &grid, n_shown, n_rows);
}

/// Steps on the page: those that take longer than the others before all.
const MOST_STEPS: usize = 20;

fn write_copies(output: &KernelsOutput, definitions: &ouzel::model::Definitions, page: &mut Page) {
    let table = output.table(KernelsTable::Copies, definitions);
    if table.n_rows() == 0 {
        return;
    }
    let rate = |name: &str| {
        let rate = |rate: &Option<f64>| rate.map_or_else(String::new, |rate| format!("{rate:.2} GB/s"));
        table.values::<Option<f64>>(name).iter().map(rate).collect::<Vec<_>>()
    };
    let bytes = table.values::<u64>("bytes").iter().map(|&bytes| units::bytes(bytes));
    let grid = Grid::default()
        .with(GridColumn::of(&table, "direction", "copies"))
        .with(GridColumn::of(&table, "n", "number"))
        .with(GridColumn::numbers("bytes", bytes))
        .with(GridColumn::of(&table, "total_ns", "total"))
        .with(GridColumn::numbers("mean", rate("mean_gb_per_s")))
        .with(GridColumn::numbers("best", rate("max_gb_per_s")))
        .with(GridColumn::of(&table, "n_pageable", "pageable").optional(1));
    rows(page, &grid, 0, 0);
}

fn write_communication(output: &KernelsOutput, definitions: &ouzel::model::Definitions, page: &mut Page) {
    let table = output.table(KernelsTable::Communication, definitions);
    if table.n_rows() == 0 {
        return;
    }
    let n_shown = table.n_rows().min(MOST_COLLECTIVES);
    let shown = table.picked(&first(n_shown));
    let bytes = shown.values::<u64>("bytes").iter().map(|&bytes| units::bytes(bytes));
    let rate = |rate: &Option<f64>| rate.map_or_else(String::new, |rate| format!("{rate:.2} GB/s"));
    let rates = shown.values::<Option<f64>>("bus_gb_per_s").iter().map(rate);
    let grid = Grid::default()
        .with(GridColumn::of(&shown, "operation", "collective"))
        .with(GridColumn::of(&shown, "group_size", "members"))
        .with(GridColumn::numbers("size", bytes))
        .with(GridColumn::of(&shown, "n", "number"))
        .with(GridColumn::of(&shown, "total_ns", "total"))
        .with(GridColumn::of(&shown, "waiting_ns", "waiting"))
        .with(GridColumn::of(&shown, "exposed_ns", "exposed"))
        .with(GridColumn::numbers("bus", rates));
    rows(page, &grid, 0, 0);
    let late = output.table(KernelsTable::Stragglers, definitions);
    let grid = Grid::default()
        .with(GridColumn::of(&late, "rank", "rank"))
        .with(GridColumn::of(&late, "n", "collectives"))
        .with(GridColumn::of(&late, "n_last", "last in"))
        .with(GridColumn::of(&late, "late_ns", "late by"));
    rows(page, &grid, 0, 0);
}

/// Rows of collectives on the page; JSON has all.
const MOST_COLLECTIVES: usize = 12;

fn write_queues(output: &KernelsOutput, definitions: &ouzel::model::Definitions, page: &mut Page) {
    let delays = output.table(KernelsTable::LaunchDelays, definitions);
    let mean = delays.values::<f64>("mean_delay_ns").iter().map(|&ns| units::time(ns.round() as u64));
    let grid = Grid::default()
        .with(GridColumn::of(&delays, "rank", "rank"))
        .with(GridColumn::numbers("launch delay, mean", mean))
        .with(GridColumn::of(&delays, "max_delay_ns", "longest"));
    rows(page, &grid, 0, 0);
    let queues = output.table(KernelsTable::Queues, definitions);
    let grid = Grid::default()
        .with(GridColumn::of(&queues, "rank", "rank"))
        .with(GridColumn::of(&queues, "stream", "stream"))
        .with(GridColumn::of(&queues, "max_queue_length", "longest queue"));
    rows(page, &grid, 0, 0);
}
