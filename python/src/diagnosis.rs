//! What the diagnosis says, in the shape of the JSON output.

use crate::trace::Trace;
use crate::value::to_python;
use ouzel::analyses::semantics::Semantics;
use ouzel::diagnose::RunReport;
use pyo3::prelude::*;

#[pymethods]
impl Trace {
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.run_report(py)?)
    }

    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.run_report(py)?.findings)
    }

    fn segments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.run_report(py)?.segments)
    }
}

impl Trace {
    fn run_report(&self, py: Python<'_>) -> PyResult<RunReport> {
        let answer = self.answer(py, |trace, options| trace.diagnose(&Semantics::default(), options))?;
        Ok(answer.output.report)
    }
}
