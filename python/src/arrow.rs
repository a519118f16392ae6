//! A table as Arrow's columns, with units and explanations in the fields' metadata.
//!
//! Law: integers stay integers, a missing value is null, names are those of the table. Metadata: `name` of the schema;
//! `unit` and `doc` of each field.

use crate::errors;
use arrow_array::builder::{ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, Field, Metadata, Schema};
use ouzel::model::{Column, ColumnData, Table};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Arc;

/// The table as a stream of one batch.
///
/// # Errors
/// If Arrow cannot hold it: more than 2 GiB of text in one column.
pub fn stream(table: &Table) -> Result<FFI_ArrowArrayStream, ArrowError> {
    let batch = batch(table)?;
    let schema = batch.schema();
    Ok(FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema))))
}

fn batch(table: &Table) -> Result<RecordBatch, ArrowError> {
    let arrays = table.columns.iter().map(|column| array(&column.data)).collect::<Result<Vec<_>, _>>()?;
    let fields: Vec<Field> = table.columns.iter().zip(&arrays).map(|(column, a)| field(column, a)).collect();
    let metadata = [("name".to_owned(), table.name.to_owned())];
    let schema = Arc::new(Schema::new(fields).with_metadata(Metadata::from_iter(metadata)));
    RecordBatch::try_new(schema, arrays)
}

fn field(column: &Column, array: &ArrayRef) -> Field {
    let is_nullable = matches!(
        column.data,
        ColumnData::OptionU64(_) | ColumnData::OptionF64(_) | ColumnData::OptionText(_)
    );
    let metadata =
        [("unit".to_owned(), column.unit.symbol().to_owned()), ("doc".to_owned(), column.doc.to_owned())];
    Field::new(&column.name, array.data_type().clone(), is_nullable)
        .with_metadata(Metadata::from_iter(metadata))
}

fn array(data: &ColumnData) -> Result<ArrayRef, ArrowError> {
    Ok(match data {
        ColumnData::U64(values) => Arc::new(UInt64Array::from(values.clone())),
        ColumnData::OptionU64(values) => Arc::new(UInt64Array::from(values.clone())),
        ColumnData::I64(values) => Arc::new(Int64Array::from(values.clone())),
        ColumnData::F64(values) => Arc::new(Float64Array::from(values.clone())),
        ColumnData::OptionF64(values) => Arc::new(Float64Array::from(values.clone())),
        ColumnData::Text(values) => {
            fits(values.iter().map(|text| text.len()))?;
            Arc::new(StringArray::from_iter_values(values))
        }
        ColumnData::OptionText(values) => {
            fits(values.iter().flatten().map(|text| text.len()))?;
            Arc::new(values.iter().map(Option::as_deref).collect::<StringArray>())
        }
        ColumnData::TextList(values) => {
            fits(values.iter().flatten().map(|text| text.len()))?;
            let mut lists = ListBuilder::new(StringBuilder::new());
            for list in values {
                list.iter().for_each(|text| lists.values().append_value(text));
                lists.append(true);
            }
            Arc::new(lists.finish())
        }
        ColumnData::U64List(values) => {
            let mut lists = ListBuilder::new(UInt64Builder::new());
            for list in values {
                lists.values().append_slice(list);
                lists.append(true);
            }
            Arc::new(lists.finish())
        }
    })
}

/// Offsets of text have 32 bits.
fn fits(lengths: impl Iterator<Item = usize>) -> Result<(), ArrowError> {
    let n_bytes: usize = lengths.sum();
    if n_bytes <= i32::MAX as usize {
        return Ok(());
    }
    Err(ArrowError::InvalidArgumentError(format!(
        "a column has {n_bytes} bytes of text, and Arrow takes 2 GiB"
    )))
}

/// Appends the values of an array of one of the types that event columns have; a missing value is `None`.
pub fn append_values(list: &Bound<'_, PyList>, array: &ArrayRef) -> PyResult<()> {
    macro_rules! append {
        ($array:expr) => {
            for value in $array.iter() {
                list.append(value)?;
            }
        };
    }
    let any = array.as_any();
    if let Some(values) = any.downcast_ref::<UInt64Array>() {
        append!(values);
    } else if let Some(values) = any.downcast_ref::<UInt32Array>() {
        append!(values);
    } else if let Some(values) = any.downcast_ref::<Float64Array>() {
        append!(values);
    } else if let Some(coded) = any.downcast_ref::<DictionaryArray<Int8Type>>() {
        let texts = coded
            .downcast_dict::<StringArray>()
            .ok_or_else(|| errors::failed("a text column without texts"))?;
        for value in texts {
            list.append(value)?;
        }
    } else if let Some(coded) = any.downcast_ref::<DictionaryArray<Int32Type>>() {
        let texts = coded
            .downcast_dict::<StringArray>()
            .ok_or_else(|| errors::failed("a text column without texts"))?;
        for value in texts {
            list.append(value)?;
        }
    } else {
        return Err(errors::failed("a column of an unknown type"));
    }
    Ok(())
}
