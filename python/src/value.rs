//! Nested results as Python's own dictionaries and lists, in the shape of the JSON output.

use crate::errors;
use pyo3::prelude::*;
use serde::Serialize;

/// Any result as Python values. Integers stay integers.
pub fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(errors::failed)?;
    py.import("json")?.call_method1("loads", (text,))
}
