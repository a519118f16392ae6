//! Operations about accelerators.

use crate::arguments::choice;
use crate::table::Table;
use crate::trace::Trace;
use ouzel::waits::accelerators::{Accelerators, KernelsBy, KernelsTable, idle_table};
use pyo3::prelude::*;

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.kernels")]
    #[pyo3(signature = (*, by="kernel", table="rows"))]
    fn kernels(&self, py: Python<'_>, by: &str, table: &str) -> PyResult<Table> {
        let choices =
            [("kernel", KernelsBy::Kernel), ("operator", KernelsBy::Operator), ("scope", KernelsBy::Scope)];
        let by = choice("by", by, &choices)?;
        let tables = [
            ("rows", KernelsTable::Rows),
            ("types", KernelsTable::Types),
            ("queues", KernelsTable::Queues),
            ("launch_delays", KernelsTable::LaunchDelays),
            ("copies", KernelsTable::Copies),
            ("communication", KernelsTable::Communication),
            ("stragglers", KernelsTable::Stragglers),
        ];
        let which = choice("table", table, &tables)?;
        self.table(py, |trace, options| {
            let definitions = trace.definitions();
            let answer = trace.ask(Accelerators::new(definitions), options)?;
            Ok(answer.map(|output| output.kernels(by, definitions).table(which, definitions)))
        })
    }
}

impl Trace {
    /// The idle time of streams by cause.
    pub fn idle_by_cause(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, |trace, options| {
            let definitions = trace.definitions();
            let answer = trace.ask(Accelerators::new(definitions), options)?;
            Ok(answer.map(|output| idle_table(&output.idle(definitions), definitions)))
        })
    }
}
