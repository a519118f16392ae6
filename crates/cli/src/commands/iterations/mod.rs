//! `ouzel iterations`: the loops of the program and their iterations.

pub mod page;

use crate::args::{Common, OutputFormat, PeriodArgs, RuleArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::{Session, outcome, taken};
use clap::Args;
use data::Data;
use ouzel::context_tree::ContextTrees;
pub use ouzel::diagnose::iterations as data;
use ouzel::engine::AnalysisSet;

pub const COMMAND: Command = Command::about_a_run::<IterationsArgs>("iterations", &[Need::Calls.always()]);

/// The loops of the program: how often, how long, and which iterations stand out
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel iterations scorep-run/
  ouzel iterations scorep-run/ --top 20               the twenty longest iterations of each loop
  ouzel iterations scorep-run/ --format csv -o iterations.csv

Loops are those that the trace marks, and those found as repeating calls. The bars show the durations of the
iterations in order of time, for one rank of each cluster of ranks. Iterations that are alike are of one kind.")]
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
    let session = Session::open(common)?;
    let definitions = session.definitions();
    let mut set = AnalysisSet::default();
    let key = set.add(ContextTrees {
        semantics: semantics.clone(),
        period: args.period.ns.map(|ns| definitions.clock.ticks_from_ns(ns)),
    });
    let mut report = session.run(&set)?;
    let trees = taken(report.outputs.take(&key), "iterations")?;
    let run = report.run_range.map(|range| range.end.since(range.start)).unwrap_or_default();
    let data = Data::new(&trees, definitions, definitions.clock.ns_from_ticks(run));
    match common.format {
        OutputFormat::Json => session.write_json(report.coverage, &report.notices, &data)?,
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&data.table())?,
        OutputFormat::Table | OutputFormat::Html => {
            session.write_page(&page::lines(&session, &data, args.top))?;
        }
    }
    session.tell(&report.notices);
    Ok(outcome(&report.notices))
}
