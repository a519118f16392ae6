//! What else is known of the rows of a profile: columns of messages and of counters beside the times.
//!
//! Law: the rows are those of the profile; a row without communication, and a counter that did not change or was not
//! recorded there, has zeros. What was sent outside of every region has no row and is not included. Only accumulated
//! counters have columns.

use crate::call_path_profile::ProfileRow;
use crate::communication_totals::CommunicationOutput;
use crate::metric_profile::MetricProfileOutput;
use crate::view::{By, Per, RowKey};
use ouzel_model::{Column, ColumnData, Definitions, MetricId, Table, Unit};
use std::collections::BTreeMap;

/// `table`, whose rows are `profile` seen by `by` and `per`, with the columns of communication.
pub fn with_communication(
    mut table: Table,
    profile: &[ProfileRow],
    communication: &CommunicationOutput,
    (definitions, by, per): (&Definitions, By, Per),
) -> Table {
    let rows = communication.rows(definitions, by, per);
    let places: BTreeMap<RowKey, usize> = rows.iter().enumerate().map(|(i, row)| (row.key, i)).collect();
    for Column { name, unit, doc, data } in communication.table(definitions, by, per).columns {
        // The columns that name the rows are already there.
        let (false, ColumnData::U64(values)) = (table.column(&name).is_some(), &data) else { continue };
        let value = |key: &RowKey| places.get(key).map_or(0, |&place| values[place]);
        let values = ColumnData::U64(profile.iter().map(|row| value(&row.key)).collect());
        table = table.with(name, unit, doc, values);
    }
    table
}

/// `table`, whose rows are `profile` seen by `by` and `per`, with the columns of the counters.
pub fn with_counters(
    mut table: Table,
    profile: &[ProfileRow],
    counters: &MetricProfileOutput,
    chosen: &[MetricId],
    (definitions, by, per): (&Definitions, By, Per),
) -> Table {
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
                ColumnData::U64(profile.iter().map(|row| value(&row.key).1).collect()),
            )
            .with(
                format!("{}_inclusive", metric.name),
                unit(),
                "What the counter gained from enter to leave, summed over visits; of recursive calls only the outermost",
                ColumnData::U64(profile.iter().map(|row| value(&row.key).0).collect()),
            );
    }
    table
}

/// Name of the column with the exclusive values of a counter.
pub fn exclusive_name(definitions: &Definitions, id: MetricId) -> String {
    format!("{}_exclusive", definitions.metrics[id.index()].name)
}
