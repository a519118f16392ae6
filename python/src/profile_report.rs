//! The report on a stored profile, in the shape of the JSON output.

use crate::arguments::semantics;
use crate::errors;
use crate::output;
use crate::profile::Profile;
use crate::value::to_python;
use ouzel::diagnose::ProfileReport;
use ouzel::model::Filter;
use ouzel::{Asked, Options};
use pyo3::prelude::*;
use std::path::PathBuf;

#[pymethods]
impl Profile {
    #[doc = prose!("Profile.report")]
    #[pyo3(signature = (*, rules=None))]
    fn report<'py>(&self, py: Python<'py>, rules: Option<PathBuf>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.profile_report(py, rules)?)
    }

    #[doc = prose!("Profile.save_report")]
    #[pyo3(signature = (path, *, rules=None, force=false))]
    #[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
    fn save_report(
        &self,
        py: Python<'_>,
        path: PathBuf,
        rules: Option<PathBuf>,
        force: bool,
    ) -> PyResult<()> {
        output::save_page(py, &path, force, || {
            let report = self.profile_report(py, rules)?;
            let asked = Asked::new(self.inner.path().display().to_string(), &Filter::default());
            Ok(ouzel_page::of_profile(&report, &asked))
        })
    }
}

impl Profile {
    fn profile_report(&self, py: Python<'_>, rules: Option<PathBuf>) -> PyResult<ProfileReport> {
        let semantics = semantics(rules)?;
        let jobs = Options::default().jobs;
        let found = py.detach(|| self.inner.report(&semantics, jobs));
        let (report, notices) = found.map_err(errors::failed)?;
        errors::warn(py, &notices)?;
        Ok(report)
    }
}
