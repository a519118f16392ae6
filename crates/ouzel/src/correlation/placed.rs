//! One view at its places: what a picture of the topology shows, without a ranking.

use super::{CorrelationError, CorrelationQuery, TopologyOrigin, topology};
use crate::Profile;
use ouzel_correlate::{AxisSet, Grid, View, view_on_grid};
use ouzel_model::{ColumnData, Notice, ProfileDefinitions, Scope, Table, Unit};

/// The values of a view over a topology.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The metric and the call path.
    pub view: View,
    /// Values without or with callees.
    pub scope: Scope,
    /// The places.
    pub grid: Grid,
    /// Where the topology is from.
    pub origin: TopologyOrigin,
    /// The axes that the question named, or all.
    pub axes: AxisSet,
    /// For each place of the grid, the last axis fastest; not a number where there is no location, or it has no value.
    pub values: Vec<f64>,
    /// What to know of the topology, worst first.
    pub notices: Vec<Notice>,
}

impl Profile {
    /// The values of the named view at the places of its topology. A view that does not vary has them, too.
    ///
    /// # Errors
    /// If a name means nothing, there is no topology, or severities cannot be read.
    pub fn placed(&self, query: &CorrelationQuery) -> Result<Placed, CorrelationError> {
        let metric = match &query.metric {
            Some(name) => self.metric(name)?,
            None => self.default_metric().ok_or(CorrelationError::Empty("metric"))?,
        };
        let path = match &query.path {
            Some(pattern) => self.call_path(pattern)?,
            None => self.heaviest_path(metric, query.scope)?,
        };
        let (grid, origin, mut notices) = topology::grid(self.definitions(), query.topology.as_deref())?;
        notices.extend(grid.notices());
        let view = View { metric, path };
        let axes = super::axes(query, &grid)?;
        let values = view_on_grid(self.source(), &grid, view, query.scope)?;
        Ok(Placed { view, scope: query.scope, grid, origin, axes, values, notices })
    }
}

impl Placed {
    /// For each place the world rank of its location, where both are known.
    pub fn ranks(&self, definitions: &ProfileDefinitions) -> Vec<Option<u32>> {
        let rank = |place| {
            let location = &definitions.locations[self.grid.location(place)?.index()];
            location.rank.map(|rank| rank.0)
        };
        (0..self.grid.n_places()).map(rank).collect()
    }

    /// One row for each place that has a location.
    pub fn table(&self, definitions: &ProfileDefinitions) -> Table {
        let located: Vec<usize> =
            (0..self.grid.n_places()).filter(|&place| self.grid.location(place).is_some()).collect();
        let ranks = self.ranks(definitions);
        let place = |&at: &usize| self.grid.coordinates(at).into_iter().map(u64::from).collect();
        let location = |&at: &usize| {
            let id = self.grid.location(at)?;
            Some(definitions.locations[id.index()].native_id)
        };
        let value = |&at: &usize| Some(self.values[at]).filter(|value| value.is_finite());
        Table::new("topology")
            .with(
                "place",
                Unit::None,
                "Coordinates, one for each axis",
                ColumnData::U64List(located.iter().map(place).collect()),
            )
            .with(
                "location",
                Unit::None,
                "Id of the location in the profile's file",
                ColumnData::OptionU64(located.iter().map(location).collect()),
            )
            .with(
                "rank",
                Unit::None,
                "World rank of its process",
                ColumnData::OptionU64(located.iter().map(|&at| ranks[at].map(u64::from)).collect()),
            )
            .with(
                "value",
                Unit::None,
                "Severity in the metric's unit",
                ColumnData::OptionF64(located.iter().map(value).collect()),
            )
    }
}
