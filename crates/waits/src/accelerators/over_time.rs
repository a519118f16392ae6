//! Queues, launch delays and copies over time, in bins of equal width; and how long queues and delays are how often.
//!
//! An operation and its delay belong to the bin in which it begins, and so does a copy. The length of a queue is averaged
//! over the time of the bin. Law: times over the bins, and over the lengths of a queue, add up to those of the stream.

use super::AcceleratorsOutput;
use super::copies::CopyRate;
use super::names::direction;
use crate::devices::records::OperationValue;
use crate::devices::streams::{DeviceProcess, Stream};
use ouzel_analyses::time_grid::TimeGrid;
use ouzel_model::{Definitions, LocationId, Ticks, TimeRange, WorldRank};
use std::collections::BTreeMap;
use std::num::NonZeroU16;

/// What streams do in one bin.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamBin {
    /// Number of the bin.
    pub bin: usize,
    /// The rank of the process, if the trace has ranks.
    pub rank: Option<WorldRank>,
    /// The stream.
    pub location: LocationId,
    /// Operations that begin.
    pub n: u64,
    /// Time with an operation.
    pub busy: Ticks,
    /// Mean over the bin of the operations that were launched and had not begun; of those whose launch is known.
    pub mean_queue_length: f64,
    /// Most at one time.
    pub max_queue_length: u64,
    /// Mean launch delay of operations that begin; `None` without one.
    pub mean_delay_ns: Option<f64>,
    /// The longest.
    pub max_delay_ns: Option<u64>,
}

/// Copies of one direction in one bin.
#[derive(Debug, Clone, PartialEq)]
pub struct CopyBin {
    /// Number of the bin.
    pub bin: usize,
    /// From where to where.
    pub direction: &'static str,
    /// Copies that begin and have a size.
    pub n: u64,
    /// How much.
    pub bytes: u64,
    /// How long they run.
    pub total_ns: u64,
    /// Bytes / time.
    pub gb_per_s: Option<f64>,
    /// That / the highest of a single copy of this direction.
    pub of_best: Option<f64>,
}

/// Over time.
#[derive(Debug, Clone)]
pub struct KernelsOverTime {
    /// The bins.
    pub grid: TimeGrid,
    /// By bin and stream; streams have all bins.
    pub streams: Vec<StreamBin>,
    /// By bin and direction; bins with copies only.
    pub copies: Vec<CopyBin>,
}

/// For how long the queue of a stream has one length.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueLength {
    /// The rank of the process, if the trace has ranks.
    pub rank: Option<WorldRank>,
    /// The stream.
    pub location: LocationId,
    /// Operations that were launched and had not begun.
    pub length: u64,
    /// For how long, between the first launch and the last begin.
    pub time: Ticks,
}

/// How many operations of a rank begin so late after their launches.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayRange {
    /// The rank, if the trace has ranks.
    pub rank: Option<WorldRank>,
    /// From so many nanoseconds.
    pub from_ns: u64,
    /// To so many, which belong to the next.
    pub to_ns: u64,
    /// How many.
    pub n: u64,
}

/// From each time on, the length of a queue.
type QueueSteps = Vec<(Ticks, u64)>;

