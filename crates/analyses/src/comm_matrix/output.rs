//! The matrix and the totals by process, and their tables.

use super::traffic::Traffic;
use ouzel_model::{ColumnData, Table, Unit, WorldRank};

/// Messages and bytes between pairs of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommMatrixOutput {
    /// Rows and columns: the ranks of the locations read and all they talked to, ascending.
    pub ranks: Vec<WorldRank>,
    /// For each of `ranks` whether its events were read; otherwise it is known only as a peer.
    pub has_events: Vec<bool>,
    /// Pairs that talked, by sender, then by receiver. From sends.
    pub cells: Vec<MatrixCell>,
    /// For each of `ranks` what it received: from receives, and from expanded collectives what was sent to it.
    pub received: Vec<Traffic>,
    /// What ranks sent to unknown peers, whose communicator is not defined or has no such rank. By sender.
    pub to_unknown: Vec<(WorldRank, Traffic)>,
    /// All traffic of locations without a rank.
    pub without_rank: Traffic,
    /// Number of message ends without another side (`MPI_PROC_NULL`).
    pub null_peers: u64,
    /// What was sent in collectives that could not be expanded as requested.
    pub not_expanded: Traffic,
}

/// Most ranks of a whole matrix. Our choice: its 16.8 million cells take 134 MB, and no screen shows more.
pub(crate) const DENSE_RANKS_MAX: usize = 4096;

/// A matrix that would be too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a full matrix of {n_ranks} × {n_ranks} ranks is too large (at most {DENSE_RANKS_MAX} ranks): select ranks, or \
     list only the pairs that communicated"
)]
pub struct TooManyRanks {
    /// Ranks of the run.
    pub n_ranks: usize,
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

/// What one rank sent to another, or to unknown peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairTraffic {
    /// The sender.
    pub from: WorldRank,
    /// The receiver, if it is known.
    pub to: Option<WorldRank>,
    /// How much.
    pub traffic: Traffic,
}

/// What one rank sent and received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessTraffic {
    /// The rank.
    pub rank: WorldRank,
    /// Whether its events were read; otherwise what it sent and received is unknown.
    pub has_events: bool,
    /// From its sends: the sum of its row, and what it sent to unknown peers.
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

    /// The value of `traffic`.
    pub fn of(self, traffic: Traffic) -> u64 {
        match self {
            TrafficUnit::Bytes => traffic.bytes,
            TrafficUnit::Messages => traffic.messages,
        }
    }
}

impl CommMatrixOutput {
    /// Whether the run is small enough for [`matrix`](CommMatrixOutput::matrix).
    ///
    /// # Errors
    /// If there are more than `DENSE_RANKS_MAX` ranks.
    pub fn check_dense(&self) -> Result<(), TooManyRanks> {
        let n_ranks = self.ranks.len();
        if n_ranks <= DENSE_RANKS_MAX { Ok(()) } else { Err(TooManyRanks { n_ranks }) }
    }

    /// The whole matrix, row = sender, in the order of `ranks`: 8 bytes for each pair, whether or not it talked. For
    /// runs that [`check_dense`](CommMatrixOutput::check_dense) lets pass; [`cells`](CommMatrixOutput::cells) has the
    /// same for any.
    pub fn matrix(&self, unit: TrafficUnit) -> Vec<Vec<u64>> {
        let n = self.ranks.len();
        let mut matrix = vec![vec![0; n]; n];
        for (from, to, amount) in self.places(unit) {
            matrix[from][to] = amount;
        }
        matrix
    }

    /// For each of `ranks` what it sent to unknown receivers.
    pub fn unknown(&self, unit: TrafficUnit) -> Vec<u64> {
        let mut unknown = vec![0; self.ranks.len()];
        for &(from, traffic) in &self.to_unknown {
            if let Ok(place) = self.ranks.binary_search(&from) {
                unknown[place] = unit.of(traffic);
            }
        }
        unknown
    }

