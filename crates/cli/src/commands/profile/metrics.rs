//! Counters beside the times: two columns for each counter that was asked for.
//!
//! Law: the rows are those of the profile; a counter that did not change or was not
//! recorded is zero there. Only accumulated counters are supported.

use anyhow::bail;
use ouzel::analyses::call_path_profile::ProfileOutput;
use ouzel::analyses::metric_profile::MetricProfileOutput;
use ouzel::analyses::{By, Per, RowKey};
use ouzel::model::{ColumnData, Definitions, MetricId, Table, Unit};
use std::collections::BTreeMap;
use wildmatch::WildMatch;

/// The counters whose names match one of `patterns`.
///
/// # Errors
/// If a pattern matches none; the message lists the counters.
pub fn chosen(definitions: &Definitions, patterns: &[String]) -> anyhow::Result<Vec<MetricId>> {
    let counters = || {
        let metrics = definitions.metrics.iter().enumerate().filter(|(_, metric)| metric.is_counter());
        metrics.map(|(i, metric)| (MetricId::from_index(i), &*metric.name))
    };
    let mut chosen = Vec::new();
    for text in patterns {
        let pattern = WildMatch::new(text);
        let before = chosen.len();
        chosen.extend(counters().filter(|(_, name)| pattern.matches(name)).map(|(id, _)| id));
        if before == chosen.len() {
            let names: Vec<&str> = counters().map(|(_, name)| name).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            bail!("no counter matches {text:?}; the trace has: {there}");
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

/// `table` with the columns of the counters. Its rows are those of `profile` seen by `by` and `per`.
pub fn with_columns(
    mut table: Table,
    profile: &ProfileOutput,
    counters: &MetricProfileOutput,
    chosen: &[MetricId],
    (definitions, by, per): (&Definitions, By, Per),
) -> Table {
    let keys: Vec<RowKey> = profile.rows(definitions, by, per).iter().map(|row| row.key).collect();
    let mut values: BTreeMap<(MetricId, RowKey), (u64, u64)> = BTreeMap::new();
    for row in counters.rows(definitions, by, per) {
        values.insert((row.metric, row.key), (row.inclusive, row.exclusive));
    }
    for &id in chosen {
        let metric = &definitions.metrics[id.index()];
        let value = |key: &RowKey| values.get(&(id, *key)).copied().unwrap_or_default();
        let unit = || Unit::Other(metric.unit.clone());
        table = table
            .with(
                exclusive_name(definitions, id),
                unit(),
                "What the counter gained from enter to leave, minus its gain in callees, summed over visits",
                ColumnData::U64(keys.iter().map(|key| value(key).1).collect()),
            )
            .with(
                format!("{}_inclusive", metric.name),
                unit(),
                "What the counter gained from enter to leave, summed over visits; of recursive calls only the outermost",
                ColumnData::U64(keys.iter().map(|key| value(key).0).collect()),
            );
    }
    table
}

/// Name of the column with the exclusive values of a counter.
pub fn exclusive_name(definitions: &Definitions, id: MetricId) -> String {
    format!("{}_exclusive", definitions.metrics[id.index()].name)
}
