//! A result as a table: columns with names, units and explanations.

use serde::Serialize;
use std::sync::Arc;

/// Named columns of one length.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// What the rows are, in the plural, e.g. `regions`.
    pub name: &'static str,
    /// The columns.
    pub columns: Vec<Column>,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// Its name: snake case with the unit last, as JSON, CSV and Parquet show it.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// One sentence: what it is, with the formula where there is one.
    pub doc: &'static str,
    /// Its values.
    pub data: ColumnData,
}

/// Units of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// No unit: names, ids.
    None,
    /// A number of things.
    Count,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// A ratio, 1 being the whole.
    Ratio,
    /// As given by the trace.
    Other(Arc<str>),
}

impl Unit {
    /// The unit's symbol; empty for none.
    pub fn symbol(&self) -> &str {
        match self {
            Unit::None => "",
            Unit::Count => "#",
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "B",
            Unit::Ratio => "1",
            Unit::Other(text) => text,
        }
    }
}

/// Values of one type. `None` is a value that does not exist, never zero.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum ColumnData {
    /// Unsigned integers.
    U64(Vec<u64>),
    /// Unsigned integers, some missing.
    OptionU64(Vec<Option<u64>>),
    /// Signed integers.
    I64(Vec<i64>),
    /// Floating-point numbers, some missing.
    OptionF64(Vec<Option<f64>>),
    /// Floating-point numbers.
    F64(Vec<f64>),
    /// Text.
    Text(Vec<Arc<str>>),
    /// Text, some missing.
    OptionText(Vec<Option<Arc<str>>>),
    /// Lists of text, e.g. call paths from the root.
    TextList(Vec<Vec<Arc<str>>>),
    /// Lists of unsigned integers, e.g. ranks.
    U64List(Vec<Vec<u64>>),
}

impl ColumnData {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            ColumnData::U64(v) => v.len(),
            ColumnData::OptionU64(v) => v.len(),
            ColumnData::I64(v) => v.len(),
            ColumnData::OptionF64(v) => v.len(),
            ColumnData::F64(v) => v.len(),
            ColumnData::Text(v) => v.len(),
            ColumnData::OptionText(v) => v.len(),
            ColumnData::TextList(v) => v.len(),
            ColumnData::U64List(v) => v.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds values of the same type behind.
    ///
    /// # Panics
    /// If they are of another type.
    fn append(&mut self, more: ColumnData) {
        match (self, more) {
            (ColumnData::U64(a), ColumnData::U64(mut b)) => a.append(&mut b),
            (ColumnData::OptionU64(a), ColumnData::OptionU64(mut b)) => a.append(&mut b),
            (ColumnData::I64(a), ColumnData::I64(mut b)) => a.append(&mut b),
            (ColumnData::OptionF64(a), ColumnData::OptionF64(mut b)) => a.append(&mut b),
            (ColumnData::F64(a), ColumnData::F64(mut b)) => a.append(&mut b),
            (ColumnData::Text(a), ColumnData::Text(mut b)) => a.append(&mut b),
            (ColumnData::OptionText(a), ColumnData::OptionText(mut b)) => a.append(&mut b),
            (ColumnData::TextList(a), ColumnData::TextList(mut b)) => a.append(&mut b),
            (ColumnData::U64List(a), ColumnData::U64List(mut b)) => a.append(&mut b),
            _ => panic!("columns of one name have one type"),
        }
    }
}

impl Table {
    /// The rows at the places `rows`, in that order.
    #[must_use]
    pub fn picked(&self, rows: &[usize]) -> Table {
        fn pick<T: Clone>(values: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().map(|&row| values[row].clone()).collect()
        }
        let columns = self.columns.iter().map(|column| {
            let data = match &column.data {
                ColumnData::U64(v) => ColumnData::U64(pick(v, rows)),
                ColumnData::OptionU64(v) => ColumnData::OptionU64(pick(v, rows)),
                ColumnData::I64(v) => ColumnData::I64(pick(v, rows)),
                ColumnData::OptionF64(v) => ColumnData::OptionF64(pick(v, rows)),
                ColumnData::F64(v) => ColumnData::F64(pick(v, rows)),
                ColumnData::Text(v) => ColumnData::Text(pick(v, rows)),
                ColumnData::OptionText(v) => ColumnData::OptionText(pick(v, rows)),
                ColumnData::TextList(v) => ColumnData::TextList(pick(v, rows)),
                ColumnData::U64List(v) => ColumnData::U64List(pick(v, rows)),
            };
            Column { name: column.name.clone(), unit: column.unit.clone(), doc: column.doc, data }
        });
        Table { name: self.name, columns: columns.collect() }
    }

    /// An empty table.
    pub fn new(name: &'static str) -> Self {
        Table { name, columns: Vec::new() }
    }

    /// Adds a column.
    ///
    /// # Panics
    /// If its length differs from that of the columns before.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, unit: Unit, doc: &'static str, data: ColumnData) -> Self {
        if let Some(first) = self.columns.first() {
            assert_eq!(first.data.len(), data.len(), "columns of a table have one length");
        }
        self.columns.push(Column { name: name.into(), unit, doc, data });
        self
    }

    /// Adds the rows of a table with the same columns behind.
    ///
    /// # Panics
    /// If the columns differ.
    pub fn append(&mut self, more: Table) {
        assert_eq!(self.columns.len(), more.columns.len(), "batches of a table have the same columns");
        for (column, more) in self.columns.iter_mut().zip(more.columns) {
            assert_eq!(column.name, more.name, "batches of a table have the same columns");
            column.data.append(more.data);
        }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.data.len())
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}
