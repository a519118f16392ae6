//! How many operations wait in a stream, and how long each takes to begin.
//!
//! An operation is in the queue of its stream from the enter of its launch until it begins. Its launch delay is the time
//! from the leave of its launch until it begins, zero if it begins before that; launches that block have none. Operations
//! whose launch is not known have neither.

use super::AcceleratorsOutput;
use super::over_time::delay_ns;
use crate::devices::streams::DeviceProcess;
use ouzel_model::{Definitions, LocationId, Ticks, WorldRank};
use std::collections::BTreeMap;

/// The queue of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamQueue {
    /// The rank of the process, if the trace has ranks.
    pub rank: Option<WorldRank>,
    /// The stream.
    pub location: LocationId,
    /// Most operations that were in it at once.
    pub max_queue_length: u64,
}

/// From launches to begins of operations, of the streams of one rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaunchDelay {
    /// The rank, if the trace has ranks.
    pub rank: Option<WorldRank>,
    /// How many operations.
    pub n: u64,
    /// Mean of their delays.
    pub mean_delay_ns: f64,
    /// The longest.
    pub max_delay_ns: u64,
}

impl AcceleratorsOutput {
    pub(super) fn queues(
        &self,
        processes: &[DeviceProcess<'_>],
        definitions: &Definitions,
    ) -> Vec<StreamQueue> {
        let mut queues = Vec::new();
        for process in processes {
            for stream in &process.streams {
                let launched = stream.operations.iter().zip(&stream.launches).enumerate();
                let mut changes: Vec<(Ticks, i64)> = Vec::new();
                for (_, (it, launch)) in launched.filter(|(nth, _)| self.counts(stream, *nth)) {
                    if let Some(place) = *launch {
                        let enter = process.call(place).enter;
                        changes.extend([(enter, 1), (it.start.max(enter), -1)]);
                    }
                }
                if changes.is_empty() {
                    continue;
                }
                changes.sort_unstable();
                let longest = changes.iter().scan(0, |length, (_, change)| {
                    *length += change;
                    Some(*length)
                });
                let max_queue_length = u64::try_from(longest.max().unwrap_or(0)).unwrap_or(0);
                let rank = definitions.location(stream.location).rank;
                queues.push(StreamQueue { rank, location: stream.location, max_queue_length });
            }
        }
        queues.sort_by_key(|queue| (queue.rank.is_none(), queue.rank, queue.location));
        queues
    }

    pub(super) fn launch_delays(
        &self,
        processes: &[DeviceProcess<'_>],
        definitions: &Definitions,
    ) -> Vec<LaunchDelay> {
        let mut ranks: BTreeMap<(bool, Option<WorldRank>), (u64, u128, u64)> = BTreeMap::new();
        for process in processes {
            for stream in &process.streams {
                let rank = definitions.location(stream.location).rank;
                for nth in (0..stream.operations.len()).filter(|&nth| self.counts(stream, nth)) {
                    let Some(ns) = delay_ns(process, stream, nth, definitions) else { continue };
                    let (n, sum, max) = ranks.entry((rank.is_none(), rank)).or_default();
                    *n += 1;
                    *sum += u128::from(ns);
                    *max = ns.max(*max);
                }
            }
        }
        let row = |((_, rank), (n, sum, max_delay_ns))| LaunchDelay {
            rank,
            n,
            mean_delay_ns: sum as f64 / n as f64,
            max_delay_ns,
        };
        ranks.into_iter().map(row).collect()
    }
}
