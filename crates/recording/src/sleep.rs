//! Calls in which a thread sleeps for a time that it names. Samples are of processor time, so they show none of it.

use crate::io;

pub use ouzel_model::SLEEPING as NAME;

/// The number of their region.
pub const NUMBER: usize = io::END;
