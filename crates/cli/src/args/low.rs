//! The words on the command line and their help. The module above checks how they go together.

use super::causes::{self, CausesArgs};
use super::correlate::{self, CorrelateArgs};
use super::operations::LowOperation;
use clap::{Args, Parser, Subcommand, ValueEnum};
use ouzel::model::{Predicate, RankSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "ouzel",
    version,
    about = "Finds where parallel programs lose time, from the trace you already have",
    after_help = "\
First steps:
  ouzel report scorep-run/            one page: where the time goes, and what to look at next
  ouzel info scorep-run/              what is in the trace, and what is missing
  ouzel profile scorep-run/ --top 20  the regions that take most time

Name a trace by its directory, its anchor file or the anchor's stem.
-o and --plot replace existing files only with --force, and never replace inputs.
Exit codes: 0 complete, 1 failed, 2 answered from incomplete data, 64 wrong usage.",
    disable_help_subcommand = true
)]
pub struct LowArgs {
    #[command(subcommand)]
    pub command: LowCommand,
}

#[derive(Debug, Subcommand)]
pub enum LowCommand {
    #[command(flatten)]
    Ask(Box<LowAsk>),
    /// Third-party crates in this program, and their licenses
    #[command(after_help = "\
Examples:
  ouzel licenses                  name, version and license of each
  ouzel licenses zlib-rs          the texts of one
  ouzel licenses --texts          all texts")]
    Licenses {
        #[command(flatten)]
        args: LicensesArgs,
    },
}

/// A question about a trace.
#[derive(Debug, Subcommand)]
pub enum LowAsk {
    /// One page: what costs time, why, and what could be recovered
    #[command(after_help = "\
Examples:
  ouzel report scorep-run/
  ouzel report scorep-run/ -o report.html      the same with pictures, for a browser
  ouzel report scorep-run/ --time 10s..20s     only this part of the run
  ouzel report scorep-run/ --rules rules.toml  with your own words on which regions wait
  ouzel report scorep-run/ --format json

The page begins with the findings, largest gain first: what costs time, on which ranks and where, the
evidence, and what is usually done. Then it shows how efficient the run is, which segments lose time, which
ranks behave alike, which loops there are, and how far to trust it all.")]
    Report {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: ReportArgs,
    },
    /// Where time is lost between one synchronisation and the next, in order of time
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
    Segments {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: SegmentsArgs,
    },
    /// Which ranks behave alike, and what sets the others apart
    #[command(after_help = "\
Examples:
  ouzel clusters scorep-run/
  ouzel clusters scorep-run/ --time 10s..20s
  ouzel clusters scorep-run/ --format json | jq -r '.data.clusters[] | [.id, .size, .ranks.ranges] | @tsv'

Ranks are alike if they make similar calls in the same order and spend similar times in them. Main threads,
other threads and accelerator streams are compared among themselves. Each cluster is named by its first
rank. It differs from the largest cluster by the difference of mean exclusive times, call path by call path.")]
    Clusters {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: ClustersArgs,
    },
    /// The loops of the program: how often, how long, and which iterations stand out
    #[command(after_help = "\
Examples:
  ouzel iterations scorep-run/
  ouzel iterations scorep-run/ --top 20               the twenty longest iterations of each loop
  ouzel iterations scorep-run/ --format csv -o iterations.csv

Loops are those that the trace marks, and those found as repeating calls. The bars show the durations of the
iterations in order of time, for one rank of each cluster of ranks. Iterations that are alike are of one kind.")]
    Iterations {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: IterationsArgs,
    },
    /// What is in the trace: ranks, events, span, metrics, and what is missing
    #[command(after_help = "\
Examples:
  ouzel info scorep-run/traces.otf2
  ouzel info scorep-run/ --format json | jq .data.n_events
  ouzel info scorep-run/ --format csv          one line for each location

Metric sources and accelerators do not count as processes. The span is the time from the first to the last
event of all locations that run code. Every event is read, so that damage is found and reported.")]
    Info {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: InfoArgs,
    },
    /// Every record of the files, as text or JSON lines
    #[command(after_help = "\
Examples:
  ouzel print scorep-run/ | head -50
  ouzel print scorep-run/ --ranks 3 --time 1s..1.1s
  ouzel print scorep-run/ --region 'MPI_*' --merged     what the ranks did in MPI, in order of time
  ouzel print scorep-run/ --definitions --local         regions, communicators; id mapping, clock offsets
  ouzel print scorep-run/ --raw --offsets               what the files hold, and where
  ouzel print scorep-run/ --format json | jq -c 'select(.record == \"MpiSend\")'

Events are printed unless you ask for other records. Each line has the location, the time in ticks of the
trace's clock, the seconds since the trace start, the record and its fields. \"main\" <3> is a reference to
definition 3 of that name; ranks are those in the communicator.
Events are listed by location, or in order of time with --merged.
With --region, the enters and leaves of matching regions are printed, and what is recorded directly in them.
--ranks, --location, --time and --region select events; definitions are never filtered.
With --format json, each line is one object, without an envelope; see docs/print.md.
If a file is damaged, the records before the damage are printed; standard error says what was lost.")]
    Print {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: PrintArgs,
    },
    /// Time in each region or call path
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
regions goes to [filtered], so totals do not change.

For a profile (CUBE, HPCToolkit without a trace), each metric is a table: total, mean, minimum and maximum
over locations, and where the maximum is; ouzel info lists the metrics. A directory with both a trace and a
profile is read as a trace, unless --metric names a metric that only the profile has. Metrics that are counted
for every trace are shown the same way: time, visits, bytes_sent, messages_received, … (docs/method.md).")]
    Profile {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: ProfileArgs,
    },
    /// From a profile: metrics and call paths that vary over the machine's topology like a given one
    #[command(after_help = correlate::HELP)]
    Correlate {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: Box<CorrelateArgs>,
    },
    /// From a profile: whether there are bottlenecks, where, and why
    #[command(after_help = causes::HELP)]
    Causes {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: Box<CausesArgs>,
    },
    #[command(flatten)]
    Operation(LowOperation),
    /// Write the trace's events in another format
    #[command(after_help = "\
Examples:
  ouzel convert scorep-run/ events.parquet --to parquet     the table of events alone
  ouzel convert scorep-run/ out/ --to csv                   events, locations, regions and metrics
  ouzel convert scorep-run/ part/ --to otf2 --ranks 0-7 --time 10s..20s
  ouzel convert profile.cubex values.parquet --to parquet   of a profile: a row for each value
  ouzel convert scorep-run/ run.cubex --to cube --ranks 0-7

The table of events has one row for each event, ordered by location, then by time:
  time_ns, rank, location, kind                 when, where, what
  region, depth                                 the region entered or left, else the innermost open one
  partner, communicator, tag                    for messages; partner is a world rank
  bytes_sent, bytes_received                    for messages and collective operations
  collective, root, request                     for collective and non-blocking operations
  metric, metric_value, metric_value_exact      one row for each value; exact if it is a whole number
  parameter, parameter_value                    for calls
  sampled_path, frames_kept, frames_kept_at_most  for samples of the call path
Columns that do not apply are empty.

An OTF2 archive holds the selection, with corrected times and repaired calls, and gives the same answers.
OUT is a directory for traces.otf2, or the anchor file if it ends in .otf2. What is kept: docs/convert.md")]
    Convert {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: ConvertArgs,
    },
}

