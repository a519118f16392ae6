//! How often locations that hold nothing but samples were sampled.
//!
//! The period of a location is the median of the intervals between its samples: single samples that are lost, or come
//! early, do not change it. A location that records calls has none, as its calls are exact.

use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{Content, Contents, EventChunk, EventKind, LocationId, Needs, Remap, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Significant bits of an interval that are kept.
const BITS: u32 = 10;

/// The sampling period of each location.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct SamplePeriods;

/// One location while it is folded.
#[derive(Debug, Default)]
pub struct PeriodsLocal {
    has_calls: bool,
    last: Option<Ticks>,
    /// Number of intervals by length, rounded down to [`BITS`] significant bits.
    intervals: BTreeMap<u64, u64>,
}

/// By location, its period and its number of samples.
pub type SamplePeriodsOutput = BTreeMap<LocationId, SamplePeriod>;

/// How a location was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplePeriod {
    /// Median interval between samples; less than one in 512 too small.
    pub period: Ticks,
    /// Number of samples.
    pub n_samples: u64,
}

impl Analysis for SamplePeriods {
    type Local = PeriodsLocal;
    type Partial = SamplePeriodsOutput;
    type Output = SamplePeriodsOutput;
    const NAME: &'static str = "sample_periods";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::SAMPLES
    }

    fn speaks_of(&self) -> Contents {
        Contents::of(&[Content::Samples])
    }

    fn empty(&self) -> SamplePeriodsOutput {
        BTreeMap::new()
    }

    fn begin(&self, _: &LocationCx<'_>) -> PeriodsLocal {
        PeriodsLocal::default()
    }

    fn fold(&self, local: &mut PeriodsLocal, chunk: &EventChunk<'_>) {
        if !local.has_calls {
            local.has_calls = chunk.kind.contains(&EventKind::Enter);
        }
        for sample in chunk.samples {
            let at = chunk.time[sample.row as usize];
            if let Some(last) = local.last.replace(at) {
                let interval = at.since(last).0;
                let drop = (u64::BITS - interval.leading_zeros()).saturating_sub(BITS);
                *local.intervals.entry(interval >> drop << drop).or_default() += 1;
            }
        }
    }

    fn end(
        &self,
        local: PeriodsLocal,
        cx: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut SamplePeriodsOutput,
    ) {
        let n: u64 = local.intervals.values().sum();
        let mut seen = 0;
        let median = local.intervals.iter().find(|(_, count)| {
            seen += *count;
            n <= 2 * seen
        });
        if let (Some((&period, _)), false) = (median, local.has_calls) {
            into.insert(cx.location, SamplePeriod { period: Ticks(period), n_samples: n + 1 });
        }
    }

    fn remap(&self, _: &mut SamplePeriodsOutput, _: &Remap) {}

    fn merge(&self, into: &mut SamplePeriodsOutput, from: SamplePeriodsOutput) {
        into.extend(from);
    }

    fn finish(
        &self,
        partial: SamplePeriodsOutput,
        _: &FinishCx<'_>,
    ) -> Result<SamplePeriodsOutput, AnalysisError> {
        Ok(partial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_testkit::{ToyTrace, laws, run};

    #[test]
    fn laws_hold() {
        laws::check(|| SamplePeriods, |output| format!("{output:?}"));
    }

    #[test]
    fn the_median_ignores_lost_samples_and_calls_have_no_period() {
        let trace = ToyTrace::new(
            "0: sample main @10, sample main @20, sample main @30, sample main @60, sample main @71
             1: enter main @0, sample main @5, sample main @6, leave @9
             2: sample main @5",
        );
        let output = run(&trace, SamplePeriods);
        let found: Vec<_> = output.iter().map(|(at, it)| (at.0, it.period.0, it.n_samples)).collect();
        assert_eq!(found, [(0, 10, 5)]);
    }
}
