//! The words of the operations: commands that answer one question with one table.

use super::low::{LowCommon, RuleArgs};
use clap::{Args, Subcommand, ValueEnum};
use std::num::{NonZeroU16, NonZeroUsize};
use std::path::{Path, PathBuf};

/// An operation with its own words.
#[derive(Debug)]
pub enum Operation {
    Timeline(TimelineArgs),
    TimeProfile(TimeProfileArgs),
    CommMatrix(CommMatrixArgs),
    Messages(MessagesArgs),
    CommByProcess(CommByProcessArgs),
    CommOverTime(CommOverTimeArgs),
    Breakdown(BreakdownArgs),
    Imbalance(ImbalanceArgs),
    Idle(IdleArgs),
    CriticalPath(CriticalPathArgs),
    Lateness(LatenessArgs),
    Patterns(PatternsArgs),
    Compare(CompareArgs),
    Calls(CallsArgs),
    CallTree(CallTreeArgs),
}

#[derive(Debug, Subcommand)]
pub enum LowOperation {
    /// A picture of what every rank does over time
    #[command(after_help = "\
Examples:
  ouzel timeline scorep-run/ --plot timeline.svg
  ouzel timeline scorep-run/ --messages --critical-path --time 1s..1.2s --plot wait.png
  ouzel timeline scorep-run/ --depth --ranks 3 --plot calls.svg     the calls of rank 3 as flames

The picture samples the run on a grid of instants as fine as itself; calls between two instants are not seen,
so zoom in with --time. Beyond 1,024 locations, only every n-th is drawn. Arrows lead from the start of the
sending call to the end of the receiving one; for them, the selection's matched messages are held in memory.")]
    Timeline {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: TimelineArgs,
    },
    /// Where time was spent over the run: each region in time bins
    #[command(after_help = "\
Examples:
  ouzel time-profile scorep-run/
  ouzel time-profile scorep-run/ --bins 400 --plot phases.svg
  ouzel time-profile scorep-run/ --time 10s..20s --call-paths --format csv -o bins.csv

A bin holds the exclusive time of each region, summed over locations. The rest of bin width × number of
locations is idle: the location was in no recorded region, had not begun, or had ended.")]
    TimeProfile {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: TimeProfileArgs,
    },
    /// How much each rank sends to each other rank
    #[command(after_help = "\
Examples:
  ouzel comm-matrix scorep-run/
  ouzel comm-matrix scorep-run/ --unit messages --plot matrix.svg --log
  ouzel comm-matrix scorep-run/ --collectives --format json | jq '.data.pairs[0]'
  ouzel comm-matrix scorep-run/ --dense -o matrix.csv      the whole matrix, up to 4,096 ranks

Files have one row for each pair of ranks that communicated; in the picture, rows are senders and columns are
receivers. Numbers are those of the recorded sends. Collective operations have no recorded pairs:
--collectives distributes the bytes that each rank contributed over the ranks that the operation sends to.
Remote memory access (RMA) and copies between devices are not included.")]
    CommMatrix {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: CommMatrixArgs,
    },
    /// How many messages there are of each size
    #[command(after_help = "\
Examples:
  ouzel messages scorep-run/
  ouzel messages scorep-run/ --bins 20 --plot sizes.svg
  ouzel messages scorep-run/ --log             bins by powers of two

Sends of point-to-point messages are counted. Bins have equal width from the smallest to the largest size;
the last one includes the largest.")]
    Messages {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: MessagesArgs,
    },
    /// What each rank sends and receives
    #[command(after_help = "\
Examples:
  ouzel comm-by-process scorep-run/
  ouzel comm-by-process scorep-run/ --unit messages --plot traffic.png

Sent data is counted at sends and received data at receives, so a lost message shows as a difference.")]
    CommByProcess {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: CommByProcessArgs,
    },
    /// How much is sent and received over time
    #[command(after_help = "\
Examples:
  ouzel comm-over-time scorep-run/
  ouzel comm-over-time scorep-run/ --bins 500 --unit messages --plot bursts.svg

A message counts as sent at its send (for a non-blocking send, when it was posted), and as received when its
receive was complete.")]
    CommOverTime {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: CommOverTimeArgs,
    },
    /// How much of the communication is hidden behind computation
    #[command(after_help = "\
Examples:
  ouzel breakdown scorep-run/
  ouzel breakdown scorep-run/ --plot breakdown.svg
  ouzel breakdown run/ --host-code computes     host code computes beside a busy device, too

A process computes while any of its locations computes, and communicates while any communicates; a
non-blocking operation communicates from its post to its completion. The four parts add up to the time from
the first event of the process to its last. Time that cannot be classified is shown as part of other.")]
    Breakdown {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: BreakdownArgs,
    },
    /// How unevenly each region's time is spread over the ranks
    #[command(after_help = "\
Examples:
  ouzel imbalance scorep-run/
  ouzel imbalance scorep-run/ --call-paths --top 50
  ouzel imbalance scorep-run/ --plot imbalance.svg

imbalance = max / mean of the exclusive time over all ranks; a rank that never runs the region counts as 0.
max − mean is what the slowest rank would save if the time were spread evenly; rows are sorted by it.")]
    Imbalance {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: ImbalanceArgs,
    },
    /// How long each rank waits
    #[command(after_help = "\
Examples:
  ouzel idle scorep-run/
  ouzel idle scorep-run/ --idle 'MPI_Recv,MPI_Wait*' --plot idle.svg
  ouzel idle scorep-run/ --per location

Without --idle these regions count: Idle, MPI_Recv, MPI_Wait*, MPI_Probe, MPI_Barrier and the blocking
collective operations. Nested calls count once. An accelerator stream is also idle between its kernels.")]
    Idle {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: IdleArgs,
    },
    /// The chain of work and waiting that determines the run time
    #[command(after_help = "\
Examples:
  ouzel critical-path scorep-run/
  ouzel critical-path scorep-run/ --format csv -o path.csv         the segments, in order of time
  ouzel critical-path scorep-run/ --plot path.svg
  ouzel critical-path scorep-run/ --format json | jq '.data.by_region[0]'

The path is traced back from the end of the run: what ran last, which rank it waited for, and so on to the
start. It consists of local segments (working, or in MPI without waiting for another rank), messages that a
rank waited for, and collectives after their last arrival. Time saved elsewhere doesn't make the run shorter.")]
    CriticalPath {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: CriticalPathArgs,
    },
    /// How much later each operation ends than the first of its peers
    #[command(after_help = "\
Examples:
  ouzel lateness scorep-run/
  ouzel lateness scorep-run/ --format csv -o operations.csv        each operation with its logical step

Sends, receives and collective operations get logical steps, from 0: one after the previous operation on the
same rank, and for a receive also after its send. Lateness is the time since the first operation of the step
ended, on any rank; differential lateness is what an operation added to that of those directly before it.")]
    Lateness {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: LatenessArgs,
    },
    /// Which sequences of calls repeat, and when
    #[command(after_help = "\
Examples:
  ouzel patterns scorep-run/
  ouzel patterns scorep-run/ --start timestep
  ouzel patterns scorep-run/ --rank 3 --iterations 20 --format json | jq '.data.occurrences[0]'

The exclusive times of one rank's calls, in order of entry, are compared with themselves (matrix profile);
the sequence that repeats best is the pattern. Without --start, the region that begins it is detected. For
loops of all ranks, found from the structure of calls, see ouzel iterations.")]
    Patterns {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: PatternsArgs,
    },
    /// Several runs side by side: how the program scales, and which regions grow
    #[command(after_help = "\
Examples:
  ouzel compare before/ after/
  ouzel compare p32/ p64/ p128/ --region 'MPI_*'
  ouzel compare p32/ p64/ --format json | jq '.data.runs[] | {path, speed_up, efficiency}'

Regions are compared by name. The reference is the run with the fewest processes (the first of several):
speed-up is its run time / that of the other run; efficiency is speed-up × its processes / the other's.")]
    Compare {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: CompareArgs,
    },
    /// Every call: when, how long, its caller, and what counters gained
    #[command(after_help = "\
Examples:
  ouzel calls scorep-run/ --where 'name like \"MPI_*\" and inclusive > 1ms'
  ouzel calls scorep-run/ --ranks 3 --time 10s..20s          calls that overlap the range, whole
  ouzel calls scorep-run/ --metric 'PAPI_*' --format parquet -o calls.parquet

Calls are listed by location, in the order in which they end. They are numbered in the order in which the
calls of their location begin; parent is the number of the enclosing call that is listed.
Files are written as the trace is read; --format json holds the table in memory.")]
    Calls {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: CallsArgs,
    },
    /// One call-path tree for the whole run, with visits, time and counters
    #[command(after_help = "\
Examples:
  ouzel call-tree scorep-run/
  ouzel call-tree scorep-run/ --metric PAPI_TOT_INS --format csv -o tree.csv
  ouzel call-tree scorep-run/ --format json | jq '.data.nodes[] | select(.parent == null)'

A node is a path of names; values are sums over all locations. A recursive call is a deeper node.")]
    CallTree {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: CallTreeArgs,
    },
}