#[derive(Debug, Args)]
pub struct LicensesArgs {
    /// Show only this crate, with the texts of its licenses
    #[arg(value_name = "CRATE")]
    pub name: Option<String>,

    /// Show the texts of the licenses
    #[arg(long)]
    pub texts: bool,
}

#[derive(Debug, Args)]
pub struct LowCommon {
    /// The trace: its directory, its anchor file or the anchor's stem
    #[arg(value_name = "TRACE")]
    pub path: PathBuf,

    /// Output format [default: from the extension of --output, else table]
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Output")]
    pub format: Option<OutputFormat>,

    /// Write the answer to this file
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Replace existing files; inputs are never replaced
    #[arg(long, help_heading = "Output")]
    pub force: bool,

    /// Write CSV text unchanged, without the ' before what a spreadsheet would run as a formula
    #[arg(long, help_heading = "Output")]
    pub csv_raw: bool,

    /// Only these world ranks, e.g. 0-63,128
    #[arg(long, value_name = "RANKS", help_heading = "Selection")]
    pub ranks: Option<RankSet>,

    /// Only this range of time since the trace start, e.g. 10s..20s, 500ms.., ..1.5
    #[arg(long, value_name = "RANGE", value_parser = super::time_range::parse, allow_hyphen_values = true,
        help_heading = "Selection")]
    pub time: Option<(u64, u64)>,

    /// Only regions that match this pattern, e.g. 'MPI_*' (may be repeated)
    #[arg(long, value_name = "PATTERN", help_heading = "Selection")]
    pub region: Vec<String>,

    /// Only calls that satisfy this, e.g. 'name like "MPI_*" and rank < 4'; see docs/filter.md
    #[arg(long = "where", value_name = "EXPR", help_heading = "Selection")]
    pub predicate: Option<Predicate>,

    /// With --time, cut listed calls to the range; sums always count only the time inside
    #[arg(long, help_heading = "Selection")]
    pub trim: bool,

    /// Correct clocks so that no message is received before it is sent; takes an extra pass
    #[arg(long, help_heading = "Running")]
    pub repair_clocks: bool,

    /// Number of threads [default: SLURM_CPUS_PER_TASK, else all cores]
    #[arg(short, long, value_name = "N", help_heading = "Running")]
    pub jobs: Option<NonZeroUsize>,

    /// Fail before using more memory than this, e.g. 500M or 2G [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = ouzel_files::memory::parse_bytes, help_heading = "Running")]
    pub memory_limit: Option<u64>,

    /// When to use colours; NO_COLOR is honoured
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto, value_name = "WHEN", help_heading = "Output")]
    pub color: ColorWhen,

    /// Draw no progress bar
    #[arg(long, help_heading = "Running")]
    pub no_progress: bool,

    /// Write only errors to standard error
    #[arg(short, long, help_heading = "Running")]
    pub quiet: bool,
}

