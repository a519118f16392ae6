//! Calls, call paths and what counters gained in them, under the names that Pipit gave them.

use crate::cluster;
use crate::errors;
use crate::table::Table;
use crate::trace::Trace;
use ouzel::model::{MetricId, RankSet, Table as ModelTable};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

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
            Ok(trace.call_tree(&chosen, options)?.map(|tree| tree.table(trace.definitions())))
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
        if let Some(parts) = self.parts(py).filter(|parts| 1 < parts.len()) {
            return self.listed_by_workers(py, &parts, metrics.as_deref(), is_kept);
        }
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

    /// On a cluster, the trace in parts: one for each rank, in the order of their locations. `None` if locations have no
    /// rank, or those of a rank are not together.
    fn parts(&self, py: Python<'_>) -> Option<Vec<Trace>> {
        self.selection.workers.as_ref()?;
        let definitions = self.inner.definitions();
        let locations = self.selection.filter.resolve(definitions).locations;
        let ranks: Option<Vec<u32>> =
            locations.iter().map(|&id| definitions.location(id).rank.map(|rank| rank.0)).collect();
        let mut ranks = ranks?;
        ranks.dedup();
        let is_divided = ranks.len() != ranks.iter().collect::<BTreeSet<_>>().len();
        let part = |rank: u32| {
            let mut selection = self.selection.clone_ref(py);
            selection.filter.ranks = Some(RankSet::from_ranges(&[(rank, rank)]));
            Trace { inner: Arc::clone(&self.inner), selection }
        };
        (!is_divided).then(|| ranks.into_iter().map(part).collect())
    }

    /// The same, each part by a task of its own.
    fn listed_by_workers(
        &self,
        py: Python<'_>,
        parts: &[Trace],
        metrics: Option<&[String]>,
        is_kept: impl Fn(&str) -> bool,
    ) -> PyResult<Table> {
        // An unknown counter is an error before anything is handed out.
        self.counters(metrics.map(<[String]>::to_vec))?;
        let Some(cluster) = &self.selection.workers else {
            return Err(errors::OuzelError::new_err("internal error: no cluster"));
        };
        let work = PyList::empty(py);
        for part in parts {
            let selection = part.selection.clone_ref(py);
            let part = Bound::new(py, Trace { inner: Arc::clone(&part.inner), selection })?;
            work.append((part, "calls", (metrics,)))?;
        }
        let tables = cluster.each(&cluster::helper(py, "asked")?, work, &self.inner)?;
        let mut whole: Option<ModelTable> = None;
        for table in &tables {
            let mut batch = table.cast::<Table>()?.get().table.clone();
            batch.columns.retain(|column| is_kept(&column.name));
            match &mut whole {
                // A rank without calls has a table without columns.
                Some(whole) if !batch.columns.is_empty() => whole.append(batch),
                None if !batch.columns.is_empty() => whole = Some(batch),
                _ => {}
            }
        }
        let (notices, coverage) =
            cluster::helper(py, "joined")?.call1((tables, self.notices(py)?))?.extract()?;
        let whole = whole.unwrap_or_else(|| ModelTable::new("calls"));
        Ok(Table::from_state(whole, notices, coverage, None))
    }

    /// The counters of these names.
    pub(crate) fn counters(&self, names: Option<Vec<String>>) -> PyResult<Vec<MetricId>> {
        names.unwrap_or_default().iter().map(|name| self.counter(name)).collect()
    }

    /// The metrics of these names, whether they are counters or not.
    pub(crate) fn metrics_named(&self, names: Option<Vec<String>>) -> PyResult<Vec<MetricId>> {
        let metrics = &self.inner.definitions().metrics;
        let find = |name: &String| {
            let found = metrics.iter().position(|metric| *metric.name == **name);
            found.map(MetricId::from_index).ok_or_else(|| {
                let there: Vec<&str> = metrics.iter().map(|metric| &*metric.name).collect();
                errors::invalid(format!("no metric is called {name:?}; the trace has: {}", there.join(", ")))
            })
        };
        names.unwrap_or_default().iter().map(find).collect()
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
