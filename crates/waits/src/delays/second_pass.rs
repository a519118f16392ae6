//! The second pass: what it looks at, and the costs of delays from its result.

use super::chains::chains;
use super::dependencies::Dependencies;
use super::output::DelaysOutput;
use super::parts::WaitParts;
use super::pieces::Pieces;
use super::sweep::sweep;
use ouzel_analyses::critical_path::{PathCalls, PathCallsOutput};
use ouzel_model::TimeRange;

impl Dependencies {
    /// The second pass. It must see the whole run. Once [`accepts`](Dependencies::accepts) says so, its result is good.
    pub fn second_pass(&self) -> PathCalls {
        let mut number = 0;
        let pieces = Pieces::ranges(self).into_iter().map(|(location, ranges)| {
            let numbered = ranges.into_iter().map(|range| {
                number += 1;
                (number - 1, range)
            });
            (location, numbered.collect::<Vec<(u32, TimeRange)>>())
        });
        PathCalls::in_ranges(pieces.collect()).at_most(self.max_times)
    }

    /// The costs of delays, from the result of the second pass; and how the selected waits for messages are divided,
    /// which is for [`WaitsOutput::parts`](crate::WaitsOutput::parts).
    pub fn delays(&self, calls: &PathCallsOutput) -> (DelaysOutput, Vec<WaitParts>) {
        let mut call_paths = calls.call_paths.clone();
        let remap = call_paths.absorb(&self.call_paths);
        let pieces = Pieces::new(self, calls, &remap);
        let mut swept = sweep(self, &pieces);
        let chains = chains(self, &pieces, &swept, &remap);
        let parts = swept.parts(self);
        swept.sums.add_sums(self, &remap);
        (DelaysOutput { by_rate: self.by_rate(), ..swept.sums.finish(call_paths, &remap, chains) }, parts)
    }
}
