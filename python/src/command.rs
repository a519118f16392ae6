//! The command `ouzel` of the package: the same program as the binary.

use pyo3::prelude::*;
use std::ffi::OsString;

#[doc = prose!("run_command")]
#[pyfunction]
pub fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| ouzel_cli::program_of(words))
}
