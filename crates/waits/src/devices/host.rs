//! Waiting of threads for streams: in calls that synchronise, copy, or release memory.

use super::DeviceWaits;
use super::calls::DeviceApi;
use super::events::StreamEvents;
use super::fold::is_await;
use super::records::{DeviceRecords, HostCall};
use super::streams::{CallPlace, DeviceProcess, Linking, OperationPlace, Stream};
use crate::class::{Certainty, WaitClass};
use crate::wait::{Culprit, Wait};
use ouzel_model::{DeviceStep, Ticks};

/// What a call may wait for.
enum Awaitable {
    /// This operation, as the trace says; none if there is nothing to wait for.
    Known(Option<OperationPlace>),
    /// This operation, which was launched before the trace records launches, and ended in the call.
    Unrecorded(OperationPlace),
    /// Any of the first operations of each stream.
    AnyOf(Vec<usize>),
}

impl Awaitable {
    /// Whether any operation was still to be done at a time.
    fn is_pending(&self, process: &DeviceProcess<'_>, at: Ticks) -> bool {
        match self {
            Awaitable::Known(last) => last.is_some_and(|last| at < process.operation(last).end),
            Awaitable::Unrecorded(last) => at < process.operation(*last).end,
            Awaitable::AnyOf(first) => process
                .streams
                .iter()
                .zip(first)
                .any(|(stream, &n)| stream.operations[..n].last().is_some_and(|last| at < last.end)),
        }
    }

    /// The last operation that ended after the call was entered. If it is not known what the call waits for, one that
    /// ended after the call was left cannot have been waited for.
    fn last(&self, process: &DeviceProcess<'_>, call: &HostCall) -> Option<OperationPlace> {
        let last = match self {
            Awaitable::Known(last) => *last,
            Awaitable::Unrecorded(last) => Some(*last),
            Awaitable::AnyOf(first) => {
                let of_stream = |(stream, &n): (&Stream<'_>, &usize)| {
                    let nth = (0..n).rev().find(|&nth| stream.operations[nth].end <= call.leave)?;
                    Some((stream.location, nth))
                };
                process.last(process.streams.iter().zip(first).filter_map(of_stream))
            }
        };
        last.filter(|&last| call.enter < process.operation(last).end)
    }
}

/// The waits of all threads of a process.
pub(crate) fn add(found: &mut DeviceWaits, process: &DeviceProcess<'_>, events: &StreamEvents) {
    for (place, call) in process.calls() {
        let is_awaiting = call.step.is_some_and(is_await);
        match call.api {
            DeviceApi::BlockingCopy => add_copy(found, process, (place, call)),
            DeviceApi::Free => add_free(found, process, (place, call)),
            DeviceApi::AwaitStream | DeviceApi::AwaitDevice | DeviceApi::AwaitEvent => {
                add_await(found, process, events, (place, call));
            }
            _ if is_awaiting => add_await(found, process, events, (place, call)),
            _ => {}
        }
    }
}

/// The operation that a call that waits has to wait for, whether it is done by then or not.
pub(crate) fn awaited(
    process: &DeviceProcess<'_>,
    events: &StreamEvents,
    call: &HostCall,
) -> Option<OperationPlace> {
    let first = |at| process.streams.iter().map(|it| it.n_launched_before(at)).collect();
    let awaitable = match call.api {
        DeviceApi::BlockingCopy => return None,
        DeviceApi::Free => Awaitable::AnyOf(first(call.enter)),
        _ => awaitable(process, events, call),
    };
    match awaitable {
        Awaitable::Known(last) => last,
        Awaitable::Unrecorded(last) => Some(last),
        Awaitable::AnyOf(_) => awaitable.last(process, call),
    }
}

/// What a call waits for.
fn awaitable(process: &DeviceProcess<'_>, events: &StreamEvents, call: &HostCall) -> Awaitable {
    let streams = || process.streams.iter();
    let last_of = |streams: &mut dyn Iterator<Item = &Stream<'_>>| {
        process.last(streams.filter_map(|it| events.last_of(process, it.location, call.enter)))
    };
    let known = match call.step {
        Some(DeviceStep::AwaitStream(stream)) => Some(events.last_of(process, stream, call.enter)),
        Some(DeviceStep::AwaitDevice(device)) => {
            Some(last_of(&mut streams().filter(|it| it.device == device)))
        }
        Some(DeviceStep::AwaitEvent(event)) => events.before(event, call.enter),
        _ => match call.api {
            DeviceApi::AwaitStream if process.has_one_stream() => Some(last_of(&mut streams())),
            DeviceApi::AwaitDevice if process.has_one_device() => Some(last_of(&mut streams())),
            _ => None,
        },
    };
    if let Some(last) = known.filter(|_| process.linking != Linking::Unknown) {
        let of_call = |it: &&Stream<'_>| match call.step {
            Some(DeviceStep::AwaitStream(stream)) => it.location == stream,
            Some(DeviceStep::AwaitDevice(device)) => it.device == device,
            Some(DeviceStep::AwaitEvent(_)) => false,
            _ => true,
        };
        let unrecorded = process.last(streams().filter(of_call).filter_map(|it| unrecorded(it, call)));
        let end = |it: OperationPlace| process.operation(it).end;
        return match unrecorded.filter(|&it| last.is_none_or(|last| end(last) < end(it))) {
            Some(unrecorded) => Awaitable::Unrecorded(unrecorded),
            None => Awaitable::Known(last),
        };
    }
    // An operation whose launch is not known was launched before a call that it ended in.
    let at = if process.linking == Linking::Unknown { call.leave } else { call.enter };
    Awaitable::AnyOf(streams().map(|it| it.n_launched_before(at)).collect())
}

