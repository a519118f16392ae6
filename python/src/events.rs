//! The table of events, read when it is asked for: Pipit's `Trace.events`, and functions of a user's own over it.
//!
//! ```text
//! Events (columns, selection) ──__arrow_c_stream__──► batches of locations, in order ──► data frame
//!                             ──iteration──────────► EventBatch, EventBatch, …
//! ```
//!
//! Law: nothing is read before it is requested; a stream holds one group of locations at a time.

use crate::arrow;
use crate::cluster;
use crate::errors;
use crate::frames::helper;
use crate::selection::Selection;
use crate::table::Table;
use crate::trace::Trace;
use crate::value::to_python;
use arrow_array::ffi::to_ffi;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int8Array, Int32Array, RecordBatch, RecordBatchIterator,
    StringArray, StructArray, UInt32Array, UInt64Array,
};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType, Field, Metadata, Schema};
use ouzel::catalogue::regions;
use ouzel::engine::Progress;
use ouzel::events::{EventBatch, EventNames, EventOptions, EventReader, EventType};
use ouzel::model::{LocationId, LocationKind, Notices};
use ouzel_answers::NoticeEntry;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// A column of the events, under Pipit's name where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventColumn {
    Timestamp,
    EventType,
    Name,
    Process,
    Thread,
    Depth,
    Partner,
    Tag,
    Bytes,
    Value,
    Region,
}

impl EventColumn {
    const ALL: [EventColumn; 11] = [
        EventColumn::Timestamp,
        EventColumn::EventType,
        EventColumn::Name,
        EventColumn::Process,
        EventColumn::Thread,
        EventColumn::Depth,
        EventColumn::Partner,
        EventColumn::Tag,
        EventColumn::Bytes,
        EventColumn::Value,
        EventColumn::Region,
    ];
    /// Without those of messages and metrics.
    const N_BASE: usize = 5;

    fn name(self) -> &'static str {
        match self {
            EventColumn::Timestamp => "Timestamp (ns)",
            EventColumn::EventType => "Event Type",
            EventColumn::Name => "Name",
            EventColumn::Process => "Process",
            EventColumn::Thread => "Thread",
            EventColumn::Depth => "Depth",
            EventColumn::Partner => "Partner",
            EventColumn::Tag => "Tag",
            EventColumn::Bytes => "Bytes",
            EventColumn::Value => "Value",
            EventColumn::Region => "Region",
        }
    }

    fn doc(self) -> &'static str {
        match self {
            EventColumn::Timestamp => "When, in nanoseconds since the trace start",
            EventColumn::EventType => "Enter, Leave or Instant",
            EventColumn::Name => "The region, the metric, or the record as its format calls it",
            EventColumn::Process => "World rank; missing if unknown",
            EventColumn::Thread => "Number of the location in its process; missing for metric sources",
            EventColumn::Depth => "Number of calls open around the event",
            EventColumn::Partner => "World rank of the other side of a message",
            EventColumn::Tag => "Tag of a message",
            EventColumn::Bytes => "Bytes of a message, or sent from here by a collective operation",
            EventColumn::Value => "Value of a metric",
            EventColumn::Region => "Number of the region of an Enter or Leave, as in Trace.region_table()",
        }
    }

    fn is_payload(self) -> bool {
        matches!(
            self,
            EventColumn::Partner
                | EventColumn::Tag
                | EventColumn::Bytes
                | EventColumn::Value
                | EventColumn::Region
        )
    }

    fn named(name: &str) -> PyResult<EventColumn> {
        EventColumn::ALL.into_iter().find(|column| column.name() == name).ok_or_else(|| {
            let names = EventColumn::ALL.map(EventColumn::name).join(", ");
            PyKeyError::new_err(format!("no column {name:?}; there are {names}"))
        })
    }

    fn field(self) -> Field {
        let text = |key| DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
        let (data_type, is_nullable) = match self {
            EventColumn::Timestamp => (DataType::UInt64, false),
            EventColumn::EventType => (text(DataType::Int8), false),
            EventColumn::Name => (text(DataType::Int32), false),
            EventColumn::Depth => (DataType::UInt32, false),
            EventColumn::Process
            | EventColumn::Thread
            | EventColumn::Partner
            | EventColumn::Tag
            | EventColumn::Region => (DataType::UInt32, true),
            EventColumn::Bytes => (DataType::UInt64, true),
            EventColumn::Value => (DataType::Float64, true),
        };
        let metadata = [("doc".to_owned(), self.doc().to_owned())];
        Field::new(self.name(), data_type, is_nullable).with_metadata(Metadata::from_iter(metadata))
    }
}