impl LowOperation {
    /// What every command takes, and the rest.
    pub fn split(self) -> (LowCommon, Operation) {
        match self {
            LowOperation::Timeline { common, args } => (common, Operation::Timeline(args)),
            LowOperation::TimeProfile { common, args } => (common, Operation::TimeProfile(args)),
            LowOperation::CommMatrix { common, args } => (common, Operation::CommMatrix(args)),
            LowOperation::Messages { common, args } => (common, Operation::Messages(args)),
            LowOperation::CommByProcess { common, args } => (common, Operation::CommByProcess(args)),
            LowOperation::CommOverTime { common, args } => (common, Operation::CommOverTime(args)),
            LowOperation::Breakdown { common, args } => (common, Operation::Breakdown(args)),
            LowOperation::Imbalance { common, args } => (common, Operation::Imbalance(args)),
            LowOperation::Idle { common, args } => (common, Operation::Idle(args)),
            LowOperation::CriticalPath { common, args } => (common, Operation::CriticalPath(args)),
            LowOperation::Lateness { common, args } => (common, Operation::Lateness(args)),
            LowOperation::Patterns { common, args } => (common, Operation::Patterns(args)),
            LowOperation::Compare { common, args } => (common, Operation::Compare(args)),
            LowOperation::Calls { common, args } => (common, Operation::Calls(args)),
            LowOperation::CallTree { common, args } => (common, Operation::CallTree(args)),
        }
    }
}