/// Of the operations that a stream runs before all whose launches are recorded, the last that ended in a call.
fn unrecorded(stream: &Stream<'_>, call: &HostCall) -> Option<OperationPlace> {
    let nth =
        stream.operations[..stream.n_unrecorded].partition_point(|it| it.end <= call.leave).checked_sub(1)?;
    (call.enter < stream.operations[nth].end).then_some((stream.location, nth))
}

fn add_await(
    found: &mut DeviceWaits,
    process: &DeviceProcess<'_>,
    events: &StreamEvents,
    (place, call): (CallPlace, &HostCall),
) {
    let awaitable = awaitable(process, events, call);
    let Some(last) = awaitable.last(process, call) else {
        if !awaitable.is_pending(process, call.enter) {
            let range = (call.enter, call.leave);
            add_ranges(
                found,
                process,
                (place, call),
                range,
                &Ranges::beside(WaitClass::UselessSynchronization),
            );
        }
        return;
    };
    let awaited = process.operation(last);
    let is_known = matches!(awaitable, Awaitable::Known(_));
    let certainty = if is_known { Certainty::Certain } else { Certainty::UpperBound };
    let is_clamped = call.leave < awaited.end;
    found.clocks_differ(call.leave, awaited.end);
    let ranges = |class| Ranges { class, certainty, is_clamped, culprit: Some(culprit(process, last)) };
    let end = awaited.end.min(call.leave);
    let queued = awaited.start.max(call.enter).min(end);
    add_ranges(found, process, (place, call), (call.enter, end), &ranges(WaitClass::HostWaitsForDevice));
    add_ranges(found, process, (place, call), (call.enter, queued), &ranges(WaitClass::Queueing));
}

/// A call that copies waits until its copy begins, if the call lasted until then.
fn add_copy(found: &mut DeviceWaits, process: &DeviceProcess<'_>, (place, call): (CallPlace, &HostCall)) {
    let of_call = |stream: &Stream<'_>| {
        let first = stream.n_launched_before(call.enter);
        let of_call = stream.operations[first..].iter().zip(&stream.launches[first..]);
        let near = of_call.take_while(|(it, _)| it.start <= call.leave);
        let is_own = |(_, launch): &(_, &Option<CallPlace>)| **launch == Some(place);
        near.filter(is_own).map(|(it, _)| it.start).next()
    };
    let Some(start) = process.streams.iter().filter_map(of_call).min() else {
        found.n_unknown_copies += u64::from(process.linking != Linking::Recorded || call.link == 0);
        return;
    };
    // What it waited for ended after the call began, and before its copy began.
    let before = |stream: &Stream<'_>| {
        let n = stream.operations.partition_point(|it| it.end <= start);
        let nth = n.checked_sub(1)?;
        (call.enter < stream.operations[nth].end).then_some((stream.location, nth))
    };
    let last = process.last(process.streams.iter().filter_map(before));
    let ranges = Ranges {
        culprit: last.map(|last| culprit(process, last)),
        ..Ranges::beside(WaitClass::BlockingCopy)
    };
    add_ranges(found, process, (place, call), (call.enter, start.min(call.leave)), &ranges);
}

/// A call that releases memory waits for what runs, if it lasted until that ended.
fn add_free(found: &mut DeviceWaits, process: &DeviceProcess<'_>, (place, call): (CallPlace, &HostCall)) {
    let first = process.streams.iter().map(|it| it.n_launched_before(call.enter)).collect();
    let Some(last) = Awaitable::AnyOf(first).last(process, call) else { return };
    let certainty = if process.has_one_device() { Certainty::Certain } else { Certainty::UpperBound };
    let ranges = Ranges {
        certainty,
        culprit: Some(culprit(process, last)),
        ..Ranges::beside(WaitClass::BlockingCopy)
    };
    add_ranges(found, process, (place, call), (call.enter, process.operation(last).end), &ranges);
}

fn culprit(process: &DeviceProcess<'_>, last: OperationPlace) -> Culprit {
    let it = process.operation(last);
    Culprit { location: last.0, path: it.path, arrived: it.end, left: it.end }
}

/// What waits of one call have in common.
struct Ranges {
    class: WaitClass,
    certainty: Certainty,
    is_clamped: bool,
    culprit: Option<Culprit>,
}

impl Ranges {
    fn beside(class: WaitClass) -> Self {
        Ranges { class, certainty: Certainty::Certain, is_clamped: false, culprit: None }
    }
}

/// Adds a range of time in a call; what the call calls is charged to that.
fn add_ranges(
    found: &mut DeviceWaits,
    process: &DeviceProcess<'_>,
    ((location, _), call): (CallPlace, &HostCall),
    (start, end): (Ticks, Ticks),
    &Ranges { class, certainty, is_clamped, culprit }: &Ranges,
) {
    if end <= start {
        return;
    }
    let HostCall { path, enter, leave, .. } = *call;
    let whole =
        Wait { class, certainty, is_clamped, location, path, enter, leave, start, end, culprit, nth: 0 };
    let place = process.threads.binary_search_by_key(&location, |it| it.0);
    let inner: &[_] = place.map_or(&[], |place| inner_in(process.threads[place].1, (start, end)));
    if inner.is_empty() {
        found.waits.push(whole);
    }
    for range in inner {
        let (start, end) = (range.start.max(start), range.end.min(end));
        found.waits.push(Wait { path: range.path, start, end, ..whole });
    }
}

/// What a thread did in a range of time in which it blocked.
fn inner_in(of: &DeviceRecords, (start, end): (Ticks, Ticks)) -> &[super::records::InnerRange] {
    let first = of.inner.partition_point(|it| it.end <= start);
    let n = of.inner[first..].partition_point(|it| it.start < end);
    &of.inner[first..first + n]
}
