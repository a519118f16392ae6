//! Sets of ranks as users write them.

use crate::WorldRank;
use serde::{Deserialize, Serialize};

/// A set of world ranks, written `0-63,128`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSet(Vec<(u32, u32)>);

impl RankSet {
    /// The set of the inclusive ranges `(first, last)`.
    pub fn from_ranges(ranges: &[(u32, u32)]) -> Self {
        RankSet(ranges.to_vec())
    }

    /// Its inclusive ranges, as written.
    pub(super) fn ranges(&self) -> &[(u32, u32)] {
        &self.0
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
