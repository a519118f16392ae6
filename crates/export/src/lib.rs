//! Result tables as JSON, CSV and Parquet.
//!
//! The events of a trace are one more table: [`EventTable`] is a sink for them.
//! One [`Table`] is one result or one batch of a stream: [`CsvWriter`] and
//! [`ParquetWriter`] take any number of batches with the same columns, so that not all
//! rows are in memory at once.
//!
//! Law: no format changes a value. Integers stay integers, a missing value is `null` or
//! an empty field, never zero. Arrow, terminals and file names are handled elsewhere.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod csv_writer;
mod error;
mod event_batch;
mod events;
mod json;
#[cfg(feature = "parquet")]
mod parquet_writer;

pub use csv_writer::{CsvText, CsvWriter};
pub use error::ExportError;
pub use events::EventTable;
pub use json::{Batches, Rows, TableRows, write_pretty};
#[cfg(feature = "parquet")]
pub use parquet_writer::ParquetWriter;

#[cfg(test)]
mod test_table;

use ouzel_model::Table;

/// Where batches of a table go, one after the other.
pub trait TableWriter: Send {
    /// Appends the rows of `batch`.
    ///
    /// # Errors
    /// If its columns are not those the writer was made for, or writing fails.
    fn write(&mut self, batch: &Table) -> Result<(), ExportError>;

    /// Writes the remaining rows; without it the output is incomplete.
    ///
    /// # Errors
    /// If writing fails.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}