    /// For each pair that talked the indices of both in `ranks`, and how much.
    pub fn places(&self, unit: TrafficUnit) -> impl Iterator<Item = (usize, usize, u64)> + '_ {
        self.cells.iter().filter_map(move |cell| {
            let (from, to) = (self.ranks.binary_search(&cell.from), self.ranks.binary_search(&cell.to));
            Some((from.ok()?, to.ok()?, unit.of(cell.traffic)))
        })
    }

    /// The [`matrix`](CommMatrixOutput::matrix) as a table: one row for each sender, one column for each receiver.
    pub fn dense_table(&self, unit: TrafficUnit) -> Table {
        let n = self.ranks.len();
        let mut columns = vec![vec![0; n]; n];
        for (from, to, amount) in self.places(unit) {
            columns[to][from] = amount;
        }
        let unknown = ColumnData::U64(self.unknown(unit));
        let (unit, doc) = match unit {
            TrafficUnit::Bytes => (Unit::Bytes, "Bytes sent to this rank"),
            TrafficUnit::Messages => (Unit::Count, "Number of messages sent to this rank"),
        };
        let senders = self.ranks.iter().map(|rank| u64::from(rank.0)).collect();
        let table = Table::new("senders").with(
            "from",
            Unit::None,
            "World rank of the sender",
            ColumnData::U64(senders),
        );
        let table = self.ranks.iter().zip(columns).fold(table, |table, (rank, column)| {
            table.with(rank.0.to_string(), unit.clone(), doc, ColumnData::U64(column))
        });
        table.with("unknown", unit, "The same for unknown receivers", unknown)
    }

    /// What each rank sent and received, in the order of `ranks`.
    pub fn by_process(&self) -> Vec<ProcessTraffic> {
        let mut rows: Vec<ProcessTraffic> = self
            .ranks
            .iter()
            .zip(&self.has_events)
            .zip(&self.received)
            .map(|((&rank, &has_events), &received)| {
                let sent = Traffic::default();
                ProcessTraffic { rank, has_events, sent, received }
            })
            .collect();
        for sent in self.pairs() {
            if let Ok(row) = self.ranks.binary_search(&sent.from) {
                rows[row].sent.add(sent.traffic);
            }
        }
        rows
    }

    /// All that was sent, by sender, then by receiver, unknown ones last.
    pub fn pairs(&self) -> Vec<PairTraffic> {
        let known = self.cells.iter().map(|&MatrixCell { from, to, traffic }| (from, Some(to), traffic));
        let unknown = self.to_unknown.iter().map(|&(from, traffic)| (from, None, traffic));
        let mut pairs: Vec<PairTraffic> =
            known.chain(unknown).map(|(from, to, traffic)| PairTraffic { from, to, traffic }).collect();
        pairs.sort_by_key(|pair| (pair.from, pair.to.is_none(), pair.to));
        pairs
    }

    /// One row for each pair that talked; the receiver is missing where it is not known.
    pub fn table(&self) -> Table {
        let pairs = self.pairs();
        let column = |value: &dyn Fn(&PairTraffic) -> u64| ColumnData::U64(pairs.iter().map(value).collect());
        let to = optional(pairs.iter().map(|pair| pair.to.map(|to| u64::from(to.0))).collect());
        Table::new("pairs of ranks")
            .with("from", Unit::None, "World rank of the sender", column(&|c| u64::from(c.from.0)))
            .with("to", Unit::None, "World rank of the receiver; missing if unknown", to)
            .with("messages", Unit::Count, "Number of messages sent", column(&|c| c.traffic.messages))
            .with("bytes", Unit::Bytes, "Bytes sent", column(&|c| c.traffic.bytes))
    }

    /// One row for each rank; numbers are missing where its events are.
    pub fn by_process_table(&self) -> Table {
        let rows = self.by_process();
        let ranks = rows.iter().map(|row| u64::from(row.rank.0)).collect();
        let column = |value: &dyn Fn(&ProcessTraffic) -> u64| {
            let known = |row: &ProcessTraffic| row.has_events.then(|| value(row));
            optional(rows.iter().map(known).collect())
        };
        Table::new("ranks")
            .with("rank", Unit::None, "World rank", ColumnData::U64(ranks))
            .with("sends", Unit::Count, "Number of messages sent", column(&|r| r.sent.messages))
            .with("bytes_sent", Unit::Bytes, "Bytes of messages sent", column(&|r| r.sent.bytes))
            .with("receives", Unit::Count, "Number of messages received", column(&|r| r.received.messages))
            .with("bytes_received", Unit::Bytes, "Bytes of messages received", column(&|r| r.received.bytes))
    }
}

/// A column whose type shows whether values are missing: mostly none are.
fn optional(values: Vec<Option<u64>>) -> ColumnData {
    match values.iter().copied().collect::<Option<Vec<u64>>>() {
        Some(known) => ColumnData::U64(known),
        None => ColumnData::OptionU64(values),
    }
}