impl AcceleratorsOutput {
    /// Queues, delays and copies in bins over the selected time, else the run.
    pub fn over_time(&self, bins: NonZeroU16, definitions: &Definitions) -> KernelsOverTime {
        let first = self.spans.values().map(|span| span.0).min().unwrap_or(Ticks(0));
        let last = self.spans.values().map(|span| span.1).max().unwrap_or(Ticks(0));
        let run = TimeRange { start: first, end: last };
        let window =
            self.window.map_or(run, |it| TimeRange { start: it.start.max(first), end: it.end.min(last) });
        let grid = TimeGrid::new(window, bins);
        let processes = self.processes(definitions);
        let mut streams = Vec::new();
        let mut copies: BTreeMap<(usize, &'static str), CopyRate> = BTreeMap::new();
        let mut best: BTreeMap<&'static str, f64> = BTreeMap::new();
        for process in &processes {
            for stream in &process.streams {
                streams.extend(self.stream_bins(process, stream, &grid, definitions));
                self.for_selected(stream, definitions, |op| {
                    let name = self.name(op.it.path, definitions);
                    let Some(direction) = name.as_deref().filter(|_| op.is_memory()).and_then(direction)
                    else {
                        return;
                    };
                    let bytes = self.value(stream.location, op.nth, OperationValue::Bytes);
                    let (Some(bytes), Some(bin)) = (bytes, grid.bin(op.it.start)) else { return };
                    copies.entry((bin, direction)).or_default().add(bytes, op.ns);
                    if 0 < op.ns {
                        let rate = best.entry(direction).or_default();
                        *rate = rate.max(bytes as f64 / op.ns as f64);
                    }
                });
            }
        }
        streams.sort_by_key(|row: &StreamBin| (row.bin, row.rank.is_none(), row.rank, row.location));
        let copies = copies.into_iter().map(|((bin, direction), rate)| {
            let (gb_per_s, best) = (rate.gb_per_s(), best.get(direction));
            let of_best = gb_per_s.zip(best).map(|(rate, best)| rate / best);
            CopyBin { bin, direction, n: rate.n, bytes: rate.bytes, total_ns: rate.ns, gb_per_s, of_best }
        });
        KernelsOverTime { grid, streams, copies: copies.collect() }
    }

    fn stream_bins(
        &self,
        process: &DeviceProcess<'_>,
        stream: &Stream<'_>,
        grid: &TimeGrid,
        definitions: &Definitions,
    ) -> Vec<StreamBin> {
        let rank = definitions.location(stream.location).rank;
        let none = |bin| StreamBin {
            bin,
            rank,
            location: stream.location,
            n: 0,
            busy: Ticks(0),
            mean_queue_length: 0.0,
            max_queue_length: 0,
            mean_delay_ns: None,
            max_delay_ns: None,
        };
        let mut rows: Vec<StreamBin> = (0..grid.n_bins()).map(none).collect();
        let mut delays = vec![(0_u64, 0_u128); grid.n_bins()];
        let mut n = 0;
        let mut free = Ticks(0);
        for (nth, it) in stream.operations.iter().enumerate().filter(|(nth, _)| self.counts(stream, *nth)) {
            n += 1;
            // Operations of a stream may overlap, as those of a graph do.
            for_bins(grid, (it.start.max(free), it.end), |bin, ticks| rows[bin].busy += ticks);
            free = free.max(it.end);
            let Some(bin) = grid.bin(it.start) else { continue };
            rows[bin].n += 1;
            if let Some(ns) = delay_ns(process, stream, nth, definitions) {
                let (n, sum) = &mut delays[bin];
                (*n, *sum) = (*n + 1, *sum + u128::from(ns));
                rows[bin].max_delay_ns = rows[bin].max_delay_ns.max(Some(ns));
            }
        }
        if n == 0 {
            return Vec::new();
        }
        let mut weighted = vec![0_u128; grid.n_bins()];
        let steps = queue_steps(&self.queue_changes(process, stream));
        for pair in steps.windows(2) {
            let ((start, length), (end, _)) = (pair[0], pair[1]);
            for_bins(grid, (start, end), |bin, ticks| {
                weighted[bin] += u128::from(length) * u128::from(ticks.0);
                rows[bin].max_queue_length = rows[bin].max_queue_length.max(length);
            });
        }
        for (row, (weighted, (n, sum))) in rows.iter_mut().zip(weighted.into_iter().zip(delays)) {
            let width = grid.edge(row.bin + 1).since(grid.edge(row.bin)).0;
            row.mean_queue_length = if width == 0 { 0.0 } else { weighted as f64 / width as f64 };
            row.mean_delay_ns = (0 < n).then(|| sum as f64 / n as f64);
        }
        rows
    }

    /// When the queue of a stream gets longer or shorter by one, in order.
    pub(super) fn queue_changes(
        &self,
        process: &DeviceProcess<'_>,
        stream: &Stream<'_>,
    ) -> Vec<(Ticks, i64)> {
        let launched = stream.operations.iter().zip(&stream.launches).enumerate();
        let mut changes: Vec<(Ticks, i64)> = Vec::new();
        for (_, (it, launch)) in launched.filter(|(nth, _)| self.counts(stream, *nth)) {
            if let Some(place) = *launch {
                let enter = process.call(place).enter;
                changes.extend([(enter, 1), (it.start.max(enter), -1)]);
            }
        }
        changes.sort_unstable();
        changes
    }
}

/// The length of a queue from each change on; none before the first and after the last.
pub(super) fn queue_steps(changes: &[(Ticks, i64)]) -> QueueSteps {
    let mut steps = QueueSteps::new();
    let mut length = 0_i64;
    for &(at, change) in changes {
        length += change;
        let now = u64::try_from(length).unwrap_or(0);
        match steps.last_mut().filter(|last| last.0 == at) {
            Some(last) => last.1 = now,
            None => steps.push((at, now)),
        }
    }
    steps
}

/// From the end of a launch until its operation begins; `None` if the launch blocks or is not known.
pub(super) fn delay_ns(
    process: &DeviceProcess<'_>,
    stream: &Stream<'_>,
    nth: usize,
    definitions: &Definitions,
) -> Option<u64> {
    let call = process.call(stream.launches[nth]?);
    let start = stream.operations[nth].start;
    (!call.api.blocks()).then(|| definitions.clock.ns_from_ticks(start.since(call.leave.min(start))))
}

/// The parts of a range in the bins.
fn for_bins(grid: &TimeGrid, (start, end): (Ticks, Ticks), mut f: impl FnMut(usize, Ticks)) {
    let range = grid.range();
    let (start, end) = (start.max(range.start), end.min(range.end));
    if end <= start {
        return;
    }
    let (Some(first), Some(last)) = (grid.bin(start), grid.bin(end)) else { return };
    for bin in first..=last {
        let (from, to) = (grid.edge(bin).max(start), grid.edge(bin + 1).min(end));
        if from < to {
            f(bin, to.since(from));
        }
    }
}
