//! `ouzel segments`: where time is lost between one synchronisation and the next.

pub mod diagnosis;
pub mod page;

use crate::args::{Common, OutputFormat, PeriodArgs, RuleArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::{Session, outcome};
use anyhow::bail;
use clap::Args;
use ouzel::diagnose::segments::{Detail, Which};

pub const COMMAND: Command = Command::about_a_run::<SegmentsArgs>("segments", &[Need::Ranks.always()]);

/// Where time is lost between one synchronisation and the next, in order of time
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel segments scorep-run/
  ouzel segments scorep-run/ --id 4                   the call paths of segment 4, iteration by iteration
  ouzel segments scorep-run/ --top 3                  only the three that lose most
  ouzel segments scorep-run/ --format json | jq '.data.segments[] | {id, diagnosis, sum_wait_ns}'

A segment is the code between two calls that synchronise all ranks, including the second one. In a loop,
it is one segment over all iterations, and its times are summed over them. Columns:
  imb(S)   time saved in synchronisation S by balancing the work before it: average minus minimum time in S
  Σimb     maximum minus average time, summed over the call paths that vary significantly
  Σwait    average time in calls that wait for one other side, summed over significant call paths
Without waiting there, the run would be shorter by imb(S) + Σwait. All are times per rank.
Σimb is not added: it is the extra work of some ranks that the others wait for.
How each number is computed: docs/method.md")]
pub struct SegmentsArgs {
    /// Show the call paths of this segment
    #[arg(long, value_name = "N")]
    pub id: Option<u32>,

    /// Show only the N segments that lose most (0: all) [default: all]
    #[arg(long, value_name = "N", conflicts_with = "id")]
    pub top: Option<usize>,

    /// Also show segments that lose little, and the start and end of the program
    #[arg(long)]
    pub all: bool,

    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub period: PeriodArgs,
}

impl Question for SegmentsArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&common.sampled(&self.period), self)
    }
}

fn run(common: &Common, args: &SegmentsArgs) -> anyhow::Result<Outcome> {
    let semantics = ouzel::rules::semantics(args.rules.file())?;
    let session = Session::open(common)?;
    let which = if args.all || args.id.is_some() { Which::All } else { Which::Reported };
    let lists_iterations = common.format == OutputFormat::Json || args.id.is_some();
    let detail = if lists_iterations { Detail::Iterations } else { Detail::Sums };
    let report = session.answer(|trace, options| trace.segments(&semantics, (which, detail), options))?;
    let mut data = report.output;
    if let Some(id) = args.id {
        let n = data.n_segments;
        data.segments.retain(|segment| segment.id == id);
        if data.segments.is_empty() {
            bail!(
                "there is no segment {id}: the run has {n}, see ouzel segments {} --all",
                common.path.display()
            );
        }
    }
    match (common.format, args.id, data.segments.first()) {
        (OutputFormat::Json, ..) => {
            session.write_json(report.coverage, &report.notices, &data)?;
        }
        (OutputFormat::Csv | OutputFormat::Parquet, Some(_), Some(segment)) => {
            session.write_table(&segment.paths_table())?;
        }
        (OutputFormat::Csv | OutputFormat::Parquet, ..) => session.write_table(&data.table())?,
        (_, Some(_), Some(segment)) => session.write_page(&page::one(&session, &data, segment))?,
        _ => session.write_page(&page::all(&session, &data, args.top.unwrap_or(0)))?,
    }
    session.tell(&report.notices);
    Ok(outcome(&report.notices))
}
