//! The results of the diagnosis, in the shape of the JSON output.

use crate::arguments::{period, sampled, semantics};
use crate::output;
use crate::table::Table;
use crate::trace::Trace;
use crate::value::to_python;
use ouzel::Asked;
use ouzel::diagnose::RunReport;
use ouzel::diagnose::segments::{Detail, Which};
use ouzel::engine::AnalysisSet;
use pyo3::prelude::*;
use std::path::PathBuf;

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.report")]
    #[pyo3(signature = (*, rules=None, period_ns=None))]
    fn report<'py>(
        &self,
        py: Python<'py>,
        rules: Option<PathBuf>,
        period_ns: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.run_report(py, rules, period_ns)?)
    }

    #[doc = prose!("Trace.save_report")]
    #[pyo3(signature = (path, *, rules=None, period_ns=None, force=false))]
    #[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
    fn save_report(
        &self,
        py: Python<'_>,
        path: PathBuf,
        rules: Option<PathBuf>,
        period_ns: Option<u64>,
        force: bool,
    ) -> PyResult<()> {
        let (semantics, period) = (semantics(rules)?, period(period_ns)?);
        output::save_page(py, &path, force, || {
            let answer = self.answer(py, |trace, options| {
                let asked = Asked::new(trace.path().display().to_string(), &options.filter);
                ouzel_page::of_trace(trace, &semantics, &asked, &sampled(options, trace, period))
            })?;
            Ok(answer.output)
        })
    }

    #[doc = prose!("Trace.findings")]
    #[pyo3(signature = (*, rules=None, period_ns=None))]
    fn findings<'py>(
        &self,
        py: Python<'py>,
        rules: Option<PathBuf>,
        period_ns: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.run_report(py, rules, period_ns)?.findings)
    }

    #[doc = prose!("Trace.segments")]
    #[pyo3(signature = (*, all=false, rules=None, period_ns=None))]
    fn segments<'py>(
        &self,
        py: Python<'py>,
        all: bool,
        rules: Option<PathBuf>,
        period_ns: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (semantics, period) = (semantics(rules)?, period(period_ns)?);
        let which = if all { Which::All } else { Which::Reported };
        let what = (which, Detail::Iterations);
        let answer = self.answer(py, |trace, options| {
            trace.segments(&semantics, what, &sampled(options, trace, period))
        })?;
        to_python(py, &answer.output.segments)
    }

    #[doc = prose!("Trace.clusters")]
    #[pyo3(signature = (*, rules=None, period_ns=None))]
    fn clusters<'py>(
        &self,
        py: Python<'py>,
        rules: Option<PathBuf>,
        period_ns: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (semantics, period) = (semantics(rules)?, period(period_ns)?);
        let answer =
            self.answer(py, |trace, options| trace.clusters(&semantics, &sampled(options, trace, period)))?;
        to_python(py, &answer.output.clusters)
    }

    #[doc = prose!("Trace.iterations")]
    #[pyo3(signature = (*, table=false, rules=None, period_ns=None))]
    fn iterations<'py>(
        &self,
        py: Python<'py>,
        table: bool,
        rules: Option<PathBuf>,
        period_ns: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (semantics, period) = (semantics(rules)?, period(period_ns)?);
        let answer =
            self.answer(py, |trace, options| trace.iterations(&semantics, &sampled(options, trace, period)))?;
        if table {
            let table =
                Table::new(py, answer.map(|iterations| iterations.table()), self.inner.definitions())?;
            return Ok(Bound::new(py, table)?.into_any());
        }
        to_python(py, &answer.output.loops)
    }
}

impl Trace {
    fn run_report(
        &self,
        py: Python<'_>,
        rules: Option<PathBuf>,
        period_ns: Option<u64>,
    ) -> PyResult<RunReport> {
        let (semantics, period) = (semantics(rules)?, period(period_ns)?);
        let answer = self.answer(py, |trace, options| {
            trace.diagnose(&semantics, AnalysisSet::default(), &sampled(options, trace, period))
        })?;
        Ok(answer.output.report)
    }
}
