//! Events of each kind at each location.

use super::state::N_KINDS;
use ouzel_model::{ColumnData, Definitions, EventKind, LocationId, Table, Unit};
use std::sync::Arc;

/// Every kind of event, in the order of [`LocationInventory::events`].
pub const EVENT_KINDS: [EventKind; N_KINDS] = [
    EventKind::Enter,
    EventKind::Leave,
    EventKind::MessageSend,
    EventKind::MessageRecv,
    EventKind::Request,
    EventKind::CollectiveBegin,
    EventKind::CollectiveEnd,
    EventKind::Thread,
    EventKind::Rma,
    EventKind::Metric,
    EventKind::Parameter,
    EventKind::Sample,
    EventKind::BufferFlush,
    EventKind::MeasurementOnOff,
    EventKind::Other,
];

/// What the trace holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryOutput {
    /// The locations read, ascending.
    pub locations: Vec<LocationInventory>,
}

/// What one location holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocationInventory {
    /// The location.
    pub location: LocationId,
    /// Number of events by kind, see [`EVENT_KINDS`].
    pub events: [u64; N_KINDS],
    /// Most calls open at once.
    pub max_depth: u64,
}

impl InventoryOutput {
    /// Number of events of a kind over all locations.
    pub fn n_events(&self, kind: EventKind) -> u64 {
        self.locations.iter().map(|location| location.events[kind as usize]).sum()
    }

    /// Most calls open at once at any location.
    pub fn max_depth(&self) -> u64 {
        self.locations.iter().map(|location| location.max_depth).max().unwrap_or(0)
    }

    /// One row for each location and kind of event that occurs there.
    pub fn table(&self, definitions: &Definitions) -> Table {
        let mut rows: Vec<(&LocationInventory, EventKind, u64)> = Vec::new();
        for location in &self.locations {
            let counts = EVENT_KINDS.iter().zip(location.events).filter(|&(_, n)| 0 < n);
            rows.extend(counts.map(|(&kind, n)| (location, kind, n)));
        }
        let location = |row: &(&LocationInventory, EventKind, u64)| definitions.location(row.0.location);
        let ranks = rows.iter().map(|row| location(row).rank.map(|rank| u64::from(rank.0))).collect();
        let ids = ColumnData::U64(rows.iter().map(|row| location(row).native_id).collect());
        let names = rows.iter().map(|row| location(row).name.clone()).collect();
        let kinds = rows.iter().map(|row| Arc::from(row.1.as_str())).collect();
        let events = ColumnData::U64(rows.iter().map(|row| row.2).collect());
        Table::new("events")
            .with("rank", Unit::None, "World rank of the process", ColumnData::OptionU64(ranks))
            .with("location", Unit::None, "Id of the location in the trace's files", ids)
            .with("name", Unit::None, "Name of the location", ColumnData::Text(names))
            .with("kind", Unit::None, "Kind of event", ColumnData::Text(kinds))
            .with("events", Unit::Count, "Number of events, after repair", events)
    }
}
