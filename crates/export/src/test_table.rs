//! A table with every type of column, for the tests of all writers.

use ouzel_model::{ColumnData, Table, Unit};
use std::sync::Arc;

pub fn table() -> Table {
    let text = |t: &str| -> Arc<str> { Arc::from(t) };
    Table::new("regions")
        .with("region", Unit::None, "Name.", ColumnData::Text(vec![text("main"), text("a, \"b\"")]))
        .with("visits", Unit::Count, "Visits.", ColumnData::U64(vec![u64::MAX, 0]))
        .with("rank", Unit::None, "Rank.", ColumnData::OptionU64(vec![None, Some(7)]))
        .with("delta", Unit::Nanoseconds, "Delta.", ColumnData::I64(vec![-3, 4]))
        .with("share", Unit::Ratio, "Share.", ColumnData::F64(vec![0.5, f64::NAN]))
        .with("rate", Unit::Other(text("B/s")), "Rate.", ColumnData::OptionF64(vec![None, Some(1.25)]))
        .with("source", Unit::None, "Source.", ColumnData::OptionText(vec![None, Some(text("x.c:3"))]))
        .with(
            "call_path",
            Unit::None,
            "Path from the root.",
            ColumnData::TextList(vec![vec![], vec![text("main"), text("a, \"b\"")]]),
        )
        .with("top_ranks", Unit::None, "Ranks.", ColumnData::U64List(vec![vec![3, u64::MAX], vec![]]))
}
