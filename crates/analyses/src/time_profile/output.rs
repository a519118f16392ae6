//! The time profile, and its views as tables.

use crate::spread::ratio;
use crate::time_grid::TimeGrid;
use crate::view::{By, Per, RowKey, RowView, with_place_columns};
use ouzel_model::{CallPathId, CallPathTree, ColumnData, Definitions, Table, Ticks, TimeRange, Unit};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Exclusive time of every call path in every bin, over all locations.
#[derive(Debug, Clone)]
pub struct TimeProfileOutput {
    /// The call paths that the rows refer to.
    pub call_paths: CallPathTree,
    /// The bins.
    pub grid: TimeGrid,
    /// From the first event to the last over all locations that run code; see [`TimeGrid::is_exact_for`].
    pub run_range: Option<TimeRange>,
    /// Number of locations that run code and have an event: threads and streams.
    pub n_locations: u64,
    /// Ticks of each bin in which locations were in no recorded region:
    /// `width · n_locations − Σ exclusive`. A location that has not begun yet or has ended is idle.
    pub idle: Vec<Ticks>,
    /// By call path, ascending; those without time in the bins have no row.
    pub rows: Vec<TimeProfileRow>,
}

/// Exclusive time of one call path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeProfileRow {
    /// The call path.
    pub call_path: CallPathId,
    /// Ticks in each bin.
    pub exclusive: Vec<Ticks>,
}

/// Exclusive time of one region or call path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinnedRow {
    /// What the row is about.
    pub key: RowKey,
    /// Ticks in each bin.
    pub exclusive: Vec<Ticks>,
    /// Ticks in all bins.
    pub total: Ticks,
}

/// Name of the column of idle time in a wide table, as Pipit has it.
const IDLE: &str = "idle_time";

/// How time in a bin is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    /// In nanoseconds.
    #[default]
    Time,
    /// As a fraction of the bin's capacity: its width times the number of locations.
    Normalised,
}

impl TimeProfileOutput {
    /// Names from the outermost region; the region alone in views by region.
    pub fn path_names(&self, key: &RowKey, definitions: &Definitions) -> Vec<Arc<str>> {
        let regions = match key.call_path {
            Some(path) => self.call_paths.regions(path),
            None => vec![key.region],
        };
        regions.into_iter().map(|region| definitions.region(region).name.clone()).collect()
    }

    /// The time profile by region or by call path: most time first, then by name.
    pub fn functions(&self, definitions: &Definitions, by: By) -> Vec<BinnedRow> {
        self.functions_of(&RowView::new(definitions, &self.call_paths, by, Per::Total))
    }

    fn functions_of(&self, view: &RowView<'_>) -> Vec<BinnedRow> {
        let mut sums: FxHashMap<RowKey, Vec<Ticks>> = FxHashMap::default();
        for row in &self.rows {
            // In totals a row's key does not depend on the location.
            let Some(key) = view.key_of_total(row.call_path) else { continue };
            let sum = sums.entry(key).or_insert_with(|| vec![Ticks(0); row.exclusive.len()]);
            for (sum, ticks) in sum.iter_mut().zip(&row.exclusive) {
                sum.0 = sum.0.saturating_add(ticks.0);
            }
        }
        let row = |(key, exclusive): (RowKey, Vec<Ticks>)| {
            let total = Ticks(exclusive.iter().fold(0, |sum: u64, ticks| sum.saturating_add(ticks.0)));
            BinnedRow { key, exclusive, total }
        };
        let mut rows: Vec<BinnedRow> = sums.into_iter().map(row).filter(|row| 0 < row.total.0).collect();
        rows.sort_unstable_by(|a, b| {
            let by_time = b.total.cmp(&a.total);
            by_time.then_with(|| view.tie_break(&a.key).cmp(&view.tie_break(&b.key)))
        });
        rows
    }

    /// The capacity of a bin: its width times the number of locations.
    pub fn available(&self, bin: usize) -> u128 {
        let width = self.grid.edge(bin + 1).since(self.grid.edge(bin));
        u128::from(width.0) * u128::from(self.n_locations)
    }

    /// `ticks` of a bin as a fraction of its capacity; zero if it has none.
    pub fn normalised(&self, bin: usize, ticks: Ticks) -> f64 {
        ratio(u128::from(ticks.0), self.available(bin)).unwrap_or(0.0)
    }

