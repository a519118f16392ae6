//! A severity profile as a table.

use super::rows::{Grouping, SeverityEntry, SeverityProfile};
use ouzel_model::{ColumnData, ProfileDefinitions, Table, Unit};
use std::sync::Arc;

impl SeverityProfile {
    /// The rows as a table; values have the unit that the profile gives the metric.
    pub fn table(&self, definitions: &ProfileDefinitions) -> Table {
        let unit = &definitions.metric(self.metric).unit;
        let unit = || if unit.is_empty() { Unit::None } else { Unit::Other(unit.clone()) };
        let entries = &self.entries;
        let names = |region: &dyn Fn(&SeverityEntry) -> Arc<str>| {
            ColumnData::Text(entries.iter().map(region).collect())
        };
        let region = |id: ouzel_model::RegionId| &definitions.regions[id.index()];
        let mut table = match self.grouping {
            Grouping::Region => Table::new("regions").with(
                "region",
                Unit::None,
                "Name of the region",
                names(&|entry| region(entry.region).name.clone()),
            ),
            Grouping::CallPath => {
                let path = |entry: &SeverityEntry| -> Vec<Arc<str>> {
                    entry.path.map(|path| definitions.call_path_names(path)).unwrap_or_default()
                };
                Table::new("call paths")
                    .with(
                        "call_path",
                        Unit::None,
                        "Regions from the outermost to the innermost",
                        ColumnData::TextList(entries.iter().map(path).collect()),
                    )
                    .with(
                        "call_path_id",
                        Unit::None,
                        "Id of the call path in the profile's file",
                        ColumnData::OptionU64(
                            entries
                                .iter()
                                .map(|entry| {
                                    entry.path.map(|path| definitions.call_tree.node(path).native_id)
                                })
                                .collect(),
                        ),
                    )
            }
        };
        let floats =
            |value: &dyn Fn(&SeverityEntry) -> f64| ColumnData::F64(entries.iter().map(value).collect());
        table = table
            .with(
                "total",
                unit(),
                "Over all locations: the sum, the extreme for minima and maxima, or the formula over sums",
                ColumnData::OptionF64(entries.iter().map(|entry| entry.total).collect()),
            )
            .with(
                "mean",
                unit(),
                "Sum over locations / number of locations; where a missing value is not 0, only locations with a \
                 value count",
                floats(&|entry| entry.mean),
            )
            .with("min", unit(), "Smallest value of a location", floats(&|entry| entry.min))
            .with("max", unit(), "Greatest value of a location", floats(&|entry| entry.max));
        let location = |entry: &SeverityEntry| &definitions.locations[entry.max_location.index()];
        let group = |entry: &SeverityEntry| &definitions.location_groups[location(entry).group.index()];
        table
            .with(
                "max_location",
                Unit::None,
                "Id in the profile's file of the first location with the greatest value",
                ColumnData::U64(entries.iter().map(|entry| location(entry).native_id).collect()),
            )
            .with(
                "max_rank",
                Unit::None,
                "World rank of that location; missing if it has none",
                ColumnData::OptionU64(
                    entries.iter().map(|entry| group(entry).rank.map(|rank| u64::from(rank.0))).collect(),
                ),
            )
    }
}
