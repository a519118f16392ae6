//! Pictures that can be styled, shown, written, and put into figures of matplotlib.

use crate::errors;
use crate::frames::helper;
use crate::output;
use ouzel_plot::colour::Colour;
use ouzel_plot::style::SIZES;
use ouzel_plot::{Colours, Palette};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[doc = prose!("Picture")]
#[pyclass(frozen, module = "ouzel")]
#[derive(Debug)]
pub struct Picture {
    inner: ouzel_plot::Picture,
}

impl Picture {
    pub fn new(inner: ouzel_plot::Picture) -> Self {
        Picture { inner }
    }
}

#[pymethods]
impl Picture {
    #[doc = prose!("Picture.svg")]
    #[getter]
    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.inner.svg()).map_err(errors::failed)
    }

    #[doc = prose!("Picture.png")]
    #[getter]
    fn png<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.inner.png()).map_err(errors::failed)?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[doc = prose!("Picture.save")]
    #[pyo3(signature = (path, *, force=false))]
    #[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        py.detach(|| output::save(&self.inner, &path, force))
    }

    #[doc = prose!("Picture.to_matplotlib")]
    fn to_matplotlib<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        helper(slf.py(), "figure")?.call1((slf.get().png(slf.py())?,))
    }

    fn _repr_svg_(&self, py: Python<'_>) -> PyResult<String> {
        self.svg(py)
    }
}

/// Fails for a size that no picture has.
pub fn check_size(width: Option<u32>, height: Option<u32>) -> PyResult<()> {
    let (least, most) = SIZES;
    for (name, size) in [("width", width), ("height", height)] {
        if size.is_some_and(|size| !(least..=most).contains(&size)) {
            return Err(PyValueError::new_err(format!("{name} must be from {least} to {most} points")));
        }
    }
    Ok(())
}

/// `"viridis"`, `["#4477aa", "#ee6677"]` or `{"solve": "#4477aa"}`.
pub fn colours(palette: &Bound<'_, PyAny>) -> PyResult<Colours> {
    let css = |text: &String| {
        let wrong = || PyValueError::new_err(format!("palette: {text:?} is no colour such as \"#4477aa\""));
        Colour::from_css(text).ok_or_else(wrong)
    };
    if let Ok(name) = palette.extract::<String>() {
        let scales = [
            ("cividis", Palette::Cividis),
            ("viridis", Palette::Viridis),
            ("green-yellow-red", Palette::GreenYellowRed),
        ];
        return crate::arguments::choice("palette", &name, &scales).map(Colours::Scale);
    }
    if let Ok(named) = palette.extract::<BTreeMap<String, String>>() {
        let named = named.into_iter().map(|(name, text)| Ok((name, css(&text)?)));
        return Ok(Colours::Named(named.collect::<PyResult<_>>()?));
    }
    let wrong = |_| PyTypeError::new_err("palette must be a name, colours, or colours by name");
    let list = palette.extract::<Vec<String>>().map_err(wrong)?;
    Ok(Colours::List(list.iter().map(css).collect::<PyResult<_>>()?))
}