    /// One row for each bin and region (or call path), region by region, bins without time included.
    pub fn table(&self, definitions: &Definitions, by: By) -> Table {
        let view = RowView::new(definitions, &self.call_paths, by, Per::Total);
        let rows = self.functions_of(&view);
        let cells =
            || rows.iter().flat_map(|row| row.exclusive.iter().enumerate().map(move |cell| (row, cell)));
        let keys: Vec<RowKey> = cells().map(|(row, _)| row.key).collect();
        let bins: Vec<usize> = cells().map(|(_, (bin, _))| bin).collect();
        let mut table = self.grid.bin_columns("time profile", definitions, &bins);
        table.columns.extend(view.name_columns("", &keys).columns);
        let values: Vec<_> = cells().map(|(_, (bin, &ticks))| (bin, ticks)).collect();
        let table = self.with_times(table, definitions, "exclusive", &values);
        with_place_columns(table, definitions, &keys)
    }

    /// One row for each bin and one column for each region or call path, most time first; `idle_time` last. Regions of
    /// one name have their source or number in the names of their columns.
    pub fn wide_table(&self, definitions: &Definitions, by: By, scale: Scale) -> Table {
        let view = RowView::new(definitions, &self.call_paths, by, Per::Total);
        let bins: Vec<usize> = (0..self.grid.n_bins()).collect();
        let mut table = self.grid.bin_columns("time profile", definitions, &bins);
        let labels = definitions.region_labels();
        let mut seen: BTreeSet<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        seen.insert(IDLE.to_owned());
        for row in self.functions_of(&view) {
            let regions = match row.key.call_path {
                Some(path) => self.call_paths.regions(path),
                None => vec![row.key.region],
            };
            let names: Vec<&str> = regions.iter().map(|&region| &*labels[region.index()]).collect();
            let mut label = names.join("/");
            while !seen.insert(label.clone()) {
                label.push('\'');
            }
            let values: Vec<(usize, Ticks)> = row.exclusive.iter().copied().enumerate().collect();
            table = self.with_time(table, definitions, scale, "exclusive", &values);
            table.columns.last_mut().expect("it was just added").name = label;
        }
        let idle: Vec<(usize, Ticks)> = self.idle.iter().copied().enumerate().collect();
        let mut table = self.with_time(table, definitions, scale, "idle", &idle);
        table.columns.last_mut().expect("it was just added").name = IDLE.to_owned();
        table
    }

    /// One row for each bin: the time of all regions together and the idle time.
    pub fn bins_table(&self, definitions: &Definitions) -> Table {
        let bins: Vec<usize> = (0..self.grid.n_bins()).collect();
        let busy = bins.iter().map(|&bin| {
            let busy = self.available(bin).saturating_sub(u128::from(self.idle[bin].0));
            (bin, Ticks(u64::try_from(busy).unwrap_or(u64::MAX)))
        });
        let table = self.grid.bin_columns("time bins", definitions, &bins);
        let table = self.with_times(table, definitions, "busy", &busy.collect::<Vec<_>>());
        let idle: Vec<(usize, Ticks)> = self.idle.iter().copied().enumerate().collect();
        self.with_times(table, definitions, "idle", &idle)
    }

    /// The values in nanoseconds and as ratios.
    fn with_times(&self, table: Table, of: &Definitions, name: &str, values: &[(usize, Ticks)]) -> Table {
        let table = self.with_time(table, of, Scale::Time, name, values);
        self.with_time(table, of, Scale::Normalised, name, values)
    }

    fn with_time(
        &self,
        table: Table,
        definitions: &Definitions,
        scale: Scale,
        name: &str,
        values: &[(usize, Ticks)],
    ) -> Table {
        let doc = match (name, scale) {
            ("exclusive", Scale::Normalised) => {
                "Exclusive time in the bin / (width of the bin · number of locations)"
            }
            ("busy", Scale::Normalised) => "Time in any region / (width of the bin · number of locations)",
            (_, Scale::Normalised) => "1 − time in any region / (width of the bin · number of locations)",
            ("exclusive", Scale::Time) => {
                "Time in the bin from enter to leave less the time in callees, over all locations"
            }
            ("busy", Scale::Time) => "Time in the bin in any region, over all locations",
            (_, Scale::Time) => "Width of the bin · number of locations − time in any region",
        };
        match scale {
            Scale::Time => {
                let ns = values.iter().map(|&(_, ticks)| definitions.clock.ns_from_ticks(ticks)).collect();
                table.with(format!("{name}_ns"), Unit::Nanoseconds, doc, ColumnData::U64(ns))
            }
            Scale::Normalised => {
                let parts = values.iter().map(|&(bin, ticks)| self.normalised(bin, ticks)).collect();
                table.with(format!("{name}_ratio"), Unit::Ratio, doc, ColumnData::F64(parts))
            }
        }
    }
}
