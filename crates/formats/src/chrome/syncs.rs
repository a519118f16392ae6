//! What calls of the runtime wait for, as Kineto's `cuda_sync` events say.
//!
//! Such an event has the correlation of the call, the stream that is waited for or that waits, and for events of streams
//! the correlation of the call that recorded the event last. Law: a call has one step, the first that is read.

use super::collect::Collector;
use super::event::Event;
use super::json;
use super::number::u64_from;
use super::scan::plain;
use super::track::TrackKind;
use ouzel_model::{DeviceStep, LocationGroupId, LocationId};
use rustc_hash::FxHashMap;

/// What is waited for, by the correlations of calls as links.
#[derive(Debug, Default)]
pub(super) struct StreamSyncs {
    /// Until the file ends: streams may follow later.
    unresolved: Vec<SyncDraft>,
    steps: FxHashMap<u64, StepDraft>,
}

#[derive(Debug)]
struct SyncDraft {
    call: u64,
    kind: SyncKind,
    /// The call that recorded the event.
    recorded: Option<u64>,
    /// Keys of the stream of the event, and of the stream that it was recorded in.
    own: Vec<u8>,
    other: Vec<u8>,
    group: usize,
}

#[derive(Debug, Clone, Copy)]
enum SyncKind {
    Stream,
    Context,
    Event,
    StreamWait,
}

/// A step with tracks and groups of the collector; none for streams without events.
#[derive(Debug, Clone, Copy)]
enum StepDraft {
    AwaitStream(Option<u32>),
    AwaitDevice(usize),
    AwaitEvent(u64),
    Record(u64, Option<u32>),
    StreamAwaits(Option<u32>, u64),
}

impl Collector {
    /// A wait for a stream, of the call of a link.
    pub(super) fn sync(&mut self, event: &Event<'_>, call: u64) {
        let name = plain(event.name);
        let kind = match () {
            () if name.contains("Stream Wait") => SyncKind::StreamWait,
            () if name.contains("Event") => SyncKind::Event,
            () if name.contains("Stream") => SyncKind::Stream,
            () if name.contains("Context") || name.contains("Device") => SyncKind::Context,
            () => return,
        };
        let number =
            |key: &[u8]| json::member(event.args.raw, key).and_then(|text| u64_from(text.as_bytes()));
        let recorded = number(b"wait_on_cuda_event_record_corr_id").map(|it| self.link(it));
        if recorded.is_none() && matches!(kind, SyncKind::Event | SyncKind::StreamWait) {
            return;
        }
        let other = number(b"wait_on_stream").map(|stream| stream.to_string()).unwrap_or_default();
        let draft = SyncDraft {
            call,
            kind,
            recorded,
            own: stream_key(event, event.tid.raw()),
            other: stream_key(event, other.as_bytes()),
            group: self.group(event.pid),
        };
        self.syncs.unresolved.push(draft);
    }

    /// Ends the file: all its streams are known.
    pub(super) fn end_syncs(&mut self) {
        for draft in std::mem::take(&mut self.syncs.unresolved) {
            let SyncDraft { call, kind, recorded, own, other, group } = draft;
            let track = |key: &[u8]| self.track_ids.get(key).copied();
            let (own, other) = (track(&own), track(&other));
            let event = recorded.unwrap_or(0);
            let step = match kind {
                SyncKind::Stream => StepDraft::AwaitStream(own),
                SyncKind::Context => StepDraft::AwaitDevice(group),
                SyncKind::Event => StepDraft::AwaitEvent(event),
                SyncKind::StreamWait => StepDraft::StreamAwaits(own, event),
            };
            self.syncs.steps.entry(call).or_insert(step);
            if let Some(recorded) = recorded {
                self.syncs.steps.entry(recorded).or_insert(StepDraft::Record(event, other));
            }
        }
    }
}

/// The key of the track of a stream on the device of an event.
fn stream_key(event: &Event<'_>, stream: &[u8]) -> Vec<u8> {
    [&[TrackKind::Stream as u8][..], event.pid.raw(), &[0], stream].concat()
}

impl StreamSyncs {
    /// Adds those of another file, whose tracks and groups are numbered from these on.
    pub(super) fn append(&mut self, other: StreamSyncs, first_track: u32, first_group: usize) {
        let track = |it: Option<u32>| it.map(|track| first_track + track);
        let moved = |step: StepDraft| match step {
            StepDraft::AwaitStream(of) => StepDraft::AwaitStream(track(of)),
            StepDraft::AwaitDevice(group) => StepDraft::AwaitDevice(first_group + group),
            StepDraft::AwaitEvent(event) => StepDraft::AwaitEvent(event),
            StepDraft::Record(event, of) => StepDraft::Record(event, track(of)),
            StepDraft::StreamAwaits(of, event) => StepDraft::StreamAwaits(track(of), event),
        };
        self.steps.extend(other.steps.into_iter().map(|(call, step)| (call, moved(step))));
    }

    /// The steps of all calls, with the location of each track and the group of each device.
    pub(super) fn resolve(
        self,
        location_of: impl Fn(u32) -> Option<LocationId>,
        device_of: impl Fn(usize) -> Option<LocationGroupId>,
    ) -> FxHashMap<u64, DeviceStep> {
        let stream = |track: Option<u32>| track.and_then(&location_of).unwrap_or(DeviceStep::NO_STREAM);
        let step = |draft: StepDraft| {
            Some(match draft {
                StepDraft::AwaitStream(track) => DeviceStep::AwaitStream(stream(track)),
                StepDraft::AwaitDevice(group) => DeviceStep::AwaitDevice(device_of(group)?),
                StepDraft::AwaitEvent(event) => DeviceStep::AwaitEvent(event),
                StepDraft::Record(event, track) => DeviceStep::RecordEvent { event, stream: stream(track) },
                StepDraft::StreamAwaits(track, event) => {
                    DeviceStep::StreamAwaitsEvent { stream: stream(track), event }
                }
            })
        };
        self.steps.into_iter().filter_map(|(call, draft)| Some((call, step(draft)?))).collect()
    }
}
