//! A result as a table that every data frame library takes.

use crate::errors;
use crate::errors::OuzelError;
use crate::value::to_python;
use crate::{arrow, output, page};
use ouzel::Answer;
use ouzel::model::{Column, ColumnData, Definitions};
use ouzel_answers::NoticeEntry;
use ouzel_plot::{Picture, Style};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::path::PathBuf;

#[doc = prose!("Table")]
#[pyclass(frozen, subclass, module = "ouzel")]
#[derive(Debug)]
pub struct Table {
    pub(crate) table: ouzel::model::Table,
    /// What a notebook draws below the rows.
    picture: Option<Drawn>,
    notices: Py<PyAny>,
    coverage: Py<PyAny>,
}

/// A picture, or the text of one that came from another process.
#[derive(Debug, Clone)]
pub enum Drawn {
    Picture(Box<Picture>),
    Svg(String),
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
        Table { picture: picture.map(|picture| Drawn::Picture(Box::new(picture))), ..self }
    }

    /// A table that came from another process.
    pub fn from_state(
        table: ouzel::model::Table,
        notices: Py<PyAny>,
        coverage: Py<PyAny>,
        picture: Option<Drawn>,
    ) -> Self {
        Table { table, picture, notices, coverage }
    }

    /// Other rows or columns of the same answer; without a picture, which shows all.
    pub fn with_table(&self, py: Python<'_>, table: ouzel::model::Table) -> Self {
        let (notices, coverage) = (self.notices.clone_ref(py), self.coverage.clone_ref(py));
        Table { table, picture: None, notices, coverage }
    }

    /// The picture as SVG.
    pub fn svg(&self) -> PyResult<Option<String>> {
        Ok(match &self.picture {
            None => None,
            Some(Drawn::Svg(text)) => Some(text.clone()),
            Some(Drawn::Picture(picture)) => Some(picture.svg().map_err(errors::failed)?),
        })
    }

    /// The picture, to be drawn anew.
    fn drawable(&self) -> PyResult<&Picture> {
        match &self.picture {
            Some(Drawn::Picture(picture)) => Ok(picture),
            Some(Drawn::Svg(_)) => Err(OuzelError::new_err(
                "a picture that was pickled is SVG: ask the trace again to draw it in another way",
            )),
            None => Err(OuzelError::new_err(format!("there is no picture of {}", self.table.name))),
        }
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
    #[doc = prose!("Table.name")]
    #[getter]
    fn name(&self) -> &str {
        self.table.name
    }

    #[doc = prose!("Table.columns")]
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.table.columns.iter().map(|column| &*column.name).collect()
    }

    #[doc = prose!("Table.units")]
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.by_column(py, |column| column.unit.symbol().to_owned())
    }

    #[doc = prose!("Table.docs")]
    #[getter]
    fn docs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.by_column(py, |column| column.doc)
    }

    #[doc = prose!("Table.shape")]
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.table.n_rows(), self.table.columns.len())
    }

    #[doc = prose!("Table.notices")]
    #[getter]
    pub fn notices(&self, py: Python<'_>) -> Py<PyAny> {
        self.notices.clone_ref(py)
    }

    #[doc = prose!("Table.coverage")]
    #[getter]
    pub fn coverage(&self, py: Python<'_>) -> Py<PyAny> {
        self.coverage.clone_ref(py)
    }

    fn __len__(&self) -> usize {
        self.table.n_rows()
    }

    #[doc = prose!("Table.to_dict")]
    pub fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for column in &self.table.columns {
            dict.set_item(&column.name, values(py, &column.data)?)?;
        }
        Ok(dict)
    }

    #[doc = prose!("Table.to_pandas")]
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let pandas = py.import("pandas")?;
        match py.import("pyarrow") {
            Ok(pyarrow) => pyarrow.call_method1("table", (slf,))?.call_method0("to_pandas"),
            Err(_) => pandas.call_method1("DataFrame", (slf.get().to_dict(py)?,)),
        }
    }

    #[doc = prose!("Table.to_polars")]
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    #[doc = prose!("Table.to_pyarrow")]
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    // Arrow's PyCapsule protocol. A schema asked for is a wish that may go unheard.
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
        self.svg()
    }

    #[doc = prose!("Table.picture")]
    #[pyo3(signature = (*, title=None, subtitle=None, width=None, height=None, x_label=None, y_label=None, palette=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn picture(
        &self,
        title: Option<String>,
        subtitle: Option<String>,
        width: Option<u32>,
        height: Option<u32>,
        x_label: Option<String>,
        y_label: Option<String>,
        palette: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<crate::picture::Picture> {
        let colours = palette.map(crate::picture::colours).transpose()?.unwrap_or_default();
        crate::picture::check_size(width, height)?;
        let style = Style { title, subtitle, width, height, x_name: x_label, y_name: y_label, colours };
        Ok(crate::picture::Picture::new(self.drawable()?.clone().styled(&style)))
    }

    #[doc = prose!("Table.save_picture")]
    #[pyo3(signature = (path, *, force=false))]
    #[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
    fn save_picture(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        if let (Some(Drawn::Svg(text)), Some("svg")) =
            (&self.picture, path.extension().and_then(|e| e.to_str()))
        {
            return py
                .detach(|| output::target(&path, force)?.write(text.as_bytes()).map_err(output::of_output));
        }
        let picture = self.drawable()?;
        py.detach(|| output::save(picture, &path, force))
    }
}

/// The values of a column as a list; a missing value is `None`.
pub fn values<'py>(py: Python<'py>, data: &ColumnData) -> PyResult<Bound<'py, PyAny>> {
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
