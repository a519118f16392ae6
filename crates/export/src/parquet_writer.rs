//! Tables as Parquet: one row group for each batch, snappy, dictionaries for text.
//!
//! Columns without missing values are `required`, the others `optional`; a list of
//! text is a `LIST` of UTF-8. The file's key-value metadata hold the table's name
//! (`ouzel.table`), the version that wrote it (`ouzel.version`), and the unit and the
//! explanation of each column (`ouzel.column.<name>.unit`, `.doc`).

use crate::TableWriter;
use crate::error::{ExportError, check_columns};
use ouzel_model::{Column, ColumnData, Table};
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use rustc_hash::FxHashMap;
use std::io::Write;
use std::sync::Arc;

/// Writes batches of a table as one Parquet file.
pub struct ParquetWriter<W: Write + Send> {
    out: SerializedFileWriter<W>,
    names: Vec<String>,
    scratch: Scratch,
}

impl<W: Write + Send> std::fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetWriter").field("names", &self.names).finish_non_exhaustive()
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file. The columns are those of `table`, whose rows are not written.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn new(out: W, table: &Table) -> Result<Self, ExportError> {
        let fields = table.columns.iter().map(field).collect::<ParquetResult<Vec<TypePtr>>>()?;
        let schema = Type::group_type_builder(table.name).with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("ouzel ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(metadata(table)))
            .build();
        let out = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        let names = table.columns.iter().map(|column| column.name.clone()).collect();
        Ok(ParquetWriter { out, names, scratch: Scratch::default() })
    }
}

impl<W: Write + Send> TableWriter for ParquetWriter<W> {
    fn write(&mut self, batch: &Table) -> Result<(), ExportError> {
        check_columns(&self.names, batch)?;
        if batch.n_rows() == 0 {
            return Ok(());
        }
        let mut group = self.out.next_row_group()?;
        for column in &batch.columns {
            let mut writer = group.next_column()?.expect("the schema has a column for each of the table");
            self.scratch.write(&mut writer, &column.data)?;
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        self.out.finish()?;
        Ok(self.out.inner_mut().flush()?)
    }
}

fn field(column: &Column) -> ParquetResult<TypePtr> {
    let name = column.name.as_str();
    let unsigned = LogicalType::integer(64, false);
    let text = LogicalType::String;
    let (physical, logical, repetition) = match &column.data {
        ColumnData::U64(_) => (PhysicalType::INT64, Some(unsigned), Repetition::REQUIRED),
        ColumnData::OptionU64(_) => (PhysicalType::INT64, Some(unsigned), Repetition::OPTIONAL),
        ColumnData::I64(_) => (PhysicalType::INT64, None, Repetition::REQUIRED),
        ColumnData::F64(_) => (PhysicalType::DOUBLE, None, Repetition::REQUIRED),
        ColumnData::OptionF64(_) => (PhysicalType::DOUBLE, None, Repetition::OPTIONAL),
        ColumnData::Text(_) => (PhysicalType::BYTE_ARRAY, Some(text), Repetition::REQUIRED),
        ColumnData::OptionText(_) => (PhysicalType::BYTE_ARRAY, Some(text), Repetition::OPTIONAL),
        ColumnData::TextList(_) => return list_field(name, PhysicalType::BYTE_ARRAY, text),
        ColumnData::U64List(_) => return list_field(name, PhysicalType::INT64, unsigned),
    };
    let field = Type::primitive_type_builder(name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()?;
    Ok(Arc::new(field))
}

fn list_field(name: &str, physical: PhysicalType, logical: LogicalType) -> ParquetResult<TypePtr> {
    let element = Type::primitive_type_builder("element", physical)
        .with_logical_type(Some(logical))
        .with_repetition(Repetition::REQUIRED)
        .build()?;
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element)])
        .build()?;
    let field = Type::group_type_builder(name)
        .with_repetition(Repetition::REQUIRED)
        .with_converted_type(ConvertedType::LIST)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(list)])
        .build()?;
    Ok(Arc::new(field))
}

fn metadata(table: &Table) -> Vec<KeyValue> {
    let pair = |key: String, value: &str| KeyValue::new(key, value.to_owned());
    let mut pairs = vec![
        pair("ouzel.table".to_owned(), table.name),
        pair("ouzel.version".to_owned(), env!("CARGO_PKG_VERSION")),
    ];
    for Column { name, unit, doc, .. } in &table.columns {
        pairs.push(pair(format!("ouzel.column.{name}.unit"), unit.symbol()));
        pairs.push(pair(format!("ouzel.column.{name}.doc"), doc));
    }
    pairs
}

/// Buffers for the layout of every column of every batch.
#[derive(Default)]
struct Scratch {
    ints: Vec<i64>,
    floats: Vec<f64>,
    texts: Vec<ByteArray>,
    def_levels: Vec<i16>,
    rep_levels: Vec<i16>,
}