impl Operation {
    /// The word on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Timeline(_) => "timeline",
            Operation::TimeProfile(_) => "time-profile",
            Operation::CommMatrix(_) => "comm-matrix",
            Operation::Messages(_) => "messages",
            Operation::CommByProcess(_) => "comm-by-process",
            Operation::CommOverTime(_) => "comm-over-time",
            Operation::Breakdown(_) => "breakdown",
            Operation::Imbalance(_) => "imbalance",
            Operation::Idle(_) => "idle",
            Operation::CriticalPath(_) => "critical-path",
            Operation::Lateness(_) => "lateness",
            Operation::Patterns(_) => "patterns",
            Operation::Compare(_) => "compare",
            Operation::Calls(_) => "calls",
            Operation::CallTree(_) => "call-tree",
        }
    }
}

/// Rows that a page shows unless the user says how many.
pub const DEFAULT_TOP: usize = 30;

/// How many rows of a page.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Number of table rows to show (0: all); other formats contain all rows
    #[arg(long, value_name = "N", default_value_t = DEFAULT_TOP)]
    pub top: usize,
}

impl TopArgs {
    /// How many of `n_rows` rows are shown.
    pub fn n_shown(&self, n_rows: usize) -> usize {
        if self.top == 0 { n_rows } else { self.top.min(n_rows) }
    }
}

