//! The events of a trace as columns, location by location: for questions that no analysis here answers.
//!
//! ```text
//! group of locations ──fold on several threads──► batches of each location ──in order──► the caller, who pulls
//! ```
//!
//! Rows are those that analyses see: times cut or kept according to the filter, calls nested, calls of sampled
//! locations made from their samples. Law: batches come by location, those of a location in order of time, whatever the
//! number of threads; nothing is read before it is requested. Memory is bounded by the largest group, which is one
//! location or 16 MiB of files. Data frames are made elsewhere.

mod columns;
mod reader;

pub use columns::{EventBatch, EventNames, EventType};
pub use reader::{EventOptions, EventReader};
