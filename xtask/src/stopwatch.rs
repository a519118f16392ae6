//! The only place of this program that looks at the clock.

use std::time::{Duration, Instant};

/// A running clock.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts at zero.
    #[expect(
        clippy::disallowed_methods,
        reason = "measuring how long a program runs is the job of this module"
    )]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
