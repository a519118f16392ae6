//! The same trace, analysed on a cluster.

use crate::cluster::{Cluster, GROUP_BYTES};
use crate::selection::Selection;
use crate::trace::Trace;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.on")]
    #[pyo3(signature = (client, *, group_bytes=None, checkpoint=None, patience_s=60.0))]
    fn on(
        &self,
        py: Python<'_>,
        client: &Bound<'_, PyAny>,
        group_bytes: Option<u64>,
        checkpoint: Option<PathBuf>,
        patience_s: f64,
    ) -> PyResult<Trace> {
        let workers = if client.is_none() {
            None
        } else {
            if !(0.0..=f64::MAX).contains(&patience_s) {
                return Err(PyValueError::new_err("patience_s must be 0 or more"));
            }
            let path = std::path::absolute(self.inner.path())?;
            let module = py.import("ouzel._cluster")?;
            let object = module.call_method1("Cluster", (client, path, checkpoint, patience_s))?.unbind();
            Some(Cluster { object, group_bytes: group_bytes.unwrap_or(GROUP_BYTES) })
        };
        let selection = Selection { workers, ..self.selection.clone_ref(py) };
        Ok(Trace { inner: Arc::clone(&self.inner), selection })
    }
}
