//! The tracks of a file, laid out in lanes, each with its name and kind.

use super::collect::Collector;
use super::layout::{Laid, lay_out};
use super::track::{GroupDraft, TrackDraft, TrackKind};
use ouzel_model::units::count;
use ouzel_model::{Level, LocationKind, NoticeCode};
use std::io;

/// A track of a file that was read: what runs there, and its records in lanes.
#[derive(Debug)]
pub(super) struct LaidTrack {
    pub draft: TrackDraft,
    pub name: String,
    pub kind: LocationKind,
    pub is_on_device: bool,
    pub n_records: u64,
    pub laid: Laid,
}

/// Lays out the tracks of a file, all closed.
///
/// # Errors
/// If the temporary file cannot be read or written.
pub(super) fn lay_out_tracks(collector: &mut Collector) -> io::Result<Vec<LaidTrack>> {
    let drafts = std::mem::take(&mut collector.tracks);
    let lay_out = |draft: TrackDraft| {
        let is_on_device = is_on_device(&draft, &collector.groups);
        let thread_name = collector.thread_names.get(&(draft.group, draft.tid.clone()));
        let name = track_name(&draft, thread_name, is_on_device);
        let kind = location_kind(&draft, &name, &collector.groups[draft.group], is_on_device);
        let nests = kind != LocationKind::AcceleratorStream;
        let n_records = collector.store.track(draft.records).len();
        let laid = lay_out(&mut collector.store, draft.records, nests)?;
        say(collector, &name, &laid);
        Ok(LaidTrack { draft, name, kind, is_on_device, n_records, laid })
    };
    drafts.into_iter().map(lay_out).collect()
}

fn say(collector: &mut Collector, name: &str, laid: &Laid) {
    let mut note = |n: u64, level, code, what: String| {
        (0..n.min(1)).for_each(|_| collector.note(level, code, what.clone()));
    };
    let Laid { lanes, n_unmatched, n_cut, n_lost_flows } = laid;
    let what = format!("{name:?}: {} ends (phase E) had no begin and were dropped", count(*n_unmatched));
    note(*n_unmatched, Level::Medium, NoticeCode::UnmatchedLeaves, what);
    let what = format!("{name:?}: too many calls overlap; {} were cut short", count(*n_cut));
    note(*n_cut, Level::High, NoticeCode::TruncatedCalls, what);
    let what = format!("{name:?}: {} flow ends lie in no call", count(*n_lost_flows));
    note(*n_lost_flows, Level::Low, NoticeCode::NotRepresented, what);
    let n_more = lanes.len() as u64 - 1;
    let what =
        format!("{name:?}: calls overlap without being nested; they were laid out in {} lanes", n_more + 1);
    note(n_more, Level::Low, NoticeCode::TruncatedCalls, what);
}

/// Whether a process is a device by the name that TensorFlow, JAX and rocprof give it.
fn is_named_device(group: &GroupDraft) -> bool {
    let Some(name) = &group.name else { return false };
    let after = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    name.contains("/device:GPU")
        || name.contains("/device:TPU")
        || after("GPU")
        || after("GPU ")
        || name == "COPY"
}

fn is_on_device(track: &TrackDraft, groups: &[GroupDraft]) -> bool {
    match track.kind {
        TrackKind::Stream | TrackKind::DeviceRanges | TrackKind::Waits => true,
        TrackKind::Thread => is_named_device(&groups[track.group]),
        TrackKind::Async | TrackKind::Samples | TrackKind::Counters => false,
    }
}

fn location_kind(track: &TrackDraft, name: &str, group: &GroupDraft, is_device: bool) -> LocationKind {
    match track.kind {
        TrackKind::Stream => LocationKind::AcceleratorStream,
        TrackKind::DeviceRanges | TrackKind::Waits | TrackKind::Async => LocationKind::Unknown,
        TrackKind::Counters => LocationKind::Metric,
        TrackKind::Samples => LocationKind::CpuThread,
        TrackKind::Thread if is_device => {
            // Of the rows of XLA only streams and operations are work; steps and scopes are drawn over it.
            let is_xla = group.name.as_ref().is_some_and(|name| name.contains("/device:"));
            let is_work = name.to_ascii_lowercase().contains("stream") || name.starts_with("XLA Ops");
            if is_xla && !is_work { LocationKind::Unknown } else { LocationKind::AcceleratorStream }
        }
        TrackKind::Thread => LocationKind::CpuThread,
    }
}

fn track_name(track: &TrackDraft, thread_name: Option<&String>, is_device: bool) -> String {
    let tid = &track.tid;
    // Kineto and others put the id after the name already.
    let own = match thread_name.map(|name| name.trim()).filter(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None if is_device => format!("stream {tid}"),
        None if tid.is_empty() => "thread".to_owned(),
        None if tid.parse::<i64>().is_ok() => format!("thread {tid}"),
        None => tid.clone(),
    };
    match track.kind {
        TrackKind::Thread | TrackKind::Stream => own,
        TrackKind::DeviceRanges => format!("{own}, ranges"),
        TrackKind::Waits => format!("{own}, waits"),
        TrackKind::Async if tid.is_empty() => "asynchronous operations".to_owned(),
        TrackKind::Async => format!("asynchronous operations: {tid}"),
        TrackKind::Samples => format!("{own}, samples"),
        TrackKind::Counters => "counters".to_owned(),
    }
}
