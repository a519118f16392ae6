//! How far the answer can be trusted: what was lost, what was repaired or is doubtful.
//!
//! Notices of one kind from many locations become one concern. Law: every notice is
//! part of exactly one concern.

use crate::findings::Ranks;
use ouzel_analyses::call_path_profile::ProfileOutput;
use ouzel_analyses::semantics::Class;
use ouzel_efficiency::{Threads, Unavailable};
use ouzel_engine::{LocationEnd, LocationSummary};
use ouzel_model::{Definitions, Level, LocationId, Notice, NoticeCode, WorldRank, units};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What was lost, what is doubtful, and what is good to know. Empty lists mean: nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrustCard {
    /// Data that are missing: the answer is not from everything.
    pub lost: Vec<Concern>,
    /// What was repaired or is doubtful: numbers may be off.
    pub doubtful: Vec<Concern>,
    /// Good to know; numbers are complete.
    pub remarks: Vec<Concern>,
    /// Ranks without events, as [`RunCard`](crate::RunCard) has them.
    #[serde(skip)]
    pub ranks_without_events: Ranks,
    /// Ranks whose events end before the run of the rank did.
    pub ranks_cut: Ranks,
    /// Whether definitions of the whole trace are lost, and not only those of single locations.
    #[serde(skip)]
    pub definitions_lost: bool,
}

/// Notices of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Concern {
    /// What kind.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
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

impl Concern {
    /// The example, and how often there is another one like it.
    pub fn in_words(&self) -> String {
        let places = match self.n_locations {
            0 | 1 => String::new(),
            n => format!(" at {}", units::counted(n, "location", "locations")),
        };
        match (self.is_one_of_many, self.count) {
            (true, n) => format!("{} (one of {}{places})", self.example, units::count(n)),
            (false, 0 | 1) => self.example.clone(),
            (false, n) => format!("{} (×{})", self.example, units::count(n)),
        }
    }
}

impl TrustCard {
    /// Groups notices by level and kind; `locations` has what the pass knows of each, `without_events` are ranks that
    /// have none.
    pub fn new(
        notices: &[Notice],
        locations: &BTreeMap<LocationId, LocationSummary>,
        without_events: &[u32],
        definitions: &Definitions,
    ) -> Self {
        let mut card = TrustCard::of_notices(notices, &|id| definitions.location(id).rank);
        let rank_of = |id: &LocationId| definitions.location(*id).rank.map(|rank| rank.0);
        let with = |is: &dyn Fn(&LocationSummary) -> bool| -> BTreeSet<u32> {
            let found =
                locations.iter().filter(|(id, of)| definitions.location(**id).kind.runs_code() && is(of));
            found.filter_map(|(id, _)| rank_of(id)).collect()
        };
        let seen = with(&|of| 0 < of.n_events);
        card.ranks_without_events = Ranks::new(without_events.iter().copied());
        let cut = with(&|of| of.end == LocationEnd::Damaged);
        card.ranks_cut = Ranks::new(cut.into_iter().filter(|rank| seen.contains(rank)));
        card
    }

    /// Groups notices alone; `rank_of` gives the rank of a location.
    pub(crate) fn of_notices(notices: &[Notice], rank_of: &dyn Fn(LocationId) -> Option<WorldRank>) -> Self {
        let mut groups: BTreeMap<(Level, NoticeCode, String), Vec<&Notice>> = BTreeMap::new();
        for notice in notices {
            groups.entry((notice.level, notice.code, kind(notice))).or_default().push(notice);
        }
        let mut card =
            TrustCard { definitions_lost: notices.iter().any(loses_definitions), ..TrustCard::default() };
        for ((level, ..), notices) in &groups {
            let list = match level {
                Level::High => &mut card.lost,
                Level::Medium => &mut card.doubtful,
                Level::Low => &mut card.remarks,
            };
            list.extend(concern(notices, rank_of));
        }
        card
    }

    /// What is missing from the trace in a sentence; `None` if nothing is.
    pub(crate) fn incomplete_in_words(&self) -> Option<String> {
        if self.lost.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        if self.definitions_lost {
            parts.push("definitions are missing".to_owned());
        }
        if !self.ranks_without_events.is_empty() {
            let has = if self.ranks_without_events.list.len() == 1 { "has" } else { "have" };
            parts.push(format!("{} {has} no events", self.ranks_without_events.in_words(usize::MAX)));
        }
        if !self.ranks_cut.is_empty() {
            parts.push(format!("the events of {} end early", self.ranks_cut.in_words(usize::MAX)));
        }
        let said = self.lost.iter().filter(|concern| concern.code == NoticeCode::Recording);
        parts.extend(said.map(Concern::in_words));
        if parts.is_empty() {
            parts.push("part of it could not be read".to_owned());
        }
        Some(format!("The trace is incomplete: {}.", parts.join("; ")))
    }

    /// Whether not all events of a location are known: a comparison with others leaves it out.
    pub fn is_incomplete(&self, location: LocationId, definitions: &Definitions) -> bool {
        let rank = definitions.location(location).rank;
        let is_in = |ranks: &Ranks, rank: u32| ranks.list.binary_search(&rank).is_ok();
        rank.is_some_and(|rank| is_in(&self.ranks_without_events, rank.0) || is_in(&self.ranks_cut, rank.0))
    }

