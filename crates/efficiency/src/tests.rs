//! What the tests share, and the golden programs.

use crate::{Metric, MetricValue, Threads, Unavailable};
use ouzel_analyses::call_path_profile::CallPathProfile;
use ouzel_analyses::semantics::Semantics;
use ouzel_model::{Filter, TraceSource};
use ouzel_testkit::{ToyTrace, run_report};

pub fn try_threads(trace: &ToyTrace, filter: &Filter) -> Result<Threads, Unavailable> {
    let (profile, _) = run_report(trace, filter, CallPathProfile);
    let classes = Semantics::default().classes(trace.definitions());
    Threads::new(&profile, trace.definitions(), &classes, &|_| false)
}

pub fn threads_of(trace: &ToyTrace) -> Threads {
    try_threads(trace, &Filter::default()).expect("the trace has threads")
}

pub fn value(values: &[MetricValue], metric: Metric) -> Option<f64> {
    values.iter().find(|value| value.metric == metric)?.value.as_ref().ok().copied()
}

mod golden;
mod parts;
mod random;
mod scaling;
mod useful;
