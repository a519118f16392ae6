//! The results of the diagnosis, in the shape of the JSON output.

use crate::arguments::semantics;
use crate::output;
use crate::table::Table;
use crate::trace::Trace;
use crate::value::to_python;
use ouzel::diagnose::RunReport;
use ouzel::diagnose::iterations::Data as Iterations;
use ouzel::diagnose::segments::Which;
use ouzel::{Asked, Beside};
use pyo3::prelude::*;
use std::path::PathBuf;

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.report")]
    #[pyo3(signature = (*, rules=None))]
    fn report<'py>(&self, py: Python<'py>, rules: Option<PathBuf>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.run_report(py, rules)?)
    }

    #[doc = prose!("Trace.save_report")]
    #[pyo3(signature = (path, *, rules=None, force=false))]
    #[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
    fn save_report(
        &self,
        py: Python<'_>,
        path: PathBuf,
        rules: Option<PathBuf>,
        force: bool,
    ) -> PyResult<()> {
        let semantics = semantics(rules)?;
        output::save_page(py, &path, force, || {
            let answer = self.answer(py, |trace, options| {
                let asked = Asked::new(trace.path().display().to_string(), &options.filter);
                ouzel_page::of_trace(trace, &semantics, &asked, options)
            })?;
            Ok(answer.output)
        })
    }

    #[doc = prose!("Trace.findings")]
    #[pyo3(signature = (*, rules=None))]
    fn findings<'py>(&self, py: Python<'py>, rules: Option<PathBuf>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.run_report(py, rules)?.findings)
    }

    #[doc = prose!("Trace.segments")]
    #[pyo3(signature = (*, all=false, rules=None))]
    fn segments<'py>(
        &self,
        py: Python<'py>,
        all: bool,
        rules: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let semantics = semantics(rules)?;
        let which = if all { Which::All } else { Which::Reported };
        let answer = self.answer(py, |trace, options| trace.segments(&semantics, which, options))?;
        to_python(py, &answer.output.segments)
    }

    #[doc = prose!("Trace.clusters")]
    #[pyo3(signature = (*, rules=None))]
    fn clusters<'py>(&self, py: Python<'py>, rules: Option<PathBuf>) -> PyResult<Bound<'py, PyAny>> {
        let semantics = semantics(rules)?;
        let answer = self.answer(py, |trace, options| trace.clusters(&semantics, options))?;
        to_python(py, &answer.output.clusters)
    }

    #[doc = prose!("Trace.iterations")]
    #[pyo3(signature = (*, table=false, rules=None))]
    fn iterations<'py>(
        &self,
        py: Python<'py>,
        table: bool,
        rules: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let semantics = semantics(rules)?;
        let definitions = self.inner.definitions();
        let answer = self.answer(py, |trace, options| trace.context_trees(&semantics, options))?;
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
    fn run_report(&self, py: Python<'_>, rules: Option<PathBuf>) -> PyResult<RunReport> {
        let semantics = semantics(rules)?;
        let answer =
            self.answer(py, |trace, options| trace.diagnose(&semantics, Beside::Nothing, options))?;
        Ok(answer.output.report)
    }
}
