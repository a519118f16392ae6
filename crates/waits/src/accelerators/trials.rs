//! Replays with changes, one after the other.
//!
//! Law: each trial begins with the lengths as recorded.

use super::replay::{DeviceReplay, LengthChanges, Lengths, ReplayTimes};

/// Replays with changes, one after the other.
#[derive(Debug)]
pub(super) struct Trials<'r> {
    pub replay: &'r DeviceReplay,
    /// As without a change between replays; lists of all calls and operations are made once, not for each.
    lengths: Lengths,
    times: ReplayTimes,
}

impl<'r> Trials<'r> {
    /// Trials of a run.
    pub fn new(replay: &'r DeviceReplay) -> Self {
        let (lengths, times) = (replay.lengths.clone(), replay.times());
        Trials { replay, lengths, times }
    }

    /// By how much these changes together make the run shorter.
    pub fn gain(&mut self, changes: &[&LengthChanges]) -> u64 {
        changes.iter().for_each(|of| self.lengths.change(of));
        self.replay.run_into(&mut self.times, &self.lengths);
        changes.iter().for_each(|of| self.lengths.restore(of, &self.replay.lengths));
        u64::try_from(self.replay.gain(&self.times)).unwrap_or(0)
    }
}
