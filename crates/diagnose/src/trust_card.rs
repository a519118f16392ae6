//! How far the answer can be trusted: what was lost, what was repaired or is doubtful.
//!
//! Notices of one kind from many locations become one concern. Law: every notice is
//! part of exactly one concern.

use ouzel_model::{Definitions, Level, Notice, NoticeCode};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What was lost, what is doubtful, and what is good to know. Empty lists mean: nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TrustCard {
    /// Data that are missing: the answer is not from everything.
    pub lost: Vec<Concern>,
    /// What was repaired or is doubtful: numbers may be off.
    pub doubtful: Vec<Concern>,
    /// Good to know; numbers are complete.
    pub remarks: Vec<Concern>,
}

/// Notices of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Concern {
    /// What kind.
    pub code: NoticeCode,
    /// How often it happened.
    pub count: u64,
    /// Number of locations it happened at; 0 if it is about none.
    pub n_locations: u64,
    /// One of the notices in words: the first.
    pub example: String,
    /// Whether the notices differ in words, so that the example is one of several.
    pub is_one_of_many: bool,
}

impl TrustCard {
    /// Groups notices by level and kind.
    pub fn new(notices: &[Notice], definitions: &Definitions) -> Self {
        let mut groups: BTreeMap<(Level, NoticeCode), Vec<&Notice>> = BTreeMap::new();
        for notice in notices {
            groups.entry((notice.level, notice.code)).or_default().push(notice);
        }
        let mut card = TrustCard::default();
        for ((level, _), notices) in &groups {
            let list = match level {
                Level::High => &mut card.lost,
                Level::Medium => &mut card.doubtful,
                Level::Low => &mut card.remarks,
            };
            list.extend(concern(notices, definitions));
        }
        card
    }

    /// Whether definitions are missing, so that names and meanings of regions may be, too.
    pub fn lost_definitions(&self) -> bool {
        let codes = [NoticeCode::MissingDefinitions, NoticeCode::DamagedDefinitions];
        self.lost.iter().any(|concern| codes.contains(&concern.code))
    }

    /// Whether nothing was lost and nothing is doubtful.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.doubtful.is_empty()
    }
}

fn concern(notices: &[&Notice], definitions: &Definitions) -> Option<Concern> {
    let first = notices.first()?;
    let locations: BTreeSet<_> = notices.iter().filter_map(|notice| notice.location).collect();
    let rank = first.location.and_then(|location| definitions.location(location).rank);
    let place = rank.map(|rank| format!("rank {rank}: ")).unwrap_or_default();
    Some(Concern {
        code: first.code,
        count: notices.iter().map(|notice| notice.count).sum(),
        n_locations: locations.len() as u64,
        example: format!("{place}{first}"),
        is_one_of_many: 1 < notices.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_model::{Clock, LocationId};

    #[test]
    fn notices_of_one_kind_are_one_concern() {
        let clock = Clock { ticks_per_second: 1, offset_ticks: 0, realtime_ns: None, declared_length: None };
        let mut definitions = Definitions::empty(clock);
        for native_id in 0..2 {
            definitions.locations.push(ouzel_model::Location {
                name: "t".into(),
                kind: ouzel_model::LocationKind::CpuThread,
                group: ouzel_model::LocationGroupId(0),
                rank: Some(ouzel_model::WorldRank(native_id)),
                declared_events: None,
                native_id: u64::from(native_id),
            });
        }
        let open = |location| {
            Notice::new(Level::Low, NoticeCode::OpenCalls, "open").on(LocationId(location)).times(3)
        };
        let lost = Notice::new(Level::High, NoticeCode::DamagedEvents, "ends").in_file("1.evt").at(16);
        let card = TrustCard::new(&[lost, open(0), open(1)], &definitions);
        assert!(!card.is_clean());
        assert_eq!(card.lost[0].example, "1.evt+0x10: ends");
        let [concern] = &card.remarks[..] else { panic!("{card:?}") };
        assert_eq!((concern.count, concern.n_locations, concern.example.as_str()), (6, 2, "rank 0: open"));
        assert!(concern.is_one_of_many && card.doubtful.is_empty());
        assert!(!card.lost_definitions());
        let missing = Notice::new(Level::High, NoticeCode::MissingDefinitions, "no clock");
        assert!(TrustCard::new(&[missing], &definitions).lost_definitions());
    }
}
