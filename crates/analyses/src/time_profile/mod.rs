//! Where the time went, bin by bin: exclusive time of each call path in each of N bins of time.
//!
//! ```text
//! visits ──add_visits──► inclusive time by (bin, call path) ──end──► rows by call path ──finish──► exclusive time
//! ```
//!
//! While events are folded, only inclusive time is cut at the edges: a visit within one bin (nearly all are)
//! costs one addition, and a visit over many costs one entry for each. At the end
//! `exclusive(path, bin) = inclusive(path, bin) − Σ inclusive(children, bin)`, which is exact,
//! as every callee lies within its caller.
//!
//! Laws, for each bin: `Σ exclusive + idle = width · number of locations`; over all bins of a grid that covers the
//! run, the exclusive time of a call path is that of the [`call_path_profile`](crate::call_path_profile). Memory: 8 bytes for each bin of
//! each call path, whatever the number of events. The bins are fixed before the pass, see
//! [`time_grid`](crate::time_grid). After Pipit's `time_profile` (Bhatele et al., SC 2023), with idle time counted
//! over locations and regions without time in a bin at zero. Which location was idle is not recorded.

mod fold;
mod output;
mod state;
#[cfg(test)]
mod tests;

pub use fold::TimeProfile;
pub use output::{BinnedRow, Scale, TimeProfileOutput, TimeProfileRow};
