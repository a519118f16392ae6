//! An opened profile: severities by metric, call path and location, and what varies alike.

use crate::arguments::choice;
use crate::errors::{self, OuzelError};
use crate::table::Table;
use crate::trace::{MemoryLimit, Trace, limit_memory};
use crate::value::to_python;
use ouzel::analyses::severities::Grouping;
use ouzel::correlate::{CorrelateError, Peak, Weights};
use ouzel::model::{ColumnData, Notice, ProfileDefinitions, Scope, Table as Columns, Unit};
use ouzel::{Correlated, CorrelationError, CorrelationQuery, CorrelationRun, Spectra};
use ouzel_answers::{CorrelateAnswer, NoticeEntry, ProfileCoverage};
use ouzel_plot::fields::Solid;
use ouzel_plot::pictures::{CorrelationViews, correlation};
use ouzel_plot::{Palette, Picture};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::json;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

#[doc = prose!("Profile")]
#[pyclass(frozen, module = "ouzel")]
#[derive(Debug)]
pub struct Profile {
    pub(crate) inner: Arc<ouzel::Profile>,
}

#[doc = prose!("Correlations")]
#[pyclass(frozen, extends = Table, module = "ouzel")]
#[derive(Debug)]
pub struct Correlations {
    pub(crate) facts: Py<PyAny>,
}

#[doc = prose!("open_profile")]
#[pyfunction]
#[pyo3(signature = (path, *, memory_limit=None))]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub fn open_profile(py: Python<'_>, path: PathBuf, memory_limit: Option<MemoryLimit>) -> PyResult<Profile> {
    limit_memory(memory_limit)?;
    let inner = py.detach(|| ouzel::open_profile(&path)).map_err(|error| errors::of_open(&error, &path))?;
    crate::output::remember(&path);
    errors::warn(py, inner.notices())?;
    Ok(Profile { inner: Arc::new(inner) })
}

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.severity_cube")]
    fn severity_cube(&self, py: Python<'_>) -> PyResult<Profile> {
        let answer = self.answer(py, ouzel::Trace::severity_cube)?;
        Ok(Profile { inner: Arc::new(answer.output) })
    }
}

#[pymethods]
impl Correlations {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let facts = slf.get().facts.bind(slf.py()).clone();
        crate::pickle::of_table(slf.as_super(), "Correlations", facts)
    }

    #[doc = prose!("Correlations.facts")]
    #[getter]
    fn facts(&self, py: Python<'_>) -> Py<PyAny> {
        self.facts.clone_ref(py)
    }
}

#[pymethods]
impl Profile {
    #[doc = prose!("Profile.path")]
    #[getter]
    fn path(&self) -> PathBuf {
        self.inner.path().to_owned()
    }

