//! POP efficiencies: how much of the machine's time is useful computation, and what takes the rest.
//!
//! ```text
//! profile of a run ──Threads──► useful time of each thread ──RunEfficiency──► metrics ──Efficiencies──► table
//!    counters ───────────────────────┘   ideal run time ────────────┘
//! ```
//!
//! With the useful time `u` of a thread, the run time `T` and the run time `T_id` on a network without transfer times:
//!
//! ```text
//! parallel efficiency = load balance  × communication efficiency
//!   mean(u) / T       = mean(u)/max(u) × max(u) / T
//!                                        = serialisation × transfer
//!                                        =  max(u)/T_id  × T_id/T
//! ```
//!
//! Laws: sums are exact, and each ratio is one division; what cannot be computed has a [`Reason`] in place of a value.
//! The formulas of hybrid programs, accelerators and several runs are in the files named after them. `T_id` is not
//! computed here: the caller passes it. For which call paths lose the time, see `imbalance` and `mpi_time` of the
//! analyses.
//!
//! These are the metrics of the POP methodology (Performance Optimisation and Productivity, a centre of excellence in
//! HPC).
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod counters;
pub mod device;
pub mod hybrid;
mod metric;
pub mod parts;
mod region_of_interest;
mod run;
pub mod scaling;
mod side_by_side;
#[cfg(test)]
mod tests;
mod time_kind;
mod useful;

pub use counters::{CounterIds, UsefulCounters};
pub use device::DeviceActivity;
pub use hybrid::HybridModel;
pub use metric::{Metric, MetricValue, Reason};
pub use parts::{Part, PartKind};
pub use region_of_interest::RegionOfInterest;
pub use run::RunEfficiency;
pub use scaling::{Scaling, ScalingBasis};
pub use side_by_side::{Efficiencies, MissingValues, TraceEfficiency};
pub use time_kind::{TimeKind, kinds_in_profile};
pub use useful::{Team, ThreadTimes, Threads, Unavailable};