impl Scratch {
    fn write(&mut self, out: &mut SerializedColumnWriter<'_>, data: &ColumnData) -> ParquetResult<()> {
        let Scratch { ints, floats, texts, def_levels, rep_levels } = self;
        ints.clear();
        floats.clear();
        texts.clear();
        def_levels.clear();
        rep_levels.clear();
        match data {
            ColumnData::U64(v) => {
                ints.extend(v.iter().map(|&value| value.cast_signed()));
                out.typed::<Int64Type>().write_batch(ints, None, None)?;
            }
            ColumnData::I64(v) => {
                out.typed::<Int64Type>().write_batch(v, None, None)?;
            }
            ColumnData::F64(v) => {
                out.typed::<DoubleType>().write_batch(v, None, None)?;
            }
            ColumnData::OptionU64(v) => {
                def_levels.extend(v.iter().map(|value| i16::from(value.is_some())));
                ints.extend(v.iter().flatten().map(|value| value.cast_signed()));
                out.typed::<Int64Type>().write_batch(ints, Some(def_levels), None)?;
            }
            ColumnData::OptionF64(v) => {
                def_levels.extend(v.iter().map(|value| i16::from(value.is_some())));
                floats.extend(v.iter().flatten());
                out.typed::<DoubleType>().write_batch(floats, Some(def_levels), None)?;
            }
            ColumnData::Text(v) => {
                push_texts(v.iter(), texts);
                out.typed::<ByteArrayType>().write_batch(texts, None, None)?;
            }
            ColumnData::OptionText(v) => {
                def_levels.extend(v.iter().map(|value| i16::from(value.is_some())));
                push_texts(v.iter().flatten(), texts);
                out.typed::<ByteArrayType>().write_batch(texts, Some(def_levels), None)?;
            }
            ColumnData::TextList(v) => {
                list_levels(v, def_levels, rep_levels);
                push_texts(v.iter().flatten(), texts);
                out.typed::<ByteArrayType>().write_batch(texts, Some(def_levels), Some(rep_levels))?;
            }
            ColumnData::U64List(v) => {
                list_levels(v, def_levels, rep_levels);
                ints.extend(v.iter().flatten().map(|&n| n.cast_signed()));
                out.typed::<Int64Type>().write_batch(ints, Some(def_levels), Some(rep_levels))?;
            }
        }
        Ok(())
    }
}

/// Appends the texts; those that share memory are copied once.
fn push_texts<'a>(values: impl Iterator<Item = &'a Arc<str>>, texts: &mut Vec<ByteArray>) {
    let mut known: FxHashMap<*const u8, ByteArray> = FxHashMap::default();
    for text in values {
        // Empty texts may share an address with a text beside them.
        if text.is_empty() {
            texts.push(ByteArray::from(Vec::new()));
        } else {
            let copy = known.entry(text.as_ptr()).or_insert_with(|| ByteArray::from(&**text));
            texts.push(copy.clone());
        }
    }
}

/// Definition and repetition levels of lists without missing elements: an empty list is one entry of level 0.
fn list_levels<T>(lists: &[Vec<T>], def_levels: &mut Vec<i16>, rep_levels: &mut Vec<i16>) {
    for list in lists {
        def_levels.push(i16::from(!list.is_empty()));
        rep_levels.push(0);
        for _ in 1..list.len() {
            def_levels.push(1);
            rep_levels.push(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_table::table;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    fn written() -> SerializedFileReader<bytes::Bytes> {
        let mut out = Vec::new();
        let mut writer = Box::new(ParquetWriter::new(&mut out, &table()).unwrap());
        writer.write(&table()).unwrap();
        writer.write(&table()).unwrap();
        (writer as Box<dyn TableWriter>).finish().unwrap();
        SerializedFileReader::new(bytes::Bytes::from(out)).unwrap()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let rows: Vec<_> = written().get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 4);
        let text: Vec<String> =
            rows[1].get_column_iter().map(|(name, field)| format!("{name}={field}")).collect();
        assert_eq!(
            text,
            [
                "region=\"a, \"b\"\"",
                "visits=0",
                "rank=7",
                "delta=4",
                "share=NaN",
                "rate=1.25",
                "source=\"x.c:3\"",
                "call_path=[\"main\", \"a, \"b\"\"]",
                "top_ranks=[]"
            ]
        );
        let field = |i: usize| rows[2].get_column_iter().nth(i).unwrap().1.clone();
        assert_eq!(
            (field(1), field(2), field(6)),
            (Field::ULong(u64::MAX), Field::Null, Field::Null),
            "missing values are null and large integers exact"
        );
        assert_eq!(field(7).to_string(), "[]");
        assert_eq!(field(8).to_string(), "[3, 18446744073709551615]");
    }

    #[test]
    fn units_and_explanations_are_in_the_metadata() {
        let reader = written();
        let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap();
        let value = |key: &str| metadata.iter().find(|kv| kv.key == key).unwrap().value.clone().unwrap();
        assert_eq!(value("ouzel.table"), "regions");
        assert_eq!(value("ouzel.column.delta.unit"), "ns");
        assert_eq!(value("ouzel.column.rate.unit"), "B/s");
        assert_eq!(value("ouzel.column.call_path.doc"), "Path from the root.");
        assert_eq!(reader.metadata().num_row_groups(), 2, "a batch is a row group");
    }
}
