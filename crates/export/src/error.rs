//! What can go wrong while writing a table.

/// A table that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Io(#[from] std::io::Error),
    /// The CSV writer refuses a row.
    #[error("cannot write CSV: {0}")]
    Csv(csv::Error),
    /// The Parquet writer refuses a column.
    #[cfg(feature = "parquet")]
    #[error("cannot write Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A batch has columns other than those before.
    #[error("batch has columns {found:?}, but the table began with {expected:?}")]
    Columns {
        /// Names of the columns the writer was made for.
        expected: Vec<String>,
        /// Names of the columns of the batch.
        found: Vec<String>,
    },
}

impl From<csv::Error> for ExportError {
    fn from(error: csv::Error) -> Self {
        if !error.is_io_error() {
            return ExportError::Csv(error);
        }
        match error.into_kind() {
            csv::ErrorKind::Io(error) => ExportError::Io(error),
            other => ExportError::Io(std::io::Error::other(format!("{other:?}"))),
        }
    }
}

/// Checks that the names of the columns are `expected`.
pub(crate) fn check_columns(expected: &[String], batch: &ouzel_model::Table) -> Result<(), ExportError> {
    if batch.columns.iter().map(|column| &column.name).eq(expected) {
        return Ok(());
    }
    let found = batch.columns.iter().map(|column| column.name.clone()).collect();
    Err(ExportError::Columns { expected: expected.to_vec(), found })
}
