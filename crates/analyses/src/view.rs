//! How results per location and call path are shown: by what, and summed over what.
//!
//! A [`RowKey`] names one row of a view; [`RowView`] maps each (location, call path) to its
//! row, tells whether its inclusive values count there, and orders rows of equal value.
//! Law: the order of rows depends on names and ids of the trace alone.
//! For the values, see `call_path_profile` and `metric_profile`.

use ouzel_model::{
    CallPathId, CallPathTree, ColumnData, Definitions, LocationId, RegionId, Table, Unit, WorldRank,
};
use std::sync::Arc;

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// One row for each region, from all callers.
    Region,
    /// One row for each call path.
    CallPath,
}

impl By {
    /// The word in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            By::Region => "region",
            By::CallPath => "call_path",
        }
    }
}

/// What values are summed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// All locations together.
    Total,
    /// All locations of a rank together, and all without a rank together.
    Rank,
    /// Each location separately.
    Location,
}

impl Per {
    /// The word in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Per::Total => "total",
            Per::Rank => "rank",
            Per::Location => "location",
        }
    }
}

/// Names one row of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// The region, or the last region of the call path.
    pub region: RegionId,
    /// The call path; `None` in views by region.
    pub call_path: Option<CallPathId>,
    /// The rank; `None` in totals, and for locations without one.
    pub rank: Option<WorldRank>,
    /// The location; `None` unless rows are per location.
    pub location: Option<LocationId>,
}

/// A way to look at values per location and call path.
#[derive(Debug)]
pub(crate) struct RowView<'a> {
    definitions: &'a Definitions,
    call_paths: &'a CallPathTree,
    by: By,
    per: Per,
    recursive: Vec<bool>,
    /// Place of each call path when siblings are sorted by name.
    place: Vec<u32>,
}

impl<'a> RowView<'a> {
    pub fn new(definitions: &'a Definitions, call_paths: &'a CallPathTree, by: By, per: Per) -> Self {
        let (recursive, place) = match by {
            By::Region => (call_paths.recursive(), Vec::new()),
            By::CallPath => (Vec::new(), places(definitions, call_paths)),
        };
        RowView { definitions, call_paths, by, per, recursive, place }
    }

    /// The row that values of `path` at `location` belong to; `None` for the root, which is no region.
    pub fn key(&self, location: LocationId, path: CallPathId) -> Option<RowKey> {
        let of_total = self.key_of_total(path)?;
        let rank = || self.definitions.location(location).rank;
        Some(match self.per {
            Per::Total => of_total,
            Per::Rank => RowKey { rank: rank(), ..of_total },
            Per::Location => RowKey { rank: rank(), location: Some(location), ..of_total },
        })
    }

    /// The row of values of `path` over all locations.
    pub fn key_of_total(&self, path: CallPathId) -> Option<RowKey> {
        let region = self.call_paths.region(path)?;
        let call_path = (self.by == By::CallPath).then_some(path);
        Some(RowKey { region, call_path, rank: None, location: None })
    }

    /// What rows are about.
    pub(crate) fn by(&self) -> By {
        self.by
    }

    /// Whether inclusive values of `path` count in its row. Below a call of the same region they do not:
    /// that call holds them already.
    pub(crate) fn counts_inclusive(&self, path: CallPathId) -> bool {
        !self.recursive.get(path.index()).copied().unwrap_or(false)
    }

