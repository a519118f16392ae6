//! Efficiencies of one or several runs.

use crate::scores::{ScoreRow, Scores};
use crate::{Marks, Picture};
use ouzel_efficiency::{Efficiencies, Metric};

/// What POP calls acceptable from here on.
pub const ACCEPTABLE: f64 = 0.8;

/// The table of efficiencies: one column for each run, the metrics below what they are part of.
pub fn efficiencies(output: &Efficiencies, of: &str) -> Picture {
    let heading = |(i, (name, run)): (usize, &(std::sync::Arc<str>, ouzel_efficiency::TraceEfficiency))| {
        let n_threads = run.run.n_threads;
        let size = match n_threads {
            0 => "not known".to_owned(),
            n => ouzel_model::units::counted(n, "thread", "threads"),
        };
        [short_name(i, name), size]
    };
    let metrics = output.metrics();
    // Without a global efficiency above it, the parallel efficiency is at the left.
    let least = metrics.iter().map(|metric| metric.depth()).min().unwrap_or(0);
    let row = |&metric: &Metric| ScoreRow {
        name: metric.in_words().to_owned(),
        depth: u32::try_from(metric.depth().saturating_sub(least)).unwrap_or(0),
        values: (0..output.runs.len()).map(|run| output.value(run, metric).ok()).collect(),
    };
    let scores = Scores {
        columns: output.runs.iter().enumerate().map(heading).collect(),
        rows: metrics.iter().map(row).collect(),
        mark: ACCEPTABLE,
    };
    let of = match output.runs.len() {
        0 | 1 => of.to_owned(),
        n => format!("{of} and {}", ouzel_model::units::counted(n as u64 - 1, "other run", "other runs")),
    };
    Picture::new("Efficiencies", &of, Marks::Scores(scores.bounded()))
}

/// The last part of a path.
fn short_name(run: usize, name: &str) -> String {
    let last = std::path::Path::new(name).file_name().and_then(|name| name.to_str());
    last.map_or_else(|| format!("run {}", run + 1), str::to_owned)
}
