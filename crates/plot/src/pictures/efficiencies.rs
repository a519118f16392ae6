//! Efficiencies of one or several runs.

use crate::scores::{MAX_COLUMNS, ScoreRow, Scores};
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
    let others = |n: usize| ouzel_model::units::counted(n as u64 - 1, "other run", "other runs");
    let of = match output.runs.len() {
        0 | 1 => of.to_owned(),
        n if n <= MAX_COLUMNS => format!("{of} and {}", others(n)),
        n => format!("{of} and {}; the first {MAX_COLUMNS} runs are drawn", others(n)),
    };
    Picture::new("Efficiencies", &of, Marks::Scores(scores.bounded()))
}

/// The last part of a path.
fn short_name(run: usize, name: &str) -> String {
    let last = std::path::Path::new(name).file_name().and_then(|name| name.to_str());
    last.map_or_else(|| format!("run {}", run + 1), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_efficiency::{Reason, RunEfficiency, TraceEfficiency, Unavailable};
    use ouzel_model::{Clock, Ticks};

    fn unknown_runs(n: usize) -> Efficiencies {
        let clock = Clock { ticks_per_second: 1, offset_ticks: 0, realtime_ns: None, declared_length: None };
        let run = TraceEfficiency {
            clock,
            run: RunEfficiency::unavailable(Unavailable::NothingComplete, Ticks(7)),
            hybrid: None,
            devices: Some((1, Vec::new())),
            parts: Some((ouzel_efficiency::PartKind::Segment, Err(Reason::new("none")))),
        };
        Efficiencies::new((0..n).map(|i| (format!("runs/p{i}").into(), run.clone())).collect(), None)
    }

    #[test]
    fn runs_that_do_not_fit_are_counted() {
        let svg = efficiencies(&unknown_runs(MAX_COLUMNS + 3), "first").svg().expect("it is drawn");
        assert!(svg.contains("first and 10 other runs; the first 8 runs are drawn"), "{svg}");
        assert!(svg.contains("p7") && !svg.contains("p8"), "{svg}");
    }

    #[test]
    fn every_metric_has_a_row_below_what_it_is_a_part_of() {
        let output = unknown_runs(2);
        let svg = efficiencies(&output, "both").svg().expect("it is drawn");
        let place = |metric: Metric| svg.find(metric.in_words()).expect("it has a row");
        for metric in output.metrics() {
            assert!(metric.part_of().is_none_or(|above| place(above) < place(metric)), "{metric:?}");
        }
    }
}
