//! How often samples were taken: HPCToolkit's databases do not say, their trace lines do.
//!
//! The period is the median of the time from a sample to the next one, over samples at
//! which something ran. Of each thread the beginning is looked at, of a few threads.

use super::contexts::{ContextIds, NOTHING};
use super::source::LineFile;
use ouzel_model::{InterruptCounts, InterruptGenerator, Level, Notice, NoticeCode};
use std::sync::Arc;

/// Threads and samples of each that are looked at: some hundred kilobytes at most. Medians of the first 256 samples
/// and of all differ by less than 1 % in every database at hand.
const MAX_LINES: usize = 16;
const MAX_SAMPLES: u64 = 2048;

/// The median time between samples of threads, in nanoseconds; `None` if there are too few.
pub(super) fn median_ns<'l>(threads: impl Iterator<Item = &'l LineFile>) -> Option<u64> {
    let mut intervals = Vec::new();
    for file in threads.filter(|file| 1 < file.line.n_samples).take(MAX_LINES) {
        let Ok(mut lines) = file.open() else { continue };
        let Ok(samples) = lines.read(MAX_SAMPLES) else { continue };
        let mut before = None;
        for sample in samples {
            if let Some(before) = before {
                intervals.push(sample.time_ns.saturating_sub(before));
            }
            before = runs(&file.ids, sample.context).then_some(sample.time_ns);
        }
    }
    intervals.sort_unstable();
    intervals.get(intervals.len() / 2).copied().filter(|&ns| 0 < ns)
}

fn runs(ids: &ContextIds, context: u32) -> bool {
    ids.get(context) != NOTHING
}

/// What interrupts the program, by what was inferred, and the notice that says so.
pub(super) fn generator(period_ns: u64, metric: Option<&str>) -> (InterruptGenerator, Notice) {
    let name = metric.unwrap_or("samples");
    let message = format!(
        "the sampling period is not recorded; the median time between samples is {:.3} ms",
        period_ns as f64 / 1e6
    );
    let generator = InterruptGenerator {
        name: Arc::from(name),
        counts: InterruptCounts::Time,
        period: period_ns,
        base: 10,
        exponent: -9,
    };
    (generator, Notice::new(Level::Low, NoticeCode::InferredPeriod, message))
}