/// Number of bins of time.
#[derive(Debug, Args)]
pub struct TimeBinArgs {
    /// Number of bins of equal width from the first event to the last
    #[arg(long, value_name = "N", default_value = "100")]
    pub bins: NonZeroU16,
}

#[derive(Debug, Args)]
pub struct TimelineArgs {
    /// Draw call depths as rows, for the main thread of the lowest selected rank
    #[arg(long, conflicts_with_all = ["messages", "critical_path"])]
    pub depth: bool,

    /// Draw messages as arrows
    #[arg(long, requires = "plot_file")]
    pub messages: bool,

    /// Draw the critical path over the rows
    #[arg(long, requires = "plot_file")]
    pub critical_path: bool,

    #[command(flatten)]
    pub plot: PlotArgs,
}

#[derive(Debug, Args)]
pub struct TimeProfileArgs {
    #[command(flatten)]
    pub time: TimeBinArgs,

    /// One row for each call path instead of each region
    #[arg(long)]
    pub call_paths: bool,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Traffic {
    Bytes,
    Messages,
}

/// What is counted.
#[derive(Debug, Args)]
pub struct TrafficArgs {
    /// What to count
    #[arg(long, value_enum, default_value_t = Traffic::Bytes, value_name = "UNIT")]
    pub unit: Traffic,
}

#[derive(Debug, Args)]
pub struct CommMatrixArgs {
    #[command(flatten)]
    pub traffic: TrafficArgs,

    /// Add collective operations, spread over the pairs of ranks they connect
    #[arg(long)]
    pub collectives: bool,

    /// Write the whole matrix, not just the pairs that communicated (files; up to 4,096 ranks)
    #[arg(long)]
    pub dense: bool,

    /// Use a logarithmic colour scale in the picture
    #[arg(long, requires = "plot_file")]
    pub log: bool,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

#[derive(Debug, Args)]
pub struct MessagesArgs {
    /// Number of bins of equal width from the smallest to the largest size
    #[arg(long, value_name = "N", default_value = "10", conflicts_with = "log")]
    pub bins: NonZeroU16,

    /// Use bins by powers of two instead
    #[arg(long)]
    pub log: bool,

    #[command(flatten)]
    pub plot: PlotArgs,
}

#[derive(Debug, Args)]
pub struct CommByProcessArgs {
    #[command(flatten)]
    pub traffic: TrafficArgs,

    /// Add collective operations, spread over the pairs of ranks they connect
    #[arg(long)]
    pub collectives: bool,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

#[derive(Debug, Args)]
pub struct CommOverTimeArgs {
    #[command(flatten)]
    pub time: TimeBinArgs,

    #[command(flatten)]
    pub traffic: TrafficArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

/// Whether code on the host counts as computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HostCodeWord {
    /// In processes without accelerator streams
    WithoutStreams,
    /// Always
    Computes,
    /// Never: only kernels compute
    No,
}

#[derive(Debug, Args)]
pub struct BreakdownArgs {
    /// Whether code on the host counts as computation
    #[arg(long, value_enum, default_value_t = HostCodeWord::WithoutStreams, value_name = "WHEN")]
    pub host_code: HostCodeWord,

    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

/// A counter in place of time.
#[derive(Debug, Args)]
pub struct MetricArgs {
    /// Compare the gain of this counter instead of time, e.g. PAPI_TOT_INS
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
}

#[derive(Debug, Args)]
pub struct CallsArgs {
    /// Add the gains of counters that match this pattern, e.g. 'PAPI_*' (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub metric: Vec<String>,

