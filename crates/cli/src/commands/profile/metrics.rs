//! The counters and other metrics that were asked for.

use crate::commands::N_NEAR;
use anyhow::bail;
use ouzel::model::{Definitions, Metric, MetricId, did_you_mean, near_names};
use wildmatch::WildMatch;

/// The counters whose names match one of `patterns`.
///
/// # Errors
/// If a pattern matches none; the message lists the counters.
pub fn chosen(definitions: &Definitions, patterns: &[String]) -> anyhow::Result<Vec<MetricId>> {
    matching(definitions, patterns, "counter", Metric::is_counter)
}

/// The metrics of any kind whose names match one of `patterns`; none if there are no patterns.
///
/// # Errors
/// If a pattern matches none; the message lists the metrics.
pub fn of_any_kind(definitions: &Definitions, patterns: &[String]) -> anyhow::Result<Vec<MetricId>> {
    matching(definitions, patterns, "metric", |_| true)
}

fn matching(
    definitions: &Definitions,
    patterns: &[String],
    kind: &str,
    is_meant: fn(&Metric) -> bool,
) -> anyhow::Result<Vec<MetricId>> {
    let meant = || {
        let metrics = definitions.metrics.iter().enumerate().filter(|(_, metric)| is_meant(metric));
        metrics.map(|(i, metric)| (MetricId::from_index(i), &*metric.name))
    };
    let mut chosen = Vec::new();
    for text in patterns {
        let pattern = WildMatch::new(text);
        let before = chosen.len();
        chosen.extend(meant().filter(|(_, name)| pattern.matches(name)).map(|(id, _)| id));
        if before == chosen.len() {
            let names: Vec<&str> = meant().map(|(_, name)| name).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let near = did_you_mean(&near_names(text, names, N_NEAR));
            bail!("no {kind} matches {text:?}{near}; the trace has: {there}");
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// The only counter of a name.
///
/// # Errors
/// If there is none, or several; the message lists the counters.
pub fn one(definitions: &Definitions, name: &str) -> anyhow::Result<MetricId> {
    match chosen(definitions, &[name.to_owned()])?[..] {
        [metric] => Ok(metric),
        _ => bail!("several counters match {name:?}: name one to compare"),
    }
}
