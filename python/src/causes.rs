//! Bottlenecks of a profile and what explains them.

use crate::arguments::{choice, semantics};
use crate::errors;
use crate::profile::Profile;
use crate::value::to_python;
use ouzel::causes::clusters::Clustering;
use ouzel::causes::{CausesError, Options};
use ouzel::model::RankSet;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[pymethods]
impl Profile {
    #[doc = prose!("Profile.causes")]
    #[pyo3(signature = (
        metric=None, *, exclude=None, clustering="ball", with_communication=false, printed_rates=false,
        rules=None, jobs=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn causes<'py>(
        &self,
        py: Python<'py>,
        metric: Option<&str>,
        exclude: Option<&str>,
        clustering: &str,
        with_communication: bool,
        printed_rates: bool,
        rules: Option<PathBuf>,
        jobs: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let exclude: Option<RankSet> = exclude.map(str::parse).transpose().map_err(PyValueError::new_err)?;
        let clusterings = [("ball", Clustering::Ball), ("dbscan", Clustering::Density)];
        let jobs = match jobs.map(NonZeroUsize::new) {
            None => ouzel::Options::default().jobs,
            Some(Some(jobs)) => jobs,
            Some(None) => return Err(PyValueError::new_err("jobs must be 1 or more")),
        };
        let options = Options {
            metric,
            exclude: exclude.as_ref(),
            clustering: choice("clustering", clustering, &clusterings)?,
            waiting: &[],
            printed_rates,
            jobs,
            ..Options::default()
        };
        let semantics = semantics(rules)?;
        let semantics = (!with_communication).then_some(&semantics);
        let profile = &*self.inner;
        let found = py.detach(|| profile.causes(semantics, &options)).map_err(|error| of_causes(&error))?;
        errors::warn(py, &found.notices)?;
        to_python(py, &found)
    }
}

/// A metric that is none is a wrong value; anything else is trouble with the profile.
fn of_causes(error: &CausesError) -> PyErr {
    match error {
        CausesError::NoSuchMetric { .. } | CausesError::NotSummed { .. } | CausesError::NoProcess => {
            errors::invalid(error)
        }
        _ => errors::failed(error),
    }
}
