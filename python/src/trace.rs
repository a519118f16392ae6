//! An opened trace, and the part of it that was asked for.

use crate::errors;
use crate::selection::{Arguments, Selection, TimeNs};
use crate::table::Table;
use crate::value::to_python;
use ouzel::{Answer, AskError, Format, Options};
use ouzel_answers::NoticeEntry;
use ouzel_files::memory;
use ouzel_plot::Picture;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

#[doc = prose!("Trace")]
#[pyclass(frozen, module = "ouzel")]
#[derive(Debug)]
pub struct Trace {
    pub(crate) inner: Arc<ouzel::Trace>,
    pub(crate) selection: Selection,
}

/// Bytes, or a text such as `2G`.
#[derive(Debug, FromPyObject)]
pub enum MemoryLimit {
    Bytes(u64),
    Text(String),
}

/// Sets the memory limit of this process if there is one.
pub fn limit_memory(limit: Option<MemoryLimit>) -> PyResult<()> {
    let bytes = match limit {
        None => return Ok(()),
        Some(MemoryLimit::Bytes(0)) => None,
        Some(MemoryLimit::Bytes(bytes)) => Some(bytes),
        Some(MemoryLimit::Text(text)) => Some(memory::parse_bytes(&text).map_err(PyValueError::new_err)?),
    };
    Ok(memory::set_limit(bytes)?)
}

#[doc = prose!("open")]
#[pyfunction]
#[pyo3(signature = (path, *, r#where=None, ranks=None, time_ns=None, regions=None, trim=None, jobs=None, progress=None, repair_clocks=false, memory_limit=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "keywords of Python, converted"
)]
pub fn open<'py>(
    py: Python<'py>,
    path: PathBuf,
    r#where: Option<Bound<'py, PyAny>>,
    ranks: Option<Bound<'py, PyAny>>,
    time_ns: Option<TimeNs<'py>>,
    regions: Option<Bound<'py, PyAny>>,
    trim: Option<bool>,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
    repair_clocks: bool,
    memory_limit: Option<MemoryLimit>,
) -> PyResult<Trace> {
    limit_memory(memory_limit)?;
    let arguments = Arguments { r#where, ranks, time_ns, regions, trim, jobs, progress };
    let selection = Selection::everything().narrowed(py, arguments)?;
    let inner = py.detach(|| ouzel::open(&path)).map_err(|error| errors::of_open(&error, &path))?;
    crate::output::remember(&path);
    if !repair_clocks {
        return Ok(Trace { inner: Arc::new(inner), selection });
    }
    let repair = crate::pass::run(py, &inner, &selection, |options| inner.clock_repair(options))?;
    Ok(Trace { inner: Arc::new(inner.on_clocks(repair)), selection })
}

/// Opens a trace that must have this format.
fn open_as(py: Python<'_>, path: PathBuf, expected: Format) -> PyResult<Trace> {
    let trace = open(py, path, None, None, None, None, None, None, None, false, None)?;
    match trace.inner.format() {
        found if found == expected => Ok(trace),
        found => {
            let (path, found, expected) = (trace.inner.path(), found.as_str(), expected.as_str());
            Err(errors::OuzelError::new_err(format!("{path:?} holds {found} data, not {expected}")))
        }
    }
}

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.from_otf2")]
    #[staticmethod]
    fn from_otf2(py: Python<'_>, path: PathBuf) -> PyResult<Trace> {
        open_as(py, path, Format::Otf2)
    }

    #[doc = prose!("Trace.from_hpctoolkit")]
    #[staticmethod]
    fn from_hpctoolkit(py: Python<'_>, path: PathBuf) -> PyResult<Trace> {
        open_as(py, path, Format::HpcToolkit)
    }

    #[doc = prose!("Trace.from_projections")]
    #[staticmethod]
    fn from_projections(py: Python<'_>, path: PathBuf) -> PyResult<Trace> {
        open_as(py, path, Format::Projections)
    }

    #[doc = prose!("Trace.from_nsight")]
    #[staticmethod]
    fn from_nsight(py: Python<'_>, path: PathBuf) -> PyResult<Trace> {
        open_as(py, path, Format::Nsight)
    }

    #[doc = prose!("Trace.from_pytorch")]
    #[staticmethod]
    fn from_pytorch(py: Python<'_>, path: PathBuf) -> PyResult<Trace> {
        open_as(py, path, Format::Chrome)
    }

    #[doc = prose!("Trace.from_chrome")]
    #[staticmethod]
    fn from_chrome(py: Python<'_>, path: PathBuf) -> PyResult<Trace> {
        open_as(py, path, Format::Chrome)
    }

    #[doc = prose!("Trace.from_csv")]
    #[staticmethod]
    fn from_csv(py: Python<'_>, path: PathBuf) -> PyResult<Trace> {
        open_as(py, path, Format::Csv)
    }

    #[doc = prose!("Trace.filter")]
    #[pyo3(signature = (r#where=None, *, ranks=None, time_ns=None, regions=None, trim=None, jobs=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn filter<'py>(
        &self,
        py: Python<'py>,
        r#where: Option<Bound<'py, PyAny>>,
        ranks: Option<Bound<'py, PyAny>>,
        time_ns: Option<TimeNs<'py>>,
        regions: Option<Bound<'py, PyAny>>,
        trim: Option<bool>,
        jobs: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Trace> {
        let arguments = Arguments { r#where, ranks, time_ns, regions, trim, jobs, progress };
        let selection = self.selection.narrowed(py, arguments)?;
        Ok(Trace { inner: Arc::clone(&self.inner), selection })
    }

    #[doc = prose!("Trace.path")]
    #[getter]
    pub fn path(&self) -> PathBuf {
        self.inner.path().to_owned()
    }

    #[doc = prose!("Trace.format")]
    #[getter]
    fn format(&self) -> &'static str {
        self.inner.format().as_str()
    }

    #[doc = prose!("Trace.ranks")]
    #[getter]
    fn ranks(&self) -> Vec<u32> {
        self.inner.definitions().ranks().into_iter().map(|rank| rank.0).collect()
    }

    #[doc = prose!("Trace.regions")]
    #[getter]
    fn regions(&self) -> Vec<String> {
        let definitions = self.inner.definitions();
        definitions.regions[..definitions.n_regions()].iter().map(|region| region.name.to_string()).collect()
    }

    #[doc = prose!("Trace.metrics")]
    #[getter]
    fn metrics(&self) -> Vec<String> {
        self.inner.definitions().metrics.iter().map(|metric| metric.name.to_string()).collect()
    }

    #[doc = prose!("Trace.definitions")]
    #[getter]
    fn definitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let definitions = self.inner.definitions();
        let dict = PyDict::new(py);
        dict.set_item("format", &definitions.provenance.format)?;
        dict.set_item("format_version", &definitions.provenance.format_version)?;
        dict.set_item("creator", &definitions.provenance.creator)?;
        dict.set_item("machine", &definitions.provenance.machine)?;
        dict.set_item("ticks_per_second", definitions.clock.ticks_per_second)?;
        dict.set_item("n_locations", definitions.locations.len())?;
        dict.set_item("n_processes", definitions.processes().len())?;
        dict.set_item("n_ranks", definitions.ranks().len())?;
        dict.set_item("n_regions", definitions.n_regions())?;
        dict.set_item("n_communicators", definitions.n_communicators())?;
        dict.set_item("n_metrics", definitions.metrics.len())?;
        Ok(dict)
    }

    #[doc = prose!("Trace.notices")]
    #[getter]
    pub(crate) fn notices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let definitions = self.inner.definitions();
        let notices =
            self.inner.notices().iter().map(|notice| NoticeEntry::new(notice, &definitions.locations));
        to_python(py, &notices.collect::<Vec<_>>())
    }

    fn __repr__(&self) -> String {
        let definitions = self.inner.definitions();
        let by = self.selection.workers.as_ref().map_or("", |_| ", asked on a cluster");
        format!(
            "<ouzel.Trace {:?}: {}, {} ranks, {} locations{by}>",
            self.inner.path(),
            self.inner.format().as_str(),
            definitions.ranks().len(),
            definitions.locations.len()
        )
    }
}

