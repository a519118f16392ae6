//! Metrics: columns of measured values.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A measured quantity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Its name, e.g. `PAPI_TOT_CYC`.
    pub name: Arc<str>,
    /// The tracer's description of it.
    pub description: Arc<str>,
    /// Unit of its values, with the scale folded in, e.g. `#`, `bytes`, `10^-6 s`.
    pub unit: Arc<str>,
    /// How values relate to time.
    pub mode: MetricMode,
    /// How the 64 bits of a value are to be read.
    pub value_type: MetricValueType,
}

/// How the values of a metric relate to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetricMode {
    /// A counter that grows from the start of the measurement; differences are attributed to regions.
    Accumulated,
    /// A value of its own at each point, e.g. a temperature.
    Absolute,
    /// A difference to the previous value.
    Relative,
}

/// How the 64 bits of a metric value are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetricValueType {
    /// An unsigned integer.
    U64,
    /// A signed integer.
    I64,
    /// A floating-point number.
    F64,
}

impl Metric {
    /// Whether differences of its values may be summed exactly over visits: an accumulated integer counter.
    pub fn is_counter(&self) -> bool {
        self.mode == MetricMode::Accumulated && self.value_type != MetricValueType::F64
    }
}