/// What batches are made with.
#[derive(Debug)]
struct Shape {
    columns: Vec<EventColumn>,
    schema: Arc<Schema>,
    names: ArrayRef,
    types: ArrayRef,
    /// Number of each location in its process.
    threads: Vec<Option<u32>>,
    trace: Arc<ouzel::Trace>,
}

impl Shape {
    fn new(trace: &Arc<ouzel::Trace>, columns: &[EventColumn], names: &EventNames) -> Self {
        let fields: Vec<Field> = columns.iter().map(|column| column.field()).collect();
        let metadata = [("name".to_owned(), "events".to_owned())];
        Shape {
            columns: columns.to_vec(),
            schema: Arc::new(Schema::new(fields).with_metadata(Metadata::from_iter(metadata))),
            names: Arc::new(StringArray::from_iter_values(names.all())),
            types: Arc::new(StringArray::from_iter_values(EventType::ALL)),
            threads: trace.definitions().threads(),
            trace: Arc::clone(trace),
        }
    }

    fn batch(&self, batch: EventBatch) -> Result<RecordBatch, ArrowError> {
        let n_rows = batch.len();
        let location = self.trace.definitions().location(batch.location);
        let mut batch = batch;
        let array = |column: &EventColumn| -> Result<ArrayRef, ArrowError> {
            let batch = &mut batch;
            Ok(match column {
                EventColumn::Timestamp => Arc::new(UInt64Array::from(std::mem::take(&mut batch.time_ns))),
                EventColumn::EventType => {
                    let codes = batch.event_type.iter().map(|&code| code as i8);
                    let keys = Int8Array::from_iter_values(codes);
                    Arc::new(DictionaryArray::<Int8Type>::try_new(keys, Arc::clone(&self.types))?)
                }
                EventColumn::Name => {
                    let keys = Int32Array::from_iter_values(batch.name.iter().map(|&code| code as i32));
                    Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(&self.names))?)
                }
                EventColumn::Process => match location.rank {
                    Some(rank) => Arc::new(UInt32Array::from(vec![rank.0; n_rows])),
                    None => Arc::new(UInt32Array::new_null(n_rows)),
                },
                EventColumn::Thread => match self.threads[batch.location.index()] {
                    Some(thread) => Arc::new(UInt32Array::from(vec![thread; n_rows])),
                    None => Arc::new(UInt32Array::new_null(n_rows)),
                },
                EventColumn::Depth => Arc::new(UInt32Array::from(std::mem::take(&mut batch.depth))),
                EventColumn::Partner => Arc::new(UInt32Array::from(std::mem::take(&mut batch.partner))),
                EventColumn::Tag => Arc::new(UInt32Array::from(std::mem::take(&mut batch.tag))),
                EventColumn::Bytes => Arc::new(UInt64Array::from(std::mem::take(&mut batch.bytes))),
                EventColumn::Value => Arc::new(Float64Array::from(std::mem::take(&mut batch.value))),
                EventColumn::Region => Arc::new(UInt32Array::from(std::mem::take(&mut batch.region))),
            })
        };
        let arrays = self.columns.iter().map(array).collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), arrays)
    }
}

#[doc = prose!("Events")]
#[pyclass(frozen, module = "ouzel")]
#[derive(Debug)]
pub struct Events {
    trace: Arc<ouzel::Trace>,
    selection: Selection,
    locations: Option<Vec<LocationId>>,
    columns: Vec<EventColumn>,
    /// What went wrong when it was read last.
    notices: Mutex<Arc<Notices>>,
}

impl Events {
    fn reader(&self) -> (EventReader, Shape) {
        let progress = Progress::default();
        let options = self.selection.options(&progress);
        let reader = self.trace.events(EventOptions {
            filter: options.filter.clone(),
            locations: self.locations.clone(),
            with_payload: self.columns.iter().any(|column| column.is_payload()),
            jobs: options.jobs,
        });
        *self.notices.lock().unwrap_or_else(PoisonError::into_inner) = reader.shared_notices();
        let shape = Shape::new(&self.trace, &self.columns, reader.names());
        (reader, shape)
    }

    fn with_columns(&self, py: Python<'_>, columns: Vec<EventColumn>) -> Events {
        Events {
            trace: Arc::clone(&self.trace),
            selection: self.selection.clone_ref(py),
            locations: self.locations.clone(),
            columns,
            notices: Mutex::default(),
        }
    }

