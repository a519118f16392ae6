//! From the decoder's notices to those of the model: how much each matters.

use ouzel_model::{Level, LocationId, Notice, NoticeCode};
use ouzel_otf2::NoticeKind;
use ouzel_otf2::read::EventCounts;
use ouzel_otf2::remark::Remark;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A notice of the decoder about a definition file or the archive.
pub(super) fn of_archive(notice: &ouzel_otf2::Notice) -> Notice {
    use NoticeKind as K;
    let (level, code) = match &notice.kind {
        K::AnchorRebuilt { .. } => (Level::High, NoticeCode::MissingAnchor),
        K::NoGlobalDefinitions | K::NoLocalDefinitions { .. } => {
            (Level::High, NoticeCode::MissingDefinitions)
        }
        K::Damaged { .. } => (Level::High, NoticeCode::DamagedDefinitions),
        K::Duplicates { n_different: 0, .. } => (Level::Low, NoticeCode::DuplicateDefinition),
        K::Duplicates { .. } => (Level::Medium, NoticeCode::DuplicateDefinition),
        K::Late { .. } => (Level::Low, NoticeCode::UndefinedReference),
        K::Dangling { .. } => (Level::Medium, NoticeCode::UndefinedReference),
        K::UnknownRecords { .. } | K::LongerRecords { .. } => (Level::Low, NoticeCode::UnknownRecords),
        K::DefinitionCount { claimed, found } if found < claimed => {
            (Level::High, NoticeCode::DamagedDefinitions)
        }
        K::DefinitionCount { .. } => (Level::Low, NoticeCode::DamagedDefinitions),
        K::UndefinedLocations { .. } => (Level::High, NoticeCode::MissingDefinitions),
        K::EventCount { .. } => (Level::Low, NoticeCode::WrongEventCount),
        K::NoEventFile { .. } => (Level::High, NoticeCode::MissingEvents),
        K::UnusableClockOffsets { .. } => (Level::Medium, NoticeCode::ClocksUnsynchronised),
        K::SecondMappingTable { .. } | K::UnknownMappingTable { .. } => {
            (Level::Medium, NoticeCode::DuplicateDefinition)
        }
        _ => (Level::Medium, NoticeCode::DamagedDefinitions),
    };
    let said = Notice::new(level, code, notice.kind.to_string()).in_file(notice.file.clone());
    // A file that is not there has no places.
    let is_missing = match &notice.kind {
        K::AnchorRebuilt { error } => error.is_empty(),
        kind => matches!(kind, K::NoGlobalDefinitions | K::NoEventFile { .. }),
    };
    if is_missing { said } else { said.at(notice.offset) }
}

/// Whether the notice says that global definitions are missing.
pub(super) fn loses_definitions(notice: &ouzel_otf2::Notice) -> bool {
    match notice.kind {
        NoticeKind::NoGlobalDefinitions
        | NoticeKind::Damaged { .. }
        | NoticeKind::UndefinedLocations { .. } => true,
        NoticeKind::DefinitionCount { claimed, found } => found < claimed,
        _ => false,
    }
}

/// Whether the notice says that references are defined more than once.
pub(super) fn is_of_duplicates(notice: &ouzel_otf2::Notice) -> bool {
    matches!(notice.kind, NoticeKind::Duplicates { .. })
}

/// What the archive holds that the event model has no place for: counted, not read.
pub(super) fn set_aside(archive: &ouzel_otf2::Archive) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut say = |count: u64, what: &str| {
        if 0 < count {
            let message = format!("{what} are counted but not analysed");
            notices.push(Notice::new(Level::Low, NoticeCode::NotRepresented, message).times(count));
        }
    };
    say(u64::from(archive.anchor().n_snapshots), "snapshots of the state between events");
    say(u64::from(archive.anchor().n_thumbnails), "thumbnails");
    notices
}

/// What `ouzel record` says that the recording lost, or that is good to know of it.
pub(super) fn of_recording(archive: &ouzel_otf2::Archive) -> Vec<Notice> {
    let said = Remark::of_anchor(archive.anchor()).into_iter();
    said.map(|Remark { is_loss, message }| match is_loss {
        true => Notice::new(Level::High, NoticeCode::Recording, message),
        false => Notice::new(Level::Low, NoticeCode::Recording, message),
    })
    .collect()
}

/// What the event reader of a location counted.
pub(super) fn of_events(counts: &EventCounts, file: &Arc<str>, location: LocationId) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut say = |count: u64, level, code, message: String| {
        if 0 < count {
            let notice = Notice::new(level, code, message).times(count);
            notices.push(notice.in_file(file.clone()).on(location));
        }
    };
    for (id, &n) in &counts.unknown {
        let message = format!("event records of unknown type {id} were skipped by their length");
        say(n, Level::Medium, NoticeCode::UnknownRecords, message);
    }
    let message = "event records carry fields this version does not know; those were skipped".to_owned();
    say(counts.longer_records, Level::Low, NoticeCode::UnknownRecords, message);
    let message = "attribute lists of events are counted; their contents are not analysed".to_owned();
    say(counts.attribute_lists, Level::Low, NoticeCode::NotRepresented, message);
    let message = "chunks hold a different number of events than their headers say".to_owned();
    say(counts.chunks_miscounted, Level::Medium, NoticeCode::WrongEventCount, message);
    notices
}

/// Records that the event model leaves out, by name.
pub(super) fn not_represented(records: &BTreeMap<&'static str, u64>) -> Vec<Notice> {
    let notice = |(name, &n): (&&str, &u64)| {
        let message = format!("{name} records are counted as events; their contents are not analysed");
        Notice::new(Level::Low, NoticeCode::NotRepresented, message).times(n)
    };
    records.iter().map(notice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_counts_is_said_once_with_its_number() {
        let mut counts = EventCounts { attribute_lists: 3, longer_records: 2, ..EventCounts::default() };
        counts.unknown.insert(200, 7);
        let notices = of_events(&counts, &Arc::from("0.evt"), LocationId(0));
        let said: Vec<(NoticeCode, u64)> = notices.iter().map(|notice| (notice.code, notice.count)).collect();
        assert_eq!(
            said,
            [
                (NoticeCode::UnknownRecords, 7),
                (NoticeCode::UnknownRecords, 2),
                (NoticeCode::NotRepresented, 3)
            ]
        );
        assert!(of_events(&EventCounts::default(), &Arc::from("0.evt"), LocationId(0)).is_empty());
    }
}
