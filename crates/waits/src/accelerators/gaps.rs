//! The gaps of a stream, and what keeps the operation that ends each from beginning earlier.

use crate::devices::events::{AwaitedEvent, StreamEvents};
use crate::devices::records::HostCall;
use crate::devices::streams::{CallPlace, DeviceProcess, OperationPlace, Stream};
use ouzel_model::{Ticks, TimeRange};

/// A range of time in which a stream runs nothing, between two operations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap<'a> {
    pub range: TimeRange,
    /// The operation that ends it.
    pub nth: usize,
    /// The call that launched that operation, if it is known.
    pub launch: Option<(CallPlace, &'a HostCall)>,
    /// Of the operations of other streams that it waits for by events the last to end, since when, and the call that
    /// makes it wait.
    pub awaited: Option<(OperationPlace, Ticks, CallPlace)>,
}

/// What each operation of a stream waits for besides the one before: calls `f` with the end of the operation before
/// (none for the first), and with what a gap before it would have.
pub(super) fn for_operations<'a>(
    process: &DeviceProcess<'a>,
    events: &StreamEvents,
    stream: &Stream<'a>,
    mut f: impl FnMut(Option<Ticks>, Gap<'a>),
) {
    let mut awaited = events.awaited(stream.location).iter().peekable();
    let mut free: Option<Ticks> = None;
    for (nth, it) in stream.operations.iter().enumerate() {
        let mut last: Option<&AwaitedEvent> = None;
        while let Some(event) = awaited.next_if(|event| event.before() <= nth) {
            let end = |event: &AwaitedEvent| process.operation(event.operation()).end;
            if last.is_none_or(|last| end(last) < end(event)) {
                last = Some(event);
            }
        }
        let start = free.unwrap_or(it.start).min(it.start);
        f(
            free,
            Gap {
                range: TimeRange { start, end: it.start },
                nth,
                launch: stream.launches[nth].map(|place| (place, process.call(place))),
                awaited: last.map(|event| (event.operation(), event.at(), event.call())),
            },
        );
        free = free.max(Some(it.end));
    }
}
