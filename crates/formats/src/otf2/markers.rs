//! The markers of an archive: remarks that tools wrote into a file of their own.

use ouzel_model::{Definitions, Level, LocationId, Marker, Notice, NoticeCode, Ticks};
use ouzel_otf2::Archive;
use ouzel_otf2::records::MarkerRecord;
use ouzel_otf2::records::enums::{MarkerScope, MarkerSeverity};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Most markers that are kept: more are no remarks for people.
const MARKERS_MAX: usize = 10_000;

/// What a kind of markers is called.
struct Kind {
    group: Arc<str>,
    category: Arc<str>,
    level: Option<Level>,
}

/// The markers by time, and what is to be said of them.
pub(super) fn read(archive: &Archive, definitions: &Definitions) -> (Vec<Marker>, Vec<Notice>) {
    let mut kinds: FxHashMap<u32, Kind> = FxHashMap::default();
    let mut markers = Vec::new();
    let mut n_more = 0;
    let locations = || definitions.location_ids().map(|id| (definitions.location(id).native_id, id));
    let mut by_id: Option<FxHashMap<u64, LocationId>> = None;
    let unnamed: Arc<str> = Arc::from("");
    let visited = archive.markers(&mut |record| match record {
        MarkerRecord::DefMarker(kind) => {
            let level = level(kind.severity);
            let (group, category) =
                (Arc::from(&*kind.group.to_string_lossy()), Arc::from(&*kind.category.to_string_lossy()));
            kinds.insert(kind.id, Kind { group, category, level });
        }
        MarkerRecord::Marker(_) if markers.len() == MARKERS_MAX => n_more += 1,
        MarkerRecord::Marker(marker) => {
            let kind = kinds.get(&marker.marker);
            let name = |of: fn(&Kind) -> &Arc<str>| Arc::clone(kind.map_or(&unnamed, of));
            let by_id = by_id.get_or_insert_with(|| locations().collect());
            let location = (marker.scope == MarkerScope::Location).then(|| by_id.get(&marker.scope_ref));
            markers.push(Marker {
                time: Ticks(marker.time.saturating_sub(definitions.clock.offset_ticks)),
                length: Ticks(marker.duration),
                group: name(|kind| &kind.group),
                category: name(|kind| &kind.category),
                level: kind.and_then(|kind| kind.level),
                location: location.flatten().copied(),
                text: Arc::from(&*marker.text.to_string_lossy()),
            });
        }
    });
    markers.sort_by_key(|marker| (marker.time, marker.length));
    let mut notices = Vec::new();
    if let Err(error) = visited {
        let message = format!("markers end early: {}", error.kind);
        let notice = Notice::new(Level::Medium, NoticeCode::DamagedDefinitions, message);
        notices.push(notice.in_file(error.file).at(error.offset));
    }
    let said = [
        (
            markers.len() as u64,
            "markers are not analysed; ouzel view shows them, and conversions to OTF2 keep them".to_owned(),
        ),
        (n_more, format!("further markers are left out: the first {MARKERS_MAX} are read")),
    ];
    for (n, message) in said.into_iter().filter(|said| 0 < said.0) {
        notices.push(Notice::new(Level::Low, NoticeCode::NotRepresented, message).times(n));
    }
    (markers, notices)
}

fn level(severity: MarkerSeverity) -> Option<Level> {
    match severity {
        MarkerSeverity::Low => Some(Level::Low),
        MarkerSeverity::Medium => Some(Level::Medium),
        MarkerSeverity::High => Some(Level::High),
        _ => None,
    }
}
