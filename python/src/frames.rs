//! Manners of data frames that tables have: rows, columns, order; what a library at hand does better goes to Python.
//!
//! Law: a part of a table has its notices and its coverage, and no value is changed.

use crate::table::Table;
use ouzel::model::{Column, Direction};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple};

/// The module with what is written in Python.
pub fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("ouzel._frames")?.getattr(name)
}

/// A name, or several.
#[derive(Debug, FromPyObject)]
pub enum Names {
    One(String),
    Several(Vec<String>),
}

/// A direction, or one for each column.
#[derive(Debug, FromPyObject)]
pub enum Ascending {
    All(bool),
    Each(Vec<bool>),
}

impl Table {
    /// The column of a name.
    pub(crate) fn named(&self, name: &str) -> PyResult<&Column> {
        self.table.column(name).ok_or_else(|| {
            let names: Vec<&str> = self.table.columns.iter().map(|column| &*column.name).collect();
            PyKeyError::new_err(format!("no column {name:?}; there are {}", names.join(", ")))
        })
    }

    /// The rows at some places, in that order.
    fn picked(&self, py: Python<'_>, rows: &[usize]) -> Table {
        self.with_table(py, self.table.picked(rows))
    }
}

#[pymethods]
impl Table {
    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        if let Ok(name) = key.extract::<String>() {
            let values = crate::table::values(py, &this.named(&name)?.data)?;
            return helper(py, "Column")?.call1((values,));
        }
        let n_rows = this.table.n_rows();
        if let Ok(slice) = key.cast::<PySlice>() {
            let places = slice.indices(isize::try_from(n_rows)?)?;
            let rows = (0..places.slicelength).map(|i| (places.start + i as isize * places.step) as usize);
            return Ok(Bound::new(py, this.picked(py, &rows.collect::<Vec<_>>()))?.into_any());
        }
        if let Ok(names) = key.extract::<Vec<String>>() {
            let columns = names.iter().map(|name| this.named(name).cloned()).collect::<PyResult<_>>()?;
            let table = ouzel::model::Table { name: this.table.name, columns };
            return Ok(Bound::new(py, this.with_table(py, table))?.into_any());
        }
        let wrong = |_| {
            PyTypeError::new_err(
                "a table is indexed by a column's name, several, a slice, or True and False for each row",
            )
        };
        let mask = helper(py, "mask")?.call1((key,)).map_err(wrong)?.extract::<Vec<bool>>().map_err(wrong)?;
        if mask.len() != n_rows {
            let n = mask.len();
            return Err(PyIndexError::new_err(format!("{n} times True or False for {n_rows} rows")));
        }
        let rows: Vec<usize> = (0..n_rows).filter(|&row| mask[row]).collect();
        Ok(Bound::new(py, this.picked(py, &rows))?.into_any())
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        helper(slf.py(), "rows")?.call1((slf.get().to_dict(slf.py())?,))
    }

    #[doc = prose!("Table.head")]
    #[pyo3(signature = (n=5))]
    fn head(&self, py: Python<'_>, n: usize) -> Table {
        self.picked(py, &(0..n.min(self.table.n_rows())).collect::<Vec<_>>())
    }

    #[doc = prose!("Table.tail")]
    #[pyo3(signature = (n=5))]
    fn tail(&self, py: Python<'_>, n: usize) -> Table {
        let n_rows = self.table.n_rows();
        self.picked(py, &(n_rows.saturating_sub(n)..n_rows).collect::<Vec<_>>())
    }

    #[doc = prose!("Table.sort_values")]
    #[pyo3(signature = (by, ascending=None))]
    fn sort_values(&self, py: Python<'_>, by: Names, ascending: Option<Ascending>) -> PyResult<Table> {
        let names = match by {
            Names::One(name) => vec![name],
            Names::Several(names) => names,
        };
        let ascending = match ascending.unwrap_or(Ascending::All(true)) {
            Ascending::All(ascending) => vec![ascending; names.len()],
            Ascending::Each(each) => each,
        };
        if ascending.len() != names.len() {
            let (n_names, n) = (names.len(), ascending.len());
            return Err(PyValueError::new_err(format!("ascending has {n} values for {n_names} columns")));
        }
        let direction =
            |ascending: &bool| if *ascending { Direction::Ascending } else { Direction::Descending };
        let by = names.iter().zip(&ascending).map(|(name, a)| Ok((self.named(name)?, direction(a))));
        let rows = self.table.order(&by.collect::<PyResult<Vec<_>>>()?);
        Ok(self.picked(py, &rows))
    }

    #[doc = prose!("Table.plot")]
    #[getter]
    fn plot<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        helper(slf.py(), "plot")?.call1((slf,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        crate::pickle::of_table(slf, "Table", slf.py().None().into_bound(slf.py()))
    }
}
