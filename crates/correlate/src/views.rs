//! Rows of a profile as values on a grid.
//!
//! A place without a location, or whose location has no value, takes the mean of the others: it does not take part in
//! the variation. What a row of a summed metric leaves out is zero; of any other metric it is no value. Values that
//! are not finite are no values. A view is scaled by a power of two, so that squares neither overflow nor vanish, and
//! its mean is taken off: neither changes R.

use crate::fourier::Shape;
use crate::{CorrelateError, Grid, View};
use ouzel_model::{
    Aggregation, LocationId, MetricId, MetricKind, ProfileSource, Scope, ScopedRows, SeverityRow,
    SeverityTotal,
};
use std::ops::Range;

const NOWHERE: u32 = u32::MAX;

/// Where the values of locations go.
#[derive(Debug)]
pub struct Layout {
    /// For each location its place in the shape.
    places: Vec<u32>,
    /// The places that have a location, ascending.
    located: Vec<u32>,
    n_places: usize,
}

/// The varying part of a view.
#[derive(Debug, Clone)]
pub struct Variation {
    /// For each place, the value less the mean, scaled.
    pub values: Vec<f64>,
    /// Mean square of the values with the mean, in the same scale.
    pub square_mean: f64,
    /// Share of the places that have a value.
    pub coverage: f64,
    /// Values that are not finite.
    pub n_infinite: u64,
    /// The total of the row, as it is in the profile.
    pub total: f64,
}

impl Layout {
    /// The layout of a grid.
    pub fn new(grid: &Grid, shape: &Shape, n_locations: usize) -> Self {
        let place =
            |location: LocationId| grid.place(location).map(|at| shape.place(&grid.coordinates(at)) as u32);
        let places: Vec<u32> =
            (0..n_locations).map(|at| place(LocationId::from_index(at)).unwrap_or(NOWHERE)).collect();
        let mut located: Vec<u32> = places.iter().copied().filter(|&at| at != NOWHERE).collect();
        located.sort_unstable();
        Layout { places, located, n_places: shape.n_places() }
    }

    /// The values of a row, NaN where there is none; `None` if not one differs from zero. Second: how many are not
    /// finite, those the row left out for that among them.
    fn spread(&self, row: &SeverityRow, not_finite: &[LocationId], is_sum: bool) -> Option<(Vec<f64>, u64)> {
        let mut values = vec![f64::NAN; self.n_places];
        if is_sum && row.locations.is_some() {
            for &place in &self.located {
                values[place as usize] = 0.0;
            }
        }
        let (mut any, mut n_infinite) = (false, 0);
        for (location, value) in row.iter() {
            let Some(&place) = self.places.get(location.index()).filter(|&&place| place != NOWHERE) else {
                continue;
            };
            any |= value != 0.0;
            n_infinite += u64::from(!value.is_finite());
            values[place as usize] = if value.is_finite() { value } else { f64::NAN };
        }
        for location in not_finite {
            if let Some(&place) = self.places.get(location.index()).filter(|&&place| place != NOWHERE) {
                let value = &mut values[place as usize];
                n_infinite += u64::from(!value.is_nan());
                *value = f64::NAN;
            }
        }
        any.then_some((values, n_infinite))
    }

