//! Locations and their groups: from the tracks of files to processes, accelerators, threads and streams.
//!
//! A file of Kineto is one rank, if one process of it launches, see `driven`. Its GPUs are accelerators of the process
//! that drives them; ranges and waits that the profiler shows on a stream are put beside the stream, since nothing runs in
//! them.

use super::draft::TraceDraft;
use super::driven::Driven;
use super::laid::LaidTrack;
use super::layout::Lane;
use super::track::{GroupDraft, TrackKind, natural};
use ouzel_model::{
    Location, LocationGroup, LocationGroupId, LocationGroupKind, LocationId, LocationKind, WorldRank,
};
use std::collections::BTreeMap;
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
        let is_pseudo = trace.files[file].is_kineto && (trace.groups[group].is_pseudo() || is_beside);
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

/// The process of each file that drives its devices: that with the most records on threads.
fn main_groups(trace: &TraceDraft) -> Vec<Option<usize>> {
    let mut sizes: BTreeMap<usize, u64> = BTreeMap::new();
    for LaidTrack { draft, n_records, .. } in &trace.tracks {
        let group = &trace.groups[draft.group];
        if draft.kind == TrackKind::Thread && !group.is_pseudo() && !group.is_device {
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
