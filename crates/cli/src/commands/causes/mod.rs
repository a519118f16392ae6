//! `ouzel causes`: are there bottlenecks in a profile, where, and why.

mod page;

use crate::args::{Common, OutputFormat, RuleArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::found::Found;
use clap::{Args, ValueEnum};
use ouzel::causes::Options;
use ouzel::causes::clusters::Clustering;
use ouzel::model::RankSet;

pub const COMMAND: Command = Command::about_a_run::<CausesArgs>("causes", &[Need::Calls.always()]);

/// Bottlenecks in a profile or a trace: where, and why
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel causes profile.cubex
  ouzel causes scorep-run/                      a trace is counted in one pass first
  ouzel causes profile.cubex --exclude 0        without rank 0, which only hands out work
  ouzel causes profile.cubex --tables           with the decision tables
  ouzel causes profile.cubex --format json | jq '.data.internal.causes[]'

External bottlenecks are regions that make processes differ: processes are clustered by their time in each
region, without communication and waiting, and a region is critical if the clusters change without it.
Internal bottlenecks are regions that cost much: share of time × cycles per instruction, in five classes.
The causes are the fewest attributes with data in the profile (instructions, cache misses, bytes, calls, …)
that distinguish the clusters of processes, or the critical regions from the others.
How each number is computed: docs/method.md")]
pub struct CausesArgs {
    /// The metric to use as time [default: CPU time, else time, else seconds, else cycles]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,

    /// Leave out these ranks, e.g. a master that only manages
    #[arg(long, value_name = "RANKS")]
    pub exclude: Option<RankSet>,

    /// How to cluster processes
    #[arg(long, value_enum, default_value_t = ClusteringArg::Ball, value_name = "HOW")]
    pub clustering: ClusteringArg,

    /// Treat communication and waiting like any other region
    #[arg(long)]
    pub with_communication: bool,

    /// Divide cache misses by misses + accesses, as the AutoAnalyzer paper does
    #[arg(long)]
    pub printed_rates: bool,

    /// Show the decision tables
    #[arg(long, help_heading = "Output")]
    pub tables: bool,

    #[command(flatten)]
    pub rules: RuleArgs,
}

impl Question for CausesArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(common, self)
    }
}

/// How processes are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClusteringArg {
    /// Processes within a tenth of the length of one process' vector of times
    Ball,
    /// Chains of near processes, so that a slow drift over the ranks is one cluster
    Dbscan,
}

impl ClusteringArg {
    /// The rule.
    pub fn rule(self) -> Clustering {
        match self {
            ClusteringArg::Ball => Clustering::Ball,
            ClusteringArg::Dbscan => Clustering::Density,
        }
    }
}

fn run(common: &Common, args: &CausesArgs) -> anyhow::Result<Outcome> {
    let semantics = ouzel::rules::semantics(args.rules.file())?;
    let session = Found::new(common).profile_or_made()?;
    let options = Options {
        metric: args.metric.as_deref(),
        exclude: args.exclude.as_ref(),
        clustering: args.clustering.rule(),
        waiting: &[],
        printed_rates: args.printed_rates,
        jobs: common.jobs,
        ..Options::default()
    };
    let semantics = (!args.with_communication).then_some(&semantics);
    let causes = session.profile.causes(semantics, &options)?;
    let notices = session.notices(causes.notices.clone());
    match common.format {
        OutputFormat::Table | OutputFormat::Html => {
            session.write_page(&page::lines(&session, args, &causes))?;
        }
        OutputFormat::Json => session.write_json(session.common.command, &notices, &causes)?,
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&causes.table())?,
    }
    Ok(session.end(&notices))
}
