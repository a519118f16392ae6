//! How many operations wait in a stream, and how long each takes to begin.
//!
//! An operation is in the queue of its stream from the enter of its launch until it begins. Its launch delay is the time
//! from the leave of its launch until it begins, zero if it begins before that; launches that block have none. Operations
//! whose launch is not known have neither.

use super::AcceleratorsOutput;
use super::over_time::{DelayRange, QueueLength, delay_ns};
use super::sums::{DelaySums, QueueSums, RankKey};
use crate::devices::streams::{DeviceProcess, Stream};
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

/// By rank and stream.
pub(super) fn queue_rows(
    queues: &BTreeMap<LocationId, QueueSums>,
    definitions: &Definitions,
) -> (Vec<StreamQueue>, Vec<QueueLength>) {
    let (mut rows, mut lengths) = (Vec::new(), Vec::new());
    for (&location, queue) in queues {
        let rank = definitions.location(location).rank;
        rows.push(StreamQueue { rank, location, max_queue_length: queue.longest });
        let times = queue.times.iter();
        lengths.extend(times.map(|(&length, &time)| QueueLength { rank, location, length, time }));
    }
    rows.sort_by_key(|row| (row.rank.is_none(), row.rank, row.location));
    lengths.sort_by_key(|row| (row.rank.is_none(), row.rank, row.location, row.length));
    (rows, lengths)
}

/// By rank; and by rank and range, from a power of two to the next.
pub(super) fn delay_rows(delays: &BTreeMap<RankKey, DelaySums>) -> (Vec<LaunchDelay>, Vec<DelayRange>) {
    let (mut rows, mut ranges) = (Vec::new(), Vec::new());
    for (&(_, rank), of) in delays {
        let mean_delay_ns = of.sum_ns as f64 / of.n as f64;
        rows.push(LaunchDelay { rank, n: of.n, mean_delay_ns, max_delay_ns: of.max_ns });
        ranges.extend(of.ranges.iter().map(|(&digits, &n)| DelayRange {
            rank,
            from_ns: digits.checked_sub(1).map_or(0, |digit| 1 << digit),
            to_ns: 1_u64.checked_shl(digits).unwrap_or(u64::MAX),
            n,
        }));
    }
    (rows, ranges)
}

/// When operations come into the queue of a stream and when they leave it, each list in order.
pub(super) struct StreamQueueTimes {
    entered: Vec<Ticks>,
    left: Vec<Ticks>,
}

impl StreamQueueTimes {
    /// Whether no operation was in it.
    pub fn is_empty(&self) -> bool {
        self.entered.is_empty()
    }

    /// How long it is from each change to the next, in order.
    pub fn lengths(&self) -> impl Iterator<Item = ((Ticks, Ticks), u64)> + '_ {
        let (mut n_entered, mut n_left) = (0, 0);
        let next = move |(n_entered, n_left): (usize, usize)| {
            let times = [self.entered.get(n_entered), self.left.get(n_left)];
            times.into_iter().flatten().min().copied()
        };
        std::iter::from_fn(move || {
            let at = next((n_entered, n_left))?;
            let n_at = |times: &[Ticks]| times.iter().take_while(|it| **it == at).count();
            n_entered += n_at(&self.entered[n_entered..]);
            n_left += n_at(&self.left[n_left..]);
            // An operation enters before it leaves.
            Some(((at, next((n_entered, n_left))?), (n_entered - n_left) as u64))
        })
    }
}

impl AcceleratorsOutput {
    /// The queue of a stream: its operations whose launch is known.
    pub(super) fn queue(&self, process: &DeviceProcess<'_>, stream: &Stream<'_>) -> StreamQueueTimes {
        let launched = stream.operations.iter().zip(&stream.launches).enumerate();
        let launched = launched.filter(|(nth, _)| self.counts(stream, *nth));
        let times = launched.filter_map(|(_, (it, launch))| {
            let enter = process.call((*launch)?).enter;
            Some((enter, it.start.max(enter)))
        });
        let (mut entered, mut left): (Vec<Ticks>, Vec<Ticks>) = times.unzip();
        entered.sort_unstable();
        left.sort_unstable();
        StreamQueueTimes { entered, left }
    }

    /// Adds the queue of a stream, if a launch of it is known.
    pub(super) fn add_queue(
        &self,
        queues: &mut BTreeMap<LocationId, QueueSums>,
        process: &DeviceProcess<'_>,
        stream: &Stream<'_>,
    ) {
        let queue = self.queue(process, stream);
        if queue.is_empty() {
            return;
        }
        let mut sums = QueueSums { longest: 0, times: BTreeMap::new() };
        for ((start, end), length) in queue.lengths() {
            sums.longest = sums.longest.max(length);
            *sums.times.entry(length).or_insert(Ticks(0)) += end.since(start);
        }
        queues.insert(stream.location, sums);
    }

    /// Adds the launch delays of a stream.
    pub(super) fn add_delays(
        &self,
        delays: &mut BTreeMap<RankKey, DelaySums>,
        process: &DeviceProcess<'_>,
        stream: &Stream<'_>,
        definitions: &Definitions,
    ) {
        let rank = definitions.location(stream.location).rank;
        let selected = (0..stream.operations.len()).filter(|&nth| self.counts(stream, nth));
        let mut of = selected.filter_map(|nth| delay_ns(process, stream, nth, definitions)).peekable();
        if of.peek().is_some() {
            let sums = delays.entry((rank.is_none(), rank)).or_default();
            of.for_each(|ns| sums.add(ns));
        }
    }
}
