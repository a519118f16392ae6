//! A trace as a profile: v(metric, call path, location) of everything that is counted, in one pass.
//!
//! ```text
//! visits, messages, collectives, counters ──fold──► totals by call path, of one location
//!   ──end──► columns (paths, values) for each quantity that is not zero ──finish──► rows by metric and call path
//! ```
//!
//! Every value is that of a call path without its callees, summed over the visits: time is the exclusive time; a
//! message, a collective operation and what a counter gained belong to the innermost call that is open then. Inclusive
//! values follow by sums along the tree (`ouzel_model::ScopedRows`). Least and greatest times are those of one visit,
//! callees included, as Score-P has them. Names and units are Score-P's and Scalasca's, see [`Quantity`].
//!
//! Waiting for other ranks is found after all locations are folded, by who knows how; it is added to the output
//! ([`SeverityCubeOutput::with`]).
//!
//! Laws: sums over locations and call paths are those of `call_path_profile`, `metric_profile` and
//! `communication_totals`; a location is in the profile exactly if it is selected and runs code; partials hold nonzero
//! values only, 12 bytes each.
//! Not covered: time outside of all calls and metrics that do not count up (both are reported); files.

mod definitions;
mod fold;
mod output;
mod quantity;
mod rows;
mod state;
#[cfg(test)]
mod tests;
mod waiting;

pub use definitions::{CubeParts, constructed_topology, profile_definitions};
pub use fold::SeverityCube;
pub use output::{CubeMetric, SeverityCubeOutput, quantities};
pub use quantity::Quantity;
pub use rows::{TraceProfile, fill, notices_of};
pub use waiting::Waiting;