    /// Sorts rows of equal value: by name or by path, then by rank and location.
    pub(crate) fn tie_break(&self, key: &RowKey) -> impl Ord + use<'_> {
        let place = key.call_path.map(|path| self.place[path.index()]);
        let name: &str = if place.is_some() { "" } else { &self.definitions.region(key.region).name };
        (place, name, key.region, key.rank, key.location)
    }

    /// The columns that name the rows, in front of the values.
    pub(crate) fn name_columns(&self, name: &'static str, keys: &[RowKey]) -> Table {
        let region_name = |region: RegionId| self.definitions.region(region).name.clone();
        let mut table = Table::new(name).with(
            "region",
            Unit::None,
            "Name of the region",
            ColumnData::Text(keys.iter().map(|key| region_name(key.region)).collect()),
        );
        if self.by == By::CallPath {
            let names = |key: &RowKey| -> Vec<Arc<str>> {
                let path = key.call_path.unwrap_or(CallPathTree::ROOT);
                self.call_paths.regions(path).into_iter().map(region_name).collect()
            };
            let paths = ColumnData::TextList(keys.iter().map(names).collect());
            table = table.with("call_path", Unit::None, "Regions from the outermost to this one", paths);
        }
        if self.per != Per::Total {
            let ranks = keys.iter().map(|key| key.rank.map(|rank| u64::from(rank.0))).collect();
            let doc = "World rank of the process; missing if unknown";
            table = table.with("rank", Unit::None, doc, ColumnData::OptionU64(ranks));
        }
        if self.per == Per::Location {
            let native = |key: &RowKey| key.location.map(|id| self.definitions.location(id).native_id);
            let doc = "Id of the location in the trace's files";
            let ids = ColumnData::OptionU64(keys.iter().map(native).collect());
            table = table.with("location", Unit::None, doc, ids);
        }
        table
    }
}

/// Columns that tell regions of one name apart, behind the values.
pub(crate) fn with_place_columns(table: Table, definitions: &Definitions, keys: &[RowKey]) -> Table {
    with_source_columns(table, definitions, keys).with(
        "region_id",
        Unit::None,
        "Number of the region in the trace; several regions may have one name",
        ColumnData::U64(keys.iter().map(|key| u64::from(key.region.0)).collect()),
    )
}

fn with_source_columns(table: Table, definitions: &Definitions, keys: &[RowKey]) -> Table {
    let regions = || keys.iter().map(|key| definitions.region(key.region));
    table
        .with(
            "file",
            Unit::None,
            "Source file of the region, if recorded",
            ColumnData::OptionText(regions().map(|r| r.file.clone()).collect()),
        )
        .with(
            "line",
            Unit::None,
            "First source line of the region, if recorded",
            ColumnData::OptionU64(regions().map(|r| r.line.map(u64::from)).collect()),
        )
}

/// Columns that describe the region of each row, behind the values.
pub(crate) fn with_region_columns(table: Table, definitions: &Definitions, keys: &[RowKey]) -> Table {
    let regions = || keys.iter().map(|key| definitions.region(key.region));
    let table = table
        .with(
            "paradigm",
            Unit::None,
            "Programming model of the region, as recorded",
            ColumnData::Text(regions().map(|r| Arc::from(r.paradigm.as_str())).collect()),
        )
        .with(
            "role",
            Unit::None,
            "Role of the region, as recorded",
            ColumnData::Text(regions().map(|r| Arc::from(r.role.as_str())).collect()),
        );
    with_source_columns(table, definitions, keys)
}

/// Place of each call path in depth-first order with siblings sorted by name, then by region.
fn places(definitions: &Definitions, call_paths: &CallPathTree) -> Vec<u32> {
    let mut children: Vec<Vec<CallPathId>> = vec![Vec::new(); call_paths.len()];
    for path in call_paths.paths() {
        children[call_paths.parent(path).index()].push(path);
    }
    let name = |path: &CallPathId| {
        let region = call_paths.region(*path);
        std::cmp::Reverse((region.map(|r| &definitions.region(r).name), region))
    };
    let mut places = vec![0; call_paths.len()];
    let mut pending = vec![CallPathTree::ROOT];
    let mut next = 0;
    while let Some(path) = pending.pop() {
        places[path.index()] = next;
        next += 1;
        let below = &mut children[path.index()];
        below.sort_by_key(name);
        pending.append(below);
    }
    places
}
