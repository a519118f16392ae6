//! The analyses: folds over the events of a trace, and functions over their results.
//!
//! A fold has one folder: `state.rs` (what it remembers), `fold.rs` (the loop),
//! `output.rs` (the typed result and its tables). Anything computed from results
//! is a function in a file of its own. Laws: integers in partial states, sorted
//! outputs, no float before the last division. No files, formats or threads.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod breakdown;
pub mod call_path_profile;
pub mod call_tree;
pub mod callers;
pub mod calls;
pub mod clock_repair;
pub mod comm_matrix;
pub mod comm_over_time;
pub mod communication_totals;
pub mod counters_over_time;
pub mod critical_path;
pub mod flat_profile;
#[cfg(test)]
mod golden;
pub mod idle;
pub mod imbalance;
pub mod inventory;
pub mod io_totals;
pub mod logical_lateness;
pub mod loss_tree;
pub mod message_histogram;
pub mod message_matching;
pub mod message_waits;
pub mod metric_profile;
pub mod mpi_time;
pub mod paired_operations;
pub mod patterns;
pub mod peers;
pub mod phases;
pub mod profile_columns;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod selections;
pub mod semantics;
pub mod severities;
pub mod severity_cube;
mod spread;
pub mod time_grid;
pub mod time_profile;
pub mod timeline;
mod view;

pub use spread::{MeanTicks, Process, Processes, Spread, owner, ratio, runs_on_cpu};
pub use view::{By, Per, RowKey};
