//! Several runs side by side, under the names that Pipit gave it.

use crate::errors;
use crate::pass;
use crate::table::Table;
use crate::trace::Trace;
use ouzel::analyses::By;
use ouzel::engine::Coverage;
use ouzel::model::{Notice, Notices};
use ouzel::multi_run::{Run, multi_run};
use ouzel::{Answer, AskError, Options};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

#[doc = prose!("MultiRun")]
#[pyclass(frozen, extends = Table, module = "ouzel")]
#[derive(Debug)]
pub struct MultiRun {
    pub(crate) runs: Py<Table>,
}

#[pymethods]
impl MultiRun {
    #[doc = prose!("MultiRun.runs")]
    #[getter]
    fn runs(&self, py: Python<'_>) -> Py<Table> {
        self.runs.clone_ref(py)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let runs = slf.get().runs.bind(slf.py()).clone().into_any();
        crate::pickle::of_table(slf.as_super(), "MultiRun", runs)
    }
}

#[doc = prose!("multi_run_analysis")]
#[pyfunction]
#[pyo3(signature = (traces, names=None, *, call_paths=false))]
pub fn multi_run_analysis(
    py: Python<'_>,
    traces: Vec<PyRef<'_, Trace>>,
    names: Option<Vec<String>>,
    call_paths: bool,
) -> PyResult<Py<MultiRun>> {
    let by = if call_paths { By::CallPath } else { By::Region };
    let all = gathered(py, traces, names, |(_, name), trace, options| {
        let definitions = trace.definitions();
        let answer = trace.call_path_profile(by, options)?;
        let range = answer.run_range;
        Ok(answer.map(|profile| Run::new(name, &profile, definitions, range)))
    })?;
    let Gathered { first, outputs: runs, coverage, notices } = all;
    let output = multi_run(&runs, by);
    let table = |output| {
        let answer = Answer { output, coverage, run_range: None, notices: notices.clone() };
        Table::new(py, answer, first.definitions())
    };
    let runs = Py::new(py, table(output.scaling_table())?)?;
    Py::new(py, PyClassInitializer::from(table(output.table(by))?).add_subclass(MultiRun { runs }))
}

/// What was asked of several traces.
pub(crate) struct Gathered<T> {
    /// The first trace.
    pub first: Arc<ouzel::Trace>,
    /// In the order of the traces.
    pub outputs: Vec<T>,
    /// What was read of all together.
    pub coverage: Coverage,
    /// Those of all, without locations.
    pub notices: Vec<Notice>,
}

/// Asks each trace, by its place and its name or its path, one after the other; warns if an answer is not from all of it.
pub(crate) fn gathered<T: Send>(
    py: Python<'_>,
    traces: Vec<PyRef<'_, Trace>>,
    names: Option<Vec<String>>,
    ask: impl Fn((usize, &str), &ouzel::Trace, &Options<'_>) -> Result<Answer<T>, AskError> + Sync,
) -> PyResult<Gathered<T>> {
    let first = traces.first().map(|trace| Arc::clone(&trace.inner));
    let first = first.ok_or_else(|| PyValueError::new_err("there is no trace to compare"))?;
    let names = names
        .unwrap_or_else(|| traces.iter().map(|trace| trace.inner.path().display().to_string()).collect());
    if names.len() != traces.len() {
        let (n_names, n_traces) = (names.len(), traces.len());
        return Err(PyValueError::new_err(format!("{n_names} names for {n_traces} traces")));
    }
    let notices = Notices::default();
    let mut coverage = Coverage::default();
    let mut outputs = Vec::new();
    for (nth, (trace, name)) in traces.into_iter().zip(&names).enumerate() {
        let inner = &*trace.inner;
        let answer = pass::run(py, inner, &trace.selection, |options| ask((nth, name), inner, options))?;
        errors::warn(py, &answer.notices)?;
        outputs.push(answer.output);
        // Ids of locations mean nothing outside of their trace.
        notices.extend(answer.notices.into_iter().map(|notice| Notice { location: None, ..notice }));
        let Coverage { locations, locations_selected, locations_complete, locations_damaged, events_read } =
            answer.coverage;
        coverage.locations += locations;
        coverage.locations_selected += locations_selected;
        coverage.locations_complete += locations_complete;
        coverage.locations_damaged += locations_damaged;
        coverage.events_read += events_read;
    }
    Ok(Gathered { first, outputs, coverage, notices: notices.to_vec() })
}

#[doc = prose!("multirun_analysis")]
#[pyfunction]
#[pyo3(signature = (traces, names=None, *, call_paths=false))]
pub fn multirun_analysis(
    py: Python<'_>,
    traces: Vec<PyRef<'_, Trace>>,
    names: Option<Vec<String>>,
    call_paths: bool,
) -> PyResult<Py<MultiRun>> {
    multi_run_analysis(py, traces, names, call_paths)
}
