//! What the trace holds: events of each kind at each location, and how deep calls nest.
//!
//! Events are counted after repair: dropped leaves are not counted, added leaves of calls
//! that were still open are. The content of the events is not examined.

mod fold;
mod output;
mod state;
#[cfg(test)]
mod tests;

pub use fold::Inventory;
pub use output::{EVENT_KINDS, InventoryOutput, LocationInventory};
