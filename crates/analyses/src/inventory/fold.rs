//! The fold: one addition for each event.

use super::output::{InventoryOutput, LocationInventory};
use super::state::{Counts, InventoryLocal, InventoryPartial, N_KINDS};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{Contents, EventChunk, EventKind, Level, Needs, Notice, NoticeCode, Remap};
use serde::{Deserialize, Serialize};

/// Number of events of each kind, and the depth of calls.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Inventory;

const _: () = assert!(EventKind::Other as usize + 1 == N_KINDS, "every kind has a place");

impl Analysis for Inventory {
    type Local = InventoryLocal;
    type Partial = InventoryPartial;
    type Output = InventoryOutput;
    const NAME: &'static str = "inventory";
    const PARTIAL_VERSION: u32 = 4;

    fn needs(&self) -> Needs {
        Needs::ALL_EVENTS
    }

    fn speaks_of(&self) -> Contents {
        // Counts of zero are an answer.
        Contents::NONE
    }

    fn empty(&self) -> InventoryPartial {
        InventoryPartial::default()
    }

    fn begin(&self, _cx: &LocationCx<'_>) -> InventoryLocal {
        InventoryLocal::default()
    }

    fn fold(&self, local: &mut InventoryLocal, chunk: &EventChunk<'_>) {
        local.depth = count(chunk.kind, local.depth, &mut local.counts);
    }

    fn end(
        &self,
        local: InventoryLocal,
        cx: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut InventoryPartial,
    ) {
        into.locations.insert(cx.location, local.counts);
    }

    fn remap(&self, _partial: &mut InventoryPartial, _remap: &Remap) {}

    fn merge(&self, into: &mut InventoryPartial, mut from: InventoryPartial) {
        into.locations.append(&mut from.locations);
    }

    fn finish(&self, partial: InventoryPartial, cx: &FinishCx<'_>) -> Result<InventoryOutput, AnalysisError> {
        let mut locations = Vec::new();
        for (location, Counts { events, max_depth }) in partial.locations {
            let report = |kind: EventKind, code, what: &str| {
                let count = events[kind as usize];
                if 0 < count {
                    let name = &cx.definitions.location(location).name;
                    let message = format!("location {name:?}: {what}");
                    cx.notices.push(Notice::new(Level::Medium, code, message).times(count).on(location));
                }
            };
            report(
                EventKind::BufferFlush,
                NoticeCode::BufferFlushes,
                "the tracer interrupted the program to write its buffer",
            );
            report(
                EventKind::MeasurementOnOff,
                NoticeCode::MeasurementOff,
                "recording was switched on or off; events while it was off are missing",
            );
            locations.push(LocationInventory { location, events, max_depth });
        }
        Ok(InventoryOutput { locations })
    }
}

/// Counts the events of a chunk; returns the depth after it.
#[inline(never)]
fn count(kind: &[EventKind], mut depth: u64, counts: &mut Counts) -> u64 {
    let mut max_depth = counts.max_depth;
    for &kind in kind {
        counts.events[kind as usize] += 1;
        match kind {
            EventKind::Enter => {
                depth += 1;
                max_depth = max_depth.max(depth);
            }
            EventKind::Leave => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    counts.max_depth = max_depth;
    depth
}
