//! The profile by call path: visits, inclusive and exclusive time of each call path at each location.
//!
//! ```text
//! visits of a chunk ──add_visits──► VisitTimes by call path ──end──► rows of the location ──finish──► ProfileOutput
//!                                                       └─end──► sums of the run ──────finish──► TotalProfileOutput
//! ```
//!
//! Laws, for each location: `inclusive(path) = exclusive(path) + Σ inclusive(children)`;
//! `Σ exclusive + outside = span`. For what the time means, see `imbalance` and the crate
//! `efficiency`.

mod fold;
mod output;
mod state;
#[cfg(test)]
mod tests;
mod total;

pub use fold::CallPathProfile;
pub(crate) use fold::add_visits;
pub use output::{LocationProfile, ProfileOutput, ProfileRow};
pub use state::{PathTimes, VisitTimes};
pub use total::{TotalProfile, TotalProfileOutput};
