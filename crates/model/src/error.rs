//! A read that failed, with the place.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Why the rest of a file cannot be read, and where that begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadError {
    /// The file, as the user would name it.
    pub file: Arc<str>,
    /// Byte offset of the record that could not be read.
    pub offset: u64,
    /// Number of records of the file read before.
    pub record: u64,
    /// The broken rule, in lower case, without full stop.
    pub reason: String,
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ReadError { file, offset, record, reason } = self;
        match (offset, record) {
            (0, 0) => write!(f, "{file}: {reason}"),
            _ => write!(f, "{file}+{offset:#x} (record {record}): {reason}"),
        }
    }
}

impl std::error::Error for ReadError {}