impl Trace {
    /// Runs a question over what is selected, and makes a table of the answer.
    pub(crate) fn table(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&ouzel::Trace, &Options<'_>) -> Result<Answer<ouzel::model::Table>, AskError> + Send,
    ) -> PyResult<Table> {
        let answer = self.answer(py, ask)?;
        Table::new(py, answer, self.inner.definitions())
    }

    /// The same with a picture.
    pub(crate) fn drawn(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&ouzel::Trace, &Options<'_>) -> Result<Answer<(ouzel::model::Table, Picture)>, AskError>
        + Send,
    ) -> PyResult<Table> {
        let answer = self.answer(py, ask)?;
        let picture = answer.output.1.clone();
        let table = Table::new(py, answer.map(|(table, _)| table), self.inner.definitions())?;
        Ok(table.with_picture(Some(picture)))
    }

    /// The subtitle of a picture.
    pub(crate) fn origin(&self) -> String {
        ouzel_plot::origin(self.inner.path(), &self.selection.filter)
    }

    /// Runs a question over what is selected, and warns if the answer is not from all of it.
    pub(crate) fn answer<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&ouzel::Trace, &Options<'_>) -> Result<Answer<T>, AskError> + Send,
    ) -> PyResult<Answer<T>> {
        let trace = &*self.inner;
        let answer = crate::pass::run(py, trace, &self.selection, |options| ask(trace, options))?;
        errors::warn(py, &answer.notices)?;
        Ok(answer)
    }
}
