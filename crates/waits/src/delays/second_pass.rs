//! The second pass: what it looks at, and the costs of delays from its result.

use super::dependencies::Dependencies;
use super::output::DelaysOutput;
use super::pieces::Pieces;
use super::sweep::sweep;
use ouzel_analyses::critical_path::{PathCalls, PathCallsOutput};
use ouzel_model::TimeRange;

impl Dependencies {
    /// The second pass. It must see the whole run.
    pub fn second_pass(&self) -> PathCalls {
        let mut number = 0;
        let pieces = Pieces::ranges(self).into_iter().map(|(location, ranges)| {
            let numbered = ranges.into_iter().map(|range| {
                number += 1;
                (number - 1, range)
            });
            (location, numbered.collect::<Vec<(u32, TimeRange)>>())
        });
        PathCalls::in_ranges(pieces.collect())
    }

    /// The costs of delays, from the result of the second pass.
    pub fn delays(&self, calls: &PathCallsOutput) -> DelaysOutput {
        let pieces = Pieces::new(self, calls);
        sweep(self, &pieces, calls)
    }
}
