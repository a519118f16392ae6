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
}
