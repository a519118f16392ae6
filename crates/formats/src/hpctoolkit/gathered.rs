//! Values of one metric that were gathered thread by thread and are given call path by call path.
//!
//! Memory: 16 bytes for each value.

use ouzel_model::{CallPathId, LocationId, Notice, ReadError, Severities, SeverityRow, SeverityRows};
use std::cmp::Reverse;

/// The values of one metric.
#[derive(Debug, Default)]
pub(super) struct GatheredRows {
    /// Call path, location, value. Popped from the end, the last call path first and its locations in order.
    pub values: Vec<(u32, u32, f64)>,
    pub notices: Vec<Notice>,
}

impl GatheredRows {
    /// Brings the values into their order. The sort is stable: values of one call path and location are summed in the
    /// order in which they came, from the last.
    pub fn sort(&mut self) {
        self.values.sort_by_key(|&(path, location, _)| (path, Reverse(location)));
    }
}

impl SeverityRows for GatheredRows {
    fn read(&mut self, row: &mut SeverityRow) -> Result<bool, ReadError> {
        row.clear();
        let Some(&(path, ..)) = self.values.last() else { return Ok(false) };
        row.path = CallPathId(path);
        let mut locations = Vec::new();
        let mut values: Vec<f64> = Vec::new();
        while let Some((_, location, value)) = self.values.pop_if(|(at, ..)| *at == path) {
            if locations.last() == Some(&LocationId(location)) {
                *values.last_mut().expect("each location has a value") += value;
            } else {
                locations.push(LocationId(location));
                values.push(value);
            }
        }
        row.locations = Some(locations);
        row.values = Severities::F64(values);
        Ok(true)
    }

    fn notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }
}
