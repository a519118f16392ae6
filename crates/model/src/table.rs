//! A result as a table: columns with names, units and explanations.

use serde::Serialize;
use std::cmp::Ordering;
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

/// What a column holds one of: a type of values for each kind of [`ColumnData`].
pub trait ColumnValue: Sized {
    /// The values, if they are of this type.
    fn values(data: &ColumnData) -> Option<&[Self]>;
}

macro_rules! column_values {
    ($($kind:ident: $value:ty),+) => {
        $(impl ColumnValue for $value {
            fn values(data: &ColumnData) -> Option<&[Self]> {
                if let ColumnData::$kind(values) = data { Some(values) } else { None }
            }
        })+

        impl ColumnData {
            /// Number of values.
            pub fn len(&self) -> usize {
                match self { $(ColumnData::$kind(values) => values.len(),)+ }
            }

            /// The values at the places `rows`, in that order.
            fn picked(&self, rows: &[usize]) -> ColumnData {
                match self { $(ColumnData::$kind(values) => ColumnData::$kind(picked(values, rows)),)+ }
            }

            /// Adds values of the same type behind.
            ///
            /// # Panics
            /// If they are of another type.
            fn append(&mut self, more: ColumnData) {
                match (self, more) {
                    $((ColumnData::$kind(values), ColumnData::$kind(mut more)) => values.append(&mut more),)+
                    _ => panic!("columns of one name have one type"),
                }
            }
        }
    };
}

column_values! {
    U64: u64, OptionU64: Option<u64>, I64: i64, F64: f64, OptionF64: Option<f64>,
    Text: Arc<str>, OptionText: Option<Arc<str>>, TextList: Vec<Arc<str>>, U64List: Vec<u64>
}

fn picked<T: Clone>(values: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|&row| values[row].clone()).collect()
}

/// In which direction rows are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The smallest first.
    Ascending,
    /// The largest first.
    Descending,
}

impl Direction {
    fn of(self, order: Ordering) -> Ordering {
        match self {
            Direction::Ascending => order,
            Direction::Descending => order.reverse(),
        }
    }

    /// Missing values last.
    fn of_options<T>(self, a: Option<T>, b: Option<T>, compare: impl Fn(T, T) -> Ordering) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => self.of(compare(a, b)),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }
}

impl ColumnData {
    /// The order of the values at two places.
    fn compared(&self, a: usize, b: usize, direction: Direction) -> Ordering {
        match self {
            ColumnData::U64(values) => direction.of(values[a].cmp(&values[b])),
            ColumnData::I64(values) => direction.of(values[a].cmp(&values[b])),
            ColumnData::F64(values) => direction.of(values[a].total_cmp(&values[b])),
            ColumnData::Text(values) => direction.of(values[a].cmp(&values[b])),
            ColumnData::TextList(values) => direction.of(values[a].cmp(&values[b])),
            ColumnData::U64List(values) => direction.of(values[a].cmp(&values[b])),
            ColumnData::OptionU64(values) => direction.of_options(values[a], values[b], |a, b| a.cmp(&b)),
            ColumnData::OptionF64(values) => {
                direction.of_options(values[a], values[b], |a, b| a.total_cmp(&b))
            }
            ColumnData::OptionText(values) => {
                direction.of_options(values[a].as_ref(), values[b].as_ref(), Ord::cmp)
            }
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Table {
    /// The rows at the places `rows`, in that order.
    #[must_use]
    pub fn picked(&self, rows: &[usize]) -> Table {
        let columns = self.columns.iter().map(|column| Column {
            name: column.name.clone(),
            unit: column.unit.clone(),
            doc: column.doc,
            data: column.data.picked(rows),
        });
        Table { name: self.name, columns: columns.collect() }
    }

    /// The places of the rows in the order of some columns, each in its direction. Rows that are equal stay in their
    /// order; missing values come last in either direction.
    pub fn order(&self, by: &[(&Column, Direction)]) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.n_rows()).collect();
        rows.sort_by(|&a, &b| {
            let of = |&(column, direction): &(&Column, Direction)| column.data.compared(a, b, direction);
            by.iter().map(of).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        });
        rows
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

    /// The column of a name that this program gave it.
    ///
    /// # Panics
    /// If there is none: what users name is looked up with [`Table::column`].
    pub fn own(&self, name: &str) -> &Column {
        self.column(name).unwrap_or_else(|| panic!("the table of {} has no column {name:?}", self.name))
    }

    /// The values of a column of a name and type that this program gave it.
    ///
    /// # Panics
    /// If there is no such column, or its values are of another type.
    pub fn values<T: ColumnValue>(&self, name: &str) -> &[T] {
        let values = T::values(&self.own(name).data);
        values.unwrap_or_else(|| panic!("column {name:?} of the table of {} is of another type", self.name))
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_ordered_by_columns_missing_values_last() {
        let table = Table::new("rows")
            .with("name", Unit::None, "", ColumnData::Text(["b", "a", "b", "a"].map(Arc::from).to_vec()))
            .with(
                "time_ns",
                Unit::Nanoseconds,
                "",
                ColumnData::OptionU64(vec![Some(1), None, Some(3), Some(2)]),
            );
        let order = |by: &[(&str, Direction)]| {
            let by: Vec<_> = by.iter().map(|&(name, direction)| (table.own(name), direction)).collect();
            table.order(&by)
        };
        assert_eq!(order(&[("time_ns", Direction::Ascending)]), [0, 3, 2, 1]);
        assert_eq!(order(&[("time_ns", Direction::Descending)]), [2, 3, 0, 1]);
        assert_eq!(order(&[("name", Direction::Ascending)]), [1, 3, 0, 2]);
        let both = [("name", Direction::Descending), ("time_ns", Direction::Descending)];
        assert_eq!(order(&both), [2, 0, 3, 1]);
    }
}
