//! Ordering rows of a table.

use ouzel::model::{ColumnData, Table};
use std::cmp::Ordering;

/// The rows sorted by a column: numbers descending, text ascending; rows of equal value stay in their order.
///
/// # Panics
/// If the table has no such column: commands name those of their own tables.
pub fn sorted(table: &Table, column: &str) -> Table {
    let data = &table.own(column).data;
    let mut rows: Vec<usize> = (0..table.n_rows()).collect();
    rows.sort_by(|&a, &b| compare(data, a, b));
    table.picked(&rows)
}

fn compare(data: &ColumnData, a: usize, b: usize) -> Ordering {
    let float = |v: Option<f64>| v.unwrap_or(f64::NEG_INFINITY);
    match data {
        ColumnData::U64(v) => v[b].cmp(&v[a]),
        ColumnData::OptionU64(v) => v[b].cmp(&v[a]),
        ColumnData::I64(v) => v[b].cmp(&v[a]),
        ColumnData::F64(v) => v[b].total_cmp(&v[a]),
        ColumnData::OptionF64(v) => float(v[b]).total_cmp(&float(v[a])),
        ColumnData::Text(v) => v[a].cmp(&v[b]),
        ColumnData::OptionText(v) => v[a].cmp(&v[b]),
        ColumnData::TextList(v) => v[a].cmp(&v[b]),
        ColumnData::U64List(v) => v[a].cmp(&v[b]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel::model::Unit;

    #[test]
    fn numbers_descend_and_names_ascend() {
        let names = ["b", "a", "c"].map(std::sync::Arc::from).to_vec();
        let table = Table::new("regions").with("region", Unit::None, "", ColumnData::Text(names)).with(
            "visits",
            Unit::Count,
            "",
            ColumnData::U64(vec![5, 7, 5]),
        );
        assert_eq!(sorted(&table, "visits").values::<u64>("visits"), [7, 5, 5]);
        assert_eq!(
            sorted(&table, "visits").columns[0].data,
            ColumnData::Text(["a", "b", "c"].map(std::sync::Arc::from).to_vec())
        );
        assert_eq!(sorted(&table, "region").values::<u64>("visits"), [7, 5, 5]);
    }
}
