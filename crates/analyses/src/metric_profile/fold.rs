//! The fold: at each enter and leave, what every counter gained goes to the innermost call.

use super::output::{LocationMetrics, MetricProfileOutput, MetricSummary, PathMetric};
use super::state::{
    Counter, Doubt, Gain, GaugeSummary, LocationPartial, MetricPartial, MetricProfileLocal, MetricSum,
    Treatment,
};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, counter_gain};
use ouzel_model::{
    CallPathId, CallPathTree, EventChunk, EventKind, Level, LocationId, MetricId, MetricValue,
    MetricValueType, Needs, Notice, NoticeCode, Remap,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Accumulated metrics by call path, and a summary of the others.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct MetricProfile;

impl Analysis for MetricProfile {
    type Local = MetricProfileLocal;
    type Partial = MetricPartial;
    type Output = MetricProfileOutput;
    const NAME: &'static str = "metric_profile";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::METRICS | Needs::CALL_PATHS
    }

    fn empty(&self) -> MetricPartial {
        MetricPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> MetricProfileLocal {
        let runs_code = cx.definitions.location(cx.location).kind.runs_code();
        let treatments: Vec<Treatment> = cx
            .definitions
            .metrics
            .iter()
            .map(|metric| match metric.is_counter() && runs_code {
                true => Treatment::Counter { signed: metric.value_type == MetricValueType::I64 },
                false => Treatment::Summary(metric.value_type),
            })
            .collect();
        MetricProfileLocal {
            counter_of: vec![None; treatments.len()],
            treatments,
            ..MetricProfileLocal::default()
        }
    }

    fn fold(&self, local: &mut MetricProfileLocal, chunk: &EventChunk<'_>) {
        fold_rows(chunk.kind, chunk.call_path, chunk.metrics, local);
    }

    fn end(
        &self,
        local: MetricProfileLocal,
        cx: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut MetricPartial,
    ) {
        let MetricProfileLocal { mut counters, summaries, .. } = local;
        counters.sort_unstable_by_key(|counter| counter.metric);
        let mut location = LocationPartial::default();
        for Counter { metric, gains, n_backward, n_entered_before, .. } in counters {
            let gained = gains.into_iter().enumerate().filter(|&(_, exclusive)| exclusive != 0);
            location.gains.extend(gained.map(|(i, exclusive)| Gain {
                metric,
                call_path: CallPathId::from_index(i),
                exclusive,
            }));
            if n_backward != 0 || n_entered_before != 0 {
                location.doubts.push(Doubt { metric, n_backward, n_entered_before });
            }
        }
        location.summaries.extend(summaries);
        into.locations.insert(cx.location, location);
    }

    fn remap(&self, partial: &mut MetricPartial, remap: &Remap) {
        for location in partial.locations.values_mut() {
            for gain in &mut location.gains {
                gain.call_path = remap.path(gain.call_path);
            }
            location.gains.sort_unstable_by_key(|gain| (gain.metric, gain.call_path));
        }
    }

    fn merge(&self, into: &mut MetricPartial, mut from: MetricPartial) {
        into.locations.append(&mut from.locations);
    }

    fn finish(
        &self,
        partial: MetricPartial,
        cx: &FinishCx<'_>,
    ) -> Result<MetricProfileOutput, AnalysisError> {
        let mut locations = Vec::new();
        let mut summaries = Vec::new();
        for (location, LocationPartial { gains, doubts, summaries: seen }) in partial.locations {
            doubts.iter().for_each(|doubt| report(cx, location, doubt));
            let of_metric = |(metric, summary): (MetricId, GaugeSummary)| {
                let value_type = cx.definitions.metrics[metric.index()].value_type;
                summarise(location, metric, value_type, &summary)
            };
            summaries.extend(seen.into_iter().map(of_metric));
            locations.push(LocationMetrics { location, rows: with_inclusive(&gains, cx.call_paths) });
        }
        Ok(MetricProfileOutput { call_paths: cx.call_paths.clone(), locations, summaries })
    }
}

/// Takes the rows in order: values are remembered, enters and leaves give gains to calls.
#[inline(never)]
pub(crate) fn fold_rows(
    kind: &[EventKind],
    call_path: &[CallPathId],
    metrics: &[MetricValue],
    local: &mut MetricProfileLocal,
) {
    let mut values = metrics;
    for (row, (&kind, &path)) in kind.iter().zip(call_path).enumerate() {
        match kind {
            EventKind::Enter => {
                cut(local);
                local.stack.push(path);
                local.n_enters += 1;
            }
            EventKind::Leave => {
                cut(local);
                local.stack.pop();
            }
            EventKind::Metric => {
                let n = values.iter().take_while(|value| value.row as usize <= row).count();
                let (of_row, rest) = values.split_at(n);
                of_row.iter().for_each(|value| take_value(local, value));
                values = rest;
            }
            _ => {}
        }
    }
}

/// Remembers a value.
fn take_value(local: &mut MetricProfileLocal, value: &MetricValue) {
    let (metric, bits) = (value.metric, value.bits);
    let Some(&treatment) = local.treatments.get(metric.index()) else { return };
    match treatment {
        Treatment::Summary(value_type) => {
            let entry = local.summaries.entry(metric);
            let add = |summary: &mut GaugeSummary| summary.add(bits, value_type);
            entry.and_modify(add).or_insert_with(|| GaugeSummary::of(bits, value_type));
        }
        Treatment::Counter { signed } => {
            let counter = *local.counter_of[metric.index()].get_or_insert_with(|| {
                local.counters.push(Counter {
                    metric,
                    signed,
                    current: bits,
                    at_cut: None,
                    gains: Vec::new(),
                    n_backward: 0,
                    n_entered_before: local.n_enters,
                });
                local.counters.len() - 1
            });
            local.counters[counter].current = bits;
            local.is_new = true;
        }
    }
}

/// Gives what the counters gained since the last cut to the innermost open call.
#[inline]
fn cut(local: &mut MetricProfileLocal) {
    if !std::mem::take(&mut local.is_new) {
        return;
    }
    let path = local.stack.last().map(|path| path.index());
    for counter in &mut local.counters {
        let before = counter.at_cut.replace(counter.current);
        let Some(before) = before else { continue };
        let Some(gain) = counter_gain(before, counter.current, counter.signed) else {
            counter.n_backward += 1;
            continue;
        };
        let Some(path) = path else { continue };
        if counter.gains.len() <= path {
            counter.gains.resize((path + 1).next_power_of_two(), 0);
        }
        counter.gains[path] = counter.gains[path].saturating_add(gain);
    }
}

/// Adds to each gain those of the calls below; paths without a gain of their own appear if a call below has one.
fn with_inclusive(gains: &[Gain], call_paths: &CallPathTree) -> Vec<PathMetric> {
    let mut rows: BTreeMap<(MetricId, CallPathId), (u64, u64)> = BTreeMap::new();
    for gain in gains {
        rows.entry((gain.metric, gain.call_path)).or_default().1 += gain.exclusive;
        let mut path = gain.call_path;
        while path != CallPathTree::ROOT {
            let inclusive = &mut rows.entry((gain.metric, path)).or_default().0;
            *inclusive = inclusive.saturating_add(gain.exclusive);
            path = call_paths.parent(path);
        }
    }
    rows.into_iter()
        .map(|((metric, call_path), (inclusive, exclusive))| PathMetric {
            metric,
            call_path,
            inclusive,
            exclusive,
        })
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "a mean is for people; the sum it comes from is exact")]
fn summarise(
    location: LocationId,
    metric: MetricId,
    value_type: MetricValueType,
    summary: &GaugeSummary,
) -> MetricSummary {
    let float = |bits: u64| match value_type {
        MetricValueType::U64 => bits as f64,
        MetricValueType::I64 => bits.cast_signed() as f64,
        MetricValueType::F64 => f64::from_bits(bits),
    };
    let sum = match summary.sum {
        MetricSum::Integer(sum) => sum as f64,
        MetricSum::Float(bits) => f64::from_bits(bits),
    };
    MetricSummary {
        location,
        metric,
        count: summary.count,
        min: float(summary.min_bits),
        max: float(summary.max_bits),
        mean: sum / summary.count as f64,
    }
}

/// Tells what is doubtful about a counter at a location.
pub(crate) fn report(cx: &FinishCx<'_>, location: LocationId, doubt: &Doubt) {
    let name = &cx.definitions.metrics[doubt.metric.index()].name;
    let push = |count: u64, level, what: String| {
        if 0 < count {
            let notice = Notice::new(level, NoticeCode::NotAvailable, what);
            cx.notices.push(notice.times(count).on(location));
        }
    };
    let backward = format!("counter {name:?} decreased; its gain there was taken as zero");
    push(doubt.n_backward, Level::Medium, backward);
    let before =
        format!("a call was entered before the first value of counter {name:?}; its share is missing");
    push(doubt.n_entered_before, Level::Low, before);
}
