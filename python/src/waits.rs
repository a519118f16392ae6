//! Which calls wait, for whom, and which earlier code makes them wait.

use crate::arguments::choice;
use crate::table::Table;
use crate::trace::Trace;
use crate::value::to_python;
use ouzel::Answer;
use ouzel::model::{Definitions, Table as ModelTable};
use ouzel::waits::{DelaysOutput, PathImpact, WaitClass, WaitRow, WaitRows, WaitsOutput, WaitsPer};
use ouzel_answers::WaitsAnswer;
use ouzel_plot::pictures;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

#[doc = prose!("Waits")]
#[pyclass(frozen, extends = Table, module = "ouzel")]
#[derive(Debug)]
pub struct Waits {
    pub(crate) facts: Py<PyAny>,
}

#[pymethods]
impl Waits {
    #[doc = prose!("Waits.facts")]
    #[getter]
    fn facts(&self, py: Python<'_>) -> Py<PyAny> {
        self.facts.clone_ref(py)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let facts = slf.get().facts.bind(slf.py()).clone();
        crate::pickle::of_table(slf.as_super(), "Waits", facts)
    }
}

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.waits")]
    #[pyo3(signature = (*, per="total", classes=None, delays=false))]
    fn waits(
        &self,
        py: Python<'_>,
        per: &str,
        classes: Option<Vec<String>>,
        delays: bool,
    ) -> PyResult<Py<Waits>> {
        let per = choice("per", per, &[("total", WaitsPer::Total), ("rank", WaitsPer::Rank)])?;
        let known: Vec<(&str, WaitClass)> =
            WaitClass::ALL.iter().map(|&class| (class.as_str(), class)).collect();
        let classes = classes.unwrap_or_default();
        let classes: Vec<WaitClass> =
            classes.iter().map(|class| choice("classes", class, &known)).collect::<PyResult<_>>()?;
        if let Some(class) = classes.iter().find(|class| !delays && class.is_of_causes()) {
            return Err(PyValueError::new_err(format!(
                "classes: {:?} is a part by causes: add delays=True",
                class.as_str()
            )));
        }
        let answer = self.answer(py, |trace, options| match delays {
            true => {
                Ok(trace.delays_and_impact(options)?.map(|(waits, of, impact)| (waits, Some(of), impact)))
            }
            false => Ok(trace.waits(options)?.map(|waits| (waits, None, None))),
        })?;
        self.of_waits(py, answer, &WaitRows { per, classes }, |waits, rows, _, definitions| {
            waits.table(rows, definitions)
        })
    }

    #[doc = prose!("Trace.delays")]
    fn delays(&self, py: Python<'_>) -> PyResult<Py<Waits>> {
        let answer = self.answer(py, ouzel::Trace::delays_and_impact)?;
        let answer = answer.map(|(waits, delays, impact)| (waits, Some(delays), impact));
        let which = WaitRows { per: WaitsPer::Total, classes: Vec::new() };
        self.of_waits(py, answer, &which, |waits, rows, delays, definitions| match delays {
            Some(delays) => delays.table(definitions),
            None => waits.table(rows, definitions),
        })
    }
}

/// Waits, what makes others wait, and what the critical path says of it.
type Found = (WaitsOutput, Option<DelaysOutput>, Option<PathImpact>);

impl Trace {
    /// A table of waits or delays, with everything that the command line says beside it.
    fn of_waits(
        &self,
        py: Python<'_>,
        answer: Answer<Found>,
        which: &WaitRows,
        table: impl Fn(&WaitsOutput, &[WaitRow], Option<&DelaysOutput>, &Definitions) -> ModelTable,
    ) -> PyResult<Py<Waits>> {
        let definitions = self.inner.definitions();
        let (waits, delays, impact) = &answer.output;
        let rows = waits.rows(which, definitions);
        let facts = WaitsAnswer::new(waits, &rows, delays.as_ref(), impact.as_ref(), definitions);
        let facts = to_python(py, &facts)?.unbind();
        let picture =
            delays.as_ref().map(|delays| pictures::waiting_chain(delays, definitions, &self.origin()));
        let table = table(waits, &rows, delays.as_ref(), definitions);
        let table = Table::new(py, answer.map(|_| table), definitions)?.with_picture(picture);
        Py::new(py, PyClassInitializer::from(table).add_subclass(Waits { facts }))
    }
}
