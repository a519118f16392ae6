//! Queues, launch delays and copies over time, in bins of equal width; and how long queues and delays are how often.
//!
//! An operation and its delay belong to the bin in which it begins, and so does a copy. The length of a queue is averaged
//! over the time of the bin. Laws: times over the bins, and over the lengths of a queue, add up to those of the stream;
//! the sums of several processes are those of each, merged in any order.

use super::AcceleratorsOutput;
use super::copies::CopyRate;
use super::names::direction;
use super::sums::merge_maps;
use crate::devices::records::OperationValue;
use crate::devices::streams::{DeviceProcess, Stream};
use ouzel_analyses::time_grid::TimeGrid;
use ouzel_model::{Definitions, LocationId, RegionId, Ticks, WorldRank};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// What is kept of some processes: integers and ids only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OverTimeSums {
    /// By stream; those with operations have all bins.
    streams: BTreeMap<LocationId, Vec<BinSums>>,
    /// By bin and region of copies that begin and have a size.
    copies: BTreeMap<(usize, RegionId), CopyRate>,
    /// By region the copy with the highest rate.
    best: BTreeMap<RegionId, CopyRate>,
}

/// A stream in one bin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct BinSums {
    n: u64,
    busy: Ticks,
    /// Lengths of the queue, each as often as it has ticks.
    queued: u128,
    max_queue_length: u64,
    n_delays: u64,
    delays_ns: u128,
    max_delay_ns: Option<u64>,
}

/// The copy with the higher rate.
fn faster(one: CopyRate, other: CopyRate) -> CopyRate {
    let is_faster =
        u128::from(one.bytes) * u128::from(other.ns) < u128::from(other.bytes) * u128::from(one.ns);
    if is_faster { other } else { one }
}

impl OverTimeSums {
    pub fn merge(&mut self, from: OverTimeSums) {
        // A stream belongs to one process.
        self.streams.extend(from.streams);
        merge_maps(&mut self.copies, from.copies, CopyRate::merge);
        merge_maps(&mut self.best, from.best, |best, it| *best = faster(*best, it));
    }

    /// What the sums of all processes say.
    pub fn output(self, grid: TimeGrid, definitions: &Definitions) -> KernelsOverTime {
        let row = |location: LocationId, bin: usize, of: &BinSums| {
            let width = grid.edge(bin + 1).since(grid.edge(bin)).0;
            StreamBin {
                bin,
                rank: definitions.location(location).rank,
                location,
                n: of.n,
                busy: of.busy,
                mean_queue_length: if width == 0 { 0.0 } else { of.queued as f64 / width as f64 },
                max_queue_length: of.max_queue_length,
                mean_delay_ns: (0 < of.n_delays).then(|| of.delays_ns as f64 / of.n_delays as f64),
                max_delay_ns: of.max_delay_ns,
            }
        };
        let of_stream = |(&location, bins): (&LocationId, &Vec<BinSums>)| {
            (0..).zip(bins).map(|(bin, of)| row(location, bin, of)).collect::<Vec<_>>()
        };
        let mut streams: Vec<StreamBin> = self.streams.iter().flat_map(of_stream).collect();
        streams.sort_by_key(|row| (row.bin, row.rank.is_none(), row.rank, row.location));
        let direction_of = |region: RegionId| direction(&definitions.region(region).name);
        let mut best: BTreeMap<&'static str, CopyRate> = BTreeMap::new();
        for (region, rate) in self.best {
            let Some(direction) = direction_of(region) else { continue };
            best.entry(direction).and_modify(|best| *best = faster(*best, rate)).or_insert(rate);
        }
        let mut copies: BTreeMap<(usize, &'static str), CopyRate> = BTreeMap::new();
        for ((bin, region), rate) in self.copies {
            let direction = direction_of(region);
            direction.into_iter().for_each(|it| copies.entry((bin, it)).or_default().merge(rate));
        }
        let copies = copies.into_iter().map(|((bin, direction), rate)| {
            let (gb_per_s, best) = (rate.gb_per_s(), best.get(direction).and_then(|best| best.gb_per_s()));
            let of_best = gb_per_s.zip(best).map(|(rate, best)| rate / best);
            CopyBin { bin, direction, n: rate.n, bytes: rate.bytes, total_ns: rate.ns, gb_per_s, of_best }
        });
        KernelsOverTime { grid, streams, copies: copies.collect() }
    }
}

impl AcceleratorsOutput {
    /// Queues, delays and copies in bins.
    pub(super) fn over_time_sums(&self, grid: &TimeGrid, definitions: &Definitions) -> OverTimeSums {
        let mut sums = OverTimeSums::default();
        for process in &self.processes(definitions) {
            for stream in &process.streams {
                let bins = self.stream_bins(process, stream, grid, definitions);
                sums.streams.extend(bins.map(|bins| (stream.location, bins)));
                self.for_selected(stream, definitions, |op| {
                    let region = self.call_paths.region(op.it.path).filter(|_| op.is_memory());
                    let bytes = self.value(stream.location, op.nth, OperationValue::Bytes);
                    let (Some(region), Some(bytes)) = (region, bytes) else { return };
                    let Some(bin) = grid.bin(op.it.start) else { return };
                    sums.copies.entry((bin, region)).or_default().add(bytes, op.ns);
                    if 0 < op.ns {
                        let rate = CopyRate { n: 1, bytes, ns: op.ns };
                        let best = sums.best.entry(region).or_insert(rate);
                        *best = faster(*best, rate);
                    }
                });
            }
        }
        sums
    }

    /// The bins of a stream; none without operations that count.
    fn stream_bins(
        &self,
        process: &DeviceProcess<'_>,
        stream: &Stream<'_>,
        grid: &TimeGrid,
        definitions: &Definitions,
    ) -> Option<Vec<BinSums>> {
        let mut bins = vec![BinSums::default(); grid.n_bins()];
        let mut n = 0;
        let mut free = Ticks(0);
        for (nth, it) in stream.operations.iter().enumerate().filter(|(nth, _)| self.counts(stream, *nth)) {
            n += 1;
            // Operations of a stream may overlap, as those of a graph do.
            for_bins(grid, (it.start.max(free), it.end), |bin, ticks| bins[bin].busy += ticks);
            free = free.max(it.end);
            let Some(bin) = grid.bin(it.start) else { continue };
            bins[bin].n += 1;
            if let Some(ns) = delay_ns(process, stream, nth, definitions) {
                bins[bin].n_delays += 1;
                bins[bin].delays_ns += u128::from(ns);
                bins[bin].max_delay_ns = bins[bin].max_delay_ns.max(Some(ns));
            }
        }
        for (range, length) in self.queue(process, stream).lengths() {
            for_bins(grid, range, |bin, ticks| {
                bins[bin].queued += u128::from(length) * u128::from(ticks.0);
                bins[bin].max_queue_length = bins[bin].max_queue_length.max(length);
            });
        }
        (0 < n).then_some(bins)
    }
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
