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
    /// What every rank does over time, as a picture
    #[command(after_help = "\
Examples:
  ouzel timeline scorep-run/ --plot timeline.svg
  ouzel timeline scorep-run/ --messages --critical-path --time 1s..1.2s --plot wait.png
  ouzel timeline scorep-run/ --depth --ranks 3 --plot calls.svg     the calls of rank 3 as flames

Instants lie on a grid as fine as the picture; a call between two instants is not seen, so look closer with
--time. Beyond 1,024 locations every n-th is drawn. Messages lead from the entry of the sending call to the
end of the receiving one; the matched messages of the selection are held in memory for them.")]
    Timeline {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: TimelineArgs,
    },
    /// Where the time went in the course of the run: each region in bins of time
    #[command(after_help = "\
Examples:
  ouzel time-profile scorep-run/
  ouzel time-profile scorep-run/ --bins 400 --plot phases.svg
  ouzel time-profile scorep-run/ --time 10s..20s --call-paths --format csv -o bins.csv

A bin holds the exclusive time of each region, summed over locations. What is left of the bin's width
times the number of locations is idle: there a location was in no recorded region, not yet begun, or over.")]
    TimeProfile {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: TimeProfileArgs,
    },
    /// Who sends how much to whom
    #[command(after_help = "\
Examples:
  ouzel comm-matrix scorep-run/
  ouzel comm-matrix scorep-run/ --unit messages --plot matrix.svg --log
  ouzel comm-matrix scorep-run/ --collectives --format json | jq '.data.pairs[0]'
  ouzel comm-matrix scorep-run/ --dense -o matrix.csv      the whole matrix, up to 4,096 ranks

Files have a row for each pair of ranks that exchanged something; in the picture rows are senders, columns
receivers. Numbers are those of the recorded sends. Collective operations have no recorded pairs:
--collectives spreads the bytes that each rank gave over the ranks that the operation sends to. Memory access
from afar (RMA) and copies between devices are not in it.")]
    CommMatrix {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: CommMatrixArgs,
    },
    /// How many messages there are of which size
    #[command(after_help = "\
Examples:
  ouzel messages scorep-run/
  ouzel messages scorep-run/ --bins 20 --plot sizes.svg
  ouzel messages scorep-run/ --log             bins by powers of two

Counted are the sends of point-to-point messages. Bins are of equal width from the smallest size to the
greatest; the last one holds the greatest, too.")]
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

What was sent is counted at the sends, what was received at the receives: a message that was lost shows as
a difference.")]
    CommByProcess {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: CommByProcessArgs,
    },
    /// When how much is sent and received
    #[command(after_help = "\
Examples:
  ouzel comm-over-time scorep-run/
  ouzel comm-over-time scorep-run/ --bins 500 --unit messages --plot bursts.svg

A message counts at its send, for a non-blocking one when it was posted, and at its receive when that was
complete.")]
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
non-blocking operation from its post to its completion. The four parts sum up to the time from its first
event to its last. What cannot be classified is shown as such, as a part of other.")]
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

imbalance = max / mean of the exclusive time over all ranks; one that never runs the region counts as 0.
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
collective operations. Nested calls count once. An accelerator stream is idle between its kernels, too.")]
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

From the end of the run back: what ran last, which rank it waited for, and so on to the start. The path
consists of local segments (working, or in MPI without waiting for another rank), messages that a rank
waited for, and collectives after their last arrival. Time saved elsewhere doesn't make the run shorter.")]
    CriticalPath {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: CriticalPathArgs,
    },
    /// How long after the first of its peers each operation ends
    #[command(after_help = "\
Examples:
  ouzel lateness scorep-run/
  ouzel lateness scorep-run/ --format csv -o operations.csv        each operation with its logical step

Sends, receives and collective operations get logical steps, from 0: one after the operation before on the
same rank, and a receive also after its send. Lateness is the time after the first that ends in the step,
whichever rank; differential lateness is what an operation added to that of those directly before it.")]
    Lateness {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: LatenessArgs,
    },
    /// Which stretches of calls repeat, and when
    #[command(after_help = "\
