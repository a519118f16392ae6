//! Words on the command line that all commands or several of them share.

use clap::{Args, ValueEnum};
use ouzel::model::{Predicate, RankSet};
use ouzel::waits::accelerators::StepsAsked;
use std::num::{NonZeroU16, NonZeroUsize};
use std::path::{Path, PathBuf};

/// Rows that a page shows unless the user says how many.
pub const DEFAULT_TOP: usize = 30;

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

/// How often samples were taken.
#[derive(Debug, Args)]
pub struct PeriodArgs {
    /// Time between samples, e.g. 1ms, where the trace says it wrong; calls of twice as much may be noise
    #[arg(long = "period", value_name = "TIME", value_parser = super::time_range::parse_duration)]
    pub ns: Option<u64>,
}

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

/// Steps of a run that uses accelerators.
#[derive(Debug, Args)]
pub struct StepArgs {
    /// Only what is launched in the step of this number
    #[arg(long, value_name = "N")]
    pub step: Option<u64>,

    /// Range around each step, with * and ?; by default ProfilerStep of PyTorch
    #[arg(long, value_name = "NAME")]
    pub step_range: Option<String>,
}

impl StepArgs {
    /// What is asked for.
    pub fn asked(&self) -> StepsAsked<'_> {
        StepsAsked { marks: self.step_range.as_deref(), step: self.step, per_step: false }
    }
}

/// Number of bins of time.
#[derive(Debug, Args)]
pub struct TimeBinArgs {
    /// Number of bins of equal width from the first event to the last
    #[arg(long, value_name = "N", default_value = "50")]
    pub bins: NonZeroU16,
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

/// A counter in place of time.
#[derive(Debug, Args)]
pub struct MetricArgs {
    /// Compare the gain of this counter instead of time, e.g. PAPI_TOT_INS
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
}

/// A picture beside the answer.
#[derive(Debug, Args)]
pub struct PlotArgs {
    /// Draw a picture to this file, .svg or .png
    #[arg(long = "plot", value_name = "FILE", help_heading = "Output")]
    pub plot_file: Option<PathBuf>,
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
