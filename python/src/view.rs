//! `Trace.view`: the viewer's server, with what is selected.

use crate::trace::Trace;
use ouzel::model::Filter;
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
        let mut words = words(&self.selection.filter);
        words.push(format!("--idle={idle}").into());
        words.extend(self.selection.jobs.map(|jobs| format!("--jobs={jobs}").into()));
        words.extend(port.map(|port| format!("--port={port}").into()));
        words.push("--".into());
        words.push(self.path().into());
        words.extend(others.unwrap_or_default().into_iter().map(OsString::from));
        py.import("ouzel._view")?.getattr("View")?.call1((words,))
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
