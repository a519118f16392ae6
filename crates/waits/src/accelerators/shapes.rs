//! How the kernels of a group were launched, where the trace records it.

use super::AcceleratorsOutput;
use ouzel_model::{LaunchShape, LocationId};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The shapes of the launches of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LaunchShapeSummary {
    /// How many shapes there are, without their occupancy.
    pub n_shapes: u64,
    /// That of most launches, of several the one with the smallest grid.
    pub most: Option<LaunchShape>,
    /// Mean over the time of the operations that have one, from 0 to 1.
    pub occupancy: Option<f64>,
}

/// Sums over a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShapeSums {
    /// Launches of each shape, without its occupancy.
    launches: BTreeMap<LaunchShape, u64>,
    /// Σ occupancy · time, Σ time.
    occupancy: (u128, u128),
}

impl ShapeSums {
    /// Adds an operation.
    pub fn add(&mut self, shape: Option<LaunchShape>, ns: u64) {
        let Some(shape) = shape else { return };
        if let Some(permille) = shape.occupancy_permille {
            self.occupancy.0 += u128::from(permille) * u128::from(ns);
            self.occupancy.1 += u128::from(ns);
        }
        *self.launches.entry(LaunchShape { occupancy_permille: None, ..shape }).or_default() += 1;
    }

    /// Adds another group.
    pub fn merge(&mut self, from: &ShapeSums) {
        from.launches.iter().for_each(|(&shape, n)| *self.launches.entry(shape).or_default() += n);
        self.occupancy.0 += from.occupancy.0;
        self.occupancy.1 += from.occupancy.1;
    }

    /// What they say.
    pub fn summary(&self) -> LaunchShapeSummary {
        let most = self.launches.iter().max_by_key(|&(shape, n)| (*n, Reverse(*shape)));
        let (weighted, ns) = self.occupancy;
        LaunchShapeSummary {
            n_shapes: self.launches.len() as u64,
            most: most.map(|(shape, _)| *shape),
            occupancy: (0 < ns).then(|| weighted as f64 / ns as f64 / 1000.0),
        }
    }
}

impl AcceleratorsOutput {
    /// How an operation was launched.
    pub(super) fn shape(&self, stream: LocationId, nth: usize) -> Option<LaunchShape> {
        let details = self.details(stream)?;
        let place = details.shape_of.binary_search_by_key(&nth, |it| it.0 as usize).ok()?;
        details.shapes.get(details.shape_of[place].1 as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_most_launches_and_the_occupancy_over_time() {
        let shape = |x, occupancy_permille| LaunchShape {
            grid: [x, 1, 1],
            occupancy_permille,
            ..LaunchShape::default()
        };
        let mut sums = ShapeSums::default();
        assert_eq!(sums.summary(), LaunchShapeSummary::default());
        sums.add(Some(shape(2, Some(500))), 10);
        sums.add(Some(shape(2, Some(100))), 30);
        sums.add(Some(shape(1, None)), 100);
        sums.add(None, 100);
        let found = sums.summary();
        assert_eq!((found.n_shapes, found.most), (2, Some(shape(2, None))));
        assert!((found.occupancy.unwrap() - 0.2).abs() < 1e-12);
    }
}
