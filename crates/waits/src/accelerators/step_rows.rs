//! How long steps take, what they run, and which take longer than the others, with the reason.
//!
//! The length of a step is that of its longest call. From four steps on, one is an outlier if it is longer than the median
//! by more than 5 % and by more than three times the scaled median absolute deviation, `1.4826 × median |length − median|`.
//! The reason of an outlier is what differs most from the median over the steps: the number of operations, at their mean
//! time; the time of operations beyond that; or a part of idle time. Streams that run at once each count, so the
//! differences need not add up to what the step takes longer.

use super::idle::IdleCause;
use super::sums::StepSums;
use ouzel_model::{Definitions, Ticks};
use std::collections::BTreeMap;

/// Steps from which on outliers are told.
const LEAST_STEPS: usize = 4;

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    /// Its number.
    pub step: u64,
    /// When its first call begins, in ticks of the trace.
    pub start: Ticks,
    /// Of its longest call.
    pub length_ns: u64,
    /// Calls that are this step: as a rule one for each rank.
    pub n_calls: u64,
    /// Its operations.
    pub launches: u64,
    /// Their time.
    pub device_ns: u64,
    /// The gaps of streams that they end.
    pub idle_ns: u64,
    /// The parts of it, as in [`IdleCause::ALL`].
    pub causes_ns: [u64; 8],
    /// Operations that belong to it by the time when they begin, as their launch is not known.
    pub n_by_time: u64,
    /// What makes it longer than the others.
    pub outlier: Option<StepOutlier>,
}

/// A step that is longer than the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepOutlier {
    /// How much longer than the median.
    pub excess_ns: u64,
    /// What differs most from the median, and by how much; `None` if nothing is more.
    pub reason: Option<(StepReason, u64)>,
}

/// Why a step takes longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepReason {
    /// More operations are launched.
    MoreLaunches,
    /// Operations run longer.
    LongerKernels,
    /// Streams are idle for longer.
    Idle(IdleCause),
}

impl StepReason {
    /// The term in snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            StepReason::MoreLaunches => "more_launches",
            StepReason::LongerKernels => "longer_kernels",
            StepReason::Idle(cause) => cause.as_str(),
        }
    }

    /// The reason in words.
    pub fn in_words(self) -> &'static str {
        match self {
            StepReason::MoreLaunches => "more launches",
            StepReason::LongerKernels => "longer kernels",
            StepReason::Idle(cause) => cause.in_words(),
        }
    }
}

/// All steps in the order of their numbers; only that which is selected, if one is.
pub(super) fn step_rows(
    steps: &BTreeMap<u64, StepSums>,
    only_step: Option<u64>,
    definitions: &Definitions,
) -> Vec<StepRow> {
    let clock = &definitions.clock;
    let row = |(&step, sums): (&u64, &StepSums)| {
        let causes_ns = clock.ns_of_parts(sums.causes);
        StepRow {
            step,
            start: sums.span.start,
            length_ns: clock.ns_from_ticks(sums.span.length),
            n_calls: sums.span.n_calls,
            launches: sums.launches,
            device_ns: sums.device_ns,
            idle_ns: causes_ns.iter().sum(),
            causes_ns,
            n_by_time: sums.span.n_by_time,
            outlier: None,
        }
    };
    let mut rows: Vec<StepRow> = steps.iter().map(row).collect();
    add_outliers(&mut rows);
    rows.retain(|row| only_step.is_none_or(|step| row.step == step));
    rows
}

/// The median of some numbers, of an even number of them the mean of the two in the middle; 0 of none.
fn median(values: impl Iterator<Item = u64>) -> f64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    match values.len() {
        0 => 0.0,
        n => f64::midpoint(values[(n - 1) / 2] as f64, values[n / 2] as f64),
    }
}

fn add_outliers(rows: &mut [StepRow]) {
    const SCALE: f64 = 1.4826;
    if rows.len() < LEAST_STEPS {
        return;
    }
    let usual = median(rows.iter().map(|row| row.length_ns));
    let spread = SCALE * median(rows.iter().map(|row| (row.length_ns as f64 - usual).abs().round() as u64));
    let threshold = usual + (3.0 * spread).max(0.05 * usual);
    let usual_of = |value: &dyn Fn(&StepRow) -> u64| median(rows.iter().map(value));
    let launches = usual_of(&|row| row.launches);
    let device = usual_of(&|row| row.device_ns);
    let causes = IdleCause::ALL.map(|cause| usual_of(&|row| row.causes_ns[cause as usize]));
    for row in rows.iter_mut().filter(|row| threshold < row.length_ns as f64) {
        let mean = if 0.0 < launches { device / launches } else { 0.0 };
        let more = (row.launches as f64 - launches) * mean;
        let longer = row.device_ns as f64 - device - more;
        let idle = IdleCause::ALL.map(|cause| {
            (StepReason::Idle(cause), row.causes_ns[cause as usize] as f64 - causes[cause as usize])
        });
        let mut reasons = vec![(StepReason::MoreLaunches, more), (StepReason::LongerKernels, longer)];
        reasons.extend(idle);
        let most = reasons.into_iter().rev().max_by(|a, b| a.1.total_cmp(&b.1));
        let reason = most.map(|(reason, ns)| (reason, ns.round() as u64)).filter(|(_, ns)| 0 < *ns);
        let excess_ns = (row.length_ns as f64 - usual).round() as u64;
        row.outlier = Some(StepOutlier { excess_ns, reason });
    }
}
