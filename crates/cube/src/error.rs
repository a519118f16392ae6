//! What cannot be read, and where.

use std::sync::Arc;

/// Why a profile cannot be read, and where that begins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}+{offset:#x}: {reason}")]
pub struct CubeError {
    /// The file, with the member of the archive after `:`.
    pub file: Arc<str>,
    /// Byte offset in the file or member.
    pub offset: u64,
    /// The broken rule, in lower case, without full stop.
    pub reason: String,
}

impl CubeError {
    /// An error at an offset.
    pub fn new(file: &Arc<str>, offset: u64, reason: impl Into<String>) -> Self {
        CubeError { file: file.clone(), offset, reason: reason.into() }
    }

    /// The operating system reported an error.
    pub fn io(file: &Arc<str>, offset: u64, error: &std::io::Error) -> Self {
        Self::new(file, offset, error.to_string())
    }
}