    /// The events of each location.
    fn each_location(&self, py: Python<'_>) -> Vec<(LocationId, Events)> {
        let mut ids = self.selection.filter.resolve(self.trace.definitions()).locations;
        ids.retain(|id| self.locations.as_ref().is_none_or(|only| only.contains(id)));
        let of = |id| Events { locations: Some(vec![id]), ..self.with_columns(py, self.columns.clone()) };
        ids.into_iter().map(|id| (id, of(id))).collect()
    }

    fn named(&self, py: Python<'_>, names: &[String]) -> PyResult<Events> {
        let columns = names.iter().map(|name| EventColumn::named(name)).collect::<PyResult<Vec<_>>>()?;
        Ok(self.with_columns(py, columns))
    }

    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let notices = Arc::clone(&self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        errors::warn(py, &notices.to_vec())
    }
}

#[pymethods]
impl Events {
    #[doc = prose!("Events.columns")]
    #[getter]
    fn columns(&self) -> Vec<&'static str> {
        self.columns.iter().map(|column| column.name()).collect()
    }

    #[doc = prose!("Events.notices")]
    #[getter]
    fn notices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let notices = Arc::clone(&self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        let definitions = self.trace.definitions();
        let entries: Vec<_> =
            notices.to_vec().iter().map(|notice| NoticeEntry::new(notice, &definitions.locations)).collect();
        to_python(py, &entries)
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let names = match key.extract::<String>() {
            Ok(name) => vec![name],
            Err(_) => match key.extract::<Vec<String>>() {
                Ok(names) => names,
                // True or False for each row: a library of data frames does it.
                Err(_) => return helper(slf.py(), "selected")?.call1((slf, key)),
            },
        };
        Ok(Bound::new(slf.py(), slf.get().named(slf.py(), &names)?)?.into_any())
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = match op {
            CompareOp::Lt => "lt",
            CompareOp::Le => "le",
            CompareOp::Eq => "eq",
            CompareOp::Ne => "ne",
            CompareOp::Gt => "gt",
            CompareOp::Ge => "ge",
        };
        helper(slf.py(), "compared")?.call1((slf, name, other))
    }

    fn __len__(&self) -> PyResult<usize> {
        let count = |py: Python<'_>| self.with_columns(py, vec![EventColumn::Timestamp]).reader();
        let (reader, _) = Python::attach(count);
        Python::attach(|py| py.detach(|| reader.map(|batch| Ok(batch.map_err(failed)?.len())).sum()))
    }

    fn __bool__(&self) -> bool {
        true
    }

    #[doc = prose!("Events.tail")]
    #[pyo3(signature = (n=5))]
    fn tail(&self, py: Python<'_>, n: usize) -> PyResult<EventRows> {
        let (reader, shape) = self.reader();
        let rows = py.detach(|| {
            let (mut batches, mut n_kept) = (VecDeque::new(), 0);
            for batch in reader {
                let batch = shape.batch(batch.map_err(failed)?).map_err(failed)?;
                n_kept += batch.num_rows();
                batches.push_back(batch);
                let first = |batches: &VecDeque<RecordBatch>| batches.front().map(RecordBatch::num_rows);
                while let Some(n_first) = first(&batches).filter(|n_first| n <= n_kept - n_first) {
                    batches.pop_front();
                    n_kept -= n_first;
                }
            }
            if let Some(first) = batches.front_mut() {
                let n_cut = n_kept.saturating_sub(n);
                *first = first.slice(n_cut, first.num_rows() - n_cut);
            }
            Ok::<_, PyErr>(EventRows { schema: Arc::clone(&shape.schema), batches: batches.into() })
        })?;
        self.warn(py)?;
        Ok(rows)
    }

    #[doc = prose!("Events.sort_values")]
    #[pyo3(signature = (by, ascending=None))]
    fn sort_values<'py>(
        slf: &Bound<'py, Self>,
        by: &Bound<'py, PyAny>,
        ascending: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        helper(slf.py(), "ordered")?.call1((slf, by, ascending))
    }

    #[doc = prose!("Events.plot")]
    #[getter]
    fn plot<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        helper(slf.py(), "plot")?.call1((slf,))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let trace = Trace { inner: Arc::clone(&self.trace), selection: self.selection.clone_ref(py) };
        let locations = self.locations.as_ref().map(|ids| ids.iter().map(|id| id.0).collect::<Vec<_>>());
        let asked = py.import("ouzel._core")?.getattr("events_of")?;
        (asked, (trace, self.columns(), locations).into_pyobject(py)?).into_pyobject(py)
    }

    #[doc = prose!("Events.head")]
    #[pyo3(signature = (n=5))]
    fn head(&self, py: Python<'_>, n: usize) -> PyResult<EventRows> {
        let (reader, shape) = self.reader();
        let rows = py.detach(|| {
            let mut batches = Vec::new();
            let mut n_missing = n;
            for batch in reader {
                let batch = shape.batch(batch.map_err(failed)?).map_err(failed)?;
                let batch = batch.slice(0, batch.num_rows().min(n_missing));
                n_missing -= batch.num_rows();
                batches.push(batch);
                if n_missing == 0 {
                    break;
                }
            }
            Ok::<_, PyErr>(EventRows { schema: Arc::clone(&shape.schema), batches })
        })?;
        self.warn(py)?;
        Ok(rows)
    }

    #[doc = prose!("Events.__iter__")]
    fn __iter__(&self) -> EventIterator {
        let (reader, shape) = self.reader();
        EventIterator { state: Mutex::new((reader, shape)) }
    }

    // Arrow's PyCapsule protocol. A schema asked for is a wish that may go unheard.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let (reader, shape) = self.reader();
        let schema = Arc::clone(&shape.schema);
        let batches = reader.map(move |batch| {
            shape.batch(batch.map_err(|error| ArrowError::ExternalError(Box::new(error)))?)
        });
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, schema)));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    #[doc = prose!("Events.to_pyarrow")]
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let pyarrow = py.import("pyarrow")?;
        if let Some(cluster) = &this.selection.workers {
            let work = PyList::empty(py);
            for (_, events) in this.each_location(py) {
                work.append((Bound::new(py, events)?,))?;
            }
            if !work.is_empty() {
                let tables = cluster.each(&cluster::helper(py, "events_read")?, work, &this.trace)?;
                return pyarrow.call_method1("concat_tables", (tables,))?.call_method0("unify_dictionaries");
            }
        }
        let table = pyarrow.call_method1("table", (slf,))?;
        this.warn(py)?;
        Ok(table)
    }

    #[doc = prose!("Events.to_pandas")]
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Events::to_pyarrow(slf)?.call_method0("to_pandas")
    }

    #[doc = prose!("Events.to_polars")]
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let polars = slf.py().import("polars")?;
        if slf.get().selection.workers.is_some() {
            return polars.call_method1("from_arrow", (Events::to_pyarrow(slf)?,));
        }
        let frame = polars.call_method1("DataFrame", (slf,))?;
        slf.get().warn(slf.py())?;
        Ok(frame)
    }

    fn __repr__(&self) -> String {
        let n_locations = self.selection.filter.resolve(self.trace.definitions()).locations.len();
        format!(
            "<ouzel.Events of {n_locations} locations: {}; not read yet, see head(), iteration, to_pandas()>",
            self.columns().join(", ")
        )
    }
}

