//! Errors as Python knows them.
//!
//! | what | exception |
//! |---|---|
//! | no such file | `FileNotFoundError` |
//! | an argument that makes no sense | `ValueError`, `TypeError` |
//! | no trace, or one that cannot be read; an analysis that cannot answer | `OuzelError` |
//! | Ctrl-C | `KeyboardInterrupt` |

use ouzel::{AskError, OpenError};
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyFileNotFoundError};

create_exception!(
    ouzel,
    OuzelError,
    PyException,
    "A trace that cannot be read, or a question without an answer."
);

/// Why a trace cannot be opened.
pub fn of_open(error: &OpenError) -> PyErr {
    match error {
        OpenError::NotFound(_) => PyFileNotFoundError::new_err(error.to_string()),
        OpenError::NotATrace { .. } | OpenError::Otf2(_) => OuzelError::new_err(error.to_string()),
    }
}

/// Why a question has no answer.
pub fn of_ask(error: &AskError) -> PyErr {
    OuzelError::new_err(error.to_string())
}
