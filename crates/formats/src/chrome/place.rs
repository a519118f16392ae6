//! Locations and their groups: from the tracks of files to processes, accelerators, threads and streams.
//!
//! A file of Kineto is one rank, if one process of it launches, see `drivers`. Its GPUs are accelerators of the process that drives them; ranges and waits that the
//! profiler shows on a stream are put beside the stream, since nothing runs in them.

use super::collect::{Collector, GroupDraft, TrackDraft, TrackKind};
use super::draft::TraceDraft;
use super::drivers::Driven;
use super::layout::{Laid, Lane, lay_out};
use ouzel_model::units::count;
use ouzel_model::{
    Level, Location, LocationGroup, LocationGroupId, LocationGroupKind, LocationId, LocationKind, NoticeCode,
    WorldRank,
};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// What is read for a location.
#[derive(Debug)]
pub(super) struct LocationPlan {
    pub lane: Lane,
    pub file: usize,
    /// Whether launches are made here; else they arrive.
    pub is_host: bool,
    /// Whether ranges of collectives count as collectives: no kernel of the file does.
    pub host_collectives: bool,
    /// Whether it holds samples only.
    pub is_sampled: bool,
    /// Added to the times of the file to get ticks.
    pub shift_ns: i64,
}

/// Every location.
#[derive(Debug, Default)]
pub(super) struct LocationPlans {
    pub groups: Vec<LocationGroup>,
    pub locations: Vec<Location>,
    pub places: Vec<LocationPlan>,
    /// The first location of each track.
    pub of_tracks: Vec<Option<LocationId>>,
    /// The group of locations of each device.
    pub devices: BTreeMap<usize, LocationGroupId>,
}

/// Numbers before texts, numbers by value.
pub(super) type NaturalKey = (bool, u64, String);

pub(super) fn natural(text: &str) -> NaturalKey {
    let number = text.parse().ok();
    (number.is_none(), number.unwrap_or(0), text.to_owned())
}

/// A track of a file that was read: what runs there, and its records in lanes.
#[derive(Debug)]
pub(super) struct LaidTrack {
    pub draft: TrackDraft,
    name: String,
    kind: LocationKind,
    is_on_device: bool,
    n_records: u64,
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

/// Makes locations of the lanes of all tracks; `driven` says which process drives which stream.
pub(super) fn place(trace: &mut TraceDraft, driven: &Driven) -> LocationPlans {
    let mains = main_groups(trace);
    let mut order: Vec<usize> = (0..trace.tracks.len()).collect();
    order.sort_by_cached_key(|&track| {
        let LaidTrack { draft, is_on_device, .. } = &trace.tracks[track];
        let group = &trace.groups[draft.group];
        // On Linux a main thread has the number of its process.
        let is_other = draft.tid != group.pid;
        let (pid, tid) = (natural(&group.pid), natural(&draft.tid));
        (group.file, *is_on_device, pid, draft.group, is_other, tid, draft.kind)
    });
    let of_tracks = vec![None; trace.tracks.len()];
    let mut placed = LocationPlans { of_tracks, ..LocationPlans::default() };
    let mut groups: BTreeMap<(usize, bool, Option<usize>), LocationGroupId> = BTreeMap::new();
    for track in order {
        let LaidTrack { draft, name, kind, is_on_device, n_records, laid } = &mut trace.tracks[track];
        let (group, file, is_device) = (draft.group, trace.groups[draft.group].file, *is_on_device);
        if *n_records == 0 {
            continue;
        }
        // The profiler's own records, and calls that it puts under a device, belong to the process it profiles.
        let is_beside = trace.groups[group].is_device && !is_device;
        let is_pseudo = trace.files[file].is_kineto && (is_pseudo(&trace.groups[group]) || is_beside);
        let owner = if is_pseudo { mains[file].unwrap_or(group) } else { group };
        let driver = driven.drivers[track].filter(|_| is_device);
        let rank = driven.ranks[driver.unwrap_or(owner)];
        let id = *groups.entry((owner, is_device, driver)).or_insert_with(|| {
            placed.groups.push(location_group(&trace.groups[owner], is_device, rank));
            LocationGroupId::from_index(placed.groups.len() - 1)
        });
        let kind = if is_pseudo { LocationKind::Unknown } else { *kind };
        placed.of_tracks[track] = Some(LocationId::from_index(placed.locations.len()));
        for (i, lane) in std::mem::take(&mut laid.lanes).into_iter().enumerate() {
            let name = if i == 0 { name.clone() } else { format!("{name} (lane {})", i + 1) };
            placed.locations.push(Location {
                name: Arc::from(name),
                kind,
                group: id,
                rank,
                declared_events: None,
                native_id: placed.locations.len() as u64,
            });
            placed.places.push(LocationPlan {
                lane,
                file,
                is_host: matches!(draft.kind, TrackKind::Thread | TrackKind::Async),
                host_collectives: !trace.files[file].has_device_collectives,
                is_sampled: draft.kind == TrackKind::Samples,
                shift_ns: 0,
            });
        }
    }
    for (&(owner, is_device, driver), &id) in &groups {
        let main = driver.or(mains[trace.groups[owner].file]);
        let main = main.and_then(|main| groups.get(&(main, false, None)));
        if is_device {
            placed.devices.entry(owner).or_insert(id);
            placed.groups[id.index()].creator = main.copied();
        }
    }
    placed
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

/// The process of each file that drives its devices: that with the most records on threads.
fn main_groups(trace: &TraceDraft) -> Vec<Option<usize>> {
    let mut sizes: BTreeMap<usize, u64> = BTreeMap::new();
    for LaidTrack { draft, n_records, .. } in &trace.tracks {
        let group = &trace.groups[draft.group];
        if draft.kind == TrackKind::Thread && !is_pseudo(group) && !group.is_device {
            *sizes.entry(draft.group).or_default() += n_records;
        }
    }
    let mut mains = vec![None; trace.files.len()];
    let mut most = vec![0; trace.files.len()];
    for (group, n) in sizes {
        let file = trace.groups[group].file;
        if most[file] < n {
            (mains[file], most[file]) = (Some(group), n);
        }
    }
    mains
}

/// Kineto's rows for itself.
pub(super) fn is_pseudo(group: &GroupDraft) -> bool {
    matches!(&group.pid[..], "Spans" | "Traces" | "")
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

fn location_group(group: &GroupDraft, is_device: bool, rank: Option<WorldRank>) -> LocationGroup {
    let GroupDraft { pid, name, labels, .. } = group;
    let name = match (name, labels) {
        // Kineto names a device like its process, and says which it is in the labels.
        (_, Some(labels)) if is_device => labels.clone(),
        (Some(name), _) => name.clone(),
        (None, _) if is_device => format!("GPU {pid}"),
        (None, _) => format!("process {pid}"),
    };
    let kind = if is_device { LocationGroupKind::Accelerator } else { LocationGroupKind::Process };
    LocationGroup { name: Arc::from(name), kind, system_node: None, creator: None, device: None, rank }
}
