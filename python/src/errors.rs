//! Errors as Python knows them.
//!
//! | what | exception |
//! |---|---|
//! | no such file | `FileNotFoundError` |
//! | an argument that makes no sense | `ValueError`, `TypeError` |
//! | no trace, or one that cannot be read; an analysis that cannot answer | `OuzelError` |
//! | Ctrl-C | `KeyboardInterrupt` |
//! | data were lost, and the answer is from the rest | the warning `DataLostWarning` |

use ouzel::engine::PassError;
use ouzel::model::{Level, Notice};
use ouzel::{AskError, OpenError};
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyFileNotFoundError, PyUserWarning};
use pyo3::{PyResult, Python};
use std::ffi::CString;

create_exception!(
    ouzel,
    OuzelError,
    PyException,
    "A trace that cannot be read, or a question without an answer."
);
create_exception!(ouzel, DataLostWarning, PyUserWarning, "Data were lost: the answer is from the rest.");

/// Why a trace cannot be opened.
pub fn of_open(error: &OpenError) -> PyErr {
    match error {
        OpenError::NotFound(_) => PyFileNotFoundError::new_err(error.to_string()),
        _ => OuzelError::new_err(error.to_string()),
    }
}

/// Why a question has no answer. What Python raised on the way stays what it is.
pub fn of_ask(py: Python<'_>, error: &AskError) -> PyErr {
    let raised = match error {
        AskError::Pass(PassError::Elsewhere(error)) => error.downcast_ref::<PyErr>(),
        _ => None,
    };
    raised.map_or_else(|| OuzelError::new_err(error.to_string()), |error| error.clone_ref(py))
}

/// Warns if `notices` say that data were lost.
///
/// # Errors
/// If the user made errors of warnings.
pub fn warn(py: Python<'_>, notices: &[Notice]) -> PyResult<()> {
    let mut lost = notices.iter().filter(|notice| notice.level == Level::High);
    let Some(first) = lost.next() else { return Ok(()) };
    let file = first.file.as_deref().map(|file| format!("{file}: ")).unwrap_or_default();
    let more = match lost.count() {
        0 => String::new(),
        n => format!(", and {n} more such notices"),
    };
    let text = format!("not from all of the data: {file}{}{more}", first.message).replace('\0', "\u{fffd}");
    let text = CString::new(text).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<DataLostWarning>(), &text, 1)
}
