//! A result as a table that every data frame library takes.

use crate::errors;
use crate::errors::OuzelError;
use crate::value::to_python;
use crate::{arrow, output, page};
use ouzel::Answer;
use ouzel::model::{Column, ColumnData, Definitions};
use ouzel_answers::NoticeEntry;
use ouzel_plot::Picture;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::path::PathBuf;

/// Columns with names, units and explanations, and how far they can be trusted.
#[pyclass(frozen, subclass, module = "ouzel")]
#[derive(Debug)]
pub struct Table {
    pub(crate) table: ouzel::model::Table,
    /// What a notebook draws below the rows.
    picture: Option<Picture>,
    notices: Py<PyAny>,
    coverage: Py<PyAny>,
}

impl Table {
    /// The answer of a pass over a trace with these definitions.
    pub fn new(
        py: Python<'_>,
        answer: Answer<ouzel::model::Table>,
        definitions: &Definitions,
    ) -> PyResult<Self> {
        let Answer { output: table, coverage, notices, .. } = answer;
        let notices: Vec<_> =
            notices.iter().map(|notice| NoticeEntry::new(notice, &definitions.locations)).collect();
        let notices = to_python(py, &notices)?.unbind();
        Ok(Table { table, picture: None, notices, coverage: to_python(py, &coverage)?.unbind() })
    }

    /// A table with its notices and with how much it is from.
    pub fn from_parts(
        py: Python<'_>,
        table: ouzel::model::Table,
        notices: &[NoticeEntry],
        coverage: &serde_json::Value,
    ) -> PyResult<Self> {
        let notices = to_python(py, &notices)?.unbind();
        Ok(Table { table, picture: None, notices, coverage: to_python(py, coverage)?.unbind() })
    }

    /// The same with a picture.
    pub fn with_picture(self, picture: Option<Picture>) -> Self {
        Table { picture, ..self }
    }

    fn by_column<'py, T: IntoPyObject<'py>>(
        &self,
        py: Python<'py>,
        value: impl Fn(&Column) -> T,
    ) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for column in &self.table.columns {
            dict.set_item(&column.name, value(column))?;
        }
        Ok(dict)
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &str {
        self.table.name
    }

    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.table.columns.iter().map(|column| &*column.name).collect()
    }

    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.by_column(py, |column| column.unit.symbol().to_owned())
    }

    #[getter]
    fn docs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.by_column(py, |column| column.doc)
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.table.n_rows(), self.table.columns.len())
    }

    #[getter]
    fn notices(&self, py: Python<'_>) -> Py<PyAny> {
        self.notices.clone_ref(py)
    }

    #[getter]
    fn coverage(&self, py: Python<'_>) -> Py<PyAny> {
        self.coverage.clone_ref(py)
    }

    fn __len__(&self) -> usize {
        self.table.n_rows()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyAny>> {
        let missing = || {
            let names: Vec<&str> = self.columns();
            PyKeyError::new_err(format!("no column {column:?}; there are {}", names.join(", ")))
        };
        let column = self.table.column(column).ok_or_else(missing)?;
        values(py, &column.data)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for column in &self.table.columns {
            dict.set_item(&column.name, values(py, &column.data)?)?;
        }
        Ok(dict)
    }

    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let pandas = py.import("pandas")?;
        match py.import("pyarrow") {
            Ok(pyarrow) => pyarrow.call_method1("table", (slf,))?.call_method0("to_pandas"),
            Err(_) => pandas.call_method1("DataFrame", (slf.get().to_dict(py)?,)),
        }
    }

    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// Arrow's PyCapsule protocol. A schema asked for is a wish that may go unheard.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let stream = py.detach(|| arrow::stream(&self.table));
        let stream = stream.map_err(errors::failed)?;
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        page::text(&self.table)
    }

    fn _repr_html_(&self) -> PyResult<String> {
        let picture = self._repr_svg_()?.unwrap_or_default();
        Ok(page::html(&self.table) + &picture)
    }

    fn _repr_svg_(&self) -> PyResult<Option<String>> {
        self.picture.as_ref().map(|picture| picture.svg().map_err(errors::failed)).transpose()
    }

    /// Writes the picture, as SVG or PNG by the ending of the name.
    #[pyo3(signature = (path, *, force=false))]
    #[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
    fn save_picture(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        let Some(picture) = &self.picture else {
            return Err(OuzelError::new_err(format!("there is no picture of {}", self.table.name)));
        };
        py.detach(|| output::save(picture, &path, force))
    }
}

/// The values of a column as a list; a missing value is `None`.
fn values<'py>(py: Python<'py>, data: &ColumnData) -> PyResult<Bound<'py, PyAny>> {
    let text = |text: &std::sync::Arc<str>| text.to_string();
    match data {
        ColumnData::U64(values) => values.into_pyobject(py),
        ColumnData::OptionU64(values) => values.into_pyobject(py),
        ColumnData::I64(values) => values.into_pyobject(py),
        ColumnData::F64(values) => values.into_pyobject(py),
        ColumnData::OptionF64(values) => values.into_pyobject(py),
        ColumnData::Text(values) => values.iter().map(text).collect::<Vec<_>>().into_pyobject(py),
        ColumnData::OptionText(values) => {
            values.iter().map(|value| value.as_ref().map(text)).collect::<Vec<_>>().into_pyobject(py)
        }
        ColumnData::U64List(values) => values.into_pyobject(py),
        ColumnData::TextList(values) => values
            .iter()
            .map(|list| list.iter().map(text).collect())
            .collect::<Vec<Vec<_>>>()
            .into_pyobject(py),
    }
}
