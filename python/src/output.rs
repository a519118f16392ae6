//! Output files: complete or absent, never over an input, over other files only with `force=True`.
//!
//! Law: every trace and profile that this process has opened counts as an input, whichever object writes.

use crate::errors::OuzelError;
use ouzel_files::Inputs;
use ouzel_files::output::{Existing, OutputError, Target};
use pyo3::exceptions::{PyFileExistsError, PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What was opened, by absolute paths.
static OPENED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Remembers that `path` was opened.
pub fn remember(path: &Path) {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    OPENED.lock().unwrap_or_else(PoisonError::into_inner).insert(path);
}

/// Where `path` may be written.
///
/// # Errors
/// If it is an input, exists and must be kept, is no regular file, or cannot be written.
pub fn target(path: &Path, force: bool) -> PyResult<Target> {
    Target::file(path, existing(force), &inputs()).map_err(of_output)
}

/// Everything that this process has opened.
pub fn inputs() -> Inputs {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut inputs = Inputs::default();
    opened.iter().for_each(|path| inputs.extend(ouzel::inputs(path)));
    inputs
}

/// What happens to a file that is there.
pub fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::Keep }
}

/// Why something is not written.
pub fn of_output(error: OutputError) -> PyErr {
    match error {
        OutputError::Exists(path) => {
            PyFileExistsError::new_err(format!("{path:?} already exists: force=True replaces it"))
        }
        OutputError::Input { .. } => PyValueError::new_err(error.to_string()),
        OutputError::NotRegular { .. } | OutputError::Foreign { .. } => PyOSError::new_err(error.to_string()),
        OutputError::Io { ref source, .. } => io::Error::new(source.kind(), error.to_string()).into(),
    }
}

#[doc = prose!("check_output")]
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub fn check_output(py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
    py.detach(|| target(&path, force)).map(drop)
}

#[doc = prose!("write_output")]
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub fn write_output(py: Python<'_>, path: PathBuf, text: &str, force: bool) -> PyResult<()> {
    py.detach(|| target(&path, force)?.write(text.as_bytes()).map_err(of_output))
}

/// Writes the page of a report. Where it may not be written, nothing is asked.
pub fn save_page(
    py: Python<'_>,
    path: &Path,
    force: bool,
    page: impl FnOnce() -> PyResult<String>,
) -> PyResult<()> {
    let target = py.detach(|| target(path, force))?;
    let page = page()?;
    py.detach(|| target.write(page.as_bytes()).map_err(of_output))
}

/// Writes a picture in the format of the file name's ending.
///
/// # Errors
/// As [`target`]; if the ending is unknown, or the picture cannot be drawn.
pub fn save(picture: &ouzel_plot::Picture, path: &Path, force: bool) -> PyResult<()> {
    let drawn = |error: ouzel_plot::PlotError| OuzelError::new_err(error.to_string());
    let format = ouzel_plot::ImageFormat::of_path(path).map_err(drawn)?;
    let target = target(path, force)?;
    target.write(&picture.bytes(format).map_err(drawn)?).map_err(of_output)
}
