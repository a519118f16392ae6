//! Counters over time: what accumulated metrics gained, and between which values all others lay, in bins of time.
//!
//! The gain between two readings of a counter at one location is spread evenly over the time between them, rounded so
//! that the bins add up to it. A value of another metric holds until the next reading at its location, or until the last
//! event there; a bin has the least and the greatest value that held in it. Nothing is known before the first reading.
//! Law, for each counter that never went back and a grid that covers its readings:
//! `Σ gains = Σ over locations (last reading − first reading)`. The bins are fixed before the pass, see
//! [`time_grid`](crate::time_grid). Memory: 8 bytes for each bin of a counter, 16 of another metric.

mod fold;
mod output;
mod state;
#[cfg(test)]
mod tests;

pub use fold::CountersOverTime;
pub use output::{CounterBins, CountersOverTimeOutput, MetricOverTime};