    #[command(flatten)]
    pub top: TopArgs,
}

#[derive(Debug, Args)]
pub struct CallTreeArgs {
    /// Add the gains of counters that match this pattern, e.g. 'PAPI_*' (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub metric: Vec<String>,

    /// Show call paths with at least this many thousandths of the time; other formats contain all
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub min_permille: u32,
}

#[derive(Debug, Args)]
pub struct ImbalanceArgs {
    #[command(flatten)]
    pub metric: MetricArgs,

    /// Number of ranks with the most to name in each row
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top_ranks: usize,

    /// One row for each call path instead of each region
    #[arg(long)]
    pub call_paths: bool,

    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

#[derive(Debug, Args)]
pub struct IdleArgs {
    /// Regions that count as waiting, separated by commas, e.g. 'MPI_Recv,MPI_Wait*'
    #[arg(long, value_name = "REGION,…", value_delimiter = ',')]
    pub idle: Vec<String>,

    /// One row for each rank or location
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = super::low::Per::Rank)]
    pub per: super::low::Per,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

#[derive(Debug, Args)]
pub struct CriticalPathArgs {
    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

#[derive(Debug, Args)]
pub struct LatenessArgs {
    #[command(flatten)]
    pub top: TopArgs,

    /// Also list each operation in JSON; CSV and Parquet always do
    #[arg(long)]
    pub operations: bool,

    #[command(flatten)]
    pub plot: PlotArgs,
}

#[derive(Debug, Args)]
pub struct PatternsArgs {
    /// Look from the first entry of this region to its last leave [default: detected]
    #[arg(long, value_name = "REGION")]
    pub start: Option<String>,

    /// The rank whose calls are compared [default: the lowest selected]
    #[arg(long, value_name = "RANK")]
    pub rank: Option<u32>,

    /// Maximum number of occurrences of the pattern [default: visits of the start region]
    #[arg(long, value_name = "N")]
    pub iterations: Option<NonZeroUsize>,

    /// Number of calls in the pattern, at least 3 [default: calls / iterations]
    #[arg(long, value_name = "N")]
    pub window: Option<NonZeroUsize>,
}

/// A picture beside the answer.
#[derive(Debug, Args)]
pub struct PlotArgs {
    /// Draw a picture to this file, .svg or .png
    #[arg(long = "plot", value_name = "FILE", help_heading = "Output")]
    pub plot_file: Option<PathBuf>,
}

impl Operation {
    /// The file that a picture is asked for in.
    pub fn plot(&self) -> Option<&Path> {
        let plot = match self {
            Operation::Timeline(args) => &args.plot,
            Operation::TimeProfile(args) => &args.plot,
            Operation::CommMatrix(args) => &args.plot,
            Operation::Messages(args) => &args.plot,
            Operation::CommByProcess(args) => &args.plot,
            Operation::CommOverTime(args) => &args.plot,
            Operation::Breakdown(args) => &args.plot,
            Operation::Imbalance(args) => &args.plot,
            Operation::Idle(args) => &args.plot,
            Operation::CriticalPath(args) => &args.plot,
            Operation::Lateness(args) => &args.plot,
            Operation::Compare(args) => &args.plot,
            Operation::Patterns(_) | Operation::Calls(_) | Operation::CallTree(_) => return None,
        };
        plot.plot_file.as_deref()
    }
}

impl Operation {
    /// The traces that it reads besides the one that every command takes.
    pub fn others(&self) -> &[PathBuf] {
        match self {
            Operation::Compare(args) => &args.others,
            _ => &[],
        }
    }

    /// Where it takes rules from.
    pub fn rules(&self) -> Option<&RuleArgs> {
        match self {
            Operation::Breakdown(args) => Some(&args.rules),
            Operation::Imbalance(args) => Some(&args.rules),
            _ => None,
        }
    }
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    #[command(flatten)]
    pub metric: MetricArgs,

    /// The other traces
    #[arg(value_name = "OTHER", required = true)]
    pub others: Vec<PathBuf>,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}
