//! Calls in which a thread sleeps for a time that it names. Samples are of processor time, so they show none of it.

use crate::io;

/// The name of their region. It is not that of a function: those of `nanosleep` and its kin are taken for waiting for
/// other threads, which is not known of a program that calls them itself.
pub const NAME: &str = "[sleeping]";

/// The number of their region.
pub const NUMBER: usize = io::END;
