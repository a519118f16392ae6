//! Tables that are something else, too: a matrix, a histogram.

use crate::errors;
use crate::table::Table;
use ouzel::analyses::comm_matrix::{CommMatrixOutput, TrafficUnit};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};

#[doc = prose!("CommMatrix")]
#[pyclass(frozen, extends = Table, module = "ouzel")]
#[derive(Debug)]
pub struct CommMatrix {
    output: CommMatrixOutput,
    unit: TrafficUnit,
}

impl CommMatrix {
    pub fn new(output: CommMatrixOutput, unit: TrafficUnit) -> Self {
        CommMatrix { output, unit }
    }
}

impl CommMatrix {
    fn check_dense(&self) -> PyResult<()> {
        self.output.check_dense().map_err(errors::failed)
    }
}

#[pymethods]
impl CommMatrix {
    #[doc = prose!("CommMatrix.ranks")]
    #[getter]
    fn ranks(&self) -> Vec<u32> {
        self.output.ranks.iter().map(|rank| rank.0).collect()
    }

    #[doc = prose!("CommMatrix.unit")]
    #[getter]
    fn unit(&self) -> &'static str {
        self.unit.as_str()
    }

    #[doc = prose!("CommMatrix.matrix")]
    #[getter]
    fn matrix(&self) -> PyResult<Vec<Vec<u64>>> {
        self.check_dense()?;
        Ok(self.output.matrix(self.unit))
    }

    #[doc = prose!("CommMatrix.to_numpy")]
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.check_dense()?;
        let n = self.output.ranks.len();
        let numpy = py.import("numpy")?;
        let array = numpy.call_method1("zeros", ((n, n), "uint64"))?;
        let (mut from, mut to, mut amounts) = (Vec::new(), Vec::new(), Vec::new());
        for (row, column, amount) in self.output.places(self.unit) {
            from.push(row);
            to.push(column);
            amounts.push(amount);
        }
        if !amounts.is_empty() {
            // Numbers above 2^63 have no type of their own in a list.
            let amounts = numpy.call_method1("array", (amounts, "uint64"))?;
            array.set_item((from, to), amounts)?;
        }
        Ok(array)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, this) = (slf.py(), slf.get());
        let cells: Vec<_> = this
            .output
            .cells
            .iter()
            .map(|cell| (cell.from.0, cell.to.0, cell.traffic.messages, cell.traffic.bytes))
            .collect();
        let extra = (this.ranks(), cells, this.unit()).into_pyobject(py)?.into_any();
        crate::pickle::of_table(slf.as_super(), "CommMatrix", extra)
    }

    // NumPy's protocol; a copy is always made.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(pyo3::exceptions::PyValueError::new_err(
                "a matrix cannot be returned without a copy",
            ));
        }
        let array = self.to_numpy(py)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }
}

#[doc = prose!("Histogram")]
#[pyclass(frozen, extends = Table, module = "ouzel")]
#[derive(Debug)]
pub struct Histogram {
    pub(crate) counts: Vec<u64>,
    pub(crate) edges: Vec<f64>,
}

#[pymethods]
impl Histogram {
    #[doc = prose!("Histogram.counts")]
    #[getter]
    fn counts(&self) -> &[u64] {
        &self.counts
    }

    #[doc = prose!("Histogram.edges")]
    #[getter]
    fn edges(&self) -> &[f64] {
        &self.edges
    }

    // So that `counts, edges = …` works as with NumPy.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        (&self.counts, &self.edges).into_pyobject(py)?.try_iter()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let this = slf.get();
        let extra = (&this.counts, &this.edges).into_pyobject(slf.py())?.into_any();
        crate::pickle::of_table(slf.as_super(), "Histogram", extra)
    }
}
