//! The processes that are compared, each the sum of its locations.
//!
//! Processes are the ranks. Where a profile knows no ranks, or one rank of several threads, its
//! locations that run code are compared instead. Law: processes are in ascending order of rank (of native id for
//! locations), so the order of locations in the file has no effect. Time is that of CPU threads; in everything else,
//! accelerator streams count towards their process.

use ouzel_model::{
    Level, LocationKind, Notice, NoticeCode, ProfileDefinitions, RankSet, SeverityRow, WorldRank,
};
use serde::Serialize;
use std::collections::BTreeSet;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Ranks.
    Rank,
    /// Locations: threads of one process, or of processes without ranks.
    Location,
}

/// The processes of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Processes {
    /// What they are.
    pub unit: Unit,
    /// Rank, or native id of the location, of each process; ascending.
    pub numbers: Vec<u64>,
    /// Ranks that were left out on request.
    pub excluded: Vec<u64>,
    /// Number of locations that are summed.
    pub n_locations: usize,
    of_location: Vec<Option<u32>>,
    is_timed: Vec<bool>,
}

impl Processes {
    /// The processes of a profile without the ranks of `exclude`.
    pub fn new(definitions: &ProfileDefinitions, exclude: Option<&RankSet>) -> (Self, Vec<Notice>) {
        let locations = &definitions.locations;
        let has_threads = locations.iter().any(|l| is_thread(l.kind));
        let is_timed: Vec<bool> = locations
            .iter()
            .map(|l| if has_threads { is_thread(l.kind) } else { l.kind.runs_code() })
            .collect();
        let ranks: BTreeSet<WorldRank> = locations.iter().filter_map(|location| location.rank).collect();
        let n_timed = is_timed.iter().filter(|is_timed| **is_timed).count();
        let unit =
            if ranks.len() > 1 || (ranks.len() == 1 && n_timed <= 1) { Unit::Rank } else { Unit::Location };
        let is_excluded = |rank: WorldRank| exclude.is_some_and(|exclude| exclude.contains(rank));
        let number = |at: usize| {
            let location = &locations[at];
            let rank = location.rank.filter(|&rank| !is_excluded(rank));
            match unit {
                Unit::Rank => rank.map(|rank| u64::from(rank.0)),
                Unit::Location if is_timed[at] && (location.rank.is_none() || rank.is_some()) => {
                    Some(location.native_id)
                }
                Unit::Location => None,
            }
        };
        let numbers: Vec<Option<u64>> = (0..locations.len()).map(number).collect();
        let known: BTreeSet<u64> = numbers.iter().flatten().copied().collect();
        let known: Vec<u64> = known.into_iter().collect();
        let place =
            |number: &Option<u64>| number.and_then(|n| known.binary_search(&n).ok()).map(|at| at as u32);
        let of_location: Vec<Option<u32>> = numbers.iter().map(place).collect();
        let n_lost = locations.iter().filter(|l| unit == Unit::Rank && l.rank.is_none()).count();
        let mut notices = Vec::new();
        if n_lost > 0 {
            let message = "locations without a rank are left out because ranks are compared";
            let notice = Notice::new(Level::Medium, NoticeCode::NotAvailable, message);
            notices.push(notice.times(n_lost as u64));
        }
        let processes = Processes {
            unit,
            excluded: ranks
                .iter()
                .copied()
                .filter(|&rank| is_excluded(rank))
                .map(|r| u64::from(r.0))
                .collect(),
            n_locations: of_location.iter().flatten().count(),
            numbers: known,
            of_location,
            is_timed,
        };
        (processes, notices)
    }

    /// Number of processes.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Adds the values of a row to those of the processes; `only_timed` leaves out what runs no code of the program.
    pub(crate) fn add(&self, row: &SeverityRow, only_timed: bool, sums: &mut [f64]) {
        for (location, value) in row.iter() {
            let at = location.index();
            if let Some(process) = self.of_location[at].filter(|_| !only_timed || self.is_timed[at]) {
                sums[process as usize] += value;
            }
        }
    }
}

fn is_thread(kind: LocationKind) -> bool {
    matches!(kind, LocationKind::CpuThread | LocationKind::Unknown)
}
