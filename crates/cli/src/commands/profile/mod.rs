//! `ouzel profile`: time in each region or call path.

pub mod metrics;
mod page;
mod severities;

use crate::args::{Common, OutputFormat, Per, Scope};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::found::{Either, Found};
use crate::profile_session::ProfileSession;
use crate::rows;
use crate::session::{Session, outcome};
use clap::{Args, ValueEnum};
use ouzel::analyses::{By, Per as PerWhat};
use ouzel::model::Table;
use ouzel::{Answer, ProfileQuery};
use ouzel_answers::{ProfileAnswer, ProfileRows};

pub const COMMAND: Command = Command::about_a_run::<ProfileArgs>(
    "profile",
    &[Need::Calls.always(), Need::Messages.with("--messages"), Need::Counters.with("--metric")],
);

/// Time in each region or call path
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel profile scorep-run/
  ouzel profile scorep-run/ --call-paths --top 50
  ouzel profile scorep-run/ --per rank --region 'MPI_*' --format csv -o mpi.csv
  ouzel profile scorep-run/ --metric 'PAPI_*'
  ouzel profile scorep-run/ --messages --per rank --region 'MPI_*'
  ouzel profile scorep-run/ --metric bytes_sent --call-paths
  ouzel profile profile.cubex --metric visits --call-paths --scope inclusive

Columns:
  visits      how often the region was entered
  inclusive   time from enter to leave, summed over visits; of recursive calls, only the outermost
  exclusive   inclusive time minus the time in regions called from there
  share       exclusive time as a fraction of the exclusive time of all rows
  min, max    time from enter to leave of the shortest and the longest visit
  sends, bytes_sent, receives, bytes_received, collectives, collective_bytes_…   with --messages
  PAPI_…      exclusive value of a counter requested with --metric
Times are summed over all locations unless --per says otherwise. With --region, the time in all other
regions goes to [filtered], so totals do not change; call paths keep the names of callers.

For a profile (CUBE, HPCToolkit without a trace), each metric is a table: total, mean, minimum and maximum
over locations, and where the maximum is; ouzel info lists the metrics. A directory with both a trace and a
profile is read as a trace, unless --metric names a metric that only the profile has. Metrics that are counted
for every trace are shown the same way: time, visits, bytes_sent, messages_received, … (docs/method.md).")]
pub struct ProfileArgs {
    /// One row for each rank or location instead of sums over all
    #[arg(long, value_enum, value_name = "WHAT")]
    pub per: Option<Per>,

    /// One row for each call path instead of each region
    #[arg(long)]
    pub call_paths: bool,

    /// Add what was sent and received in messages and collective operations
    #[arg(long)]
    pub messages: bool,
    /// Add the values of metrics that match this pattern, e.g. 'PAPI_*' (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub metric: Vec<String>,

    /// For a profile: values without or with those of callees
    #[arg(long, value_enum, default_value_t = Scope::Exclusive, value_name = "SCOPE")]
    pub scope: Scope,

    /// Number of table rows to show (0: all) [default: 30; other formats contain all rows]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,

    /// Column to sort by, largest first; names ascending
    #[arg(long, value_enum, default_value_t = SortBy::Exclusive, value_name = "COLUMN")]
    pub sort: SortBy,
}

impl Question for ProfileArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(common, self)
    }
}

/// The column that a profile is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SortBy {
    Exclusive,
    Inclusive,
    Visits,
    Min,
    Max,
    Name,
}

fn run(common: &Common, args: &ProfileArgs) -> anyhow::Result<Outcome> {
    let mut found = Found::new(common);
    let session = match found.either()? {
        Either::Trace(session) => session,
        Either::Profile(session) => return severities::run(&session, args),
    };
    let definitions = session.definitions();
    let chosen = match metrics::chosen(definitions, &args.metric) {
        Ok(chosen) => chosen,
        Err(error) => {
            return severities::run(&with_metrics(&session, found, args, error)?, args);
        }
    };
    let by = if args.call_paths { By::CallPath } else { By::Region };
    let per = match args.per {
        None => PerWhat::Total,
        Some(Per::Rank) => PerWhat::Rank,
        Some(Per::Location) => PerWhat::Location,
    };
    let query = ProfileQuery { by, per, messages: args.messages, counters: &chosen };
    let Answer { output: table, coverage, run_range, notices } =
        session.answer(|trace, options| trace.profile_table(&query, options))?;
    let table = sorted(table, args.sort);
    let span = run_range.map(|range| range.end.since(range.start));
    let span_ns = span.map(|ticks| definitions.clock.ns_from_ticks(ticks));
    match common.format {
        OutputFormat::Table | OutputFormat::Html => {
            session.write_page(&page::lines(&session, args, &chosen, &table, span_ns))?;
        }
        OutputFormat::Json => {
            let rows = ProfileRows::new(table, by, per);
            let data = ProfileAnswer::new(&rows, span_ns);
            session.write_json(coverage, &notices, data)?;
        }
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&table)?,
    }
    session.tell(&notices);
    Ok(outcome(&notices))
}

/// A profile with metrics that are not counters of the trace: the one beside it, else the one that is made from it.
///
/// # Errors
/// If neither has them: `error`, and the metrics of the profile beside the trace.
fn with_metrics<'a>(
    session: &Session<'a>,
    mut found: Found<'a>,
    args: &ProfileArgs,
    error: anyhow::Error,
) -> anyhow::Result<ProfileSession<'a>> {
    let beside = found.profile().map(|profile| (severities::chosen(&profile, &args.metric), profile));
    let beside = match beside {
        Ok((Ok(_), profile)) => return ProfileSession::of(session.common, profile),
        Ok((Err(in_profile), _)) => Some(in_profile),
        Err(_) => None,
    };
    if severities::are_counted(&args.metric) {
        return ProfileSession::make(session);
    }
    match beside {
        Some(in_profile) => Err(anyhow::anyhow!("{error}; beside the trace, {in_profile}")),
        None => Err(error),
    }
}

fn sorted(table: Table, by: SortBy) -> Table {
    let column = match by {
        // This is the order of the analysis.
        SortBy::Exclusive => return table,
        SortBy::Inclusive => "inclusive_ns",
        SortBy::Visits => "visits",
        SortBy::Min => "min_ns",
        SortBy::Max => "max_ns",
        SortBy::Name => "region",
    };
    rows::sorted(&table, column)
}