Examples:
  ouzel patterns scorep-run/
  ouzel patterns scorep-run/ --start timestep
  ouzel patterns scorep-run/ --rank 3 --iterations 20 --format json | jq '.data.occurrences[0]'

The exclusive times of the calls of one rank, in the order of entry, are compared with themselves (matrix
profile); the stretch that repeats best is the pattern. Without --start the region that it begins with is
found. For loops by the structure of calls, of all ranks, see ouzel iterations.")]
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

Regions are compared by name. The run of the fewest processes is the reference, of several the first:
speed-up is its run time by that of the others, efficiency the same per process.")]
    Compare {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: CompareArgs,
    },
    /// Every call: when, how long, called by which, and what counters gained
    #[command(after_help = "\
Examples:
  ouzel calls scorep-run/ --where 'name like \"MPI_*\" and inclusive > 1ms'
  ouzel calls scorep-run/ --ranks 3 --time 10s..20s          calls that overlap the range, whole
  ouzel calls scorep-run/ --metric 'PAPI_*' --format parquet -o calls.parquet

Locations follow each other, the calls of one come as they end. A call is numbered in the order in which
calls of its location begin; parent is the number of the call around it that is listed, too.
Files are written as the trace is read; --format json holds the table in memory.")]
    Calls {
        #[command(flatten)]
        common: LowCommon,
        #[command(flatten)]
        args: CallsArgs,
    },
    /// One tree of call paths for the whole run, with visits, time and counters
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
    /// Show so many rows of the table (0: all); other formats always hold all
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
    /// Rows are depths of calls, of the main thread of the smallest selected rank
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

    /// Write the whole matrix, not the pairs that exchanged something (files; up to 4,096 ranks)
    #[arg(long)]
    pub dense: bool,

    /// Colours of the picture by ratios instead of differences
    #[arg(long, requires = "plot_file")]
    pub log: bool,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

#[derive(Debug, Args)]
pub struct MessagesArgs {
    /// Number of bins of equal width from the smallest size to the greatest
    #[arg(long, value_name = "N", default_value = "10", conflicts_with = "log")]
    pub bins: NonZeroU16,

    /// Bins by powers of two instead
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
    /// Compare what this counter gained instead of time, e.g. PAPI_TOT_INS
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
}

#[derive(Debug, Args)]
pub struct CallsArgs {
    /// Add what counters with such a name gained, e.g. 'PAPI_*' (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub metric: Vec<String>,

    #[command(flatten)]
    pub top: TopArgs,
}

#[derive(Debug, Args)]
pub struct CallTreeArgs {
    /// Add what counters with such a name gained, e.g. 'PAPI_*' (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub metric: Vec<String>,

    /// Show the call paths with so many thousandths of the time or more; other formats hold all
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub min_permille: u32,
}

#[derive(Debug, Args)]
pub struct ImbalanceArgs {
    #[command(flatten)]
    pub metric: MetricArgs,

    /// How many of the ranks with most are named for each row
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
    /// The regions that mean waiting, separated by commas, e.g. 'MPI_Recv,MPI_Wait*'
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

    /// List each operation in JSON, too; CSV and Parquet always have them
    #[arg(long)]
    pub operations: bool,

    #[command(flatten)]
    pub plot: PlotArgs,
}

#[derive(Debug, Args)]
pub struct PatternsArgs {
    /// Look from the first entry of this region to its last leave [default: found]
    #[arg(long, value_name = "REGION")]
    pub start: Option<String>,

    /// The rank whose calls are compared [default: the smallest selected]
    #[arg(long, value_name = "RANK")]
    pub rank: Option<u32>,

    /// How often the pattern occurs at most [default: visits of the start region]
    #[arg(long, value_name = "N")]
    pub iterations: Option<NonZeroUsize>,

    /// Number of calls in the pattern, at least 3 [default: calls / iterations]
    #[arg(long, value_name = "N")]
    pub window: Option<NonZeroUsize>,
}

/// A picture beside the answer.
#[derive(Debug, Args)]
pub struct PlotArgs {
    /// Draw a picture into this file, .svg or .png
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
