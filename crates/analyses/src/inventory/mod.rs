//! What the trace holds: events of each kind at each location, and how deep calls nest.
//!
//! Counted after repair: dropped leaves are missing, leaves of calls that were still
//! open are there. Not here: what the events say.

mod fold;
mod output;
mod state;
#[cfg(test)]
mod tests;

pub use fold::Inventory;
pub use output::{EVENT_KINDS, InventoryOutput, LocationInventory, kind_name};
pub use state::{InventoryPartial, Local};
