//! How often locations were sampled whose calls are made of samples, alone or beside recorded calls.
//!
//! The period of a location is the median of the intervals between its samples: single samples that are lost, or come
//! early, do not change it. A location that records all of its calls has none, as they are exact.

use ouzel_engine::{
    Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, SampleIntervals, not_running_region,
};
use ouzel_model::{Content, Contents, EventChunk, EventKind, LocationId, Needs, RegionId, Remap, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The sampling period of each location.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct SamplePeriods;

/// One location while it is folded.
#[derive(Debug, Default)]
pub struct PeriodsLocal {
    has_calls: bool,
    /// The regions of recorded calls, if samples complete them.
    recorded: Option<BTreeSet<RegionId>>,
    last: Option<Ticks>,
    intervals: SampleIntervals,
}

/// How the locations were sampled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplePeriodsOutput {
    /// Those that were sampled.
    pub locations: BTreeMap<LocationId, SamplePeriod>,
    /// The regions of calls that were recorded where samples complete them, and that of threads that do not run, which
    /// is the clock less their processor time: their times are exact.
    pub recorded: BTreeSet<RegionId>,
}

impl SamplePeriodsOutput {
    /// The period of a location that holds nothing but samples; 0 of any other.
    pub(super) fn of_samples_alone(&self, location: LocationId) -> Ticks {
        let found = self.locations.get(&location).filter(|it| !it.beside_calls);
        found.map(|it| it.period).unwrap_or_default()
    }

    /// The same with another period of every location that was sampled, if there is one.
    #[must_use]
    pub fn with_period(mut self, period: Option<Ticks>) -> Self {
        for location in self.locations.values_mut() {
            location.period = period.unwrap_or(location.period);
        }
        self
    }
}

/// How a location was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplePeriod {
    /// Median interval between samples; less than one in 512 too small.
    pub period: Ticks,
    /// Number of samples.
    pub n_samples: u64,
    /// Whether calls were recorded beside the samples, and both complete each other.
    pub beside_calls: bool,
}

impl Analysis for SamplePeriods {
    type Local = PeriodsLocal;
    type Partial = SamplePeriodsOutput;
    type Output = SamplePeriodsOutput;
    const NAME: &'static str = "sample_periods";
    const PARTIAL_VERSION: u32 = 2;
    const AS_RECORDED: bool = true;

    fn needs(&self) -> Needs {
        Needs::SAMPLES
    }

    fn speaks_of(&self) -> Contents {
        Contents::of(&[Content::Samples])
    }

    fn empty(&self) -> SamplePeriodsOutput {
        SamplePeriodsOutput::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> PeriodsLocal {
        PeriodsLocal { recorded: cx.completes_calls.then(BTreeSet::new), ..PeriodsLocal::default() }
    }

    fn fold(&self, local: &mut PeriodsLocal, chunk: &EventChunk<'_>) {
        if !local.has_calls {
            local.has_calls = chunk.kind.contains(&EventKind::Enter);
        }
        if let Some(recorded) = &mut local.recorded {
            let rows = chunk.kind.iter().zip(chunk.region).filter(|(kind, _)| **kind == EventKind::Enter);
            recorded.extend(rows.map(|(_, region)| *region));
        }
        for sample in chunk.samples {
            let at = chunk.time[sample.row as usize];
            if let Some(last) = local.last.replace(at) {
                local.intervals.add(at.since(last));
            }
        }
    }

    fn end(
        &self,
        local: PeriodsLocal,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut SamplePeriodsOutput,
    ) {
        let is_exact = local.has_calls && local.recorded.is_none();
        let beside_calls = summary.sampling_period.filter(|_| cx.completes_calls);
        if let (Some(period), false) = (beside_calls.or(local.intervals.median()), is_exact) {
            let beside_calls = local.has_calls;
            let found = SamplePeriod { period, n_samples: local.intervals.n() + 1, beside_calls };
            into.locations.insert(cx.location, found);
            into.recorded.extend(local.recorded.unwrap_or_default());
        }
    }

    fn remap(&self, _: &mut SamplePeriodsOutput, _: &Remap) {}

    fn merge(&self, into: &mut SamplePeriodsOutput, from: SamplePeriodsOutput) {
        into.locations.extend(from.locations);
        into.recorded.extend(from.recorded);
    }

    fn finish(
        &self,
        mut partial: SamplePeriodsOutput,
        cx: &FinishCx<'_>,
    ) -> Result<SamplePeriodsOutput, AnalysisError> {
        if !partial.recorded.is_empty() {
            partial.recorded.extend(not_running_region(cx.definitions));
        }
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
        let found: Vec<_> =
            output.locations.iter().map(|(at, it)| (at.0, it.period.0, it.n_samples)).collect();
        assert_eq!(found, [(0, 10, 5)]);
    }
}
