//! The profile, and its views as tables.

use super::state::{PathTimes, VisitTimes};
use crate::view::{By, Per, RowKey, RowView, with_region_columns};
use ouzel_model::{CallPathTree, ColumnData, Definitions, LocationId, Table, Ticks, TimeRange, Unit};
use rustc_hash::FxHashMap;

/// Times of every call path at every location.
#[derive(Debug, Clone)]
pub struct ProfileOutput {
    /// The call paths that the rows refer to.
    pub call_paths: CallPathTree,
    /// The locations read, ascending.
    pub locations: Vec<LocationProfile>,
    /// From the first event to the last over all locations that run code.
    pub run_range: Option<TimeRange>,
}

/// Times of every call path at one location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationProfile {
    /// The location.
    pub location: LocationId,
    /// Time of its first and last event; `None` if it has none.
    pub span: Option<(Ticks, Ticks)>,
    /// Ticks of the span in no recorded region: the span less the time in outermost calls.
    pub outside: Ticks,
    /// The call paths visited, ascending.
    pub rows: Vec<PathTimes>,
}

/// One row of a view of the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileRow {
    /// What the row is about.
    pub key: RowKey,
    /// Its times. The inclusive time of a region counts a recursive call once, in the outermost.
    pub times: VisitTimes,
}

impl ProfileOutput {
    /// The profile seen by region or by call path, summed as asked for: most exclusive time first, then by name.
    pub fn rows(&self, definitions: &Definitions, by: By, per: Per) -> Vec<ProfileRow> {
        self.rows_of(&RowView::new(definitions, &self.call_paths, by, per))
    }

    fn rows_of(&self, view: &RowView<'_>) -> Vec<ProfileRow> {
        let rows = self.locations.iter().flat_map(|of| of.rows.iter().map(|row| (of.location, row)));
        sorted_rows(rows.filter_map(|(location, row)| Some((view.key(location, row.call_path)?, row))), view)
    }

    /// The rows as a table, times in nanoseconds.
    pub fn table(&self, definitions: &Definitions, by: By, per: Per) -> Table {
        let view = RowView::new(definitions, &self.call_paths, by, per);
        table_of(&self.rows_of(&view), &view, definitions)
    }
}

/// Rows of the same key summed, in the order of the view.
pub(super) fn sorted_rows<'a>(
    rows: impl Iterator<Item = (RowKey, &'a PathTimes)>,
    view: &RowView<'_>,
) -> Vec<ProfileRow> {
    let mut sums: FxHashMap<RowKey, VisitTimes> = FxHashMap::default();
    for (key, row) in rows {
        let sum = sums.entry(key).or_default();
        if view.counts_inclusive(row.call_path) {
            sum.add(&row.times);
        } else {
            sum.add_all_but_inclusive(&row.times);
        }
    }
    let mut rows: Vec<ProfileRow> = sums.into_iter().map(|(key, times)| ProfileRow { key, times }).collect();
    rows.sort_unstable_by(|a, b| {
        let by_time = b.times.exclusive.cmp(&a.times.exclusive);
        by_time.then_with(|| view.tie_break(&a.key).cmp(&view.tie_break(&b.key)))
    });
    rows
}

/// Rows as a table, times in nanoseconds.
pub(super) fn table_of(rows: &[ProfileRow], view: &RowView<'_>, definitions: &Definitions) -> Table {
    let by = view.by();
    let keys: Vec<RowKey> = rows.iter().map(|row| row.key).collect();
    let name = match by {
        By::Region => "regions",
        By::CallPath => "call paths",
    };
    let column = |value: &dyn Fn(&VisitTimes) -> u64| {
        ColumnData::U64(rows.iter().map(|row| value(&row.times)).collect())
    };
    let ns = |ticks: Ticks| definitions.clock.ns_from_ticks(ticks);
    let inclusive_doc =
        "Time from enter to leave, summed over visits; of recursive calls, only the outermost counts";
    let table = view
        .name_columns(name, &keys)
        .with("visits", Unit::Count, "How often the region was entered", column(&|t| t.visits))
        .with("inclusive_ns", Unit::Nanoseconds, inclusive_doc, column(&|t| ns(t.inclusive)))
        .with(
            "exclusive_ns",
            Unit::Nanoseconds,
            "Time from enter to leave less the time in callees, summed over visits",
            column(&|t| ns(t.exclusive)),
        )
        .with(
            "min_ns",
            Unit::Nanoseconds,
            "Time from enter to leave of the shortest visit",
            column(&|t| ns(t.min)),
        )
        .with(
            "max_ns",
            Unit::Nanoseconds,
            "Time from enter to leave of the longest visit",
            column(&|t| ns(t.max)),
        );
    with_region_columns(table, definitions, &keys)
}
