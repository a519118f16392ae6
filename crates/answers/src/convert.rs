//! `ouzel convert`.

use serde::Serialize;
use std::path::Path;

/// What was written.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConvertAnswer {
    /// In the order in which they were written.
    pub files: Vec<Written>,
}

/// One file that was written, or one archive.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Written {
    /// Its path.
    pub path: String,
    /// Rows of its table: events, definitions, values, call paths.
    pub n_rows: u64,
    /// Its size.
    pub size_bytes: u64,
}

impl Written {
    /// The file at `path`.
    pub fn new(path: &Path, n_rows: u64, size_bytes: u64) -> Self {
        Written { path: path.display().to_string(), n_rows, size_bytes }
    }
}
