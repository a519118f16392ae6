//! The user's selection. It changes results; what analyses need never does.
//!
//! Calls that reach over a border of the time range are clipped, never dropped.
//! Time in regions that are not selected goes to the pseudo region `[filtered]`,
//! so that totals stay what they were.

use crate::{Definitions, LocationId, WorldRank};
use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

/// What the user asked to look at. The default is everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Only locations of these ranks.
    pub ranks: Option<RankSet>,
    /// Only the half-open range of time, in nanoseconds since the trace start.
    pub time_ns: Option<(u64, u64)>,
    /// Only regions whose name matches one of these patterns (`*` any run, `?` one character); empty is all.
    pub regions: Vec<String>,
}

impl Filter {
    /// Whether everything is selected.
    pub fn is_everything(&self) -> bool {
        *self == Filter::default()
    }

    /// The selected locations, ascending. A location without a rank is selected only if no rank is asked for.
    pub fn locations(&self, definitions: &Definitions) -> Vec<LocationId> {
        definitions
            .location_ids()
            .filter(|&id| match (&self.ranks, definitions.location(id).rank) {
                (None, _) => true,
                (Some(ranks), Some(rank)) => ranks.contains(rank),
                (Some(_), None) => false,
            })
            .collect()
    }

    /// For each region whether it is selected, or `None` if all are.
    pub fn regions_kept(&self, definitions: &Definitions) -> Option<Vec<bool>> {
        if self.regions.is_empty() {
            return None;
        }
        let patterns: Vec<WildMatch> = self.regions.iter().map(|p| WildMatch::new(p)).collect();
        Some(definitions.regions.iter().map(|r| patterns.iter().any(|p| p.matches(&r.name))).collect())
    }
}

/// A set of world ranks, written `0-63,128`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSet(Vec<(u32, u32)>);

impl RankSet {
    /// The set of the inclusive ranges `(first, last)`.
    pub fn from_ranges(ranges: &[(u32, u32)]) -> Self {
        RankSet(ranges.to_vec())
    }

    /// Whether `rank` is in the set.
    pub fn contains(&self, rank: WorldRank) -> bool {
        self.0.iter().any(|&(first, last)| first <= rank.0 && rank.0 <= last)
    }
}

impl std::str::FromStr for RankSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |t: &str| {
            t.trim().parse::<u32>().map_err(|_| format!("{t:?} is not a rank (expected e.g. 0-63,128)"))
        };
        let range = |part: &str| match part.split_once('-') {
            Some((first, last)) => Ok((number(first)?, number(last)?)),
            None => number(part).map(|rank| (rank, rank)),
        };
        let ranges = text.split(',').map(range).collect::<Result<Vec<_>, String>>()?;
        match ranges.iter().find(|(first, last)| first > last) {
            Some((first, last)) => Err(format!("rank range {first}-{last} ends before it begins")),
            None => Ok(RankSet(ranges)),
        }
    }
}

impl std::fmt::Display for RankSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = self
            .0
            .iter()
            .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
            .collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, Location, LocationGroupId, LocationKind, Paradigm, Region, RegionRole};
    use std::sync::Arc;

    #[test]
    fn rank_sets_are_read_as_written() {
        let set: RankSet = "0-3, 8,10-12".parse().unwrap();
        assert!([0, 3, 8, 10, 12].into_iter().all(|r| set.contains(WorldRank(r))));
        assert!([4, 9, 13].into_iter().all(|r| !set.contains(WorldRank(r))));
        assert_eq!(set.to_string(), "0-3,8,10-12");
    }

    #[test]
    fn bad_rank_sets_say_what_is_wrong() {
        for (text, needle) in
            [("a", "\"a\""), ("5-2", "ends before"), ("", "not a rank"), ("1-", "not a rank")]
        {
            let error = text.parse::<RankSet>().unwrap_err();
            assert!(error.contains(needle), "{text}: {error}");
        }
    }

    fn definitions(names: &[&str], ranks: &[Option<u32>]) -> Definitions {
        let clock = Clock {
            ticks_per_second: 1_000_000_000,
            offset_ticks: 0,
            realtime_ns: None,
            declared_length: None,
        };
        let mut definitions = Definitions::empty(clock);
        let region = |name: &&str| Region {
            name: Arc::from(*name),
            canonical_name: None,
            file: None,
            line: None,
            end_line: None,
            role: RegionRole::Function,
            paradigm: Paradigm::User,
        };
        definitions.set_regions(names.iter().map(region).collect());
        definitions.locations = ranks
            .iter()
            .map(|rank| Location {
                name: Arc::from("thread"),
                kind: LocationKind::CpuThread,
                group: LocationGroupId(0),
                rank: rank.map(WorldRank),
                declared_events: None,
                native_id: 0,
            })
            .collect();
        definitions
    }

    fn kept(patterns: &[&str], names: &[&str]) -> Vec<bool> {
        let filter =
            Filter { regions: patterns.iter().map(|&p| p.to_owned()).collect(), ..Filter::default() };
        let definitions = definitions(names, &[]);
        let mut kept = filter.regions_kept(&definitions).expect("there are patterns");
        assert_eq!(kept.len(), definitions.regions.len(), "placeholders have their place");
        kept.truncate(definitions.n_regions());
        kept
    }

    #[test]
    fn patterns_match_whole_names() {
        let names = ["MPI_Send", "MPI_Isend", "PMPI_Send", "main", "mpi_send", ""];
        assert_eq!(kept(&["MPI_*"], &names), [true, true, false, false, false, false]);
        assert_eq!(kept(&["*end"], &names), [true, true, true, false, true, false]);
        assert_eq!(kept(&["MPI_?send"], &names), [false, true, false, false, false, false]);
        assert_eq!(kept(&["mai"], &names), [false; 6]);
        assert_eq!(kept(&["*"], &names), [true; 6]);
        assert_eq!(kept(&["main", "*Isend"], &names), [false, true, false, true, false, false]);
    }

    #[test]
    fn patterns_take_brackets_and_other_signs_as_they_are() {
        let names = ["a[0]", "a0", "f(int*)", "std::vector<int>::push_back", "größe"];
        assert_eq!(kept(&["a[0]"], &names), [true, false, false, false, false]);
        assert_eq!(kept(&["*::push_back"], &names), [false, false, false, true, false]);
        assert_eq!(kept(&["gr??e"], &names), [false, false, false, false, true]);
        assert_eq!(kept(&["f(int*)"], &names), [false, false, true, false, false]);
    }

    #[test]
    fn no_pattern_keeps_every_region() {
        assert_eq!(Filter::default().regions_kept(&definitions(&["main"], &[])), None);
        assert!(Filter::default().is_everything());
    }

    #[test]
    fn locations_without_a_rank_are_left_out_when_ranks_are_asked_for() {
        let definitions = definitions(&[], &[Some(0), Some(1), None, Some(1), Some(7)]);
        let of = |ranks: Option<&str>| {
            let ranks = ranks.map(|text| text.parse().unwrap());
            Filter { ranks, ..Filter::default() }.locations(&definitions)
        };
        assert_eq!(of(None), [0, 1, 2, 3, 4].map(LocationId));
        assert_eq!(of(Some("1-9")), [1, 3, 4].map(LocationId));
        assert_eq!(of(Some("2")), []);
    }
}
