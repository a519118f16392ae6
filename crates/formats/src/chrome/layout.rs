//! Tracks to locations: lanes for calls that overlap, and flows bound to calls.

use super::lanes::{Conflict, LanePlace, TrackLanes, TrackLayout};
use super::record::{RecordKind, Store, TrackRecord};
use ouzel_model::LinkEnd;
use std::io;

/// A flow that is bound to a call of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallLink {
    /// Number of the call in its lane.
    pub call: u64,
    pub id: u64,
    pub end: LinkEnd,
}

/// One lane: records whose calls are nested.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Index in the store.
    pub records: usize,
    /// By call.
    pub links: Vec<CallLink>,
}

/// A track, laid out.
#[derive(Debug, Default)]
pub(super) struct Laid {
    pub lanes: Vec<Lane>,
    pub n_unmatched: u64,
    pub n_cut: u64,
    /// Ends of flows without a call to bind to.
    pub n_lost_flows: u64,
}

/// Lays out the calls of a closed track.
///
/// # Errors
/// If the temporary file cannot be read or written.
pub(super) fn lay_out(store: &mut Store, track: usize, nests: bool) -> io::Result<Laid> {
    let layout = TrackLayout { nests, is_split: false };
    let (layout, survey) = match survey(store, track, layout)? {
        Ok(found) => (layout, found),
        Err(Conflict) => {
            let layout = TrackLayout { nests, is_split: true };
            let split = survey(store, track, layout)?;
            (layout, split.expect("begins and ends alone do not conflict"))
        }
    };
    let Survey { n_lanes, links, n_unmatched, n_cut, n_lost_flows } = survey;
    let records = if n_lanes == 1 { vec![track] } else { distribute(store, track, layout, n_lanes)? };
    let mut lanes: Vec<Lane> =
        records.into_iter().map(|records| Lane { records, links: Vec::new() }).collect();
    for (LanePlace { lane, call }, id, end) in links {
        lanes[lane].links.push(CallLink { call, id, end });
    }
    lanes.iter_mut().for_each(|lane| lane.links.sort_by_key(|link| link.call));
    Ok(Laid { lanes, n_unmatched, n_cut, n_lost_flows })
}

#[derive(Debug, Default)]
struct Survey {
    n_lanes: usize,
    links: Vec<(LanePlace, u64, LinkEnd)>,
    n_unmatched: u64,
    n_cut: u64,
    n_lost_flows: u64,
}

fn is_call(record: &TrackRecord) -> bool {
    matches!(record.kind, RecordKind::Begin | RecordKind::End | RecordKind::Slice | RecordKind::DetailedSlice)
}

/// Goes through the records once, without moving them.
fn survey(store: &Store, track: usize, layout: TrackLayout) -> io::Result<Result<Survey, Conflict>> {
    let mut lanes = TrackLanes::new(layout);
    let mut found = Survey::default();
    let mut waiting: Vec<(u64, LinkEnd)> = Vec::new();
    let mut merge = store.merge(track)?;
    while let Some(mut record) = merge.next(store, track)? {
        if is_call(&record) {
            match lanes.place(&mut record) {
                Ok(Some(place)) if record.kind != RecordKind::End => {
                    found.links.extend(waiting.drain(..).map(|(id, end)| (place, id, end)));
                }
                Ok(_) => {}
                Err(conflict) => return Ok(Err(conflict)),
            }
            continue;
        }
        let end = if record.what == 0 { LinkEnd::From } else { LinkEnd::To };
        match (record.kind, lanes_around(&lanes, &record)) {
            (RecordKind::FlowAround, Some((place, _))) => found.links.push((place, record.link, end)),
            (RecordKind::FlowAround, None) => found.n_lost_flows += 1,
            (RecordKind::FlowNext, Some((place, at_ns))) if at_ns == record.at_ns => {
                found.links.push((place, record.link, end));
            }
            (RecordKind::FlowNext, _) => waiting.push((record.link, end)),
            _ => {}
        }
    }
    if let Err(conflict) = lanes.finish() {
        return Ok(Err(conflict));
    }
    found.n_lost_flows += waiting.len() as u64;
    (found.n_lanes, found.n_unmatched, found.n_cut) = (lanes.len(), lanes.n_unmatched, lanes.n_cut);
    Ok(Ok(found))
}

fn lanes_around(lanes: &TrackLanes, record: &TrackRecord) -> Option<(LanePlace, i64)> {
    match record.kind {
        RecordKind::FlowAround | RecordKind::FlowNext => lanes.around(record.at_ns),
        _ => None,
    }
}

/// Writes the records of each lane to a track of its own. What is not a call goes to the first.
fn distribute(
    store: &mut Store,
    track: usize,
    layout: TrackLayout,
    n_lanes: usize,
) -> io::Result<Vec<usize>> {
    let tracks: Vec<usize> = (0..n_lanes).map(|_| store.add_track()).collect();
    let mut lanes = TrackLanes::new(layout);
    let mut merge = store.merge(track)?;
    while let Some(mut record) = merge.next(store, track)? {
        let lane = if is_call(&record) {
            match lanes.place(&mut record).expect("the survey found no conflict") {
                Some(place) => place.lane,
                None => continue,
            }
        } else {
            0
        };
        store.push(tracks[lane], record)?;
    }
    store.clear(track);
    tracks.iter().try_for_each(|&track| store.close(track))?;
    Ok(tracks)
}
