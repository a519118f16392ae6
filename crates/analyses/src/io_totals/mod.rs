//! Totals of input and output: how many operations, and how many bytes, by call path.
//!
//! Law: they are sums of integers, so they add up the same in any grouping.

mod fold;
mod output;
mod state;
#[cfg(test)]
mod tests;

pub use fold::Io;
pub use output::IoOutput;
pub use state::{IoTotals, PathIo};
