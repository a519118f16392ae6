//! Operations about accelerators.

use crate::arguments::{bins as bins_of, choice};
use crate::compare::{Gathered, gathered};
use crate::table::Table;
use crate::trace::Trace;
use ouzel::Answer;
use ouzel::waits::accelerators::{
    KernelDifference, KernelsBy, KernelsPer, KernelsTable, StepsAsked, gaps_table, idle_table,
};
use pyo3::prelude::*;

#[pymethods]
impl Trace {
    #[doc = prose!("Trace.kernels")]
    #[pyo3(signature = (*, by="kernel", table="rows", per=None, step=None, step_range=None, bins=50))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn kernels(
        &self,
        py: Python<'_>,
        by: &str,
        table: &str,
        per: Option<&str>,
        step: Option<u64>,
        step_range: Option<&str>,
        bins: i64,
    ) -> PyResult<Table> {
        let by = kernels_by(by)?;
        let tables = [
            ("rows", KernelsTable::Rows),
            ("types", KernelsTable::Types),
            ("queues", KernelsTable::Queues),
            ("launch_delays", KernelsTable::LaunchDelays),
            ("copies", KernelsTable::Copies),
            ("communication", KernelsTable::Communication),
            ("stragglers", KernelsTable::Stragglers),
            ("steps", KernelsTable::Steps),
            ("copy_sizes", KernelsTable::CopySizes),
            ("queue_lengths", KernelsTable::QueueLengths),
            ("launch_delay_ranges", KernelsTable::DelayRanges),
            ("over_time", KernelsTable::OverTime),
            ("copies_over_time", KernelsTable::CopiesOverTime),
            ("memory", KernelsTable::Memory),
            ("memory_operators", KernelsTable::MemoryByOperator),
        ];
        let which = choice("table", table, &tables)?;
        let bins = bins_of(bins, "bins")?;
        let per = match per {
            None => KernelsPer::Run,
            Some(per) => choice("per", per, &[("step", KernelsPer::Step)])?,
        };
        let asked = StepsAsked { marks: step_range, step, per_step: per == KernelsPer::Step };
        self.table(py, |trace, options| {
            let has_bins = matches!(which, KernelsTable::OverTime | KernelsTable::CopiesOverTime);
            let answer = trace.kernels((by, per), Some(bins).filter(|_| has_bins), &asked, options)?;
            Ok(answer.map(|output| output.table(which, trace.definitions())))
        })
    }
}

/// Gaps that are listed: enough to look for a pattern in them.
const N_GAPS: usize = 1000;

fn kernels_by(by: &str) -> PyResult<KernelsBy> {
    let choices =
        [("kernel", KernelsBy::Kernel), ("operator", KernelsBy::Operator), ("scope", KernelsBy::Scope)];
    choice("by", by, &choices)
}

#[doc = prose!("kernel_difference")]
#[pyfunction]
#[pyo3(signature = (before, after, *, by="kernel", step=None, step_range=None))]
pub fn kernel_difference(
    py: Python<'_>,
    before: PyRef<'_, Trace>,
    after: PyRef<'_, Trace>,
    by: &str,
    step: Option<(u64, u64)>,
    step_range: Option<&str>,
) -> PyResult<Table> {
    let by = kernels_by(by)?;
    let steps = [step.map(|it| it.0), step.map(|it| it.1)];
    let sides = gathered(py, vec![before, after], None, |(nth, _), trace, options| {
        let asked = StepsAsked { marks: step_range, step: steps[nth], per_step: false };
        trace.kernels((by, KernelsPer::Run), None, &asked, options)
    })?;
    let Gathered { first, outputs, coverage, notices } = sides;
    let output = KernelDifference::new(&outputs[0], &outputs[1]).table();
    Table::new(py, Answer { output, coverage, run_range: None, notices }, first.definitions())
}

impl Trace {
    /// The idle time of streams by cause.
    pub fn idle_by_cause(&self, py: Python<'_>, asked: &StepsAsked<'_>) -> PyResult<Table> {
        self.table(py, |trace, options| {
            let definitions = trace.definitions();
            let answer = trace.idle_by_cause(0, asked, options)?;
            Ok(answer.map(|output| idle_table(&output.streams, definitions)))
        })
    }

    /// The longest gaps of streams.
    pub fn longest_gaps(&self, py: Python<'_>, asked: &StepsAsked<'_>) -> PyResult<Table> {
        self.table(py, |trace, options| {
            let answer = trace.idle_by_cause(N_GAPS, asked, options)?;
            Ok(answer.map(|output| gaps_table(&output.gaps, trace.definitions())))
        })
    }
}
