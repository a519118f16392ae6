//! What each location does at regular instants: the data of timeline pictures.
//!
//! Instants are the multiples of a power of two of ticks since the trace start. The spacing starts fine and
//! doubles when there are more than `2 * W` instants, so the run time need not be known in advance, and
//! every second instant of a fine grid is the coarse grid: rows of any two locations line up. Each row
//! is run-length encoded. A picture with an instant at each pixel centre shows what [000] §5.1 shows.
//!
//! Law: the row of a location at instant `t` is the innermost call with `enter <= t < leave`, on whatever grid.
//! Not covered: colours, call-path depth, and what happens between two instants (see `call_path_profile`).
//!
//! [000]: https://doi.org/10.1145/3205289.3205308

mod fold;
mod output;
mod state;
mod table;
#[cfg(test)]
mod tests;

pub use fold::{Timeline, TimelineFold};
pub use output::{TimelineOutput, TimelineRow, TimelineRun};
