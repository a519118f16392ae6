//! `Trace.view`: the viewer's server, with what is selected.

use crate::trace::Trace;
use ouzel::model::{Filter, WorldRank};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.view")]
    #[pyo3(signature = (others=None, *, port=None, idle="2h"))]
    fn view<'py>(
        &self,
        py: Python<'py>,
        others: Option<Vec<PathBuf>>,
        port: Option<u16>,
        idle: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.viewed(py, others.unwrap_or_default(), port, idle, "")
    }
}

impl Trace {
    /// A server for what is selected, and a page that begins with the state of `hash`.
    pub(crate) fn viewed<'py>(
        &self,
        py: Python<'py>,
        others: Vec<PathBuf>,
        port: Option<u16>,
        idle: &str,
        hash: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut words = words(&self.selection.filter);
        words.push(format!("--idle={idle}").into());
        words.extend(self.selection.jobs.map(|jobs| format!("--jobs={jobs}").into()));
        words.extend(port.map(|port| format!("--port={port}").into()));
        words.push("--".into());
        words.push(self.path().into());
        words.extend(others.into_iter().map(OsString::from));
        py.import("ouzel._view")?.getattr("View")?.call1((words, self.origin(), hash))
    }

    /// The state of a page that begins with the timeline alone.
    pub(crate) fn timeline_hash(&self, depth: bool, messages: bool, critical_path: bool) -> String {
        let mut hash = "#view=timeline".to_owned();
        let ranks = &self.selection.filter.ranks;
        let selected = |rank: &WorldRank| ranks.as_ref().is_none_or(|ranks| ranks.contains(*rank));
        if let Some(rank) = self.inner.definitions().ranks().into_iter().find(selected).filter(|_| depth) {
            hash.push_str(&format!("&expanded={}", rank.0));
        }
        hash.push_str(if messages { "&messages=true" } else { "" });
        hash.push_str(if critical_path { "&critical_path=true" } else { "" });
        hash
    }
}

/// The selection as options of the command line.
fn words(filter: &Filter) -> Vec<OsString> {
    let mut words = Vec::new();
    words.extend(filter.ranks.as_ref().map(|ranks| format!("--ranks={ranks}").into()));
    if let Some((start, end)) = filter.time_ns {
        let end = if end == u64::MAX { String::new() } else { format!("{end}ns") };
        words.push(format!("--time={start}ns..{end}").into());
    }
    words.extend(filter.regions.iter().map(|region| format!("--region={region}").into()));
    words.extend(filter.predicate.as_ref().map(|predicate| format!("--where={predicate}").into()));
    words
}
