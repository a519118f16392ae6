//! One analysis over one trace, in one line.

use ouzel_engine::{AnalysisSet, Pass, Question, Report};
use ouzel_model::{Filter, TraceSource};
use std::num::NonZeroUsize;

/// The output of `question` for `source`, everything selected, on two threads.
///
/// # Panics
/// If the pass or the analysis fails.
pub fn run<Q: Question>(source: &dyn TraceSource, question: Q) -> Q::Output {
    run_report(source, &Filter::default(), question).0
}

/// The output of `question` for what `filter` selects, and the rest of the pass's report.
///
/// # Panics
/// If the pass or the analysis fails.
pub fn run_report<Q: Question>(
    source: &dyn TraceSource,
    filter: &Filter,
    question: Q,
) -> (Q::Output, Report) {
    let mut set = AnalysisSet::default();
    let key = set.add(question);
    let jobs = NonZeroUsize::MIN.saturating_add(1);
    let mut report = set.run(source, Pass { filter, jobs, progress: None }).expect("the pass succeeds");
    let output = report.outputs.take(&key).expect("the analysis answers");
    (output, report)
}