    /// The threads whose efficiencies can be computed.
    ///
    /// # Errors
    /// If there are none, or it is not known what they do.
    pub fn threads(
        &self,
        profile: &ProfileOutput,
        definitions: &Definitions,
        classes: &[Class],
    ) -> Result<Threads, Unavailable> {
        if self.definitions_lost {
            return Err(Unavailable::NoDefinitions);
        }
        Threads::new(profile, definitions, classes, &|id| self.is_incomplete(id, definitions))
    }

    /// The ranks of which not all is known.
    pub fn incomplete_ranks(&self) -> Ranks {
        Ranks::new(self.ranks_without_events.list.iter().chain(&self.ranks_cut.list).copied())
    }

    /// Whether nothing was lost and nothing is doubtful.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.doubtful.is_empty()
    }
}

/// Whether names and meanings of regions may be missing.
fn loses_definitions(notice: &Notice) -> bool {
    let codes = [NoticeCode::MissingDefinitions, NoticeCode::DamagedDefinitions];
    notice.level == Level::High && notice.location.is_none() && codes.contains(&notice.code)
}

/// What a recorder says of many subjects is of one kind if it differs in numbers alone.
fn kind(notice: &Notice) -> String {
    match notice.code {
        NoticeCode::Recording => notice.message.chars().filter(|c| !c.is_ascii_digit()).collect(),
        _ => String::new(),
    }
}

fn concern(notices: &[&Notice], rank_of: &dyn Fn(LocationId) -> Option<WorldRank>) -> Option<Concern> {
    let first = notices.first()?;
    let locations: BTreeSet<_> = notices.iter().filter_map(|notice| notice.location).collect();
    let rank = first.location.and_then(rank_of);
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
    use ouzel_model::{Clock, Contents, Ticks, TraceSource};
    use ouzel_testkit::ToyTrace;

    #[test]
    fn notices_of_one_kind_are_one_concern() {
        let clock = Clock { ticks_per_second: 1, offset_ticks: 0, realtime_ns: None, declared_length: None };
        let mut definitions = Definitions::empty(clock);
        for native_id in 0..2 {
            definitions.locations.push(ouzel_model::Location {
                name: "t".into(),
                kind: ouzel_model::LocationKind::CpuThread,
                group: ouzel_model::LocationGroupId(0),
                rank: Some(WorldRank(native_id)),
                declared_events: None,
                native_id: u64::from(native_id),
            });
        }
        let open = |location| {
            Notice::new(Level::Low, NoticeCode::OpenCalls, "open").on(LocationId(location)).times(3)
        };
        let lost = Notice::new(Level::High, NoticeCode::DamagedEvents, "ends").in_file("1.evt").at(16);
        let locations = BTreeMap::new();
        let card = TrustCard::new(&[lost, open(0), open(1)], &locations, &[], &definitions);
        assert!(!card.is_clean());
        assert_eq!(card.lost[0].example, "1.evt+0x10: ends");
        let [concern] = &card.remarks[..] else { panic!("{card:?}") };
        assert_eq!((concern.count, concern.n_locations, concern.example.as_str()), (6, 2, "rank 0: open"));
        assert!(concern.is_one_of_many && card.doubtful.is_empty());
        assert!(!card.definitions_lost);
        let missing = Notice::new(Level::High, NoticeCode::MissingDefinitions, "no clock");
        assert!(TrustCard::new(&[missing], &locations, &[], &definitions).definitions_lost);
    }

    #[test]
    fn each_loss_of_a_recorder_is_said() {
        let said =
            ["rank 0 was killed by signal 9 after 1.6 s", "rank 12 was killed by signal 9 after 1.7 s"];
        let other = "the limit of 9 bytes is reached";
        let notices: Vec<Notice> =
            [said[0], other, said[1]].map(|it| Notice::new(Level::High, NoticeCode::Recording, it)).into();
        let card = TrustCard::of_notices(&notices, &|_| None);
        let words: Vec<String> = card.lost.iter().map(Concern::in_words).collect();
        assert_eq!(words, [&format!("{} (one of 2)", said[0]), other]);
        let incomplete = card.incomplete_in_words();
        let expected = format!("The trace is incomplete: {}; {other}.", words[0]);
        assert_eq!(incomplete, Some(expected));
    }

    #[test]
    fn ranks_without_events_and_ranks_that_end_early_are_named() {
        let trace =
            ToyTrace::new("0: enter a @0, leave @9\n1: enter a @0, leave @9\n2: enter a @0, leave @9");
        let summary = |n_events, end| LocationSummary {
            n_events,
            span: (0 < n_events).then_some((Ticks(0), Ticks(9))),
            end,
            sampling_period: None,
            seen: Contents::default(),
        };
        let ends = [(2, LocationEnd::Complete), (1, LocationEnd::Damaged), (0, LocationEnd::Complete)];
        let locations = (0..).map(LocationId).zip(ends.map(|(n, end)| summary(n, end))).collect();
        let lost = Notice::new(Level::High, NoticeCode::MissingEvents, "no file");
        let card = TrustCard::new(&[lost], &locations, &[2], trace.definitions());
        assert_eq!(
            (card.ranks_cut.list.as_slice(), card.ranks_without_events.list.as_slice()),
            (&[1][..], &[2][..])
        );
        assert_eq!(card.incomplete_ranks().list, [1, 2]);
        let expected = "The trace is incomplete: rank 2 has no events; the events of rank 1 end early.";
        assert_eq!(card.incomplete_in_words().as_deref(), Some(expected));
        assert_eq!(TrustCard::new(&[], &locations, &[2], trace.definitions()).incomplete_in_words(), None);
    }
}
