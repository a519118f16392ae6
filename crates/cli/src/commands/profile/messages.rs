//! Messages and collectives beside the times: columns with what each row sent and received.
//!
//! Law: the rows are those of the profile; a row without communication has zeros. Data
//! sent outside of every region have no row and are not included.

use ouzel::analyses::call_path_profile::ProfileOutput;
use ouzel::analyses::communication_totals::CommunicationOutput;
use ouzel::analyses::{By, Per, RowKey};
use ouzel::model::{Column, ColumnData, Definitions, Table};
use std::collections::BTreeMap;

/// `table` with the columns of communication. Its rows are those of `profile` seen by `by` and `per`.
pub fn with_columns(
    mut table: Table,
    profile: &ProfileOutput,
    communication: &CommunicationOutput,
    (definitions, by, per): (&Definitions, By, Per),
) -> Table {
    let rows = communication.rows(definitions, by, per);
    let places: BTreeMap<RowKey, usize> = rows.iter().enumerate().map(|(i, row)| (row.key, i)).collect();
    let keys = profile.rows(definitions, by, per);
    for Column { name, unit, doc, data } in communication.table(definitions, by, per).columns {
        // The columns that name the rows are already there.
        let (false, ColumnData::U64(values)) = (table.column(&name).is_some(), &data) else { continue };
        let value = |key: &RowKey| places.get(key).map_or(0, |&place| values[place]);
        let values = ColumnData::U64(keys.iter().map(|row| value(&row.key)).collect());
        table = table.with(name, unit, doc, values);
    }
    table
}