    /// The varying part of the values of a row; `None` if not one differs from zero.
    pub fn variation(
        &self,
        row: &SeverityRow,
        not_finite: &[LocationId],
        aggregation: Aggregation,
    ) -> Option<Variation> {
        let (mut values, n_infinite) = self.spread(row, not_finite, aggregation == Aggregation::Sum)?;
        let mut total = SeverityTotal::new(aggregation);
        total.add(row);
        let greatest = values.iter().filter(|v| !v.is_nan()).fold(0.0_f64, |max, v| max.max(v.abs()));
        let scale = power_of_two_below_inverse(greatest);
        let (mut n_present, mut sum) = (0_u64, 0.0);
        for v in &mut values {
            // In two steps, as the scale of the least numbers exceeds the range.
            *v = *v * scale.0 * scale.1;
            if !v.is_nan() {
                n_present += 1;
                sum += *v;
            }
        }
        let mean = if n_present == 0 { 0.0 } else { sum / n_present as f64 };
        let mut square = 0.0;
        for v in &mut values {
            let varying = if v.is_nan() { 0.0 } else { *v - mean };
            square += varying * varying;
            *v = varying;
        }
        Some(Variation {
            square_mean: square / self.n_places as f64 + mean * mean,
            values,
            coverage: n_present as f64 / self.n_places as f64,
            n_infinite,
            total: total.get().unwrap_or(0.0),
        })
    }
}

/// A power of two, as a product of two, that brings `greatest` to between 1/2 and 2; 1 for 0.
fn power_of_two_below_inverse(greatest: f64) -> (f64, f64) {
    if greatest == 0.0 {
        return (1.0, 1.0);
    }
    // The exponent; of numbers below the normal range, one that is too great, which is enough for them.
    let exponent = ((greatest.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let half = -exponent / 2;
    (2.0_f64.powi(half), 2.0_f64.powi(-exponent - half))
}

/// How the values of a metric combine; what a row of a sum leaves out is zero.
pub fn aggregation(source: &dyn ProfileSource, metric: MetricId) -> Aggregation {
    source.definitions().metric(metric).aggregation
}

/// Reads the row of one view; `None` if it has none, else the locations whose value is not finite.
pub(crate) fn read_row(
    source: &dyn ProfileSource,
    view: View,
    scope: Scope,
    row: &mut SeverityRow,
) -> Result<Option<Vec<LocationId>>, CorrelateError> {
    let definitions = source.definitions();
    let one = view.path..ouzel_model::CallPathId(view.path.0 + 1);
    let stored_so = match definitions.metric(view.metric).kind {
        MetricKind::Exclusive | MetricKind::Simple => scope == Scope::Exclusive,
        MetricKind::Inclusive => scope == Scope::Inclusive,
        MetricKind::DerivedBefore(..) | MetricKind::DerivedAfter(_) => false,
    };
    let paths: Range<_> = if stored_so { one } else { definitions.call_tree.subtree(view.path) };
    let mut rows = ScopedRows::open(source, view.metric, scope, paths).map_err(CorrelateError::Severity)?;
    while rows.read(row).map_err(|error| CorrelateError::Severity(error.into()))? {
        if row.path == view.path {
            return Ok(Some(rows.not_finite().to_vec()));
        }
    }
    Ok(None)
}

/// The values of a view, one for each place of the grid in its order; NaN where a place has no location or its
/// location no value.
///
/// # Errors
/// If the profile has no such view, or it cannot be read.
pub fn view_on_grid(
    source: &dyn ProfileSource,
    grid: &Grid,
    view: View,
    scope: Scope,
) -> Result<Vec<f64>, CorrelateError> {
    let definitions = source.definitions();
    if view.metric.index() >= definitions.metrics.len() || view.path.index() >= definitions.call_tree.len() {
        return Err(CorrelateError::UnknownView(view));
    }
    let mut row = SeverityRow::new(definitions.metric(view.metric).value_type);
    let not_finite = read_row(source, view, scope, &mut row)?.unwrap_or_else(|| {
        row.clear();
        Vec::new()
    });
    let is_sum = aggregation(source, view.metric) == Aggregation::Sum;
    let absent = if is_sum { 0.0 } else { f64::NAN };
    let mut dense = Vec::new();
    row.write_dense(definitions.locations.len(), absent, &mut dense);
    for location in not_finite {
        dense[location.index()] = f64::NAN;
    }
    let value = |place| grid.location(place).map_or(f64::NAN, |location| dense[location.index()]);
    Ok((0..grid.n_places()).map(value).map(|v| if v.is_finite() { v } else { f64::NAN }).collect())
}
