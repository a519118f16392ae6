//! What is in a trace or a profile, in the shape of the JSON output.

use crate::errors;
use crate::profile::Profile;
use crate::trace::Trace;
use crate::value::to_python;
use ouzel::Found;
use ouzel_answers::{InfoAnswer, ProfileInfoAnswer};
use pyo3::prelude::*;
use serde::Serialize;

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.info")]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let answer = self.answer(py, ouzel::Trace::info)?;
        let trace = &*self.inner;
        let beside = py.detach(|| {
            let profile = Found::at(trace.path()).profile().ok()?;
            Some(ProfileInfoAnswer::new(&profile, ouzel::Options::default().jobs))
        });
        let beside =
            beside.map(|(beside, notices)| errors::warn(py, &notices).map(|()| beside)).transpose()?;
        // Commands are for the command line.
        shown(py, &InfoAnswer::new(trace, &answer, |_| Vec::new(), beside))
    }
}

#[pymethods]
impl Profile {
    #[doc = prose!("Profile.info")]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let profile = &*self.inner;
        let (answer, notices) = py.detach(|| ProfileInfoAnswer::new(profile, ouzel::Options::default().jobs));
        errors::warn(py, &notices)?;
        shown(py, &answer)
    }
}

/// A dictionary that people can read at a prompt.
fn shown<'py>(py: Python<'py>, answer: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    py.import("ouzel._info")?.getattr("Info")?.call1((to_python(py, answer)?,))
}
