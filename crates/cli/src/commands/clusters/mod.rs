//! `ouzel clusters`: which ranks behave alike.

mod page;

use crate::args::{Common, PeriodArgs, RuleArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use clap::Args;
pub use ouzel::diagnose::clusters as data;

pub const COMMAND: Command = Command::about_a_run::<ClustersArgs>("clusters", &[Need::Ranks.always()]);

/// Which ranks behave alike, and what sets the others apart
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel clusters scorep-run/
  ouzel clusters scorep-run/ --time 10s..20s
  ouzel clusters scorep-run/ --format json | jq -r '.data.clusters[] | [.id, .size, .ranks.ranges] | @tsv'

Ranks are alike if they make similar calls in the same order and spend similar times in them. Main threads,
other threads and accelerator streams are compared among themselves. Each cluster is named by its first
rank. It differs from the largest cluster by the difference of mean exclusive times, call path by call path.
Times from samples are exact to the sampling period, so smaller differences don't set ranks apart.")]
pub struct ClustersArgs {
    /// Number of differences to show for each cluster (0: all)
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub period: PeriodArgs,
}

impl Question for ClustersArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(common, self)
    }
}

fn run(common: &Common, args: &ClustersArgs) -> anyhow::Result<Outcome> {
    let common = common.sampled(&args.period);
    let semantics = ouzel::rules::semantics(args.rules.file())?;
    let session = Session::open(&common)?;
    let definitions = session.definitions();
    let answer = session.answer(|trace, options| trace.clusters(&semantics, options))?;
    session.reply(
        &answer,
        |data| data,
        |data| data.table(definitions),
        |data, page| page::write(page, &session, data, args.top),
    )
}
