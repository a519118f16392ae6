//! Tables and traces as something that another process can make them from: for joblib, multiprocessing and Dask.
//!
//! ```text
//! Table ──values, units, explanations, notices, picture (SVG)──► restored(kind, state, extra) ──► the same again
//! Trace ──path, selection, clock repairs──► reopened(…) ──► the same, if the files are the same
//! ```
//!
//! Law: what comes back answers as what was sent. Not sent: progress functions and the cluster a trace is asked on.

use crate::cluster;
use crate::errors;
use crate::selection::Selection;
use crate::shapes::{CommMatrix, Histogram};
use crate::table::{Drawn, Table};
use crate::trace::Trace;
use ouzel::analyses::clock_repair::ClockRepair;
use ouzel::analyses::comm_matrix::{CommMatrixOutput, MatrixCell, Traffic, TrafficUnit};
use ouzel::model::{Column, ColumnData, Filter, Unit, WorldRank};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Names and explanations that tables from other processes brought: each is kept once, for the life of the process.
static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The same text, for ever. There are as many as this program has explanations.
fn kept(text: String) -> &'static str {
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(&*text) {
        return known;
    }
    let text: &'static str = text.leak();
    texts.insert(text);
    text
}

/// What pickles a table as a `kind`, with what that has beside the table.
pub fn of_table<'py>(
    table: &Bound<'py, Table>,
    kind: &str,
    extra: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = table.py();
    let this = table.get();
    let state = PyDict::new(py);
    let columns = PyList::empty(py);
    for Column { name, unit, doc, data } in &this.table.columns {
        let values = crate::table::values(py, data)?;
        columns.append((name, unit.symbol(), *doc, data_kind(data), values))?;
    }
    state.set_item("name", this.table.name)?;
    state.set_item("columns", columns)?;
    state.set_item("notices", this.notices(py))?;
    state.set_item("coverage", this.coverage(py))?;
    state.set_item("svg", this.svg()?)?;
    let restored = py.import("ouzel._core")?.getattr("restored")?;
    let arguments = (kind, state, extra).into_pyobject(py)?;
    (restored, arguments).into_pyobject(py)
}

fn data_kind(data: &ColumnData) -> &'static str {
    match data {
        ColumnData::U64(_) => "u64",
        ColumnData::OptionU64(_) => "u64?",
        ColumnData::I64(_) => "i64",
        ColumnData::F64(_) => "f64",
        ColumnData::OptionF64(_) => "f64?",
        ColumnData::Text(_) => "text",
        ColumnData::OptionText(_) => "text?",
        ColumnData::TextList(_) => "texts",
        ColumnData::U64List(_) => "u64s",
    }
}

fn data_of(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<ColumnData> {
    let texts = |values: Vec<String>| values.into_iter().map(Arc::<str>::from).collect::<Vec<_>>();
    Ok(match kind {
        "u64" => ColumnData::U64(values.extract()?),
        "u64?" => ColumnData::OptionU64(values.extract()?),
        "i64" => ColumnData::I64(values.extract()?),
        "f64" => ColumnData::F64(values.extract()?),
        "f64?" => ColumnData::OptionF64(values.extract()?),
        "text" => ColumnData::Text(texts(values.extract()?)),
        "text?" => {
            let values: Vec<Option<String>> = values.extract()?;
            ColumnData::OptionText(values.into_iter().map(|value| value.map(Arc::from)).collect())
        }
        "texts" => {
            let values: Vec<Vec<String>> = values.extract()?;
            ColumnData::TextList(values.into_iter().map(texts).collect())
        }
        "u64s" => ColumnData::U64List(values.extract()?),
        _ => return Err(PyValueError::new_err("a table of another version of ouzel")),
    })
}

fn unit_of(symbol: &str) -> Unit {
    let known = [Unit::None, Unit::Count, Unit::Nanoseconds, Unit::Bytes, Unit::Ratio];
    known.into_iter().find(|unit| unit.symbol() == symbol).unwrap_or_else(|| Unit::Other(Arc::from(symbol)))
}

#[doc = prose!("restored")]
#[pyfunction]
pub fn restored<'py>(
    py: Python<'py>,
    kind: &str,
    state: &Bound<'py, PyDict>,
    extra: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let item = |name: &str| {
        state.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("a pickled table without {name}")))
    };
    let columns: Vec<(String, String, String, String, Bound<'py, PyAny>)> = item("columns")?.extract()?;
    let columns = columns.into_iter().map(|(name, unit, doc, kind, values)| {
        Ok(Column { name, unit: unit_of(&unit), doc: kept(doc), data: data_of(&kind, &values)? })
    });
    let columns: Vec<Column> = columns.collect::<PyResult<_>>()?;
    if columns.iter().any(|column| column.data.len() != columns[0].data.len()) {
        return Err(PyValueError::new_err("a pickled table with columns of several lengths"));
    }
    let table = ouzel::model::Table { name: kept(item("name")?.extract()?), columns };
    let svg: Option<String> = item("svg")?.extract()?;
    let base =
        Table::from_state(table, item("notices")?.unbind(), item("coverage")?.unbind(), svg.map(Drawn::Svg));
    let init = PyClassInitializer::from(base);
    Ok(match kind {
        "Histogram" => {
            let (counts, edges) = extra.extract()?;
            Bound::new(py, init.add_subclass(Histogram { counts, edges }))?.into_any()
        }
        "CommMatrix" => {
            let (ranks, cells, unit): (Vec<u32>, Vec<PickledCell>, String) = extra.extract()?;
            Bound::new(py, init.add_subclass(matrix(ranks, cells, &unit)?))?.into_any()
        }
        "MultiRun" => {
            let runs: Py<Table> = extra.extract()?;
            Bound::new(py, init.add_subclass(crate::compare::MultiRun { runs }))?.into_any()
        }
        "Correlations" => {
            let facts = extra.clone().unbind();
            Bound::new(py, init.add_subclass(crate::profile::Correlations { facts }))?.into_any()
        }
        "Waits" => {
            let facts = extra.clone().unbind();
            Bound::new(py, init.add_subclass(crate::waits::Waits { facts }))?.into_any()
        }
        _ => Bound::new(py, init)?.into_any(),
    })
}

