//! Tables as CSV (RFC 4180, line feeds, one header line with the names of the columns).
//!
//! A missing value is an empty field; a list is joined by `;`.

use crate::TableWriter;
use crate::error::{ExportError, check_columns};
use ouzel_model::{ColumnData, Table};
use std::fmt::{Display, Write as _};
use std::io::Write;

/// Stands between the elements of a list, e.g. the regions of a call path. No name of C, C++ or Fortran holds it.
pub const LIST_SEPARATOR: &str = ";";

/// Writes batches of a table as CSV.
#[derive(Debug)]
pub struct CsvWriter<W: Write> {
    out: csv::Writer<W>,
    names: Vec<String>,
    scratch: String,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the header. The columns are those of `table`, whose rows are not written.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn new(out: W, table: &Table) -> Result<Self, ExportError> {
        let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        let mut out = csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(out);
        out.write_record(&names)?;
        Ok(CsvWriter { out, names, scratch: String::new() })
    }

    fn row(&mut self, batch: &Table, row: usize) -> Result<(), ExportError> {
        let CsvWriter { out, scratch, .. } = self;
        for column in &batch.columns {
            match &column.data {
                ColumnData::U64(v) => out.write_field(itoa::Buffer::new().format(v[row]))?,
                ColumnData::I64(v) => out.write_field(itoa::Buffer::new().format(v[row]))?,
                ColumnData::OptionU64(v) => match v[row] {
                    Some(value) => out.write_field(itoa::Buffer::new().format(value))?,
                    None => out.write_field("")?,
                },
                ColumnData::F64(v) => out.write_field(float(Some(v[row]), scratch))?,
                ColumnData::OptionF64(v) => out.write_field(float(v[row], scratch))?,
                ColumnData::Text(v) => out.write_field(&*v[row])?,
                ColumnData::OptionText(v) => out.write_field(v[row].as_deref().unwrap_or_default())?,
                ColumnData::TextList(v) => out.write_field(joined(&v[row], scratch))?,
                ColumnData::U64List(v) => out.write_field(joined(&v[row], scratch))?,
            }
        }
        out.write_record(None::<&[u8]>)?;
        Ok(())
    }
}

impl<W: Write + Send> TableWriter for CsvWriter<W> {
    fn write(&mut self, batch: &Table) -> Result<(), ExportError> {
        check_columns(&self.names, batch)?;
        for row in 0..batch.n_rows() {
            self.row(batch, row)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        Ok(self.out.flush()?)
    }
}

/// The shortest text that reads back as `value`; empty where there is none.
fn float(value: Option<f64>, scratch: &mut String) -> &str {
    use std::fmt::Write as _;
    scratch.clear();
    if let Some(value) = value.filter(|v| v.is_finite()) {
        write!(scratch, "{value}").expect("a string takes any text");
    }
    scratch
}

fn joined<'s>(list: &[impl Display], scratch: &'s mut String) -> &'s str {
    scratch.clear();
    for (i, value) in list.iter().enumerate() {
        if 0 < i {
            scratch.push_str(LIST_SEPARATOR);
        }
        // Writing to a string cannot fail.
        let _ = write!(scratch, "{value}");
    }
    scratch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_table::table;

    #[test]
    fn batches_follow_one_header() {
        let mut out = Vec::new();
        let mut writer = Box::new(CsvWriter::new(&mut out, &table()).unwrap());
        writer.write(&table()).unwrap();
        writer.write(&table()).unwrap();
        (writer as Box<dyn TableWriter>).finish().unwrap();
        let rows = concat!(
            "main,18446744073709551615,,-3,0.5,,,,3;18446744073709551615\n",
            "\"a, \"\"b\"\"\",0,7,4,,1.25,x.c:3,\"main;a, \"\"b\"\"\",\n"
        );
        let header = "region,visits,rank,delta,share,rate,source,call_path,top_ranks\n";
        assert_eq!(String::from_utf8(out).unwrap(), format!("{header}{rows}{rows}"));
    }

    #[test]
    fn another_tables_rows_are_refused() {
        let mut out = Vec::new();
        let mut writer = CsvWriter::new(&mut out, &table()).unwrap();
        let error = writer.write(&Table::new("others")).unwrap_err();
        assert!(error.to_string().starts_with("batch has columns []"), "{error}");
    }

    #[test]
    fn a_closed_output_is_an_input_output_error() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut writer = Box::new(CsvWriter::new(Closed, &table()).unwrap());
        writer.write(&table()).unwrap();
        let error = (writer as Box<dyn TableWriter>).finish().unwrap_err();
        assert!(matches!(error, ExportError::Io(e) if e.kind() == std::io::ErrorKind::BrokenPipe));
    }
}
