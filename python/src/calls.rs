//! Calls, call paths and what counters gained in them, under the names that Pipit gave them.

use crate::errors;
use crate::table::Table;
use crate::trace::Trace;
use ouzel::Answer;
use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::call_tree::call_tree;
use ouzel::analyses::metric_profile::MetricProfile;
use ouzel::engine::AnalysisSet;
use ouzel::model::{MetricId, Table as ModelTable};
use pyo3::prelude::*;
use std::ops::ControlFlow;

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.calls")]
    #[pyo3(signature = (metrics=None))]
    fn calls(&self, py: Python<'_>, metrics: Option<Vec<String>>) -> PyResult<Table> {
        self.listed(py, metrics, |_| true)
    }

    #[doc = prose!("Trace.match_events")]
    fn match_events(&self, py: Python<'_>) -> PyResult<Table> {
        self.listed(py, None, |name| is_key(name) || matches!(name, "region" | "enter_ns" | "leave_ns"))
    }

    #[doc = prose!("Trace.match_caller_callee")]
    fn match_caller_callee(&self, py: Python<'_>) -> PyResult<Table> {
        let kept = ["parent", "depth", "n_children", "region", "enter_ns", "leave_ns"];
        self.listed(py, None, |name| is_key(name) || kept.contains(&name))
    }

    #[doc = prose!("Trace.calc_inc_metrics")]
    #[pyo3(signature = (metrics=None))]
    fn calc_inc_metrics(&self, py: Python<'_>, metrics: Option<Vec<String>>) -> PyResult<Table> {
        let is_kept = |name: &str| name == "inclusive_ns" || name.ends_with("_inclusive");
        self.listed(py, metrics, |name| is_key(name) || name == "region" || is_kept(name))
    }

    #[doc = prose!("Trace.calc_exc_metrics")]
    #[pyo3(signature = (metrics=None))]
    fn calc_exc_metrics(&self, py: Python<'_>, metrics: Option<Vec<String>>) -> PyResult<Table> {
        let is_kept = |name: &str| name == "exclusive_ns" || name.ends_with("_exclusive");
        self.listed(py, metrics, |name| is_key(name) || name == "region" || is_kept(name))
    }

    #[doc = prose!("Trace.create_cct")]
    #[pyo3(signature = (metrics=None))]
    fn create_cct(&self, py: Python<'_>, metrics: Option<Vec<String>>) -> PyResult<Table> {
        let chosen = self.counters(metrics)?;
        self.table(py, |trace, options| {
            let definitions = trace.definitions();
            let mut set = AnalysisSet::default();
            let profile = set.add(CallPathProfile);
            let counters = (!chosen.is_empty()).then(|| set.add(MetricProfile));
            let mut pass = trace.run(&set, options)?;
            let profile = pass.outputs.take(&profile)?;
            let counters = counters.map(|key| pass.outputs.take(&key)).transpose()?;
            let tree = call_tree(&profile, counters.as_ref(), &chosen, definitions);
            Ok(Answer::new(tree.table(definitions), pass))
        })
    }
}

/// Which call a row is.
fn is_key(name: &str) -> bool {
    matches!(name, "rank" | "thread" | "location" | "call")
}

impl Trace {
    /// The columns of the list of calls that are wanted.
    fn listed(
        &self,
        py: Python<'_>,
        metrics: Option<Vec<String>>,
        is_kept: impl Fn(&str) -> bool + Send + Sync,
    ) -> PyResult<Table> {
        let chosen = self.counters(metrics)?;
        self.table(py, |trace, options| {
            let mut whole: Option<ModelTable> = None;
            let answer = trace.calls(&chosen, options, |mut batch| {
                batch.columns.retain(|column| is_kept(&column.name));
                match &mut whole {
                    Some(whole) => whole.append(batch),
                    None => whole = Some(batch),
                }
                ControlFlow::Continue(())
            })?;
            Ok(answer.map(|_| whole.unwrap_or_else(|| ModelTable::new("calls"))))
        })
    }

    /// The counters of these names.
    pub(crate) fn counters(&self, names: Option<Vec<String>>) -> PyResult<Vec<MetricId>> {
        names.unwrap_or_default().iter().map(|name| self.counter(name)).collect()
    }

    /// The counter of this name.
    pub(crate) fn counter(&self, name: &str) -> PyResult<MetricId> {
        let metrics = &self.inner.definitions().metrics;
        let found = metrics.iter().position(|metric| *metric.name == *name && metric.is_counter());
        found.map(MetricId::from_index).ok_or_else(|| {
            let there: Vec<&str> =
                metrics.iter().filter(|metric| metric.is_counter()).map(|metric| &*metric.name).collect();
            errors::invalid(format!("no counter is called {name:?}; the trace has: {}", there.join(", ")))
        })
    }
}
