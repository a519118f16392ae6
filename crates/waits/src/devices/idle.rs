//! What lies beside waiting for devices: late starts of operations, streams that run one after the other, idle devices.

use super::DeviceWaits;
use super::streams::{DeviceProcess, Stream};
use crate::class::WaitClass;
use crate::threads::TimeSum;
use ouzel_engine::{FinishCx, Selected};
use ouzel_model::{CallPathId, LocationGroupId, LocationId, Ticks, TimeRange};
use std::collections::BTreeMap;

/// Part of a second in which an operation begins that another one held up: 500 µs, as CASITA has it.
pub(crate) const SOON_PER_SECOND: u64 = 2000;

/// From when operations could begin until they did.
pub(super) fn add_latencies(
    found: &mut DeviceWaits,
    process: &DeviceProcess<'_>,
    free_times: &[Vec<Ticks>],
    cx: &FinishCx<'_>,
) {
    let selected_of = |location| cx.selected_of(location);
    let soon = Ticks(cx.definitions.clock.ticks_per_second / SOON_PER_SECOND);
    for (stream, free) in process.streams.iter().zip(free_times) {
        let launched = stream.operations.iter().zip(&stream.launches).zip(free);
        for ((it, launch), &free) in launched {
            let Some(place) = *launch else { continue };
            let call = process.call(place);
            found.clocks_differ(it.start, call.enter);
            let ready = free.max(call.leave);
            let charged = (place.0, call.path);
            found.add_sum(WaitClass::LaunchLatency, charged, (ready, it.start), &selected_of);
            let held = held_up(process, stream, HeldBy::Any, (ready, it.start));
            if ready < held && it.start.since(held) <= soon {
                found.add_sum(WaitClass::SerializedStreams, charged, (ready, it.start), &selected_of);
            }
        }
    }
}

/// Which streams hold up an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeldBy {
    /// All others of its device.
    Any,
    /// Those of other processes on its device.
    OtherProcesses,
}

/// Until when other streams of the device ran without a gap from a time on; operations that end later do not count.
pub(crate) fn held_up(
    process: &DeviceProcess<'_>,
    own: &Stream<'_>,
    by: HeldBy,
    (ready, start): (Ticks, Ticks),
) -> Ticks {
    let mut at = ready;
    if start <= ready {
        return at;
    }
    loop {
        let is_other =
            |it: &&Stream<'_>| by == HeldBy::Any && it.device == own.device && it.location != own.location;
        let in_process = process.streams.iter().filter(is_other).map(|it| it.operations);
        let foreign = process.others.iter().filter(|it| it.0 == own.device).map(|it| it.2);
        let running = in_process.chain(foreign).filter_map(|operations| {
            let n = operations.partition_point(|it| it.start <= at);
            operations[..n].last().map(|it| it.end).filter(|end| at < *end && *end <= start)
        });
        match running.max() {
            Some(end) => at = end,
            None => return at,
        }
    }
}

/// Time between the kernels of each device, charged to the code before the launch that ends the gap. A gap that a kernel
/// of another process ends is that one's; of several that begin at once, the first stream counts.
pub(crate) fn add_idle_times(
    found: &mut DeviceWaits,
    process: &DeviceProcess<'_>,
    selected_of: &dyn Fn(LocationId) -> Selected,
) {
    // Begin, stream, place there, end.
    type Kernel = (Ticks, LocationId, usize, Ticks);
    let mut devices: BTreeMap<LocationGroupId, Vec<Kernel>> = BTreeMap::new();
    for stream in &process.streams {
        let kernels = stream.operations.iter().enumerate().filter(|(_, it)| it.is_kernel);
        let of_stream = kernels.map(|(nth, it)| (it.start, stream.location, nth, it.end));
        devices.entry(stream.device).or_default().extend(of_stream);
    }
    for &(device, stream, operations) in &process.others {
        let kernels = operations.iter().enumerate().filter(|(_, it)| it.is_kernel);
        let kernels = kernels.map(|(nth, it)| (it.start, stream, nth, it.end));
        devices.entry(device).or_default().extend(kernels);
    }
    for mut kernels in devices.into_values() {
        kernels.sort_unstable();
        let mut busy: Option<Ticks> = None;
        for (start, location, nth, end) in kernels {
            let own = process.stream(location);
            if let (Some(stream), Some(since)) = (own, busy.filter(|since| *since < start)) {
                let by_host = |place| -> (LocationId, CallPathId) {
                    let call = process.call(place);
                    (place.0, call.code)
                };
                let on_stream = (stream.location, stream.operations[nth].path);
                let charged = stream.launches[nth].map_or(on_stream, by_host);
                found.add_sum(WaitClass::DeviceIdle, charged, (since, start), selected_of);
            }
            busy = busy.max(Some(end));
        }
    }
}

impl DeviceWaits {
    /// Adds a range of time to the sum of a class and a call, as far as it is selected.
    fn add_sum(
        &mut self,
        class: WaitClass,
        (location, path): (LocationId, CallPathId),
        (start, end): (Ticks, Ticks),
        selected_of: &dyn Fn(LocationId) -> Selected,
    ) {
        let selected = selected_of(location);
        if end <= start || !selected.location {
            return;
        }
        let range = selected.clip(TimeRange { start, end });
        if range.start < range.end {
            let sum: &mut TimeSum = self.sums.entry((class, location, path)).or_default();
            sum.add((range.start, range.end), 1);
        }
    }
}
