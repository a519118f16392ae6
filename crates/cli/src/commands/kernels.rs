//! `ouzel kernels`: what accelerators run.

mod page;

use crate::args::{Common, StepArgs, TopArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use clap::{Args, ValueEnum};
use ouzel::waits::accelerators::{KernelsBy, KernelsPer, KernelsTable, StepsAsked};
use ouzel_answers::KernelsAnswer;
use page::write_page;
use std::num::NonZeroU16;

pub const COMMAND: Command = Command::about_a_run::<KernelsArgs>("kernels", &[Need::Streams.always()]);

/// What accelerators run: kernels, communication and copies, and how long launches take
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel kernels report.sqlite
  ouzel kernels trace.json.gz --by operator        which operator of PyTorch launches the most
  ouzel kernels trace.json.gz --by scope           which layer: NVTX ranges, Python modules, annotations
  ouzel kernels trace.json.gz --over-time 50       queues, launch delays and copies in 50 bins of time
  ouzel kernels trace.json.gz --per step           which step takes longer than the others, and why
  ouzel kernels trace.json.gz --step 3             only what step 3 launches
  ouzel kernels report.sqlite --step-range 'epoch*' --per step
  ouzel kernels trace.json.gz --format json | jq '.data.copies'

Times are those of the operations on the device; operations of several streams that run at once count each.
The page also shows time by type, copies by direction, the longest queue of each stream and launch delays:
from the end of a launch until its operation begins. Where the trace has them: how kernels are launched
(blocks, threads, registers, shared memory), the occupancy that the profiler estimates, and memory of
PyTorch's allocator by device and operator. CSV and Parquet have the first table, or that of --over-time.

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

    /// Queue, launch delay and busy time of each stream, and copies, in so many bins of time
    #[arg(long, value_name = "N")]
    pub over_time: Option<NonZeroU16>,

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
    let answer =
        session.answer(|trace, options| trace.kernels((by, per), args.over_time, &asked, options))?;
    let table = if args.over_time.is_some() { KernelsTable::OverTime } else { KernelsTable::Rows };
    session.reply(
        &answer,
        |output| KernelsAnswer::new(output, definitions),
        |output| output.table(table, definitions),
        |output, page| write_page(session, output, &args.top, page),
    )
}
