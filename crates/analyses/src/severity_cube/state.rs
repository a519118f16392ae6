//! What is counted of a location while it is folded, and of the locations folded so far.

use super::quantity::Quantity;
use crate::call_path_profile::VisitTimes;
use crate::communication_totals::{CollectiveTotals, MessageTotals};
use crate::io_totals::IoTotals;
use crate::metric_profile::{self, Doubt};
use ouzel_model::{CallPathId, LocationId, MetricId, Remap};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// While a location is folded: totals by call path.
#[derive(Debug, Default)]
pub struct SeverityCubeLocal {
    pub(super) times: Vec<VisitTimes>,
    pub(super) messages: Vec<MessageTotals>,
    pub(super) collectives: Vec<CollectiveTotals>,
    pub(super) io: Vec<IoTotals>,
    pub(super) counters: metric_profile::MetricProfileLocal,
}

/// One quantity at one location.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QuantityColumn {
    /// The call paths that have a value, ascending.
    pub paths: Vec<CallPathId>,
    /// Their values, none of them zero unless zero is the least or greatest time.
    pub values: Vec<u64>,
}

impl QuantityColumn {
    pub fn push(&mut self, path: CallPathId, value: u64) {
        self.paths.push(path);
        self.values.push(value);
    }

    /// Renumbers the call paths.
    pub fn remap(&mut self, remap: &Remap) {
        for path in &mut self.paths {
            *path = remap.path(*path);
        }
        if self.paths.is_sorted() {
            return;
        }
        let mut order: Vec<u32> = (0..self.paths.len() as u32).collect();
        order.sort_unstable_by_key(|&i| self.paths[i as usize]);
        self.paths = order.iter().map(|&i| self.paths[i as usize]).collect();
        self.values = order.iter().map(|&i| self.values[i as usize]).collect();
    }
}

/// Everything about one location.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LocationColumns {
    /// Sorted by quantity; none is empty.
    pub columns: Vec<(Quantity, QuantityColumn)>,
    /// What is doubtful about counters.
    pub doubts: Vec<Doubt>,
}

impl LocationColumns {
    /// Adds a quantity, which sorts after all present ones; adds nothing if it has no values.
    pub fn push(&mut self, quantity: Quantity, mut column: QuantityColumn) {
        debug_assert!(self.columns.last().is_none_or(|(last, _)| *last < quantity), "quantities are sorted");
        if !column.paths.is_empty() {
            // It stays until the end of the pass, and most of the memory of a cube is here.
            column.paths.shrink_to_fit();
            column.values.shrink_to_fit();
            self.columns.push((quantity, column));
        }
    }

    /// Takes a quantity out.
    pub fn take(&mut self, quantity: Quantity) -> QuantityColumn {
        let at = self.columns.binary_search_by_key(&quantity, |(quantity, _)| *quantity);
        at.map_or_else(|_| QuantityColumn::default(), |at| std::mem::take(&mut self.columns[at].1))
    }
}

/// Columns by location, and which metrics were met.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeverityCubePartial {
    pub(super) locations: BTreeMap<LocationId, LocationColumns>,
    /// Counters that had a value where code runs.
    pub(super) counters: BTreeSet<MetricId>,
    /// Metrics that had a value and belong to no call.
    pub(super) not_attributed: BTreeSet<MetricId>,
}
