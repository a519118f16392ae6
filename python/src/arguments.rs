//! Arguments that are words of a short list, and numbers of bins.

use crate::errors::invalid;
use crate::selection::patterns;
use ouzel::Options;
use ouzel::analyses::comm_matrix::TrafficUnit;
use ouzel::analyses::semantics::Semantics;
use ouzel::analyses::{By, Per};
use ouzel::rules::RuleError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::io;
use std::num::{NonZeroU16, NonZeroU64};
use std::path::PathBuf;

/// The value of the name that `given` is.
pub fn choice<T: Copy>(what: &str, given: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let found = choices.iter().find(|(name, _)| *name == given).map(|&(_, value)| value);
    found.ok_or_else(|| {
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("{name:?}")).collect();
        PyValueError::new_err(format!("{what}={given:?} is not one of {}", names.join(", ")))
    })
}

pub fn by_what(by: &str) -> PyResult<By> {
    choice("by", by, &[("region", By::Region), ("call_path", By::CallPath)])
}

pub fn per_what(per: &str) -> PyResult<Per> {
    choice("per", per, &[("total", Per::Total), ("rank", Per::Rank), ("location", Per::Location)])
}

pub fn traffic_unit(output: &str) -> PyResult<TrafficUnit> {
    let units = [
        ("size", TrafficUnit::Bytes),
        ("count", TrafficUnit::Messages),
        ("bytes", TrafficUnit::Bytes),
        ("messages", TrafficUnit::Messages),
    ];
    choice("output", output, &units)
}

pub fn bins(n_bins: i64, what: &str) -> PyResult<NonZeroU16> {
    let n_bins = u16::try_from(n_bins).ok().and_then(NonZeroU16::new);
    n_bins.ok_or_else(|| PyValueError::new_err(format!("{what} must be from 1 to 65535")))
}

/// The options of a pass over samples that were taken so often.
pub fn sampled<'a>(
    options: &Options<'a>,
    trace: &ouzel::Trace,
    period_ns: Option<NonZeroU64>,
) -> Options<'a> {
    let clock = trace.definitions().clock;
    Options { period: period_ns.map(|ns| clock.ticks_from_ns(ns.get())), ..options.clone() }
}

/// Nanoseconds between samples.
pub fn period(ns: Option<u64>) -> PyResult<Option<NonZeroU64>> {
    let wrong = || PyValueError::new_err("period_ns must be 1 or more");
    ns.map(|ns| NonZeroU64::new(ns).ok_or_else(wrong)).transpose()
}

/// What regions mean: by the rules of a file before those that are built in.
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub fn semantics(rules: Option<PathBuf>) -> PyResult<Semantics> {
    ouzel::rules::semantics(rules.as_deref()).map_err(|error| match &error {
        RuleError::Read { source, .. } => io::Error::new(source.kind(), error.to_string()).into(),
        RuleError::Rules { .. } => invalid(error),
    })
}

/// Beginnings of the names of columns that Pipit's names of metrics mean; all times for none.
pub fn time_columns(metrics: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<&'static str>> {
    let Some(metrics) = metrics else { return Ok(vec!["exclusive", "inclusive"]) };
    let names = [("time.exc", "exclusive"), ("time.inc", "inclusive")];
    patterns(metrics)?.iter().map(|name| choice("metrics", name, &names)).collect()
}
