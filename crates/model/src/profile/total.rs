//! One number for all locations.

use super::definitions::Aggregation;
use super::row::{Severities, SeverityRow};

/// The values of a metric over all locations as one number, under construction: their sum, or the extreme of all.
#[derive(Debug, Clone)]
pub struct SeverityTotal {
    aggregation: Aggregation,
    integers: i128,
    float: f64,
    any: bool,
}

impl SeverityTotal {
    /// Of nothing.
    pub fn new(aggregation: Aggregation) -> Self {
        let float = match aggregation {
            Aggregation::Min => f64::INFINITY,
            Aggregation::Max => f64::NEG_INFINITY,
            Aggregation::Sum | Aggregation::Formula => 0.0,
        };
        SeverityTotal { aggregation, integers: 0, float, any: false }
    }

    /// Adds the values of a row.
    pub fn add(&mut self, row: &SeverityRow) {
        self.any |= !row.is_empty();
        match (self.aggregation, &row.values) {
            (Aggregation::Min, _) => {
                self.float = row.iter().map(|(_, value)| value).fold(self.float, f64::min);
            }
            (Aggregation::Max, _) => {
                self.float = row.iter().map(|(_, value)| value).fold(self.float, f64::max);
            }
            (_, Severities::U64(values)) => {
                self.integers += values.iter().map(|&v| i128::from(v)).sum::<i128>();
            }
            (_, Severities::I64(values)) => {
                self.integers += values.iter().map(|&v| i128::from(v)).sum::<i128>();
            }
            (_, Severities::F64(values)) => self.float += values.iter().sum::<f64>(),
        }
    }

    /// The total; `None` without any value.
    pub fn get(&self) -> Option<f64> {
        self.any.then_some(self.float + self.integers as f64)
    }
}
