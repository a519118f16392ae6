//! Efficiencies of one run, and of several side by side.

use crate::arguments::{choice, period, sampled, semantics};
use crate::compare::{Gathered, gathered};
use crate::table::Table;
use crate::trace::Trace;
use ouzel::efficiency::{Efficiencies, HybridModel, PartKind, Scaling};
use ouzel::{Answer, EfficiencyQuery};
use ouzel_plot::pictures;
use pyo3::prelude::*;
use std::path::PathBuf;

fn query(per: Option<&str>, hybrid: Option<&str>, rules: Option<PathBuf>) -> PyResult<EfficiencyQuery> {
    let models = HybridModel::ALL.map(|model| (model.as_str(), model));
    let kinds = PartKind::ALL.map(|kind| (kind.as_str(), kind));
    Ok(EfficiencyQuery {
        semantics: semantics(rules)?,
        hybrid: hybrid.map(|given| choice("hybrid", given, &models)).transpose()?,
        per: per.map(|given| choice("per", given, &kinds)).transpose()?,
    })
}

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.efficiency")]
    #[pyo3(signature = (*, per=None, hybrid=None, rules=None, period_ns=None))]
    fn efficiency(
        &self,
        py: Python<'_>,
        per: Option<&str>,
        hybrid: Option<&str>,
        rules: Option<PathBuf>,
        period_ns: Option<u64>,
    ) -> PyResult<Table> {
        let (query, period) = (query(per, hybrid, rules)?, period(period_ns)?);
        let origin = self.origin();
        self.drawn(py, |trace, options| {
            Ok(trace.efficiency(&query, &sampled(options, trace, period))?.map(|run| {
                let all = Efficiencies::new(vec![(origin.as_str().into(), run)], None);
                (all.table(), pictures::efficiencies(&all, &origin))
            }))
        })
    }
}

#[doc = prose!("efficiencies")]
#[pyfunction]
#[pyo3(signature = (traces, names=None, *, per=None, hybrid=None, scaling=None, rules=None, period_ns=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn efficiencies(
    py: Python<'_>,
    traces: Vec<PyRef<'_, Trace>>,
    names: Option<Vec<String>>,
    per: Option<&str>,
    hybrid: Option<&str>,
    scaling: Option<&str>,
    rules: Option<PathBuf>,
    period_ns: Option<u64>,
) -> PyResult<Table> {
    let (query, period) = (query(per, hybrid, rules)?, period(period_ns)?);
    let known = [Scaling::Strong, Scaling::Weak].map(|scaling| (scaling.as_str(), scaling));
    let stated = scaling.map(|given| choice("scaling", given, &known)).transpose()?;
    let all = gathered(py, traces, names, |(_, name), trace, options| {
        Ok(trace.efficiency(&query, &sampled(options, trace, period))?.map(|run| (name.into(), run)))
    })?;
    let Gathered { first, outputs, coverage, notices } = all;
    let all = Efficiencies::new(outputs, stated);
    let answer = Answer { output: all.table(), coverage, run_range: None, notices };
    let picture = pictures::efficiencies(&all, &ouzel_plot::style::short_name(first.path()));
    Ok(Table::new(py, answer, first.definitions())?.with_picture(Some(picture)))
}