    #[doc = prose!("Profile.format")]
    #[getter]
    fn format(&self) -> &'static str {
        self.inner.format().as_str()
    }

    #[doc = prose!("Profile.metrics")]
    #[getter]
    fn metrics(&self) -> Vec<String> {
        self.inner.definitions().metrics.iter().map(|metric| metric.name.to_string()).collect()
    }

    #[doc = prose!("Profile.notices")]
    #[getter]
    fn notices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &entries(self.inner.notices(), self.inner.definitions()))
    }

    #[doc = prose!("Profile.topologies")]
    #[getter]
    fn topologies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let n_defined = self.inner.definitions().topologies.len();
        let all = self.inner.topologies();
        let entry = |(i, topology): (usize, &ouzel::model::CartTopology)| {
            let axes: Vec<_> = topology
                .dimensions
                .iter()
                .map(|axis| json!({"name": axis.name, "size": axis.size, "periodic": axis.periodic}))
                .collect();
            let origin = if i < n_defined { "defined" } else { "system_tree" };
            json!({
                "name": topology.name, "origin": origin, "axes": axes,
                "members": topology.members.as_str(), "n_members": topology.members.len(),
            })
        };
        to_python(py, &all.iter().enumerate().map(entry).collect::<Vec<_>>())
    }

    #[doc = prose!("Profile.call_tree")]
    #[getter]
    fn call_tree(&self, py: Python<'_>) -> PyResult<Table> {
        let definitions = self.inner.definitions();
        let tree = &definitions.call_tree;
        let ids = tree.paths().map(|path| tree.node(path).native_id).collect();
        let depths = tree.paths().map(|path| tree.depth(path) as u64).collect();
        let names = tree.paths().map(|path| definitions.call_path_names(path)).collect();
        let table = Columns::new("call paths")
            .with(
                "call_path_id",
                Unit::None,
                "Id of the call path in the profile's file",
                ColumnData::U64(ids),
            )
            .with(
                "call_path",
                Unit::None,
                "Regions from the outermost to the innermost",
                ColumnData::TextList(names),
            )
            .with("depth", Unit::Count, "Number of callers", ColumnData::U64(depths));
        self.table(py, table, &[], None)
    }

    #[doc = prose!("Profile.severities")]
    #[pyo3(signature = (metric=None, *, scope="exclusive", by="region"))]
    fn severities(&self, py: Python<'_>, metric: Option<&str>, scope: &str, by: &str) -> PyResult<Table> {
        let profile = &*self.inner;
        let id = match metric {
            Some(name) => profile.metric(name).map_err(|error| of_correlation(&error))?,
            None => {
                profile.default_metric().ok_or_else(|| OuzelError::new_err("the profile has no metric"))?
            }
        };
        let scope = scope_of(scope)?;
        let by = choice("by", by, &[("call_path", Grouping::CallPath), ("region", Grouping::Region)])?;
        let answer = py.detach(|| profile.severities(id, scope, by)).map_err(errors::failed)?;
        self.table(py, answer.table(profile.definitions()), &answer.notices, None)
    }

    #[doc = prose!("Profile.call_path")]
    fn call_path<'py>(&self, py: Python<'py>, pattern: &str) -> PyResult<Bound<'py, PyAny>> {
        let definitions = self.inner.definitions();
        let path = self.inner.call_path(pattern).map_err(errors::invalid)?;
        let id = definitions.call_tree.node(path).native_id;
        to_python(py, &json!({"call_path_id": id, "call_path": definitions.call_path_names(path)}))
    }

    #[doc = prose!("Profile.correlate")]
    #[pyo3(signature = (
        metric=None, path=None, axes=None, top=20, *, scope="exclusive", topology=None, weights="poster",
        peak="absolute", cache=true, spectra=None, jobs=None, palette="cividis", draw="slices", views=3
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn correlate(
        &self,
        py: Python<'_>,
        metric: Option<String>,
        path: Option<String>,
        axes: Option<Vec<String>>,
        top: Option<usize>,
        scope: &str,
        topology: Option<String>,
        weights: &str,
        peak: &str,
        cache: bool,
        spectra: Option<PathBuf>,
        jobs: Option<usize>,
        palette: &str,
        draw: &str,
        views: usize,
    ) -> PyResult<Py<Correlations>> {
        let positive = |what: &str, n: Option<usize>| match n.map(NonZeroUsize::new) {
            None => Ok(None),
            Some(Some(n)) => Ok(Some(n)),
            Some(None) => Err(PyValueError::new_err(format!("{what} must be 1 or more"))),
        };
        let query = CorrelationQuery {
            metric,
            path,
            axes: axes.unwrap_or_default(),
            topology,
            top: positive("top", top)?,
            scope: scope_of(scope)?,
            weights: choice(
                "weights",
                weights,
                &[("poster", Weights::Poster), ("physical", Weights::Physical)],
            )?,
            peak: choice("peak", peak, &[("absolute", Peak::Absolute), ("max", Peak::Greatest)])?,
        };
        let palettes = [
            ("cividis", Palette::Cividis),
            ("viridis", Palette::Viridis),
            ("green-yellow-red", Palette::GreenYellowRed),
        ];
        let style = (
            choice("palette", palette, &palettes)?,
            choice("draw", draw, &[("slices", Solid::Slices), ("cubes", Solid::Cubes)])?,
        );
        let jobs = positive("jobs", jobs)?.unwrap_or(ouzel::Options::default().jobs);
        let spectra = match spectra {
            Some(file) => Spectra::In(file),
            None if cache => Spectra::Keep,
            None => Spectra::Forget,
        };
        let profile = &*self.inner;
        let (found, picture) = cancellable(py, |progress| {
            let run = CorrelationRun { jobs, spectra: &spectra, progress: Some(progress) };
            let found = profile.correlate(&query, &run)?;
            let picture = picture(profile, &found, views, style)?;
            Ok((found, picture))
        })?
        .map_err(|error: CorrelationError| of_correlation(&error))?;
        errors::warn(py, &found.notices)?;
        let table = self.table(py, found.table(profile.definitions()), &found.notices, Some(picture))?;
        let facts = to_python(py, &CorrelateAnswer::new(profile.definitions(), &found))?;
        // The rows are those of the table.
        facts.del_item("rows")?;
        let facts = facts.unbind();
        Py::new(py, PyClassInitializer::from(table).add_subclass(Correlations { facts }))
    }

    fn __repr__(&self) -> String {
        let definitions = self.inner.definitions();
        format!(
            "<ouzel.Profile {:?}: {}, {} metrics, {} call paths, {} locations>",
            self.inner.path(),
            self.inner.format().as_str(),
            definitions.metrics.len(),
            definitions.call_tree.len(),
            definitions.locations.len()
        )
    }
}

