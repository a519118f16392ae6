//! The parts of each process's time, and their mean.

use super::state::ActivityTimes;
use crate::spread::MeanTicks;
use ouzel_model::{ColumnData, Definitions, LocationGroupId, Table, Ticks, Unit, WorldRank};

/// The parts of each process's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakdownOutput {
    /// By rank; processes without a rank last. Processes without an event have no row.
    pub rows: Vec<ProcessBreakdown>,
    /// Number of non-blocking operations whose post or completion is missing at their location.
    pub n_lost: u64,
}

/// The parts of one process's time: `computation + overlap + communication + other = span`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessBreakdown {
    /// The rank.
    pub rank: Option<WorldRank>,
    /// The process where it has no rank.
    pub group: Option<LocationGroupId>,
    /// From the first event to the last of its locations.
    pub span: Ticks,
    /// What it did.
    pub times: ActivityTimes,
}

impl ProcessBreakdown {
    /// Neither computing nor communicating: `span − computation − overlap − communication`. Transfers and
    /// unclassified time are in it.
    pub fn other(&self) -> Ticks {
        let ActivityTimes { computation, overlap, communication, .. } = self.times;
        let covered = computation.0.saturating_add(overlap.0).saturating_add(communication.0);
        self.span.since(Ticks(covered))
    }

    fn parts(&self) -> [Ticks; 7] {
        let ActivityTimes { computation, overlap, communication, transfer, unclassified } = self.times;
        [computation, overlap, communication, self.other(), transfer, unclassified, self.span]
    }
}

/// Names and meanings of the parts, in the order of [`ProcessBreakdown::parts`].
const PARTS: [(&str, &str); 7] = [
    ("computation_ns", "Computing and not communicating: |P \\ C|"),
    ("overlap_ns", "Computing and communicating: |P ∩ C|"),
    ("communication_ns", "Communicating and not computing: |C \\ P|"),
    ("other_ns", "Neither: span − |P ∪ C|"),
    ("transfer_ns", "Part of other: copying between host and device"),
    ("unclassified_ns", "Part of other: in unclassified regions, and not copying"),
    ("span_ns", "From the first event to the last"),
];

impl BreakdownOutput {
    /// The mean of each part over the processes, under the names and in the order of the columns of
    /// [`table`](BreakdownOutput::table); `None` if there is no process.
    pub fn mean(&self) -> Option<[(&'static str, MeanTicks); 7]> {
        let n_processes = self.rows.len() as u64;
        let mean = |part: usize| {
            let sum = self.rows.iter().map(|row| u128::from(row.parts()[part].0)).sum();
            (PARTS[part].0, MeanTicks { sum, n_processes })
        };
        (0 < n_processes).then(|| std::array::from_fn(mean))
    }

    /// One row for each process.
    pub fn table(&self, definitions: &Definitions) -> Table {
        let ranks = self.rows.iter().map(|row| row.rank.map(|rank| u64::from(rank.0))).collect();
        let doc = "World rank of the process; missing if unknown";
        let table = Table::new("ranks").with("rank", Unit::None, doc, ColumnData::OptionU64(ranks));
        PARTS.iter().enumerate().fold(table, |table, (part, (name, doc))| {
            let ns = |row: &ProcessBreakdown| definitions.clock.ns_from_ticks(row.parts()[part]);
            let data = ColumnData::U64(self.rows.iter().map(ns).collect());
            table.with(*name, Unit::Nanoseconds, doc, data)
        })
    }
}
