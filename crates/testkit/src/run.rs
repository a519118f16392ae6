//! One analysis over one trace, in one line.

use ouzel_engine::{Analysis, AnalysisSet, Pass, Report};
use ouzel_model::{Filter, TraceSource};
use std::num::NonZeroUsize;

/// The output of `analysis` for `source`, everything selected, on two threads.
///
/// # Panics
/// If the pass or the analysis fails.
pub fn run<A: Analysis>(source: &dyn TraceSource, analysis: A) -> A::Output {
    run_report(source, &Filter::default(), analysis).0
}

/// The output of `analysis` for what `filter` selects, and the rest of the pass's report.
///
/// # Panics
/// If the pass or the analysis fails.
pub fn run_report<A: Analysis>(
    source: &dyn TraceSource,
    filter: &Filter,
    analysis: A,
) -> (A::Output, Report) {
    let mut set = AnalysisSet::default();
    let key = set.add(analysis);
    let jobs = NonZeroUsize::MIN.saturating_add(1);
    let mut report = set.run(source, Pass { filter, jobs, progress: None }).expect("the pass succeeds");
    let output = report.outputs.take(&key).expect("the analysis answers");
    (output, report)
}