/// Sender, receiver, messages and bytes.
type PickledCell = (u32, u32, u64, u64);

fn matrix(ranks: Vec<u32>, cells: Vec<PickledCell>, unit: &str) -> PyResult<CommMatrix> {
    let cell = |(from, to, messages, bytes)| MatrixCell {
        from: WorldRank(from),
        to: WorldRank(to),
        traffic: Traffic { messages, bytes },
    };
    let n = ranks.len();
    let output = CommMatrixOutput {
        ranks: ranks.into_iter().map(WorldRank).collect(),
        has_events: vec![true; n],
        cells: cells.into_iter().map(cell).collect(),
        received: vec![Traffic::default(); n],
        to_unknown: Vec::new(),
        without_rank: Traffic::default(),
        null_peers: 0,
        not_expanded: Traffic::default(),
    };
    let unit =
        if unit == TrafficUnit::Messages.as_str() { TrafficUnit::Messages } else { TrafficUnit::Bytes };
    Ok(CommMatrix::new(output, unit))
}

#[pymethods]
impl Trace {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let reopened = py.import("ouzel._core")?.getattr("reopened")?;
        let path = std::path::absolute(self.inner.path())?;
        let filter = serde_json::to_string(&self.selection.filter).map_err(errors::failed)?;
        let repairs: Vec<&ClockRepair> = self.inner.repairs().iter().map(|repair| &**repair).collect();
        let repairs = serde_json::to_string(&repairs).map_err(errors::failed)?;
        let fingerprint = self.inner.fingerprint().to_string();
        let arguments = (path, filter, self.selection.jobs.map(NonZeroUsize::get), repairs, fingerprint);
        (reopened, arguments.into_pyobject(py)?).into_pyobject(py)
    }
}

#[doc = prose!("reopened")]
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub fn reopened(
    py: Python<'_>,
    path: PathBuf,
    filter: &str,
    jobs: Option<usize>,
    repairs: &str,
    fingerprint: &str,
) -> PyResult<Trace> {
    let filter: Filter = serde_json::from_str(filter).map_err(errors::invalid)?;
    let repairs: Vec<ClockRepair> = serde_json::from_str(repairs).map_err(errors::invalid)?;
    let on_clocks = |trace: ouzel::Trace| repairs.into_iter().fold(trace, ouzel::Trace::on_clocks);
    let opened = py.detach(|| cluster::opened(&path, fingerprint, on_clocks));
    let trace = opened.map_err(|error| errors::of_open(&error, &path))?;
    if trace.fingerprint().to_string() != fingerprint {
        return Err(errors::OuzelError::new_err(format!("{path:?} is not the trace that was pickled")));
    }
    crate::output::remember(&path);
    let selection = Selection { filter, jobs: jobs.and_then(NonZeroUsize::new), ..Selection::everything() };
    Ok(Trace { inner: trace, selection })
}