#[doc = prose!("EventRows")]
#[pyclass(frozen, module = "ouzel")]
#[derive(Debug)]
pub struct EventRows {
    schema: Arc<Schema>,
    batches: Vec<RecordBatch>,
}

impl EventRows {
    /// All rows as one array. Batches share their dictionaries, so these stay as they are.
    fn in_one(&self) -> Result<ArrayData, ArrowError> {
        let parts: Vec<ArrayData> =
            self.batches.iter().map(|batch| StructArray::from(batch.clone()).to_data()).collect();
        if parts.is_empty() {
            return Ok(StructArray::from(RecordBatch::new_empty(Arc::clone(&self.schema))).to_data());
        }
        let n_rows = parts.iter().map(ArrayData::len).sum();
        let mut whole = MutableArrayData::new(parts.iter().collect(), false, n_rows);
        for (i, part) in parts.iter().enumerate() {
            whole.try_extend(i, 0, part.len())?;
        }
        Ok(whole.freeze())
    }
}

#[pymethods]
impl EventRows {
    #[doc = prose!("EventRows.columns")]
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    // Arrow's protocol of one batch.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema);
        let (array, schema) = to_ffi(&self.in_one().map_err(failed)?).map_err(failed)?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        PyTuple::new(py, [schema, array])
    }

    #[doc = prose!("EventRows.to_dict")]
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (i, field) in self.schema.fields().iter().enumerate() {
            let list = PyList::empty(py);
            for batch in &self.batches {
                arrow::append_values(&list, batch.column(i))?;
            }
            dict.set_item(field.name(), list)?;
        }
        Ok(dict)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        helper(py, "rows")?.call1((self.to_dict(py)?,))
    }

    #[doc = prose!("EventRows.to_pyarrow")]
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    #[doc = prose!("EventRows.to_pandas")]
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        EventRows::to_pyarrow(slf)?.call_method0("to_pandas")
    }

    #[doc = prose!("EventRows.to_polars")]
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    fn __repr__(&self) -> String {
        let n_rows: usize = self.batches.iter().map(RecordBatch::num_rows).sum();
        format!("<ouzel.EventRows: {n_rows} rows of {}>", self.columns().join(", "))
    }
}