impl Profile {
    /// A table of an answer, with what went wrong in opening and in `more`.
    fn table(
        &self,
        py: Python<'_>,
        table: Columns,
        more: &[Notice],
        picture: Option<Picture>,
    ) -> PyResult<Table> {
        let definitions = self.inner.definitions();
        let notices = [self.inner.notices(), more].concat();
        let coverage = serde_json::to_value(ProfileCoverage::of(&self.inner)).map_err(errors::failed)?;
        let table = Table::from_parts(py, table, &entries(&notices, definitions), &coverage)?;
        Ok(table.with_picture(picture))
    }
}

fn entries(notices: &[Notice], definitions: &ProfileDefinitions) -> Vec<NoticeEntry> {
    let entry = |notice: &Notice| NoticeEntry::new(notice, &definitions.locations);
    notices.iter().map(entry).collect()
}

fn scope_of(scope: &str) -> PyResult<Scope> {
    choice("scope", scope, &[("exclusive", Scope::Exclusive), ("inclusive", Scope::Inclusive)])
}

/// The reference and its first partners side by side.
fn picture(
    profile: &ouzel::Profile,
    found: &Correlated,
    n_views: usize,
    style: (Palette, Solid),
) -> Result<Picture, CorrelateError> {
    let mut partners = Vec::new();
    for row in found.answer.rows.iter().take(n_views) {
        partners.push((row, profile.on_grid(found, row.view)?));
    }
    let views = CorrelationViews {
        definitions: profile.definitions(),
        grid: &found.grid,
        question: &found.question,
        reference: profile.on_grid(found, found.question.reference)?,
        partners,
    };
    Ok(correlation(views, &ouzel_plot::style::short_name(profile.path()), style))
}

/// A name that means nothing is a wrong value; anything else is trouble with the profile.
fn of_correlation(error: &CorrelationError) -> PyErr {
    match error {
        CorrelationError::UnknownMetric { .. }
        | CorrelationError::UnknownTopology { .. }
        | CorrelationError::CallPath(_)
        | CorrelationError::Shape(_)
        | CorrelationError::Axis(_) => errors::invalid(error),
        _ => errors::failed(error),
    }
}

/// How long Ctrl-C may go unnoticed.
const POLL: Duration = Duration::from_millis(50);

/// Runs `work` while Python continues; Ctrl-C makes its progress function return `false`, and is raised afterwards.
fn cancellable<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&(dyn Fn(u64, u64) -> bool + Sync)) -> T + Send,
) -> PyResult<T> {
    let goes_on = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let (sender, mut receiver) = sync_channel(1);
        let goes_on = &goes_on;
        scope.spawn(move || {
            // The other side waits until the result is there.
            let work = || work(&|_, _| goes_on.load(Ordering::Relaxed));
            let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
        });
        loop {
            let waiting = &mut receiver;
            match py.detach(move || waiting.recv_timeout(POLL)) {
                Ok(result) => return result.map_err(|panic| errors::of_panic(&*panic)),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = py.check_signals() {
                        goes_on.store(false, Ordering::Relaxed);
                        py.detach(move || drop(receiver.recv()));
                        return Err(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(OuzelError::new_err("internal error: the work ended without a result"));
                }
            }
        }
    })
}
