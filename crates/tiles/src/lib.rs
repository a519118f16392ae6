//! What each location did, as a pyramid of bins: pictures of any stretch of time cost as much as they have pixels.
//!
//! ```text
//! level k: bins of 2^k ticks, bin i is [i·2^k, (i+1)·2^k)    one call path and four shares of categories each
//! level k+1: each bin is two of level k
//! ```
//!
//! The call path of a bin is found from the root: at each depth the child that holds most of the bin, until the calls of
//! the path itself hold at least as much. Its ancestors are therefore what the bin shows at smaller depths. The finest
//! level has about 8 intervals a bin, at least 256 bins a location where time allows. By hand: of `a` 0–3, `a/b` 3–5,
//! `a/c` 5–7, a bin of 8 ticks shows `a`, which holds 7 of 8, and by itself 3, more than `b` and `c`.
//!
//! Law: a call path that holds more than half of a bin, with what it calls, is the bin's or an ancestor of it; a share
//! is that of the exact time, rounded once. Time before the first enter and after the last leave is nobody's.
//! Not covered: order within a bin, and anything finer than the finest level.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod fold;
mod pyramid;
#[cfg(test)]
mod tests;
mod weights;

pub use fold::{Sink, Tiles, TilesLocal, TilesPartial};
pub use pyramid::{Bin, LocationTiles, Shape};

/// Categories whose shares a bin has; all other time is the rest.
pub const N_SHARES: usize = 4;
