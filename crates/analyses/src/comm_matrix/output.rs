//! The matrix and the totals by process, and their tables.

use super::state::Traffic;
use ouzel_model::{ColumnData, Table, Unit, WorldRank};

/// Messages and bytes between pairs of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommMatrixOutput {
    /// Rows and columns: the ranks of the locations read and all they talked to, ascending.
    pub ranks: Vec<WorldRank>,
    /// Pairs that talked, by sender, then by receiver. From sends.
    pub cells: Vec<MatrixCell>,
    /// For each of `ranks` what it received. From receives; of expanded collectives what was sent to it.
    pub received: Vec<Traffic>,
    /// Sends to peers that are no ranks of their communicator, and all traffic of locations without a rank.
    pub unresolved: Traffic,
    /// Number of message ends whose other side is nobody (`MPI_PROC_NULL`).
    pub null_peers: u64,
    /// What was sent in collectives that were to be expanded and could not be.
    pub not_expanded: Traffic,
}

/// What one rank sent to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixCell {
    /// The sender.
    pub from: WorldRank,
    /// The receiver.
    pub to: WorldRank,
    /// How much.
    pub traffic: Traffic,
}

/// What one rank sent and received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessTraffic {
    /// The rank.
    pub rank: WorldRank,
    /// From its sends: the sum of its row.
    pub sent: Traffic,
    /// From its receives.
    pub received: Traffic,
}

/// What is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TrafficUnit {
    /// Bytes.
    #[default]
    Bytes,
    /// Messages.
    Messages,
}

impl TrafficUnit {
    /// The term in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            TrafficUnit::Bytes => "bytes",
            TrafficUnit::Messages => "messages",
        }
    }

    /// That of `traffic`.
    pub fn of(self, traffic: Traffic) -> u64 {
        match self {
            TrafficUnit::Bytes => traffic.bytes,
            TrafficUnit::Messages => traffic.messages,
        }
    }
}

impl CommMatrixOutput {
    /// The whole matrix, row = sender, in the order of `ranks`: 8 bytes for each pair, whether or not it talked, so
    /// 80 GB for 100,000 ranks. [`cells`](CommMatrixOutput::cells) has the same in less.
    pub fn matrix(&self, unit: TrafficUnit) -> Vec<Vec<u64>> {
        let n = self.ranks.len();
        let mut matrix = vec![vec![0; n]; n];
        for cell in &self.cells {
            let (from, to) = (self.ranks.binary_search(&cell.from), self.ranks.binary_search(&cell.to));
            if let (Ok(from), Ok(to)) = (from, to) {
                matrix[from][to] = unit.of(cell.traffic);
            }
        }
        matrix
    }

    /// What each rank sent and received, in the order of `ranks`.
    pub fn by_process(&self) -> Vec<ProcessTraffic> {
        let mut rows: Vec<ProcessTraffic> = self
            .ranks
            .iter()
            .zip(&self.received)
            .map(|(&rank, &received)| ProcessTraffic { rank, sent: Traffic::default(), received })
            .collect();
        for cell in &self.cells {
            if let Ok(row) = self.ranks.binary_search(&cell.from) {
                rows[row].sent.add(cell.traffic);
            }
        }
        rows
    }

    /// One row for each pair that talked.
    pub fn table(&self) -> Table {
        let column =
            |value: &dyn Fn(&MatrixCell) -> u64| ColumnData::U64(self.cells.iter().map(value).collect());
        Table::new("pairs of ranks")
            .with("from", Unit::None, "World rank of the sender", column(&|c| u64::from(c.from.0)))
            .with("to", Unit::None, "World rank of the receiver", column(&|c| u64::from(c.to.0)))
            .with("messages", Unit::Count, "Number of messages sent", column(&|c| c.traffic.messages))
            .with("bytes", Unit::Bytes, "Bytes sent", column(&|c| c.traffic.bytes))
    }

    /// One row for each rank.
    pub fn by_process_table(&self) -> Table {
        let rows = self.by_process();
        let column =
            |value: &dyn Fn(&ProcessTraffic) -> u64| ColumnData::U64(rows.iter().map(value).collect());
        Table::new("ranks")
            .with("rank", Unit::None, "World rank", column(&|r| u64::from(r.rank.0)))
            .with("sends", Unit::Count, "Number of messages sent", column(&|r| r.sent.messages))
            .with("bytes_sent", Unit::Bytes, "Bytes of messages sent", column(&|r| r.sent.bytes))
            .with("receives", Unit::Count, "Number of messages received", column(&|r| r.received.messages))
            .with("bytes_received", Unit::Bytes, "Bytes of messages received", column(&|r| r.received.bytes))
    }
}
