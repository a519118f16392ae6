//! Errors as Python knows them.
//!
//! | what | exception |
//! |---|---|
//! | no such file | `FileNotFoundError` |
//! | a file or directory that may not be read | `PermissionError` |
//! | an argument that makes no sense | `ValueError`, `TypeError` |
//! | no trace, or one that cannot be read; an analysis that cannot answer | `OuzelError` |
//! | Ctrl-C | `KeyboardInterrupt` |
//! | data were lost, and the answer is from the rest | the warning `DataLostWarning` |
//! | the selection names what the trace does not have | the warning `SelectionWarning` |

use ouzel::engine::PassError;
use ouzel::model::{Level, Notice, NoticeCode, visible};
use ouzel::{AskError, OpenError};
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyFileNotFoundError, PyPermissionError, PyUserWarning, PyValueError};
use pyo3::{PyResult, PyTypeInfo, Python};
use std::any::Any;
use std::ffi::CString;
use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;

create_exception!(ouzel, OuzelError, PyException, prose!("OuzelError"));
create_exception!(ouzel, DataLostWarning, PyUserWarning, prose!("DataLostWarning"));
create_exception!(ouzel, SelectionWarning, PyUserWarning, prose!("SelectionWarning"));

/// Why the trace or profile at `path` cannot be opened: the operating system's reason for the file if there is one.
pub fn of_open(error: &OpenError, path: &Path) -> PyErr {
    let reason = match path.metadata() {
        Ok(found) if found.is_dir() => std::fs::read_dir(path).err(),
        Ok(_) => ouzel_files::input::open(path).err(),
        Err(reason) => Some(reason),
    };
    match (reason, error) {
        (None, _) => failed(error),
        (Some(reason), _) if reason.kind() == ErrorKind::PermissionDenied => {
            PyPermissionError::new_err(format!("{path:?}: permission denied"))
        }
        // A stem need not exist: the error about what was found is more precise.
        (Some(reason), OpenError::NotFound(_) | OpenError::NotATrace { .. })
            if reason.kind() == ErrorKind::NotFound =>
        {
            PyFileNotFoundError::new_err(format!("{path:?}: there is no such file or directory"))
        }
        (Some(reason), _) if reason.kind() == ErrorKind::NotFound => failed(error),
        (Some(reason), _) => OuzelError::new_err(format!("{path:?}: {reason}")),
    }
}

/// An error as text that is safe for a terminal.
pub fn failed(error: impl Display) -> PyErr {
    OuzelError::new_err(shown(error))
}

/// The same for an argument that makes no sense.
pub fn invalid(error: impl Display) -> PyErr {
    PyValueError::new_err(shown(error))
}

fn shown(error: impl Display) -> String {
    visible(&error.to_string()).into_owned()
}

/// A panic: a fault of ours.
pub fn of_panic(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    failed(format!("internal error: {}", text.unwrap_or("no message")))
}

/// Why a question has no answer. Python exceptions raised on the way are kept.
pub fn of_ask(py: Python<'_>, error: &AskError) -> PyErr {
    let raised = match error {
        AskError::Pass(PassError::Elsewhere(error)) => error.downcast_ref::<PyErr>(),
        _ => None,
    };
    raised.map_or_else(|| failed(error), |error| error.clone_ref(py))
}

/// Warns if `notices` report lost data, or an empty selection.
///
/// # Errors
/// If the user turned warnings into errors.
pub fn warn(py: Python<'_>, notices: &[Notice]) -> PyResult<()> {
    let is_lost = |notice: &&Notice| notice.level == Level::High;
    warn_of::<DataLostWarning>(py, "based on incomplete data: ", notices.iter().filter(is_lost))?;
    let is_empty = |notice: &&Notice| notice.code == NoticeCode::EmptySelection;
    warn_of::<SelectionWarning>(py, "", notices.iter().filter(is_empty))
}

fn warn_of<'n, W: PyTypeInfo>(
    py: Python<'_>,
    before: &str,
    mut notices: impl Iterator<Item = &'n Notice>,
) -> PyResult<()> {
    let Some(first) = notices.next() else { return Ok(()) };
    let file = first.file.as_deref().map(|file| format!("{file}: ")).unwrap_or_default();
    let more = match notices.count() {
        0 => String::new(),
        n => format!(", and {n} more such notices"),
    };
    let text = format!("{before}{file}{}{more}", first.message);
    let text = CString::new(&*visible(&text)).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<W>(), &text, 1)
}