/// How a command answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// A page for people
    Table,
    /// An envelope with the data, see docs/json.md
    Json,
    /// Comma-separated values with a header
    Csv,
    /// A Parquet file; needs --output
    Parquet,
    /// A page with pictures for a browser, in one file; report only
    Html,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// The user's own rules about what regions mean.
#[derive(Debug, Args)]
pub struct RuleArgs {
    /// Read rules from this TOML file: which regions compute, wait or synchronise; see docs/rules.md
    #[arg(long = "rules", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

impl RuleArgs {
    /// The file with the rules.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub rules: RuleArgs,
}

#[derive(Debug, Args)]
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
}

#[derive(Debug, Args)]
pub struct ClustersArgs {
    /// Number of differences to show for each cluster (0: all)
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    #[command(flatten)]
    pub rules: RuleArgs,
}

#[derive(Debug, Args)]
pub struct IterationsArgs {
    /// Number of the longest iterations to show for each loop (0: all)
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    #[command(flatten)]
    pub rules: RuleArgs,
}

#[derive(Debug, Args)]
pub struct InfoArgs {}

#[derive(Debug, Args)]
pub struct PrintArgs {
    /// Show the file offset of each record and its number in the file
    #[arg(long)]
    pub offsets: bool,

    /// Show times and ids of events as in the file, before clock correction and id mapping
    #[arg(long)]
    pub raw: bool,

    /// Merge the locations by time; at equal times, order by location
    #[arg(long)]
    pub merged: bool,

    /// Print the events; the default unless you ask for other records
    #[arg(long, help_heading = "Records")]
    pub events: bool,

    /// Print the global definitions
    #[arg(long, help_heading = "Records")]
    pub definitions: bool,

    /// Print the local definitions: id mapping and clock offsets of each location
    #[arg(long, help_heading = "Records")]
    pub local: bool,

    /// Print the markers
    #[arg(long, help_heading = "Records")]
    pub markers: bool,

    /// Print all of these
    #[arg(long, help_heading = "Records")]
    pub all: bool,

    /// Only this location, by its id in the trace (may be repeated)
    #[arg(long, value_name = "ID", help_heading = "Selection")]
    pub location: Vec<u64>,
}

#[derive(Debug, Args)]
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

/// Which value of a call path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// Without its callees
    Exclusive,
    /// With its callees
    Inclusive,
}

impl Scope {
    /// The scope as profiles name it.
    pub fn scope(self) -> ouzel::model::Scope {
        match self {
            Scope::Exclusive => ouzel::model::Scope::Exclusive,
            Scope::Inclusive => ouzel::model::Scope::Inclusive,
        }
    }
}

/// What each row is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Per {
    /// Each rank
    Rank,
    /// Each location: thread, stream
    Location,
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

#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// Where to write: a file if it ends in the format's name, else a directory
    #[arg(value_name = "OUT")]
    pub out: PathBuf,

    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Target,
}

/// A format that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// An OTF2 archive
    Otf2,
    /// Tables as comma-separated values
    Csv,
    /// Tables as Parquet
    Parquet,
    /// JSON for Perfetto and chrome://tracing
    Chrome,
    /// A CUBE profile (.cubex): of a profile, a copy; of a trace, everything counted in it
    Cube,
}
