//! Functions in which a thread sleeps for a time that it names. Samples are of processor time, so they show none of it.

use crate::io;

/// A function that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleepCall {
    /// `sleep`
    Seconds,
    /// `usleep`
    Microseconds,
    /// `nanosleep`
    Nanoseconds,
    /// `clock_nanosleep`
    OfClock,
}

const NAMES: [&str; 4] = ["sleep", "usleep", "nanosleep", "clock_nanosleep"];

impl SleepCall {
    /// Its number as a region.
    pub fn number(self) -> usize {
        io::END + self as usize
    }
}

/// The name of a region's number.
pub fn name(number: u32) -> Option<&'static str> {
    NAMES.get((number as usize).checked_sub(io::END)?).copied()
}
