//! Tables as CSV (RFC 4180, line feeds, one header line with the names of the columns).
//!
//! A missing value is an empty field; a list is joined by `;`.
//!
//! Law: a spreadsheet that opens the file runs nothing in it, unless raw cells are requested. Text that begins like a
//! formula gets a `'` in front, which spreadsheets read as "this is text". Removing it restores the text, because text
//! that begins with quotes and then like a formula gets one, too. Numbers are never changed.

use crate::TableWriter;
use crate::error::{ExportError, check_columns};
use ouzel_model::{ColumnData, Table, visible};
use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::Write;

/// Separates the elements of a list, e.g. the regions of a call path. Names in C, C++ and Fortran do not contain it.
pub(crate) const LIST_SEPARATOR: &str = ";";

/// How text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CsvText {
    /// Guarded against spreadsheets.
    #[default]
    Guarded,
    /// The same, and terminal control characters are escaped.
    ForTerminal,
    /// As it is.
    Raw,
}

impl CsvText {
    fn cell(self, text: &str) -> Cow<'_, str> {
        let text = if self == CsvText::ForTerminal { visible(text) } else { Cow::Borrowed(text) };
        if self == CsvText::Raw || !begins_like_a_formula(&text) {
            return text;
        }
        Cow::Owned(format!("'{text}"))
    }
}

/// Whether a spreadsheet could compute `text`, as it is or without leading quotes and blanks. Numbers are not formulas.
fn begins_like_a_formula(text: &str) -> bool {
    let steers = |c: char| matches!(c, '\t' | '\r' | '\n');
    let content = text.trim_start_matches(|c: char| c.is_whitespace() || "'\"`’‘“”".contains(c));
    let is_formula = content.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    (text.starts_with(steers) || is_formula) && !is_number(text)
}

/// `-5`, `+1.5e-3`.
fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
        && text.parse::<f64>().is_ok()
}

/// Writes batches of a table as CSV.
#[derive(Debug)]
pub struct CsvWriter<W: Write> {
    out: csv::Writer<W>,
    names: Vec<String>,
    text: CsvText,
    scratch: String,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the header. The columns are those of `table`, whose rows are not written.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn new(out: W, table: &Table, text: CsvText) -> Result<Self, ExportError> {
        let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        let mut out = csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(out);
        out.write_record(names.iter().map(|name| text.cell(name).into_owned()))?;
        Ok(CsvWriter { out, names, text, scratch: String::new() })
    }

    fn row(&mut self, batch: &Table, row: usize) -> Result<(), ExportError> {
        let CsvWriter { out, scratch, text, .. } = self;
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
                ColumnData::Text(v) => out.write_field(&*text.cell(&v[row]))?,
                ColumnData::OptionText(v) => {
                    out.write_field(&*text.cell(v[row].as_deref().unwrap_or_default()))?;
                }
                // Some readers split cells at `;`: each element is a cell there.
                ColumnData::TextList(v) => {
                    out.write_field(joined(v[row].iter().map(|part| text.cell(part)), scratch))?;
                }
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

/// The shortest text that reads back as `value`; empty without a value.
fn float(value: Option<f64>, scratch: &mut String) -> &str {
    use std::fmt::Write as _;
    scratch.clear();
    if let Some(value) = value.filter(|v| v.is_finite()) {
        write!(scratch, "{value}").expect("a string takes any text");
    }
    scratch
}

fn joined(list: impl IntoIterator<Item = impl Display>, scratch: &mut String) -> &str {
    scratch.clear();
    for (i, value) in list.into_iter().enumerate() {
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
        let mut writer = Box::new(CsvWriter::new(&mut out, &table(), CsvText::Raw).unwrap());
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

    const HOSTILE: [&str; 14] = [
        "=cmd|' /C calc'!A0",
        "+1+1",
        "-2+3",
        "@SUM(1)",
        "\t=1",
        "\r=1",
        "\n=1",
        " =1",
        "\"=1",
        "'=1",
        "''\" -x",
        "＝1",
        "-[NSObject run]",
        "-inf",
    ];

    #[test]
    fn what_a_spreadsheet_would_run_is_guarded_and_comes_back() {
        for text in HOSTILE {
            let cell = CsvText::Guarded.cell(text);
            assert_eq!(cell, format!("'{text}"));
            assert_eq!(CsvText::Raw.cell(text), text);
            assert!(begins_like_a_formula(cell.strip_prefix('\'').unwrap()), "one knows that it was guarded");
        }
        for text in
            ["", "main", "-5", "+1.5e-3", "-0.25", "a=b", "'a'", "operator-", "5-2", "MPI_Send", "…", "‘x’"]
        {
            for kind in [CsvText::Guarded, CsvText::ForTerminal, CsvText::Raw] {
                assert_eq!(kind.cell(text), text, "{kind:?}");
            }
        }
        assert_eq!(CsvText::ForTerminal.cell("=a\u{202e}b\u{1b}[2J"), "'=a\\u{202e}b\\u{1b}[2J");
    }

    #[test]
    fn every_text_of_a_table_is_guarded_and_no_number() {
        let text: std::sync::Arc<str> = "=1+1".into();
        let table = Table::new("rows")
            .with("@name", ouzel_model::Unit::None, "", ColumnData::Text(vec![text.clone()]))
            .with("some", ouzel_model::Unit::None, "", ColumnData::OptionText(vec![Some(text.clone())]))
            .with("path", ouzel_model::Unit::None, "", ColumnData::TextList(vec![vec!["a".into(), text]]))
            .with("i", ouzel_model::Unit::None, "", ColumnData::I64(vec![-5]))
            .with("f", ouzel_model::Unit::None, "", ColumnData::F64(vec![-0.5]));
        let mut out = Vec::new();
        let mut writer = Box::new(CsvWriter::new(&mut out, &table, CsvText::Guarded).unwrap());
        writer.write(&table).unwrap();
        (writer as Box<dyn TableWriter>).finish().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "'@name,some,path,i,f\n'=1+1,'=1+1,a;'=1+1,-5,-0.5\n");
    }

    #[test]
    fn another_tables_rows_are_refused() {
        let mut out = Vec::new();
        let mut writer = CsvWriter::new(&mut out, &table(), CsvText::Raw).unwrap();
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
        let mut writer = Box::new(CsvWriter::new(Closed, &table(), CsvText::Raw).unwrap());
        writer.write(&table()).unwrap();
        let error = (writer as Box<dyn TableWriter>).finish().unwrap_err();
        assert!(matches!(error, ExportError::Io(e) if e.kind() == std::io::ErrorKind::BrokenPipe));
    }
}
