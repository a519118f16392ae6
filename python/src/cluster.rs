//! Passes made by processes of a cluster: carries jobs to Python, where Dask takes them, and does the worker's part.
//!
//! ```text
//! client   ouzel::workers::Job ──bytes──► ouzel._cluster.Cluster.run: ticks of progress, at last the parts of the whole
//! worker   fold_group(job, path, locations) ──► rest and pieces of buckets, each as bytes
//!          merge_partials(job, rests) ──► rest;  settle_bucket(job, path, pieces) ──► settled bucket
//! ```
//!
//! Law: the interpreter lock is not held while anything is read, folded, merged or settled. For tasks see
//! `package/ouzel/_cluster.py`, for jobs `ouzel::workers`.

use crate::errors;
use crate::errors::OuzelError;
use ouzel::engine::Progress;
use ouzel::model::LocationId;
use ouzel::workers::{BUILD, Group, Job, JobError, Workers};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a group by default: half a second or more of folding from memory, a second or more from a file system at
/// 500 MB/s; the report takes 2 s. Chosen from the figures of docs/design/cluster.md, "What does a cluster cost?".
pub const GROUP_BYTES: u64 = 512 << 20;

/// The workers of a `distributed.Client`.
#[derive(Debug)]
pub struct Cluster {
    /// `ouzel._cluster.Cluster`
    pub object: Py<PyAny>,
    pub group_bytes: u64,
}

impl Cluster {
    /// Another handle on the same.
    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        Cluster { object: self.object.clone_ref(py), group_bytes: self.group_bytes }
    }
}

impl Cluster {
    /// Calls a function of Python for each of `work` on the workers.
    pub fn each<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        work: Bound<'py, PyList>,
        trace: &ouzel::Trace,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let fingerprint = trace.recorded_fingerprint().to_string();
        self.object.bind(function.py()).call_method1("each", (function, work, fingerprint))?.extract()
    }
}

/// A function of the module that knows Dask.
pub fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("ouzel._cluster")?.getattr(name)
}

impl Workers for Cluster {
    fn group_bytes(&self) -> u64 {
        self.group_bytes
    }

    fn run(
        &self,
        job: &Job,
        groups: &[Group],
        progress: Option<&Progress>,
    ) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        let bytes = job.encode()?;
        // What workers see before they repair clocks.
        let fingerprint = job.recorded_fingerprint().to_string();
        let groups: Vec<(Vec<u32>, u64)> = groups
            .iter()
            .map(|group| (group.locations.iter().map(|location| location.0).collect(), group.event_bytes))
            .collect();
        Python::attach(|py| {
            let arguments = (PyBytes::new(py, &bytes), fingerprint, groups, job.n_buckets());
            let run = self.object.bind(py).call_method1("run", arguments)?;
            for item in run.try_iter()? {
                let item = item?;
                if let Ok(parts) = item.cast::<PyList>() {
                    // Each is freed in Python as soon as it is here.
                    let take = |_| Ok(parts.call_method0("pop")?.cast::<PyBytes>()?.as_bytes().to_vec());
                    return (0..parts.len()).map(take).collect::<PyResult<_>>().map_err(Into::into);
                }
                let Some(progress) = progress else { continue };
                progress.add(item.extract()?);
                if progress.is_cancelled() {
                    // Takes back what was handed out.
                    run.call_method0("close")?;
                    return Err(OuzelError::new_err("cancelled").into());
                }
            }
            Err(OuzelError::new_err("internal error: a pass on a cluster ended without a result").into())
        })
    }
}

#[doc = prose!("build")]
#[pyfunction]
pub fn build() -> &'static str {
    BUILD
}

#[doc = prose!("fingerprint")]
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub fn fingerprint(py: Python<'_>, path: PathBuf, expected: &str) -> PyResult<String> {
    py.detach(|| {
        let opened =
            opened(&path, expected, |trace| trace).map_err(|error| errors::of_open(&error, &path))?;
        Ok(opened.fingerprint().to_string())
    })
}

#[doc = prose!("fold_group")]
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub fn fold_group<'py>(
    py: Python<'py>,
    job: &[u8],
    path: PathBuf,
    locations: Vec<u32>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let locations: Vec<LocationId> = locations.into_iter().map(LocationId).collect();
    let folded = guarded(py, || on_trace(job, &path, |job, trace| job.fold(trace, &locations)))?;
    Ok(folded.iter().map(|part| PyBytes::new(py, part)).collect())
}

#[doc = prose!("settle_bucket")]
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub fn settle_bucket<'py>(
    py: Python<'py>,
    job: &[u8],
    path: PathBuf,
    pieces: Vec<Bound<'py, PyBytes>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let pieces: Vec<&[u8]> = pieces.iter().map(PyBytesMethods::as_bytes).collect();
    let settled = guarded(py, || on_trace(job, &path, |job, trace| job.settle(trace, pieces)))?;
    Ok(PyBytes::new(py, &settled))
}

#[doc = prose!("merge_partials")]
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub fn merge_partials<'py>(
    py: Python<'py>,
    job: &[u8],
    partials: Vec<Bound<'py, PyBytes>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let partials: Vec<&[u8]> = partials.iter().map(PyBytesMethods::as_bytes).collect();
    let merge = || Job::decode(job).and_then(|job| job.merge(partials)).map_err(errors::failed);
    Ok(PyBytes::new(py, &guarded(py, merge)?))
}

/// Does a step without the interpreter lock. A fault of ours is an error like any other: a worker lives on.
fn guarded<T: Send>(py: Python<'_>, step: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(step))).unwrap_or_else(|panic| Err(errors::of_panic(&*panic)))
}

/// Does a step of a job on the trace at `path`.
fn on_trace<T>(
    job: &[u8],
    path: &Path,
    step: impl FnOnce(&Job, &ouzel::Trace) -> Result<T, JobError>,
) -> PyResult<T> {
    let job = Job::decode(job).map_err(errors::failed)?;
    let trace = opened(path, &job.fingerprint().to_string(), |trace| job.on_clocks(trace));
    let trace = trace.map_err(|error| errors::of_open(&error, path))?;
    step(&job, &trace).map_err(errors::failed)
}

/// Traces that this process has opened, the last used last. A worker opens a trace once and not for each task.
static OPENED: Mutex<Vec<Arc<ouzel::Trace>>> = Mutex::new(Vec::new());

/// How many traces a worker keeps open.
const N_OPENED_MAX: usize = 4;

/// The trace at `path` that is what is expected: one that was opened before, else it is opened and prepared anew.
pub fn opened(
    path: &Path,
    expected: &str,
    prepare: impl FnOnce(ouzel::Trace) -> ouzel::Trace,
) -> Result<Arc<ouzel::Trace>, ouzel::OpenError> {
    let mut traces = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it =
        |trace: &Arc<ouzel::Trace>| trace.path() == path && trace.fingerprint().to_string() == expected;
    let trace = match traces.iter().position(is_it) {
        Some(i) => traces.remove(i),
        None => Arc::new(prepare(ouzel::open(path)?)),
    };
    if traces.len() == N_OPENED_MAX {
        traces.remove(0);
    }
    traces.push(Arc::clone(&trace));
    Ok(trace)
}
