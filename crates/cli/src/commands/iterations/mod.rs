//! `ouzel iterations`: the loops of the program and their iterations.

pub mod page;

use crate::args::{Common, PeriodArgs, RuleArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use clap::Args;
use data::Data;
pub use ouzel::diagnose::iterations as data;

pub const COMMAND: Command = Command::about_a_run::<IterationsArgs>("iterations", &[Need::Calls.always()]);

/// The loops of the program: how often, how long, and which iterations stand out
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel iterations scorep-run/
  ouzel iterations scorep-run/ --top 20               the twenty longest iterations of each loop
  ouzel iterations scorep-run/ --format csv -o iterations.csv

Loops are those that the trace marks, and those found as repeating calls. The bars show the durations of the
iterations in order of time, for one rank of each cluster of ranks. Iterations that are alike are of one kind.
Where the ranks with most to do change a few times in the run, each iteration has the number of its epoch.")]
pub struct IterationsArgs {
    /// Number of the longest iterations to show for each loop (0: all)
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub period: PeriodArgs,
}

impl Question for IterationsArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(common, self)
    }
}

fn run(common: &Common, args: &IterationsArgs) -> anyhow::Result<Outcome> {
    let semantics = ouzel::rules::semantics(args.rules.file())?;
    let common = common.sampled(&args.period);
    let session = Session::open(&common)?;
    let answer = session.answer(|trace, options| trace.iterations(&semantics, options))?;
    session.reply(
        &answer,
        |data| data,
        Data::table,
        |data, page| page.lines.extend(page::lines(&session, data, args.top)),
    )
}
