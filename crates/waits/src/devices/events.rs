//! Events of streams: where they were recorded, and which streams wait for them.

use super::DeviceWaits;
use super::streams::{CallPlace, DeviceProcess, OperationPlace, Stream};
use crate::class::{Certainty, WaitClass};
use crate::wait::{Culprit, Wait};
use ouzel_model::{DeviceStep, LocationId, Ticks};
use std::collections::BTreeMap;

/// What streams have to do before events, and before they are done.
#[derive(Default)]
pub(crate) struct StreamEvents {
    /// When each event was recorded, and the last operation before it.
    recorded: BTreeMap<u64, Vec<(Ticks, Option<OperationPlace>)>>,
    /// The events that each stream waits for, in order.
    awaited: BTreeMap<LocationId, Vec<AwaitedEvent>>,
}

/// An event that a stream waits for before an operation.
#[derive(Clone, Copy)]
pub(crate) struct AwaitedEvent {
    /// Number of operations that were launched before.
    before: usize,
    place: CallPlace,
    /// When the call was entered.
    at: Ticks,
    /// The last operation before the event.
    operation: OperationPlace,
    /// The last to end of this and those of events before, since the last launch into the stream.
    last: OperationPlace,
}

impl AwaitedEvent {
    /// Number of operations of the stream that were launched before.
    pub fn before(&self) -> usize {
        self.before
    }

    /// When the call was entered that makes the stream wait.
    pub fn at(&self) -> Ticks {
        self.at
    }

    /// The last operation before the event.
    pub fn operation(&self) -> OperationPlace {
        self.operation
    }

    /// The call that makes the stream wait.
    pub fn call(&self) -> CallPlace {
        self.place
    }
}

impl StreamEvents {
    pub fn new(process: &DeviceProcess<'_>) -> Self {
        let mut calls: Vec<(Ticks, CallPlace, DeviceStep)> =
            process.calls().filter_map(|(place, call)| Some((call.enter, place, call.step?))).collect();
        calls.sort_unstable();
        let mut events = StreamEvents::default();
        for (at, place, step) in calls {
            match step {
                DeviceStep::RecordEvent { event, stream } => {
                    let last = events.last_of(process, stream, at);
                    events.recorded.entry(event).or_default().push((at, last));
                }
                DeviceStep::StreamAwaitsEvent { stream, event } => {
                    let Some(Some(operation)) = events.before(event, at) else { continue };
                    let before = n_launched(process, stream, at);
                    let of_stream = events.awaited.entry(stream).or_default();
                    let known = of_stream.last().filter(|it| it.before == before).map(|it| it.last);
                    let last = process.last(known.into_iter().chain([operation])).unwrap_or(operation);
                    of_stream.push(AwaitedEvent { before, place, at, operation, last });
                }
                _ => {}
            }
        }
        events
    }

    /// The last operation before the last record of an event before a time; none if there is no such record.
    pub fn before(&self, event: u64, at: Ticks) -> Option<Option<OperationPlace>> {
        let records = self.recorded.get(&event)?;
        let n = records.partition_point(|it| it.0 < at);
        records[..n].last().map(|it| it.1)
    }

    /// The last to end of what a stream had to do at a time: its operations, and events that it waited for.
    pub fn last_of(
        &self,
        process: &DeviceProcess<'_>,
        stream: LocationId,
        at: Ticks,
    ) -> Option<OperationPlace> {
        let n = n_launched(process, stream, at);
        let awaited = self.awaited(stream);
        let n_awaited = awaited.partition_point(|it| it.at < at);
        let awaited = awaited[..n_awaited].last().filter(|it| it.before == n).map(|it| it.last);
        process.last(n.checked_sub(1).map(|nth| (stream, nth)).into_iter().chain(awaited))
    }

    /// What a stream waits for.
    pub fn awaited(&self, stream: LocationId) -> &[AwaitedEvent] {
        self.awaited.get(&stream).map_or(&[], |of| &of[..])
    }
}

fn n_launched(process: &DeviceProcess<'_>, stream: LocationId, at: Ticks) -> usize {
    process.stream(stream).map_or(0, |it| it.n_launched_before(at))
}

/// When each operation of a stream could begin but for its launch: the end of the one before, and of the operations that
/// it waits for by events. Adds the waits for these.
pub(crate) fn free_times(
    found: &mut DeviceWaits,
    process: &DeviceProcess<'_>,
    stream: &Stream<'_>,
    awaited: &[AwaitedEvent],
) -> Vec<Ticks> {
    let mut awaited = awaited.iter().peekable();
    let mut times = Vec::with_capacity(stream.operations.len());
    let mut free = Ticks(0);
    for nth in 0..=stream.operations.len() {
        let next = stream.operations.get(nth);
        while let Some(event) = awaited.next_if(|event| event.before <= nth) {
            let (of, _) = event.operation;
            let it = process.operation(event.operation);
            let start = free.max(event.at);
            let end = next.map_or(it.end, |next| it.end.min(next.start));
            if let Some(next) = next {
                found.clocks_differ(next.start, it.end);
            }
            if start < end {
                let culprit = Culprit { location: of, path: it.path, arrived: it.end, left: it.end };
                found.waits.push(Wait {
                    class: WaitClass::StreamWait,
                    certainty: Certainty::Certain,
                    is_clamped: end < it.end,
                    location: stream.location,
                    path: process.call(event.place).path,
                    enter: start,
                    leave: end,
                    start,
                    end,
                    culprit: Some(culprit),
                    nth: 0,
                });
            }
            free = free.max(it.end);
        }
        if let Some(next) = next {
            times.push(free);
            free = free.max(next.end);
        }
    }
    times
}
