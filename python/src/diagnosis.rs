//! The results of the diagnosis, in the shape of the JSON output.

use crate::output;
use crate::table::Table;
use crate::trace::Trace;
use crate::value::to_python;
use ouzel::analyses::semantics::Semantics;
use ouzel::diagnose::RunReport;
use ouzel::diagnose::iterations::Data as Iterations;
use ouzel::diagnose::segments::Which;
use ouzel::{Asked, Beside};
use pyo3::prelude::*;
use std::path::PathBuf;

#[pymethods]
impl Trace {
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.run_report(py)?)
    }

    #[pyo3(signature = (path, *, force=false))]
    #[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
    fn save_report(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        // Before the pass, so that a path that cannot be written fails at once.
        let target = py.detach(|| output::target(&path, force))?;
        let answer = self.answer(py, |trace, options| {
            let asked = Asked::new(trace.path().display().to_string(), &options.filter);
            ouzel_page::of_trace(trace, &Semantics::default(), &asked, options)
        })?;
        py.detach(|| target.write(answer.output.as_bytes()).map_err(output::of_output))
    }

    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.run_report(py)?.findings)
    }

    #[pyo3(signature = (*, all=false))]
    fn segments<'py>(&self, py: Python<'py>, all: bool) -> PyResult<Bound<'py, PyAny>> {
        let which = if all { Which::All } else { Which::Reported };
        let answer =
            self.answer(py, |trace, options| trace.segments(&Semantics::default(), which, options))?;
        to_python(py, &answer.output.segments)
    }

    fn clusters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let answer = self.answer(py, |trace, options| trace.clusters(&Semantics::default(), options))?;
        to_python(py, &answer.output.clusters)
    }

    #[pyo3(signature = (*, table=false))]
    fn iterations<'py>(&self, py: Python<'py>, table: bool) -> PyResult<Bound<'py, PyAny>> {
        let definitions = self.inner.definitions();
        let answer = self.answer(py, |trace, options| trace.context_trees(&Semantics::default(), options))?;
        let run = answer.run_range.map(|range| range.end.since(range.start)).unwrap_or_default();
        let run_time_ns = definitions.clock.ns_from_ticks(run);
        let answer = answer.map(|trees| Iterations::new(&trees, definitions, run_time_ns));
        if table {
            let table = Table::new(py, answer.map(|iterations| iterations.table()), definitions)?;
            return Ok(Bound::new(py, table)?.into_any());
        }
        to_python(py, &answer.output.loops)
    }
}

impl Trace {
    fn run_report(&self, py: Python<'_>) -> PyResult<RunReport> {
        let answer = self
            .answer(py, |trace, options| trace.diagnose(&Semantics::default(), Beside::Nothing, options))?;
        Ok(answer.output.report)
    }
}
