//! What the words that commands share mean: [`shared`] has the words, [`Common`] the consistent values that commands
//! get. Each command's file has its own words.

mod shared;
pub mod time_range;

use crate::output::Outputs;
use ouzel::model::Filter;
use ouzel_export::CsvText;
use ouzel_files::output::Existing;
use std::num::NonZeroUsize;
use std::path::PathBuf;

pub use shared::{
    ColorWhen, DEFAULT_TOP, LowCommon, MetricArgs, OutputFormat, Per, PeriodArgs, PlotArgs, RuleArgs, Scope,
    StepArgs, TimeBinArgs, TopArgs, Traffic, TrafficArgs,
};

/// What every command takes.
#[derive(Debug, Clone)]
pub struct Common {
    /// The name of the command.
    pub command: &'static str,
    /// The trace.
    pub path: PathBuf,
    /// How to answer.
    pub format: OutputFormat,
    /// What becomes of text in CSV.
    pub csv_text: CsvText,
    /// Where to write.
    pub outputs: Outputs,
    /// What becomes of files that are there already.
    pub existing: Existing,
    /// What to look at.
    pub filter: Filter,
    /// Whether clocks are corrected first.
    pub repair_clocks: bool,
    /// Nanoseconds between samples, if the user says so, see [`PeriodArgs`].
    pub period_ns: Option<u64>,
    /// Number of threads.
    pub jobs: NonZeroUsize,
    /// Bytes of memory that the process may take.
    pub memory_limit: Option<u64>,
    /// Whether pages are coloured.
    pub page_colour: bool,
    /// Whether notices on standard error are coloured.
    pub notice_colour: bool,
    /// Columns of a page.
    pub width: usize,
    /// Whether a progress bar may be drawn.
    pub progress: bool,
    /// Whether to say nothing on standard error but errors.
    pub quiet: bool,
}

impl Common {
    /// The same with samples taken so often.
    #[must_use]
    pub fn sampled(&self, period: &PeriodArgs) -> Self {
        Common { period_ns: period.ns, ..self.clone() }
    }
}
