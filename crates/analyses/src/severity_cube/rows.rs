//! The output as a profile in memory.

use super::definitions::{CubeParts, profile_definitions};
use super::output::{CubeMetric, SeverityCubeOutput, quantities};
use super::quantity::Quantity;
use ouzel_model::{
    CallPathId, Clock, Definitions, LocationId, MetricId, Notice, ProfileDefinitions, ProfileSource,
    ReadError, Severities, SeverityRow, SeverityRows, Ticks,
};
use std::ops::Range;

/// The profile of a trace, in memory: 12 bytes a value.
#[derive(Debug)]
pub struct TraceProfile {
    definitions: ProfileDefinitions,
    /// One for each metric of the definitions.
    metrics: Vec<CubeMetric>,
    /// For each call path of the profile, its call path in the pass.
    pass_path: Vec<CallPathId>,
    clock: Clock,
    notices: Vec<Notice>,
}

impl TraceProfile {
    /// The profile of a trace with these definitions; `notices` are those of the pass, about locations of the trace.
    pub fn new(output: SeverityCubeOutput, definitions: &Definitions, notices: Vec<Notice>) -> Self {
        let counted = output.metrics.iter().filter_map(|metric| metric.quantity).collect();
        let quantities = quantities(&counted, &output.counters);
        let has_outside = output.has_outside();
        let SeverityCubeOutput { call_paths, locations, mut metrics, .. } = output;
        let parts = CubeParts {
            call_paths: &call_paths,
            locations: &locations,
            quantities: &quantities,
            has_outside,
        };
        let (profile, path_of) = profile_definitions(definitions, parts);
        let mut pass_path = vec![CallPathId(0); profile.call_tree.len()];
        for (i, path) in path_of.into_iter().enumerate() {
            if let Some(path) = path {
                pass_path[path.index()] = CallPathId::from_index(i);
            }
        }
        let take = |quantity: &Quantity| {
            let of_it = metrics.iter_mut().find(|metric| metric.quantity == Some(*quantity));
            of_it.map_or_else(
                || CubeMetric { quantity: Some(*quantity), ..CubeMetric::default() },
                std::mem::take,
            )
        };
        let metrics = quantities.iter().map(take).collect();
        let notices = notices_of(&locations, notices);
        let clock = definitions.clock;
        TraceProfile { definitions: profile, metrics, pass_path, clock, notices }
    }
}

/// Turns notices about locations of a trace into notices about those of its profile, which are `locations` of the
/// trace, ascending.
pub fn notices_of(locations: &[LocationId], notices: Vec<Notice>) -> Vec<Notice> {
    let in_profile = |id: LocationId| locations.binary_search(&id).ok().map(LocationId::from_index);
    let told = |notice: Notice| Notice { location: notice.location.and_then(in_profile), ..notice };
    notices.into_iter().map(told).collect()
}

impl ProfileSource for TraceProfile {
    fn definitions(&self) -> &ProfileDefinitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn severity_bytes(&self, metric: MetricId) -> u64 {
        12 * self.metrics[metric.index()].values.len() as u64
    }

    fn open(
        &self,
        metric: MetricId,
        paths: Range<CallPathId>,
    ) -> Result<Box<dyn SeverityRows + '_>, ReadError> {
        let of_metric = &self.metrics[metric.index()];
        Ok(Box::new(MemoryRows { profile: self, metric: of_metric, first: paths.start.0, next: paths.end.0 }))
    }
}

struct MemoryRows<'a> {
    profile: &'a TraceProfile,
    metric: &'a CubeMetric,
    first: u32,
    next: u32,
}

impl SeverityRows for MemoryRows<'_> {
    fn read(&mut self, row: &mut SeverityRow) -> Result<bool, ReadError> {
        let TraceProfile { definitions, pass_path, clock, .. } = self.profile;
        while self.first < self.next {
            self.next -= 1;
            let range = self.metric.row(pass_path[self.next as usize]);
            if range.is_empty() {
                continue;
            }
            let quantity = self.metric.quantity.unwrap_or(Quantity::Visits);
            let locations = self.metric.locations[range.clone()].iter().map(|&at| LocationId(at));
            let values = self.metric.values[range].iter().copied();
            row.path = CallPathId(self.next);
            fill(row, quantity, definitions.locations.len(), clock, locations, values);
            return Ok(true);
        }
        Ok(false)
    }

    fn notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}

/// Replaces locations and values of a row; ticks become seconds. Locations are those of the profile, ascending.
pub fn fill(
    row: &mut SeverityRow,
    quantity: Quantity,
    n_locations: usize,
    clock: &Clock,
    locations: impl ExactSizeIterator<Item = LocationId>,
    values: impl Iterator<Item = u64>,
) {
    row.locations = if locations.len() < n_locations {
        let mut kept = row.locations.take().unwrap_or_default();
        kept.clear();
        kept.extend(locations);
        Some(kept)
    } else {
        None
    };
    let buffer = std::mem::replace(&mut row.values, Severities::U64(Vec::new()));
    row.values = if quantity.is_time() {
        let mut kept = if let Severities::F64(kept) = buffer { kept } else { Vec::new() };
        kept.clear();
        kept.extend(values.map(|ticks| clock.secs_from_ticks(Ticks(ticks))));
        Severities::F64(kept)
    } else {
        let mut kept = if let Severities::U64(kept) = buffer { kept } else { Vec::new() };
        kept.clear();
        kept.extend(values);
        Severities::U64(kept)
    };
}
