//! Traffic by bin, as a table.

use super::state::BinTraffic;
use crate::time_grid::TimeGrid;
use ouzel_model::{ColumnData, Definitions, Table, TimeRange, Unit};

/// Messages and bytes in bins of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommOverTimeOutput {
    /// The bins.
    pub grid: TimeGrid,
    /// From the first event to the last over all locations that run code; see [`TimeGrid::is_exact_for`].
    pub run_range: Option<TimeRange>,
    /// What was sent and received in each bin.
    pub bins: Vec<BinTraffic>,
    /// What was sent and received outside of the bins.
    pub outside: BinTraffic,
    /// Number of message ends without another side (`MPI_PROC_NULL`), counted nowhere else.
    pub null_peers: u64,
}

impl CommOverTimeOutput {
    /// One row for each bin.
    pub fn table(&self, definitions: &Definitions) -> Table {
        let bins: Vec<usize> = (0..self.bins.len()).collect();
        let column =
            |value: &dyn Fn(&BinTraffic) -> u64| ColumnData::U64(self.bins.iter().map(value).collect());
        self.grid
            .bin_columns("bins", definitions, &bins)
            .with("sends", Unit::Count, "Number of messages sent", column(&|b| b.sent.messages))
            .with("bytes_sent", Unit::Bytes, "Bytes of messages sent", column(&|b| b.sent.bytes))
            .with("receives", Unit::Count, "Number of messages received", column(&|b| b.received.messages))
            .with("bytes_received", Unit::Bytes, "Bytes of messages received", column(&|b| b.received.bytes))
    }
}