// Batch after batch.
#[pyclass(frozen, module = "ouzel")]
#[derive(Debug)]
pub struct EventIterator {
    state: Mutex<(EventReader, Shape)>,
}

#[pymethods]
impl EventIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<EventRows>> {
        py.check_signals()?;
        let rows = py.detach(|| {
            let (reader, shape) = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(batch) = reader.next() else { return Ok::<_, PyErr>(Err(reader.notices())) };
            let batch = shape.batch(batch.map_err(failed)?).map_err(failed)?;
            Ok(Ok(EventRows { schema: Arc::clone(&shape.schema), batches: vec![batch] }))
        })?;
        match rows {
            Ok(rows) => Ok(Some(rows)),
            Err(notices) => errors::warn(py, &notices).map(|()| None),
        }
    }
}

#[doc = prose!("events_of")]
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub fn events_of(
    py: Python<'_>,
    trace: PyRef<'_, Trace>,
    columns: Vec<String>,
    locations: Option<Vec<u32>>,
) -> PyResult<Events> {
    let mut events = trace.events(py).named(py, &columns)?;
    events.locations = locations.map(|ids| ids.into_iter().map(LocationId).collect());
    Ok(events)
}

fn failed(error: impl std::fmt::Display) -> PyErr {
    errors::failed(error)
}

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.events")]
    #[getter]
    fn events(&self, py: Python<'_>) -> Events {
        Events {
            trace: Arc::clone(&self.inner),
            selection: self.selection.clone_ref(py),
            locations: None,
            columns: EventColumn::ALL[..EventColumn::N_BASE].to_vec(),
            notices: Mutex::default(),
        }
    }

    #[doc = prose!("Trace.locations")]
    #[getter]
    fn locations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let definitions = self.inner.definitions();
        let list = PyList::empty(py);
        for id in self.selection.filter.resolve(definitions).locations {
            list.append(self.location(py, id)?)?;
        }
        Ok(list)
    }

    #[doc = prose!("Trace.region_table")]
    fn region_table(&self, py: Python<'_>) -> PyResult<Table> {
        let definitions = self.inner.definitions();
        Table::from_parts(py, regions(definitions), &[], &serde_json::Value::Null)
    }

    #[doc = prose!("Trace.map_locations")]
    #[pyo3(signature = (function, *, reduce=None, columns=None))]
    fn map_locations<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        reduce: Option<&Bound<'py, PyAny>>,
        columns: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut all = self.events(py);
        if let Some(columns) = columns {
            let names = match columns.extract::<String>() {
                Ok(name) => vec![name],
                Err(_) => columns.extract::<Vec<String>>().map_err(|_| {
                    PyTypeError::new_err("columns must be the name of a column of the events, or several")
                })?,
            };
            all = all.named(py, &names)?;
        }
        let mut values = PyList::empty(py);
        if let Some(cluster) = &self.selection.workers {
            let work = PyList::empty(py);
            for (id, events) in all.each_location(py) {
                work.append((self.location(py, id)?, Bound::new(py, events)?))?;
            }
            values = PyList::new(py, cluster.each(function, work, &self.inner)?)?;
        } else {
            for (id, events) in all.each_location(py) {
                py.check_signals()?;
                let events = Bound::new(py, events)?;
                values.append(function.call1((self.location(py, id)?, &events))?)?;
                events.get().warn(py)?;
            }
        }
        match reduce {
            Some(_) if values.is_empty() => Ok(py.None().into_bound(py)),
            Some(reduce) => py.import("functools")?.call_method1("reduce", (reduce, values)),
            None => Ok(values.into_any()),
        }
    }
}

impl Trace {
    fn location<'py>(&self, py: Python<'py>, id: LocationId) -> PyResult<Bound<'py, PyDict>> {
        let location = self.inner.definitions().location(id);
        let kind = match location.kind {
            LocationKind::CpuThread => "thread",
            LocationKind::AcceleratorStream => "accelerator stream",
            LocationKind::Metric => "metric source",
            LocationKind::Unknown => "unknown",
        };
        let dict = PyDict::new(py);
        dict.set_item("location", location.native_id)?;
        dict.set_item("name", &*location.name)?;
        dict.set_item("rank", location.rank.map(|rank| rank.0))?;
        dict.set_item("kind", kind)?;
        Ok(dict)
    }
}
